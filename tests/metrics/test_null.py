"""A null beside every score: shuffled factors, other codes, and the share of the gap."""

import numpy as np
import pandas as pd
import pytest

from distaff import DistaffError
from distaff.analysis.score_table import write_table
from distaff.metrics import Evaluation, evaluate, evaluate_scores, mig
from distaff.metrics.score import Scores
from distaff.metrics.text_columns import text_columns
from tests.metrics.toys import grid, perfect_codes, sharp

CLASSES = grid((3, 4), repeats=20)
CODES = sharp(perfect_codes(CLASSES, 3))


def first_correlation(codes, factors):
    """|correlation| of the first latent with the first factor: its null is known in closed form."""
    return abs(np.corrcoef(codes[:, 0], factors[:, 0])[0, 1])


def test_shuffled_factors_score_as_chance_does():
    (score,) = evaluate_scores(CODES, CLASSES, metrics=[first_correlation], null=200).scores
    assert score.value == pytest.approx(1)
    draws = np.array(score.null.shuffled)
    assert len(draws) == 200
    # A shuffled correlation of N rows has variance exactly 1/(N − 1).
    expected = 1 / (len(CLASSES) - 1)
    assert (draws**2).mean() == pytest.approx(expected, abs=5 * np.sqrt(2 / 200) * expected)
    assert score.null.best is None
    assert score.gap is None


def test_the_gap_is_the_share_of_the_way_from_the_null_to_the_best_value():
    mixed = 0.5 * CODES.means + np.random.default_rng(0).normal(size=CODES.means.shape)
    (score,) = evaluate_scores(mixed, CLASSES, metrics=["mig"], null=5).scores
    assert score.value == mig(mixed, CLASSES).value
    mean = np.mean(score.null.shuffled)
    assert score.gap == pytest.approx((score.value - mean) / (1 - mean))
    assert 0 < mean < score.value
    perfect, jemmig = evaluate_scores(CODES, CLASSES, metrics=["mig", "jemmig"], null=5).scores
    assert perfect.gap > 0.9
    worst = np.mean(jemmig.null.shuffled)  # lower is better, and 0 is best
    assert jemmig.gap == pytest.approx((worst - jemmig.value) / worst)


def test_the_table_has_columns_for_it_when_it_was_asked_for():
    noise = np.random.default_rng(1).normal(size=CODES.means.shape)
    table = evaluate(
        CODES, CLASSES, metrics=["mig", "hoyer"], null=3, baselines={"untrained": noise}
    ).set_index("metric")
    assert table.loc["mig", "untrained"] == mig(noise, CLASSES).value
    low, high = table.loc["mig", "null_range"]
    assert low <= table.loc["mig", "null"] <= high
    assert np.isnan(table.loc["hoyer", "null"]), "a metric that reads no factors has none to shuffle"
    assert np.isfinite(table.loc["hoyer", "untrained"])
    assert "null" not in evaluate(CODES, CLASSES, metrics=["mig"])


def test_factors_of_a_row_are_shuffled_together():
    def agreement(codes, factors):
        return float((factors[:, 0] == factors[:, 1]).mean())

    same = np.repeat(np.arange(5), 20)
    factors = np.stack([same, np.where(np.arange(100) % 4, same, 0)], axis=1)
    (score,) = evaluate_scores(CODES.means[:100], factors, metrics=[agreement], null=4).scores
    assert score.null.shuffled == pytest.approx([score.value] * 4)


def test_the_same_seed_gives_the_same_null():
    one, other = (evaluate(CODES, CLASSES, metrics=["sap"], null=3, seed=4) for _ in range(2))
    assert one.equals(other)


def test_it_is_said_and_written_and_read(tmp_path):
    evaluation = evaluate_scores(CODES, CLASSES, metrics=["mig"], null=3, baselines={"other": CODES.means})
    text = repr(evaluation.scores[0])
    assert "shuffled factors" in text
    assert "of the gap to 1" in text
    Scores().plus(evaluation).write(tmp_path / "s.json")
    back = Scores.read(tmp_path / "s.json").entries[0].score
    assert back.null == evaluation.scores[0].null
    assert back.gap == evaluation.scores[0].gap
    assert Evaluation((back,)).table()["gap"][0] == back.gap


def test_what_cannot_be_is_refused():
    with pytest.raises(DistaffError, match="null=-1"):
        evaluate(CODES, CLASSES, null=-1)
    with pytest.raises(DistaffError, match="baseline 'short' has 10 rows"):
        evaluate(CODES, CLASSES, baselines={"short": CODES.means[:10]})
    with pytest.raises(DistaffError, match="baselines are codes by name, not a list"):
        evaluate(CODES, CLASSES, baselines=[CODES.means])
    with pytest.raises(DistaffError, match="baselines are codes by name, not a ndarray"):
        evaluate(CODES, CLASSES, baselines=CODES.means)


def test_no_baseline_takes_the_place_of_a_column(tmp_path):
    evaluation = evaluate_scores(
        CODES, CLASSES, metrics=["mig"], bootstrap=10, null=2, baselines={"other": CODES.means}
    )
    write_table(tmp_path / "s.csv", evaluation)
    columns = {*evaluation.table(), *pd.read_csv(tmp_path / "s.csv"), *text_columns(evaluation.scores)}
    assert "other" in columns
    for name in columns - {"other"}:
        with pytest.raises(DistaffError, match=f"{name!r} is a column of the table"):
            evaluate(CODES, CLASSES, metrics=["mig"], baselines={name: CODES.means})
