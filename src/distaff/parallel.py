"""Several cores on one job, each with a part of its own."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Part = TypeVar("Part")
Result = TypeVar("Result")


def side_by_side(function: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
    """``function`` of every part, in order; several at a time, with one of torch's threads each.

    For functions made of many small tensor operations: torch's own threads would wait for each other at every
    one of them, for as long as it takes if other programs use the cores too.
    """
    threads = torch.get_num_threads()
    if threads == 1 or len(parts) == 1:
        yield from map(function, parts)
        return
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(function, parts)
    finally:
        torch.set_num_threads(threads)
