"""Conversions between posteriors, ``Codes`` (plain arrays that need no model) and z."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from distaff.codes import Codes, FloatArray
from distaff.foundation.errors import DistaffError
from distaff.models.latents import LatentSpace
from distaff.models.posteriors import GaussianPosterior, Posterior
from distaff.models.quantized import QuantizedPosterior
from distaff.models.relaxed import BernoulliPosterior, ConcretePosterior

CATEGORY = "category/"


def code_tensors(posterior: Posterior) -> dict[str, Tensor]:
    """``means`` and ``logvars`` (B, D) of the real groups, ``category/NAME`` (B, k) of discrete variables."""
    parts = posterior.parts
    real = [
        _real(part) for part in parts.values() if isinstance(part, GaussianPosterior | QuantizedPosterior)
    ]
    nothing = next(iter(parts.values())).mode()[:, :0]
    tensors = {
        "means": torch.cat([nothing, *(mu for mu, _ in real)], 1),
        "logvars": torch.cat([nothing, *(logvar for _, logvar in real)], 1),
    }
    for name, part in parts.items():
        if isinstance(part, ConcretePosterior):
            tensors[CATEGORY + name] = part.probabilities
        elif isinstance(part, BernoulliPosterior):
            for d, one in enumerate(part.probabilities.unbind(1)):
                tensors[f"{CATEGORY}{name}{d}"] = torch.stack([1 - one, one], 1)
    return tensors


def _real(part: GaussianPosterior | QuantizedPosterior) -> tuple[Tensor, Tensor]:
    """Means and log-variances (B, D); quantised latents are at their values, without noise."""
    if isinstance(part, GaussianPosterior):
        return part.mu, part.logvar
    return part.mode(), torch.full_like(part.mode(), -torch.inf)


def joined(
    blocks: Iterable[Mapping[str, FloatArray]], count: int, progress: Callable[[int], None] | None = None
) -> dict[str, FloatArray]:
    """Arrays of ``count`` rows from blocks of rows, each copied into its place as it arrives.

    If the blocks' small arrays were kept until the end, they would lie between the large ones that a network
    frees at every block, and the heap would grow by one such hole per block.
    """
    whole: dict[str, FloatArray] = {}
    done = 0
    for block in blocks:
        for name, values in block.items():
            if name not in whole:
                whole[name] = np.empty((count, *values.shape[1:]), values.dtype)
            whole[name][done : done + len(values)] = values
        done += len(values)
        if progress is not None:
            progress(done)
    return whole


def codes_from(arrays: Mapping[str, FloatArray]) -> Codes:
    """``Codes`` from arrays named as in ``code_tensors``."""
    categories = {n.removeprefix(CATEGORY): a for n, a in arrays.items() if n.startswith(CATEGORY)}
    return Codes(arrays["means"], arrays["logvars"], categories)


def to_z(codes: Codes, latents: LatentSpace) -> NDArray[np.float32]:
    """z (N, width) of codes: the means, and the most likely class of each discrete variable."""
    real = [variable for variable in latents.coded if not variable.classes]
    discrete = {variable.name: variable for variable in latents.coded if variable.classes}
    if len(real) != codes.means.shape[1] or discrete.keys() != codes.categories.keys():
        raise DistaffError(
            f"codes of the latents {', '.join(codes.names)} do not fit a model with the latents {latents}."
        )
    z = np.zeros((len(codes), latents.width), np.float32)
    for variable, means in zip(real, codes.means.T, strict=True):
        z[:, variable.columns] = means[:, None]
    for name, variable in discrete.items():
        z[:, variable.columns] = variable.corners[codes.categories[name].argmax(1)]
    return z
