"""p(x|z) for the rows of a table: each column has its own likelihood, and missing values are left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from distaff.foundation.errors import DistaffError
from distaff.mixtures.pairs import LOG_2PI
from distaff.models.by_name import split_call


class Front(nn.Module):
    """The encoder's input for rows: log(1 + x) of counts, 0 for missing values, and a mask of those.

    Args:
        real: number of columns of real numbers, which are not changed.
        counts: number of columns of counts, which follow them; None for all that follow.
        missing: whether values may be missing; if so, a mask is appended, 1 for each missing value.
    """

    def __init__(self, real: int = 0, counts: int | None = None, missing: bool = False) -> None:
        super().__init__()
        self.counted = slice(real, None if counts is None else real + counts)
        self.missing = missing

    def forward(self, x: Tensor) -> Tensor:
        """x (B, D) → (B, D), or (B, 2 D) with ``missing``."""
        gone = torch.isnan(x)
        seen = torch.where(gone, 0, x) if self.missing else x.clone()
        seen[:, self.counted] = torch.log1p(seen[:, self.counted])
        return torch.cat([seen, gone.to(seen.dtype)], dim=1) if self.missing else seen


@dataclass(frozen=True)
class ColumnLikelihood:
    """The layout of a row: real columns, then counts, then the classes of each categorical column.

    Real columns are N(mean, 1), counts negative binomial or Poisson; categorical columns have a probability
    for each class.

    Args:
        counted: likelihood of counts.
        real: number of columns of real numbers.
        counts: number of columns of counts.
        classes: number of classes of each categorical column.
        missing: whether values may be missing (NaN); they add nothing to log p(x|z).
    """

    WORD: ClassVar[str] = "by_column:"

    counted: Any
    real: int = 0
    counts: int = 0
    classes: tuple[int, ...] = ()
    missing: bool = False

    @classmethod
    def parse(cls, text: str, counted: Mapping[str, Any]) -> "ColumnLikelihood":
        """Read a layout such as ``by_column:real=3,counts=2,classes=2+4,missing=true``.

        Args:
            text: the text; with ``counted=poisson``, counts have a Poisson likelihood.
            counted: likelihoods of counts by name, the default last.
        """
        _, given = split_call(text)
        name = given.pop("counted", list(counted)[-1])
        sizes = str(given.pop("classes", "")).split("+")
        try:
            classes = tuple(int(size) for size in sizes if size)
            layout = cls(counted[name], int(given.pop("real", 0)), int(given.pop("counts", 0)), classes)
        except (KeyError, ValueError) as problem:
            raise DistaffError(f"the likelihood {text!r} cannot be read: {problem}.") from problem
        missing = given.pop("missing", False)
        if given or layout.width < 1 or not isinstance(missing, bool):
            raise DistaffError(
                f"the likelihood {text!r} is invalid: "
                "write by_column:real=3,counts=2,classes=2+4,missing=true."
            )
        return cls(layout.counted, layout.real, layout.counts, classes, missing)

    @property
    def width(self) -> int:
        """Number of values in a row."""
        return self.real + self.counts + sum(self.classes)

    @property
    def front(self) -> Front:
        """The layer before the encoder."""
        return Front(self.real, self.counts, self.missing)

    def inputs(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the encoder's input."""
        return (2 * shape[0],) if self.missing else shape

    def outputs(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the decoder's output."""
        if shape != (self.width,):
            raise DistaffError(f"a likelihood of {self.width} columns does not fit rows of shape {shape}.")
        return (self.real + self.counted.numbers * self.counts + sum(self.classes),)

    def read(self, outputs: Tensor) -> "Columns":
        """The distribution parametrised by decoder outputs (B, numbers)."""
        sizes = [self.real, self.counted.numbers * self.counts, *self.classes]
        real, counts, *classes = torch.split(outputs, sizes, dim=1)
        return Columns(real, self.counted.read(counts), tuple(classes), self.missing)


@dataclass(frozen=True)
class Columns:
    """Independent columns: N(real, 1), counts, and classes given by logits."""

    real: Tensor
    counts: Any
    classes: tuple[Tensor, ...]
    missing: bool

    def log_prob(self, x: Tensor) -> Tensor:
        """log p(x|z) (B,), summed over the values that are not missing (NaN)."""
        gone = torch.isnan(x)
        seen = torch.where(gone, 0, x) if self.missing else x
        widths = [
            self.real.shape[1],
            self.counts.mean.shape[1],
            *(logits.shape[1] for logits in self.classes),
        ]
        real, counts, *one_hots = torch.split(seen, widths, dim=1)
        parts = [-0.5 * (LOG_2PI + (real - self.real) ** 2), self.counts.log_probs(counts)]
        # The one-hot columns of a missing class are all 0, and so add nothing.
        parts += [
            one_hot * torch.log_softmax(logits, dim=1)
            for one_hot, logits in zip(one_hots, self.classes, strict=True)
        ]
        terms = torch.cat(parts, dim=1)
        return (torch.where(gone, 0, terms) if self.missing else terms).sum(1)

    @property
    def mean(self) -> Tensor:
        """E[x|z]: means, expected counts, and the probabilities of classes."""
        return torch.cat(
            [self.real, self.counts.mean, *(torch.softmax(c, dim=1) for c in self.classes)], dim=1
        )
