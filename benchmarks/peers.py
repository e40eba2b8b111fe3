"""End-to-end speed against pythae's own trainer with the same networks: ``make bench-peers``.

Each library trains in a process of its own as its user would run it, data and logging included; the
processes take turns. pythae halves a FactorVAE batch into the two that Algorithm 2 asks for, so it gets 128.
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
    from distaff.runs.folder import read_log
    from distaff.training.train import train

    with tempfile.TemporaryDirectory() as folder:
        train(recipe, "dsprites", steps=STEPS, log_every=WARM, out=Path(folder) / "run", progress=False)
        log = read_log(Path(folder) / "run/log.jsonl")
    return (log[-1]["seconds"] - log[0]["seconds"]) / (STEPS - WARM)


def pythae_seconds(recipe: str) -> float:
    import torch
    from pythae.models import BetaVAE, BetaVAEConfig, FactorVAE, FactorVAEConfig
    from pythae.models.base.base_utils import ModelOutput
    from pythae.models.nn import BaseDecoder, BaseEncoder
    from pythae.pipelines import TrainingPipeline
    from pythae.trainers import AdversarialTrainerConfig, BaseTrainerConfig
    from pythae.trainers.training_callbacks import TrainingCallback

    from benchmarks.handwritten import plain_networks
    from distaff.data import dsprites

    class Encoder(BaseEncoder):
        def __init__(self) -> None:
            super().__init__()
            self.net = plain_networks().encoder

        def forward(self, x: torch.Tensor) -> ModelOutput:
            mu, logvar = self.net(x).chunk(2, dim=1)
            return ModelOutput(embedding=mu, log_covariance=logvar)

    class Decoder(BaseDecoder):
        def __init__(self) -> None:
            super().__init__()
            self.net = plain_networks().decoder

        def forward(self, z: torch.Tensor) -> ModelOutput:
            return ModelOutput(reconstruction=self.net(z).sigmoid())

    class Clock(TrainingCallback):
        def __init__(self) -> None:
            self.times: list[float] = []

        def on_train_step_end(self, *_: object, **__: object) -> None:
            self.times.append(time.perf_counter())

    shape = {"input_dim": (1, 64, 64), "latent_dim": 10, "reconstruction_loss": "bce"}
    if recipe == "factor_vae":
        batch, settings = 128, AdversarialTrainerConfig
        model = FactorVAE(FactorVAEConfig(**shape, gamma=35.0), Encoder(), Decoder())
    else:
        batch, settings = 64, BaseTrainerConfig
        model = BetaVAE(BetaVAEConfig(**shape, beta=4.0), Encoder(), Decoder())
    data = dsprites.load()
    rows = np.random.default_rng(0).choice(len(data), batch * STEPS, replace=False)
    images = data.images[rows].numpy()
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        config = settings(output_dir=folder, num_epochs=1, per_device_train_batch_size=batch)
        pipeline = TrainingPipeline(training_config=config, model=model)
        pipeline(train_data=images, callbacks=[clock])
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
