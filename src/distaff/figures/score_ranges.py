"""Scores with intervals, nulls and baselines, one line per score."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from distaff.figures import style
from distaff.figures.checked_arrays import filled
from distaff.figures.style import label, panels

MARKS = "sD^v"


def scores_and_nulls(
    scores: Mapping[str, float],
    *,
    intervals: Mapping[str, tuple[float, float]] | None = None,
    nulls: Mapping[str, tuple[float, float]] | None = None,
    baselines: Mapping[str, Mapping[str, float]] | None = None,
    title: str | None = None,
) -> Figure:
    """Scores as points, one line each, with intervals, scores of chance, and scores of other codes.

    Args:
        scores: name → value.
        intervals: name → (low, high), for scores that have an interval.
        nulls: name → (low, high) of the metric if there is nothing to find.
        baselines: name → the scores of other codes by their names.
        title: title above the figure.

    Returns:
        A figure with one line per score, the first on top.

    See also: ``scores_by_factor``, a score for each factor; ``distaff.metrics.evaluate``, which gives nulls.

    >>> figure = scores_and_nulls({"mig": 0.31, "sap": 0.12}, nulls={"mig": (0.01, 0.02)})
    """
    filled("scores", scores)
    places = {name: len(scores) - 1 - i for i, name in enumerate(scores)}
    figure, axes = panels(width=style.COLUMN, height=0.9 + 0.2 * len(scores))
    one = axes[0][0]
    for i, (name, (low, high)) in enumerate((nulls or {}).items()):
        one.barh(
            places[name],
            max(high - low, 0.004),
            left=low,
            height=0.7,
            color=style.MUTED,
            alpha=0.45,
            label=None if i else "shuffled factors",
        )
    seen: dict[str, Any] = {}
    for name, others in (baselines or {}).items():
        for baseline, value in others.items():
            mark = MARKS[len(seen) % len(MARKS)] if baseline not in seen else seen[baseline]
            one.plot(
                value,
                places[name],
                mark,
                color=style.PALETTE[1],
                markersize=4,
                markerfacecolor="none",
                label=None if baseline in seen else baseline,
            )
            seen[baseline] = mark
    for name, (low, high) in (intervals or {}).items():
        one.plot([low, high], [places[name]] * 2, color=style.PALETTE[0], linewidth=1.2)
    one.plot(list(scores.values()), list(places.values()), "o", color=style.PALETTE[0], markersize=4.5)
    one.set_yticks(np.array(list(places.values())), list(places))
    one.set_ylim(-0.6, len(scores) - 0.4)
    one.set_xlim(min(0.0, *scores.values()) - 0.02, max(1.0, *scores.values()) + 0.02)
    label(one, x="score", title=title)
    if nulls or seen:
        style.legend_beside(figure, one, columns=3)
    return figure
