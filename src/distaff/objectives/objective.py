"""Terms, and objectives as weighted sums of them: ``nll + beta * kl`` reads like the paper's equation."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from distaff.foundation.errors import DistaffError, shown, told_if_it_fails
from distaff.models.vae import VAE, Output
from distaff.objectives.densities import Density, stratified
from distaff.objectives.pairs import Sharing
from distaff.objectives.schedules import Schedule, Weight
from distaff.objectives.step import Step
from distaff.objectives.usual import USUAL, Usual


class Term:
    """A named, unweighted scalar function of one ``Step``; subclasses define ``__call__``."""

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
        """The function's value; an error in a user's own function is reported in one sentence."""
        with told_if_it_fails("term", self.compute, torch.OutOfMemoryError):
            return self.compute(s)


def term(compute: Callable[[Step], Tensor]) -> FunctionTerm:
    """Turn a function of a ``Step`` into a term with the function's name."""
    made = FunctionTerm(compute.__name__, compute)
    object.__setattr__(made, "__doc__", compute.__doc__)
    return made


@dataclass(frozen=True)
class Weighted:
    """A weight, constant or scheduled, and the term it multiplies."""

    weight: Weight
    term: Term

    def __post_init__(self) -> None:
        if not isinstance(self.weight, Real | Schedule):
            raise DistaffError(
                f"the weight of {self.term.name} is {shown(self.weight)}: give a number or a schedule."
            )

    def weight_at(self, index: int) -> float:
        """The weight at step ``index``."""
        return self.weight(index) if isinstance(self.weight, Schedule) else self.weight

    def __str__(self) -> str:
        return self.term.name if self.weight == 1 else f"{self.weight} {self.term.name}"


@dataclass(frozen=True)
class Objective:
    """A weighted sum of terms, to be minimised; terms have distinct names.

    Args:
        terms: weighted terms of the sum.
        density: estimator of q(z) for the terms; HFVAE's stratified minibatch by default.
        sharing: how the posteriors of a pair are joined, for objectives that learn from pairs.
        usual: default training settings.
    """

    terms: tuple[Weighted, ...]
    density: Density = stratified
    sharing: Sharing | None = None
    usual: Usual = USUAL

    def __post_init__(self) -> None:
        names = [weighted.term.name for weighted in self.terms]
        for name in names:
            if names.count(name) > 1:
                raise DistaffError(f"the term {name!r} is in the sum twice: add its weights instead.")

    def __add__(self, other: object) -> "Objective":
        if not isinstance(other, Term | Objective):
            what = getattr(other, "__name__", shown(other))
            raise DistaffError(
                f"{what} is no term to be added to {self}: make a function of a step one by @term."
            )
        return replace(self, terms=self.terms + (1.0 * other if isinstance(other, Term) else other).terms)

    def using(self, density: Density) -> "Objective":
        """The same sum with q(z) estimated by ``density``."""
        return replace(self, density=density)

    def of_pairs(self, sharing: Sharing) -> "Objective":
        """The same sum over pairs of observations; latents that a pair shares have one posterior."""
        return replace(self, sharing=sharing)

    def usually(self, **settings: Any) -> "Objective":
        """The same sum with other default training settings, given as fields of ``Usual``."""
        return replace(self, usual=replace(self.usual, **settings))

    def output(self, model: VAE, x: Tensor, same: Tensor | None = None) -> Output:
        """Pass a batch through the model, joining the posteriors of pairs if the objective learns from pairs.

        Args:
            model: the VAE.
            x: (B, *shape) observations; for pairs, B/2 first members followed by their partners.
            same: (B/2, K) mask of the factors that each pair shares, if known.
        """
        posterior = model.encode(x)
        if self.sharing is not None:
            posterior = self.sharing(posterior, model.latents, same)
        return model.output(x, posterior, posterior.rsample())

    def __call__(self, s: Step) -> dict[str, Tensor]:
        """``loss``, then each term's unweighted value.

        A term of weight 0 is logged but excluded from the loss. It is computed without gradient, and after
        the others: a step caches what it computes, and a cached value without gradient would reach them.
        """
        weights = {weighted.term.name: weighted.weight_at(s.index) for weighted in self.terms}
        values: dict[str, Tensor] = {}
        for weighted in sorted(self.terms, key=lambda w: weights[w.term.name] == 0):
            pulls = weights[weighted.term.name] != 0
            with torch.set_grad_enabled(torch.is_grad_enabled() and pulls):
                values[weighted.term.name] = _scalar(weighted.term.name, weighted.term(s))
        shares = [values[n] if w == 1 else w * values[n] for n, w in weights.items() if w != 0]
        if not shares:
            raise DistaffError("every weight of the objective is 0: there is nothing to minimise.")
        loss = sum(shares[1:], start=shares[0])
        return {"loss": loss, **{name: values[name] for name in weights}}

    def takes_part(self, name: str, index: int) -> bool:
        """Whether a value logged at step ``index`` is part of the loss; terms of weight 0 are only logged."""
        terms = {weighted.term.name: weighted for weighted in self.terms}
        return name not in terms or terms[name].weight_at(index) != 0

    def __str__(self) -> str:
        terms = " + ".join(map(str, self.terms)).replace("+ -", "− ")
        return terms if self.sharing is None else f"{terms} {self.sharing}"


def _scalar(name: str, value: Any) -> Tensor:
    """A term's value, checked to be a single number."""
    if not isinstance(value, Tensor):
        raise DistaffError(f"the term {name!r} gives a {type(value).__name__}: return a tensor.")
    if value.numel() != 1:
        raise DistaffError(
            f"the term {name!r} gives numbers of shape {tuple(value.shape)}: a term is one number, a sum "
            "over latents and a mean over the batch, as .sum(-1).mean() gives."
        )
    return value
