"""The terms that objectives share: unweighted, summed over pixels and latents, averaged over the batch.

The objective's density (``Objective.using``) estimates q(z), q(z_g) and q(z_d).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from distaff.foundation.errors import DistaffError
from distaff.models.groups import Real
from distaff.models.latents import CATEGORY, code_tensors
from distaff.models.quantized import QuantizedPosterior
from distaff.objectives.objective import Term, term
from distaff.objectives.schedules import Weight, weight_at
from distaff.objectives.step import Step


@term
def nll(s: Step) -> Tensor:
    """−E log p(x|z), the reconstruction error."""
    return -s.log_px_z.mean()


@term
def kl(s: Step) -> Tensor:
    """E KL(q(z|x) ‖ p(z)), in closed form if there is one."""
    return s.kl.mean()


@term
def sampled_kl(s: Step) -> Tensor:
    """E KL(q(z|x) ‖ p(z)) = E [log q(z|x) − log p(z)] at the samples, for any prior."""
    return (s.log_qz_x - s.log_pz).mean()


@term
def real_kl(s: Step) -> Tensor:
    """E KL(q(z_g|x) ‖ p(z_g)), summed over the groups of real variables."""
    return s.kl_groups[:, _real(s)].sum(-1).mean()


@term
def discrete_kl(s: Step) -> Tensor:
    """E KL(q(z_g|x) ‖ p(z_g)) of relaxed densities, summed over the groups of discrete variables."""
    return s.kl_groups[:, ~_real(s)].sum(-1).mean()


@term
def class_balance(s: Step) -> Tensor:
    """Σ_c log k_c − H(q(c)) over discrete variables c of k_c classes: 0 if all occur equally often.

    q(c) is the mean of the class probabilities over the batch of all processes.
    """
    coded = code_tensors(s.output.posterior)
    shares = [s.processes.gather(p).mean(0) for name, p in coded.items() if name.startswith(CATEGORY)]
    unused = [torch.xlogy(share, share * len(share)).sum() for share in shares]
    return torch.stack([s.z.new_zeros(()), *unused]).sum()


@term
def mutual_information(s: Step) -> Tensor:
    """I(x; z) = E [log q(z|x) − log q(z)] (HFVAE Fig. 2, ②)."""
    return (s.log_qz_x - s.log_qz).mean()


@term
def marginal_kl(s: Step) -> Tensor:
    """KL(q(z) ‖ p(z)) = E [log q(z) − log p(z)] (HFVAE Fig. 2, ④)."""
    return (s.log_qz - s.log_pz).mean()


@term
def total_correlation(s: Step) -> Tensor:
    """TC = KL(q(z) ‖ ∏_d q(z_d)) (HFVAE Eq. 8) of a training step, by the objective's density.

    ``density_ratio_tc`` estimates it with a critic; ``metrics.total_correlation`` measures it for codes.
    """
    return (s.log_qz - s.log_qz_dims.sum(-1)).mean()


@term
def dimension_kl(s: Step) -> Tensor:
    """Σ_d KL(q(z_d) ‖ p(z_d)) (HFVAE Fig. 4, the per-dimension KL)."""
    return (s.log_qz_dims - s.log_pz_dims).sum(-1).mean()


@term
def tc_between_groups(s: Step) -> Tensor:
    """E [log q(z) − Σ_g log q(z_g)], less the prior's E [log p(z) − Σ_g log p(z_g)] (HFVAE Fig. 4, Ⓐ)."""
    ours = s.log_qz - s.log_qz_groups.sum(-1)
    return (ours - s.log_pz + s.log_pz_groups.sum(-1)).mean()


@term
def tc_within_groups(s: Step) -> Tensor:
    """E Σ_g [log q(z_g) − Σ_d∈g log q(z_d)], less the same quantity of the prior (HFVAE Fig. 4, ⓘ)."""
    ours = s.log_qz_groups.sum(-1) - s.log_qz_dims.sum(-1)
    return (ours - s.log_pz_groups.sum(-1) + s.log_pz_dims.sum(-1)).mean()


@dataclass(frozen=True)
class CapacityGap(Term):
    """|E KL(q(z|x) ‖ p(z)) − C(t)| (Burgess et al. 2018, Eq. 8), E being over the batch of all processes."""

    capacity: Weight
    name: str = "capacity_gap"

    def __call__(self, s: Step) -> Tensor:
        """The distance from the capacity at this step, in nats."""
        return (s.processes.gather(s.kl).mean() - weight_at(self.capacity, s.index)).abs()


@dataclass(frozen=True)
class AnchoredInformation(Term):
    """I(x; z_a) of some latents a jointly (HFVAE Table 1, ②ᵃ), given by name or number in ``Codes.names``."""

    anchors: Sequence[int | str]
    name: str = "anchored_information"

    def __call__(self, s: Step) -> Tensor:
        """E [log q(z_a|x) − log q(z_a)]."""
        latents = s.model.latents
        if not self.anchors:
            raise DistaffError("anchors must name at least one latent.")
        places = sorted({latents.coded[latents.number(anchor)].place for anchor in self.anchors})
        return (s.log_qz_x_dims[:, places].sum(-1) - s.log_qz_of(places)).mean()


def _real(s: Step) -> Tensor:
    """(G,) mask of the groups of real variables."""
    groups = s.model.latents.groups.values()
    return torch.tensor([isinstance(group, Real) for group in groups], device=s.z.device)


@term
def quantization(s: Step) -> Tensor:
    """E Σ_d (sg[c_d] − q_d)²: the codebook's values q_d move towards the encoder's outputs c_d."""
    return _squares(s, lambda part: part.continuous.detach() - part.quantized)


@term
def commitment(s: Step) -> Tensor:
    """E Σ_d (c_d − sg[q_d])²: the encoder's outputs c_d stay close to the codebook's values q_d."""
    return _squares(s, lambda part: part.continuous - part.quantized.detach())


def _squares(s: Step, difference: Callable[[QuantizedPosterior], Tensor]) -> Tensor:
    parts = [p for p in s.output.posterior.parts.values() if isinstance(p, QuantizedPosterior)]
    return sum((difference(part).square().sum(-1).mean() for part in parts), start=s.z.new_zeros(()))
