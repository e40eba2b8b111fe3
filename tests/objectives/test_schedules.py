"""Schedules: what they are at a step, and that their text gives them back."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distaff.foundation.errors import DistaffError
from distaff.objectives import Cosine, Cyclic, Exponential, Linear, Pieces, Schedule, weight_at

NUMBERS = st.floats(1e-6, 1e6)
RAMPS = st.builds(
    lambda kind, *ends: kind(*ends),
    st.sampled_from([Linear, Cosine, Exponential, Cyclic]),
    NUMBERS,
    NUMBERS,
    st.integers(1, 10**6),
)


@given(
    st.one_of(RAMPS, st.builds(lambda ramps: Pieces(tuple(ramps)), st.lists(RAMPS, min_size=2, max_size=4)))
)
def test_the_text_of_a_schedule_gives_it_back(schedule):
    assert Schedule.parse(str(schedule)) == schedule


@given(RAMPS, st.integers(0, 10**7))
def test_a_ramp_stays_within_its_range_and_begins_at_its_start(ramp, index):
    low, high = ramp.range
    rounding = 1e-12 * high
    assert low - rounding <= ramp(index) <= high + rounding
    assert ramp(0) == ramp.start
    if not isinstance(ramp, Cyclic):
        assert ramp(ramp.steps) == pytest.approx(ramp.end, abs=rounding)


def test_each_shape_half_way():
    assert Linear(0, 4, 10)(5) == 2
    assert Cosine(0, 4, 10)(5) == pytest.approx(2)
    assert Cosine(0, 4, 12)(4) == pytest.approx(4 * (1 - math.cos(math.pi / 3)) / 2)
    assert Exponential(1, 16, 10)(5) == pytest.approx(4)
    assert [Cyclic(0, 4, 4)(i) for i in range(6)] == [0, 2, 4, 4, 0, 2]


def test_pieces_follow_each_other_and_the_last_holds():
    schedule = Schedule.parse("linear:0:10:10, linear:5:1:4")
    assert [schedule(i) for i in (0, 9, 10, 12, 14, 99)] == [0, 9, 5, 3, 1, 1]
    assert schedule.range == (0, 10)
    assert str(schedule.shortened(0.5)) == "linear:0:10:5,linear:5:1:2"


def test_a_number_is_itself():
    assert Schedule.parse("4e-3") == 0.004
    assert weight_at(3.0, 10**9) == 3.0


@pytest.mark.parametrize(
    "text", ["", "four", "linear:1:2", "linear:1:2:0", "linear:1:2:-3", "linear:a:2:3", "square:1:2:3"]
)
def test_what_is_no_schedule_is_said(text):
    with pytest.raises(DistaffError, match="neither a number nor linear:START:END:STEPS"):
        Schedule.parse(text)


def test_no_factor_leads_to_zero():
    with pytest.raises(DistaffError, match="between positive numbers"):
        Schedule.parse("exponential:1:0:10")
