"""All metrics, collected from the modules of ``distaff.metrics``."""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module

import pandas as pd

from distaff.metrics.card import Card, Metric, Topic
from distaff.metrics.score import Score


@cache
def all_metrics() -> Mapping[str, Metric]:
    """All metrics by name: the functions that the modules of this room declare with ``@metric``."""
    entries = pkgutil.iter_modules(import_module("distaff.metrics").__path__, "distaff.metrics.")
    named = [item for entry in entries for item in vars(import_module(entry.name)).items()]
    return dict(
        sorted((name, value) for name, value in named if isinstance(getattr(value, "card", None), Card))
    )


def topic_of(score: Score) -> Topic:
    """The topic of a score."""
    known = all_metrics().get(score.metric.partition(":")[0])
    return "other" if known is None else known.card.topic(score.name)


def metrics_table() -> pd.DataFrame:
    """One row per metric: inputs, range, direction, maximum number of latents, protocols and paper."""
    cards = [metric.card for metric in all_metrics().values()]
    return pd.DataFrame(
        {
            "metric": [card.name for card in cards],
            "needs labels": ["yes" if card.inputs == "codes and factors" else "no" for card in cards],
            "needs q(z|x)": [_posterior(card) for card in cards],
            "range": [f"{_bound(card.bounds[0])} … {_bound(card.bounds[1])}" for card in cards],
            "better": [card.direction for card in cards],
            "latents": [_latents(card) for card in cards],
            "protocols": [", ".join(card.protocols) for card in cards],
            "paper": [card.paper for card in cards],
            "summary": [card.summary for card in cards],
        }
    )


def in_words(table: pd.DataFrame) -> str:
    """The rows of ``metrics_table`` as paragraphs, for a terminal."""
    return "\n".join(
        f"{row['metric']:21} {row['summary']}\n"
        f"{'':22}{row['range']}, {row['better']} is better; needs labels: {row['needs labels']}; "
        f"q(z|x): {row['needs q(z|x)']}; {row['protocols']}; {row['paper']}\n"
        for row in table.to_dict("records")
    )


def _posterior(card: Card) -> str:
    """Whether q(z|x) is needed: always, never, used if given, or only by some protocols."""
    return card.posterior if isinstance(card.posterior, str) else f"for {', '.join(card.posterior)}"


def _latents(card: Card) -> str:
    """The number of latents up to which ``evaluate`` computes it without being asked for it by name."""
    limits = {protocol: card.limits[protocol] for protocol in card.protocols}
    told = {protocol: f"up to {limit[0]:,}" if limit else "any" for protocol, limit in limits.items()}
    if len(set(told.values())) == 1:
        return told[card.protocols[0]]
    return ", ".join(f"{words} ({protocol})" for protocol, words in told.items())


def _bound(value: float) -> str:
    return f"{value:g}".replace("inf", "∞").replace("-", "−")
