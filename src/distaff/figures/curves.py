"""Curves over training: logged terms, the critic's accuracy, total correlation, information per latent."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from distaff.figures import style
from distaff.figures.arrays import Array, filled, mean_interval, named, numbers, seeds
from distaff.figures.style import count_axis, label, panels, small_multiples

NATS = (
    *("loss", "elbo", "nll", "kl", "sampled_kl", "mutual_information", "dimension_kl"),
    *("total_correlation", "tc_between_groups", "tc_within_groups", "density_ratio_tc"),
    *("inclusive_kl", "exclusive_kl", "critic_loss", "critic_tc", "code_log_likelihood"),
)
"""Logged terms that are known to be in nats; other terms say their unit through ``units``."""


def training_curves(
    steps: Any,
    terms: Mapping[str, Any],
    *,
    units: Mapping[str, str] | None = None,
    columns: int = 3,
    title: str | None = None,
) -> Figure:
    """Small multiples of a run's logged terms, one panel a term (the FactorVAE paper's Fig. 32, 33).

    Args:
        steps: (T,) training steps at which the terms were logged.
        terms: name → (T,) values, or (S, T) with one row a seed: their mean with a 95% interval.
            NaN is a step at which a term was not logged.
        units: name → unit; the terms of ``NATS`` are in nats unless said otherwise here.
        columns: panels in a row.
        title: written above.
    """
    steps = numbers("steps", steps, "T")
    filled("terms", terms)
    units = dict.fromkeys(NATS, "nats") | dict(units or {})
    figure, axes = small_multiples(len(terms), columns, height=1.6)
    for i, (one, (name, values)) in enumerate(zip(axes, terms.items(), strict=True)):
        runs = seeds(name, values, len(steps))
        band(one, steps, runs, style.PALETTE[0])
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
    steps: Any, curves: Mapping[str, Mapping[str, Mapping[Any, Any]]], *, setting: str = "weight"
) -> Figure:
    """Quantities (rows) of objectives (columns) through training, a colour a setting.

    The FactorVAE paper's Fig. 4, 12, 23, 38 and 39.

    Args:
        steps: (T,) training steps.
        curves: quantity with its unit → objective → value of the setting → (S, T) values, a row a seed;
            mean and 95% interval are drawn.
        setting: what the colours stand for, such as "β or γ".
    """
    steps = numbers("steps", steps, "T")
    filled("curves", curves)
    for name, objectives in curves.items():
        filled(name, objectives)
    columns = max(len(objectives) for objectives in curves.values())
    width = style.COLUMN if columns == 1 else style.PAGE
    figure, axes = panels(len(curves), columns, width=width, height=1.9, share_y="row")
    for r, (quantity, objectives) in enumerate(curves.items()):
        for c, (objective, settings) in enumerate(objectives.items()):
            one = axes[r][c]
            # The same colours down a column: a legend in its first panel serves all.
            colours = style.colours_for(value for row in curves.values() for value in row.get(objective, ()))
            for value, runs in settings.items():
                values = seeds(f"{quantity}, {objective}", runs, len(steps))
                band(one, steps, values, colours[value], str(value))
            label(
                one,
                x="training step" if r == len(curves) - 1 else None,
                y=None if c else quantity,
                title=None if r else objective,
            )
            count_axis(one)
            if r == 0:
                style.legend(one, title=setting, columns=2)
        for unused in axes[r][len(objectives) :]:
            unused.remove()
    return figure


def critic_accuracy(steps: Any, accuracies: Mapping[str, Any], *, title: str | None = None) -> Figure:
    """The critic's accuracy through training, a line a run: the FactorVAE paper's Fig. 24 and 37.

    Args:
        steps: (T,) training steps.
        accuracies: run → (T,) values in [0, 1]; a half is chance, where q(z) cannot be told from its
            product of marginals.
        title: written above.
    """
    steps = numbers("steps", steps, "T")
    filled("accuracies", accuracies)
    figure, axes = panels()
    one = axes[0][0]
    for i, (run, values) in enumerate(accuracies.items()):
        colour, dashes = style.PALETTE[i % len(style.PALETTE)], style.DASHES[i % len(style.DASHES)]
        band(one, steps, seeds(run, values, len(steps)), colour, run, dashes)
    one.axhline(0.5, color=style.MUTED, linewidth=0.8, linestyle=":")
    one.annotate(
        "chance", (1, 0.5), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=style.SMALL
    )
    label(one, x="training step", y="critic's accuracy", title=title)
    count_axis(one)
    style.legend(one)
    return figure


def total_correlation(
    steps: Any, true: Mapping[Any, Any], critic: Mapping[Any, Any], *, setting: str = "γ"
) -> Figure:
    """True total correlation beside the critic's estimate: the FactorVAE paper's Fig. 7.

    Args:
        steps: (T,) training steps.
        true: value of the setting → (S, T) or (T,) total correlation of q(z), exact or by Monte Carlo.
        critic: value of the setting → the density-ratio estimates, likewise.
        setting: what the colours stand for.
    """
    steps = numbers("steps", steps, "T")
    filled("true", true)
    filled("critic", critic)
    colours = style.colours_for([*true, *critic])
    figure, axes = panels(1, 2, width=style.PAGE)
    for one, runs, title in zip(axes[0], (true, critic), ("true TC", "critic's estimate"), strict=True):
        for value, tc in runs.items():
            band(one, steps, seeds(title, tc, len(steps)), colours[value], f"{setting} = {value}")
        label(one, x="training step", y="total correlation (nats)", title=title)
        count_axis(one)
    style.legend(axes[0][0])
    return figure


def information_per_latent(
    steps: Any, information: Any, names: Sequence[str] | None = None, *, threshold: float = 0.1
) -> Figure:
    """I(x; z_d) of every latent through training, the kept and the pruned apart: HFVAE Fig. 6.

    Args:
        steps: (T,) training steps.
        information: (T, D) mutual information in nats.
        names: D names; z0 … by default.
        threshold: a latent is kept when its last value lies above this many nats.
    """
    steps = numbers("steps", steps, "T")
    information = numbers("information", information, "T D")
    seeds("information", information.T, len(steps))
    names = named("names", names, information.shape[1])
    kept = np.flatnonzero(information[-1] > threshold)
    pruned = np.flatnonzero(~(information[-1] > threshold))
    figure, axes = panels(1, 2, width=style.PAGE, share_y=True)
    for one, latents, title in zip(axes[0], (kept, pruned), ("informative", "uninformative"), strict=True):
        for latent in latents:
            colour, dashes = style.PALETTE[latent % 7], style.DASHES[latent // 7 % 4]
            band(one, steps, information[None, :, latent], colour, names[latent], dashes)
        label(one, x="training step", title=f"{len(latents)} {title} latents")
        count_axis(one)
    label(axes[0][0], y=r"$I(x; z_d)$ (nats)")
    style.legend_beside(figure, *axes[0], columns=10)
    return figure


def band(axes: Axes, x: Array, runs: Array, colour: Any, name: str | None = None, dashes: str = "-") -> None:
    """The mean of ``runs`` (S, T) as a line over its 95% interval as a band; NaN points are left out."""
    mean, low, high = mean_interval(runs)
    known = np.isfinite(mean)
    marker = "o" if known.sum() == 1 else None
    axes.plot(x[known], mean[known], color=colour, linewidth=1.2, label=name, linestyle=dashes, marker=marker)
    if np.isfinite(low).any():
        axes.fill_between(x[known], low[known], high[known], color=colour, alpha=0.2, linewidth=0)
