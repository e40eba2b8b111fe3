"""How a recipe is usually trained: what a run has where nothing else is asked for."""

from dataclasses import dataclass

from distaff.models.latents import Gaussian, Quantized, Uniform


@dataclass(frozen=True)
class Usual:
    """The settings that a paper trains its objective with, and the kind of its latents.

    Args:
        learning_rate: the optimiser's step size.
        betas: decay rates of Adam and its kin.
        optimizer: by its name in ``torch.optim``, in small letters.
        weight_decay: the optimiser's own.
        latents: the kind that a plain number of latents means.
    """

    learning_rate: float = 1e-4
    betas: tuple[float, float] = (0.9, 0.999)
    optimizer: str = "adam"
    weight_decay: float = 0.0
    latents: type[Gaussian | Quantized | Uniform] = Gaussian


USUAL = Usual()
"""What most objectives are trained with."""
