import ast
import doctest
import re
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Literal

import docstring_parser
import numpy as np
import pytest

import distaff.metrics
from distaff import Codes, DistaffError
from distaff.metrics import (
    Factors,
    Score,
    dci,
    evaluate_scores,
    factor_vae_score,
    modularity,
    rmig,
    sap,
    sepin,
    udr,
)
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.metric import card_of, metric, resolve_protocol
from distaff.metrics.options import Positive
from distaff.metrics.result import Result
from tests.metrics.stub import STUB, stub
from tests.metrics.toys import grid, perfect_codes


@dataclass(frozen=True)
class Bins:
    bins: int
    low: float


PROTOCOLS = {"do20": Bins(100, -4.0), "chen18": Bins(20, -3.0)}


def test_a_protocol_gives_its_values_under_its_own_name():
    assert resolve_protocol(PROTOCOLS, "do20", bins=None, low=None) == (Bins(100, -4.0), "do20")
    assert resolve_protocol(PROTOCOLS, "do20", bins=100, low=None)[1] == "do20"


def test_a_changed_value_changes_the_name():
    assert resolve_protocol(PROTOCOLS, "do20", bins=50, low=None) == (Bins(50, -4.0), "do20 with bins=50")


def test_a_value_without_effect_is_left_out_of_the_settings_and_the_name():
    found = resolve_protocol(
        PROTOCOLS, "do20", idle=lambda s: ("low",) if s.bins < 60 else (), bins=50, low=-1.0
    )
    assert found == (Bins(50, -4.0), "do20 with bins=50")
    assert resolve_protocol(PROTOCOLS, "do20", idle=lambda s: ("low",) if s.bins < 60 else (), low=-1.0) == (
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
        resolve_protocol(PROTOCOLS, "chen17")


def test_a_formula_becomes_a_function_with_everything_that_users_are_told():
    @dataclass(frozen=True)
    class Scaled:
        """How values are scaled.

        Args:
            power: of each value.
            base: of the logarithm, as
                a number.
        """

        power: Positive = 1.0
        base: Literal["e", "2"] = "e"

    @metric(
        paper="nobody",
        protocols={"first": Scaled(), "second": Scaled(power=2.0)},
        bounds=(0, 9),
        idle=lambda settings, codes: ("base",) if settings.power == 2 else (),
    )
    def largest(codes: Codes, factors: Factors, settings: Scaled, *, named: str | None = None) -> Result:
        """The largest mean, to a power.

        Args:
            codes: two columns.
            named: a name.

        Examples:
            >>> 1
        """
        return Result(
            codes.means.max() ** settings.power,
            per_factor=np.arange(2.0),
            notes=(f"{named} of {len(factors)} rows",),
            settings={"extra": 3},
        )

    score = largest(
        [[1.0, 3.0], [2.0, np.float32(2)]], {"a": [0, 1], "b": [1, 0]}, power=2, base="2", named="x"
    )
    assert score == Score(
        name="largest",
        value=9.0,
        protocol="first with power=2",
        settings={"power": 2, "base": "e", "extra": 3},
        per_factor={"a": 0.0, "b": 1.0},
        notes=("x of 2 rows",),
    )
    card = card_of(largest)
    assert (card.name, card.summary) == ("largest", "The largest mean, to a power.")
    assert (card.protocols, card.inputs) == (("first", "second"), "codes and factors")
    assert str(signature(largest)).startswith(
        "(codes: 'CodesLike', factors: 'FactorsLike', *, protocol: str = 'first'"
    )
    assert list(signature(largest).parameters)[2:] == [
        "protocol",
        "power",
        "base",
        "named",
        "bootstrap",
        "seed",
    ]
    described = docstring_parser.parse(largest.__doc__)
    assert [p.arg_name for p in described.params] == list(signature(largest).parameters)
    texts = {p.arg_name: p.description for p in described.params}
    assert texts["codes"] == "two columns."
    assert texts["factors"] == "(N, K) classes."
    assert texts["base"] == "of the logarithm, as\na number."
    assert largest.__doc__.rstrip().endswith(">>> 1")
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        largest([[1.0]], [1], other=1)
    with pytest.raises(TypeError, match="not a metric"):
        card_of(print)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ({"vote": 3}, r"factor_vae_score\(\): .*'vote'. Did you mean 'votes'\?"),
        ({"logvar": [[0.0]]}, r"factor_vae_score\(\): .*'logvar'. .*distaff\.Codes\(means, logvars\)"),
        ({"else_where": 1}, r"factor_vae_score\(\): got an unexpected keyword argument 'else_where'$"),
    ],
)
def test_a_wrong_argument_is_named_with_what_was_probably_meant(wrong, meant):
    with pytest.raises(TypeError, match=meant):
        factor_vae_score([[1.0]], [1], **wrong)


@pytest.mark.parametrize(("name", "function"), all_metrics().items())
def test_help_describes_every_argument_of_every_metric(name, function):
    described = {p.arg_name: p.description for p in docstring_parser.parse(function.__doc__).params}
    assert list(described) == list(signature(function).parameters)
    assert all(described.values())
    assert "See Also:" in function.__doc__


@pytest.mark.parametrize(("name", "function"), all_metrics().items())
def test_the_example_of_every_metric_gives_what_it_says(name, function):
    examples = doctest.DocTestParser().get_doctest(function.__doc__, {}, name, None, 0)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_metrics_are_public_by_their_being_there():
    """Every module of the room is looked into, and functions stand in place of modules of the same name."""
    assert set(all_metrics()) <= set(distaff.metrics.__all__) <= set(dir(distaff.metrics))
    assert all(getattr(distaff.metrics, name) is function for name, function in all_metrics().items())
    text = "".join(path.read_text("utf-8") for path in Path(distaff.metrics.__file__).parent.glob("*.py"))
    assert len(all_metrics()) == len(re.findall(r"^@metric\(", text, re.M)) > 20


def test_type_checkers_are_told_the_signatures_that_there_are():
    """Compared as trees, whatever the formatter makes of the text."""
    written, wanted = ast.parse(STUB.read_text("utf-8")), ast.parse(stub())
    for kind in (ast.FunctionDef, ast.ImportFrom):
        assert {ast.dump(n) for n in written.body if isinstance(n, kind)} == {
            ast.dump(n) for n in wanted.body if isinstance(n, kind)
        }, "run python -m tests.metrics.stub"


@pytest.mark.parametrize(
    "name", [name for name, own in all_metrics().items() if hasattr(own.card.returns, "_fields")]
)
def test_a_card_knows_the_names_of_several_scores(name):
    """By which claims and figures of studies find them."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (150, 2))
    codes = Codes(factors + 0.1 * rng.normal(size=(150, 2)), np.full((150, 2), -3.0))
    scores = evaluate_scores(codes, factors, metrics=[name]).scores
    assert {score.name for score in scores} == set(all_metrics()[name].card.score_names)
