from dataclasses import dataclass

import pytest

from distaff import DistaffError
from distaff.metrics import dci, modularity, rmig, sap, sepin, udr
from distaff.metrics.declare import card_of, metric, settle
from tests.metrics.toys import grid, perfect_codes


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


def test_a_value_without_effect_is_left_out_of_the_settings_and_the_name():
    found = settle(PROTOCOLS, "do20", idle=lambda s: ("low",) if s.bins < 60 else (), bins=50, low=-1.0)
    assert found == (Bins(50, -4.0), "do20 with bins=50")
    assert settle(PROTOCOLS, "do20", idle=lambda s: ("low",) if s.bins < 60 else (), low=-1.0) == (
        Bins(100, -1.0),
        "do20 with low=-1.0",
    )


@pytest.mark.parametrize(
    ("score", "name"),
    [
        (lambda z, y: sap(z, y, penalty=9.0), "kumar18"),
        (lambda z, y: sap(z, y, classifier="svm", penalty=9.0), "kumar18 with classifier=svm, penalty=9.0"),
        (lambda z, y: dci(z, y, alpha=9.0)[0], "esmaeili18"),
        (lambda z, y: dci(z, y, protocol="eastwood18", trees=9)[0], "eastwood18"),
        (lambda z, y: dci(z, y, trees=9)[0], "esmaeili18 with trees=9"),
        (lambda z, y: modularity(z, y, low=-9.0), "original"),
        (lambda z, y: modularity(z, y, protocol="correct", low=-9.0), "correct with low=-9.0"),
        (lambda z, y: rmig(z, y, samples=9), "do20"),
        (lambda z, y: rmig(z, y, bins=9, samples=9), "do20 with bins=9"),
        (lambda z, y: rmig(z, y, estimate="sampled", bins=9), "do20 with estimate=sampled"),
        (lambda z, y: sepin(z, bins=9), "do20"),
        (
            lambda z, y: udr([z, z], similarity="spearman", alpha=9.0)["model0"],
            "duan20 with similarity=spearman",
        ),
    ],
)
def test_no_metric_names_a_setting_without_effect(score, name):
    classes = grid((2, 3), repeats=10)
    assert score(perfect_codes(classes, 3), classes).protocol == name


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
