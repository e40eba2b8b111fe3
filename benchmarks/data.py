"""The time of a batch of 64, as a fraction of a training step in the same run, and the memory of data sets.

Run: python -m benchmarks.data
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from distaff.data import Dataset, open_dataset
from distaff.data.arrays import load as load_arrays

BATCH = 64
BUILT_IN = ("dsprites", "shapes3d")


def step_of(channels: int, hidden: int) -> Callable[[torch.Tensor], None]:
    """One β-VAE step of the Kim-Mnih networks, hand-written and eager, to compare batches with."""
    sizes = (channels, 32, 32, 64, 64)
    convolutions = [nn.Sequential(nn.Conv2d(a, b, 4, 2, 1), nn.ReLU()) for a, b in pairwise(sizes)]
    back = (64, 64, 32, 32, channels)
    upwards = [nn.Sequential(nn.ReLU(), nn.ConvTranspose2d(a, b, 4, 2, 1)) for a, b in pairwise(back)]
    encoder = nn.Sequential(
        *convolutions, nn.Flatten(), nn.Linear(1024, hidden), nn.ReLU(), nn.Linear(hidden, 20)
    )
    decoder = nn.Sequential(
        nn.Linear(10, hidden), nn.ReLU(), nn.Linear(hidden, 1024), nn.Unflatten(1, (64, 4, 4)), *upwards
    )
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-4, fused=True)

    def step(x: torch.Tensor) -> None:
        mu, logvar = encoder(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (logvar / 2).exp()
        nll = F.binary_cross_entropy_with_logits(decoder(z), x, reduction="sum") / len(x)
        kl = 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum(1).mean()
        optimiser.zero_grad()
        (nll + 4 * kl).backward()
        optimiser.step()

    return step


def milliseconds(action: Callable[[], object], repeats: int) -> float:
    """The median over repeats, so that a brief disturbance does not count."""
    action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def naive(data: Dataset, rows: np.ndarray) -> torch.Tensor:
    """A batch as a map-style data set with a collate function makes it: one image at a time, then a stack."""
    return torch.stack([data.images[int(row)] for row in rows])


def report(label: str, data: Dataset, limit: float) -> None:
    rng = np.random.default_rng(0)
    draws = iter([rng.integers(0, len(data), BATCH) for _ in range(4000)])
    batch = milliseconds(lambda: data.images[next(draws)], 300)
    one_by_one = milliseconds(lambda: naive(data, next(draws)), 50)
    channels = data.shape[0]
    step, x = step_of(channels, 256 if channels == 3 else 128), data.images[next(draws)]
    whole = milliseconds(lambda: step(x), 10)
    share = batch / whole
    verdict = "ok" if share <= limit else "TOO SLOW"
    print(
        f"{label:28} batch {batch:6.3f} ms = {share:6.2%} of a step of {whole:5.1f} ms"
        f" (≤ {limit:.0%}: {verdict}), {one_by_one / batch:5.1f}× faster than one image at a time"
    )


PEAK = """
import pathlib, re, sys
import distaff.data
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024
before = peak()
data = distaff.data.open_dataset(sys.argv[1])
for start in range(0, len(data), 4096):
    data.images[start : start + 4096]
print(peak() - before)
"""


def peak_memory(name: str) -> float | None:
    """Peak memory, in MB above the bare import, of opening a data set and reading all of it."""
    run = subprocess.run([sys.executable, "-c", PEAK, name], capture_output=True, text=True)
    return float(run.stdout) if run.returncode == 0 else None


def main() -> None:
    for name in BUILT_IN:
        start = time.perf_counter()
        data = open_dataset(name)
        print(f"{name:28} opened in {time.perf_counter() - start:.1f} s")
        report(f"{name} (built in)", data, 0.03)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mapped.npy"
        mapped = np.lib.format.open_memmap(path, "w+", np.uint8, (20_000, 64, 64, 3))
        mapped[:] = np.random.default_rng(0).integers(0, 256, (1, 64, 64, 3), dtype=np.uint8)
        mapped.flush()
        report("64×64 RGB (memory-mapped)", load_arrays(path), 0.05)
    for name, limit in (("dsprites", 600), ("shapes3d", 500), ("mnist", 150)):
        peak = peak_memory(name)
        print(
            f"{name:28} peak memory "
            + (
                "not measured: the data are not here"
                if peak is None
                else f"{peak:.0f} MB above the import (≤ {limit})"
            )
        )


if __name__ == "__main__":
    main()
