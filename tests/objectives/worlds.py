"""Models whose posteriors, aggregate posterior and evidence are known in closed form."""

import math

import torch
from torch import Tensor, nn

from distaff.models.groups import Gaussian, GaussianPosterior, Posterior, StandardNormal
from distaff.models.latents import LatentSpace
from distaff.models.networks.halving import Networks
from distaff.models.vae import VAE, Prior
from distaff.objectives.densities import Density, stratified
from distaff.objectives.step import Step


class FixedPosteriors(nn.Module):
    """An encoder that reads q(z|x) off x itself: x (B, 2D) holds means, then log-variances."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class CorrelatedNormal(StandardNormal):
    """N(0, R) with unit variances and correlation r between all pairs: the full covariance as a double."""

    def __init__(self, dims: int, correlation: float) -> None:
        super().__init__(dims)
        self.cov = torch.full((dims, dims), correlation, dtype=torch.float64).fill_diagonal_(1)

    def joint(self, z: Tensor) -> Tensor:
        normal = torch.distributions.MultivariateNormal(torch.zeros(self.dims).double(), self.cov)
        return normal.log_prob(z.double()).to(z.dtype)


class CorrelatedPrior(Prior):
    """Groups of correlated normals, independent of each other."""

    def log_prob_groups(self, z: Tensor) -> Tensor:
        return torch.stack([p.joint(c) for p, c in zip(self._parts, self._split(z), strict=True)], dim=-1)

    def log_prob(self, z: Tensor) -> Tensor:
        return self.log_prob_groups(z).sum(-1)

    def kl(self, posterior: Posterior, z: Tensor) -> Tensor:
        return posterior.log_prob(z) - self.log_prob(z)


class UnitGaussian:
    """p(x|z) = N(x; mean, sigma² I)."""

    def __init__(self, mean: Tensor, sigma: float = 1.0) -> None:
        self.mean, self.sigma = mean, sigma

    def log_prob(self, x: Tensor) -> Tensor:
        return torch.distributions.Normal(self.mean, self.sigma).log_prob(x).sum(-1)


def space(*sizes: int) -> LatentSpace:
    return LatentSpace({f"g{i}": Gaussian(size) for i, size in enumerate(sizes)})


def model_of(latents: LatentSpace, prior: Prior | None = None) -> VAE:
    decoder = nn.Linear(latents.width, 2 * latents.width)
    return VAE(Networks(FixedPosteriors(), decoder), latents, prior, UnitGaussian).double()


def step_of(
    mu: Tensor,
    logvar: Tensor,
    latents: LatentSpace,
    data_size: int,
    density: Density = stratified,
    prior: Prior | None = None,
    **more,
) -> Step:
    """A step whose batch has the given posteriors, (B, D) each."""
    model = model_of(latents, prior)
    parts, start = {}, 0
    for name, group in latents.groups.items():
        columns = slice(start, start + group.dims)
        parts[name] = GaussianPosterior(mu[:, columns], logvar[:, columns])
        start += group.dims
    posterior = Posterior(parts)
    x = torch.cat([mu, logvar], 1).detach()
    output = model.output(x, posterior, posterior.rsample())
    return Step(model, output, 0, data_size, density=density, **more)


class GaussianWorld:
    """mu(x) ~ N(0, M) over N draws, q(z|x) = N(mu(x), diag s²): for large N, q(z) = N(0, M + diag s²)."""

    def __init__(self, count: int, mean_cov: Tensor, variances: Tensor, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(count, len(mean_cov), generator=generator, dtype=torch.float64)
        noise = noise - noise.mean(0)
        whiten = torch.linalg.cholesky(torch.cov(noise.T, correction=0)).inverse()
        self.mu = noise @ whiten.T @ torch.linalg.cholesky(mean_cov).T
        self.logvar = variances.log().expand_as(self.mu).clone()
        self.variances, self.cov = variances, mean_cov + torch.diag(variances)

    def information(self) -> float:
        return 0.5 * float(torch.logdet(self.cov) - self.variances.log().sum())

    def total_correlation(self, parts: list[list[int]] | None = None, of: list[int] | None = None) -> float:
        """Between parts (single variables if not given) of the variables ``of``."""
        of = of or list(range(len(self.cov)))
        parts = parts or [[d] for d in of]
        whole = torch.logdet(self.cov[of][:, of])
        return 0.5 * float(sum(torch.logdet(self.cov[p][:, p]) for p in parts) - whole)

    def kl_to(self, prior_cov: Tensor) -> float:
        ratio = torch.linalg.solve(prior_cov, self.cov)
        return 0.5 * float(torch.trace(ratio) - len(ratio) - torch.logdet(ratio))


def log_aggregate(z: Tensor, mu: Tensor, logvar: Tensor, dims: list[int] | None = None) -> Tensor:
    """log q(z) (M,) by the full double sum over all N posteriors, some dimensions or all."""
    dims = list(range(mu.shape[1])) if dims is None else dims
    scale = (0.5 * logvar[:, dims]).exp()
    log_q = torch.distributions.Normal(mu[:, dims], scale).log_prob(z[:, None, dims]).sum(-1)
    return log_q.logsumexp(1) - math.log(len(mu))
