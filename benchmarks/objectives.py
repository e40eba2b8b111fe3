"""Steps of recipes whose terms compare the whole batch, as ratios to the plain VAE step: ``make bench``."""

import distaff.training  # noqa: F401  # isort: skip  (keeps freed memory, as the command line does: before torch)

import math
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.timing import seconds, show
from benchmarks.training import loop_of
from distaff.data import dsprites
from distaff.data.dataset import Dataset
from distaff.mixtures.pairs import log_each
from distaff.models.groups import GaussianPosterior
from distaff.objectives import recipes
from distaff.objectives.densities import Shape, stratified
from distaff.objectives.divergences import SCALES, mmd_by_dimension
from distaff.objectives.objective import Objective

OBJECTIVES: dict[str, Objective] = {
    "vae": recipes.vae(),
    "beta_tcvae": recipes.beta_tcvae(),
    "hfvae": recipes.hfvae(),
    "dip_vae_ii": recipes.dip_vae_ii(),
}


def recipe_steps(data: Dataset, batch: int, steps: int) -> None:
    loops = {name: loop_of(objective, data, batch, steps=steps) for name, objective in OBJECTIVES.items()}
    taken = seconds(loops)
    for name in list(OBJECTIVES)[1:]:
        show(f"{name}: time of a step / VAE step, batch {batch}, D=10", taken[name] / taken["vae"], "≤ 1.10")
    print(f"    the VAE step takes {1000 * taken['vae'] / steps:.1f} ms here, now")


def mmd_steps(data: Dataset, batch: int, steps: int) -> None:
    loops = {
        "vae": loop_of(recipes.vae(), data, batch, 50, steps),
        "mmd": loop_of(recipes.alpha_beta_vae(), data, batch, 50, steps),
        "mmd_joint": loop_of(recipes.wae(), data, batch, 50, steps),
    }
    taken = seconds(loops)
    for name in ("mmd", "mmd_joint"):
        show(f"{name}: time of a step / VAE step, batch {batch}, D=50", taken[name] / taken["vae"], "≤ 1.10")


def naive_marginals(posterior: GaussianPosterior, z: Tensor, log_weights: Tensor) -> Tensor:
    """log q(z_d) (B, D) in the usual way, one dimension at a time."""
    columns = []
    for d in range(z.shape[1]):
        mu, logvar = posterior.mu[:, d], posterior.logvar[:, d]
        log_q = -0.5 * (math.log(2 * math.pi) + logvar + (z[:, d : d + 1] - mu) ** 2 / logvar.exp())
        columns.append((log_q + log_weights).logsumexp(1))
    return torch.stack(columns, 1)


def naive_mmd(x: Tensor, y: Tensor) -> Tensor:
    """MMD over all pairs, one scale at a time."""
    total = torch.zeros(())
    for a, b, share in ((x, x, 1.0), (y, y, 1.0), (x, y, -2.0)):
        squares = (a[:, None] - b) ** 2
        for scale in SCALES:
            values = (2 * scale / (2 * scale + squares)).sum(-1)
            own = a is b
            pairs = len(a) * (len(b) - own)
            total = total + share * (values.sum() - own * values.diagonal().sum()) / pairs
    return total


def with_backward(function: Callable[[], Tensor]) -> Callable[[], None]:
    return lambda: function().sum().backward()


def kernels() -> None:
    """The two kernels by themselves, forward and backward, against their naive forms."""
    torch.manual_seed(0)
    mu, logvar = torch.randn(512, 10, requires_grad=True), torch.full((512, 10), -4.0, requires_grad=True)
    posterior = GaussianPosterior(mu, logvar)
    z = posterior.rsample().detach()
    weights = stratified.log_weights(Shape(512, 512, 0, 100_000), z)
    taken = seconds(
        {
            "ours": with_backward(lambda: log_each([(posterior, z)], weights)),
            "naive": with_backward(lambda: naive_marginals(posterior, z, weights)),
        },
        rounds=3,
    )
    show("log q(z_d), 512² pairs: naive / ours", taken["naive"] / taken["ours"], "more is better")
    x, y = torch.randn(256, 50, requires_grad=True), torch.randn(256, 50)
    taken = seconds(
        {
            "ours": with_backward(lambda: mmd_by_dimension(x, y)),
            "naive": with_backward(lambda: naive_mmd(x, y)),
        },
        rounds=3,
    )
    show("MMD by dimension, 256² pairs, D=50: naive / ours", taken["naive"] / taken["ours"], "more is better")


def main() -> None:
    data = dsprites.load()
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}")
    kernels()
    recipe_steps(data, 64, steps=10)
    recipe_steps(data, 1024, steps=1)
    mmd_steps(data, 1024, steps=1)


if __name__ == "__main__":
    main()
