"""Codes on disk: npz files of means, log-variances, categorical groups and factors, or npy files of means."""

import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.files import atomic_file
from distaff.foundation.npy import read_npy
from distaff.foundation.untrusted_files import open_npz
from distaff.metrics.evaluation import Evaluation, Selection, evaluate_scores
from distaff.metrics.inputs import Factors, as_factors
from distaff.metrics.score import write_scores
from distaff.metrics.scores_json import Setup

LARGEST = 4 << 30
"""Default limit on the size of one array of a code file, in bytes."""
_MEANS = ("means", "mean", "mu", "codes", "z")
_LOGVARS = ("logvars", "logvar", "log_variances")
UNNAMED = "arr_0"
"""What numpy calls an array that was saved without a name."""
_CATEGORY = "category_"
_FACTORS = ("factors", "factor_names")


def read_codes(
    path: Path | str,
    largest: int = LARGEST,
    *,
    latents: str | None = None,
    factors: Sequence[str] = (),
    real: Sequence[str] | None = None,
) -> tuple[Codes, Factors | None]:
    """Read codes, and factors if present, from an npz file; an npy file holds means (N, D) only.

    Arrays by name: ``means`` (or ``mu``, ``codes``, ``z``, or a single array that was saved without a name),
    optional ``logvars`` (or ``logvar``), ``factors`` (N, K), ``factor_names`` (K,), and ``category_NAME``
    (N, k) probabilities of a categorical latent. A warning names any other arrays, which are ignored.

    Args:
        path: the file.
        largest: maximum size of one array, in bytes.
        latents: name of the array of means, if it has another.
        factors: names of the arrays of labels, one (N,) per factor or a single (N, K), if they have others.
        real: names of the factors that are real-valued, as in ``as_factors``.
    """
    path = Path(path)
    arrays = read_arrays(path, largest)
    for name in (*filter(None, [latents]), *factors):
        if name not in arrays:
            raise unknown(f"array of {path.name}", name, arrays)
    if latents in factors:
        raise DistaffError(f"array {latents!r} is in both --factors and --latents: keep one of them.")
    means = _first(arrays, (latents,) if latents else (*_MEANS, UNNAMED) if len(arrays) == 1 else _MEANS)
    categories = {k.removeprefix(_CATEGORY): v for k, v in arrays.items() if k.startswith(_CATEGORY)}
    if means is None and not categories:
        found = ", ".join(arrays) or "nothing"
        raise DistaffError(
            f"{path} has no array named means (or mu, codes, z): it holds {found}; --latents names another."
        )
    if means is None:
        means = np.zeros((len(np.atleast_1d(next(iter(categories.values())))), 0))
    codes = Codes(means, _first(arrays, _LOGVARS), categories)
    known = {*_MEANS, UNNAMED, latents, *_LOGVARS, *_FACTORS, *factors}
    if unread := [name for name in arrays if name not in known and not name.startswith(_CATEGORY)]:
        listed = ", ".join(unread)
        warnings.warn(
            f"{path}: not read: {listed} (labels are read from an array named factors).", stacklevel=2
        )
    if factors:
        given = {name: arrays[name] for name in factors}
        return codes, as_factors(given[factors[0]] if _is_matrix(given) else given, real=real)
    if "factors" not in arrays:
        return codes, None
    return codes, factors_in(arrays, real)


def factors_in(arrays: Mapping[str, NDArray[Any]], real: Sequence[str] | None = None) -> Factors:
    """The factors in the arrays ``factors`` and ``factor_names`` of a file."""
    names = arrays.get("factor_names")
    named = None if names is None else [str(name) for name in names.ravel()]
    return as_factors(arrays["factors"], named, real=real)


def write_codes(path: Path | str, codes: Codes, factors: Factors | None = None) -> None:
    """Write codes and factors to an npz file that ``read_codes`` reads, atomically."""
    arrays: dict[str, NDArray[Any]] = {"means": codes.means}
    if codes.logvars is not None:
        arrays["logvars"] = codes.logvars
    arrays |= {f"{_CATEGORY}{name}": p for name, p in codes.categories.items()}
    if factors is not None:
        arrays |= {"factors": factors.values, "factor_names": np.array(factors.names)}
    with atomic_file(Path(path)) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def evaluate_file(
    path: Path | str,
    *,
    metrics: Selection = "default",
    factor_bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    out: Path | str | None = None,
    report: Callable[[str], None] | None = None,
) -> Evaluation:
    """Score the codes of an npz or npy file; ``out`` also writes all scores to a JSON file."""
    codes, factors = read_codes(path)
    evaluation = evaluate_scores(
        codes,
        factors,
        metrics=metrics,
        factor_bins=factor_bins,
        bootstrap=bootstrap,
        seed=seed,
        report=report,
    )
    if out is not None:
        write_scores(out, evaluation, Setup(seed=seed, factor_bins=factor_bins))
    return evaluation


def read_arrays(path: Path, largest: int = LARGEST) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file by name; the array of an npy file is called ``means``."""
    if not path.exists():
        raise DistaffError(f"{path} does not exist.")
    try:
        if zipfile.is_zipfile(path):
            with open_npz(path, largest) as archive:
                return {name: archive.array(name) for name in archive.names}
        return {"means": read_npy(path, largest)}
    except (DistaffError, OSError) as error:
        why = str(error).removesuffix(".")
        raise DistaffError(f"{path} is not a readable npz or npy file of plain arrays: {why}.") from error


def _is_matrix(given: dict[str, NDArray[Any]]) -> bool:
    return len(given) == 1 and next(iter(given.values())).ndim > 1


def _first(arrays: dict[str, NDArray[Any]], names: tuple[str, ...]) -> NDArray[Any] | None:
    return next((arrays[name] for name in names if name in arrays), None)
