"""Speed of the information metrics against their naive forms, as ratios measured in one run.

python -m benchmarks.information            # a minute or so
python -m benchmarks.information --full     # dSprites' 737,280 observations
"""

import argparse
import resource
import time

import numpy as np
import torch
from sklearn.metrics import mutual_info_score

from distaff import Codes
from distaff.metrics import (
    as_factors,
    indin,
    informativeness,
    jemmig,
    mig,
    misjed,
    rmig,
    sepin,
    total_correlation,
    windin,
    wsepin,
)
from distaff.mixtures.gaussians import Mixture
from distaff.mixtures.pairs import LOG_2PI

SIZES = (3, 6, 40, 32, 32)
SIGMAS = np.array([0.03, 0.03, 0.08, 0.15, 0.3, 0.9, 0.97, 0.98, 0.99, 1.0])


def trained(count):
    """Codes like those of a FactorVAE on dSprites (five latents in use, five collapsed), and factors."""
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(np.prod(SIZES))[:count])
    classes = np.stack(np.unravel_index(rows, SIZES), axis=1)
    means = rng.normal(size=(count, 10)) * 0.05
    spread = (classes - classes.mean(0)) / classes.std(0)
    means[:, :5] += spread[:, [3, 4, 1, 2, 0]] * np.sqrt(1 - SIGMAS[:5] ** 2)
    logvars = 2 * np.log(SIGMAS) + 0.2 * rng.normal(size=means.shape)
    return Codes(means.astype(np.float32), logvars.astype(np.float32)), classes


def broadcast(z, mu, logvar):
    """Log q(z) in the usual way: all M × N × D numbers, in pieces that fit in memory."""
    parts = []
    for some in z.split(100):
        pairs = -0.5 * ((some[:, None] - mu) ** 2 / logvar.exp() + logvar + LOG_2PI)
        parts.append(pairs.sum(-1).logsumexp(1) - np.log(len(mu)))
    return torch.cat(parts)


def pair_loop(means, classes):
    """I(z_i; y_k) of binned means with scikit-learn, pair by pair."""
    binned = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in means.T]
    return np.array([[mutual_info_score(z, y) for y in classes.T] for z in binned])


def seconds(function, clock=time.perf_counter):
    start = clock()
    function()
    return clock() - start


def compare(name, naive, fast, clock=time.perf_counter):
    """Compare the best of equally many tries of each, taken in turns; unequal numbers would favour one side.

    There are two tries, and more of functions that take less than a second, whose first try also pays for
    threads and memory.
    """
    tries = [(seconds(naive, clock), seconds(fast, clock)) for _ in range(2)]
    if tries[-1][0] < 1:
        tries += [(seconds(naive, clock), seconds(fast, clock)) for _ in range(6)]
    slow, quick = map(min, zip(*tries, strict=True))
    print(f"{name:<52} {slow:8.3f} s  {quick:8.4f} s  {slow / quick:7.1f}×")


def ratios():
    print(f"{'':<52} {'naive':>10}  {'here':>10}  {'ratio':>8}")
    for kind, width in (("as trained", 1.0), ("σ twice as wide", 2.0)):
        codes, _ = trained(10_000)
        mu, logvar = torch.from_numpy(codes.means), torch.from_numpy(codes.logvars) + 2 * np.log(width)
        z = mu + torch.randn(mu.shape) * (logvar / 2).exp()
        compare(
            f"log q(z), 10,000 samples × 10,000 posteriors, {kind}",
            lambda mu=mu, logvar=logvar, z=z: broadcast(z, mu, logvar),
            lambda mu=mu, logvar=logvar, z=z: Mixture(mu, logvar).log_density(z),
        )
    codes, classes = trained(100_000)
    compare(
        "MIG (locatello19), N = 100,000",
        lambda: pair_loop(codes.means, classes),
        # Plain arrays: factors made before would bring cached results for their classes.
        lambda: mig(codes.means, classes),
    )


def full(count):
    print(f"\nall of Do & Tran's metrics, N = {count:,}, D = 10, 10,000 samples, 5 factors")
    codes, classes = trained(count)
    factors = as_factors(classes)
    mu, logvar = torch.from_numpy(codes.means), torch.from_numpy(codes.logvars)
    z = (mu + torch.randn(mu.shape) * (logvar / 2).exp())[torch.randperm(count)[:10_000]]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"  {'log q(z) alone':<20} {seconds(lambda: Mixture(mu, logvar).log_density(z)):6.2f} s")
    total = 0.0
    for measure in (informativeness, misjed, total_correlation, sepin, wsepin, indin, windin):
        took = seconds(lambda measure=measure: measure(codes))
        total += took
        print(f"  {measure.__name__:<20} {took:6.2f} s")
    for measure in (rmig, jemmig):
        took = seconds(lambda measure=measure: measure(codes, factors))
        total += took
        print(f"  {measure.__name__:<20} {took:6.2f} s")
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6
    print(f"  {'together':<20} {total:6.2f} s, {memory:.2f} GB above the inputs")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args()
    ratios()
    full(737_280 if arguments.full else 100_000)
