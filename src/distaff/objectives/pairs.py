"""Learning from pairs: the posteriors of both members are joined in the latents that they share.

A step over pairs holds 2B observations: the B first members, then their partners in the same order. In the
latents that a pair shares, one joint posterior replaces both before anything is sampled; the terms are
unchanged. The shared latents are either found by a threshold (Locatello et al. 2020a, "Weakly-supervised
disentanglement without compromises", and methods/weak of disentanglement_lib) or known from the factors:
factor k belongs to latent k, real latents first (Bouchacourt et al. 2018; Hosoya 2019).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from distaff.foundation.errors import DistaffError
from distaff.models.groups import GaussianPosterior, GroupPosterior, Posterior
from distaff.models.latent_kinds import Point, Quantized
from distaff.models.latents import LatentSpace
from distaff.models.relaxed import BernoulliPosterior, ConcretePosterior

Join = Callable[[GroupPosterior, GroupPosterior], GroupPosterior]
"""(posteriors of B first members, of their partners) → one posterior per pair."""


def averaged(first: GroupPosterior, second: GroupPosterior) -> GroupPosterior:
    """GVAE's join: the mean of both means and of both variances; for classes, of both probabilities."""
    if isinstance(first, GaussianPosterior) and isinstance(second, GaussianPosterior):
        logvar = torch.logaddexp(first.logvar, second.logvar) - math.log(2)
        return GaussianPosterior((first.mu + second.mu) / 2, logvar)
    if isinstance(first, ConcretePosterior) and isinstance(second, ConcretePosterior):
        logits = torch.logaddexp(first.logits.log_softmax(-1), second.logits.log_softmax(-1))
        return replace(first, logits=logits)
    if isinstance(first, BernoulliPosterior) and isinstance(second, BernoulliPosterior):
        ones = torch.logaddexp(F.logsigmoid(first.logits), F.logsigmoid(second.logits))
        zeros = torch.logaddexp(F.logsigmoid(-first.logits), F.logsigmoid(-second.logits))
        return replace(first, logits=ones - zeros)
    raise _unfit(first)


def multiplied(first: GroupPosterior, second: GroupPosterior) -> GroupPosterior:
    """ML-VAE's join: ∝ √(q(z|x₁) q(z|x₂)), the product with each member counted half.

    For Gaussians 1/σ² = ½ (1/σ₁² + 1/σ₂²) and μ/σ² = ½ (μ₁/σ₁² + μ₂/σ₂²); for classes, the mean of the
    logits. Locatello et al.'s code also takes this root. The plain product of Bouchacourt et al. has half its
    variance, so that joining two equal posteriors would change them.
    """
    if isinstance(first, GaussianPosterior) and isinstance(second, GaussianPosterior):
        logvar = math.log(2) - torch.logaddexp(-first.logvar, -second.logvar)
        weight = torch.sigmoid(second.logvar - first.logvar)
        return GaussianPosterior(weight * first.mu + (1 - weight) * second.mu, logvar)
    if isinstance(first, ConcretePosterior) and isinstance(second, ConcretePosterior):
        logits = (first.logits.log_softmax(-1) + second.logits.log_softmax(-1)) / 2
        return replace(first, logits=logits)
    if isinstance(first, BernoulliPosterior) and isinstance(second, BernoulliPosterior):
        return replace(first, logits=(first.logits + second.logits) / 2)
    raise _unfit(first)


@dataclass(frozen=True)
class Sharing:
    """How the posteriors of a pair are joined.

    Args:
        join: ``averaged`` or ``multiplied``.
        known: whether shared latents are known from the factors; otherwise a threshold finds them.
    """

    join: Join
    known: bool = False

    def __call__(self, posterior: Posterior, latents: LatentSpace, same: Tensor | None = None) -> Posterior:
        """The posteriors of 2B observations, first members and partners, with shared latents joined.

        Args:
            posterior: q(z|x) of each observation on its own.
            latents: latent space of the posterior.
            same: (B, K) mask of the factors that each pair shares, if known.
        """
        first, second = _members(posterior, 0), _members(posterior, 1)
        shared = self.shared(first, second, latents, same)
        parts: dict[str, GroupPosterior] = {}
        for name, own in posterior.parts.items():
            joined = self.join(first.parts[name], second.parts[name])
            parts[name] = _for_both(joined, own, shared[:, latents.group_dims[name]])
        return Posterior(parts)

    @torch.no_grad()
    def shared(
        self, first: Posterior, second: Posterior, latents: LatentSpace, same: Tensor | None = None
    ) -> Tensor:
        """(B, D) mask of the latents that the members of each pair share, in the order of z.

        By threshold: latents with δ_d < ½ (min δ + max δ), δ_d = KL(q(z_d|x₁) ‖ q(z_d|x₂)). If known: all but
        the latents of factors that differ; latents without a factor are shared, as in the authors' code.
        """
        groups = zip(first.parts.values(), second.parts.values(), strict=True)
        distances = torch.cat([kl_between(*group) for group in groups], dim=1)
        if not self.known:
            smallest, largest = torch.aminmax(distances, dim=1, keepdim=True)
            return distances < (smallest + largest) / 2
        if same is None:
            raise LookupError("this step does not know what its pairs share")
        shared = torch.ones_like(distances, dtype=torch.bool)
        shared[:, [variable.place for variable in latents.coded[: same.shape[1]]]] = same
        return shared

    def check(self, latents: LatentSpace, factors: int) -> None:
        """Raise an error if posteriors cannot be compared, or if there are more factors than latents."""
        if any(isinstance(group, Point | Quantized) for group in latents.groups.values()):
            raise DistaffError(
                f"recipes of pairs compare posteriors, which the latents {latents} do not have: "
                "use gaussian, concrete or bernoulli ones."
            )
        if self.known and factors > latents.dims:
            raise DistaffError(
                f"each of the {factors} factors takes a latent of its own, but there are {latents.dims}: "
                f"ask for --latents {factors} or more."
            )

    def __str__(self) -> str:
        return f"over pairs, {self.join.__name__} where {'known' if self.known else 'found'} alike"


def kl_between(first: GroupPosterior, second: GroupPosterior) -> Tensor:
    """KL(q(z_d|x₁) ‖ q(z_d|x₂)) (B, dims) of two posteriors of one kind; unrelaxed for classes."""
    if isinstance(first, GaussianPosterior) and isinstance(second, GaussianPosterior):
        ratio = first.logvar - second.logvar
        shift = (first.mu - second.mu).square() * torch.exp(-second.logvar)
        return 0.5 * (ratio.exp() + shift - 1 - ratio)
    if isinstance(first, ConcretePosterior) and isinstance(second, ConcretePosterior):
        gap = first.logits.log_softmax(-1) - second.logits.log_softmax(-1)
        return (first.probabilities * gap).sum(-1, keepdim=True)
    if isinstance(first, BernoulliPosterior) and isinstance(second, BernoulliPosterior):
        gaps = [F.logsigmoid(sign * first.logits) - F.logsigmoid(sign * second.logits) for sign in (1, -1)]
        return first.probabilities * gaps[0] + (1 - first.probabilities) * gaps[1]
    raise _unfit(first)


def _members(posterior: Posterior, which: int) -> Posterior:
    return posterior.map(lambda parameter: parameter.chunk(2)[which])


def _for_both(joined: GroupPosterior, own: GroupPosterior, shared: Tensor) -> GroupPosterior:
    """Joined parameters for both members in the latents that they share, their own in the others."""
    of_pairs = iter(Posterior({"joined": joined}).parameters())
    alike = shared.repeat(2, 1)
    return own.map(lambda parameter: torch.where(alike, next(of_pairs).repeat(2, 1), parameter))


def _unfit(posterior: GroupPosterior) -> DistaffError:
    kind = type(posterior).__name__
    return DistaffError(f"recipes of pairs join gaussian, concrete and bernoulli latents, not a {kind}.")
