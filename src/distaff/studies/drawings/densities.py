"""Small worlds whose latent space can be drawn, and priors that shape it."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor

from distaff import figures
from distaff.codes import Codes
from distaff.errors import DistaffError
from distaff.gaussians import Mixture
from distaff.models.latents import LatentSpace
from distaff.models.priors.grammar import parse_prior
from distaff.models.priors.prior import Prior
from distaff.objectives.evidence import Evidence
from distaff.studies.drawings.latents import posteriors_of
from distaff.studies.drawings.runs import (
    Run,
    Settings,
    Where,
    chosen,
    codes_of,
    data_of,
    grouped,
    number_of,
    score_of,
    vae_of,
    varied,
)
from distaff.studies.results import Results

Extent = tuple[float, float, float, float]


def aggregate_posteriors(
    results: Results, *, where: Where = None, extent: Sequence[float] = (-0.75, 1.75, -0.75, 1.75)
) -> Figure:
    """The density of q(z) for each α and β over the prior's contours: Mathieu's Fig. 3.

    Args:
        results: of a study whose runs have two Gaussian latents and differ in ``alpha`` and ``beta``.
        where: settings that the runs must have; of several seeds the first is drawn.
        extent: left, right, bottom, top of the plane.
    """
    left, right, low, high = extent
    grid = plane(left, right, low, high)
    cells: dict[tuple[float, float], Run] = {}
    for run in chosen(results, where):
        cells.setdefault((number_of(run, "alpha"), number_of(run, "beta")), run)
    side = int(len(grid) ** 0.5)
    densities = {
        weights: _mixture(codes_of(run)).log_density(grid).exp().view(side, side).numpy()
        for weights, run in cells.items()
    }
    prior = vae_of(next(iter(cells.values()))).prior
    return figures.aggregate_posteriors(densities, (left, right, low, high), prior=_on(prior, grid))


def divergence_from_prior(
    results: Results, *, where: Where = None, samples: int = 10_000
) -> Mapping[str, pd.DataFrame]:
    """KL(p(z) ‖ q(z)) and KL(q(z) ‖ p(z)), a row an α and a column a β: Mathieu's Fig. 3 in numbers.

    In nats, mean over seeds; both densities are exact, and the mean is over draws of the first.

    Args:
        results: as for ``aggregate_posteriors``.
        where: settings that the runs must have.
        samples: draws.
    """
    runs = chosen(results, where)
    rows = [(number_of(run, "alpha"), number_of(run, "beta"), *divergences_of(run, samples)) for run in runs]
    names = ("KL(p(z) ‖ q(z)), nats", "KL(q(z) ‖ p(z)), nats")
    table = pd.DataFrame(rows, columns=["α", "β", *names])
    tables = {name: table.pivot_table(name, "α", "β") for name in names}
    return {name: one.rename(columns="β = {:g}".format).reset_index() for name, one in tables.items()}


@torch.no_grad()
def divergences_of(run: Run, samples: int = 10_000, seed: int = 0) -> tuple[float, float]:
    """KL(p(z) ‖ q(z)) and KL(q(z) ‖ p(z)) of a run with Gaussian latents, in nats."""
    codes, prior = codes_of(run), vae_of(run).prior
    q = _mixture(codes)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        from_p = prior.sample(samples, torch.zeros(1))
        rows = torch.randint(len(codes), (samples,))
        mu, logvar = posteriors_of(codes[rows.numpy()])
        from_q = mu + torch.exp(logvar / 2) * torch.randn_like(mu)
    forward = (prior.log_prob(from_p) - q.log_density(from_p)).mean()
    return float(forward), float((q.log_density(from_q) - prior.log_prob(from_q)).mean())


@torch.no_grad()
def ablations(results: Results, *, where: Where = None, z_end: float = 4.0, x_end: float = 4.0) -> Figure:
    """Latent over observed space of the ELBO without each of its terms: HFVAE Fig. 3.

    Args:
        results: of a study of ``ablated_elbo`` on points of a line, with one Gaussian latent.
        where: settings that the runs must have; of several seeds the first is drawn.
        z_end: the latent axis goes from −z_end to z_end.
        x_end: the observed axis likewise.
    """
    terms = {1: "① uniqueness", 2: "② I(x; z)", 3: "③ KL(q(x) ‖ p(x))", 4: "④ KL(q(z) ‖ p(z))"}
    z, x = torch.linspace(-z_end, z_end, 400), torch.linspace(-x_end, x_end, 200)
    toys = {}
    for without, runs in grouped(chosen(results, where), "without").items():
        model, codes = vae_of(runs[0]), codes_of(runs[0])
        if codes.means.shape[1] != 1 or model.latents.width != 1:
            raise DistaffError("ablations are drawn of models with a single Gaussian latent.")
        posteriors = [_mixture(codes[[n]]).log_density(z[:, None]).exp().numpy() for n in range(len(codes))]
        toys[f"without {terms[int(without)]}"] = figures.Toy(
            z=z,
            posteriors=posteriors,
            prior=model.prior.log_prob(z[:, None]).exp(),
            x=x,
            model=Evidence("grid", 400)(model, x[:, None]).exp(),
            data=data_of(runs[0]).images[:].numpy()[:, 0],
        )
    return figures.ablations(toys)


def sparsity_against_alpha(
    results: Results, *, curve: Settings | None = None, term: str = "mmd", where: Where = None
) -> Figure:
    """Hoyer sparsity, reconstruction and divergence against α, a line a prior and β: Mathieu's Fig. 4.

    Args:
        results: of a study of ``alpha_beta_vae`` that measured ``hoyer``.
        curve: the settings that tell lines apart; by default all that vary beside alpha.
        term: the divergence in the log; its mean over the last tenth of training is drawn.
        where: settings that the runs must have.
    """
    runs = chosen(results, where)
    settings = [name for name in varied(runs) if name != "alpha"] if curve is None else curve
    alphas = sorted({number_of(run, "alpha") for run in runs})
    quantities: tuple[Callable[[Run], float], ...] = (
        lambda run: score_of(run, "hoyer"),
        lambda run: score_of(run, "reconstruction"),
        lambda run: _last_tenth(run, term),
    )
    tables: list[dict[str, np.ndarray]] = [{}, {}, {}]
    for name, members in grouped(runs, settings).items():
        seeds = grouped(members, "seed").values()
        for table, quantity in zip(tables, quantities, strict=True):
            rows = [{number_of(run, "alpha"): quantity(run) for run in one} for one in seeds]
            table[str(name)] = np.array([[row.get(alpha, np.nan) for alpha in alphas] for row in rows])
    return figures.sparsity_against_alpha(alphas, *tables)


@torch.no_grad()
def prior_densities(results: Results, *, priors: Sequence[str], end: float = 4.0) -> Figure:
    """Priors of two latents as densities of the plane: Mathieu's Fig. 5 and 6.

    Args:
        results: of any study; only the priors named here are drawn.
        priors: as a run is given them, such as student_t:3.
        end: the plane goes from −end to end.
    """
    del results
    space, grid = LatentSpace.parse(2), plane(-end, end, -end, end)
    densities = {text: _on(parse_prior(text, space), grid) for text in priors}
    return figures.prior_densities(densities, (-end, end, -end, end))


def plane(left: float, right: float, low: float, high: float, side: int = 120) -> Tensor:
    """(side², 2) points of a rectangle, row by row upwards."""
    return torch.cartesian_prod(torch.linspace(low, high, side), torch.linspace(left, right, side)).flip(1)


@torch.no_grad()
def _on(prior: Prior, grid: Tensor) -> np.ndarray:
    side = int(len(grid) ** 0.5)
    return np.asarray(prior.log_prob(grid).exp().view(side, side).numpy())


def _mixture(codes: Codes) -> Mixture:
    return Mixture(*posteriors_of(codes))


def _last_tenth(run: Run, term: str) -> float:
    lines = run.log
    last = lines[-max(1, len(lines) // 10) :]
    return float(np.mean([line[term] for line in last]))
