"""Posteriors that are remembered: which they are, what they are worth; a resumed run has them too."""

import math
from dataclasses import replace

import numpy as np
import torch
from safetensors.torch import load_file

import distaff
from distaff.models.latents import LatentSpace
from distaff.objectives import total_correlation
from distaff.objectives.densities import batch, remembered
from distaff.objectives.memory import PosteriorMemory
from tests.objectives.worlds import space, step_of

SPACE = LatentSpace.parse("gaussian:2")


def posterior(mu, logvar=-2.0):
    mu = torch.as_tensor(mu, dtype=torch.float32)
    return SPACE.posterior(torch.cat([mu, torch.full_like(mu, logvar)], 1))


def step(mu, logvar, density, index=0, memory=None):
    torch.manual_seed(0)
    made = step_of(mu, torch.full_like(mu, logvar), space(2), 10_000, density)
    return replace(made, index=index, memory=memory)


def test_the_newest_are_kept_and_come_after_the_batch():
    memory = PosteriorMemory(4, SPACE)
    for start in (0, 3, 6):
        memory.remember(posterior(np.arange(start, start + 3)[:, None].repeat(2, 1)))
    both = memory.beside(posterior([[9.0, 9.0]]), seen=9)
    assert both.mode()[:, 0].tolist() == [9, 6, 7, 8, 3]
    few = memory.beside(posterior([[9.0, 9.0]]), seen=2)
    assert few.mode()[:, 0].tolist() == [9, 6, 7]


def test_only_the_batch_has_a_gradient():
    memory = PosteriorMemory(4, SPACE)
    own = torch.zeros(2, 2, requires_grad=True)
    memory.remember(posterior(own))
    both = memory.beside(posterior(own), seen=2)
    both.mode().sum().backward()
    assert own.grad.tolist() == [[1, 1], [1, 1]]


def test_without_memory_it_is_the_plain_batch():
    mu = torch.randn(8, 2, generator=torch.Generator().manual_seed(0)).double()
    steps = [step(mu, -1.0, density) for density in (remembered, batch)]
    assert float(total_correlation(steps[0])) == float(total_correlation(steps[1]))


def test_more_posteriors_estimate_the_total_correlation_of_a_correlated_gaussian():
    """z ~ N(0, [[1, ρ], [ρ, 1]]) has TC −½ log(1 − ρ²); a batch of 32 is far off it, 1,024 more are not."""
    rho, sigma, size = 0.9, 0.1, 32
    logvar = 2 * math.log(sigma)
    rng = np.random.default_rng(0)
    wanted = -0.5 * math.log(1 - rho**2)

    def means(count):
        covariance = np.array([[1, rho], [rho, 1]]) - sigma**2 * np.eye(2)
        return torch.tensor(rng.multivariate_normal([0, 0], covariance, count), dtype=torch.float32)

    def estimate(memory, index):
        density = batch if memory is None else remembered
        return float(total_correlation(step(means(size).double(), logvar, density, index, memory)))

    memory = PosteriorMemory(1024, SPACE)
    memory.remember(posterior(means(1024), logvar))
    with_memory = np.mean([estimate(memory, 32) for _ in range(100)])
    alone = np.mean([estimate(None, 0) for _ in range(100)])
    assert abs(with_memory - wanted) < 0.1
    assert abs(alone - wanted) > 0.3


def test_a_resumed_run_remembers(tmp_path):
    stop = 3
    images = np.random.default_rng(0).random((40, 16)).astype(np.float32)
    settings = {"early": 5.0, "gamma": 1.0, "critic": {"hidden": 8, "layers": 1}, "batch_size": 8}
    settings |= {
        "latents": 3,
        "checkpoint_every": stop,
        "log_every": 1,
        "progress": False,
        "accelerator": "cpu",
    }
    distaff.train("factor_vae", images, steps=stop, out=tmp_path / "parts", **settings)
    distaff.resume(tmp_path / "parts", images, steps=8, progress=False)
    distaff.train("factor_vae", images, steps=8, out=tmp_path / "whole", **settings)
    first, second = (weights(tmp_path / name) for name in ("parts", "whole"))
    assert any("memory" in name for name in first)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def weights(run):
    newest = max((run / "checkpoint").glob("step-*"))
    return {**load_file(newest / "model.safetensors"), **load_file(newest / "training.safetensors")}
