"""Two runs with one thread each against one run with two threads: the gain for a study of many runs.

``python -m benchmarks.two_runs`` prints the ratio of images per second, the median of several turns.
"""

import distaff.training  # noqa: F401  # isort: skip  (keeps freed memory, as the command line does: before torch)

import multiprocessing
import statistics
import time
from multiprocessing.synchronize import Barrier

import torch

from benchmarks.timing import show
from benchmarks.training import loop_of
from distaff.data import dsprites
from distaff.objectives import recipes

STEPS, TURNS = 100, 3
OBJECTIVES = {"beta_vae": recipes.beta_vae(4.0), "factor_vae": recipes.factor_vae(10.0)}


def train(recipe: str, threads: int, together: Barrier) -> None:
    """Take the steps of one run between two barriers that all runs share, after its preparation."""
    torch.set_num_threads(threads)
    data = dsprites.load()
    loop_of(OBJECTIVES[recipe], data, 64)()
    steps = loop_of(OBJECTIVES[recipe], data, 64, steps=STEPS)
    together.wait()
    steps()
    together.wait()


def rate(recipe: str, runs: int, threads: int) -> float:
    """Total steps per second of all runs, from the start of the first to the end of the last."""
    fresh = multiprocessing.get_context("spawn")
    together = fresh.Barrier(runs + 1)
    started = [fresh.Process(target=train, args=(recipe, threads, together)) for _ in range(runs)]
    for run in started:
        run.start()
    together.wait()
    start = time.perf_counter()
    together.wait()
    taken = time.perf_counter() - start
    for run in started:
        run.join()
    return runs * STEPS / taken


def main() -> None:
    for recipe in OBJECTIVES:
        turns = [(rate(recipe, 2, 1), rate(recipe, 1, 2), rate(recipe, 1, 1)) for _ in range(TURNS)]
        report(
            f"{recipe}: two runs of one thread / one of two", [two / wide for two, wide, _ in turns], "≥ 1.25"
        )
        # Its bound: 2, if the runs do not disturb each other, divided by the gain from a second thread.
        report(f"{recipe}: two runs of one thread / one alone", [two / one for two, _, one in turns], "2")
        report(f"{recipe}: one run of two threads / of one", [wide / one for _, wide, one in turns], "2")


def report(what: str, ratios: list[float], wanted: str) -> None:
    show(what, statistics.median(ratios), wanted)
    print(f"    single turns: {', '.join(f'{ratio:.2f}' for ratio in sorted(ratios))}")


if __name__ == "__main__":
    main()
