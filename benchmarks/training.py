"""Speed of training and encoding on dSprites, as ratios measured in one run: ``make bench``."""

import distaff.training  # noqa: F401  # isort: skip  (keeps freed memory, as the command line does: before torch)

import os
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from lightning_fabric import Fabric

from benchmarks.handwritten import HandWritten, plain_networks
from benchmarks.timing import seconds, show
from distaff.data import dsprites
from distaff.data.dataset import Dataset
from distaff.foundation.progress import Progress
from distaff.models.latents import LatentSpace
from distaff.models.networks import kim_mnih
from distaff.models.networks.halving import channels_last
from distaff.models.representation import Representation
from distaff.models.vae import VAE
from distaff.objectives import recipes
from distaff.objectives.objective import Objective
from distaff.runs.sections import TrainingSettings
from distaff.training.batches import Batches
from distaff.training.job import fit
from distaff.training.learner import Learner, VAELearner, make_adam
from distaff.training.recorder import Recorder

GFLOP = {"beta_vae": 6.07, "factor_vae": 12.23}
STEPS = 5
ENCODED = 16_384


def loop_of(
    objective: Objective, data: Dataset, batch: int, dims: int = 10, steps: int = STEPS
) -> Callable[[], None]:
    """``fit`` as called by ``train``, but without a folder; each call continues for ``steps`` steps."""
    fabric = Fabric(accelerator="cpu", devices=1)
    latents = LatentSpace.parse(dims)
    model = channels_last(VAE(kim_mnih(data.shape, latents.parameters, latents.width), latents))
    adam = make_adam(model.parameters(), 1e-4, (0.9, 0.999))
    learner = VAELearner(model, objective, adam, len(data), fabric)
    return going_on(learner, Batches(data, batch, 0, fabric.device), fabric, steps)


def going_on(learner: Learner, batches: Batches, fabric: Fabric, steps: int) -> Callable[[], None]:
    """``fit`` of a learner; each call continues for ``steps`` steps and writes nothing."""
    often = TrainingSettings(log_every=100, checkpoint_every=10**9)
    recorder = Recorder(None, fabric, often, Progress("", 10**9, visible=False))
    done = 0

    def run() -> None:
        nonlocal done
        fit(learner, batches, done, done + steps, recorder)
        done += steps

    return run


def against_hand_written(data: Dataset) -> None:
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    for name, objective, gamma in (
        ("beta_vae", recipes.beta_vae(4.0), None),
        ("factor_vae", recipes.factor_vae(10.0), 10.0),
    ):
        hand = HandWritten(data, 64, gamma)
        candidates = {
            "distaff": loop_of(objective, data, 64),
            "by hand": lambda hand=hand: [hand.step() for _ in range(STEPS)],
            "sgemm": lambda: [a @ b for _ in range(40)],
        }
        taken = seconds(candidates)
        ratio = taken["distaff"] / taken["by hand"]
        show(f"{name}: time of distaff / best loop by hand, batch 64", ratio, "≤ 1.05")
        rate = 40 * 2 * 1024**3 / taken["sgemm"]
        share = GFLOP[name] * 1e9 * STEPS / taken["distaff"] / rate
        show(f"{name}: share of the SGEMM rate ({rate / 1e9:.0f} GFLOP/s)", share, "≥ 0.55, factor_vae 0.60")
        print(f"    {1000 * taken['distaff'] / STEPS:.1f} ms a step here, now")


def batch_scaling(data: Dataset) -> None:
    taken = seconds({str(size): loop_of(recipes.beta_vae(4.0), data, size) for size in (64, 256)})
    show("beta_vae: time of a batch of 256 / 4 × batch of 64", taken["256"] / taken["64"] / 4, "≤ 1.1")


def encoding(data: Dataset) -> None:
    """Compare encoding with a default loop, which runs in a process of its own with the default allocator."""
    latents = LatentSpace.parse(10)
    model = Representation(VAE(kim_mnih(data.shape, latents.parameters, latents.width), latents), data.shape)
    images = data.subset(slice(0, ENCODED)).images
    ours, theirs = [], []
    for _ in range(4):
        start = time.perf_counter()
        model.encode(images)
        ours.append(time.perf_counter() - start)
        command = [sys.executable, "-m", "benchmarks.training", "plain-encoder"]
        environment = {**os.environ, "DISTAFF_KEEP_MEMORY": "0"}
        theirs.append(float(subprocess.run(command, capture_output=True, env=environment, check=True).stdout))
    show("encoding: images a second, distaff / default eager loop", min(theirs) / min(ours), "≥ 2.5")
    print(f"    {ENCODED / min(ours):,.0f} against {ENCODED / min(theirs):,.0f} images/s here, now")


def plain_encoding() -> None:
    data = dsprites.load()
    encoder = plain_networks().encoder
    best = float("inf")
    for _ in range(2):
        start = time.perf_counter()
        with torch.no_grad():
            for first in range(0, ENCODED, 64):
                encoder(data.images[first : first + 64])
        best = min(best, time.perf_counter() - start)
    print(best)


def main() -> None:
    if sys.argv[1:] == ["plain-encoder"]:
        return plain_encoding()
    data = dsprites.load()
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}")
    against_hand_written(data)
    batch_scaling(data)
    return encoding(data)


if __name__ == "__main__":
    main()
