"""Partial information: what pairs of latents tell about a factor uniquely, redundantly or only together."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.binned_means import index_tables, own_bins_of_all
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.labels import Labels, hard_labels
from distaff.metrics.metric import metric
from distaff.metrics.missing_labels import Part, as_columns, of_each, parts
from distaff.metrics.options import BinCount
from distaff.metrics.pieces import slices
from distaff.metrics.result import Result


@dataclass(frozen=True)
class PairBins:
    """How means are binned.

    Args:
        bins: number of bins over each latent's own range; a pair of latents has the square of it.
    """

    bins: BinCount = 10


@metric(
    paper="Williams & Beer 2010",
    protocols={"williams10": PairBins()},
    bounds=(0, 1),
    by_factor="within",
    says="compactness",
    widest=(256, "counts every pair of latents with every factor"),
)
def partial_information(codes: Codes, factors: Factors, settings: PairBins) -> Result:
    """Mean over factors of the information that only the best latent has about the factor, over H(y_k).

    The information of two latents about a factor is decomposed into four parts, I(z_i, z_j; y) = R + U_i +
    U_j + S: redundant (in either latent), unique to one of them, and synergistic (only in both together, as
    in an exclusive or). The redundancy is I_min: R = Σ_v p(y = v) min(I(z_i; y = v), I(z_j; y = v)) with the
    specific information I(z; y = v) = Σ_s p(s|v) log(p(s|v)/p(s)); then U_i = I(z_i; y) − R. Other
    definitions of redundancy give other numbers. The score is the mean of min_j U_i*j / H(y_k), where i* has
    the highest I(z_i; y_k): 1 if one latent determines the factor and all others are uninformative about it,
    0 if another is as informative about each class. It is at least the ``mig`` of the same bins. ``details``
    has the matrices ``unique``, ``redundant`` and ``synergistic`` (latents, latents, K) in nats, where
    ``unique[i, j, k]`` is the information that z_i has and z_j does not, and NaN where i = j.

    Args:
        codes: (N, D) means with D of at least 2, or ``Codes``; the bins of a categorical latent are its
            most likely classes.
        factors: (N, K) classes; the information about each factor comes from the rows that have its label.
        protocol: ``"williams10"``: means in 10 bins between each latent's extremes.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import partial_information
        >>> z = np.indices((2, 2)).reshape(2, -1).T
        >>> either = partial_information(z, z[:, :1] ^ z[:, 1:])  # an exclusive or: synergy only
        >>> either.value, round(float(either.details["synergistic"][0, 1, 0] / np.log(2)), 6)
        (0.0, 1.0)
        >>> round(partial_information(z, z).value, 6)  # one latent per factor
        1.0

    See Also:
        ``mig``; ``sepin``, between latents and data; ``pairwise_information``, between latents.
    """
    if len(codes.names) < 2:
        raise DistaffError("a partial information decomposition needs pairs of latents: there is only one.")
    labels = hard_labels(factors)
    cut = parts(codes, factors)
    found = of_each(cut, lambda part: _decomposed(part, settings.bins))
    information, redundant, together = (as_columns(cut, [one[place] for one in found]) for place in range(3))
    unique = np.maximum(information[:, None] - redundant, 0)
    synergistic = np.maximum(together - unique - unique.swapaxes(0, 1) - redundant, 0)
    same = np.arange(len(information))
    for matrix in (unique, redundant, synergistic):
        matrix[same, same] = np.nan

    best, every = information.argmax(axis=0), np.arange(len(labels.names))
    of_best = unique[best, :, every]
    shares = np.clip(np.nanmin(of_best, axis=1) / labels.entropies, 0, 1)
    rivals = np.nanargmin(of_best, axis=1)
    details = {
        "unique": unique,
        "redundant": redundant,
        "synergistic": synergistic,
        "mutual_information": information,
        "latents": codes.names,
        "best_latent": {name: codes.names[i] for name, i in zip(labels.names, best, strict=True)},
        "closest_latent": {name: codes.names[j] for name, j in zip(labels.names, rivals, strict=True)},
    }
    return Result(shares.mean(), per_factor=shares, details=details, notes=_few_rows(cut, settings.bins))


def _few_rows(cut: list[Part], bins: int) -> tuple[str, ...]:
    """A note if the tables are too large for the number of rows: empty cells look like synergy."""
    rows, classes, name = min(
        (len(part.rows) / size, size, name)
        for part in cut
        for name, size in zip(part.factors.names, part.factors.sizes, strict=True)
    )
    if rows >= 5 * bins**2:
        return ()
    count = round(rows * classes)
    return (f"{count} rows for {bins}² × {classes} cells of {name!r}: synergy is too high, use fewer bins",)


def _decomposed(part: Part, bins: int) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Information of latents and of pairs of latents about the k factors of a part.

    (L, k) I(z_i; y), (L, L, k) the redundancy of each pair, and (L, L, k) I(z_i, z_j; y).
    """
    labels = hard_labels(part.factors)
    hard = [p.argmax(axis=1) for p in part.codes.categories.values()]
    places = [*own_bins_of_all(part.codes.means, bins), *hard]
    sizes = [bins] * part.codes.means.shape[1] + [p.shape[1] for p in part.codes.categories.values()]
    specific = _specific(places, sizes, labels)
    information = np.empty((len(sizes), len(labels.names)))
    redundant = np.empty((len(sizes), len(sizes), len(labels.names)))
    for k, (columns, y) in enumerate(zip(labels.columns, labels.by_factor, strict=True)):
        weights = np.bincount(y) / len(y)
        own = specific[:, columns]
        information[:, k] = own @ weights
        for i, row in enumerate(own):
            redundant[i, :, k] = np.minimum(row, own) @ weights
    together = np.empty_like(redundant)
    first, second = np.triu_indices(len(sizes), 1)
    together[first, second] = together[second, first] = _pair_information(places, sizes, labels)
    together[np.arange(len(sizes)), np.arange(len(sizes))] = information
    return information, redundant, together


def _specific(places: list[IntArray], sizes: list[int], labels: Labels) -> Float64Array:
    """(L, Σ sizes) I(z_i; y_k = v) = KL(p(z_i | y_k = v) ‖ p(z_i)) in nats, with factors side by side."""
    found = np.empty((len(sizes), sum(labels.sizes)))
    for some in slices(len(sizes), max(sizes) * sum(labels.sizes)):
        tables = index_tables(places[some], sizes[some], len(places[0]), labels)
        given = tables.joint / tables.joint.sum(axis=1, keepdims=True)
        ratio = np.divide(given, tables.masses[..., None], out=np.ones_like(given), where=given > 0)
        found[some] = np.maximum((given * np.log(ratio)).sum(axis=1), 0)
    return found


def _pair_information(places: list[IntArray], sizes: list[int], labels: Labels) -> Float64Array:
    """(pairs, k) I(z_i, z_j; y_k) in nats, in the order of ``itertools.combinations``."""
    pairs = combinations(zip(places, sizes, strict=True), 2)
    cells = (first * size + second for (first, _), (second, size) in pairs)
    joint_sizes = [a * b for a, b in combinations(sizes, 2)]
    found = []
    for some in slices(len(joint_sizes), max(joint_sizes) * sum(labels.sizes)):
        tables = index_tables(cells, joint_sizes[some], len(places[0]), labels)
        found.append(tables.information(labels))
    return np.concatenate(found)
