"""How a metric depends on its own settings: samples, bins, optimiser steps, latents."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from distaff.figures import style
from distaff.figures.checked_arrays import filled, numbers, seeds
from distaff.figures.style import label, small_multiples


def metric_sensitivity(
    x: Any,
    scores: Mapping[str, Mapping[Any, Any]],
    *,
    x_label: str,
    series: str = "",
    logarithmic: bool = True,
) -> Figure:
    """A metric's mean and standard deviation over seeds, against one of its settings.

    The FactorVAE paper's Fig. 16 (optimiser iterations, L) and 17 (evaluation points, L); Do & Tran's Fig. 17
    (bins), 18 (samples) and 19 (latents).

    Args:
        x: (P,) values of the setting.
        scores: metric with its unit → series → (S, P) or (P,), a row per seed; a panel per metric.
        x_label: the name of the setting.
        series: the meaning of the lines, such as "L" or "model".
        logarithmic: whether the setting's axis is logarithmic; it then has a tick at each value.

    Returns:
        A figure with one panel per metric.

    See also: ``curves_by_setting``, quantities over training.

    >>> figure = metric_sensitivity([100, 200], {"MIG": {"AAE": [[0.3, 0.2], [0.4, 0.3]]}}, x_label="bins")
    """
    x = numbers("x", x, "P")
    filled("scores", scores)
    colours = style.colours_for(name for lines in scores.values() for name in lines)
    figure, axes = small_multiples(len(scores), 3 if len(scores) != 4 else 2, height=2.1)
    for one, (metric, lines) in zip(axes, scores.items(), strict=True):
        filled(metric, lines)
        for i, (name, values) in enumerate(lines.items()):
            runs = seeds(f"{metric}, {name}", values, len(x))
            spread = np.nanstd(runs, axis=0, ddof=1) if len(runs) > 1 else None
            one.errorbar(
                x,
                np.nanmean(runs, axis=0),
                yerr=spread,
                color=colours[name],
                marker=style.MARKERS[i % len(style.MARKERS)],
                markersize=3,
                linewidth=1.0,
                elinewidth=0.7,
                capsize=2,
                label=str(name),
            )
        if logarithmic:
            one.set_xscale("log")
            one.set_xticks(x, [f"{value:g}" for value in x], rotation=90 if len(x) > 5 else 0)
            one.set_xticks([], minor=True)
        label(one, x=x_label, y=metric)
    if len(colours) > 1:
        style.legend_beside(figure, axes[0], title=series, columns=5)
    return figure
