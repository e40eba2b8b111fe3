"""Figures of Mathieu et al. 2019: densities of q(z) in the plane, and divergences and sparsity against α."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from distaff import Codes
from distaff.figures import band, style
from distaff.figures.style import label, panels, small_multiples
from distaff.mixtures import Mixture
from distaff.models import LatentSpace, Prior, parse_prior
from distaff.studies import (
    Results,
    Settings,
    StudyRun,
    Where,
    chosen,
    grouped,
    number_of,
    posteriors_of,
    score_of,
    vae_of,
    varied_along,
)

Extent = tuple[float, float, float, float]
"""Left, right, bottom and top of the rectangle on which a density is given."""


def aggregate_posteriors(
    results: Results, *, where: Where = None, extent: Sequence[float] = (-0.75, 1.75, -0.75, 1.75)
) -> Figure:
    """The density of q(z) for each α and β over the prior's contours: Fig. 3.

    Args:
        results: results of a study whose runs have two Gaussian latents and differ in ``alpha`` and ``beta``.
        where: settings that the runs must have; of several seeds, the first is drawn.
        extent: left, right, bottom, top of the plane.
    """
    left, right, low, high = extent
    grid = plane(left, right, low, high)
    cells: dict[tuple[float, float], StudyRun] = {}
    for run in chosen(results, where):
        cells.setdefault((number_of(run, "alpha"), number_of(run, "beta")), run)
    side = int(len(grid) ** 0.5)
    densities = {
        weights: _mixture(run.codes).log_density(grid).exp().view(side, side).numpy()
        for weights, run in cells.items()
    }
    prior = vae_of(next(iter(cells.values()))).prior
    return densities_by_weights(densities, (left, right, low, high), _on(prior, grid))


def densities_by_weights(
    densities: Mapping[tuple[float, float], np.ndarray], extent: Extent, prior: np.ndarray
) -> Figure:
    """The density of q(z) for each α (rows) and β (columns), overlaid with three contours of the prior.

    Args:
        densities: (α, β) → (n, m) density on a grid: rows go up along z₁, columns right along z₀.
        extent: left, right, bottom, top of the grid.
        prior: (n, m) density of p(z).
    """
    alphas = sorted({alpha for alpha, _ in densities})
    betas = sorted({beta for _, beta in densities})
    width = style.COLUMN if len(betas) < 3 else style.PAGE
    side = (width - 0.4) / len(betas)
    figure, axes = panels(len(alphas), len(betas), width=width, height=side, share_x=True, share_y=True)
    levels = prior.max() * np.array([0.1, 0.4, 0.8])
    for r, alpha in enumerate(alphas):
        for c, beta in enumerate(betas):
            one = axes[r][c]
            if (alpha, beta) not in densities:
                one.remove()
                continue
            _density(one, densities[alpha, beta], extent)
            one.contour(
                prior, levels, origin="lower", extent=extent, colors="white", linewidths=0.6, alpha=0.8
            )
            label(
                one,
                x="z₀" if r == len(alphas) - 1 else None,
                y=None if c else f"α = {alpha:g}\nz₁",
                title=None if r else f"β = {beta:g}",
            )
    return figure


def divergence_from_prior(
    results: Results, *, where: Where = None, samples: int = 10_000
) -> Mapping[str, pd.DataFrame]:
    """KL(p(z) ‖ q(z)) and KL(q(z) ‖ p(z)), one row per α and one column per β: Fig. 3 in numbers.

    In nats, averaged over seeds; both densities are exact, and expectations are over draws of the first.

    Args:
        results: results, as for ``aggregate_posteriors``.
        where: settings that the runs must have.
        samples: number of draws.
    """
    runs = chosen(results, where)
    rows = [(number_of(run, "alpha"), number_of(run, "beta"), *divergences_of(run, samples)) for run in runs]
    names = ("KL(p(z) ‖ q(z)), nats", "KL(q(z) ‖ p(z)), nats")
    table = pd.DataFrame(rows, columns=["α", "β", *names])
    tables = {name: table.pivot_table(name, "α", "β") for name in names}
    return {name: one.rename(columns="β = {:g}".format).reset_index() for name, one in tables.items()}


@torch.no_grad()
def divergences_of(run: StudyRun, samples: int = 10_000, seed: int = 0) -> tuple[float, float]:
    """KL(p(z) ‖ q(z)) and KL(q(z) ‖ p(z)) of a run with Gaussian latents, in nats."""
    codes, prior = run.codes, vae_of(run).prior
    q = _mixture(codes)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        from_p = prior.sample(samples, torch.zeros(1))
        rows = torch.randint(len(codes), (samples,))
        mu, logvar = posteriors_of(codes[rows.numpy()])
        from_q = mu + torch.exp(logvar / 2) * torch.randn_like(mu)
    forward = (prior.log_prob(from_p) - q.log_density(from_p)).mean()
    return float(forward), float((q.log_density(from_q) - prior.log_prob(from_q)).mean())


def prior_densities(results: Results, *, priors: Sequence[str], end: float = 4.0) -> Figure:
    """Priors of two latents as densities in the plane, one panel each: Fig. 5 (Student-t) and 6 (mixture).

    Args:
        results: results of any study; only the priors named here are drawn.
        priors: priors, written as for runs, such as student_t:3.
        end: end of both axes, which go from −end to end.
    """
    del results
    space, grid = LatentSpace.parse(2), plane(-end, end, -end, end)
    figure, axes = small_multiples(len(priors), 3, height=style.PAGE / max(min(len(priors), 3), 2) + 0.2)
    for one, text in zip(axes, priors, strict=True):
        _density(one, _on(parse_prior(text, space), grid), (-end, end, -end, end))
        label(one, x="z₀", y="z₁", title=text)
    return figure


def sparsity_against_alpha(
    results: Results, *, curve: Settings | None = None, term: str = "mmd", where: Where = None
) -> Figure:
    """Hoyer sparsity, reconstruction and divergence against α, one line per prior and β: Fig. 4.

    Lines show the mean and 95% interval over seeds.

    Args:
        results: results of a study of ``alpha_beta_vae`` that measured ``hoyer``.
        curve: settings that distinguish lines; by default all that vary beside alpha.
        term: name of the divergence in the log; its mean over the last tenth of training is drawn.
        where: settings that the runs must have.
    """
    runs = chosen(results, where)
    lines = grouped(runs, varied_along(runs, "alpha") if curve is None else curve)
    alphas = np.array(sorted({number_of(run, "alpha") for run in runs}))
    quantities: dict[str, Callable[[StudyRun], float]] = {
        "Hoyer sparsity": lambda run: score_of(run, "hoyer"),
        "reconstruction loss (nats)": lambda run: score_of(run, "reconstruction"),
        "MMD(q(z), p(z))" if term == "mmd" else term.replace("_", " "): lambda run: _last_tenth(run, term),
    }
    colours = style.colours_for(lines)
    figure, axes = panels(1, 3, width=style.PAGE, height=2.2)
    for one, (text, quantity) in zip(axes[0], quantities.items(), strict=True):
        for i, (name, members) in enumerate(lines.items()):
            seeds = grouped(members, "seed").values()
            rows = [{number_of(run, "alpha"): quantity(run) for run in one_seed} for one_seed in seeds]
            values = np.array([[row.get(alpha, np.nan) for alpha in alphas] for row in rows])
            band(one, alphas, values, colours[name], str(name), style.DASHES[i % len(style.DASHES)])
        label(one, x="regularisation α", y=text)
    style.legend_beside(figure, axes[0][0], columns=4)
    return figure


def plane(left: float, right: float, low: float, high: float, side: int = 120) -> Tensor:
    """(side², 2) points of a rectangle, row by row upwards."""
    return torch.cartesian_prod(torch.linspace(low, high, side), torch.linspace(left, right, side)).flip(1)


@torch.no_grad()
def _on(prior: Prior, grid: Tensor) -> np.ndarray:
    side = int(len(grid) ** 0.5)
    return np.asarray(prior.log_prob(grid).exp().view(side, side).numpy())


def _density(axes: Axes, density: np.ndarray, extent: Extent) -> None:
    axes.imshow(density, origin="lower", extent=extent, cmap=style.ORDERED, vmin=0, aspect="equal")
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.locator_params(nbins=4)


def _mixture(codes: Codes) -> Mixture:
    return Mixture(*posteriors_of(codes))


def _last_tenth(run: StudyRun, term: str) -> float:
    lines = run.log
    last = lines[-max(1, len(lines) // 10) :]
    return float(np.mean([line[term] for line in last]))
