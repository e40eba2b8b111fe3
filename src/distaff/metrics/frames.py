"""Codes and factors in frames and dicts: the names of their columns, and the order of their rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from distaff.codes import as_array, as_frame
from distaff.foundation.errors import DistaffError


def latents_of(codes: Any) -> tuple[Any, tuple[str, ...]]:
    """The codes in a frame, a dict or another table, and the names of its columns, if they are names."""
    if isinstance(codes, str | Path):
        raise DistaffError(
            f"codes must be an array, and {str(codes)!r} is a text: distaff.evaluate_run scores a run or "
            "a file."
        )
    if hasattr(codes, "obsm"):
        raise DistaffError(
            "codes must be an array, and this is an AnnData: give one of its arrays, as in "
            'distaff.evaluate(adata.obsm["X_pca"], adata.obs[["cell_type"]]).'
        )
    codes = _frame(codes) if isinstance(codes, Mapping) else as_frame(codes)
    columns = codes.columns if isinstance(codes, pd.DataFrame) else pd.RangeIndex(0)
    named = columns.is_unique and not pd.api.types.is_integer_dtype(columns)
    return codes, tuple(map(str, columns)) if named else ()


def _frame(columns: Mapping[str, ArrayLike]) -> pd.DataFrame:
    try:
        return pd.DataFrame({str(name): as_array(column) for name, column in columns.items()})
    except ValueError as problem:
        raise DistaffError(
            f"a dict of codes has a latent by each name, one number per row ({problem})."
        ) from problem


def check_order(indices: Sequence["pd.Index[Any]"], what: str) -> None:
    """Raise an error if the indices of frames hold the same rows in another order."""
    for index in indices[1:]:
        alike = len(index) == len(indices[0]) and not index.equals(indices[0])
        if alike and index.is_unique and index.isin(indices[0]).all():
            raise DistaffError(
                f"the frames of {what} have the same index in another order: sort them by it, or drop it "
                "(reset_index(drop=True)) if their rows already agree."
            )
