"""Curves through training: the log's values, and the scores of the models along the way."""

import numpy as np
import pytest

from distaff.foundation.errors import DistaffError
from distaff.studies import drawings
from distaff.studies.drawings.history import measured
from tests.small_studies import PINWHEEL, made


def last(line):
    return line.get_ydata()[-1]


def test_terms_come_from_the_log_and_scores_from_snapshots(shapes):
    figure = drawings.through_training(shapes, quantities=["nll", "factor_vae_score"], observations=None)
    (nll_beta, nll_factor), (score_beta, score_factor) = np.array(figure.axes).reshape(2, 2)
    for recipe, nll, score in (("beta_vae", nll_beta, score_beta), ("factor_vae", nll_factor, score_factor)):
        setting = "beta" if recipe == "beta_vae" else "gamma"
        for i, (_, runs) in enumerate(group(shapes, recipe, setting)):
            line = nll.get_lines()[i]
            assert list(line.get_xdata()) == [2, 4, 6, 8, 10, 12]
            assert last(line) == pytest.approx(np.mean([run.log[-1]["nll"] for run in runs]))
            line = score.get_lines()[i]
            assert list(line.get_xdata()) == [4, 8, 12]
            expected = np.mean([run.scores["factor_vae_score"].value for run in runs])
            assert last(line) == pytest.approx(expected), "the last snapshot is the trained model"


def group(results, recipe, setting):
    values = dict.fromkeys(run.settings[setting] for run in results.runs(recipe=recipe))
    return [(value, results.runs(recipe=recipe, **{setting: value})) for value in values]


def test_what_was_measured_once_is_kept(shapes):
    drawings.through_training(shapes, quantities=["mig"], where={"beta": 1}, observations=100)
    file = shapes.runs(beta=1)[0].folder.snapshots / "measured.json"
    before = file.read_text()
    assert '"mig, 100 observations"' in before
    drawings.through_training(shapes, quantities=["mig"], where={"beta": 1}, observations=100)
    assert file.read_text() == before


def test_a_measure_that_was_not_finite_is_drawn_the_same_when_it_is_read_again(shapes):
    run = shapes.runs(beta=1)[0]
    values = iter([1.0, float("nan"), 3.0])
    first = measured(run, "sometimes", lambda codes, data: next(values), 50)
    again = measured(run, "sometimes", lambda codes, data: next(values), 50)
    np.testing.assert_equal(first, dict(zip([4, 8, 12], [1.0, np.nan, 3.0], strict=True)))
    np.testing.assert_equal(again, first)


def test_training_curves_are_means_of_the_log(shapes):
    drawn = drawings.training_curves(shapes, terms=["kl"], curve="recipe")
    assert list(drawn) == ["beta_vae", "factor_vae"]
    line = drawn["factor_vae"].axes[0].get_lines()[0]
    assert last(line) == pytest.approx(np.mean([r.log[-1]["kl"] for r in shapes.runs(recipe="factor_vae")]))


def test_runs_without_snapshots_are_told_to_have_some(tmp_path):
    text = PINWHEEL.replace("alpha: [0, 5], beta: [0.01, 1.2]", "alpha: 1").replace("seeds: 2", "seeds: 1")
    with pytest.raises(DistaffError, match="add snapshots: 30"):
        drawings.through_training(made(text, tmp_path), quantities=["hoyer"])
