"""Terms for few labels: latent k is pulled towards factor k on the observations whose label is known.

Locatello et al. 2020b, "Disentangling factors of variation using few labels", and methods/semi_supervised of
disentanglement_lib. There, classes are scaled by 1/size; here, so that the last class is 1.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from distaff.foundation.errors import DistaffError
from distaff.models.latents import code_tensors
from distaff.objectives.objective import term
from distaff.objectives.step import Step


@term
def label_loss(s: Step) -> Tensor:
    """E Σ_k [−y_k log σ(μ_k) − (1 − y_k) log(1 − σ(μ_k))] over known labels y, factors scaled to 0–1.

    μ_k is the mean of latent k, real latents first; E is over the rows of a batch of labelled observations
    (Locatello et al. 2020b, "xent"; their code sums over the rows instead).
    """
    return _of_known(s, lambda mu, y: F.binary_cross_entropy_with_logits(mu, y, reduction="none"))


@term
def label_distance(s: Step) -> Tensor:
    """E Σ_k (σ(μ_k) − y_k)² over known labels y, as in ``label_loss`` (Locatello et al. 2020b, "l2")."""
    return _of_known(s, lambda mu, y: (mu.sigmoid() - y).square())


LOSSES = {"bce": label_loss, "l2": label_distance}
"""The values of ``--label-loss`` and their terms."""


def _of_known(s: Step, loss: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    batch = s.labelled()
    means = code_tensors(s.model.encode(batch.x))["means"][:, : batch.y.shape[1]]
    known = ~batch.y.isnan()
    return torch.where(known, loss(means, batch.y.nan_to_num().to(means.dtype)), 0.0).sum(-1).mean()


def check_labels(factors: int, latents: int) -> None:
    """Raise an error if there are more factors than real latents."""
    if factors > latents:
        raise DistaffError(
            f"labels of {factors} factors need a real latent each, but there are {latents}: "
            f"ask for --latents {factors} or more."
        )
