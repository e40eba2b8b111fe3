"""Terms of quantised auto-encoders, which pull codebook and encoder towards each other."""

from collections.abc import Callable

from torch import Tensor

from distaff.models.quantized import QuantizedPosterior
from distaff.objectives.objective import term
from distaff.objectives.step import Step


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
