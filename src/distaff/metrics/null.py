"""What a score is worth: the same metric on data without anything to find.

A score of 0.3 is good if noise scores 0.01, and poor if noise scores 0.28. ``evaluate(..., null=20)`` scores
the same codes against the factors of other rows, twenty times. All factors of a row move together: codes and
factors keep their own distributions but lose their relation. Everything is fitted, split, drawn and voted on
again. ``baselines`` are other codes of the same rows, such as those of an untrained encoder or random
projections of the data.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.card import Card
from distaff.metrics.inputs import CodesLike, Factors, as_codes, check_index
from distaff.metrics.score import Null, Score

Scores = Sequence[Score]

TAKEN = frozenset(
    [
        *("metric", "part", "value", "protocol", "interval", "interval_low", "interval_high", "direction"),
        *("notes", "null", "null_range", "gap"),
        *("score", "95% interval", "shuffled", "of the gap", "better"),
    ]
)
"""The columns of tables of scores; each baseline adds a column under its own name."""


def read_baselines(codes: CodesLike, rows: int, baselines: Mapping[str, CodesLike]) -> dict[str, Codes]:
    """Other codes of the same ``rows`` by name; an error if they cannot be compared with the scores."""
    if not isinstance(baselines, Mapping):
        raise DistaffError(
            f"baselines are codes by name, not a {type(baselines).__name__}: give a dict such as "
            '{"untrained": codes}.'
        )
    read = {}
    for name, other in baselines.items():
        if str(name) in TAKEN:
            raise DistaffError(
                f"{name!r} is a column of the table of scores: give the baseline another name."
            )
        check_index(codes, other, f"codes and the baseline {name!r}")
        read[str(name)] = as_codes(other)
        if len(read[str(name)]) != rows:
            raise DistaffError(
                f"the baseline {name!r} has {len(read[str(name)])} rows and the codes {rows}: "
                "both must describe the same rows."
            )
    return read


def with_null(
    scores: Scores,
    card: Card,
    scored: Callable[[Codes, Factors | None, int], Scores],
    codes: Codes,
    factors: Factors | None,
    *,
    draws: int,
    baselines: Mapping[str, Codes],
    seed: int,
) -> list[Score]:
    """The scores of a metric with their null and baselines, or with a note that says why they are missing.

    Args:
        scores: scores of the codes with their own factors.
        card: the metric's card.
        scored: the scores of the same metric for other codes or factors, with a seed.
        codes: the codes.
        factors: their factors; None if there are none.
        draws: number of times to shuffle the factors.
        baselines: other codes by name.
        seed: random seed for the shuffles.
    """
    notes = []
    rng = np.random.default_rng([seed, 2])
    drawn: list[list[float]] = []
    try:
        if card.inputs == "codes and factors" and factors is not None:
            drawn = [[score.value for score in _shuffled(scored, codes, factors, rng)] for _ in range(draws)]
    except DistaffError as failure:
        notes.append(f"no null: shuffled factors give no score ({failure})")
    others: dict[str, list[float]] = {}
    for name, other in baselines.items():
        try:
            others[name] = [score.value for score in scored(other, factors, seed)]
        except DistaffError as failure:
            notes.append(f"no score of the baseline {name!r} ({failure})")
    best = card.best if math.isfinite(card.best) else None
    told = []
    for i, score in enumerate(scores):
        null = Null(tuple(values[i] for values in drawn), {name: v[i] for name, v in others.items()}, best)
        given = null if drawn or others else None
        told.append(replace(score, null=given, notes=(*score.notes, *notes)))
    return told


def _shuffled(
    scored: Callable[[Codes, Factors | None, int], Scores],
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
) -> Scores:
    """The scores of a metric for factors of other rows, drawn at random, without notes on dropped rows."""
    rows, seed = rng.permutation(len(codes)), int(rng.integers(1 << 31))
    return scored(codes, replace(factors.select(rows), notes=()), seed)


def add_null_columns(table: pd.DataFrame, scores: Scores) -> None:
    """Add to a table of scores the means and ranges of their nulls, their gaps, and their baselines."""
    nulls = [score.null or Null() for score in scores]
    table["null"] = [np.nan if null.mean is None else null.mean for null in nulls]
    table["null_range"] = pd.Series([null.range for null in nulls], dtype=object)
    table["gap"] = [np.nan if score.gap is None else score.gap for score in scores]
    for name in dict.fromkeys(name for null in nulls for name in null.baselines):
        table[name] = [null.baselines.get(name, np.nan) for null in nulls]
