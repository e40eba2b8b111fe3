"""Figures of Esmaeili et al. 2018 only: attributes of digits and the latents that encode them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from distaff import Dataset, DistaffError, Representation, figures
from distaff.analysis import drawable
from distaff.data import measure_strokes, some
from distaff.figures import band, histogram, show, style
from distaff.figures.style import count_axis, dress, label, panels
from distaff.metrics import informativeness
from distaff.studies import Results, Settings, Where, best_of, chosen, one_each, snapshot, snapshot_steps

STROKES = ("thickness", "width")
"""Attributes that can be measured on characters, see ``distaff.data.measure_strokes``."""


def information_through_training(
    results: Results,
    *,
    score: str | None = None,
    where: Where = None,
    observations: int | None = 10_000,
    threshold: float = 0.1,
) -> Figure:
    """I(x; z_d) of every latent of one run during training: Fig. 6.

    Args:
        results: results of the study, whose runs have ``snapshots``.
        score: score by which the best run is chosen; by default the first run is drawn.
        where: settings that the run must have.
        observations: number of random observations to encode; None for all.
        threshold: value in nats above which a latent counts as kept at the end.
    """
    run = best_of(chosen(results, where), score)
    data = some(run.data, observations)
    steps = snapshot_steps(run)
    found = [
        informativeness(snapshot(run, step).encode(data.images), normalize=False).per_latent or {}
        for step in steps
    ]
    table = np.array([list(one.values()) for one in found])
    return information_curves(np.array(steps), table, list(found[0]), threshold)


def information_curves(
    steps: np.ndarray, information: np.ndarray, names: Sequence[str], threshold: float = 0.1
) -> Figure:
    """Information of every latent (T, D) in nats over steps (T,), kept and pruned latents separately."""
    kept = information[-1] > threshold
    figure, axes = panels(1, 2, width=style.PAGE, share_y=True)
    for one, those, title in zip(axes[0], (kept, ~kept), ("informative", "uninformative"), strict=True):
        for latent in np.flatnonzero(those).tolist():
            colour, dashes = style.PALETTE[latent % 7], style.DASHES[latent // 7 % 4]
            band(one, steps, information[None, :, latent], colour, names[latent], dashes)
        label(one, x="training step", title=f"{those.sum()} {title} latents")
        count_axis(one)
    label(axes[0][0], y=r"$I(x; z_d)$ (nats)")
    style.legend_beside(figure, *axes[0], columns=10)
    return figure


def varied_attribute(
    results: Results,
    *,
    attribute: str = "thickness",
    curve: Settings = "recipe",
    score: str | None = None,
    where: Where = None,
    reach: float = 3.0,
) -> Figure:
    """One observation of each class, moved along the latent of an attribute: Fig. 7.

    The latent is the one whose mean correlates most with the attribute, by ranks.

    Args:
        results: results of the study, whose data have classes.
        attribute: thickness or width of strokes, or a factor's name.
        curve: settings that distinguish panels.
        score: score by which the best run is chosen; by default the first seed is drawn.
        where: settings that the runs must have.
        reach: largest value of the latent, which goes from −reach to reach.
    """
    values = np.linspace(-reach, reach, 9).tolist()
    panels, rows = {}, []
    for name, run in one_each(results, curve, score, where).items():
        model, data = run.model, run.data
        latent = latent_of(model, data, attribute)
        classes = data.column(data.names[0])
        firsts = {c: int(np.flatnonzero(classes == c)[0]) for c in np.unique(classes)}
        images = [model.traverse(data.images[i].numpy(), [latent], values)[0] for i in firsts.values()]
        panels[f"{name}: z{latent}"] = drawable(np.stack(images))
        rows = [f"{data.names[0]} {c:g}" for c in firsts]
    return figures.side_by_side(panels, rows, values)


def removed_combination(
    results: Results,
    *,
    digit: int = 7,
    attribute: str = "thickness",
    score: str | None = None,
    where: Where = None,
) -> Figure:
    """Codes of a removed combination in models trained with and without it, and reconstructions: Fig. 9.

    Args:
        results: results of a study with runs on mnist and on mnist with ``zero_shot: kept``.
        digit: digit of the removed images to draw: 7 (thick ones) or 0 (narrow ones).
        attribute: attribute of the latent, thickness or width.
        score: score by which the best run is chosen; by default the first seed is drawn.
        where: settings that the runs must have.
    """
    runs = chosen(results, where)
    pruned = [run for run in runs if run.settings.get("data.zero_shot") == "kept"]
    whole = [run for run in runs if "data.zero_shot" not in run.settings]
    if not pruned or not whole:
        raise DistaffError("this figure needs runs on mnist and runs on {spec: mnist, zero_shot: kept}.")
    data = pruned[0].request.data
    options = {**data.options, "zero_shot": "removed"}
    removed = replace(data, options=options).open()
    kept = pruned[0].whole_data
    removed, kept = (part.subset(part.where({"digit": digit})) for part in (removed, kept))
    values = {}
    for title, members in (("trained on all", whole), (f"trained without such {digit}s", pruned)):
        model = best_of(members, score).model
        latent = latent_of(model, kept, attribute)
        values[title] = (along(model, kept, latent), along(model, removed, latent))
    originals = removed.images[np.linspace(0, len(removed) - 1, 12).astype(np.int64)].numpy()
    rebuilt = drawable(model.reconstruct(originals))
    return kept_and_removed(values, np.stack([originals, rebuilt]), f"latent of {attribute}")


def kept_and_removed(
    values: Mapping[str, tuple[np.ndarray, np.ndarray]], images: np.ndarray, feature: str, bins: int = 40
) -> Figure:
    """Histograms of a latent for kept and removed observations, above reconstructions of removed ones.

    The reconstructions are by a model that was not trained on such observations.

    Args:
        values: model → (the latent's values of kept observations (N,), of removed ones (M,)); one histogram
            each, both of unit area.
        images: (2, n, C, H, W) removed observations and their reconstructions.
        feature: attribute of the latent.
        bins: number of bars over the range of all values.
    """
    side = min((style.PAGE - 1) / images.shape[1], 0.6)
    pictures_high = 2 * side * images.shape[-2] / images.shape[-1] + 0.1
    figure = style.bare_figure((style.PAGE, 1.9 + pictures_high))
    (above,), (below,) = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.9, pictures_high])
    axes = above.subplots(1, len(values), squeeze=False, sharey=True)[0]
    for i, (one, (model, (kept, removed))) in enumerate(zip(axes, values.items(), strict=True)):
        dress(one)
        edges = np.histogram_bin_edges(np.concatenate([kept, removed]), bins)
        histogram(one, kept, edges, style.PALETTE[5], "kept")
        histogram(one, removed, edges, style.PALETTE[1], "removed", fill=False)
        label(one, x=feature, y=None if i else "density", title=model)
    style.legend(axes[0])
    one = below.subplots()
    dress(one)
    show(one, images, ["removed", "reconstruction"])
    return figure


def along(model: Representation, data: Dataset, latent: int) -> np.ndarray:
    """(N,) the means of one latent."""
    return np.asarray(model.encode(data.images).means[:, latent])


def latent_of(model: Representation, data: Dataset, attribute: str, observations: int = 1000) -> int:
    """The real latent whose mean correlates most with an attribute, by ranks over random observations."""
    part = some(data, observations)
    if attribute in STROKES and attribute not in part.names:
        column = measure_strokes(part.images)[:, STROKES.index(attribute)]
    else:
        column = part.column(attribute)
    means = model.encode(part.images).means
    return int(np.argmax([abs(np.nan_to_num(spearmanr(z, column)[0])) for z in means.T]))
