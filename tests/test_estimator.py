"""The scikit-learn estimator: scikit-learn's own checks, and what they do not look at."""

import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import distaff
from distaff import Disentangler, DistaffError
from distaff.objectives.recipes import beta_vae
from distaff.objectives.terms import kl, nll
from tests import toys

QUICK = {"steps": 5, "latents": 3, "batch_size": 16, "accelerator": "cpu", "random_state": 0}
MIXED = "digit=concrete:3,style=gaussian:2,smile=bernoulli:1"


@parametrize_with_checks([Disentangler(recipe="beta_vae", **QUICK), Disentangler(**QUICK)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("likelihood", ["poisson", "negative_binomial"])
def test_counts_are_not_standardised(likelihood):
    counts = np.random.default_rng(0).poisson(3, (40, 4))
    model = Disentangler("vae", likelihood=likelihood, **QUICK).fit(counts)
    assert np.isfinite(model.score(counts))
    assert (model.inverse_transform(model.transform(counts)) > 0).all()
    with pytest.raises(DistaffError, match="other numbers than counts"):
        Disentangler("vae", likelihood=likelihood, **QUICK).fit(counts + 0.5)


def test_numbers_too_large_to_standardise_are_refused():
    with pytest.raises(DistaffError, match=r"X holds numbers up to 1e\+300, too large to be standardised"):
        Disentangler("vae", **QUICK).fit(np.array([[1.0, 2], [3, 1e300]]))


def line_in_space(count: int = 600, columns: int = 5, seed: int = 0) -> np.ndarray:
    """Points along a line in space with little noise, far from 0 and in uneven units."""
    rng = np.random.default_rng(seed)
    along = rng.normal(size=(count, 1)) * np.linspace(1, 2, columns) + 0.05 * rng.normal(
        size=(count, columns)
    )
    return along * 10.0 ** np.arange(columns) + 100


def test_vectors_come_back_in_their_own_units():
    X = line_in_space()
    model = Disentangler("vae", latents=2, steps=300, learning_rate=5e-3, accelerator="cpu", random_state=0)
    again = model.fit(X).inverse_transform(model.transform(X))
    explained = 1 - ((X - again) ** 2).mean(0) / X.var(0)
    assert explained.min() > 0.9


def test_the_score_is_an_elbo_in_the_units_of_x():
    """log p(x) of x in other units differs by the log of the units, and by nothing else."""
    X = line_in_space()
    model = Disentangler("vae", **QUICK).fit(X)
    in_other_units = Disentangler("vae", **QUICK).fit(X * 1000)
    assert in_other_units.score(X * 1000) == pytest.approx(model.score(X) - 5 * np.log(1000), abs=1e-3)


def test_the_score_of_a_gaussian_is_below_its_log_density_and_above_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) * 2
    log_density = -1.5 * np.log(2 * np.pi * 4) - 1.5
    untrained = Disentangler("vae", **QUICK).fit(X).score(X)
    trained = Disentangler("vae", **{**QUICK, "steps": 200}).fit(X).score(X)
    assert untrained < trained < log_density + 0.1
    assert trained == pytest.approx(log_density, abs=0.3)


def test_a_column_that_never_varies_comes_back():
    X = np.hstack([line_in_space(), np.full((600, 1), 0.1)])
    model = Disentangler(**QUICK).fit(X)
    assert np.isfinite(model.score(X))
    np.testing.assert_allclose(model.inverse_transform(model.transform(X))[:, 5], 0.1, atol=2)


def digits() -> np.ndarray:
    return load_digits().images[:200]


LAYOUTS = {
    "grey": digits,
    "bytes": lambda: (toys.tiny_images(64).images[:].numpy()[:, 0] * 255).astype(np.uint8),
    "booleans": lambda: toys.tiny_images(64).images[:].numpy()[:, 0] > 0,
    "channels last": lambda: np.repeat(digits()[..., None], 3, axis=3),
    "channels first": lambda: np.repeat(digits()[:, None], 3, axis=1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_of_any_layout_come_back_in_it(layout):
    X = LAYOUTS[layout]()
    model = Disentangler("vae", **QUICK).fit(X)
    Z = model.transform(X)
    assert Z.shape == (len(X), 3)
    back = model.inverse_transform(Z)
    assert back.shape == X.shape
    assert 0 <= back.min() < back.max() <= X.max()
    assert back.max() > 0.1 * X.max()


def test_codes_of_digits_feed_a_classifier():
    X, y = load_digits(return_X_y=True)
    codes = Disentangler("vae", accelerator="cpu", steps=200, random_state=0)
    pipeline = make_pipeline(codes, LogisticRegression(max_iter=500)).fit(X, y)
    assert pipeline.score(X, y) > 0.4, "chance is 0.1"
    assert (codes.latent_kl_ > 0.1).sum() >= 2


def test_discrete_latents_are_class_probabilities():
    X = toys.tiny_images(64).images[:].numpy()
    model = Disentangler("vae", **{**QUICK, "latents": MIXED}).fit(X)
    Z = model.transform(X)
    names = ["z0", "z1", "digit_0", "digit_1", "digit_2", "smile0_0", "smile0_1"]
    assert list(model.get_feature_names_out()) == names
    np.testing.assert_allclose(Z[:, 2:5].sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(model.inverse_transform(Z), model.representation_.reconstruct(X), atol=1e-5)
    only = Disentangler("vae", **{**QUICK, "latents": "digit=concrete:3"}).fit(X)
    assert only.inverse_transform(only.transform(X)).shape == X.shape


def test_a_deterministic_encoder_is_scored_by_its_reconstructions():
    X = line_in_space()
    model = Disentangler("wae", **{**QUICK, "latents": "point:3"}).fit(X)
    assert np.isfinite(model.score(X))


def my_recipe(beta: float = 2.0):
    return nll + beta * kl


def test_options_reach_the_recipe_and_a_function_may_be_one():
    X = line_in_space()
    codes = {
        name: Disentangler(recipe, options=options, **QUICK).fit_transform(X)
        for name, recipe, options in [
            ("vae", "vae", None),
            ("beta 1", "beta_vae", {"beta": 1}),
            ("beta 9", "beta_vae", {"beta": 9}),
            ("mine", my_recipe, {"beta": 9}),
        ]
    }
    np.testing.assert_array_equal(codes["vae"], codes["beta 1"])
    np.testing.assert_array_equal(codes["beta 9"], codes["mine"])
    assert not np.allclose(codes["vae"], codes["beta 9"])


def test_a_grid_search_over_options_and_latents():
    grid = {"options": [{"beta": 1.0}, {"beta": 200.0}], "latents": [1, 2]}
    model = Disentangler("beta_vae", steps=60, accelerator="cpu", random_state=0)
    search = GridSearchCV(model, grid, cv=2).fit(line_in_space(200))
    assert search.best_params_["options"] == {"beta": 1.0}
    assert search.best_estimator_.transform(line_in_space(5)).shape == (5, search.best_params_["latents"])


def test_the_same_state_gives_the_same_model_and_a_clone_is_unfitted():
    X = line_in_space(100)
    model = Disentangler(**QUICK).fit(X)
    again = clone(model)
    with pytest.raises(NotFittedError):
        again.transform(X)
    np.testing.assert_array_equal(again.fit(X).transform(X), model.transform(X))
    another = clone(model).set_params(random_state=1).fit(X)
    assert not np.allclose(another.transform(X), model.transform(X))


def test_pickles_hold_all_that_is_needed():
    X = digits()
    model = Disentangler(**QUICK).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.score(X) == model.score(X)


def test_data_frames_in_and_out():
    X = pd.DataFrame(line_in_space(100), columns=list("abcde"))
    Z = Disentangler(**QUICK).set_output(transform="pandas").fit_transform(X)
    assert list(Z.columns) == ["z0", "z1", "z2"]
    assert list(Z.index) == list(X.index)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recipe": "factorvae"}, "did you mean 'factor_vae'"),
        ({"recipe": "beta_vae", "options": {"bta": 3}}, "did you mean 'beta'"),
        ({"recipe": "beta_vae", "options": {"steps": 3}}, "unknown argument of beta_vae 'steps'"),
        ({"recipe": "beta_vae", "options": "beta=3"}, "options are the recipe's arguments by name, as in"),
        ({"likelihood": "bernoulli"}, r"outside \[0, 1\]"),
        ({"recipe": None}, "^a recipe is a name, such as vae, or a function that returns .*, not None"),
        (
            {"recipe": partial(beta_vae, beta=2)},
            "not functools.partial of beta_vae: give beta_vae itself, .* its arguments, such as beta=2",
        ),
        ({"batch_size": None}, "^batch_size must be a whole number, not None"),
        ({"recipe": "infogan"}, r'^infogan is a game .* distaff.train\("infogan", images\)\.$'),
        ({"recipe": "infowgan_gp", "likelihood": "bernoulli"}, "^infowgan_gp is a game"),
        (
            {"recipe": "ada_gvae"},
            '^ada_gvae learns from pairs of rows .* give fit labels y .* pairs="sequence"',
        ),
    ],
)
def test_bad_settings_are_one_sentence_when_fitted(changes, message):
    model = Disentangler(**{**QUICK, **changes})
    with pytest.raises(DistaffError, match=message):
        model.fit(line_in_space(50))
    with pytest.raises(NotFittedError):
        model.transform(line_in_space(50))


def test_pairs_come_from_neighbours_or_from_labels_as_the_message_says():
    X, y = line_in_space(50), np.arange(50) % 3
    for how, labels in (({"pairs": "sequence"}, None), ({}, np.stack([y, np.arange(50) // 25], 1))):
        assert Disentangler("ada_gvae", **QUICK, **how).fit(X, labels).transform(X).shape == (50, 3)
    with pytest.raises(DistaffError, match="drawn by factors, which must be classes, and 'factor0' of array"):
        Disentangler("ada_gvae", **QUICK).fit(X, X[:, 0])


def test_bad_arrays_are_named():
    with pytest.raises(DistaffError, match="values from 0 up"):
        Disentangler(**QUICK).fit(digits() - 8)
    model = Disentangler(**QUICK).fit(digits())
    with pytest.raises(DistaffError, match=r"shape \(8, 4\), but the model was fitted on \(8, 8\)"):
        model.transform(digits()[:, :, :4])
    with pytest.raises(DistaffError, match="Z has 2 columns, but there are 3"):
        model.inverse_transform(np.zeros((4, 2)))


def test_binary_vectors_under_a_bernoulli_likelihood():
    X = (np.random.default_rng(0).random((100, 6)) > 0.5).astype(float)
    model = Disentangler(likelihood="bernoulli", **QUICK).fit(X)
    back = model.inverse_transform(model.transform(X))
    assert 0 < back.min() < back.max() < 1


def test_importing_distaff_imports_neither_torch_nor_scikit_learn():
    program = "import sys, distaff; sys.exit(bool({'torch', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
    assert distaff.Disentangler is Disentangler
