"""Steps on data larger than memory against steps on data in memory, and the memory that they take.

python -m benchmarks.large_data FOLDER                          # a file of 20 GB, written there if absent
python -m benchmarks.large_data FOLDER --images 2000000         # that many image files
"""

import distaff.training  # noqa: F401  # isort: skip  (keeps freed memory, as the command line does: before torch)

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.timing import seconds, show
from benchmarks.training import loop_of
from distaff.data import Dataset, from_array, open_dataset
from distaff.objectives import recipes

SIDE, STEPS, ROUNDS = 64, 100, 4
DIFFERENT, LINKS = 16_384, 1_000
"""Number of different images, which a large file repeats, and of those that each sub-folder links to."""
OBJECTIVES = {"beta_vae": recipes.beta_vae(4.0), "factor_vae": recipes.factor_vae(10.0)}


def discs(count: int) -> NDArray[np.uint8]:
    """(count, side, side) blurred discs of many sizes and positions."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(10, SIDE - 10, (2, count, 1, 1)).astype(np.float32)
    radius = rng.uniform(3, 10, (count, 1, 1)).astype(np.float32)
    rows, columns = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    distance = np.hypot(columns - x, rows - y)
    return (255 / (1 + np.exp(distance - radius))).astype(np.uint8)


def large_file(path: Path, size: int) -> Path:
    """An ``.npy`` of ``size`` bytes, none of it in the page cache."""
    count, images = size // SIDE**2, discs(DIFFERENT)
    if not path.exists():
        np.lib.format.open_memmap(path, "w+", np.uint8, (count, SIDE, SIDE)).flush()
        with path.open("r+b") as file:
            file.seek(0, os.SEEK_END)
            file.seek(file.tell() - count * SIDE**2)
            for start in range(0, count, DIFFERENT):
                file.write(images[: count - start].tobytes())
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


def folder_of_files(folder: Path, count: int) -> Path:
    """A folder of ``count`` image files, a thousand per sub-folder, which are links to a few images."""
    originals = folder.with_name("originals")
    originals.mkdir(exist_ok=True)
    for number, image in enumerate(discs(LINKS)):
        Image.fromarray(image).save(originals / f"{number}.png")
    for start in range(0, count, LINKS):
        part = folder / f"{start // LINKS:05}"
        if not part.exists():
            part.mkdir(parents=True)
            for number in range(min(LINKS, count - start)):
                os.link(originals / f"{number}.png", part / f"{number:04}.png")
    return folder


def own_memory(process: int | str = "self") -> float:
    """Memory of a process in GB, without the page cache; 0 once it has ended."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next((line for line in lines if line.startswith("RssAnon")), "RssAnon: 0").split()[1]) / 1e6


def against_memory(what: str, data: Dataset) -> None:
    """Compare steps on ``data`` with steps on images in memory, in turns."""
    small = from_array(discs(DIFFERENT))
    for name, objective in OBJECTIVES.items():
        candidates = {
            "there": loop_of(objective, data, 64, steps=STEPS),
            "in memory": loop_of(objective, small, 64, steps=STEPS),
        }
        taken = seconds(candidates, ROUNDS)
        show(
            f"{name}: time of a step from {what} / from memory", taken["there"] / taken["in memory"], "≤ 1.10"
        )
    show(f"{what}: GB beside the page cache", own_memory(), "≤ 2")


def first_run(folder: Path) -> None:
    """A user's first command, from reading the list of files to a few steps."""
    command = [sys.executable, "-m", "distaff", "train", "beta_vae", "--data", str(folder), "--steps", "50"]
    out, start, most = folder.with_name("run"), time.perf_counter(), 0.0
    with subprocess.Popen([*command, "--out", str(out / str(time.time_ns()))]) as run:
        while run.poll() is None:
            most = max(most, own_memory(run.pid))
            time.sleep(0.5)
    print(f"the first run: {(time.perf_counter() - start) / 60:.1f} minutes")
    show("the first run: most GB beside the page cache", most, "≤ 2")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder with room for what is written")
    parser.add_argument("--gigabytes", type=float, default=20.0)
    parser.add_argument("--images", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="the files were read before: steps alone")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.images:
        os.environ["DISTAFF_CACHE"] = str(given.folder / "cache")
        files = folder_of_files(given.folder / "files", given.images)
        if not given.again:
            first_run(files)
        against_memory(f"{given.images:,} files", open_dataset(files))
    else:
        mapped = large_file(given.folder / "large.npy", int(given.gigabytes * 1e9))
        against_memory(f"a file of {given.gigabytes:g} GB", open_dataset(mapped))
