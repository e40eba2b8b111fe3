"""Real-valued factors in bins, for metrics that need classes."""

from dataclasses import replace
from typing import Literal

from distaff.metrics.factor_columns import binned, numbered
from distaff.metrics.inputs import Factors, FactorsLike, as_factors, assemble, listed
from distaff.metrics.options import BinCount, check


def quantize_factors(
    factors: FactorsLike, bins: int = 20, *, method: Literal["uniform", "quantile"] = "uniform"
) -> Factors:
    """Bin real-valued factors into ``bins`` classes, of equal width or of equal counts (``quantile``)."""
    check("bins", bins, BinCount)
    check("method", method, Literal["uniform", "quantile"])
    factors = as_factors(factors)
    columns = [
        binned(value, bins, method) if size == 0 else numbered(value, index)
        for value, index, size in zip(factors.values.T, factors.indices.T, factors.sizes, strict=True)
    ]
    real = [name for name, size in zip(factors.names, factors.sizes, strict=True) if size == 0]
    note = (f"{listed(real)} binned into {bins} classes ({method})",) if real else ()
    return replace(assemble(columns, factors.names, factors.notes + note), nominal=factors.nominal)
