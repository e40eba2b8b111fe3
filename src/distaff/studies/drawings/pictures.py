"""Images that trained models make: traversals, samples, planes of two latents, codes under varied noise."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.figure import Figure

from distaff import figures
from distaff.data.dataset import Dataset
from distaff.errors import DistaffError
from distaff.evaluation import drawable
from distaff.evaluation import traversals as traversals_of
from distaff.figures.traversal import ranked
from distaff.metrics.gaps import rmig
from distaff.metrics.informativeness import informativeness
from distaff.models.representation import Representation
from distaff.studies.drawings.latents import one_each
from distaff.studies.drawings.runs import (
    Settings,
    Where,
    codes_of,
    data_of,
    encoded_of,
    factors_of,
    model_of,
    score_of,
)
from distaff.studies.results import Results
from distaff.studies.study_run import StudyRun


def traversals(
    results: Results,
    *,
    curve: Settings = "recipe",
    score: str | None = None,
    where: Where = None,
    top: int | None = None,
    index: int | None = None,
) -> Mapping[str, Figure]:
    """Traversals of one run for each recipe, sorted by KL: the FactorVAE paper's Fig. 6, 9, 11, 13 to 15.

    Args:
        results: of the study.
        curve: the settings that tell figures apart.
        score: the run with its best value is drawn; the first seed's if none is given.
        where: settings that the runs must have.
        top: rows at most.
        index: the observation to start from; the middle of the data by default.
    """
    return {
        _titled(name, run, score): traversals_of(
            model_of(run), data_of(run), encoded_of(run).kl_per_latent, index, top
        )
        for name, run in one_each(results, curve, score, where).items()
    }


def samples(
    results: Results,
    *,
    curve: Settings = "recipe",
    score: str | None = None,
    where: Where = None,
    count: int = 40,
) -> Mapping[str, Figure]:
    """Decoded draws of the prior by one run for each recipe: the FactorVAE paper's Fig. 19 to 22."""
    drawn = {}
    for name, run in one_each(results, curve, score, where).items():
        with torch.random.fork_rng():
            torch.manual_seed(0)
            images = drawable(model_of(run).model.draw(count).cpu().numpy())
        drawn[_titled(name, run, score)] = figures.samples(images, columns=10)
    return drawn


def top_latents(
    results: Results,
    *,
    factors: Sequence[str] | None = None,
    curve: Settings = "recipe",
    score: str | None = None,
    where: Where = None,
    top: int = 3,
) -> Mapping[str, Figure]:
    """For each factor the traversals of the latents that know most about it: Do & Tran's Fig. 12 and 16.

    Args:
        results: of the study.
        factors: their names; all that vary by default.
        curve: the settings that tell figures apart.
        score: the run with its best value is drawn; the first seed's if none is given.
        where: settings that the runs must have.
        top: latents a factor.
    """
    return {
        _titled(name, run, score): _top_latents(run, factors, top)
        for name, run in one_each(results, curve, score, where).items()
    }


def varied_noise(
    results: Results,
    *,
    curve: Settings | None = None,
    where: Where = None,
    images: int = 5,
    draws: int = 10,
) -> Mapping[str, Figure]:
    """Reconstructions by a generator: the code held, the noise varied: the FactorVAE paper's Fig. 26.

    Args:
        results: of a study of generators.
        curve: the settings that tell figures apart; by default all that vary.
        where: settings that the runs must have.
        images: observations, a row each, the original first.
        draws: of the noise.
    """
    return {
        name: _varied_noise(model_of(run), data_of(run), images, draws)
        for name, run in one_each(results, curve, None, where).items()
    }


def interpolation_planes(
    results: Results,
    *,
    curve: Settings | None = None,
    where: Where = None,
    latents: int = 3,
    steps: int = 7,
) -> Mapping[str, Figure]:
    """Pairs of latents varied together from z = 0, a figure a run: Do & Tran's Fig. 26.

    Args:
        results: of the study.
        curve: the settings that tell figures apart; by default all that vary.
        where: settings that the runs must have.
        latents: the planes are those of the so many most informative latents.
        steps: images a side.
    """
    drawn = {}
    for name, run in one_each(results, curve, None, where).items():
        model = model_of(run)
        values = np.linspace(-model.model.latents.reach, model.model.latents.reach, steps)
        known = list((informativeness(codes_of(run)).per_latent or {}).values())
        first = ranked(known, len(known))[:latents]
        pairs = [(a, b) for i, a in enumerate(first) for b in first[i + 1 :]]
        planes = {(model.names[a], model.names[b]): _plane(model, a, b, values) for a, b in pairs}
        drawn[name] = figures.interpolation_planes(planes, values.tolist())
    return drawn


def _top_latents(run: StudyRun, factors: Sequence[str] | None, top: int) -> Figure:
    model, data, codes = model_of(run), data_of(run), codes_of(run)
    known = factors_of(run)
    information = np.asarray(rmig(codes, known).details["mutual_information"])
    start = data.images[len(data) // 2].numpy()
    values = np.linspace(-model.model.latents.reach, model.model.latents.reach, 9).tolist()
    images, labels = {}, {}
    for factor in factors or known.names:
        data.column(factor)
        column = information[:, list(known.names).index(factor)]
        best = ranked(column, len(column))[:top]
        images[factor] = drawable(model.traverse(start, best, values))
        labels[factor] = [f"{model.names[i]} · {column[i]:.2f} nats" for i in best]
    return figures.top_latents(images, labels, values)


@torch.no_grad()
def _varied_noise(model: Representation, data: Dataset, images: int, draws: int) -> Figure:
    count = model.model.latents.noise
    if not count:
        raise DistaffError("noise is varied of generators that have some, such as infogan's.")
    originals = data.images[np.linspace(0, len(data) - 1, images).astype(np.int64)].numpy()
    codes = torch.from_numpy(model.to_z(model.encode(originals))).repeat_interleave(draws, 0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        noise = torch.randn(draws, count).repeat(images, 1)
    made = model.model.decode(torch.cat([codes, noise], 1)).mean.cpu().numpy()
    rows = made.reshape(images, draws, *made.shape[1:])
    return figures.image_grid(
        drawable(np.concatenate([originals[:, None], rows], axis=1)),
        column_labels=["original", *[""] * draws],
    )


def _plane(model: Representation, down: int, across: int, values: np.ndarray) -> np.ndarray:
    """(n, n, C, H, W) images of two real latents at all pairs of values, the others at 0."""
    columns = [variable.columns.start for variable in model.model.latents.coded]
    z = np.zeros((len(values), len(values), model.model.latents.width), np.float32)
    z[..., columns[down]] = values[:, None]
    z[..., columns[across]] = values
    images = drawable(model.decode(z.reshape(-1, z.shape[-1])))
    return images.reshape(len(values), len(values), *images.shape[1:])


def _titled(name: str, run: StudyRun, score: str | None) -> str:
    return name if score is None else f"{name}: {score} {score_of(run, score):.3f}"
