"""Default training settings of a recipe."""

from dataclasses import dataclass

from distaff.models.groups import Gaussian
from distaff.models.latent_kinds import Quantized, Uniform


@dataclass(frozen=True)
class Usual:
    """Training settings of an objective's paper, and its kind of latents; a run's own settings override them.

    Args:
        learning_rate: the optimiser's step size.
        betas: decay rates of Adam and similar optimisers.
        optimizer: name in ``torch.optim``, in lower case.
        weight_decay: the optimiser's weight decay.
        latents: kind of latents if only their number is given.
    """

    learning_rate: float = 1e-4
    betas: tuple[float, float] = (0.9, 0.999)
    optimizer: str = "adam"
    weight_decay: float = 0.0
    latents: type[Gaussian | Quantized | Uniform] = Gaussian


USUAL = Usual()
"""Default training settings of most objectives."""
