"""Open closed latents by turns, so that each learns one factor before the next one opens."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from distaff.models.vae import VAE
from distaff.runs.openings import Openings, Revive
from distaff.training.batches import OPENING_STREAM, Batches
from distaff.training.revival import Revival

OBSERVATIONS = 1024
"""How many observations at least tell what the open latents know."""
BINS = 10
"""Bins per open latent, with equally many observations each."""
AVOIDED = 100.0
"""Weight of the variance that open latents explain, against the variance that they do not."""
RIDGE = 0.05
"""Share of the mean unexplained variance that is added to the variance of every feature."""
TINY = 1e-12
"""The least that is added, for features that do not vary."""

Array = NDArray[np.float64]


class Opener:
    """Reinitialises closed latents at the steps that ``--revive`` says: all at once, or by turns.

    Latents that open at once share what they learn: a mixture of two factors is as good a code as the factors
    themselves, and independent latents can hold it. A latent that opens alone takes the factor that matters
    most, and must tell it in the same way whatever the values of the factors that nothing tells yet.

    The random projections of the encoder's last features from which ``Revival`` starts mostly repeat what
    open latents tell. By turns, a latent starts from features that they do not explain (``unexplained``).

    Latents whose turn has not come are shut: their weights are 0, and their posterior is N(0, 1) for all x.
    Their gradients are set to 0 as long as their weights are, so that they stay shut in a resumed run too.

    Args:
        model: VAE whose encoder ends, and whose decoder begins, with a dense layer.
        when: one step for all closed latents, or openings by turns.
    """

    def __init__(self, model: VAE, when: Revive) -> None:
        self.revival, self.when = Revival(model), when
        if isinstance(when, Openings):
            head, stem = self.revival.head, self.revival.stem
            _masked(stem.weight, self._heard)
            _masked(head.weight, lambda: self._heard_by_output()[:, None])
            _masked(head.bias, self._heard_by_output)

    def __call__(self, batches: Batches, index: int, gather: Callable[[Tensor], Tensor]) -> bool:
        """Reinitialise closed latents if step ``index`` is the time for it, and return whether it was.

        Args:
            batches: batches of the run.
            index: number of the step.
            gather: function from (B, ...) of each process to (all B, ...).
        """
        seed = (batches.seed, index)
        if not isinstance(self.when, Openings):
            if index == self.when:
                self.revival(batches(index), gather, seed)
            return index == self.when
        opening = self.when.at(index)
        if opening is not None:
            number = -(-OBSERVATIONS // batches.size)
            several = [batches(index + i, OPENING_STREAM) for i in range(number)]
            self.open(several, opening.latents, gather, seed)
        return opening is not None

    @torch.no_grad()
    def open(
        self,
        batches: Sequence[Tensor],
        latents: int | None,
        gather: Callable[[Tensor], Tensor],
        seed: tuple[int, ...],
    ) -> list[int]:
        """Open closed latents, and shut the others that are closed.

        Args:
            batches: this process's shares (B, *shape) of some batches.
            latents: how many open, the first of those that are closed; None for all.
            gather: function from (B, ...) of each process to (all B, ...).
            seed: seed of the new weights, the same on every process.

        Returns:
            The columns of z that were opened.
        """
        revival, rng = self.revival, np.random.default_rng(seed)
        revival.wake_units(batches[0], gather, rng)
        features, parameters = map(torch.cat, zip(*(revival.read(x, gather) for x in batches), strict=True))
        closed = revival.closed(parameters)
        means = parameters[:, [place.mean for place in revival.places if place not in closed]]
        opened = closed[:latents]
        loudness = revival.loudness(closed)
        projections = unexplained(_plain(features), _plain(means), len(opened), rng)
        for place, projection in zip(opened, projections, strict=True):
            revival.open(place, features, torch.from_numpy(projection).to(features), loudness, rng)
        for place in closed[len(opened) :]:
            revival.shut(place)
        return [place.column for place in opened]

    def _heard(self) -> Tensor:
        """(width,) whether the decoder listens to each column of z."""
        return (self.revival.stem.weight.detach() != 0).any(dim=0)

    def _heard_by_output(self) -> Tensor:
        """(parameters,) the same for the latent that each of the encoder's outputs describes."""
        heard = self._heard()
        outputs = torch.ones(len(self.revival.head.bias), dtype=torch.bool, device=heard.device)
        for place in self.revival.places:
            outputs[[place.mean, place.logvar]] = heard[place.column]
        return outputs


def unexplained(features: Array, means: Array, count: int, rng: np.random.Generator) -> Array:
    """Random projections of features that open latents do not explain.

    With E the features' means in ``BINS`` bins of each open latent, added up, and R the rest, a projection is

        w = (Cov R + 100 Cov E + ε I)⁻¹ Cov R r,

    for a random r ~ N(0, I): like r where R varies and E does not, and near 0 where E varies.

    Args:
        features: (N, H) features.
        means: (N, D) means of the open latents.
        count: number of projections.
        rng: draws r.

    Returns:
        (count, H) projections.
    """
    bins = [column.argsort().argsort() * BINS // len(column) for column in means.T]
    table = np.concatenate([np.ones((len(features), 1)), *(np.eye(BINS)[b][:, 1:] for b in bins)], axis=1)
    explained = table @ np.linalg.lstsq(table, features, rcond=None)[0]
    rest = features - explained
    varies, told = (np.atleast_2d(np.cov(some, rowvar=False)) for some in (rest, explained))
    avoided = varies + AVOIDED * told + (RIDGE * varies.trace() / len(varies) + TINY) * np.eye(len(varies))
    drawn = rng.standard_normal((len(varies), count))
    return np.asarray(np.linalg.solve(avoided, varies @ drawn).T)


def _masked(weight: Any, mask: Callable[[], Tensor]) -> None:
    """Set the gradients of a weight to 0 where the mask, as it is then, is False."""
    weight.register_hook(lambda gradient: gradient * mask())


def _plain(tensor: Tensor) -> Array:
    return tensor.double().cpu().numpy()
