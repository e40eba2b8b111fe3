"""What trained latents know and share: bars, matrices and histograms of q(z|x) over the data."""

from collections.abc import Mapping

import numpy as np
import torch
from matplotlib.figure import Figure

from distaff import figures
from distaff.codes import Codes
from distaff.errors import DistaffError
from distaff.gaussians import Mixture
from distaff.metrics.correlations import correlation_matrix
from distaff.metrics.dci import dci
from distaff.metrics.gaps import rmig
from distaff.metrics.informativeness import informativeness
from distaff.metrics.misjed import misjed
from distaff.metrics.modularity import modularity
from distaff.models.vae import VAE
from distaff.studies.drawings.runs import (
    Run,
    Settings,
    Where,
    best_of,
    chosen,
    codes_of,
    factors_of,
    grouped,
    label,
    vae_of,
    varied,
)
from distaff.studies.results import Results


def marginals(
    results: Results,
    *,
    curve: Settings | None = None,
    score: str | None = None,
    where: Where = None,
    samples: int = 10_000,
    span: float = 4.0,
) -> Figure:
    """Histograms of q(z_j) over the prior's density, a row a setting: the FactorVAE paper's Fig. 40.

    Args:
        results: of the study.
        curve: the settings that tell rows apart; by default all that vary.
        score: of several seeds the one with its best value is drawn; the first if none is given.
        where: settings that the runs must have.
        samples: draws of z.
        span: half of the horizontal axis.
    """
    picked = one_each(results, curve, score, where)
    draws = {name.replace(" · ", "\n"): _samples(codes_of(run), samples) for name, run in picked.items()}
    prior = _prior_density(vae_of(next(iter(picked.values()))), span)
    return figures.marginals(draws, prior, span=span)


def distributions_of_means(
    results: Results,
    *,
    latent: int | None = None,
    curve: Settings | None = None,
    where: Where = None,
) -> Figure:
    """How one latent's mean is spread over the data, a panel a setting: Do & Tran's Fig. 22.

    Args:
        results: of the study.
        latent: its number; by default z*, each model's most informative one.
        curve: the settings that tell panels apart; by default all that vary.
        where: settings that the runs must have.
    """
    means = {}
    for name, run in one_each(results, curve, None, where).items():
        codes = codes_of(run)
        which = int(np.argmax(list(_information(codes).values()))) if latent is None else latent
        if not 0 <= which < codes.means.shape[1]:
            raise DistaffError(f"{name} has no latent {which} among its {codes.means.shape[1]} real ones.")
        means[name] = codes.means[:, which]
    return figures.distributions_of_means(means, "z*" if latent is None else f"z{latent}")


def informativeness_bars(
    results: Results,
    *,
    curve: Settings = "recipe",
    score: str | None = None,
    where: Where = None,
    normalize: bool = True,
) -> Figure:
    """I(x; z_i) of all latents, largest first, a panel a recipe: Do & Tran's Fig. 9 and 14."""
    picked = one_each(results, curve, score, where)
    found = {name: list(_information(codes_of(run), normalize).values()) for name, run in picked.items()}
    return figures.informativeness_bars(found, normalised=normalize)


def misjed_map(
    results: Results,
    *,
    curve: Settings = "recipe",
    score: str | None = None,
    where: Where = None,
    bins: int = 100,
) -> Figure:
    """MISJED of all pairs of latents, the most informative first: Do & Tran's Fig. 11 and 15."""
    codes = {name: codes_of(run) for name, run in one_each(results, curve, score, where).items()}
    pairs = {name: misjed(c, bins=bins).details["pairs"] for name, c in codes.items()}
    return figures.misjed_map(
        pairs, informativeness={name: list(_information(c).values()) for name, c in codes.items()}
    )


def correlation_matrices(
    results: Results, *, curve: Settings = "recipe", score: str | None = None, where: Where = None
) -> Figure:
    """Correlations of latents by samples and by means, recipes side by side: Do & Tran's Fig. 20."""
    matrices: dict[str, np.ndarray] = {}
    for name, run in one_each(results, curve, score, where).items():
        codes = codes_of(run)
        matrices |= {f"{name}, samples": correlation_matrix(codes, of="samples")}
        matrices |= {f"{name}, means": correlation_matrix(codes, of="means")}
    return figures.correlation_matrices(matrices)


def information_matrix(
    results: Results, *, score: str | None = None, where: Where = None
) -> Mapping[str, Figure]:
    """Latents × factors by q(z|x), by means, and by a lasso's weights: Do & Tran's Fig. 23.

    Args:
        results: of the study.
        score: the run with the best value of it is drawn; the first run if none is given.
        where: settings that the run must have.
    """
    run = best_of(chosen(results, where), score)
    codes, factors = codes_of(run), factors_of(run)
    by_posterior = rmig(codes, factors).details["mutual_information"]
    by_means = modularity(codes, factors, protocol="original").details["mutual_information"]
    importance = dci(codes, factors, protocol="eastwood18")[0].details["importances"]
    names = list(factors.names)
    return {
        "mutual information": figures.information_matrix(
            {"from q(z|x)": by_posterior, "from means": by_means}, names, codes.names
        ),
        "importance": figures.information_matrix(
            {"lasso": importance}, names, codes.names, unit="share of the weights"
        ),
    }


def log_density_histograms(
    results: Results,
    *,
    point: str = "beta",
    where: Where = None,
    batch: int = 10_000,
    samples: int = 10_000,
) -> Figure:
    """log q̂(z) and Σ_j log q̂(z_j) by a plain batch, for z outside it: the FactorVAE paper's Fig. 18.

    Args:
        results: of the study.
        point: the setting that tells columns apart.
        where: settings that the runs must have.
        batch: |B|, the observations whose posteriors make q̂; half of the data if there are fewer.
        samples: draws of q(z), one each of other observations.
    """
    estimates = {}
    for value, runs in grouped(chosen(results, where), point).items():
        codes = codes_of(runs[0])
        rows = np.random.default_rng(0).permutation(len(codes))
        inside, outside = np.split(rows, [min(batch, len(codes) // 2)])
        z = torch.from_numpy(_samples(codes[outside], samples)).double()
        mu, logvar = posteriors_of(codes[inside])
        joint = Mixture(mu, logvar).log_density(z)
        each = [Mixture(mu[:, [j]], logvar[:, [j]]).log_density(z[:, [j]]) for j in range(z.shape[1])]
        estimates[value] = joint.numpy(), torch.stack(each).sum(0).numpy()
    return figures.log_density_histograms(estimates, setting=point)


def one_each(results: Results, curve: Settings | None, score: str | None, where: Where) -> dict[str, Run]:
    """One run for each value of the settings, its best or first one; by default of all settings that vary."""
    runs = chosen(results, where)
    settings = (varied(runs) or ["recipe"]) if curve is None else curve
    names = [settings] if isinstance(settings, str) else settings
    prefix = f"{names[0]} = " if len(names) == 1 and isinstance(label(runs[0], names), int | float) else ""
    return {f"{prefix}{name}": best_of(members, score) for name, members in grouped(runs, names).items()}


def posteriors_of(codes: Codes) -> tuple[torch.Tensor, torch.Tensor]:
    """(N, D) means and log-variances in float64; codes without Gaussian latents are an error."""
    if codes.logvars is None or not codes.means.shape[1]:
        raise DistaffError("q(z) needs Gaussian latents with log-variances.")
    return torch.from_numpy(codes.means).double(), torch.from_numpy(codes.logvars).double()


def _samples(codes: Codes, count: int, seed: int = 0) -> np.ndarray:
    """(count, D) draws of q(z): random observations, each drawn once where there are enough."""
    rng = np.random.default_rng(seed)
    mu, logvar = (part.numpy() for part in posteriors_of(codes[rng.permutation(len(codes))[:count]]))
    sigma = np.exp(logvar / 2)
    return np.asarray(mu + sigma * rng.standard_normal(mu.shape))


@torch.no_grad()
def _prior_density(model: VAE, span: float) -> tuple[np.ndarray, np.ndarray]:
    """The prior's marginal densities on a grid: (n,) and (n, D) for the D real latents."""
    space, prior = model.latents, model.prior
    grid = torch.linspace(-span, span, 201)
    values = grid[:, None].expand(-1, space.width)
    places = [variable.place for variable in space.coded if not variable.classes]
    return grid.numpy(), prior.log_prob_dims(values)[:, places].exp().numpy()


def _information(codes: Codes, normalize: bool = True) -> Mapping[str, float]:
    return informativeness(codes, normalize=normalize).per_latent or {}
