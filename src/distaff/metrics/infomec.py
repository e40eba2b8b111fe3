"""InfoM, InfoC and InfoE: modularity, compactness and explicitness in terms of information."""

import warnings
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.foundation.parallel import one_thread, side_by_side
from distaff.metrics.active_latents import constant_latents, standardised
from distaff.metrics.dci import sole_note
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.metric import metric
from distaff.metrics.missing_labels import Part, as_columns, of_each, parts
from distaff.metrics.neighbours import neighbour_information
from distaff.metrics.options import Count
from distaff.metrics.result import Result
from distaff.metrics.score import Score
from distaff.metrics.train_test import columns


@dataclass(frozen=True)
class Information:
    """How information is estimated, and which latents are included.

    Args:
        neighbours: number of neighbours of the MI estimate.
        inactive: share of the widest range below which a latent is left out of InfoM and InfoC.
        rows: maximum number of random rows that train the classifiers.
        values: latents with at most this many distinct values, and ten rows per value on average, are treated
            as quantised: their information is counted, and classifiers read the value as one-hot.
    """

    neighbours: Count
    inactive: Annotated[float, Ge(0), Le(1)]
    rows: Annotated[int, Ge(2)]
    values: Annotated[int, Ge(0)] = 32


class InfoMEC(NamedTuple):
    """The three scores; all are best at 1."""

    modularity: Score
    compactness: Score
    explicitness: Score


@metric(
    paper="Hsu et al. 2023",
    protocols={"hsu23": Information(neighbours=10, inactive=0.05, rows=10_000)},
    bounds=(0, 1),
    returns=InfoMEC,
    by_factor="within",
    widest=(1024, "sorts the rows by every latent, for every factor"),
    says={"infom": "modularity", "infoe": "explicitness", "infoc": "compactness"},
)
def infomec(codes: Codes, factors: Factors, settings: Information, seed: int) -> dict[str, Result]:
    """Whether each latent informs about one factor, each factor about one latent, and all are readable.

    With NMI_ki = I(z_i; y_k)/H(y_k): InfoM is the mean over active latents of max_k NMI_ki / Σ_k NMI_ki and
    InfoC the mean over factors of max_i NMI_ki / Σ_i NMI_ki, each rescaled so that equal shares, and latents
    or factors without any information, give 0. InfoE is the mean over factors of 1 − CE_k/log C_k, where CE
    is the cross-entropy of a balanced multinomial logistic regression on its training rows.

    Args:
        codes: (N, D) means, or ``Codes``; a categorical latent, or one with only a few distinct values, is
            counted.
        factors: (N, K) classes with K of at least 2; information and classifiers use the rows that have the
            factor's label.
        protocol: ``"hsu23"`` (MI from 10 nearest neighbours; latents with less than 1/20 of the widest range
            are inactive; quantised latents are counted, one-hot for InfoE, and inactive if constant).
        seed: random seed for choosing rows and breaking ties.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import infomec
        >>> factors = np.indices((2, 2)).reshape(2, -1).T.repeat(50, axis=0)
        >>> [round(score.value, 1) for score in infomec(factors, factors)]  # one latent per factor
        [1.0, 1.0, 1.0]

    See Also:
        ``dci``, from importances of predictors; ``modularity``; ``explicitness``.
    """
    if len(factors.names) < 2:
        raise DistaffError("InfoM compares factors: it needs at least two of them.")
    factors.refuse_real()
    given, widest = codes.names, np.ptp(codes.means, axis=0).max(initial=0)
    codes = _quantised_as_classes(codes, settings.values)
    active = _active(codes, settings.inactive * widest)
    if active.sum() < 1:
        raise DistaffError("all latents are constant: they hold no information.")
    cut = parts(codes, factors)
    found = of_each(cut, lambda part: _known(part, settings, seed))
    active = np.array([place for name in given if active[place := codes.names.index(name)]])
    nmi = as_columns(cut, [one.nmi for one in found])[active].T
    explained = as_columns(cut, [one.explained for one in found])

    by_latent, by_factor = _stretched(nmi, axis=0), _stretched(nmi, axis=1)
    names = tuple(codes.names[place] for place in active)
    left_out = [name for name in given if name not in names]
    notes = (f"inactive latents left out: {', '.join(left_out)}",) if left_out else ()
    details = {"nmi": nmi, "active": names}
    compact = notes + sole_note("latent", len(names))
    per_latent = dict(zip(names, by_latent.tolist(), strict=True))
    return {
        "infom": Result(_mean(by_latent), per_latent=per_latent, details=details, notes=notes),
        "infoc": Result(_mean(by_factor), per_factor=by_factor, details=details, notes=compact),
        "infoe": Result(
            _mean(explained),
            per_factor=explained,
            details=details,
            notes=notes,
            rows=min(one.rows for one in found),
        ),
    }


@dataclass(frozen=True)
class _Known:
    """Information of latents about the k factors of a part.

    Args:
        nmi: (latents, k) I(z_i; y_k)/H(y_k), non-negative.
        explained: (k,) 1 − CE_k/log C_k.
        rows: number of training rows of the classifiers.
    """

    nmi: Float64Array
    explained: Float64Array
    rows: int


def _known(part: Part, settings: Information, seed: int) -> _Known:
    rng = np.random.default_rng(seed)
    classes = part.factors.classes
    information = _information(part.codes, classes, settings.neighbours, rng)
    shares = np.stack([np.bincount(c)[c] / len(c) for c in classes.T], axis=1)
    entropies = -np.log(shares).mean(axis=0)
    losses = _cross_entropies(part.codes, part.factors, settings.rows, rng)
    return _Known(
        nmi=np.maximum(information / entropies[:, None], 0).T,
        explained=1 - losses.mean(axis=0) / np.log(part.factors.sizes),
        rows=len(losses),
    )


def _quantised_as_classes(codes: Codes, most: int) -> Codes:
    """The codes with every latent of 2 to ``most`` distinct values turned into a categorical one."""
    seen = [np.unique(column, return_inverse=True) for column in codes.means.T]
    few = np.array([2 <= len(values) <= min(most, len(codes) / 10) for values, _ in seen], bool)
    if not few.any():
        return codes
    names = np.array(codes.names[: len(seen)], object)
    classes = {
        name: np.eye(len(values))[places]
        for name, (values, places), is_few in zip(names, seen, few, strict=True)
        if is_few
    }
    return Codes(codes.means[:, ~few], None, {**classes, **codes.categories}, tuple(names[~few]))


def _mean(values: Float64Array) -> float:
    """The mean, clipped to [0, 1] since estimation errors can move it outside."""
    return float(np.clip(values.mean(), 0, 1))


def _active(codes: Codes, width: float) -> NDArray[np.bool_]:
    """(latents,) whether the range of means exceeds ``width``, or a categorical latent has two classes."""
    wide = np.ptp(codes.means, axis=0) > width
    return np.append(wide, np.ones(len(codes.categories), dtype=bool)) & ~constant_latents(codes)


def _information(codes: Codes, classes: IntArray, neighbours: int, rng: np.random.Generator) -> Float64Array:
    """(K, latents) mutual information in nats."""
    z = standardised(codes.means)
    hard = [p.argmax(axis=1) for p in codes.categories.values()]
    found = np.empty((classes.shape[1], len(codes.names)))
    ties = rng.standard_normal(z.T.shape)

    def of_latent(i: int) -> Float64Array:
        return np.asarray(neighbour_information(z[:, i], classes, neighbours, ties[i]).mean(axis=0))

    for i, informations in enumerate(side_by_side(of_latent, range(z.shape[1]))):
        found[:, i] = informations
    for k, labels in enumerate(classes.T):
        for i, kinds in enumerate(hard, start=z.shape[1]):
            joint = np.zeros((kinds.max() + 1, labels.max() + 1))
            np.add.at(joint, (kinds, labels), 1 / len(labels))
            expected = joint.sum(axis=1)[kinds] * joint.sum(axis=0)[labels]
            found[k, i] = np.log(joint[kinds, labels] / expected).mean()
    return found


def _cross_entropies(codes: Codes, factors: Factors, rows: int, rng: np.random.Generator) -> Float64Array:
    """(rows, K) −log p(y|z) of balanced logistic regressions without penalty, after 100 L-BFGS steps."""
    x, _ = columns(codes)
    chosen = rng.permutation(len(x))[:rows]
    losses = np.empty((len(chosen), len(factors.names)))
    inputs = x[chosen]

    def of_factor(k: int) -> Float64Array | float:
        labels, y = np.unique(factors.indices[chosen, k], return_inverse=True)
        if len(labels) == 1:
            return 0.0
        model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=100).fit(inputs, y)
        p = model.predict_proba(inputs)[np.arange(len(inputs)), y]
        return np.asarray(-np.log(np.maximum(p, 1e-15)))

    with warnings.catch_warnings(), one_thread("blas"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        for k, found in enumerate(side_by_side(of_factor, range(len(factors.names)))):
            losses[:, k] = found
    return losses


def _stretched(nmi: Float64Array, axis: int) -> Float64Array:
    """The largest share along ``axis``, rescaled to 0 for equal shares and 1 for a single one."""
    size = nmi.shape[axis]
    total = nmi.sum(axis=axis)
    share = np.divide(nmi.max(axis=axis), total, out=np.full_like(total, 1 / size), where=total > 0)
    return np.asarray(np.sign(total)) if size == 1 else (share - 1 / size) / (1 - 1 / size)
