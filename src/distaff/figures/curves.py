"""Curves over training: logged terms, and quantities by setting."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from distaff.figures import style
from distaff.figures.checked_arrays import Array, filled, mean_interval, numbers, seeds
from distaff.figures.style import count_axis, label, panels, small_multiples

LONG_NAME = 12  # characters: longer names are placed below the panels
NATS = (
    *("elbo", "loss", "nll", "kl", "sampled_kl", "real_kl", "discrete_kl", "class_balance", "capacity_gap"),
    *("mutual_information", "anchored_information", "total_correlation", "dimension_kl", "marginal_kl"),
    *("tc_between_groups", "tc_within_groups", "inclusive_kl", "exclusive_kl"),
    *("log_evidence", "code_log_likelihood"),
)
"""Logged terms that are in nats; ``units`` gives the units of other terms."""


def training_curves(
    steps: Any,
    terms: Mapping[str, Any],
    *,
    units: Mapping[str, str] | None = None,
    columns: int = 3,
    title: str | None = None,
    beside: Mapping[str, Any] | None = None,
) -> Figure:
    """Small multiples of a run's logged terms, one panel per term (the FactorVAE paper's Fig. 32, 33).

    Args:
        steps: (T,) training steps at which the terms were logged.
        terms: name → (T,) values, or (S, T) with one row per seed, drawn as mean with a 95% interval.
            NaN is a step at which a term was not logged.
        units: name → unit; by default nats for the terms of ``NATS`` and none for others.
        columns: number of panels per row.
        title: title above the figure.
        beside: some of the terms on other data, such as held-out data, drawn as dashed lines.

    Returns:
        A figure with one panel per term.

    See also: ``curves_by_setting``, many runs in one panel.

    >>> figure = training_curves([0, 500, 1000], {"nll": [450, 80, 45], "kl": [0.5, 12, 22]})
    """
    steps = numbers("steps", steps, "T")
    filled("terms", terms)
    units = dict.fromkeys(NATS, "nats") | dict(units or {})
    figure, axes = small_multiples(len(terms), columns, height=1.6)
    for i, (one, (name, values)) in enumerate(zip(axes, terms.items(), strict=True)):
        runs = seeds(name, values, len(steps))
        band(one, steps, runs, style.PALETTE[0])
        if beside is not None and name in beside:
            band(one, steps, seeds(name, beside[name], len(steps)), style.PALETTE[1], dashes="--")
        below = "training step" if i + columns >= len(terms) else None
        label(one, x=below, y=units.get(name) or None, title=name.replace("_", " "))
        count_axis(one)
        if not np.isfinite(runs).any():
            one.annotate(
                "no finite value", (0.5, 0.5), xycoords="axes fraction", ha="center", fontsize=style.SMALL
            )
            one.set(xticks=[], yticks=[])
    style.heading(figure, title)
    return figure


def curves_by_setting(
    steps: Any,
    curves: Mapping[str, Mapping[str, Mapping[Any, Any]]],
    *,
    setting: str = "weight",
    nulls: Mapping[str, tuple[float, float]] | None = None,
) -> Figure:
    """Quantities (rows) of objectives (columns) during training, with a colour per setting.

    The FactorVAE paper's Fig. 4, 12, 23, 38 and 39.

    Args:
        steps: (T,) training steps.
        curves: quantity with its unit → objective → value of the setting → (S, T) values, a row per seed;
            mean and 95% interval are drawn.
        setting: the meaning of the colours, such as "β or γ".
        nulls: quantity → the lowest and highest value if there is nothing to find, such as for shuffled
            factors; a grey band.

    Returns:
        A figure of quantities × objectives.

    See also: ``training_curves``, the terms of one run; ``trade_off``, the final values.

    >>> scores = {1: [[0.2, 0.5, 0.6]], 4: [[0.2, 0.6, 0.7]]}
    >>> figure = curves_by_setting([0, 500, 1000], {"FactorVAE score": {"β-VAE": scores}}, setting="β")
    """
    steps = numbers("steps", steps, "T")
    filled("curves", curves)
    for name, objectives in curves.items():
        filled(name, objectives)
    columns = max(len(objectives) for objectives in curves.values())
    width = style.COLUMN if columns == 1 else style.PAGE
    first = next(iter(curves.values()))
    long_names = any(len(str(value)) > LONG_NAME for settings in first.values() for value in settings)
    figure, axes = panels(len(curves), columns, width=width, height=1.9, share_y="row")
    for r, (quantity, objectives) in enumerate(curves.items()):
        for c, (objective, settings) in enumerate(objectives.items()):
            one = axes[r][c]
            # The same colours in a whole column: a legend in its first panel is enough.
            colours = style.colours_for(value for row in curves.values() for value in row.get(objective, ()))
            for value, runs in settings.items():
                values = seeds(f"{quantity}, {objective}", runs, len(steps))
                band(one, steps, values, colours[value], str(value))
            if nulls and quantity in nulls:
                low, high = nulls[quantity]
                one.axhspan(low, high, color=style.MUTED, alpha=0.35, linewidth=0.5)
                place = one.get_yaxis_transform()
                words = one.annotate("shuffled factors", (1, high), xycoords=place, ha="right", va="bottom")
                words.set(fontsize=style.SMALL, color=style.MUTED, path_effects=style.HALO)
            label(
                one,
                x="training step" if r == len(curves) - 1 else None,
                y=None if c else quantity,
                title=None if r else objective,
            )
            count_axis(one)
            if r == 0 and not long_names:
                style.legend(one, title=setting, columns=2)
        for unused in axes[r][len(objectives) :]:
            unused.remove()
    if long_names:  # for example names of runs, which would leave no room for the curves
        style.legend_beside(figure, *axes[0][: len(first)], title=setting)
    return figure


def band(axes: Axes, x: Array, runs: Array, colour: Any, name: str | None = None, dashes: str = "-") -> None:
    """Draw the mean of ``runs`` (S, T) as a line over its 95% interval as a band; NaN points are skipped."""
    mean, low, high = mean_interval(runs)
    known = np.isfinite(mean)
    marker = "o" if known.sum() == 1 else None
    axes.plot(x[known], mean[known], color=colour, linewidth=1.2, label=name, linestyle=dashes, marker=marker)
    if np.isfinite(low).any():
        axes.fill_between(x[known], low[known], high[known], color=colour, alpha=0.2, linewidth=0)
