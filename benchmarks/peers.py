"""End-to-end speed against pythae's own trainer with the same networks: ``make bench-peers``.

Each library trains in a process of its own, as a user would run it, including data and logging; the processes
take turns.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import show

STEPS, WARM, TURNS = 120, 20, 5


def distaff_seconds(recipe: str) -> float:
    from distaff.runs.log import read_log
    from distaff.training.train import train

    with tempfile.TemporaryDirectory() as folder:
        train(recipe, "dsprites", steps=STEPS, log_every=WARM, out=Path(folder) / "run", progress=False)
        log = read_log(Path(folder) / "run/log.jsonl")
    return (log[-1]["seconds"] - log[0]["seconds"]) / (STEPS - WARM)


def pythae_seconds(recipe: str) -> float:
    from pythae.trainers.training_callbacks import TrainingCallback

    from benchmarks import pythae_peer
    from distaff.data import dsprites

    class Clock(TrainingCallback):
        def __init__(self) -> None:
            self.times: list[float] = []

        def on_train_step_end(self, *_: object, **__: object) -> None:
            self.times.append(time.perf_counter())

    data, batch = dsprites.load(), pythae_peer.BATCH[recipe]
    rows = np.random.default_rng(0).choice(len(data), batch * STEPS, replace=False)
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        images = data.images[rows].numpy()
        pythae_peer.train(pythae_peer.model(recipe), recipe, images, Path(folder), [clock])
    return (clock.times[-1] - clock.times[WARM - 1]) / (len(clock.times) - WARM)


def main() -> None:
    if len(sys.argv) == 3:
        measure = {"distaff": distaff_seconds, "pythae": pythae_seconds}[sys.argv[1]]
        return print(f"seconds {measure(sys.argv[2])}")
    for recipe in ("beta_vae", "factor_vae"):
        taken: dict[str, list[float]] = {"distaff": [], "pythae": []}
        for _ in range(TURNS):
            for library, values in taken.items():
                command = [sys.executable, "-m", "benchmarks.peers", library, recipe]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    sys.exit(done.stderr)
                values.append(float(done.stdout.rpartition("seconds ")[2]))
        ours, theirs = (statistics.median(taken[library]) for library in ("distaff", "pythae"))
        print(f"{recipe}: distaff {1000 * ours:.0f} ms, pythae {1000 * theirs:.0f} ms a step here, now")
        show(f"{recipe}: speed of distaff / speed of pythae, end to end", theirs / ours, "≥ 1.4")
    return None


if __name__ == "__main__":
    main()
