"""Time of the default table for wide codes, by metric: codes that predict classes well, a little, not at all.

python -m benchmarks.wide                               # 20,000 rows × 512 latents, three kinds: minutes
python -m benchmarks.wide --kinds network --width 2048
python -m benchmarks.wide --processor                   # in processor time, beside other work
"""

import argparse
import time

import numpy as np

from distaff import Codes
from distaff.metrics import as_factors, evaluate_scores

SIZES = (3, 6, 40, 32, 32)
LEAST = 0.5
"""Metrics that take fewer seconds than this have no line of their own."""


def noise(_spread, rows, width, rng):
    """Codes without information."""
    return rng.normal(size=(rows, width))


def linear(spread, rows, width, rng):
    """Five numbers mixed linearly in noise: neighbouring classes are hard to distinguish."""
    return spread @ rng.normal(size=(5, width)) + rng.normal(size=(rows, width))


def network(spread, rows, width, rng):
    """Embeddings like a network's, a decaying spectrum and little noise: classes are nearly separable."""
    hidden = np.tanh(1.5 * spread @ rng.normal(size=(5, 256)) + rng.normal(size=256))
    hidden = np.tanh(hidden @ rng.normal(size=(256, width)) / 4)
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    return hidden @ turn * np.linspace(1, 0.05, width) @ turn.T + 0.02 * rng.normal(size=(rows, width))


KINDS = {made.__name__: made for made in (noise, linear, network)}


def table(kind, rows, width, clock):
    rng = np.random.default_rng(0)
    classes = np.stack([rng.integers(0, size, rows) for size in SIZES], axis=1)
    spread = (classes - classes.mean(axis=0)) / classes.std(axis=0)
    codes = Codes(KINDS[kind](spread, rows, width, rng).astype(np.float32))
    started = {}

    def report(name):
        started[name] = clock()

    before = clock()
    evaluate_scores(codes, as_factors(classes), report=report)
    ended = clock()
    moments = [*started.values(), ended]
    took = {name: end - start for name, start, end in zip(started, moments[:-1], moments[1:], strict=True)}
    print(f"{kind}: {rows:,} × {width}, {ended - before:.1f} s")
    for name in sorted(took, key=took.get, reverse=True):
        if took[name] >= LEAST:
            print(f"  {name:<34} {took[name]:7.1f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument(
        "--processor", action="store_true", help="measure processor time, for a machine with other work"
    )
    given = parser.parse_args()
    for one in given.kinds:
        table(one, given.rows, given.width, time.process_time if given.processor else time.perf_counter)
