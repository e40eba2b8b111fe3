"""Dependence between latents, without labels or log-variances (Locatello et al. 2019)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.active_latents import standardised
from distaff.metrics.binned_means import own_bins_of_all
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.labels import mutual_information
from distaff.metrics.metric import metric
from distaff.metrics.mig_sup import OwnBins
from distaff.metrics.pieces import slices
from distaff.metrics.result import Error, Result


@dataclass(frozen=True)
class Plain:
    """No settings."""


@dataclass(frozen=True)
class Transport:
    """The unit of the distance.

    Args:
        normalize: divide by the sum of the latents' variances.
    """

    normalize: bool


@metric(
    paper="Watanabe 1960; Locatello et al. 2019",
    protocols={"locatello19": Plain()},
    direction="lower",
    says="independence",
    widest=(4096, "takes the eigenvalues of the covariance of all latents"),
)
def gaussian_total_correlation(codes: Codes, settings: Plain) -> Result:
    """Total correlation of a Gaussian with the covariance Σ of the means: ½(Σ_i log Σ_ii − log det Σ), nats.

    0 for uncorrelated latents, infinite if one is a linear combination of others. It measures linear
    dependence only. Constant latents are ignored.

    Args:
        codes: (N, D) means with D of at least 2, or ``Codes``; categorical latents are ignored.
        logvar: accepted as for other metrics of q(z); only the means are used.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import gaussian_total_correlation
        >>> z = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
        >>> abs(gaussian_total_correlation(z).value)
        0.0

    See Also:
        ``total_correlation``, of q(z) itself; ``gaussian_wasserstein_correlation``.
    """
    z, notes = _varied(codes)
    scaled = standardised(z)
    roots = np.linalg.eigvalsh(scaled.T @ scaled / len(scaled))
    singular = roots[0] <= len(roots) * np.finfo(np.float64).eps * 10
    value = np.inf if singular else max(-0.5 * float(np.log(roots).sum()), 0.0)
    return Result(value, notes=notes + ("a latent is a sum of others",) * bool(singular))


@metric(
    paper="Locatello et al. 2019",
    protocols={
        "locatello19-normalised": Transport(normalize=True),
        "locatello19": Transport(normalize=False),
    },
    direction="lower",
    says="independence",
    widest=(4096, "takes the eigenvalues of the covariance of all latents"),
)
def gaussian_wasserstein_correlation(codes: Codes, settings: Transport) -> Result:
    """Squared 2-Wasserstein distance of a Gaussian with the means' covariance Σ to independent latents.

    2 tr Σ − 2 tr (D^½ Σ D^½)^½, where D is the diagonal of Σ: 0 for uncorrelated latents. Divided by tr Σ, it
    does not depend on a common scale of the latents; this is disentanglement_lib's
    ``gaussian_wasserstein_correlation_norm``.

    Args:
        codes: (N, D) means with D of at least 2, or ``Codes``; categorical latents are ignored.
        logvar: accepted as for other metrics of q(z); only the means are used.
        protocol: ``"locatello19-normalised"``, or ``"locatello19"``, in the latents' unit squared.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import gaussian_wasserstein_correlation
        >>> z = np.array([[1.0, 1.0], [-1.0, -1.0]])  # the same latent twice
        >>> round(gaussian_wasserstein_correlation(z).value, 4)  # 2 − √2
        0.5858

    See Also:
        ``gaussian_total_correlation``.
    """
    z, notes = _varied(codes)
    spread = z - z.mean(axis=0)
    unit = max(float(np.abs(spread).max()), 1e-300)
    spread /= unit
    covariance = spread.T @ spread / max(len(z) - 1, 1)
    variances = np.diag(covariance)
    root = np.sqrt(variances)
    roots = np.linalg.eigvalsh(root[:, None] * covariance * root)
    distance = max(2 * float(variances.sum() - np.sqrt(np.maximum(roots, 0)).sum()), 0.0)
    return Result(distance / variances.sum() if settings.normalize else distance * unit**2, notes=notes)


@metric(
    paper="Locatello et al. 2019",
    protocols={"locatello19": OwnBins()},
    direction="lower",
    says="independence",
    widest=(1024, "counts every pair of latents"),
)
def pairwise_information(codes: Codes, settings: OwnBins) -> Result:
    """Mean over pairs of latents of I(z_i; z_j), from means in bins, in nats.

    disentanglement_lib's ``mutual_info_score``. It is biased upwards with few rows: independent latents score
    about (bins − 1)²/2N. ``details["pairs"]`` is the matrix; ``per_latent`` is each latent's mean over its
    pairs.

    Args:
        codes: (N, D) means, or ``Codes``; at least two latents.
        protocol: ``"locatello19"``: 20 bins between each latent's extremes; for a categorical latent, the
            most likely classes.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import pairwise_information
        >>> z = np.indices((4, 5)).reshape(2, -1).T
        >>> abs(round(pairwise_information(z).value, 6))
        0.0
        >>> round(pairwise_information(z[:, [0, 0]]).value, 4)  # log 4
        1.3863

    See Also:
        ``misjed``, for q(z|x); ``separability``.
    """
    size = len(codes.names)
    if size < 2:
        raise DistaffError("pairwise information compares latents: the codes have only one.")
    kinds = [p.argmax(axis=1) for p in codes.categories.values()]
    width = max([settings.bins, *(p.shape[1] for p in codes.categories.values())])
    small = np.uint16 if width < 1 << 16 else np.int64
    bins = np.empty((size, len(codes)), small)  # for all latents: at most a quarter of the codes' memory
    for i, own in enumerate(own_bins_of_all(codes.means, settings.bins)):
        bins[i] = own
    for i, kind in enumerate(kinds, start=codes.means.shape[1]):
        bins[i] = kind
    pairs = np.zeros((size, size))
    for i in range(1, size):
        first = bins[i].astype(np.int64) * width
        for some in slices(i, max(len(codes), width**2)):
            pairs[i, some] = pairs[some, i] = _shared(first, bins[some], width)
    each = pairs.sum(axis=1) / (size - 1)
    return Result(
        each.mean(), per_latent=each, details={"pairs": pairs}, own_error=lambda: _error(bins, width)
    )


def _error(bins: NDArray[Any], width: int) -> Error:
    """The error of the mean over pairs of the information in bins (D, N).

    The score is the mean over rows of log p(z_i, z_j) / p(z_i)p(z_j), which gives its variance if latents
    share information. If they share none, the 1/N² of chance remains: for k free cells, χ²_k/2N, with
    variance k/2N². The variance over rows gives twice that, so it is subtracted; free cells are counted among
    the cells that occur, as in the correction of Miller and Madow.
    """
    rows, chance = np.zeros(bins.shape[1]), 0.0
    for i in range(1, len(bins)):
        first = bins[i].astype(np.int64) * width
        for other in bins[:i]:
            cells = first + other
            joint = np.bincount(cells, minlength=width * width).reshape(width, width) / len(cells)
            one, two = joint.sum(axis=1), joint.sum(axis=0)
            apart = one[:, None] * two
            rows += np.log(np.divide(joint, apart, out=np.ones_like(joint), where=joint > 0)).ravel()[cells]
            free = int((joint > 0).sum() - (one > 0).sum() - (two > 0).sum()) + 1
            chance += max(free, 0) / (2 * len(cells) ** 2)
    pairs = len(bins) * (len(bins) - 1) / 2
    shown = float(rows.var(ddof=1)) / len(rows) / pairs**2
    return Error(max(shown - chance / pairs**2, shown / 2), len(rows) - 1)


def _varied(codes: Codes) -> tuple[Float64Array, tuple[str, ...]]:
    """(N, D) means of the latents that vary, and a note that names the others."""
    varies = codes.means.max(axis=0) > codes.means.min(axis=0) if codes.means.shape[1] else np.zeros(0, bool)
    if varies.sum() < 2:
        raise DistaffError("correlation is between latents: at least two Gaussian ones must vary.")
    still = [name for name, moves in zip(codes.names[: len(varies)], varies, strict=True) if not moves]
    notes = (f"constant latents left out: {', '.join(still)}",) if still else ()
    return codes.means[:, varies].astype(np.float64), notes


def _shared(first: IntArray, others: NDArray[Any], width: int) -> Float64Array:
    """(B,) information that a latent, (N,) bins times ``width``, shares with others, (B, N) bins."""
    cells = width * width
    counts = np.empty((len(others), cells))
    for count, other in zip(counts, others, strict=True):
        count[:] = np.bincount(first + other, minlength=cells)
    return mutual_information(counts.reshape(-1, width, width) / len(first))
