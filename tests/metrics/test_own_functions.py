"""Plain functions of a user's own as metrics: by themselves, and as module:function."""

import sys
import types

import numpy as np
import pytest
import torch

from distaff import Codes, DistaffError
from distaff.metrics import Result, evaluate, evaluate_scores, metric
from distaff.metrics.own_functions import NoSettings
from tests.metrics.toys import grid, perfect_codes, sharp

CLASSES = grid((3, 4), repeats=10)
CODES = sharp(perfect_codes(CLASSES, 3))


def best_correlation(codes, factors):
    """Mean over factors of the highest |correlation|."""
    size = codes.shape[1]
    table = np.abs(np.corrcoef(codes, factors, rowvar=False)[:size, size:])
    return table.max(axis=0).mean()


def spread(codes):
    return codes.std()


def worded(codes, factors):
    return "good"


def three(codes, factors, more):
    return 0.0


def test_a_function_is_a_metric_with_interval_and_null():
    (score,) = evaluate_scores(CODES, CLASSES, metrics=[best_correlation], bootstrap=10, null=2).scores
    assert score.value == best_correlation(CODES.means, CLASSES) == pytest.approx(1)
    assert score.interval is not None
    assert len(score.null.shuffled) == 2
    assert score.name == "best_correlation"
    assert score.metric == f"{__name__}:best_correlation"


def test_its_number_may_be_a_tensor():
    (score,) = evaluate_scores(CODES, metrics=[lambda codes: torch.tensor(0.25, requires_grad=True)]).scores
    assert score.value == 0.25


def test_it_is_found_by_its_name_beside_others():
    table = evaluate(CODES, CLASSES, metrics=["mig", f"{__name__}:best_correlation"])
    assert table["metric"].tolist() == ["mig", "best_correlation"]
    assert evaluate(CODES, CLASSES, metrics=f"hoyer,{__name__}:spread")["metric"].tolist() == [
        "hoyer",
        "spread",
    ]


def test_one_of_codes_alone_needs_no_factors():
    assert evaluate(CODES, metrics=[spread])["value"][0] == CODES.means.std()
    with pytest.raises(DistaffError, match="best_correlation needs factors"):
        evaluate(CODES, metrics=[best_correlation])


def test_categories_stand_beside_the_means():
    mixed = Codes(CODES.means, None, {"shape": np.eye(3)[CLASSES[:, 0]]})
    assert evaluate(mixed, metrics=[lambda codes: codes.shape[1]])["value"][0] == 6


def test_it_may_return_a_result():
    def by_factor(codes, factors):
        return Result(0.5, per_factor=np.arange(factors.shape[1], dtype=float))

    (score,) = evaluate_scores(CODES, CLASSES, metrics=[by_factor]).scores
    assert score.per_factor == {"factor0": 0.0, "factor1": 1.0}


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (worded, "returned a str, not a float"),
        (three, "takes 3 arguments"),
        (f"{__name__}:nothing", "cannot be imported: module .* has no attribute 'nothing'"),
        (f"{__name__}:worde", f"did you mean {__name__}:worded"),
        ("mine:scor", "did you mean mine:score"),
        (f"{__name__}:CLASSES", "is a ndarray, not a function"),
        ("no_such_module:score", "cannot be imported"),
        ("migg:chen18", "did you mean 'mig'"),
    ],
)
def test_what_is_no_metric_is_named(metric, said, monkeypatch):
    near = types.ModuleType("mine")  # by its name nearly a metric of the library
    vars(near)["score"] = worded
    monkeypatch.setitem(sys.modules, "mine", near)
    with pytest.raises(DistaffError, match=said):
        evaluate(CODES, CLASSES, metrics=[metric])


def failing(codes, factors):
    return factors.reshape(7, -1).mean()


def test_one_that_fails_is_named_with_its_place_and_reason():
    line = failing.__code__.co_firstlineno + 1
    with pytest.raises(
        DistaffError, match=rf"failing failed at .*{__file__}:{line}: ValueError: cannot resh"
    ) as caught:
        evaluate(CODES, CLASSES, metrics=[failing])
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.__cause__.__traceback__ is not None
    assert "\n" not in str(caught.value)


def test_the_others_go_on_where_metrics_that_cannot_be_had_are_left_out():
    found = evaluate_scores(CODES, CLASSES, metrics=["mig", failing], strict=False)
    assert [score.name for score in found.scores] == ["mig"]
    assert "ValueError" in found.skipped[f"{__name__}:failing"]


def test_a_mistake_in_a_declared_metric_of_ones_own_is_named_too():
    @metric(paper="mine", protocols={"mine": NoSettings()}, bounds=(0, 1))
    def declared(codes, factors, settings):
        raise KeyError("scale")

    with pytest.raises(DistaffError, match=r"declared failed at .*: KeyError: 'scale'"):
        evaluate(CODES, CLASSES, metrics=[declared])


def test_mistakes_of_the_library_keep_their_traceback(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(sys.modules["distaff.metrics.hoyer"], "slices", broken)
    with pytest.raises(ZeroDivisionError):
        evaluate(CODES, metrics=["hoyer"])
