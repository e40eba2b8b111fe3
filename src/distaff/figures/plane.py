"""Points in a two-dimensional space."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from distaff.figures import style
from distaff.figures.checked_arrays import numbers, same_length
from distaff.figures.style import COLUMN, label, panels
from distaff.foundation.errors import DistaffError


def plane(points: Any, classes: Any = None, *, names: tuple[str, str] = ("x₀", "x₁")) -> Figure:
    """Points in the plane, coloured by class: the pinwheel itself, or its encodings.

    Args:
        points: (N, 2).
        classes: (N,) labels.
        names: the names of the axes.

    Returns:
        A figure with one marker per class.

    See also: ``marginals``, one latent at a time.

    >>> from distaff.data import pinwheel
    >>> data = pinwheel.load(count=80)
    >>> figure = plane(data.images[:], data.column("arm"))
    """
    points = numbers("points", points, "N 2")
    if points.shape[1] != 2:
        raise DistaffError(f"points must lie in the plane, (N, 2), not {points.shape}.")
    labels = np.zeros(len(points)) if classes is None else numbers("classes", classes, "N")
    same_length(points=points, classes=labels)
    figure, axes = panels(height=COLUMN)
    one = axes[0][0]
    for i, value in enumerate(np.unique(labels)):
        one.plot(
            *points[labels == value].T,
            linestyle="none",
            marker=style.MARKERS[i % len(style.MARKERS)],
            markersize=3,
            color=style.PALETTE[i % len(style.PALETTE)],
            alpha=0.7,
            markeredgewidth=0,
            label=f"class {value:g}",
        )
    one.set_aspect("equal", adjustable="datalim")
    label(one, *names)
    if classes is not None:
        style.legend(one)
    return figure
