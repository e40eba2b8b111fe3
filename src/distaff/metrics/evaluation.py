"""``evaluate``: many metrics of one representation in one table."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import pandas as pd
from numpy.typing import ArrayLike

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.snippets import snippet
from distaff.metrics.card import Metric
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.factor_bins import quantize_factors
from distaff.metrics.inputs import CodesLike, Factors, FactorsLike, aligned, as_codes, as_factors, check_index
from distaff.metrics.intervals import checked_draws
from distaff.metrics.null import add_null_columns, read_baselines, with_null
from distaff.metrics.options import DRAWING, BinCount, check
from distaff.metrics.own_functions import given_metric, named_if_it_fails
from distaff.metrics.score import Score, shown_value
from distaff.metrics.text_columns import text_columns

Name = str | Callable[..., Any]
"""A metric by name, such as ``mig``, ``mig:chen18`` or ``module:function``, or a function."""
Selection = Literal["default", "all"] | Sequence[Name]

_OPTIONS: Mapping[str, tuple[int | None, Any]] = {
    "factor_bins": (None, BinCount | None),
    "bootstrap": (0, DRAWING["bootstrap"]),
    "null": (0, DRAWING["bootstrap"]),
    "seed": (0, DRAWING["seed"]),
}
"""The default and the allowed values of options that all metrics share."""


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
        if any(score.null is not None for score in self.scores):
            add_null_columns(table, self.scores)
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
    read, labels = _scorable(as_codes(codes, logvar), factors, factor_bins)
    others = {} if baselines is None else read_baselines(codes, len(read), baselines)
    strict = metrics not in ("default", "all") if strict is None else strict
    scores: list[Score] = []
    skipped = {} if strict else _left_out(chosen, read, labels, announce or (lambda label, reason: None))
    for entry in chosen:
        if entry.label in skipped:
            continue
        try:
            if report:
                report(entry.label)
            found = _scores(entry, read, labels, seed, bootstrap)
            if null or others:
                card, again = entry.metric.card, partial(_scores, entry)
                found = with_null(found, card, again, read, labels, draws=null, baselines=others, seed=seed)
            scores += [replace(score, metric=entry.label) for score in found]
        except DistaffError as error:
            if strict:
                raise
            skipped[entry.label] = str(error)
    return Evaluation(tuple(scores), skipped)


class Chosen(NamedTuple):
    """A requested metric.

    Args:
        metric: the function itself.
        label: ``mig`` for the first protocol, ``mig:chen18`` for another, ``mine:score`` for one of your own.
        protocol: the protocol; None for the first.
        by_name: whether it was asked for by its name in this library; others may be a user's own.
    """

    metric: Metric
    label: str
    protocol: str | None = None
    by_name: bool = True


def requested(
    metrics: Selection, factor_bins: int | None, bootstrap: int, seed: int, null: int = 0
) -> list[Chosen]:
    """``selected(metrics)``, after checking the options that all metrics share."""
    for name, value in zip(_OPTIONS, (factor_bins, bootstrap, null, seed), strict=True):
        default, allowed = _OPTIONS[name]
        if value is not default:
            check(name, value, allowed)
    if bootstrap:
        checked_draws(bootstrap)
    return selected(metrics)


def selected(metrics: Selection) -> list[Chosen]:
    """The requested metrics with their protocols."""
    single = {name: metric for name, metric in all_metrics().items() if metric.card.inputs != "several codes"}
    if isinstance(metrics, str) and metrics == "default":
        return [_known(metric) for metric in single.values() if metric.card.usual]
    if isinstance(metrics, str) and metrics == "all":
        return [_known(metric, protocol) for metric in single.values() for protocol in metric.card.protocols]
    if isinstance(metrics, str):
        metrics = metrics.split(",")
    if callable(metrics):
        metrics = [metrics]
    if not isinstance(metrics, Sequence):
        raise DistaffError(f"metrics={metrics!r}: give names, functions, 'default' or 'all'.")
    chosen = [_chosen(entry if callable(entry) else str(entry).strip(), single) for entry in metrics]
    if not chosen:
        raise DistaffError("no metrics were asked for: give names, 'default' or 'all'.")
    return chosen


def _chosen(entry: Name, known: Mapping[str, Metric]) -> Chosen:
    """One entry of a selection; an error if it is neither a known metric nor a function."""
    if entry in ("default", "all"):
        raise DistaffError(f"{entry!r} cannot be combined: ask for it alone, or for metrics by name.")
    name, _, protocol = (entry, "", "") if callable(entry) else entry.partition(":")
    if callable(name) or name not in known:
        metric, label = given_metric(entry, known)
        return Chosen(metric, label, by_name=False)
    protocols = known[name].card.protocols
    if protocol and protocol not in protocols:
        raise unknown(f"protocol of {name}", protocol, protocols)
    return _known(known[name], protocol or None)


def _known(metric: Metric, protocol: str | None = None) -> Chosen:
    """A metric of this library, by its name."""
    card = metric.card
    first = protocol in (None, card.protocols[0])
    return Chosen(metric, card.name if first else f"{card.name}:{protocol}", protocol)


def _scorable(codes: Codes, factors: FactorsLike | None, bins: int | None) -> tuple[Codes, Factors | None]:
    """The codes, and the factors that can be scored: one that never varies is left out, with a note."""
    if factors is None:
        return codes, None
    codes, read = aligned(codes, as_factors(factors) if bins is None else quantize_factors(factors, bins))
    return codes, read.without_constant()


def _left_out(
    chosen: Sequence[Chosen], codes: Codes, factors: Factors | None, announce: Callable[[str, str], None]
) -> dict[str, str]:
    """The metrics that do not apply to these inputs or would take too long, with the reasons."""
    reasons = {}
    bare = codes.logvars is None and codes.means.shape[1] > 0
    for metric, label, protocol, _ in chosen:
        card, limit = metric.card, metric.card.limits[protocol]
        if card.inputs == "codes and factors" and factors is None:
            reasons[label] = "it needs factors."
        elif bare and (
            card.posterior == "yes" or (protocol in card.protocols and protocol in card.posterior)
        ):
            reasons[label] = "it needs log-variances."
        elif limit is not None and len(codes.names) > limit[0]:
            most, doing = limit
            reasons[label] = (
                f"it {doing}, which takes too long for {len(codes.names)} latents (the limit is {most}): "
                "name it to compute it anyway."
            )
            announce(label, reasons[label])
    return reasons


def _scores(
    entry: Chosen, codes: Codes, factors: Factors | None, seed: int, bootstrap: int = 0
) -> list[Score]:
    """The one or more scores of a metric."""
    card, named = entry.metric.card, {} if entry.protocol is None else {"protocol": entry.protocol}
    if card.inputs != "codes" and factors is None:
        raise DistaffError(
            f"{card.name} needs factors: give the ground truth of each row, in an npz as an array named "
            "factors, or a file of labels or columns of a table as --factors."
        )
    given = (codes,) if card.inputs == "codes" else (codes, factors)
    with nullcontext() if entry.by_name else named_if_it_fails(entry.metric):
        found = entry.metric(*given, bootstrap=bootstrap, seed=seed, **named)
    return [found] if isinstance(found, Score) else list(found)
