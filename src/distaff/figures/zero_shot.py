"""Generalisation to combinations of factors that were removed before training."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from distaff.figures import style
from distaff.figures.arrays import filled, numbers
from distaff.figures.histograms import histogram
from distaff.figures.images import paired
from distaff.figures.montage import bare_figure, show
from distaff.figures.style import dress, heading, label


def removed_combination(
    values: Mapping[str, tuple[Any, Any]],
    originals: Any,
    reconstructions: Any,
    *,
    feature: str,
    bins: int = 40,
    title: str | None = None,
) -> Figure:
    """Where models put the removed observations along a latent, and how they rebuild them: HFVAE Fig. 9.

    Args:
        values: model, such as "trained on all" or "trained without thick 7s" → (the latent's values of kept
            observations (N,), of removed ones (M,)); a histogram each, both of unit area.
        originals: (n, C, H, W) removed observations.
        reconstructions: (n, C, H, W) by the model that never saw such.
        feature: what the latent stands for, such as "z3 (stroke thickness)".
        bins: bars over the range of all values.
        title: written above.
    """
    filled("values", values)
    pairs = {
        model: (
            numbers(f"{model}, kept", kept, "N", finite=True),
            numbers(f"{model}, removed", removed, "M", finite=True),
        )
        for model, (kept, removed) in values.items()
    }
    rows = np.stack(paired(originals, reconstructions))
    side = min((style.PAGE - 1) / rows.shape[1], 0.6)
    pictures_high = 2 * side * rows.shape[-2] / rows.shape[-1] + 0.1
    figure = bare_figure(style.PAGE, 1.9 + pictures_high + 0.2 * (title is not None))
    (above,), (below,) = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.9, pictures_high])
    axes = above.subplots(1, len(pairs), squeeze=False, sharey=True)[0]
    for i, (one, (model, (kept, removed))) in enumerate(zip(axes, pairs.items(), strict=True)):
        dress(one)
        edges = np.histogram_bin_edges(np.concatenate([kept, removed]), bins)
        histogram(one, kept, edges, style.PALETTE[5], "kept")
        histogram(one, removed, edges, style.PALETTE[1], "removed", fill=False)
        label(one, x=feature, y=None if i else "density", title=model)
    style.legend(axes[0])
    one = below.subplots()
    dress(one)
    show(one, rows, ["removed", "reconstruction"])
    heading(figure, title)
    return figure
