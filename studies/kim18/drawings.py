"""Figures of Kim & Mnih 2018 only: critics, batch estimates and noise."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from distaff import Codes, Dataset, figures
from distaff.analysis import drawable
from distaff.figures import style
from distaff.figures.style import label, panels
from distaff.metrics import total_correlation
from distaff.studies import (
    Results,
    Settings,
    Where,
    chosen,
    curves_figure,
    grouped,
    logged,
    measured,
    names_in,
    one_each,
    varied,
)
from studies.kim18.batch_estimate import batch_densities


def critic_tc(
    results: Results,
    *,
    point: str = "gamma",
    where: Where = None,
    observations: int | None = None,
    samples: int = 2000,
) -> Figure:
    """The true total correlation beside the critic's estimate during training: Fig. 7.

    The true value is that of a snapshot's q(z), summed over the observations, at ``samples`` draws; the
    critic's estimate is in the log.

    Args:
        results: results of the study, whose runs have ``snapshots``.
        point: setting that the colours represent.
        where: settings that the runs must have.
        observations: number of random observations that represent the data; None for all.
        samples: number of draws of z.
    """

    def measure(codes: Codes, _: Dataset) -> float:
        return total_correlation(codes, samples=samples).value

    groups = grouped(chosen(results, where), point)
    key = f"total_correlation {samples}"
    true = {v: [measured(run, key, measure, observations) for run in runs] for v, runs in groups.items()}
    critic = {v: [logged(run, "total_correlation") for run in runs] for v, runs in groups.items()}
    panels = {"true TC": true, "critic's estimate": critic}
    return curves_figure({"total correlation (nats)": panels}, setting=point)


def critic_accuracy(
    results: Results,
    *,
    term: str = "total_correlation.critic_accuracy",
    curve: Settings | None = None,
    where: Where = None,
) -> Figure:
    """The critic's accuracy during training, one line per setting, and chance level: Fig. 24 and 37.

    At ½, the critic cannot distinguish q(z) from the product of its marginals, or generated from real images.

    Args:
        results: results of the study.
        term: name of the accuracy in the log.
        curve: settings that distinguish lines; by default all that vary.
        where: settings that the runs must have.
    """
    runs = chosen(results, where)
    settings = names_in((varied(runs) or ["recipe"]) if curve is None else curve)
    lines = {v: [logged(run, term) for run in members] for v, members in grouped(runs, settings).items()}
    figure = curves_figure({"critic's accuracy": {"": lines}}, setting=", ".join(settings))
    (axes,) = figure.axes
    axes.axhline(0.5, color=style.MUTED, linewidth=0.8, linestyle=":")
    place = ("axes fraction", "data")
    axes.annotate("chance", (1, 0.5), xycoords=place, ha="right", va="bottom", fontsize=style.SMALL)
    return figure


def log_density_histograms(
    results: Results,
    *,
    point: str = "beta",
    where: Where = None,
    batch: int = 10_000,
    samples: int = 10_000,
) -> Figure:
    """log q̂(z) and Σ_j log q̂(z_j) by a plain batch, for z outside it: Fig. 18.

    Args:
        results: results of the study.
        point: setting that distinguishes columns.
        where: settings that the runs must have.
        batch: |B|, number of observations whose posteriors make up q̂; half of the data if there are fewer.
        samples: number of draws of q(z), one per observation outside the batch.
    """
    estimates = {}
    for value, runs in grouped(chosen(results, where), point).items():
        joint, product = batch_densities(runs[0].codes, batch, samples)
        estimates[f"{point} = {value}"] = joint.numpy(), product.numpy()
    return log_densities(estimates)


def log_densities(estimates: Mapping[str, tuple[np.ndarray, np.ndarray]], bins: int = 50) -> Figure:
    """Histograms of log q̂(z) above those of Σ_j log q̂(z_j), one column per model.

    The title of each column has the total correlation estimated from these samples, the difference of the two
    means: negative values show that the batch estimate fails.

    Args:
        estimates: title → (log q̂(z) (M,), Σ_j log q̂(z_j) (M,)), in nats.
        bins: number of bars in each histogram.
    """
    width = style.COLUMN if len(estimates) == 1 else style.PAGE
    figure, axes = panels(2, len(estimates), width=width, height=1.5)
    texts = (r"$\log \hat q(z)$ (nats)", r"$\sum_j \log \hat q(z_j)$ (nats)")
    for c, (title, (joint, product)) in enumerate(estimates.items()):
        tc = f"{joint.mean() - product.mean():.3g}".replace("-", "−")
        label(axes[0][c], title=f"{title}: TC ≈ {tc} nats")
        for r, column in enumerate((joint, product)):
            edges = np.histogram_bin_edges(column, bins)
            axes[r][c].stairs(np.histogram(column, edges)[0], edges, fill=True, color=style.PALETTE[r])
            axes[r][c].xaxis.set_major_locator(MaxNLocator(nbins=4))
            label(axes[r][c], x=texts[r], y=None if c else "samples")
    return figure


def varied_noise(
    results: Results,
    *,
    curve: Settings | None = None,
    where: Where = None,
    images: int = 5,
    draws: int = 10,
) -> Mapping[str, Figure]:
    """Reconstructions by a generator with fixed codes and varied noise: Fig. 26, 30 and 31.

    Args:
        results: results of a study of generators.
        curve: settings that distinguish figures; by default all that vary.
        where: settings that the runs must have.
        images: number of observations, one row each, the original first.
        draws: number of draws of the noise.
    """
    drawn = {}
    for name, run in one_each(results, curve, None, where).items():
        data = run.data
        originals = data.images[np.linspace(0, len(data) - 1, images).astype(np.int64)].numpy()
        made = run.model.vary_noise(originals, draws)
        rows = drawable(np.concatenate([originals[:, None], made], axis=1))
        drawn[name] = figures.image_grid(rows, column_labels=["original", *[""] * draws])
    return drawn
