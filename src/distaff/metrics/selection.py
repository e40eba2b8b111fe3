"""Selection of metrics: by name, by protocol, or as user-defined functions."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from distaff.foundation.errors import DistaffError, unknown
from distaff.metrics.card import Metric, Topic
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.intervals import checked_draws
from distaff.metrics.options import DRAWING, BinCount, check
from distaff.metrics.own_functions import as_metric, imported_metric
from distaff.metrics.score import Score

Name = str | Callable[..., Any]
"""A metric by name, such as ``mig``, ``mig:chen18`` or ``module:function``, or a function."""
Selection = Literal["default", "all"] | Sequence[Name]


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
    check("factor_bins", factor_bins, BinCount | None)
    check("bootstrap", bootstrap, DRAWING["bootstrap"])
    check("null", null, DRAWING["bootstrap"])
    check("seed", seed, DRAWING["seed"])
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
        return _given(entry, known)
    protocols = known[name].card.protocols
    if protocol and protocol not in protocols:
        raise unknown(f"protocol of {name}", protocol, protocols)
    return _known(known[name], protocol or None)


def _known(metric: Metric, protocol: str | None = None) -> Chosen:
    """A metric of this library, by its name."""
    card = metric.card
    first = protocol in (None, card.protocols[0])
    return Chosen(metric, card.name if first else f"{card.name}:{protocol}", protocol)


def _given(entry: Name, known: Collection[str]) -> Chosen:
    """A metric given as a function or as ``module:function``."""
    metric = as_metric(entry) if callable(entry) else imported_metric(entry, known)
    card = metric.card
    if card.name in all_metrics():
        label = card.name
    elif isinstance(entry, str):
        label = entry
    else:
        label = card.protocols[0] if len(card.protocols) == 1 else card.name
    return Chosen(metric, label, by_name=False)


def metric_of(name: Name) -> Metric:
    """The metric for a name, ``module:function`` or a function."""
    if callable(name):
        return as_metric(name)
    known = all_metrics()
    return known.get(name.partition(":")[0]) or imported_metric(name, known)


def topic_of(score: Score) -> Topic:
    """The topic of a score."""
    known = all_metrics().get(score.metric.partition(":")[0])
    return "other" if known is None else known.card.topic(score.name)
