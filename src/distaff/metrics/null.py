"""What a score is worth: the same metric on data without anything to find.

A score of 0.3 is good if noise scores 0.01, and poor if noise scores 0.28. ``evaluate(..., null=20)`` scores
the same codes against the factors of other rows, twenty times. All factors of a row move together: codes and
factors keep their own distributions but lose their relation. Everything is fitted, split, drawn and voted on
again. ``baselines`` are other codes of the same rows, such as those of an untrained encoder or random
projections of the data.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.inputs import CodesLike, Factors, IntArray, as_codes, check_index
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
    best: float | None,
    shuffled: Callable[[np.random.Generator], Scores] | None,
    baselines: Mapping[str, Callable[[], Scores]],
    *,
    draws: int,
    seed: int,
) -> list[Score]:
    """The scores of a metric with their null and baselines, or with a note that says why they are missing.

    Args:
        scores: scores of the codes with their own factors.
        best: the metric's best value, if it has one.
        shuffled: scores the same codes with the factors of randomly drawn rows; None if the metric reads no
            factors.
        baselines: functions that score other codes, by name.
        draws: number of shuffles.
        seed: random seed for the shuffles.
    """
    notes = []
    rng = np.random.default_rng([seed, 2])
    drawn: list[list[float]] = []
    try:
        if shuffled is not None:
            drawn = [[score.value for score in shuffled(rng)] for _ in range(draws)]
    except DistaffError as failure:
        notes.append(f"no null: shuffled factors give no score ({failure})")
    others: dict[str, list[float]] = {}
    for name, scored in baselines.items():
        try:
            others[name] = [score.value for score in scored()]
        except DistaffError as failure:
            notes.append(f"no score of the baseline {name!r} ({failure})")
    told = []
    for i, score in enumerate(scores):
        null = Null(tuple(values[i] for values in drawn), {name: v[i] for name, v in others.items()}, best)
        given = null if drawn or others else None
        told.append(replace(score, null=given, notes=(*score.notes, *notes)))
    return told


def moved(factors: Factors, rows: IntArray) -> Factors:
    """The factors of other rows, without notes on what was dropped."""
    return replace(factors.select(rows), notes=())
