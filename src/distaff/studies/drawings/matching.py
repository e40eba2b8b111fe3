"""Attributes found again: across classes, across runs, and in combinations that were never seen."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from distaff import figures
from distaff.data import open_dataset
from distaff.data.dataset import Dataset
from distaff.data.splits import some
from distaff.data.strokes import measure
from distaff.errors import DistaffError
from distaff.evaluation import drawable
from distaff.figures.traversal import ranked
from distaff.metrics.informativeness import informativeness
from distaff.models.representation import Representation
from distaff.studies.drawings.latents import one_each
from distaff.studies.drawings.runs import (
    Settings,
    Where,
    best_of,
    chosen,
    data_of,
    label,
    model_of,
    varied,
)
from distaff.studies.results import Results

STROKES = ("thickness", "width")
"""What can be measured of characters, see ``distaff.data.strokes``."""


def varied_attribute(
    results: Results,
    *,
    attribute: str = "thickness",
    curve: Settings = "recipe",
    score: str | None = None,
    where: Where = None,
    reach: float = 3.0,
) -> Figure:
    """One observation of each class, moved along the latent of an attribute: HFVAE Fig. 7.

    The latent is the one whose mean correlates most with the attribute, by ranks.

    Args:
        results: of the study, whose data have classes.
        attribute: thickness or width of strokes, or a factor's name.
        curve: the settings that tell panels apart.
        score: the run with its best value is drawn; the first seed's if none is given.
        where: settings that the runs must have.
        reach: the latent goes from −reach to reach.
    """
    values = np.linspace(-reach, reach, 9).tolist()
    panels, rows = {}, []
    for name, run in one_each(results, curve, score, where).items():
        model, data = model_of(run), data_of(run)
        latent = latent_of(model, data, attribute)
        classes = data.column(data.names[0])
        firsts = {c: int(np.flatnonzero(classes == c)[0]) for c in np.unique(classes)}
        images = [model.traverse(data.images[i].numpy(), [latent], values)[0] for i in firsts.values()]
        panels[f"{name}: z{latent}"] = drawable(np.stack(images))
        rows = [f"{data.names[0]} {c:g}" for c in firsts]
    return figures.side_by_side(panels, rows, values)


def matched_latents(
    results: Results, *, where: Where = None, observations: int = 10_000, top: int = 10
) -> Mapping[str, Figure]:
    """Latents found again across runs: correlations with the first run's, and traversals in matching order.

    Do & Tran's A.18, Fig. 27 and 28. Latents of the first run go from the most informative down; those of
    each other run are put beside the ones they correlate with most, one to one.

    Args:
        results: of the study, all of whose chosen runs share their data.
        where: settings that the runs must have.
        observations: how many random ones are encoded.
        top: latents drawn.
    """
    runs = chosen(results, where)
    if len(runs) < 2:
        raise DistaffError("latents are matched across runs: choose two or more.")
    data = some(data_of(runs[0]), observations)
    told_apart = [*varied(runs), "seed"]
    names = {label(run, told_apart): run for run in runs}
    models = {name: model_of(run) for name, run in names.items()}
    codes = {name: model.encode(data.images) for name, model in models.items()}
    first, *others = codes
    per_latent = informativeness(codes[first]).per_latent or {}
    order = ranked(list(per_latent.values())[: codes[first].means.shape[1]], codes[first].means.shape[1])[
        :top
    ]
    values = np.linspace(-2, 2, 7).tolist()
    start = data.images[len(data) // 2].numpy()
    drawn, rows, labels = {}, {first: order}, {first: [f"z{i}" for i in order]}
    for name in others:
        similarity = _correlations(codes[first].means, codes[name].means)
        drawn[f"{first} and {name}"] = figures.matched_latents(
            similarity, runs=(first.replace(" · ", "\n"), name)
        )
        partner = dict(figures.match_latents(similarity))
        rows[name] = [partner[i] for i in order if i in partner]
        labels[name] = [f"z{partner[i]} · {similarity[i, partner[i]]:.2f}" for i in order if i in partner]
    panels = {name: drawable(models[name].traverse(start, latents, values)) for name, latents in rows.items()}
    drawn["matched traversals"] = figures.side_by_side(panels, labels, values)
    return drawn


def removed_combination(
    results: Results,
    *,
    digit: int = 7,
    attribute: str = "thickness",
    score: str | None = None,
    where: Where = None,
) -> Figure:
    """Where models with and without a combination in their data put it, and how it is rebuilt: HFVAE Fig. 9.

    Args:
        results: of a study with runs on mnist and on mnist with ``zero_shot: kept``.
        digit: of the removed images drawn: 7 (thick ones) or 0 (narrow ones).
        attribute: what the latent stands for, thickness or width.
        score: the run with its best value is drawn; the first seed's if none is given.
        where: settings that the runs must have.
    """
    runs = chosen(results, where)
    pruned = [run for run in runs if run.settings.get("data.zero_shot") == "kept"]
    whole = [run for run in runs if "data.zero_shot" not in run.settings]
    if not pruned or not whole:
        raise DistaffError("this figure needs runs on mnist and runs on {spec: mnist, zero_shot: kept}.")
    call = pruned[0].folder.read()["data"]
    options = {**call["options"], "zero_shot": "removed"}
    removed = open_dataset(call["spec"], call["file"], **options)
    kept = data_of(pruned[0])
    removed, kept = (part.subset(part.where({"digit": digit})) for part in (removed, kept))
    values, feature = {}, ""
    for title, members in (("trained on all", whole), (f"trained without such {digit}s", pruned)):
        model = model_of(best_of(members, score))
        latent = latent_of(model, kept, attribute)
        values[title] = (along(model, kept, latent), along(model, removed, latent))
        feature = f"latent of {attribute}"
    some_removed = removed.images[np.linspace(0, len(removed) - 1, 12).astype(np.int64)].numpy()
    return figures.removed_combination(
        values, some_removed, drawable(model.reconstruct(some_removed)), feature=feature
    )


def along(model: Representation, data: Dataset, latent: int) -> np.ndarray:
    """(N,) the means of one latent."""
    return np.asarray(model.encode(data.images).means[:, latent])


def latent_of(model: Representation, data: Dataset, attribute: str, observations: int = 1000) -> int:
    """The real latent whose mean correlates most with an attribute, by ranks over random observations."""
    part = some(data, observations)
    if attribute in STROKES and attribute not in part.names:
        column = measure(part.images)[:, STROKES.index(attribute)]
    else:
        column = part.column(attribute)
    means = model.encode(part.images).means
    return int(np.argmax([abs(np.nan_to_num(spearmanr(z, column)[0])) for z in means.T]))


def _correlations(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(D, E) Pearson correlations of two runs' means; a constant latent correlates with none."""
    a, b = ((z - z.mean(0)) / np.where(z.std(0) > 0, z.std(0), 1) for z in (first, second))
    return np.asarray(a.T @ b / len(a), dtype=np.float64)
