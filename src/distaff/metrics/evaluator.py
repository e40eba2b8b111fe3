"""``Evaluator``: metrics for training loops, batch by batch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from distaff.codes import Codes, as_array
from distaff.errors import DistaffError
from distaff.metrics.evaluation import Evaluation, Selection, evaluate_scores, requested
from distaff.metrics.inputs import CodesLike, FactorsLike


class Evaluator:
    """Collects codes and factors of batches and computes metrics of all of them at the end.

        evaluator = Evaluator(metrics=["mig", "factor_vae_score"])
        for images, factors in loader:
            mu, logvar = encoder(images)
            evaluator.update(mu, factors, logvar=logvar)
        table = evaluator.compute()
        evaluator.reset()

    Tensors are moved to the CPU and detached as they come.
    """

    def __init__(self, metrics: Selection = "default", *, bootstrap: int = 0, seed: int = 0) -> None:
        requested(metrics, bootstrap, seed)
        self.metrics = metrics
        self.bootstrap = bootstrap
        self.seed = seed
        self._codes: list[Codes] = []
        self._factors: list[Any] = []

    def update(
        self, codes: CodesLike, factors: FactorsLike | None = None, *, logvar: ArrayLike | None = None
    ) -> None:
        """Add one batch: means and log-variances or ``Codes``, and factors of the same rows."""
        if not isinstance(codes, Codes):
            codes = Codes(as_array(codes), None if logvar is None else as_array(logvar))
        if self._codes and (factors is None) != (not self._factors):
            raise DistaffError("either all batches have factors or none has.")
        if self._codes and _kind(codes) != _kind(self._codes[0]):
            raise DistaffError("this batch has other latents than the ones before it.")
        self._codes.append(codes)
        if factors is not None:
            self._factors.append(factors)

    def scores(self) -> Evaluation:
        """The scores of all batches so far."""
        if not self._codes:
            raise DistaffError("the evaluator has seen no batch: call update(codes, factors) first.")
        factors = _joined(self._factors) if self._factors else None
        return evaluate_scores(
            _joined_codes(self._codes),
            factors,
            metrics=self.metrics,
            bootstrap=self.bootstrap,
            seed=self.seed,
        )

    def compute(self) -> pd.DataFrame:
        """The table of ``distaff.metrics.evaluate`` of all batches so far."""
        return self.scores().table()

    def reset(self) -> None:
        """Forget all batches."""
        self._codes.clear()
        self._factors.clear()


def _kind(codes: Codes) -> tuple[tuple[str, ...], bool]:
    return codes.names, codes.logvars is None


def _joined_codes(parts: list[Codes]) -> Codes:
    logvars = [part.logvars for part in parts if part.logvars is not None]
    return Codes(
        np.concatenate([part.means for part in parts]),
        np.concatenate(logvars) if logvars else None,
        {name: np.concatenate([part.categories[name] for part in parts]) for name in parts[0].categories},
    )


def _joined(parts: list[Any]) -> Any:
    """Factors of all batches in the form in which they came."""
    first = parts[0]
    if isinstance(first, pd.DataFrame | pd.Series):
        return pd.concat(parts, ignore_index=True)
    if isinstance(first, Mapping):
        return {name: np.concatenate([as_array(part[name]) for part in parts]) for name in first}
    return np.concatenate([as_array(part) for part in parts])
