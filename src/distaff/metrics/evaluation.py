"""``evaluate``: many metrics of one representation in one table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import pandas as pd
from numpy.typing import ArrayLike

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError, unknown
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.inputs import (
    CodesLike,
    Factors,
    FactorsLike,
    as_codes,
    as_factors,
    check,
    check_index,
    labelled,
    quantize_factors,
)
from distaff.metrics.intervals import checked_draws
from distaff.metrics.metric import card_of
from distaff.metrics.options import DRAWING, BinCount
from distaff.metrics.score import Score

Selection = Literal["default", "all"] | Sequence[str]


@dataclass(frozen=True)
class Evaluation:
    """The scores of one representation, and why any metric is absent.

    Args:
        scores: in the order asked for, or by name.
        skipped: metric → the reason, for those that were not named by the caller.
    """

    scores: tuple[Score, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)

    def table(self) -> pd.DataFrame:
        """One row per score: metric, value, protocol, interval, direction, notes."""
        rows = [
            (s.name, s.value, s.protocol, s.interval, s.direction, "; ".join(s.notes)) for s in self.scores
        ]
        table = pd.DataFrame(rows, columns=["metric", "value", "protocol", "interval", "direction", "notes"])
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
    seed: int = 0,
) -> pd.DataFrame:
    """Every metric that the data allow, as a table: metric, value, protocol, interval, direction, notes.

    Args:
        codes: (N, D) means (numpy, torch, pandas), or ``Codes``.
        factors: (N, K) ground truth, as an array, tensor, frame or dict of columns. Without it, only the
            metrics that need no labels.
        logvar: (N, D) log-variances. Without them, only the metrics that read means.
        metrics: ``"default"`` (each metric by its first protocol), ``"all"`` (by every protocol), or names
            such as ``["mig", "mig:chen18"]``.
        factor_bins: bin real-valued factors into this many classes of equal width, for metrics that need
            classes (``distaff.metrics.quantize_factors`` has other ways).
        bootstrap: halves of the rows to score for intervals: 0 for none, 20 for ten times the work.
        seed: of every draw.

    Metrics that cannot be had for these data are left out of ``"default"`` and ``"all"``, with the reasons in
    ``table.attrs["skipped"]``; those named one by one raise a ``DistaffError`` instead.
    """
    return evaluate_scores(
        codes,
        factors,
        logvar=logvar,
        metrics=metrics,
        factor_bins=factor_bins,
        bootstrap=bootstrap,
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
    seed: int = 0,
    report: Callable[[str], None] | None = None,
    strict: bool | None = None,
) -> Evaluation:
    """As ``evaluate``, with whole ``Score`` objects.

    ``report`` is told each metric before it runs. Metrics that cannot be had are an error where ``strict``,
    by default if they were named one by one.
    """
    chosen = requested(metrics, factor_bins, bootstrap, seed)
    check_index(codes, factors)
    codes = as_codes(codes, logvar)
    paired = None
    if factors is not None:
        factors = as_factors(factors) if factor_bins is None else quantize_factors(factors, factor_bins)
        paired = labelled(codes, factors)
    strict = metrics not in ("default", "all") if strict is None else strict
    scores: list[Score] = []
    skipped: dict[str, str] = {}
    for name, protocol in chosen:
        label = metric_label(name, protocol)
        try:
            missing = None if strict else _missing(name, protocol, codes, paired)
            if missing:
                raise DistaffError(missing)
            if report:
                report(label)
            found = _scores(name, protocol, codes, paired, bootstrap, seed)
            scores += [replace(score, metric=label) for score in found]
        except DistaffError as error:
            if strict:
                raise
            skipped[label] = str(error)
    return Evaluation(tuple(scores), skipped)


def requested(
    metrics: Selection, factor_bins: int | None, bootstrap: int, seed: int
) -> list[tuple[str, str | None]]:
    """``selected(metrics)``, after a look at what all of them would refuse."""
    check("factor_bins", factor_bins, BinCount | None)
    check("bootstrap", bootstrap, DRAWING["bootstrap"])
    check("seed", seed, DRAWING["seed"])
    if bootstrap:
        checked_draws(bootstrap)
    return selected(metrics)


def selected(metrics: Selection) -> list[tuple[str, str | None]]:
    """(name, protocol) of the metrics asked for; no protocol is the default one."""
    known = all_metrics()
    single = {name: f for name, f in known.items() if card_of(f).inputs != "several codes"}
    if metrics == "default":
        return [(name, None) for name in single]
    if metrics == "all":
        return [(name, protocol) for name, f in single.items() for protocol in card_of(f).protocols]
    if isinstance(metrics, str):
        metrics = metrics.split(",")
    if not isinstance(metrics, Sequence):
        raise DistaffError(f"metrics={metrics!r}: give names, 'default' or 'all'.")
    chosen: list[tuple[str, str | None]] = []
    for entry in metrics:
        name, _, protocol = str(entry).strip().partition(":")
        if name not in single:
            raise unknown("metric", name, [*single, "default", "all"])
        if protocol and protocol not in card_of(single[name]).protocols:
            raise unknown(f"protocol of {name}", protocol, card_of(single[name]).protocols)
        chosen.append((name, protocol or None))
    if not chosen:
        raise DistaffError("no metrics were asked for: give names, 'default' or 'all'.")
    return chosen


def metric_label(name: str, protocol: str | None) -> str:
    """``mig`` for the metric's first protocol, ``mig:chen18`` for another."""
    default = card_of(all_metrics()[name]).protocols[0]
    return name if protocol in (None, default) else f"{name}:{protocol}"


def _missing(
    name: str, protocol: str | None, codes: Codes, paired: tuple[Codes, Factors] | None
) -> str | None:
    """Why a metric does not apply to these inputs, if it does not."""
    card = card_of(all_metrics()[name])
    if card.inputs == "codes and factors" and paired is None:
        return "it needs factors."
    bare = codes.logvars is None and codes.means.shape[1] > 0
    if bare and (card.posterior == "yes" or (protocol in card.protocols and protocol in card.posterior)):
        return "it needs log-variances."
    return None


def _scores(
    name: str,
    protocol: str | None,
    codes: Codes,
    paired: tuple[Codes, Factors] | None,
    bootstrap: int,
    seed: int,
) -> list[Score]:
    """The one or more scores of a metric."""
    function = all_metrics()[name]
    options = {"bootstrap": bootstrap, "seed": seed} | ({} if protocol is None else {"protocol": protocol})
    if card_of(function).inputs == "codes":
        found = function(codes, **options)
    elif paired is None:
        raise DistaffError(
            f"{name} needs factors: give the ground truth of each row, in an npz as an array named factors."
        )
    else:
        found = function(*paired, **options)
    return [found] if isinstance(found, Score) else list(found)
