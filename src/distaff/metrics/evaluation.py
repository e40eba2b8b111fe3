"""``evaluate``: many metrics of one representation in one table."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.foundation.snippets import snippet
from distaff.metrics.card import Card
from distaff.metrics.factor_bins import quantize_factors
from distaff.metrics.inputs import (
    CodesLike,
    Factors,
    FactorsLike,
    IntArray,
    aligned,
    all_labelled,
    as_codes,
    as_factors,
    check_index,
)
from distaff.metrics.null import moved, read_baselines, with_null
from distaff.metrics.own_functions import named_if_it_fails
from distaff.metrics.score import Null, Score, shown_value
from distaff.metrics.selection import Chosen, Selection, requested
from distaff.metrics.text_columns import text_columns


@dataclass(frozen=True)
class Evaluation:
    """The scores of one representation, and the reasons for metrics that were skipped.

    Args:
        scores: the scores, in the order requested, or by name.
        skipped: metric → reason, for metrics that the caller did not name.
    """

    scores: tuple[Score, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        """The notebook view: every score as a bar, and the metrics that were left out."""
        columns = {**text_columns(self.scores), "value": [shown_value(score) for score in self.scores]}
        rows = list(zip(*columns.values(), strict=True))
        left_out = [f"{name}: left out, {reason}" for name, reason in self.skipped.items()]
        return snippet("Evaluation", f"{len(rows)} scores", headers=list(columns), rows=rows, notes=left_out)

    def table(self) -> pd.DataFrame:
        """One row per score: metric, value, protocol, interval, direction, notes.

        With ``null``, also the mean and the range of the scores of shuffled factors, and the share of the gap
        between that mean and the best value; with ``baselines``, the score of each baseline.
        """
        rows = [
            (s.name, s.value, s.protocol, s.interval, s.direction, "; ".join(s.notes)) for s in self.scores
        ]
        table = pd.DataFrame(rows, columns=["metric", "value", "protocol", "interval", "direction", "notes"])
        nulls = [score.null or Null() for score in self.scores]
        if any(score.null is not None for score in self.scores):
            table["null"] = [np.nan if null.mean is None else null.mean for null in nulls]
            table["null_range"] = pd.Series([null.range for null in nulls], dtype=object)
            table["gap"] = [np.nan if s.gap is None else s.gap for s in self.scores]
            for name in dict.fromkeys(name for null in nulls for name in null.baselines):
                table[name] = [null.baselines.get(name, np.nan) for null in nulls]
        table.attrs["skipped"] = dict(self.skipped)
        return table


def evaluate(
    codes: CodesLike,
    factors: FactorsLike | None = None,
    *,
    logvar: ArrayLike | None = None,
    metrics: Selection = "default",
    factor_bins: int | None = None,
    bootstrap: int = 0,
    null: int = 0,
    baselines: Mapping[str, CodesLike] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Every metric that the data allow, as a table: metric, value, protocol, interval, direction, notes.

    Args:
        codes: (N, D) means (numpy, torch, pandas), or ``Codes``.
        factors: (N, K) ground truth: an array, tensor, frame or dict of columns. Without it, only metrics
            that need no labels are computed.
        logvar: (N, D) log-variances. Without them, only metrics that read means are computed.
        metrics: ``"default"`` (each usual metric with its first protocol), ``"all"`` (every metric with every
            protocol), or a list of names such as ``["mig", "mig:chen18"]``. Your own functions can be in the
            list, as ``"module:function"`` or as the function itself: they take codes (N, D) and factors
            (N, K), or codes only, and return a float.
        factor_bins: number of equal-width classes into which to bin real-valued factors, for metrics that
            need classes (``distaff.metrics.quantize_factors`` has other ways).
        bootstrap: number of random halves of the rows to score for intervals: 0 for none; 20 takes ten times
            as long.
        null: number of times to score the same codes against shuffled factors, to see what a score is worth:
            0 for none; 20 takes twenty times as long.
        baselines: other codes of the same rows by name, scored for comparison: for example those of an
            untrained encoder, or random projections of the data.
        seed: random seed for every draw.

    Metrics that cannot be computed for these data are left out of ``"default"`` and ``"all"``, with the
    reasons in ``table.attrs["skipped"]``; metrics requested by name raise a ``DistaffError`` instead.
    """
    return evaluate_scores(
        codes,
        factors,
        logvar=logvar,
        metrics=metrics,
        factor_bins=factor_bins,
        bootstrap=bootstrap,
        null=null,
        baselines=baselines,
        seed=seed,
    ).table()


def evaluate_scores(
    codes: CodesLike,
    factors: FactorsLike | None = None,
    *,
    logvar: ArrayLike | None = None,
    metrics: Selection = "default",
    factor_bins: int | None = None,
    bootstrap: int = 0,
    null: int = 0,
    baselines: Mapping[str, CodesLike] | None = None,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
    announce: Callable[[str, str], None] | None = None,
    strict: bool | None = None,
) -> Evaluation:
    """Like ``evaluate``, but returns complete ``Score`` objects.

    ``report`` is called with the name of each metric before it runs. ``announce`` is called before any metric
    runs, with the name and the reason of each metric that is skipped because it would take too long. With
    ``strict``, metrics that cannot be computed are an error; by default, this is so for metrics requested by
    name.
    """
    chosen = requested(metrics, factor_bins, bootstrap, seed, null)
    check_index(codes, factors)
    inputs = Inputs.read(as_codes(codes, logvar), factors, factor_bins)
    others = {} if baselines is None else read_baselines(codes, len(inputs.codes), baselines)
    compared = {name: replace(inputs, codes=other) for name, other in others.items()}
    strict = metrics not in ("default", "all") if strict is None else strict
    scores: list[Score] = []
    skipped = {} if strict else _left_out(chosen, inputs, announce or (lambda label, reason: None))
    for entry in chosen:
        label, card = entry.label, entry.metric.card
        if label in skipped:
            continue
        try:
            if report:
                report(label)
            found = _scores(entry, inputs, bootstrap, seed)
            reads_factors = card.inputs == "codes and factors"
            if null or others:
                found = with_null(
                    found,
                    card.best if math.isfinite(card.best) else None,
                    partial(_shuffled, entry, inputs) if reads_factors else None,
                    {other: partial(_scores, entry, given, 0, seed) for other, given in compared.items()},
                    draws=null,
                    seed=seed,
                )
            scores += [replace(score, metric=label) for score in found]
        except DistaffError as error:
            if strict:
                raise
            skipped[label] = str(error)
    return Evaluation(tuple(scores), skipped)


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of metrics.

    Args:
        codes: the codes of all rows.
        factors: the factors of all rows; labels may be missing.
    """

    codes: Codes
    factors: Factors | None

    @classmethod
    def read(cls, codes: Codes, factors: FactorsLike | None, bins: int | None) -> "Inputs":
        """The codes, and the factors that can be scored: one that never varies is left out, with a note."""
        if factors is None:
            return cls(codes, None)
        codes, read = aligned(codes, as_factors(factors) if bins is None else quantize_factors(factors, bins))
        return cls(codes, read.without_constant())

    @cached_property
    def complete(self) -> tuple[Codes, Factors]:
        """The rows with all labels; the same objects for all metrics, so that metrics can share results."""
        if self.factors is None:
            raise DistaffError("it needs factors.")
        return all_labelled(self.codes, self.factors)

    def shuffled(self, rows: IntArray) -> "Inputs":
        """The same codes with the factors of other rows."""
        return self if self.factors is None else Inputs(self.codes, moved(self.factors, rows))


def _left_out(
    chosen: Sequence[Chosen], inputs: Inputs, announce: Callable[[str, str], None]
) -> dict[str, str]:
    """The metrics that do not apply to these inputs or would take too long, with the reasons."""
    reasons = {}
    for entry in chosen:
        card = entry.metric.card
        if missing := _missing(card, entry.protocol, inputs):
            reasons[entry.label] = missing
        elif too_long := _too_long(card, entry.protocol, inputs.codes):
            reasons[entry.label] = too_long
            announce(entry.label, too_long)
    return reasons


def _missing(card: Card, protocol: str | None, inputs: Inputs) -> str | None:
    """Why a metric does not apply to these inputs, if it does not."""
    if card.inputs == "codes and factors" and inputs.factors is None:
        return "it needs factors."
    codes = inputs.codes
    bare = codes.logvars is None and codes.means.shape[1] > 0
    if bare and (card.posterior == "yes" or (protocol in card.protocols and protocol in card.posterior)):
        return "it needs log-variances."
    return None


def _too_long(card: Card, protocol: str | None, codes: Codes) -> str | None:
    """The reason to skip a metric that is limited to fewer latents, if it applies."""
    limit = card.limit(protocol)
    if limit is None or len(codes.names) <= limit[0]:
        return None
    most, doing = limit
    return (
        f"it {doing}, which takes too long for {len(codes.names)} latents (the limit is {most}): name it to "
        "compute it anyway."
    )


def _scores(entry: Chosen, inputs: Inputs, bootstrap: int, seed: int) -> list[Score]:
    """The one or more scores of a metric."""
    function = entry.metric
    card, named = function.card, {} if entry.protocol is None else {"protocol": entry.protocol}
    options: dict[str, Any] = {"bootstrap": bootstrap, "seed": seed, **named}
    if card.inputs == "codes":
        given: tuple[Any, ...] = (inputs.codes,)
    elif inputs.factors is None:
        raise DistaffError(
            f"{card.name} needs factors: give the ground truth of each row, in an npz as an array named "
            "factors, or a file of labels or columns of a table as --factors."
        )
    elif inputs.factors.missing.any():
        given = (inputs.codes, inputs.factors)
    else:
        given = inputs.complete
    with nullcontext() if entry.by_name else named_if_it_fails(function):
        found = function(*given, **options)
    return [found] if isinstance(found, Score) else list(found)


def _shuffled(entry: Chosen, inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """The scores of a metric for factors of other rows, drawn at random."""
    rows, seed = rng.permutation(len(inputs.codes)), int(rng.integers(1 << 31))
    return _scores(entry, inputs.shuffled(rows), 0, seed)
