"""Decide a study's claims by its runs: an effect over seeds, its interval, and a verdict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from distaff.foundation.files import write_json
from distaff.studies.bootstrap import (
    Effect,
    Floats,
    difference_of,
    heights_at_equal,
    mean_of,
    rank_correlation_of,
    slope,
    spearman,
)
from distaff.studies.claim_forms import Claim, Comparison, Correlation, Quantity, Range, Trend
from distaff.studies.claim_names import LOG
from distaff.studies.grid import has_settings
from distaff.studies.study import Study

FEWEST = 3
"""Smallest number of seeds that decides a claim."""
FILE = "claims.json"

Runs = Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
"""Settings and table row of each run of a study; the row is empty until the run is finished."""
Outcome = Literal["holds", "does not hold", "undecided", "not run"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Verdict:
    """What a study's runs say about a claim.

    Args:
        claim: the claim.
        outcome: ``holds`` where the 95% interval of the effect lies where the claim says, ``does not hold``
            where it lies elsewhere, ``undecided`` where it does both, a group has fewer than 3 seeds or
            its finished runs have no such number,
            ``not run`` where a group has no seed whose runs are all finished.
        seeds: number of seeds that count, in the smaller group.
        effect: the difference of means, the mean change of the metric from one value of the setting to the
            next, the mean, or the rank correlation.
        low: lower end of the interval.
        high: upper end of the interval.
        probability: probability that the effect is as claimed, by the same bootstrap draws.
        ours: the numbers to compare with the published ones: both means, those at the setting's first and
            last value, the mean, or the correlation.
        note: further information for the reader.
    """

    claim: Claim
    outcome: Outcome
    seeds: int = 0
    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    probability: float = math.nan
    ours: tuple[float, ...] = ()
    note: str = ""

    @property
    def text(self) -> str:
        """The outcome in words, with the number of seeds if it is undecided."""
        plural = "" if self.seeds == 1 else "s"
        return f"undecided at {self.seeds} seed{plural}" if self.outcome == "undecided" else self.outcome

    def as_dict(self) -> dict[str, Any]:
        """The entry of the claim in ``claims.json``."""
        return {
            "says": self.claim.says,
            "verdict": self.outcome,
            "seeds": self.seeds,
            "effect": self.effect,
            "interval": [self.low, self.high],
            "probability": self.probability,
            "published": list(self.claim.published),
            "ours": list(self.ours),
            "needs": list(self.claim.needs),
            "note": self.note,
        }


@dataclass(frozen=True)
class _Finding:
    """The effect that runs show, and the numbers it was computed from."""

    effect: Effect
    ours: tuple[float, ...]
    note: str = ""


class _NotDecidable(Exception):
    """There are runs, but no effect can be computed from them; the message says why."""


def judge(study: Study, table: pd.DataFrame) -> list[Verdict]:
    """The verdict on each claim of a study, in the file's order.

    Nothing else of the runs is read than ``Results.table``, so that a table kept elsewhere gives the same
    verdicts as the run folders.
    """
    finished = table[table["state"] == "finished"]
    rows: Mapping[Any, Mapping[Any, Any]] = finished.set_index("run").to_dict("index")
    runs = [(run.settings, rows.get(run.key, {})) for run in study.runs]
    return [_judge(claim, runs) for claim in study.claims]


def write_claims(study: Study, verdicts: Sequence[Verdict], folder: Path) -> None:
    """Write the verdicts on a study's claims to ``claims.json``, if there are any."""
    if verdicts:
        content = {"study": study.name, "scale": study.scale, "claims": [one.as_dict() for one in verdicts]}
        write_json(folder / FILE, content)


def counts(verdicts: Sequence[Verdict]) -> str:
    """The number of claims that hold, do not hold, are undecided or were not run, as a phrase.

    >>> counts([])
    'no claims'
    """
    outcomes = [verdict.outcome for verdict in verdicts]
    return ", ".join(f"{outcomes.count(one)} {one}" for one in OUTCOMES if one in outcomes) or "no claims"


def _judge(claim: Claim, runs: Runs) -> Verdict:
    needed = f"it needs {', '.join(claim.needs)}" if claim.needs else ""
    try:
        finding = _finding(claim, runs)
    except _NotDecidable as reason:
        return Verdict(claim, "undecided", note=str(reason))
    if finding is None:
        return Verdict(claim, "not run", note=needed)
    effect, (start, end) = finding.effect, claim.form.range
    low, high = effect.interval
    outcome: Outcome = "undecided"
    if effect.seeds >= FEWEST:
        if start <= low and high <= end:
            outcome = "holds"
        elif high < start or low > end:
            outcome = "does not hold"
    probability = effect.probability(start, end)
    return Verdict(
        claim, outcome, effect.seeds, effect.value, low, high, probability, finding.ours, finding.note
    )


def _finding(claim: Claim, runs: Runs) -> _Finding | None:
    """The finding of a claim's runs; None if one of its groups has no runs."""
    match claim.form:
        case Comparison(of, than, _, None):
            ours, theirs = _means(runs, of), _means(runs, than)
            if not ours or not theirs:
                return None
            return _Finding(difference_of(ours, theirs), (_mean(ours), _mean(theirs)))
        case Comparison(of, than, _, str(at_equal)):
            return _at_equal(runs, of, than, at_equal)
        case Trend(quantity, over):
            return _trend(runs, quantity, over)
        case Range(quantity):
            values = _means(runs, quantity)
            return _Finding(mean_of(values), (_mean(values),)) if values else None
        case Correlation(first, second):
            points = _by_seed(runs, first.where, [first.metric, second.metric])
            if not points:
                return None
            effect = rank_correlation_of(points)
            return _Finding(effect, (effect.value,), f"over {sum(map(len, points.values()))} runs")
        case _:
            raise TypeError(f"there is no such form of a claim: {claim.form!r}")


def _at_equal(runs: Runs, of: Quantity, than: Quantity, axis: str) -> _Finding | None:
    """The gap between the two trade-offs of each seed, over the range of the axis that both cover."""
    first, second = (_by_seed(runs, one.where, [axis, one.metric]) for one in (of, than))
    if not first or not second:
        return None
    heights = {seed: heights_at_equal(first[seed], second[seed]) for seed in first if seed in second}
    found = {seed: pair for seed, pair in heights.items() if pair is not None}
    name = axis.removeprefix(LOG)
    if not found:
        reason = "have no seed in common" if not heights else f"have no {name} in common at any seed"
        raise _NotDecidable(f"the groups {reason}, so they cannot be compared at equal {name}")
    left_out = len(heights) - len(found)
    note = f"at equal {name}" + (f"; {left_out} seeds have none in common" if left_out else "")
    ours = tuple(float(mean) for mean in np.mean(list(found.values()), axis=0))
    gaps = {seed: pair[0] - pair[1] for seed, pair in found.items()}
    return _Finding(mean_of(gaps), ours, note)


def _trend(runs: Runs, quantity: Quantity, over: str) -> _Finding | None:
    """The slope of each seed over the ranks of the setting's values."""
    points = _by_seed(runs, quantity.where, [over, quantity.metric], setting=over)
    if not points:
        return None
    values = np.unique(np.concatenate([part[:, 0] for part in points.values()]))
    long = {seed: part for seed, part in points.items() if len(np.unique(part[:, 0])) > 1}
    if not long:
        raise _NotDecidable(f"no seed has runs of several values of {over}")
    slopes = {seed: slope(np.searchsorted(values, part[:, 0]), part[:, 1]) for seed, part in long.items()}
    everything = np.concatenate(list(long.values()))
    ends = tuple(float(everything[everything[:, 0] == end, 1].mean()) for end in (values[0], values[-1]))
    ranks = float(np.mean([spearman(part) for part in long.values()]))
    note = f"{over} {values[0]:g} to {values[-1]:g}; mean Spearman correlation within seeds {ranks:.2f}"
    return _Finding(mean_of(slopes), ends, note)


def _means(runs: Runs, quantity: Quantity) -> dict[int, float]:
    """The mean over the runs of each seed."""
    points = _by_seed(runs, quantity.where, [quantity.metric])
    return {seed: float(part.mean()) for seed, part in points.items()}


def _by_seed(
    runs: Runs, where: Mapping[str, Any], columns: Sequence[str], setting: str | None = None
) -> dict[int, Floats]:
    """A (runs, columns) table of numbers for each seed.

    A seed counts only if all its runs with these settings are finished and have all the numbers; otherwise
    the means of different seeds would be over different settings.
    """
    found: dict[int, list[list[float]]] = {}
    unfinished: set[int] = set()
    for settings, row in runs:
        if has_settings(settings, where):
            numbers = {**row, setting: settings[setting]} if setting else row
            unfinished |= set() if row else {int(settings["seed"])}
            found.setdefault(int(settings["seed"]), []).append([_number(numbers, name) for name in columns])
    tables = {seed: np.array(numbers, np.float64) for seed, numbers in found.items()}
    whole = {seed: numbers for seed, numbers in tables.items() if np.isfinite(numbers).all()}
    if not whole and any(np.isinf(numbers).any() for numbers in tables.values()):
        raise _NotDecidable(f"no seed has a finite {' and '.join(columns)} in all its runs")
    if not whole and set(tables) > unfinished:
        raise _NotDecidable(f"the finished runs have no {' or no '.join(columns)}")
    return whole


def _number(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name)
    return math.nan if value is None else float(value)


def _mean(values: Mapping[int, float]) -> float:
    return float(np.mean(list(values.values())))
