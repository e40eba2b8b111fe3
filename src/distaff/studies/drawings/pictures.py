"""Images from trained models: traversals, samples, and the latents most informative about each factor."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.figure import Figure

from distaff import figures
from distaff.figures.traversal import ranked
from distaff.metrics.rmig_jemmig import rmig
from distaff.runs.pictures import drawable, typical
from distaff.runs.pictures import traversals as traversals_of
from distaff.studies.drawings.runs import (
    Settings,
    Where,
    factors_of,
    one_each,
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
        results: results of the study.
        curve: settings that distinguish figures.
        score: score by which the best run is chosen; by default the first seed is drawn.
        where: settings that the runs must have.
        top: largest number of rows.
        index: observation to start from; by default a typical one, whose code is near the mean of all.
    """
    return {
        _titled(name, run, score): _traversals(run, index, top)
        for name, run in one_each(results, curve, score, where).items()
    }


def _traversals(run: StudyRun, index: int | None, top: int | None) -> Figure:
    encoded = run.encoded
    start = typical(encoded.codes) if index is None else index
    return traversals_of(run.model, run.data, encoded.kl_per_latent, start, top)


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
            images = drawable(run.model.model.draw(count).cpu().numpy())
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
    """For each factor, traversals of the latents most informative about it: Do & Tran's Fig. 12 and 16.

    Args:
        results: results of the study.
        factors: names of factors; by default all that vary.
        curve: settings that distinguish figures.
        score: score by which the best run is chosen; by default the first seed is drawn.
        where: settings that the runs must have.
        top: latents per factor.
    """
    return {
        _titled(name, run, score): _top_latents(run, factors, top)
        for name, run in one_each(results, curve, score, where).items()
    }


def _top_latents(run: StudyRun, factors: Sequence[str] | None, top: int) -> Figure:
    model, data, codes = run.model, run.data, run.codes
    known = factors_of(run)
    information = np.asarray(rmig(codes, known).details["mutual_information"])
    start = data.subset([typical(codes)])
    values = np.linspace(-model.model.latents.reach, model.model.latents.reach, 9).tolist()
    images, labels = {}, {}
    for factor in factors or known.names:
        data.column(factor)
        column = information[:, list(known.names).index(factor)]
        best = ranked(column, len(column))[:top]
        images[factor] = drawable(model.traverse(start, best, values))
        labels[factor] = [f"{model.names[i]} · {column[i]:.2f} nats" for i in best]
    return figures.top_latents(images, labels, values)


def _titled(name: str, run: StudyRun, score: str | None) -> str:
    return name if score is None else f"{name}: {score} {score_of(run, score):.3f}"
