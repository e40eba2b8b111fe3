"""All metrics there are, found among the public names of ``distaff.metrics``."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pandas as pd

from distaff.metrics.declare import card_of, metrics_in


def all_metrics() -> dict[str, Callable[..., Any]]:
    """Every metric by name."""
    return metrics_in(import_module("distaff.metrics"))


def metrics_table() -> pd.DataFrame:
    """One row a metric: what it needs, its range, which way is better, its protocols and its paper."""
    cards = [card_of(function) for function in all_metrics().values()]
    needs = {"no": "no", "optional": "for some protocols", "yes": "yes"}
    return pd.DataFrame(
        {
            "metric": [card.name for card in cards],
            "needs labels": ["yes" if card.inputs == "codes and factors" else "no" for card in cards],
            "needs q(z|x)": [needs[card.posterior] for card in cards],
            "range": [f"{_bound(card.bounds[0])} … {_bound(card.bounds[1])}" for card in cards],
            "better": [card.direction for card in cards],
            "protocols": [", ".join(card.protocols) for card in cards],
            "paper": [card.paper for card in cards],
            "summary": [card.summary for card in cards],
        }
    )


def _bound(value: float) -> str:
    return f"{value:g}".replace("inf", "∞").replace("-", "−")
