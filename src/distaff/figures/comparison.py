"""Comparisons of objectives and metrics over settings and seeds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy.stats import kendalltau, pearsonr, spearmanr

from distaff.figures import style
from distaff.figures.checked_arrays import Array, filled, mean_interval, numbers, same_length
from distaff.figures.style import label, panels, small_multiples

Points = tuple[Any, Any]
"""Two vectors of the same length: the horizontal and the vertical value of each run."""

LETTERS_PER_COLUMN = 32
"""Number of characters of tick labels that fit side by side in a column-wide figure."""
FEWEST_SEEDS = 3
"""With two seeds, Student's interval extends six times their distance to each side."""


def trade_off(
    runs: Mapping[str, Mapping[Any, Points]],
    *,
    x: str = "reconstruction error (nats)",
    y: str = "FactorVAE score",
    title: str | None = None,
    null: tuple[float, float] | None = None,
) -> Figure:
    """Reconstruction error against a score over β or γ: the FactorVAE paper's Fig. 5, 10; Mathieu's Fig. 2.

    Each point is the mean of a setting over seeds, labelled with its value, with a 95% interval in both
    directions; faint dots are the runs. Two seeds are too few for an interval. An interval that is much wider
    than the runs is cut off at the frame.

    Args:
        runs: objective → value of the setting → (errors (S,), scores (S,)).
        x: axis label of the errors, with their unit.
        y: axis label of the scores.
        title: title above the figure.
        null: the lowest and highest score if there is nothing to find, such as for shuffled factors; a band.

    Returns:
        A figure with one line per objective.

    See also: ``scores_by_setting``, only the scores; ``agreement``, one score against another.

    >>> runs = {"β-VAE": {1: ([28, 30], [0.60, 0.63]), 4: ([45, 47], [0.71, 0.74])}}
    >>> figure = trade_off(runs)
    """
    filled("runs", runs)
    figure, axes = panels(height=2.5)
    one = axes[0][0]
    colours = style.colours_for(runs)
    everything = []
    for i, (objective, settings) in enumerate(runs.items()):
        filled(objective, settings)
        points = [_pair(f"{objective} {value}", pair) for value, pair in settings.items()]
        everything += points
        (across, left, right), (up, low, high) = (
            np.stack([_interval(pair[axis]) for pair in points], axis=1) for axis in (0, 1)
        )
        one.errorbar(
            across,
            up,
            xerr=_reach(across - left, right - across),
            yerr=_reach(up - low, high - up),
            color=colours[objective],
            marker=style.MARKERS[i % len(style.MARKERS)],
            markersize=4,
            linewidth=1.0,
            elinewidth=0.7,
            label=objective,
        )
        for pair in points:
            one.plot(*pair, "o", color=colours[objective], alpha=0.35, markersize=2)
        for value, where in zip(settings, zip(across, up, strict=True), strict=True):
            note = one.annotate(str(value), where, xytext=(3, 3), textcoords="offset points")
            note.set(fontsize=style.SMALL, color=colours[objective], path_effects=style.HALO)
    one.margins(0.1)
    across, up = (np.concatenate([pair[axis] for pair in everything]) for axis in (0, 1))
    one.set_xlim(_frame(one.get_xlim(), across))
    one.set_ylim(_frame(one.get_ylim(), up))
    _draw_null(one, null)
    one.xaxis.set_major_locator(MaxNLocator(nbins=5))  # labels with four or more digits must not touch
    label(one, x=x, y=y, title=title)
    style.legend(one)
    return figure


def scores_by_setting(
    scores: Mapping[str, Mapping[Any, Any]],
    *,
    score: str,
    setting: str = "",
    title: str | None = None,
    null: tuple[float, float] | None = None,
) -> Figure:
    """The scores of all seeds for every setting, with mean and 95% interval, objectives side by side.

    The FactorVAE paper's Fig. 8 and 34; Do & Tran's Fig. 2, 3, 5, 7 and 8.

    Args:
        scores: objective → value of the setting → (S,).
        score: the name of the score, with its unit.
        setting: the name of the setting, such as "γ (FactorVAE), β (β-VAE)".
        title: title above the figure.
        null: the lowest and highest score if there is nothing to find, such as for shuffled factors; a band.

    Returns:
        A figure with one column of points per setting.

    See also: ``trade_off``, with the cost of the score; ``scores_by_factor``, the score for each factor.

    >>> figure = scores_by_setting({"FactorVAE": {10: [0.70, 0.74], 40: [0.81, 0.85]}}, score="MIG")
    """
    filled("scores", scores)
    settings = [(objective, value) for objective, values in scores.items() for value in values]
    figure, axes = panels(width=style.COLUMN if len(settings) <= 12 else style.PAGE)
    one = axes[0][0]
    colours = style.colours_for(scores)
    everything = []
    for at, (objective, value) in enumerate(settings):
        runs = numbers(f"{objective} {value}", scores[objective][value], "S")
        everything.append(runs)
        mean, low, high = mean_interval(runs)
        first = value == next(iter(scores[objective]))
        one.plot(np.full(len(runs), at - 0.15), runs, "o", color=colours[objective], alpha=0.35, markersize=3)
        one.errorbar(
            [at + 0.15],
            [mean],
            yerr=_reach(np.array([mean - low]), np.array([high - mean])),
            marker=style.MARKERS[list(scores).index(objective) % len(style.MARKERS)],
            markersize=5,
            capsize=2.5,
            color=colours[objective],
            linestyle="none",
            label=objective if first else None,
        )
    names = [str(value) for _, value in settings]
    one.set_xticks(range(len(settings)), names)
    if sum(map(len, names)) > LETTERS_PER_COLUMN * figure.get_figwidth() / style.COLUMN:
        one.tick_params("x", rotation=30)
    one.set_ylim(_frame(one.get_ylim(), np.concatenate(everything)))
    _draw_null(one, null)
    label(one, x=setting, y=score, title=title)
    if len(scores) > 1 or null is not None:
        style.legend_beside(figure, one, columns=4)
    return figure


def _draw_null(axes: Axes, null: tuple[float, float] | None) -> None:
    """Draw a band at the scores of shuffled factors, and enlarge the frame to contain it."""
    if null is None:
        return
    low, high = sorted(null)
    bottom, top = axes.get_ylim()
    room = 0.03 * (max(top, high) - min(bottom, low))
    axes.set_ylim(min(bottom, low - room), max(top, high + room))
    middle, half = (low + high) / 2, max((high - low) / 2, room / 6)
    axes.axhspan(
        middle - half, middle + half, color=style.MUTED, alpha=0.35, linewidth=0, label="shuffled factors"
    )


def agreement(
    scores: Mapping[tuple[str, str], Mapping[str, Points]],
    *,
    offsets: Mapping[tuple[str, str], float] | None = None,
) -> Figure:
    """One score against another over models, with their correlations: Do & Tran's Fig. 5c, 6, 8a.

    Args:
        scores: (horizontal score, vertical score) → objective → (values (M,), values (M,)); a panel per pair.
        offsets: pair → c, to draw the line y = x + c in its panel.

    Returns:
        A figure with one panel per pair of scores.

    See also: ``trade_off``; ``correlation_matrices``, which shows many scores at once.

    >>> points = {"FactorVAE": ([0.2, 0.5, 0.9], [0.3, 0.4, 0.8])}
    >>> figure = agreement({("MIG", "DCI disentanglement"): points})
    """
    filled("scores", scores)
    figure, axes = small_multiples(len(scores), 2, height=2.6)
    for i, (one, (pair, objectives)) in enumerate(zip(axes, scores.items(), strict=True)):
        filled(str(pair), objectives)
        points = {name: _pair(f"{pair}, {name}", columns) for name, columns in objectives.items()}
        colours = style.colours_for(points)
        for (name, (x, y)), marker in zip(points.items(), style.MARKERS * len(points), strict=False):
            one.scatter(x, y, s=12, color=colours[name], marker=marker, alpha=0.8, linewidth=0, label=name)
        if offsets is not None and pair in offsets:
            one.axline((0, offsets[pair]), slope=1, color=style.MUTED, linewidth=0.8, linestyle="--")
            one.autoscale_view()
        _note_correlations(one, *np.concatenate([np.stack(columns) for columns in points.values()], axis=1))
        label(one, *pair)
        if i == 0 and len(points) > 1:
            style.legend(one)
    return figure


def _pair(what: str, pair: Points) -> tuple[Array, Array]:
    x, y = (numbers(what, column, "S") for column in pair)
    same_length(**{f"{what} (x)": x, f"{what} (y)": y})
    return x, y


def _frame(limits: tuple[float, float], runs: Array) -> tuple[float, float]:
    """An axis's limits, narrowed if intervals extend beyond the runs by more than half their range."""
    known = runs[np.isfinite(runs)]
    if not len(known) or np.ptp(known) == 0:
        return limits
    low, high = known.min() - np.ptp(known) / 2, known.max() + np.ptp(known) / 2
    return max(limits[0], low), min(limits[1], high)


def _interval(values: Array) -> Array:
    """Mean, low and high (3,); low and high are NaN if there are too few seeds."""
    mean, low, high = mean_interval(values)
    known = np.isfinite(values).sum() >= FEWEST_SEEDS
    return np.array([mean, low, high] if known else [mean, np.nan, np.nan])


def _reach(below: Array, above: Array) -> Array | None:
    """Lengths of error bars (2, P); ``None`` if no interval is known."""
    lengths = np.stack([below, above])
    return None if np.isnan(lengths).all() else np.nan_to_num(lengths)


def _note_correlations(axes: Axes, x: Array, y: Array) -> None:
    """Write Pearson's, Kendall's and Spearman's coefficients above the panel, unless they are undefined."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return
    r, tau, rho = pearsonr(x, y)[0], kendalltau(x, y)[0], spearmanr(x, y)[0]
    text = f"Pearson {r:.2f} · Kendall {tau:.2f} · Spearman {rho:.2f}".replace("-", "−")
    axes.set_title(text, fontsize=style.SMALL, color=style.MUTED)
