"""Which metrics: by their names, by protocols, or functions of one's own."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from distaff.foundation.errors import DistaffError, unknown
from distaff.metrics.card import Topic, card_of
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.inputs import check
from distaff.metrics.intervals import checked_draws
from distaff.metrics.options import DRAWING, BinCount
from distaff.metrics.own_functions import find_metric
from distaff.metrics.score import Score

Choice = str | Callable[..., Any]
"""A metric by its name, as ``mig``, ``mig:chen18`` or ``module:function``, or a function."""
Selection = Literal["default", "all"] | Sequence[Choice]


def requested(
    metrics: Selection, factor_bins: int | None, bootstrap: int, seed: int, null: int = 0
) -> list[tuple[Choice, str | None]]:
    """``selected(metrics)``, after a look at what all of them would refuse."""
    check("factor_bins", factor_bins, BinCount | None)
    check("bootstrap", bootstrap, DRAWING["bootstrap"])
    check("null", null, DRAWING["bootstrap"])
    check("seed", seed, DRAWING["seed"])
    if bootstrap:
        checked_draws(bootstrap)
    return selected(metrics)


def selected(metrics: Selection) -> list[tuple[Choice, str | None]]:
    """(name, protocol) of the metrics asked for; no protocol is the default one."""
    single = {name: f for name, f in all_metrics().items() if card_of(f).inputs != "several codes"}
    if isinstance(metrics, str) and metrics == "default":
        return [(name, None) for name, f in single.items() if card_of(f).usual]
    if isinstance(metrics, str) and metrics == "all":
        return [(name, protocol) for name, f in single.items() for protocol in card_of(f).protocols]
    if isinstance(metrics, str):
        metrics = metrics.split(",")
    if callable(metrics):
        metrics = [metrics]
    if not isinstance(metrics, Sequence):
        raise DistaffError(f"metrics={metrics!r}: give names, functions, 'default' or 'all'.")
    chosen: list[tuple[Choice, str | None]] = []
    for entry in metrics:
        if callable(entry):
            card_of(metric_of(entry))
            chosen.append((entry, None))
            continue
        text = str(entry).strip()
        name, _, protocol = text.partition(":")
        if name not in single:
            find_metric(text, single)
            chosen.append((text, None))
            continue
        if protocol and protocol not in card_of(single[name]).protocols:
            raise unknown(f"protocol of {name}", protocol, card_of(single[name]).protocols)
        chosen.append((name, protocol or None))
    if not chosen:
        raise DistaffError("no metrics were asked for: give names, 'default' or 'all'.")
    return chosen


def metric_of(name: Choice) -> Callable[..., Any]:
    """The function of a metric that was chosen."""
    return find_metric(name, all_metrics())


def metric_label(name: Choice, protocol: str | None) -> str:
    """``mig`` for the metric's first protocol, ``mig:chen18`` for another, ``mine:score`` for a function."""
    card = card_of(metric_of(name))
    if card.name not in all_metrics():
        return name if isinstance(name, str) else card.protocols[0] if len(card.protocols) == 1 else card.name
    return card.name if protocol in (None, card.protocols[0]) else f"{card.name}:{protocol}"


def topic_of(score: Score) -> Topic:
    """What a score is about."""
    known = all_metrics().get(score.metric.partition(":")[0])
    return "other" if known is None else card_of(known).topic(score.name)
