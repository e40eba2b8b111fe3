"""Ratios measured in one run: the candidates take turns, so that a noisy machine disturbs them equally."""

import statistics
import time
from collections.abc import Callable, Mapping


def seconds(candidates: Mapping[str, Callable[[], object]], rounds: int = 20) -> dict[str, float]:
    """The median seconds of one call of each candidate, over rounds in which they take turns.

    Every other round is in reverse order, because the processor is slower after a hot loop.
    """
    for call in candidates.values():
        call()
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds // 2):
        for name in (*candidates, *reversed(candidates)):
            start = time.perf_counter()
            candidates[name]()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in taken.items()}


def show(what: str, ratio: float, wanted: str) -> None:
    """Print a ratio and its target in one line."""
    print(f"{what:68} {ratio:6.2f}   (wanted: {wanted})", flush=True)
