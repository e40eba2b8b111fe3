"""Latent traversals of a run as a picture."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from distaff import figures
from distaff.analysis.encoding import any_codes, encode
from distaff.codes import FloatArray
from distaff.data.dataset import Dataset
from distaff.data.splits import some_rows
from distaff.foundation.errors import DistaffError
from distaff.models.representation import Representation
from distaff.runs.folder import read_names, titled
from distaff.runs.load import load, open_data
from distaff.runs.settings import AtLeastOne, FromZero
from distaff.runs.zoo import examples_of, run_folder


def traverse_run(
    run: str | Path,
    *,
    out: str | Path | None = None,
    index: FromZero | None = None,
    latents: AtLeastOne | None = None,
) -> Path:
    """Draw a run's latent traversals; those of a VAE by their KL, most informative first.

    Args:
        run: the run folder, or zoo:NAME.
        out: the picture, .png, .pdf or .svg; by default figures/traversals.png in the run folder.
        index: the observation to start from, of the zoo's models one of their examples; by default a typical
            one, whose code is near the mean of all.
        latents: how many rows, at most; by default all.
    """
    folder = run_folder(run)
    examples = examples_of(folder)
    data = open_data(folder) if examples is None else examples
    if index is not None and not 0 <= index < len(data):
        raise DistaffError(
            f"there is no observation {index} of {data.name}: --index runs from 0 to {len(data) - 1}."
        )
    model = load(folder.path)
    path = Path(out) if out is not None else folder.figures / "traversals.png"
    encoded = any_codes(folder, data) if examples is None else encode(model, examples, progress=False)
    start = encoded.typical if index is None else index
    figure = traversals(model, data, encoded.kl_per_latent, start, latents, read_names(folder))
    return figures.save(figure, path)


def traversals(
    model: Representation,
    data: Dataset,
    kl: FloatArray | None,
    index: int | None = None,
    top: int | None = None,
    names: Mapping[str, str] | None = None,
) -> Figure:
    """One row per latent, sorted by KL if there is one, with some originals and reconstructions on top.

    The rows start from the observation ``index``, by default the one in the middle. ``names`` are those that
    people gave to latents. A discrete latent's row shows its classes, and
    what is left of it stays white.
    """
    if len(data.shape) != 3:
        raise DistaffError(f"traversals are drawn of images, and {data.name} holds vectors.")
    start = data.images[len(data) // 2 if index is None else index]
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
        drawable(model.traverse(start.numpy(), values=values)),
        kinds,
        values,
        above=(some, drawable(model.reconstruct(some))),
        sort_by=kl,
        top=top,
    )


def random_images(data: Dataset, count: int) -> FloatArray:
    """(count, *shape) random observations, always the same ones: evenly spaced rows of a grid look alike."""
    return data.images[np.resize(some_rows(len(data), count), count)].numpy()


def drawable(images: FloatArray) -> FloatArray:
    """Images within [0, 1], where a Gaussian likelihood's means may leave it; white where there is none."""
    return np.nan_to_num(images, nan=1.0).clip(0, 1)
