"""Information in trained latents: bars, matrices and histograms of q(z|x) over the data."""

from collections.abc import Mapping

import numpy as np
import torch
from matplotlib.figure import Figure

from distaff import figures
from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.correlations import correlation_matrix
from distaff.metrics.dci import dci
from distaff.metrics.informativeness import informativeness
from distaff.metrics.misjed import misjed
from distaff.metrics.modularity import modularity
from distaff.metrics.rmig_jemmig import rmig
from distaff.models.vae import VAE
from distaff.studies.drawings.runs import (
    Settings,
    Where,
    best_of,
    chosen,
    factors_of,
    one_each,
    vae_of,
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
    """Histograms of q(z_j) over the prior's density, one row per setting: the FactorVAE paper's Fig. 40.

    Args:
        results: results of the study.
        curve: settings that distinguish rows; by default all that vary.
        score: score by which the best of several seeds is chosen; by default the first seed is drawn.
        where: settings that the runs must have.
        samples: number of draws of z.
        span: half the length of the horizontal axis.
    """
    picked = one_each(results, curve, score, where)
    rows = {name.replace(" · ", "\n"): run for name, run in picked.items()}
    priors = {name: _prior_density(vae_of(run), span) for name, run in rows.items()}
    return figures.marginals(
        {name: draws_of(run.codes, samples) for name, run in rows.items()}, priors, span=span
    )


def informativeness_bars(
    results: Results,
    *,
    curve: Settings = "recipe",
    score: str | None = None,
    where: Where = None,
    normalize: bool = True,
) -> Figure:
    """I(x; z_i) of all latents, largest first, one panel per recipe: Do & Tran's Fig. 9 and 14."""
    picked = one_each(results, curve, score, where)
    found = {name: list(_information(run.codes, normalize).values()) for name, run in picked.items()}
    return figures.informativeness_bars(found, normalised=normalize)


def misjed_map(
    results: Results,
    *,
    curve: Settings = "recipe",
    score: str | None = None,
    where: Where = None,
    bins: int = 100,
) -> Figure:
    """MISJED of all pairs of latents, most informative first: Do & Tran's Fig. 11 and 15."""
    codes = {name: run.codes for name, run in one_each(results, curve, score, where).items()}
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
        codes = run.codes
        matrices |= {f"{name}, samples": correlation_matrix(codes, of="samples")}
        matrices |= {f"{name}, means": correlation_matrix(codes, of="means")}
    return figures.correlation_matrices(matrices)


def information_matrix(
    results: Results, *, score: str | None = None, where: Where = None
) -> Mapping[str, Figure]:
    """Latents × factors by q(z|x), by means, and by a lasso's weights: Do & Tran's Fig. 23.

    Args:
        results: results of the study.
        score: score by which the best run is chosen; by default the first run is drawn.
        where: settings that the run must have.
    """
    run = best_of(chosen(results, where), score)
    codes, factors = run.codes, factors_of(run)
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


def posteriors_of(codes: Codes) -> tuple[torch.Tensor, torch.Tensor]:
    """(N, D) means and log-variances in float64; an error for codes without Gaussian latents."""
    if codes.logvars is None or not codes.means.shape[1]:
        raise DistaffError("q(z) needs Gaussian latents with log-variances.")
    return torch.from_numpy(codes.means).double(), torch.from_numpy(codes.logvars).double()


def draws_of(codes: Codes, count: int, seed: int = 0) -> np.ndarray:
    """(count, D) draws of q(z) from random observations, without replacement if there are enough."""
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
