"""Every option of every metric says what it may hold, and nothing else gets past it."""

from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Annotated, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from annotated_types import Ge, Gt, Le

from distaff import DistaffError
from distaff.metrics import Evaluator, evaluate, mig, quantize_factors
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.metric import card_of
from distaff.metrics.options import check, declared
from tests.metrics.toys import grid, perfect_codes, sharp

CLASSES = grid((3, 4), repeats=4)
CODES = sharp(perfect_codes(CLASSES, 3))
INPUTS = {"codes": (CODES,), "codes and factors": (CODES, CLASSES), "several codes": ([CODES, CODES],)}
OTHERS = {"continuous", "probabilities", "logvar"}  # arrays and names, which their metrics read themselves

WRONG = {
    int: [-1, 2.5, True, "3", None, np.nan, np.inf, [1], np.zeros(2)],
    float: [True, "3", None, np.nan, np.inf, [1.0], np.zeros(2), 1j],
    bool: [0, 1.0, "yes", None, np.zeros(2)],
    str: ["nothing", 3, None, ["auto"], np.zeros(2)],
}


def options_of(function):
    return [p.name for p in signature(function).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]


def kind_of(allowed):
    """What an annotation is about, and whether None is one of its values."""
    parts = [part for part in get_args(allowed) if part is not type(None)]
    if get_origin(allowed) is Literal:
        return str
    if get_origin(allowed) is Annotated:
        return allowed.__origin__
    return kind_of(parts[0]) if parts else allowed


OPTIONS = [(name, option) for name, f in sorted(all_metrics().items()) for option in options_of(f)]
CHECKED = [(name, option) for name, option in OPTIONS if option not in OTHERS]


def test_every_option_is_declared():
    for name, option in CHECKED:
        assert option in declared(card_of(all_metrics()[name]).presets), f"{name}: {option}"


def test_every_count_has_a_limit():
    for name, option in CHECKED:
        allowed = declared(card_of(all_metrics()[name]).presets)[option]
        if kind_of(allowed) is int:
            limits = [a for part in (allowed, *get_args(allowed)) for a in getattr(part, "__metadata__", ())]
            assert any(isinstance(limit, Ge | Gt) for limit in limits), f"{name}: {option}"


@pytest.mark.parametrize(("name", "option"), CHECKED)
@pytest.mark.filterwarnings("error")
def test_a_wrong_value_is_one_sentence_that_names_the_option(name, option):
    function = all_metrics()[name]
    card, default = card_of(function), signature(function).parameters[option].default
    for value in WRONG[kind_of(declared(card.presets)[option])]:
        if value is None and default is None:
            continue
        with pytest.raises(DistaffError, match=option):
            function(*INPUTS[card.inputs], **{option: value})


@pytest.mark.parametrize("name", sorted(all_metrics()))
def test_every_preset_keeps_to_its_own_declaration(name):
    presets = card_of(all_metrics()[name]).presets
    for preset in presets.values():
        for option, allowed in get_type_hints(type(preset), include_extras=True).items():
            check(option, getattr(preset, option), allowed)


@dataclass(frozen=True)
class Settings:
    share: Annotated[float, Gt(0), Le(1)]
    count: Annotated[int, Ge(2)] | None = None
    kind: Literal["a", "b"] = "a"


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("share", 0, "share=0: it must be a finite number above 0 and of at most 1"),
        ("count", 1, "count=1: it must be a whole number of at least 2"),
        ("count", 2.0, "count=2.0: it must be a whole number"),
        ("kind", "c", "unknown kind 'c'"),
        ("seed", -1, "seed=-1: it must be a whole number of at least 0"),
        ("protocol", "x", "unknown protocol 'x'"),
    ],
)
def test_the_sentence_says_what_would_do(option, value, message):
    with pytest.raises(DistaffError, match=message):
        check(option, value, declared({"mine": Settings(0.5)})[option])


def test_right_values_of_any_number_type_pass():
    allowed = declared({"mine": Settings(0.5)})
    for value in (1, 0.5, np.float32(0.5), np.int64(1)):
        check("share", value, allowed["share"])
    for value in (2, np.int64(2), np.uint8(200), None):
        check("count", value, allowed["count"])
    assert mig(CODES, CLASSES, bins=np.int32(10)).value == mig(CODES, CLASSES, bins=10).value


@pytest.mark.parametrize("call", [evaluate, lambda *a, **o: Evaluator(**o)])
@pytest.mark.parametrize(
    "options", [{"seed": -1}, {"bootstrap": 5}, {"bootstrap": 2.5}, {"metrics": ["migg"]}, {"metrics": None}]
)
def test_a_table_refuses_what_all_its_metrics_would(call, options):
    """They would all be left out otherwise, each with the same reason."""
    with pytest.raises(DistaffError, match=f"{next(iter(options)).rstrip('s')}"):
        call(CODES, CLASSES, **options)


def test_binning_factors_is_checked_too():
    for options in ({"bins": 2.5}, {"bins": 1}, {"method": "log"}):
        with pytest.raises(DistaffError, match=next(iter(options))):
            quantize_factors(CLASSES, **options)
