"""All metrics there are, found among the public names of ``distaff.metrics``."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pandas as pd

from distaff.metrics.declare import Card, card_of, metrics_in


def all_metrics() -> dict[str, Callable[..., Any]]:
    """Every metric by name."""
    return metrics_in(import_module("distaff.metrics"))


def metrics_table() -> pd.DataFrame:
    """One row a metric: what it needs, its range, which way is better, its protocols and its paper."""
    cards = [card_of(function) for function in all_metrics().values()]
    return pd.DataFrame(
        {
            "metric": [card.name for card in cards],
            "needs labels": ["yes" if card.inputs == "codes and factors" else "no" for card in cards],
            "needs q(z|x)": [_posterior(card) for card in cards],
            "range": [f"{_bound(card.bounds[0])} … {_bound(card.bounds[1])}" for card in cards],
            "better": [card.direction for card in cards],
            "protocols": [", ".join(card.protocols) for card in cards],
            "paper": [card.paper for card in cards],
            "summary": [card.summary for card in cards],
        }
    )


def _posterior(card: Card) -> str:
    """Whether q(z|x) is needed: always, by some protocols, or never but used where it is known."""
    if card.posterior_protocols:
        return f"for {', '.join(card.posterior_protocols)}"
    return "used if given" if card.posterior == "optional" else card.posterior


def _bound(value: float) -> str:
    return f"{value:g}".replace("inf", "∞").replace("-", "−")
