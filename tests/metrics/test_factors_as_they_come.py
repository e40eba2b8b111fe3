"""Labels as they come: names of rows, numbers among classes, gaps; each costs its own factor only."""

import numpy as np
import pandas as pd
import pytest

from distaff import DistaffError
from distaff.metrics import (
    Score,
    dcimig,
    evaluate,
    evaluate_scores,
    explicitness,
    factor_vae_score,
    irs,
    jemmig,
    med,
    mig,
    mig_sup,
    minimality_sufficiency,
    modularity,
    rmig,
    sap,
    z_diff,
)
from distaff.metrics.fixed_factor_sampling import Groups
from tests.metrics.toys import grid, perfect_codes, sharp

CLASSES = grid((3, 4, 5), repeats=4)
CODES = sharp(perfect_codes(CLASSES, 4))
NAMES = ["shape", "size", "hue"]
FRAME = pd.DataFrame(CLASSES, columns=NAMES)
BY_FACTOR = [mig, rmig, jemmig, sap, explicitness]


@pytest.mark.parametrize(
    "unique",
    [
        [f"photo-{n}.png" for n in range(len(FRAME))],
        pd.date_range("2024-01-01", periods=len(FRAME)),
        np.random.default_rng(0).permutation(len(FRAME)),
    ],
    ids=["names", "dates", "numbers"],
)
def test_labels_that_are_all_different_are_named_and_left_out(unique):
    table = evaluate(CODES, FRAME.assign(row=unique), metrics=["mig", "modularity"])
    plain = evaluate(CODES, FRAME, metrics=["mig", "modularity"])
    assert table["value"].tolist() == plain["value"].tolist()
    assert set(table["notes"]) == {"factor 'row' left out: the label is another one in every row"}
    with pytest.raises(DistaffError, match=r"'row': the label is another one in every row.*real=True"):
        mig(CODES, {"row": unique})


@pytest.mark.parametrize("metric", [mig, modularity, rmig])
def test_a_real_valued_factor_does_not_stop_the_others(metric):
    angle = np.random.default_rng(0).normal(size=len(FRAME))
    mixed, plain = metric(CODES, FRAME.assign(angle=angle)), metric(CODES, FRAME)
    assert mixed.value == plain.value
    assert mixed.per_factor == plain.per_factor
    assert mixed.notes[-len(plain.notes) - 1 :][0] == (
        "factor 'angle' left out: real-valued, and no bins were asked for"
    )
    with pytest.raises(DistaffError, match="factor_bins=20"):
        metric(CODES, {"angle": angle})


@pytest.mark.parametrize("metric", BY_FACTOR)
def test_a_missing_label_costs_a_row_of_its_own_factor_only(metric):
    gaps = FRAME.astype(float)
    gaps.loc[::3, "size"] = np.nan
    gaps.loc[:9, "hue"] = np.nan
    found = metric(CODES, gaps)
    alone = {name: metric(CODES[gaps[name].notna().to_numpy()], gaps[[name]].dropna()) for name in NAMES}
    assert found.per_factor == pytest.approx({name: score.value for name, score in alone.items()})
    assert found.value == pytest.approx(np.mean([score.value for score in alone.values()]))
    assert "factor 'size': 80 of 240 rows dropped, the label is missing" in found.notes


@pytest.mark.parametrize("metric", [mig_sup, dcimig, med, minimality_sufficiency])
def test_information_of_a_factor_is_that_of_the_rows_that_have_its_label(metric):
    gaps = FRAME.astype(float)
    gaps.loc[::3, "size"] = np.nan
    gaps.loc[:9, "hue"] = np.nan
    found = metric(CODES, gaps)
    one = found if isinstance(found, Score) else found[0]
    for k, name in enumerate(NAMES):
        own = mig(CODES[gaps[name].notna().to_numpy()], gaps[[name]].dropna(), bins=one.settings["bins"])
        matrix = own.details["mutual_information"][:, 0]
        assert one.details["mutual_information"][:, k] == pytest.approx(matrix, abs=1e-12)
    assert "factor 'size': 80 of 240 rows dropped, the label is missing" in one.notes


@pytest.mark.parametrize("metric", [factor_vae_score, z_diff, irs])
def test_a_factor_is_held_fixed_among_the_rows_that_have_its_label(metric):
    quick = {z_diff: {"pairs": 5, "points": 300, "test": 100}}.get(metric, {})
    gaps = FRAME.astype(float)
    gaps.loc[FRAME["size"] == 0, "hue"] = np.nan
    gaps.loc[::2, "shape"] = np.nan
    assert not gaps[["shape", "hue"]].dropna().empty
    found = metric(perfect_codes(CLASSES), gaps, **quick)
    assert found.value == pytest.approx(1.0)
    assert "factor 'shape': 120 of 240 rows dropped, the label is missing" in found.notes


def test_groups_hold_no_row_without_a_label():
    groups = Groups(np.array([1, -1, 0, 1, -1, 0, 1]), 2)
    rng = np.random.default_rng(0)
    assert groups.counts.tolist() == [2, 3]
    rows = groups.anchors(200, rng)
    assert set(rows) == {0, 2, 3, 5, 6}
    assert (groups.classes[groups.companions(rows, 5, rng)] == groups.classes[rows][:, None]).all()


def test_matrices_keep_the_order_of_the_factors():
    gaps = FRAME.astype(float)
    gaps.loc[::3, "shape"] = np.nan
    found = mig(CODES, gaps).details
    assert found["best_latent"] == {"shape": "z0", "size": "z1", "hue": "z2"}
    assert found["mutual_information"].argmax(axis=0).tolist() == [0, 1, 2]
    assert found["factor_entropies"] == pytest.approx(np.log([3, 4, 5]), abs=1e-3)


def test_a_factor_with_hardly_any_label_stops_only_what_needs_all():
    gaps = FRAME.astype(float)
    gaps.loc[1:, "hue"] = np.nan
    with pytest.raises(DistaffError, match="'hue' lacks most of them"):
        modularity(CODES, gaps)
    with pytest.raises(DistaffError, match="factor 'hue' has 1 labels"):
        mig(CODES, gaps)


def test_intervals_are_of_the_same_rows():
    gaps = FRAME.astype(float)
    gaps.loc[::3, "size"] = np.nan
    (score,) = evaluate_scores(CODES, gaps, metrics=["mig"], bootstrap=10).scores
    assert score.interval[0] <= score.value <= score.interval[1]
