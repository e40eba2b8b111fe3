"""Terms, and objectives as weighted sums of them: ``nll + beta * kl`` reads like the paper's equation."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from distaff.errors import DistaffError
from distaff.objectives.schedules import Weight, weight_at
from distaff.objectives.step import Step


class Term:
    """A named, unweighted scalar of one ``Step``; anything with ``name`` and ``__call__`` below it."""

    name: str

    def __call__(self, s: Step) -> Tensor:
        """The term's value, a scalar."""
        raise TypeError(f"the term {self.name!r} does not say how it is computed")

    def __rmul__(self, weight: Weight) -> "Objective":
        return Objective((Weighted(weight, self),))

    def __add__(self, other: "Term | Objective") -> "Objective":
        return 1.0 * self + other


@dataclass(frozen=True)
class FunctionTerm(Term):
    """A term that is a plain function of the step."""

    name: str
    compute: Callable[[Step], Tensor]

    def __call__(self, s: Step) -> Tensor:
        """The function's value."""
        return self.compute(s)


def term(compute: Callable[[Step], Tensor]) -> FunctionTerm:
    """Make a function of a ``Step`` a term that carries the function's name."""
    made = FunctionTerm(compute.__name__, compute)
    object.__setattr__(made, "__doc__", compute.__doc__)
    return made


@dataclass(frozen=True)
class Weighted:
    """A weight, constant or scheduled, and the term it multiplies."""

    weight: Weight
    term: Term

    def __str__(self) -> str:
        return self.term.name if self.weight == 1 else f"{self.weight} {self.term.name}"


@dataclass(frozen=True)
class Objective:
    """A weighted sum of terms, minimised; terms have distinct names."""

    terms: tuple[Weighted, ...]

    def __post_init__(self) -> None:
        names = [weighted.term.name for weighted in self.terms]
        for name in names:
            if names.count(name) > 1:
                raise DistaffError(f"the term {name!r} is in the sum twice: add its weights instead.")

    def __add__(self, other: "Term | Objective") -> "Objective":
        return Objective(self.terms + (1.0 * other if isinstance(other, Term) else other).terms)

    def __call__(self, s: Step) -> dict[str, Tensor]:
        """``loss``, then each term's own unweighted value.

        A term of weight 0 is computed without gradient: it is shown and pulls at nothing.
        """
        values: dict[str, Tensor] = {}
        loss: Tensor | None = None
        for weighted in self.terms:
            weight = weight_at(weighted.weight, s.index)
            with torch.set_grad_enabled(torch.is_grad_enabled() and weight != 0):
                value = weighted.term(s)
            values[weighted.term.name] = value
            if weight != 0:
                share = value if weight == 1 else weight * value
                loss = share if loss is None else loss + share
        if loss is None:
            raise DistaffError("every weight of the objective is 0: there is nothing to minimise.")
        return {"loss": loss, **values}

    def __str__(self) -> str:
        return " + ".join(map(str, self.terms))
