"""Bars: KL and informativeness per latent, scores per factor."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from distaff.figures import style
from distaff.figures.checked_arrays import filled, named, numbers, same_length
from distaff.figures.style import label, panels, small_multiples

LEGEND_LETTERS = 62
"""Number of characters in a row of a legend below a column-wide figure; a marker takes about six."""


def kl_bars(
    kl: Any, names: Sequence[str] | None = None, *, sort: bool = True, title: str | None = None
) -> Figure:
    """KL(q(z_j|x) ‖ p(z_j)) of each latent, averaged over the data: orders the FactorVAE paper's Fig. 6.

    Args:
        kl: (D,) KL in nats.
        names: D names; z0 … by default.
        sort: sort the bars from largest to smallest.
        title: title above the figure.

    Returns:
        A figure with one bar per latent.

    See also: ``informativeness_bars``, for latents whose KL to the prior is not informative.

    >>> figure = kl_bars([0.02, 2.3, 1.7], ["noise", "x position", "scale"])
    """
    kl = numbers("kl", kl, "D")
    names = named("names", names, len(kl))
    figure, axes = panels(width=style.COLUMN if len(kl) <= 20 else style.PAGE, height=1.8)
    _bars(axes[0][0], kl, names, sort)
    label(axes[0][0], x="latent", y="KL to the prior (nats)", title=title)
    return figure


def informativeness_bars(
    informativeness: Mapping[str, Any],
    names: Sequence[str] | None = None,
    *,
    normalised: bool = True,
    sort: bool = True,
) -> Figure:
    """I(x; z_i) of all latents, the largest first, one panel per model: Do & Tran's Fig. 9 and 14.

    Args:
        informativeness: model → (D,).
        names: D names for all models; z0 … by default.
        normalised: whether the values are divided by log(#bins); otherwise they are in nats.
        sort: sort the bars from largest to smallest.

    Returns:
        A figure with one panel per model.

    See also: ``kl_bars``; ``distaff.metrics.informativeness``, which computes the values.

    >>> figure = informativeness_bars({"FactorVAE": [0.8, 0.1, 0.7], "β-VAE": [0.4, 0.3, 0.0]})
    """
    filled("informativeness", informativeness)
    models = {model: numbers(model, values, "D") for model, values in informativeness.items()}
    figure, axes = small_multiples(len(models), 3, height=1.7)
    top = max(float(np.nanmax(values)) for values in models.values())
    for i, (one, (model, values)) in enumerate(zip(axes, models.items(), strict=True)):
        _bars(one, values, named("names", names, len(values)), sort)
        one.set_ylim(0, 1.05 * top if top > 0 else 1)
        unit = r"$I(x; z_i)$ / log #bins" if normalised else r"$I(x; z_i)$ (nats)"
        label(one, x="latent", y=None if i % 3 else unit, title=model)
    return figure


def scores_by_factor(
    scores: Mapping[str, Any],
    factors: Sequence[str],
    *,
    score: str,
    title: str | None = None,
    nulls: Mapping[str, float] | None = None,
) -> Figure:
    """The value of a score for each factor, with models side by side: Do & Tran's Fig. 13, Tables 8 and 9.

    Args:
        scores: model → (K,).
        factors: K names.
        score: the name of the score, such as "RMIG (normalised)".
        title: title above the figure.
        nulls: model → its score over all factors if there is nothing to find, drawn as a line across its
            bars.

    Returns:
        A figure with K groups of bars, one bar per model.

    See also: ``scores_by_setting``, one number per run; ``information_matrix``, for each latent.

    >>> scores = {"FactorVAE": [0.24, 0.71], "β-VAE": [0.05, 0.15]}
    >>> figure = scores_by_factor(scores, ["shape", "scale"], score="RMIG (normalised)")
    """
    filled("scores", scores)
    heights = {model: numbers(model, values, "K") for model, values in scores.items()}
    same_length(factors=factors, **heights)
    bars = len(heights) * len(factors)
    figure, axes = panels(width=style.COLUMN if bars <= 18 else style.PAGE)
    one = axes[0][0]
    width = 0.8 / len(heights)
    colours = style.colours_for(heights)
    for i, (model, values) in enumerate(heights.items()):
        offset = (i - (len(heights) - 1) / 2) * width
        one.bar(np.arange(len(factors)) + offset, values, width, color=colours[model], label=model)
    for i, model in enumerate(heights):
        if nulls and model in nulls:
            left = np.arange(len(factors)) + (i - len(heights) / 2) * width
            first = model == next(name for name in heights if name in nulls)
            one.hlines(
                [nulls[model]] * len(factors),
                left,
                left + width,
                color=style.INK,
                linewidth=1.0,
                label="shuffled factors" if first else "_further",
            )
    _name_ticks(one, factors)
    label(one, y=score, title=title)
    if len(heights) > 1 or nulls:
        fits = figure.get_figwidth() / style.COLUMN * LEGEND_LETTERS
        style.legend_beside(figure, one, columns=max(1, min(3, int(fits // (max(map(len, heights)) + 6)))))
    return figure


def _bars(axes: Axes, values: Any, names: Sequence[str], sort: bool) -> None:
    order = np.argsort(-values, kind="stable") if sort else np.arange(len(values))
    axes.bar(np.arange(len(values)), values[order], color=style.PALETTE[0], width=0.7)
    _name_ticks(axes, [names[i] for i in order])


def _name_ticks(axes: Axes, names: Sequence[str]) -> None:
    """Label the bars: horizontally if short, slanted if long, vertically if many; no labels above 40."""
    if len(names) > 40:
        axes.set_xticks([])
        return
    axes.set_xticks(np.arange(len(names)), names)
    if len(names) > 12:
        axes.tick_params(axis="x", rotation=90)
    elif max(map(len, names)) * len(names) > 45:
        for text in axes.get_xticklabels():
            text.set(rotation=30, ha="right", rotation_mode="anchor")
