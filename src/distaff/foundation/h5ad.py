"""AnnData files: a matrix to train on, codes from ``obsm``, labels from ``obs``, read with only h5py.

The layout follows anndata's specification: ``obs`` is a group with a dataset per column, or a group with
``categories`` and ``codes`` for a categorical column; sparse arrays are groups of ``data``, ``indices`` and
``indptr``. An ``AnnData`` in memory needs no file: ``evaluate(adata.obsm["X_pca"],
adata.obs[["cell_type"]])``. An untrusted file is first read in a separate process, within limits.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from distaff.foundation.errors import DistaffError, unknown, whole
from distaff.foundation.hdf5 import SECONDS, open_hdf5

LARGEST = 16 << 30
"""Maximum size in bytes of a matrix that is no longer sparse."""
BYTES_PER_SECOND = 20_000_000
"""Minimum reading speed, in addition to the seconds that every file may take."""
_SPARSE = {"csr_matrix": sparse.csr_matrix, "csc_matrix": sparse.csc_matrix}


def read_h5ad(
    path: Path, latents: str | None = None, columns: Sequence[str] = ()
) -> tuple[NDArray[Any], pd.DataFrame]:
    """(N, D) codes, and the columns of ``obs``, indexed by row names.

    Args:
        path: the file.
        latents: an array of ``obsm``, or ``X``; by default the only one of ``obsm``, or ``X`` if it has none.
        columns: columns of ``obs``; by default all that are not real-valued.
    """
    with _opened(path, "obs", "obsm") as file:
        frame, place = _frame(file, path, columns), _place(file, path, latents)
        if place != "X":
            return _matrix(file[place], len(frame)), frame
    with _opened(path, "X") as file:
        return _matrix(file["X"], len(frame)), frame


def read_row_names(path: Path) -> list[str]:
    """(N,) the names of the rows of ``obs``."""
    with _opened(path, "obs") as file:
        return [str(name) for name in _row_names(file)]


def read_annotated(
    path: Path, matrix: str | None = None, columns: Sequence[str] = (), absent: bool = False
) -> pd.DataFrame:
    """A matrix (N, D) of the file, with its variables as columns, followed by columns of ``obs``.

    Args:
        path: the file.
        matrix: ``X`` by default; a name in ``layers``, such as ``counts``, or in ``obsm``, such as ``X_pca``.
        columns: columns of ``obs``; names that are also variables refer to the matrix.
        absent: skip columns that do not exist, instead of raising an error.
    """
    chosen = matrix or "X"
    with _opened(path, "obs", "var", chosen, f"layers/{chosen}", f"obsm/{chosen}") as file:
        places = {"X": "X"} if "X" in file else {}
        for group in ("obsm", "layers"):
            places |= {str(name): f"{group}/{name}" for name in file.get(group, ())}
        if chosen not in places:
            raise unknown(f"matrix of {path.name}", chosen, places)
        values = _matrix(file[places[chosen]], len(_row_names(file)))
        if places[chosen].startswith("obsm/"):
            names = [f"{chosen}_{number}" for number in range(values.shape[1])]
        else:
            var = file["var"]
            names = [str(name) for name in _column(var[_index(var)])]
        there = set(_order(file["obs"])) if absent else set(columns)
        beside = [name for name in columns if name not in names and name in there]
        obs = _frame(file, path, beside) if beside else _frame(file, path, ()).iloc[:, :0]
    matrix_frame = pd.DataFrame(values, index=obs.index, columns=pd.Index(names))
    return pd.concat([matrix_frame, obs], axis=1)  # a join would multiply rows that share a name


@contextmanager
def _opened(path: Path, *names: str) -> Iterator[Any]:
    """Open the file, after everything below some names was read completely in another process."""
    if not path.is_file():
        raise DistaffError(f"{path} does not exist.")
    with whole(path, "h5ad file"):
        with open_hdf5(path, SECONDS + path.stat().st_size // BYTES_PER_SECOND) as tried:
            for name in names:
                tried.check(name)
        with h5py.File(path, "r") as file:
            yield file


def _place(file: Any, path: Path, latents: str | None) -> str:
    """The location of the codes."""
    arrays = list(file["obsm"]) if "obsm" in file else []
    if "X" in file and (latents == "X" or (latents is None and not arrays)):
        return "X"
    if latents is None:
        if len(arrays) == 1:
            return f"obsm/{arrays[0]}"
        listed = ", ".join([*arrays, *(["X"] if "X" in file else [])])
        many = f"several arrays, say which are the codes with --latents: {listed}"
        raise DistaffError(f"{path} holds {many if listed else 'no codes: neither X nor an array in obsm'}.")
    if latents not in arrays:
        raise unknown(f"array in obsm of {path.name}", latents, [*arrays, "X"])
    return f"obsm/{latents}"


def _matrix(stored: Any, rows: int) -> NDArray[Any]:
    """(rows, D) an array, a frame or a sparse matrix, as a dense matrix of numbers."""
    if isinstance(stored, h5py.Dataset):
        return _of_rows(np.asarray(stored), rows)
    kind = _text(stored.attrs["encoding-type"])
    if kind == "dataframe":
        return _of_rows(np.stack([np.asarray(stored[name]) for name in _order(stored)], axis=1), rows)
    if kind not in _SPARSE:
        raise unknown("encoding of a matrix", kind, [*_SPARSE, "dataframe"])
    parts = tuple(np.asarray(stored[name]) for name in ("data", "indices", "indptr"))
    shape = tuple(int(size) for size in np.ravel(stored.attrs["shape"]))
    if len(shape) != 2 or shape[0] != rows or rows * shape[1] * parts[0].dtype.itemsize > LARGEST:
        raise DistaffError(f"a sparse matrix claims the shape {shape}, for {rows:,} rows in obs.")
    found = _SPARSE[kind](parts, shape=shape)
    found.check_format()  # wrong indices would write out of bounds
    return np.asarray(found.toarray())


def _of_rows(array: NDArray[Any], rows: int) -> NDArray[Any]:
    if array.ndim != 2 or len(array) != rows or array.dtype.kind not in "buif":
        raise DistaffError(f"a matrix of shape {array.shape} does not hold a row of numbers per row of obs.")
    return array


def _frame(file: Any, path: Path, columns: Sequence[str]) -> pd.DataFrame:
    obs = file["obs"]
    if isinstance(obs, h5py.Dataset):
        raise DistaffError(f"{path} was written by anndata before 0.7: read and write it with a newer one.")
    known = _order(obs)
    for column in columns:
        if column not in known:
            raise unknown(f"column in obs of {path.name}", column, known)
    found = {name: _column(obs[name]) for name in (columns or known)}
    if not columns:
        found = {name: c for name, c in found.items() if not pd.api.types.is_float_dtype(c.dtype)}
    return pd.DataFrame(found).set_axis(pd.Index(_row_names(file), name="index"), axis=0)


def _row_names(file: Any) -> Any:
    obs = file["obs"]
    return _column(obs[_index(obs)])


def _order(frame: Any) -> list[str]:
    """The names of the columns of a frame."""
    return [_text(name) for name in frame.attrs["column-order"]]


def _index(frame: Any) -> str:
    """The name of the column of a frame that names its rows."""
    return _text(frame.attrs.get("_index", "_index"))


def _text(name: Any) -> str:
    """A text of an attribute; those of fixed length, as R writes them by default, are bytes."""
    return name.decode() if isinstance(name, bytes) else str(name)


def _column(stored: Any) -> Any:
    if isinstance(stored, h5py.Dataset):
        values = stored.asstr()[:] if h5py.check_string_dtype(stored.dtype) else stored[:]
        return pd.array(values) if values.dtype == object else values
    if "categories" in stored:
        return pd.Categorical.from_codes(
            np.asarray(stored["codes"]),
            categories=pd.Index(_column(stored["categories"])),
            ordered=bool(stored.attrs.get("ordered", False)),
        )
    values = _column(stored["values"])
    return pd.Series(values, dtype=object).mask(np.asarray(stored["mask"], dtype=bool)).array
