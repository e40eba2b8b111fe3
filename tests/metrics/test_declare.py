from dataclasses import dataclass

import pytest

from distaff import DistaffError
from distaff.metrics.declare import card_of, metric, settle


@dataclass(frozen=True)
class Bins:
    bins: int
    low: float


PROTOCOLS = {"do20": Bins(100, -4.0), "chen18": Bins(20, -3.0)}


def test_a_protocol_gives_its_values_under_its_own_name():
    assert settle(PROTOCOLS, "do20", bins=None, low=None) == (Bins(100, -4.0), "do20")
    assert settle(PROTOCOLS, "do20", bins=100, low=None)[1] == "do20"


def test_a_changed_value_changes_the_name():
    assert settle(PROTOCOLS, "do20", bins=50, low=None) == (Bins(50, -4.0), "do20 with bins=50")


def test_an_unknown_protocol_gets_its_near_misses():
    with pytest.raises(DistaffError, match="did you mean 'chen18'"):
        settle(PROTOCOLS, "chen17")


def test_a_card_leaves_the_function_as_it_is():
    @metric(paper="nobody", protocols=PROTOCOLS, bounds=(0, 1))
    def zero(codes: int, factors: int, *, bins: int | None = None) -> int:
        """Zero for everything.

        More text.
        """
        return 0

    assert zero(1, 2) == 0
    card = card_of(zero)
    assert (card.name, card.summary, card.protocols) == ("zero", "Zero for everything.", ("do20", "chen18"))
    with pytest.raises(TypeError, match="not a metric"):
        card_of(print)
