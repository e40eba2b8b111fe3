"""What the comparison with pythae makes of its table: means at marks, and minutes to a score."""

from dataclasses import asdict

import pandas as pd
import pytest

from benchmarks.minutes import Moment, Way, by_mark, draw, of, ratios, reached, scores


@pytest.fixture
def found() -> pd.DataFrame:
    rows = []
    for seed in (0, 1):
        for minute, score in ((1, 0.5), (2, 0.7), (4.9 + 0.2 * seed, 0.8)):
            step = 4000 if minute > 4 else 400 * minute
            kind = ("distaff", "factor_vae", 0.0, seed)
            rows.append(Moment(*kind, minute, minute, step, score + 0.02 * seed, 0.2, 60))
        for minute, score in ((1, 0.4), (2, 0.5), (4, 0.6), (8, 0.69)):
            kind = ("pythae", "factor_vae", 1e-3, seed)
            rows.append(Moment(*kind, minute, minute, 200 * minute, score + 0.02 * seed, 0.1, 90))
    return pd.DataFrame([asdict(row) for row in rows])


def test_ends_of_runs_are_one_mark_and_means_are_over_seeds(found):
    marks = of(by_mark(found), Way("distaff", "factor_vae"))["minute"]
    assert sorted(set(marks)) == [1, 2, 5]
    last = next(row for row in scores(found) if row[:3] == ["FactorVAE", "distaff", "5"])
    assert last[3:6] == ["4,000", "0.800, 0.820", "0.810"]


def test_a_mark_that_only_some_of_our_runs_come_to_is_left_out(found):
    late = asdict(Moment("distaff", "factor_vae", 0.0, 1, 4.95, 4.95, 3900, 0.9, 0.2, 60))
    mine = of(
        by_mark(pd.concat([found, pd.DataFrame([late])], ignore_index=True)), Way("distaff", "factor_vae")
    )
    assert sorted(set(mine["minute"])) == [1, 2, 5]
    assert len(mine) == 6


def test_ratios_say_what_was_not_reached(found):
    rows = {row[1]: row[2:] for row in ratios(found)}
    assert rows["0.6"] == ["2", "pythae, rate 0.001", "4", "2.0"]
    assert rows["0.7"] == ["2", "pythae, rate 0.001", "8", "4.0"]
    assert rows["0.8"] == ["5", "pythae, rate 0.001", "not within 8", "over 1.6"]
    assert ratios(found[found["library"] == "pythae"]) == []


def test_a_mark_that_some_seed_lacks_does_not_count(found):
    mine = of(found, Way("pythae", "factor_vae", 1e-3))
    lacking = mine[~((mine["seed"] == 0) & (mine["minute"] == 8))]
    assert reached(mine, 0.69) == 8
    assert reached(lacking, 0.69) == float("inf")


def test_it_is_drawn_from_what_there_is(found, tmp_path):
    draw(found, tmp_path / "some.png")
    assert (tmp_path / "some.png").stat().st_size > 10_000
