"""Ratios taken in one run: the candidates take turns, so that a noisy machine disturbs them alike."""

import statistics
import time
from collections.abc import Callable, Mapping


def seconds(candidates: Mapping[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """The median seconds of one call of each candidate, over rounds in which they take turns."""
    for call in candidates.values():
        call()
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, call in candidates.items():
            start = time.perf_counter()
            call()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in taken.items()}


def show(what: str, ratio: float, wanted: str) -> None:
    """One line: a ratio and what it should be."""
    print(f"{what:68} {ratio:6.2f}   (wanted: {wanted})", flush=True)
