"""The terms that objectives share: unweighted, summed over pixels and latents, averaged over the batch."""

from torch import Tensor

from distaff.objectives.objective import term
from distaff.objectives.step import Step


@term
def nll(s: Step) -> Tensor:
    """−E log p(x|z), the reconstruction error."""
    return -s.log_px_z.mean()


@term
def kl(s: Step) -> Tensor:
    """E KL(q(z|x) ‖ p(z)), in closed form where one exists."""
    return s.kl.mean()
