"""Split a job among several cores."""

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
    """``function`` of every part, in order; several at a time, with one torch thread each.

    For functions made of many small tensor operations: torch's own threads would wait for each other at every
    operation, for a long time if other programs use the cores too.
    """
    threads = torch.get_num_threads()
    if threads == 1 or len(parts) == 1:
        yield from map(function, parts)
        return
    # The BLAS thread count is global to the process, while torch's is per thread.
    torch.set_num_threads(1)
    try:
        yield from _workers(threads).map(function, parts)
    finally:
        torch.set_num_threads(threads)


def one_thread(kind: Literal["blas", "openmp"]) -> AbstractContextManager[object]:
    """Context in which BLAS, or OpenMP, uses one thread: for work that is too small to split."""
    limits: AbstractContextManager[object] = _libraries().limit(limits=1, user_api=kind)
    return limits


@functools.cache
def _libraries() -> ThreadpoolController:
    """The loaded libraries; cached, since finding them takes ten milliseconds."""
    return ThreadpoolController()


@functools.cache
def _workers(count: int) -> ThreadPoolExecutor:
    """Threads that are kept alive, together with the memory they have touched."""
    return ThreadPoolExecutor(count, "side_by_side", initializer=torch.set_num_threads, initargs=(1,))


os.register_at_fork(after_in_child=_workers.cache_clear)
