"""Selection of metrics: by name, by protocol, or as user-defined functions."""

from collections.abc import Callable, Collection, Sequence
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
        name: the name of the metric, or a function.
        protocol: the protocol; None for the first.
    """

    name: Name
    protocol: str | None = None

    @property
    def metric(self) -> Metric:
        """The function itself."""
        return metric_of(self.name)

    @property
    def label(self) -> str:
        """``mig`` for the first protocol, ``mig:chen18`` for another, ``mine:score`` for a plain function."""
        card, own = self.metric.card, self.metric.card.name not in all_metrics()
        if own and isinstance(self.name, str):
            return self.name
        if own:
            return card.protocols[0] if len(card.protocols) == 1 else card.name
        return card.name if self.protocol in (None, card.protocols[0]) else f"{card.name}:{self.protocol}"


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
        return [Chosen(name) for name, metric in single.items() if metric.card.usual]
    if isinstance(metrics, str) and metrics == "all":
        return [
            Chosen(name, protocol) for name, metric in single.items() for protocol in metric.card.protocols
        ]
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


def _chosen(entry: Name, known: Collection[str]) -> Chosen:
    """One entry of a selection; an error if it is neither a known metric nor a function."""
    if entry in ("default", "all"):
        raise DistaffError(f"{entry!r} cannot be combined: ask for it alone, or for metrics by name.")
    name, _, protocol = (entry, "", "") if callable(entry) else entry.partition(":")
    if callable(name) or name not in known:
        metric_of(entry, known)
        return Chosen(entry)
    protocols = all_metrics()[name].card.protocols
    if protocol and protocol not in protocols:
        raise unknown(f"protocol of {name}", protocol, protocols)
    return Chosen(name, protocol or None)


def metric_of(name: Name, known: Collection[str] | None = None) -> Metric:
    """The metric for a name, ``module:function`` or a function.

    Args:
        name: the name or function.
        known: the allowed names of the library; all by default.
    """
    if callable(name):
        return as_metric(name)
    own = name.partition(":")[0]
    known = all_metrics() if known is None else known
    return all_metrics()[own] if own in known else imported_metric(name, known)


def topic_of(score: Score) -> Topic:
    """The topic of a score."""
    known = all_metrics().get(score.metric.partition(":")[0])
    return "other" if known is None else known.card.topic(score.name)
