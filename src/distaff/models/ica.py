"""Linear independent component analysis of codes, for encoders whose axes are arbitrary."""

import hashlib
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from distaff.codes import Codes, as_array
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import atomic_file, regular

FAINT = 1e-3
"""Directions in which codes spread less than this fraction of the widest are not unmixed: whitening would
amplify rounding errors there."""
ITERATIONS = 1000
HASH = "sha256"
"""Key of the arrays' hash in a file; files of former versions have none."""
FloatArray = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Unmixing:
    """An invertible linear map between the real latents of an encoder and independent components.

    Args:
        mean: (D,) mean of the latents.
        mixing: (D, D) matrix; latents = mixing · components + mean.
    """

    mean: FloatArray
    mixing: FloatArray

    @property
    def unmixing(self) -> FloatArray:
        """(D, D) components = unmixing · (latents − mean)."""
        return np.asarray(np.linalg.inv(self.mixing.astype(np.float64)))

    def __call__(self, codes: Codes) -> Codes:
        """The components of codes; variances are those of the linearly mapped Gaussian posteriors.

        The covariances that the map introduces are dropped, so metrics of q(z|x) of components are exact for
        deterministic encoders only.
        """
        self._check(codes.means.shape[1])
        inverse = self.unmixing
        kind = codes.means.dtype
        means = ((codes.means - self.mean) @ inverse.T).astype(kind)
        logvars = codes.logvars
        if logvars is not None:
            with np.errstate(divide="ignore"):
                logvars = np.log(np.exp(logvars.astype(np.float64)) @ (inverse**2).T).astype(kind)
        return replace(codes, means=means, logvars=logvars)

    def mix(self, components: Any) -> FloatArray:
        """The latents (N, D) that correspond to components (N, D)."""
        given = as_array(components)
        self._check(given.shape[1])
        return np.asarray(given @ self.mixing.T + self.mean).astype(np.float32)

    def write(self, file: Path, about: dict[str, str]) -> None:
        """Save the map, with notes on how it was made."""
        with atomic_file(file) as temporary:
            arrays = {"mean": self.mean, "mixing": self.mixing}
            facts = {**about, HASH: self._hash}
            save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, temporary, facts)

    @classmethod
    def read(cls, file: Path) -> tuple["Unmixing", dict[str, str]]:
        """Read a map saved by ``write``, and its notes."""
        try:
            with safe_open(regular(file), "numpy") as content:
                found = cls(content.get_tensor("mean"), content.get_tensor("mixing"))
                about = content.metadata() or {}
        except (SafetensorError, OSError, TypeError, ValueError) as error:
            raise _damaged(file) from error
        if about.get(HASH, found._hash) != found._hash or not found._is_map:
            raise _damaged(file)
        return found, about

    @property
    def _hash(self) -> str:
        return hashlib.sha256(self.mean.tobytes() + self.mixing.tobytes()).hexdigest()

    @property
    def _is_map(self) -> bool:
        """Whether the arrays are finite and have the right shapes."""
        floats = self.mean.dtype.kind == self.mixing.dtype.kind == "f"
        fit = self.mean.ndim == 1 and self.mixing.shape == 2 * self.mean.shape
        return floats and fit and bool(np.isfinite(self.mean).all() and np.isfinite(self.mixing).all())

    def _check(self, latents: int) -> None:
        if latents != len(self.mean):
            raise DistaffError(f"an ICA of {len(self.mean)} latents does not fit {latents}.")


def _damaged(file: Path) -> DistaffError:
    return DistaffError(f"{file} is damaged: make it again with distaff evaluate RUN --ica.")


def ica(codes: Codes | Any, *, seed: int = 0) -> Unmixing:
    """Unmix the real latents of codes by FastICA (Hyvärinen 1999): components of mean 0 and variance 1.

    Nothing aligns the latents of an auto-encoder without noise with the data's factors: its codes are a
    mixture of what is independent in the data. Components are sorted by how much of the codes' spread they
    carry, each with the sign of its largest weight. Directions in which the codes hardly vary come last,
    unchanged. Gaussian components have no identifiable axes; a warning is given if the search did not
    converge.

    Args:
        codes: ``Codes``, or means (N, D).
        seed: seed of the initial rotation.

    Returns:
        The map: call it on codes to get components; ``mix`` goes back.

    >>> rng = np.random.default_rng(0)
    >>> sources = rng.uniform(-1, 1, (2000, 2))
    >>> unmixing = ica(sources @ [[0.6, -0.8], [0.8, 0.6]])
    >>> found = unmixing(Codes(sources @ [[0.6, -0.8], [0.8, 0.6]])).means
    >>> bool((np.abs(np.corrcoef(found.T, sources.T)[:2, 2:]).max(1) > 0.99).all())
    True
    """
    given = codes.means if isinstance(codes, Codes) else as_array(codes)
    if given.ndim != 2 or not given.shape[1]:
        raise DistaffError(f"ICA needs real latents (N, D), not an array of shape {given.shape}.")
    means = given.astype(np.float64)
    if not np.isfinite(means).all():
        raise DistaffError("ICA needs finite codes: these hold NaN or infinite values.")
    if len(means) <= means.shape[1]:
        raise DistaffError(f"ICA of {means.shape[1]} latents needs more rows than {len(means)}.")
    centre = means.mean(0)
    scores, spread, axes = np.linalg.svd(means - centre, full_matrices=False)
    if not spread[0] > 0:
        raise DistaffError("the codes never vary, so there is nothing for ICA to unmix.")
    loud = spread > FAINT * spread[0]
    root = np.sqrt(len(means))
    mixing = axes[loud].T * (spread[loud] / root) @ _rotation(scores[:, loud] * root, seed).T
    order = np.argsort(-np.square(mixing).sum(0), kind="stable")
    mixing = mixing[:, order]
    signs = np.sign(mixing[np.abs(mixing).argmax(0), np.arange(mixing.shape[1])])
    return Unmixing(centre, np.hstack([mixing * signs, axes[~loud].T]))


def _rotation(white: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """(r, r) rotation from uncorrelated coordinates (N, r) of variance 1 to their components."""
    from sklearn.decomposition import FastICA  # takes half a second, and only this function needs it
    from sklearn.exceptions import ConvergenceWarning

    if white.shape[1] == 1:
        return np.ones((1, 1))
    fast = FastICA(whiten=False, max_iter=ITERATIONS, random_state=seed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        rotation = np.asarray(fast.fit(white).components_)
    if not np.allclose(rotation @ rotation.T, np.eye(white.shape[1]), atol=1e-6):
        raise DistaffError("ICA found no rotation of the codes: try another seed, or more observations.")
    if any(issubclass(warning.category, ConvergenceWarning) for warning in said):
        warnings.warn(
            f"ICA still turned after {ITERATIONS} steps: components that are nearly Gaussian have no axes of "
            "their own, and those are left to chance",
            stacklevel=3,
        )
    return rotation
