"""Figures of what a model has learnt: its traversals from a typical observation."""

from collections.abc import Iterable, Mapping

import numpy as np
from matplotlib.figure import Figure

from distaff import figures
from distaff.codes import Codes, FloatArray
from distaff.data.dataset import Dataset
from distaff.data.images import FloatImages
from distaff.data.splits import some_rows
from distaff.foundation.errors import DistaffError
from distaff.models.representation import Representation


def traversals(
    model: Representation,
    data: Dataset,
    kl: FloatArray | None,
    index: int | None = None,
    top: int | None = None,
    names: Mapping[str, str] | None = None,
) -> Figure:
    """One row per latent, sorted by KL if given, with some originals and reconstructions on top.

    The rows start from the observation ``index``, by default the most central one. ``names`` are users' names
    for latents. A discrete latent's row shows its classes; the rest of the row stays white.
    """
    if len(data.shape) != 3:
        kind = "vectors" if len(data.shape) == 1 else "signals"
        raise DistaffError(
            f"traversals are drawn of images, and {data.name} holds {kind}: distaff explore shows theirs."
        )
    start = data.subset([len(data) // 2 if index is None else index])
    space = model.model.latents
    variables = space.coded
    steps = max(9, *(variable.classes for variable in variables))
    values = np.linspace(-space.reach, space.reach, steps).tolist()
    some = random_images(data, len(values))
    titles = titled((variable.name for variable in variables), names or {})
    kinds = [f"{t} ({v.classes} classes)" if v.classes else t for t, v in zip(titles, variables, strict=True)]
    if kl is not None:
        kinds = [f"{kind} · KL {value:.2f}" for kind, value in zip(kinds, kl, strict=True)]
    return figures.traversals(
        drawable(model.traverse(start, values=values)),
        kinds,
        values,
        above=(some, drawable(model.reconstruct(FloatImages(some)))),
        sort_by=kl,
        top=top,
    )


def titled(latents: Iterable[str], names: Mapping[str, str]) -> list[str]:
    """The latents followed by users' names for them: ``z0``, ``z1 x position``."""
    return [f"{latent} {names[latent]}" if latent in names else latent for latent in latents]


def random_images(data: Dataset, count: int) -> FloatArray:
    """(count, *shape) random observations, always the same; evenly spaced rows of a grid would look alike."""
    return data.images[np.resize(some_rows(len(data), count), count)].numpy()


def drawable(images: FloatArray) -> FloatArray:
    """Images cut to [0, 1], which means of a Gaussian likelihood may leave; NaN becomes white."""
    return np.nan_to_num(images, nan=1.0).clip(0, 1)


def typical(codes: Codes) -> int:
    """The row whose means are nearest to the mean of all rows, in units of each latent's standard deviation.

    >>> typical(Codes(np.array([[-9.0], [0.5], [9.0]])))
    1
    """
    means = codes.means.astype(np.float64)
    spread = means.std(0)
    varied = spread > 0
    if not varied.any():
        return len(codes) // 2
    distances = (means[:, varied] - means[:, varied].mean(0)) / spread[varied]
    return int(np.square(distances).sum(1).argmin())
