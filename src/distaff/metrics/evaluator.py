"""``Evaluator``: metrics for training loops, batch by batch."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.evaluation import Evaluation, Selection, evaluate_scores, requested
from distaff.metrics.factor_columns import join_columns, split_columns
from distaff.metrics.inputs import CodesLike, Factors, FactorsLike, check_index, codes_of


class Evaluator:
    """Collects codes and factors batch by batch, and computes metrics of all of them at the end.

        evaluator = Evaluator(metrics=["mig", "factor_vae_score"])
        for images, factors in loader:
            mu, logvar = encoder(images)
            evaluator.update(mu, factors, logvar=logvar)
        table = evaluator.compute()
        evaluator.reset()

    Batches are copied to the CPU, so a loop can reuse its buffers. The arguments are those of
    ``distaff.metrics.evaluate``.
    """

    def __init__(
        self,
        metrics: Selection = "default",
        *,
        factor_bins: int | None = None,
        bootstrap: int = 0,
        seed: int = 0,
    ) -> None:
        requested(metrics, factor_bins, bootstrap, seed)
        self.metrics = metrics
        self.factor_bins = factor_bins
        self.bootstrap = bootstrap
        self.seed = seed
        self.reset()

    def update(
        self, codes: CodesLike, factors: FactorsLike | None = None, *, logvar: ArrayLike | None = None
    ) -> None:
        """Add one batch: means and log-variances or ``Codes``, and factors of the same rows."""
        if factors is not None:
            check_index(codes, factors)
        codes = _copied(codes_of(codes, logvar))
        columns = {} if factors is None else _columns(factors, len(codes))
        if self._codes and bool(columns) != bool(self._columns[0]):
            raise DistaffError("give factors with all batches or with none.")
        if self._codes and _kind(codes) != _kind(self._codes[0]):
            raise DistaffError("this batch has other latents than the ones before it.")
        if self._codes and list(columns) != list(self._columns[0]):
            raise DistaffError(
                f"this batch has factors {', '.join(columns)}, the ones before it "
                f"{', '.join(self._columns[0])}: they must be the same in all."
            )
        self._codes.append(codes)
        self._columns.append(columns)

    def scores(self) -> Evaluation:
        """The scores of all batches so far."""
        if not self._codes:
            raise DistaffError("the evaluator has seen no batch: call update(codes, factors) first.")
        joined = {name: join_columns([part[name] for part in self._columns]) for name in self._columns[0]}
        return evaluate_scores(
            _joined(self._codes),
            joined or None,
            metrics=self.metrics,
            factor_bins=self.factor_bins,
            bootstrap=self.bootstrap,
            seed=self.seed,
        )

    def compute(self) -> pd.DataFrame:
        """The table of ``distaff.metrics.evaluate`` for all batches so far."""
        return self.scores().table()

    def reset(self) -> None:
        """Forget all batches."""
        self._codes: list[Codes] = []
        self._columns: list[dict[str, pd.Series[Any]]] = []


def _columns(factors: FactorsLike, rows: int) -> "dict[str, pd.Series[Any]]":
    if isinstance(factors, Factors):
        raise DistaffError(
            "give a batch's factors unconverted (an array, frame or dict of columns): Factors number their "
            "classes without knowing the other batches."
        )
    columns, names = split_columns(factors)
    if not columns or len(set(names)) < len(names):
        raise DistaffError(f"factor names must differ, and these are {', '.join(names) or 'none'}.")
    if len(columns[0]) != rows:
        raise DistaffError(
            f"{rows} rows of codes but {len(columns[0])} of factors: both must describe the same rows."
        )
    return {name: column.copy(deep=True) for name, column in zip(names, columns, strict=True)}


def _kind(codes: Codes) -> tuple[tuple[str, ...], tuple[int, ...], bool]:
    return codes.names, tuple(p.shape[1] for p in codes.categories.values()), codes.logvars is None


def _copied(codes: Codes) -> Codes:
    return Codes(
        codes.means.copy(),
        None if codes.logvars is None else codes.logvars.copy(),
        {name: p.copy() for name, p in codes.categories.items()},
        codes.latents,
    )


def _joined(parts: list[Codes]) -> Codes:
    logvars = [part.logvars for part in parts if part.logvars is not None]
    return Codes(
        np.concatenate([part.means for part in parts]),
        np.concatenate(logvars) if logvars else None,
        {name: np.concatenate([part.categories[name] for part in parts]) for name in parts[0].categories},
        parts[0].latents,
    )
