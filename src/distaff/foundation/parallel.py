"""Several cores on one job, each with a part of its own."""

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Literal, TypeVar

import torch
from threadpoolctl import ThreadpoolController

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
    # The matrix library counts its threads for the whole process, torch for each thread by itself.
    torch.set_num_threads(1)
    try:
        yield from _workers(threads).map(function, parts)
    finally:
        torch.set_num_threads(threads)


def one_thread(kind: Literal["blas", "openmp"]) -> AbstractContextManager[object]:
    """Within it, matrix libraries, or OpenMP, use one thread: for what is too small to share."""
    limits: AbstractContextManager[object] = _libraries().limit(limits=1, user_api=kind)
    return limits


@functools.cache
def _libraries() -> ThreadpoolController:
    """The libraries that are loaded: to look for them takes ten milliseconds."""
    return ThreadpoolController()


@functools.cache
def _workers(count: int) -> ThreadPoolExecutor:
    """Threads that are kept, and with them the memory that each has touched."""
    return ThreadPoolExecutor(count, "side_by_side", initializer=torch.set_num_threads, initargs=(1,))


os.register_at_fork(after_in_child=_workers.cache_clear)
