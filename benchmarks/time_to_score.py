"""Score, MIG and reconstruction against minutes, for a preset over seeds.

``python -m benchmarks.time_to_score RUNS`` reads the snapshots of a study, such as the one made by
``distaff study run studies/quick/dsprites.yaml``, so that long work is done once and resumed like any study.
The time of a step is measured by this command, on an otherwise idle machine with all its cores, since the
runs of a study share the cores; minutes are steps times that.
"""

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from safetensors.torch import load_file

import distaff
from distaff.data.dataset import Dataset
from distaff.runs.config import RunConfig
from distaff.runs.folder import RunFolder
from distaff.runs.log import read_log

PAPER = {"factor_vae_score": 0.82, "reconstruction": 45.0}
"""Results of Kim & Mnih 2018 after 300,000 steps on 2D Shapes (Fig. 4, 5), drawn as lines."""
TITLES = {"factor_vae_score": "FactorVAE score", "mig": "MIG", "reconstruction": "reconstruction (nats)"}
WARM, TIMED = 20, 120


@dataclass(frozen=True)
class Moment:
    """A run after some steps.

    Args:
        seed: seed of the run.
        step: number of steps.
        factor_vae_score: FactorVAE score, mean over three draws of the votes.
        mig: mutual information gap.
        reconstruction: reconstruction error of training, in nats.
        votes: fraction of correct votes for each factor.
    """

    seed: int
    step: int
    factor_vae_score: float
    mig: float
    reconstruction: float
    votes: dict[str, float]


def moments(run: Path, sample: Dataset) -> list[Moment]:
    """Score every snapshot of a run on a sample; results are kept beside the run, since it takes a while."""
    kept = run / "time_to_score.json"
    if kept.exists():
        return [Moment(**moment) for moment in json.loads(kept.read_text())]
    folder, representation = RunFolder(run), distaff.load(run)
    log = read_log(folder.log)
    found = []
    for snapshot in sorted(folder.snapshots.iterdir()):
        step = int(snapshot.stem.rpartition("-")[2])
        representation.model.load_state_dict(load_file(snapshot))
        codes = representation.encode(sample.images[:].numpy())
        draws = [distaff.metrics.factor_vae_score(codes, sample.factors, seed=seed) for seed in range(3)]
        shares = [list(draw.per_factor.values()) for draw in draws]
        votes = dict(zip(sample.names, np.mean(shares, axis=0).tolist(), strict=True))
        score = float(np.mean([draw.value for draw in draws]))
        mig = float(distaff.metrics.mig(codes, sample.factors).value)
        seed = folder.read().training.seed
        nll = next(line["nll"] for line in log if line["step"] >= step)
        found.append(Moment(seed, step, score, mig, nll, votes))
        print(f"seed {seed} step {step:6,}: score {score:.3f}, MIG {mig:.3f}, nll {nll:.1f}", votes)
    kept.write_text(json.dumps([vars(moment) for moment in found]))
    return found


def seconds_per_step(config: RunConfig) -> float:
    """The time of a step of such a run on this machine, now."""
    recipe = config.recipe
    settings = {**recipe.arguments, "batch_size": config.training.batch_size, "log_every": WARM}
    options = {"latents": str(config.model.latents), "network": config.model.network, "learning_rate": 1e-3}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        told = {**settings, **options, "steps": TIMED, "out": out, "progress": False}
        distaff.train(recipe.name, config.data.spec, **told)
        log = read_log(out / "log.jsonl")
    return float((log[-1]["seconds"] - log[0]["seconds"]) / (TIMED - WARM))


def draw(found: list[Moment], second: float, path: Path) -> None:
    """Three panels over minutes, one line per seed, dashed lines for the paper."""
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
    for panel, (quantity, title) in zip(panels, TITLES.items(), strict=True):
        for seed in sorted({moment.seed for moment in found}):
            own = [moment for moment in found if moment.seed == seed]
            minutes = [moment.step * second / 60 for moment in own]
            panel.plot(
                minutes, [getattr(moment, quantity) for moment in own], marker="o", label=f"seed {seed}"
            )
        if quantity in PAPER:
            panel.axhline(PAPER[quantity], color="grey", linestyle="--", linewidth=1)
        panel.set(title=title, xlabel="minutes on two cores")
    panels[0].legend(fontsize="small")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", nargs="?", default="runs/quick-dsprites", help="folder of a study")
    parser.add_argument("--out", default="time-to-score.png", help="the figure")
    parser.add_argument("--second", type=float, help="seconds per step, if measured before")
    given = parser.parse_args()
    runs = sorted(path.parent for path in Path(given.study).glob("runs/*/snapshots"))
    config = RunFolder(runs[0]).read()
    data = config.data.reopen()
    rows = np.sort(np.random.default_rng(0).choice(len(data), 20_000, replace=False))
    found = [moment for run in runs for moment in moments(run, data.subset(rows))]
    second = given.second or seconds_per_step(config)
    print(f"{1000 * second:.0f} ms per step here, now")
    draw(found, second, Path(given.out))


if __name__ == "__main__":
    main()
