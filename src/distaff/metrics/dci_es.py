"""DCI-ES: how simple a predictor of the factors can be, and how small the code is."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from scipy.linalg import cho_solve, cholesky

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.active_latents import standardised
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.metric import metric
from distaff.metrics.missing_labels import Part, as_columns, of_each, parts
from distaff.metrics.options import Count
from distaff.metrics.result import Result
from distaff.metrics.score import Score
from distaff.metrics.train_test import columns, split_rows

_RIDGE = 1e-4
_PREDICTED = 0.99  # a factor counts as predicted once a probe explains 1% of its variance

Power = Annotated[int, Ge(0), Le(14)]


@dataclass(frozen=True)
class Capacities:
    """Probes with 0, 2^first, …, 2^last random Fourier features.

    Args:
        first: log2 of the smallest number of features above 0.
        last: log2 of the largest number of features.
        train: number of training rows.
        test: number of test rows.
    """

    first: Power
    last: Power
    train: Count = 10_000
    test: Count = 5_000


class DCIES(NamedTuple):
    """Explicitness (1 is best; 0 if the loss falls linearly with capacity) and size (factors per latent)."""

    explicitness: Score
    size: Score


@metric(
    paper="Eastwood et al. 2023",
    protocols={"eastwood23": Capacities(first=3, last=9)},
    bounds=(-1, np.inf),
    returns=DCIES,
    by_factor="within",
    says={"dci_explicitness": "explicitness", "dci_size": "explicitness"},
    widest=(4096, "solves regressions on all latents"),
)
def dci_es(codes: Codes, factors: Factors, settings: Capacities, seed: int) -> dict[str, Result]:
    """How little capacity a probe needs for its best prediction of each factor, and factors per latent.

    Ridge regressions on the latents and 0, 2^first, …, 2^last random Fourier features of them give losses
    ℓ_0 … ℓ_T (mean squared error over variance). E = 1 − A/Z, where A is the area between the loss curve and
    its lowest loss ℓ*, up to the point where ℓ* is reached, and Z = ½T(1 − ℓ*) is the area for a straight
    fall from the loss of predicting the mean. E is 1 if a linear probe is already best, −1 at worst, and 0 by
    convention for a factor that no probe predicts. Size is K/D. The paper's other three scores are those of
    ``distaff.metrics.dci``.

    Args:
        factors: (N, K) classes, regressed as numbers, or real values; each factor uses the rows that have its
            label.
        protocol: ``"eastwood23"`` (the random Fourier feature probes of the paper).
        seed: random seed for the features and the split.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import dci_es
        >>> factors = np.indices((4, 5)).reshape(2, -1).T.repeat(3, axis=0)
        >>> explicitness, size = dci_es(np.hstack([factors, factors]), factors)
        >>> round(explicitness.value, 2), size.value  # a linear probe reads all; two latents per factor
        (1.0, 0.5)

    See Also:
        ``dci``, the paper's other three; ``explicitness``; ``infomec``.
    """
    if settings.first > settings.last:
        raise DistaffError(f"first={settings.first} is above last={settings.last}: no probe is left.")
    sizes = [0, *(2**power for power in range(settings.first, settings.last + 1))]
    cut = parts(codes, factors)
    losses = as_columns(cut, of_each(cut, lambda part: _curves(part, settings, sizes, seed)))
    explicit = explicitness_of(np.minimum(losses, 1.0))
    # ``rows`` is not set: the error due to the random features does not fall with the number of rows.
    return {
        "dci_explicitness": Result(
            explicit.mean(),
            per_factor=explicit,
            details={"features": sizes, "losses": losses},
            bounds=(-1.0, 1.0),
        ),
        "dci_size": Result(len(factors.names) / len(codes.names)),
    }


def explicitness_of(curves: Float64Array) -> Float64Array:
    """(..., K) E of loss-capacity curves (..., T + 1, K), where predicting the mean has loss 1."""
    lowest = curves.min(axis=-2, keepdims=True)
    above = curves - lowest
    areas = (above[..., :-1, :] + above[..., 1:, :]) / 2
    reached = np.arange(areas.shape[-2])[:, None] < curves.argmin(axis=-2)[..., None, :]
    area = (areas * reached).sum(axis=-2)
    whole = areas.shape[-2] * (1 - lowest[..., 0, :]) / 2
    ratio = np.divide(area, whole, out=np.ones_like(area), where=lowest[..., 0, :] < _PREDICTED)
    return np.asarray(1 - np.minimum(ratio, 2.0))


def _curves(part: Part, settings: Capacities, sizes: list[int], seed: int) -> Float64Array:
    """(probes, k) losses for the factors of a part."""
    rng = np.random.default_rng(seed)
    x, _ = columns(part.codes)
    training, testing = split_rows(len(x), settings.train, settings.test, rng)
    y = standardised(part.factors.values)
    return _losses(x, y, training, testing, sizes, rng)


def _losses(
    x: Float64Array,
    y: Float64Array,
    train: IntArray,
    test: IntArray,
    sizes: list[int],
    rng: np.random.Generator,
) -> Float64Array:
    """(probes, K) mean squared errors; smaller probes use the first features of the largest."""
    most = max(sizes)
    frequencies = rng.standard_normal((x.shape[1], most)) * np.sqrt(2 / x.shape[1])
    phases = rng.uniform(0, 2 * np.pi, most)
    a, b = (
        np.concatenate([np.ones((len(z), 1)), z, np.cos(z @ frequencies + phases) * np.sqrt(2)], axis=1)
        for z in (x[train], x[test])
    )
    gram, cross = a.T @ a / len(a), a.T @ y[train] / len(a)
    triangle = cholesky(gram + _RIDGE * np.eye(len(gram)), lower=True)
    losses = np.empty((len(sizes), y.shape[1]))
    for t, size in enumerate(sizes):
        width = 1 + x.shape[1] + size
        # The Cholesky factor of a smaller probe is the leading block of that of the largest.
        weights = cho_solve((triangle[:width, :width], True), cross[:width])
        losses[t] = ((y[test] - b[:, :width] @ weights) ** 2).mean(axis=0)
    return np.asarray(losses / np.maximum(y[test].var(axis=0), 1e-12))
