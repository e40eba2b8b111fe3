"""Few labels: 50 align what none do; missing ones take no part; and what does not fit is said."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from distaff.data.arrays import from_array
from distaff.data.few_labels import Labels
from distaff.data.splits import split
from distaff.estimator import Disentangler
from distaff.foundation.errors import DistaffError
from distaff.objectives import recipes
from distaff.objectives.labels import label_distance, label_loss
from distaff.objectives.step import Labelled, Step
from distaff.training.train import resume, train
from tests import toys
from tests.objectives.rotated import turned_grid

TINY = {"network": "tests.toys:mlp", "batch_size": 16, "progress": False, "accelerator": "cpu"}
TOLD = pytest.mark.filterwarnings("ignore:labels of")


def own_correlations(means: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """|correlation| of latent k with factor k."""
    count = factors.shape[1]
    return np.abs(np.corrcoef(means[:, :count].T, factors.T)[:count, count:].diagonal())


@TOLD
def test_fifty_labels_align_what_none_do():
    data = turned_grid()
    settings = {"latents": 3, "likelihood": "unit_gaussian", "steps": 400, "learning_rate": 5e-3, **TINY}
    found = {
        labels: own_correlations(
            train("vae", data, labels=labels, **settings).encode(data.images).means, data.factors
        )
        for labels in (None, 50)
    }
    assert found[50].min() > 0.9
    assert found[None].mean() < 0.85


def test_the_loss_is_over_known_labels_alone():
    data = toys.ring(40)
    model = toys.model(data)
    x = data.images[:12]
    y = torch.rand(12, 3)
    y[::2, 1] = float("nan")
    y[:, 2] = float("nan")
    step = Step(model, model(x), 0, 40, labelled=lambda: Labelled(x, y))
    means = model.encode(x).parts["z"].mu
    every, some = (
        F.binary_cross_entropy_with_logits(means[r, k], y[r, k], reduction="sum")
        for k, r in ((0, slice(None)), (1, slice(1, None, 2)))
    )
    torch.testing.assert_close(label_loss(step), (every + some) / 12)
    squares = (means.sigmoid()[:, :3] - y).square().nansum() / 12
    torch.testing.assert_close(label_distance(step), squares)


def test_labels_are_chosen_scaled_and_counted():
    factors = np.stack([np.arange(60) % 4, np.linspace(-3, 5, 60) ** 3, np.zeros(60)], 1)
    data = from_array(np.zeros((60, 2)), factors, ["class", "number", "constant"])
    labels = Labels.of(data, 20, seed=1)
    assert len(set(labels.rows)) == 20
    np.testing.assert_allclose(labels.values[:, 0] * 3, data.factors[labels.rows, 0])
    assert labels.values[:, 1].min() == 0
    assert labels.values[:, 1].max() == 1
    assert np.isnan(labels.values[:, 2]).all()
    assert str(labels) == "labels of 20 of 60 observations are learnt from (class 20, number 20, constant 0)"
    assert not np.array_equal(labels.rows, Labels.of(data, 20, seed=2).rows)


def test_held_out_labels_are_scaled_as_those_that_are_learnt_from():
    data = from_array(np.zeros((40, 2)), np.stack([np.linspace(-1, 3, 40) ** 3, np.arange(40) % 5], 1))
    labels = Labels.of(data.subset(np.arange(0, 40, 2)), "all")
    others = labels.of_others(data.subset(np.arange(9, 19)))
    low, high = -1.0, data.factors[38, 0]
    np.testing.assert_allclose(others.values[:, 0], (data.factors[9:19, 0] - low) / (high - low), rtol=1e-6)
    np.testing.assert_allclose(others.values[:, 1], data.factors[9:19, 1] / 4)


@TOLD
def test_held_out_observations_may_have_no_labels(tmp_path):
    factors = np.full((40, 2), np.nan)
    kept = split(from_array(np.arange(40.0)[:, None]), 0.2)[0].images[:][:4, 0].numpy().astype(int)
    factors[kept] = [[0, 0], [1, 1], [0, 1], [1, 0]]
    data = from_array(np.random.default_rng(0).normal(size=(40, 3)), factors)
    settings = {"latents": 2, "labels": "all", "hold_out": 0.2, "validate_every": 1, **TINY, "batch_size": 8}
    train("vae", data, steps=1, out=tmp_path / "run", **settings)
    assert '"held_out.label_loss": 0' in (tmp_path / "run/log.jsonl").read_text()


def test_missing_labels_of_arrays():
    factors = np.array([[0, 0.5, -1], [1, np.nan, 1], [-1, 2.5, -1], [np.nan, 1.5, 1]])
    data = from_array(np.zeros((4, 2)), factors)
    assert data.sizes == (2, 0, 2)
    known = [[True, True, True], [True, False, True], [False, True, True], [False, True, True]]
    assert data.labelled.tolist() == known
    np.testing.assert_array_equal(data.values[:, 2], [-1, 1, -1, 1])
    assert np.isnan(data.values[~data.labelled]).all()
    rows = Labels.of(from_array(np.zeros((4, 2)), [np.nan, 1, 2, np.nan]), "all").rows
    assert rows.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        (from_array(np.zeros((20, 2))), {"labels": 3}, "has no labels to learn from"),
        (turned_grid((3, 3, 3)), {"labels": 99}, "99 labelled observations were requested, but array has 27"),
        (turned_grid((3, 3, 3)), {"labels": 5, "latents": 2}, "labels of 3 factors need a real latent each"),
        (turned_grid((3, 3, 3)), {"labels": 0}, "labels must"),
    ],
)
@TOLD
def test_labels_that_do_not_fit_are_refused(data, settings, message):
    with pytest.raises(DistaffError, match=message):
        train("vae", data, steps=1, **{"latents": 3, **TINY, **settings})


@TOLD
def test_a_run_with_labels_resumes_exactly_and_says_what_it_minimises(tmp_path):
    data = turned_grid((3, 3, 3))
    settings = {"latents": 3, "labels": 10, "label_loss": "l2", **TINY}
    whole = train("beta_vae", data, steps=6, **settings)
    train("beta_vae", data, steps=3, out=tmp_path / "run", log_every=1, **settings)
    again = resume(tmp_path / "run", data, steps=6, progress=False)
    for ours, theirs in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert ours.equal(theirs)
    assert "label_distance" in (tmp_path / "run/log.jsonl").read_text()


def test_how_many_labels_are_used_is_said():
    with pytest.warns(UserWarning, match=r"labels of 10 of 27 observations are learnt from \(factor0 10"):
        train("vae", turned_grid((3, 3, 3)), latents=3, labels=10, steps=1, **TINY)


@TOLD
def test_an_estimator_learns_from_labels_of_which_some_are_missing():
    data = turned_grid()
    X, y = data.images[:].numpy(), data.factors.astype(float)
    y[np.random.default_rng(0).random(len(y)) < 0.75] = np.nan
    settings = {"recipe": "vae", "latents": 3, "steps": 300, "random_state": 0, "network": "tests.toys:mlp"}
    codes = Disentangler(learning_rate=5e-3, label_weight=20, **settings).fit(X, y).transform(X)
    assert own_correlations(codes, data.factors).min() > 0.85


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_missing_names_are_no_class_of_their_own(nothing):
    y = np.array(["ring", "line", nothing, nothing] * 5, object)
    model = Disentangler("vae", latents=2, steps=1, network="tests.toys:mlp")
    with pytest.warns(UserWarning, match=r"labels of 10 of 20 observations are learnt from \(factor0 10\)"):
        model.fit(np.random.default_rng(0).normal(size=(20, 3)), y)


def test_labels_are_beside_the_recipes_own_terms():
    assert str(recipes.vae() + 4.0 * label_loss) == "nll + kl + 4.0 label_loss"
