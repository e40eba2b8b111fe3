"""ModelCentrality: find the model that the others agree with most, without labels (Lin et al. 2020)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.codes import Codes
from distaff.data.images import FloatImages
from distaff.foundation.errors import DistaffError
from distaff.models.representation import Representation

IDLE = 0.05
"""A latent whose codes spread less than this fraction of the widest is left out."""


def model_centrality(
    models: Mapping[str, Representation],
    codes: Mapping[str, Codes] | None = None,
    *,
    votes: int = 200,
    batch: int = 16,
    seed: int = 0,
) -> dict[str, float]:
    """How well models read each other's latents: s_i = mean over j ≠ i of ½ (A_ij + A_ji).

    A_ij is the FactorVAE score of model j's codes when model i generates the images and its latents are the
    factors: in each vote, one latent of i is fixed and the others are drawn from its prior; the latent of j
    that varies least, relative to its spread, votes for it. Disentangled models agree with each other, others
    do not (Lin et al. 2020, "InfoGAN-CR and ModelCentrality"; for VAEs the decoder generates the images).

    Args:
        models: two or more models of one data set, with real latents, by name.
        codes: codes of the data, for models whose codes do not follow a prior, such as encoders without
            noise: their latents are drawn from these, each independently.
        votes: number of votes of each model; inactive latents are left out.
        batch: images per vote.
        seed: seed of all draws.

    Returns:
        s of each model, between 0 and 1; choose the highest.
    """
    if len(models) < 2:
        raise DistaffError("ModelCentrality compares models: give two or more.")
    names = list(models)
    agreement, known = np.zeros((len(names), len(names))), codes or {}
    for i, (name, maker) in enumerate(models.items()):
        images, held = _made(maker, votes, batch, (seed, i), known.get(name))
        for j, reader in enumerate(models.values()):
            if i != j:
                read = reader.encode(images).means.reshape(votes, batch, -1)
                agreement[i, j] = majority(read, held)
    both = (agreement + agreement.T) / 2
    return {name: float(both[i].sum() / (len(names) - 1)) for i, name in enumerate(names)}


def majority(codes: NDArray[np.floating[Any]], held: NDArray[np.int64]) -> float:
    """The FactorVAE score of votes: the fraction of votes that agree with the majority of their latent.

    Args:
        codes: (votes, batch, D) means.
        held: (votes,) the factor that was fixed.
    """
    spread = codes.reshape(-1, codes.shape[-1]).var(0)
    active = spread > IDLE**2 * spread.max()
    if not active.any() or not spread.max() > 0:
        return 0.0
    voters = (codes.var(1)[:, active] / spread[active]).argmin(1)
    table = np.zeros((int(active.sum()), int(held.max()) + 1))
    np.add.at(table, (voters, held), 1)
    return float(table.max(1).sum() / len(held))


def _made(
    maker: Representation, votes: int, batch: int, seed: tuple[int, int], codes: Codes | None = None
) -> tuple[FloatImages, NDArray[np.int64]]:
    """Images (votes · batch, …) of a model, and which of its active latents is fixed in each vote.

    The images are already in the form that models take, and must not be prepared again like a user's data.
    """
    import torch

    rng = np.random.default_rng(seed)
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        z = maker.model.draw_latents(votes * batch).cpu().numpy()[:, : maker.model.latents.width]
    real = [variable.columns.start for variable in maker.model.latents.coded if not variable.classes]
    if codes is not None:
        z[:, real] = np.stack([rng.choice(column, len(z)) for column in codes.means.T], axis=1)
    known = maker.encode(FloatImages(maker.decode(z))).means.var(0)
    active = [column for column, spread in zip(real, known, strict=True) if spread > IDLE**2 * known.max()]
    if not active:
        raise DistaffError("ModelCentrality needs models with real latents that say something.")
    held = rng.integers(0, len(active), votes)
    z = z.reshape(votes, batch, -1)
    for vote, latent in zip(z, held, strict=True):
        vote[:, active[latent]] = vote[0, active[latent]]
    return FloatImages(maker.decode(z.reshape(votes * batch, -1))), held
