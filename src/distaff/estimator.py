"""``Disentangler``: any recipe as a scikit-learn transformer, for arrays, pipelines and grid searches."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from distaff.analysis.encoding import encode
from distaff.codes import Codes, FloatArray, as_array
from distaff.data.arrays import with_factors
from distaff.data.dataset import Dataset
from distaff.data.estimator_arrays import arrange
from distaff.foundation.binding import bind, read_value
from distaff.foundation.errors import DistaffError
from distaff.models.likelihoods import COUNTED
from distaff.objectives.critics import CriticSettings
from distaff.objectives.games import Game
from distaff.objectives.objective import Objective
from distaff.runs.calls import Goal, RecipeCall, find_recipe
from distaff.runs.model_choice import network_for
from distaff.runs.settings import AUTO
from distaff.training.train import train

SMALL_CRITIC = CriticSettings(hidden=128, layers=3, learning_rate=1e-3)
"""Default critic for small data, where the paper's six layers of 1000 units would take most of the time."""


class Disentangler(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A disentangled representation of vectors or images: ``fit``, ``transform``, ``inverse_transform``.

    Vectors (N, D) are standardised, and modelled by dense networks with a Gaussian likelihood of unit
    variance. Images (N, H, W), (N, H, W, C) or (N, C, H, W) are divided by 255 if they are bytes, otherwise
    by their largest value, unless no value is above 1; clipped to 0–1; and modelled with a Bernoulli
    likelihood, by convolutions if their sides are divisible by 16 and by dense networks otherwise. Images
    given later are divided by the same number; those that are evidently on another scale, such as floats in
    0–1 after bytes, are refused.

    >>> from sklearn.datasets import load_digits
    >>> images = load_digits().images
    >>> model = Disentangler(recipe="beta_vae", options={"beta": 4}, latents=6, steps=5)
    >>> model.fit_transform(images).shape
    (1797, 6)

    Args:
        recipe: name from ``distaff recipes``, ``module:function``, or the function itself.
        latents: number of Gaussian latents, or groups such as ``"style=gaussian:6,digit=concrete:10"``.
        options: the recipe's own arguments by name; others have the recipe's defaults, except the critic,
            which is ``SMALL_CRITIC`` by default.
        steps: number of training steps.
        batch_size: observations per step; at most the size of the data.
        learning_rate: Adam's step size.
        prior: prior of the latents, as in ``distaff.train``.
        network: encoder and decoder, as in ``distaff.train``.
        likelihood: likelihood, as in ``distaff.train``; ``auto`` means bernoulli for images, unit_gaussian
            for vectors. Vectors under ``bernoulli``, which must lie in 0–1, and counts under ``poisson`` and
            ``negative_binomial`` are not standardised.
        label_weight: weight of the label loss, if ``fit`` is given labels y; 0 ignores them.
        pairs: source of pairs for recipes that learn from them, as in ``distaff.train``; sequence takes rows
            in order.
        accelerator: cpu, cuda, or auto for the best one available.
        random_state: seed of weights, noise and the order of data.
        verbose: show the progress of training.

    Attributes:
        representation_: the trained ``Representation``; it works on standardised vectors, or images in 0–1.
        latent_kl_: (latents,) mean KL of each latent from its prior over X; latents near 0 are unused.
        n_features_in_: number of columns of X.
        feature_names_in_: names of the columns, if X was a data frame.
    """

    def __init__(
        self,
        recipe: str | Callable[..., Objective] = "factor_vae",
        latents: int | str = 10,
        *,
        options: Mapping[str, Any] | None = None,
        steps: int = 1000,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        prior: str = "normal",
        network: str = AUTO,
        likelihood: str = AUTO,
        label_weight: float = 4.0,
        pairs: str | None = None,
        accelerator: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.recipe = recipe
        self.latents = latents
        self.options = options
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.prior = prior
        self.network = network
        self.likelihood = likelihood
        self.label_weight = label_weight
        self.pairs = pairs
        self.accelerator = accelerator
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on X, and on labels y if given.

        Args:
            X: vectors or images.
            y: (N,) or (N, K) factors; latent k is pulled towards factor k. A missing label is NaN, or −1
                among classes 0, 1, …. Without y, nothing is labelled.
        """
        _refuse_texts(X)
        values = validate_data(self, X, allow_nd=True, ensure_min_samples=2)
        arrangement = arrange(values, standardise=self.likelihood not in ("bernoulli", *COUNTED))
        data = arrangement.dataset(values)
        labels = None if y is None or not self.label_weight else as_array(y)
        if labels is not None:
            columns = [labels] if labels.ndim == 1 else list(labels.T)
            data = with_factors(data, [_plain_labels(column) for column in columns])
        arguments = _arguments(self.recipe, self.options)
        recipe, goal = RecipeCall.of(self.recipe, arguments)
        _refuse_game(recipe.name, goal)
        if self.pairs is None and data.factors is None:
            _refuse_pairs(recipe.name, goal)
        representation = train(
            self.recipe,
            data,
            latents=self.latents,
            steps=self.steps,
            batch_size=min(read_value(self.batch_size, int, "batch_size"), len(data)),
            learning_rate=self.learning_rate,
            prior=self.prior,
            network=_network(data.shape) if self.network == AUTO else self.network,
            likelihood=_likelihood(data.shape) if self.likelihood == AUTO else self.likelihood,
            accelerator=self.accelerator,
            seed=int(check_random_state(self.random_state).randint(2**31)),
            progress=self.verbose,
            pairs=self.pairs,
            labels=None if labels is None else "all",
            label_weight=self.label_weight,
            **arguments,
        )
        if values.ndim == 2:
            # In single precision, the last digits of a row's code would depend on the other rows.
            representation.model.double()
        self.arrangement_, self.representation_ = arrangement, representation
        self.latent_kl_ = encode(representation, data, progress=False).kl_per_latent
        return self

    def transform(self, X: Any) -> FloatArray:
        """(N, latents) means of q(z|x); for each discrete latent, the probabilities of its classes."""
        data = self._dataset(X)
        codes = self.representation_.encode(data.images)
        return np.hstack([codes.means, *codes.categories.values()])

    def inverse_transform(self, Z: Any) -> FloatArray:
        """E[x|z] for codes (N, columns of ``transform``), in the shape and units of X."""
        check_is_fitted(self, "representation_")
        codes = check_array(Z)
        if codes.shape[1] != self._n_features_out:
            raise DistaffError(f"Z has {codes.shape[1]} columns, but there are {self._n_features_out} codes.")
        discrete = [v for v in self.representation_.model.latents.coded if v.classes]
        real = codes.shape[1] - sum(variable.classes for variable in discrete)
        ends = real + np.cumsum([variable.classes for variable in discrete], dtype=np.int64)
        means, *classes = np.split(codes, [real, *ends[:-1]] if discrete else [], axis=1)
        names = [variable.name for variable in discrete]
        z = self.representation_.to_z(Codes(means, categories=dict(zip(names, classes, strict=True))))
        return self.arrangement_.back(self.representation_.decode(z))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean ELBO of X, log p(x|z) − KL(q(z|x) ‖ p(z)) at one z ~ q(z|x), in nats and the units of X.

        Higher is better. It says how well the model explains X, not how disentangled its latents are; for
        that, score with ``distaff.metrics``. The infinite KL of a deterministic encoder is left out.
        """
        data = self._dataset(X)
        encoded = encode(self.representation_, data, progress=False)
        if encoded.nll is None or encoded.kl is None:
            raise DistaffError(f"{self.recipe} has no likelihood, so it cannot score: use a VAE's recipe.")
        kl = encoded.kl if np.isfinite(encoded.kl).all() else np.zeros(1)
        elbo = -encoded.nll.mean(dtype=np.float64) - kl.mean(dtype=np.float64)
        return float(elbo + self.arrangement_.log_density)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The latents' names: z0 …, then NAME_0 … for the classes of each discrete latent."""
        super().get_feature_names_out(input_features)  # checks the names of the inputs
        return np.array(self._names(), object)

    @property
    def _n_features_out(self) -> int:
        return len(self._names())

    def _names(self) -> list[str]:
        names: list[str] = []
        for variable in self.representation_.model.latents.coded:
            classes = [f"{variable.name}_{c}" for c in range(variable.classes)]
            names += classes or [variable.name]
        return names

    def _dataset(self, X: Any) -> Dataset:
        check_is_fitted(self, "representation_")
        return self.arrangement_.dataset(validate_data(self, X, allow_nd=True, reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def _network(shape: tuple[int, ...]) -> str:
    """The default network of training, except for images that convolutions of stride 2 do not fit."""
    chosen = network_for(shape)
    return "mlp" if len(shape) == 3 and chosen != "hfvae_mlp" and any(s % 16 for s in shape[1:]) else chosen


def _likelihood(shape: tuple[int, ...]) -> str:
    return "bernoulli" if len(shape) == 3 else "unit_gaussian"


def _arguments(recipe: str | Callable[..., Objective], options: Mapping[str, Any] | None) -> dict[str, Any]:
    """A recipe's arguments, checked; one that takes a critic gets a small one by default."""
    function = find_recipe(recipe)
    if not isinstance(options, Mapping | None):
        raise DistaffError(
            f"options are the recipe's arguments by name, as in {{'beta': 4}}, not {options!r}."
        )
    arguments = dict(options or {})
    if "critic" in inspect.signature(function).parameters:
        arguments.setdefault("critic", SMALL_CRITIC)
    return bind(function, arguments)


def _refuse_game(recipe: str, goal: Goal) -> None:
    if isinstance(goal, Game):
        raise DistaffError(
            f"{recipe} is a game of a generator and a discriminator, and Disentangler trains VAEs: take "
            f'another recipe, or train this one on images by distaff.train("{recipe}", images).'
        )


def _refuse_pairs(recipe: str, goal: Goal) -> None:
    """Say how rows can be paired, if the recipe learns from pairs and nothing says which."""
    if isinstance(goal, Objective) and goal.sharing is not None:
        raise DistaffError(
            f"{recipe} learns from pairs of rows that share factors: give fit labels y to draw "
            'them by, or say pairs="sequence" where neighbouring rows share some, or pairs="mine.npy" for a '
            "file of row numbers (P, 2)."
        )


def _refuse_texts(X: Any) -> None:
    """Raise an error that names a data frame's column of texts; scikit-learn's error names only a cell."""
    if not isinstance(X, pd.DataFrame):
        return
    for name in X.columns:
        if not pd.api.types.is_numeric_dtype(X[name]):
            raise DistaffError(
                f"column {str(name)!r} of the DataFrame holds no numbers, which Disentangler needs: leave it "
                "out or turn it into numbers; distaff.train takes columns of texts as classes."
            )


def _plain_labels(column: NDArray[Any]) -> NDArray[Any]:
    """Labels of dtype object as numbers, None as NaN, if all are numbers; else as strings.

    If some strings are None or NaN, the classes are numbered, and these labels are missing.
    """
    if column.dtype != object:
        return column
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        missing = np.array([label is None or label != label for label in column])
    if not missing.any():
        return column.astype(str)
    numbers = np.full(len(column), np.nan)
    numbers[~missing] = np.unique(column[~missing].astype(str), return_inverse=True)[1]
    return numbers
