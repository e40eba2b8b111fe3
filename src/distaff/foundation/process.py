"""Process settings to make before torch is imported: keep freed memory, and do not busy-wait.

PyTorch frees and allocates the same tens of megabytes every step; glibc returns blocks of that size
to the kernel each time and gets them back page by page. Keeping them made a Kim–Mnih step
about 1.4 times faster on two cores. Set ``DISTAFF_KEEP_MEMORY=0`` to leave the allocator unchanged.

The threads of a step wait for each other thousands of times, by default in a loop that keeps a core busy: if
other programs need that core too, each wait lasts as long as the kernel lets the loop run. Sleeping after a
short while made steps with two threads 2.5 times faster on two cores with other work, and did not slow them
down without. Set ``GOMP_SPINCOUNT`` or ``OMP_WAIT_POLICY`` to choose otherwise.
"""

import ctypes
import functools
import gc
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
SPINS = 5000
"""Iterations of the loop before a thread sleeps: a few microseconds; libgomp's default is 300,000."""


def prepare_process() -> None:
    """Apply both settings; call it before torch is imported."""
    keep_freed_memory()
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(SPINS))


@functools.cache
def keep_freed_memory() -> bool:
    """Keep freed memory, once per process; True if it applies (Linux with glibc, not switched off)."""
    if os.environ.get("DISTAFF_KEEP_MEMORY") == "0" or platform.libc_ver()[0] != "glibc":
        return False
    libc = ctypes.CDLL("libc.so.6")
    settings = ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, 2**31 - 1), (M_TOP_PAD, 64 * 2**20))
    return sum(int(libc.mallopt(option, value)) for option, value in settings) == len(settings)


@contextmanager
def importing() -> Iterator[None]:
    """Import modules that stay loaded, and exclude them from garbage collection from then on.

    torch, pandas and scikit-learn have some 350,000 objects, which Python would traverse again for every few
    thousand runs of a study that are read: half the time of a command on a large study.
    """
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if searching:
            gc.enable()
