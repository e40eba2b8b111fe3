"""Studies of the field's largest size: the time of commands per thousand finished runs.

A folder of finished runs is made from one trained run: 50 seeds of each setting, with their own scores and
codes. Then ``status``, ``table``, ``run`` (which finds nothing to do) and ``report`` are timed as a user
calls them, each in a process of its own.

    python -m benchmarks.studies                  # 1,000, 4,000 and 12,600 runs
    python -m benchmarks.studies 500 --keep DIR   # one size, in a folder that stays
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from safetensors import safe_open
from safetensors.numpy import save_file

from distaff.studies.results import Results
from distaff.studies.study import Study
from distaff.studies.study_run import StudyRun
from distaff.studies.worker_task import attempt

SIZES = (1_000, 4_000, 12_600)
SEEDS = 50
COMMANDS = ("status", "table", "run", "report")
LIMITS = {"status": 20.0, "table": 20.0, "run": 20.0, "report": 120.0}
"""Limits in seconds at 12,600 runs on two idle cores."""
OBSERVATIONS, SIDE = 1_024, 8
STUDY = {
    "name": "large",
    "steps": 10,
    "common": {"batch_size": 16, "network": "mlp", "latents": 10, "accelerator": "cpu"},
    "metrics": ["mig", "sap", "dci"],
}


def make(folder: Path, runs: int) -> Path:
    """Make a study of ``runs`` finished runs in ``folder``; returns its file."""
    data = folder / "data.npz"
    rng = np.random.default_rng(0)
    corners = rng.integers(0, SIDE - 2, (OBSERVATIONS, 2))
    images = np.zeros((OBSERVATIONS, 1, SIDE, SIDE), np.float32)
    for image, (row, column) in zip(images, corners, strict=True):
        image[0, row : row + 3, column : column + 3] = 1
    np.savez(data, images=images, factors=corners, factor_names=["row", "column"])
    betas = [round(1 + 0.01 * i, 2) for i in range(-(-runs // SEEDS))]
    entries = [{"recipe": "beta_vae", "beta": betas, "seed": list(range(min(SEEDS, runs)))}]
    file = folder / "large.yaml"
    file.write_text(yaml.safe_dump({**STUDY, "data": str(data), "runs": entries}))
    results = Results(Study.read(file), folder / "out")
    first, *others = results.all_runs
    outcome = attempt(first)
    assert outcome.error is None, outcome.details
    _copy_all(first, others)
    results.write()
    return file


def _copy_all(first: StudyRun, others: list[StudyRun]) -> None:
    """Copy the trained run to each of the others, with their own settings, scores and codes."""
    config = first.folder.config.read_text()
    scores = json.loads(first.folder.scores.read_text())
    log = first.folder.log.read_bytes()
    with safe_open(first.folder.codes, "numpy") as file:
        metadata = file.metadata()
        codes = {name: file.get_tensor(name) for name in ("means", "logvars")}
    before = f"beta: {first.settings['beta']}", f"seed: {first.settings['seed']}"
    for number, run in enumerate(others, 1):
        rng = np.random.default_rng(number)
        run.folder.path.mkdir(parents=True)
        after = f"beta: {run.settings['beta']}", f"seed: {run.settings['seed']}"
        text = config
        for old, new in zip(before, after, strict=True):
            text = text.replace(old, new)
        run.folder.config.write_text(text)
        run.folder.log.write_bytes(log)
        for score in scores["scores"]:
            score["value"] = float(rng.uniform())
        run.folder.scores.write_text(json.dumps(scores, indent=2))
        order = rng.permutation(codes["means"].shape[1])
        means = codes["means"][:, order] + 0.3 * rng.normal(size=codes["means"].shape).astype(np.float32)
        save_file({"means": means, "logvars": codes["logvars"][:, order]}, run.folder.codes, metadata)
        (run.folder.checkpoints / f"step-{run.steps:09d}").mkdir(parents=True)


@dataclass(frozen=True)
class Taken:
    """The time of a command: by the clock, and of processors, which says more on a busy machine."""

    command: str
    seconds: float
    processor: float


def measure(folder: Path) -> Iterator[Taken]:
    """Run each command on the study in a folder."""
    for command in COMMANDS:
        began, before = time.perf_counter(), _processor_seconds()
        line = [sys.executable, "-m", "distaff", "study", command, str(folder / "out")]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(line)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        yield Taken(command, time.perf_counter() - began, _processor_seconds() - before)


def _processor_seconds() -> float:
    """Processor time of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure each size and print seconds, and seconds per thousand runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES, help="finished runs")
    parser.add_argument("--keep", type=Path, help="folder for the studies, which are then kept")
    asked = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for runs in asked.sizes:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (asked.keep or Path(temporary)) / f"runs-{runs}"
            if not folder.exists():
                folder.mkdir(parents=True)
                make(folder, runs)
            for taken in measure(folder):
                wanted = LIMITS[taken.command] * runs / max(SIZES)
                print(
                    f"{runs:7,} runs  {taken.command:7}{taken.seconds:8.1f} s by the clock,"
                    f"{taken.processor:7.1f} s of a processor, {1_000 * taken.processor / runs:.2f} s of it "
                    f"per 1,000 runs (wanted: {wanted:.1f} s)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
