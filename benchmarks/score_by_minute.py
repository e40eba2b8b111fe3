"""Scores by minutes of training on one thread, for distaff and pythae: ``make bench-peers``.

``python -m benchmarks.score_by_minute`` trains FactorVAE and β-TCVAE on dSprites with Kim & Mnih's networks
in both libraries, each run in a process of its own with one thread, and scores them at the same minutes of
processor time, which other work on the machine affects far less than wall-clock time. Ours uses the preset
``quick``; pythae uses its own models and trainers with the papers' weights, at the learning rate of Kim &
Mnih (1e-4) and at that of the preset (1e-3). Every run and minute is a row of a csv file that is written
along the way, so that the command resumes where it was stopped. Everything takes about two hours of one core;
``--seeds 0 --minutes 1`` is a short trial, and ``--draw`` only draws.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file
from torch.nn import functional as F

import distaff
from benchmarks.minutes import WAYS, Moment, Way, draw, kept, of, tell
from distaff import Codes
from distaff.data import dsprites
from distaff.data.dataset import Dataset
from distaff.runs import snapshots
from distaff.runs.folder import RunFolder

MINUTES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15)
SCORED, REBUILT, DRAWS = 10_000, 2_000, 3
SNAPSHOTS, EVERY = 40, 100


class Judge:
    """The same measurements for all: scores of codes of random images, and reconstructions of some."""

    def __init__(self, data: Dataset) -> None:
        rows = np.sort(np.random.default_rng(0).choice(len(data), SCORED, replace=False))
        self.sample = data.subset(rows)
        self.images = self.sample.images[:].float()
        self.some = torch.from_numpy(np.random.default_rng(1).choice(SCORED, REBUILT, replace=False))
        self.noise = torch.from_numpy(np.random.default_rng(2).normal(size=(REBUILT, 10))).float()

    def scores(
        self, codes: Codes, decode: Callable[[torch.Tensor], torch.Tensor]
    ) -> tuple[float, float, float]:
        factors = self.sample.factors
        votes = [distaff.metrics.factor_vae_score(codes, factors, seed=seed).value for seed in range(DRAWS)]
        mig = float(distaff.metrics.mig(codes, factors).value)
        assert codes.logvars is not None
        mu, logvar = (torch.from_numpy(part)[self.some] for part in (codes.means, codes.logvars))
        made = decode(mu + (0.5 * logvar).exp() * self.noise)
        lost = F.binary_cross_entropy(made, self.images[self.some], reduction="sum") / REBUILT
        return float(np.mean(votes)), mig, float(lost)


def ours(way: Way, seed: int, minutes: Sequence[float], keep: Callable[[Moment], None], out: Path) -> None:
    """Train with the preset, or resume, and score the snapshots at the end."""
    judge = Judge(dsprites.load())
    folder = RunFolder(out)
    times = out.with_name(f"{out.name}.json")  # not with_suffix: a rate contains a dot too
    seen = {int(step): at for step, at in json.loads(times.read_text()).items()} if times.exists() else {}
    last = max((int(one.name.rpartition("-")[2]) for one in out.glob("checkpoint/step-*")), default=0)
    seen = {step: at for step, at in seen.items() if step <= last}
    start, over = time.process_time() - 60 * seen.get(last, 0.0), threading.Event()

    def watch() -> None:
        while True:
            ended = over.is_set()
            now = (time.process_time() - start) / 60
            for step in snapshots.kept(folder.snapshots):
                if step > last and step not in seen:
                    seen[step] = now
                    times.write_text(json.dumps(seen))
            if ended:
                return
            time.sleep(0.1)

    for file in folder.snapshots.glob("step-*"):  # snapshots after the checkpoint are made again
        if int(file.stem.rpartition("-")[2]) > last:
            file.unlink()
    watcher = threading.Thread(target=watch)
    watcher.start()
    settings = {"preset": "quick", "seed": seed, "snapshots": SNAPSHOTS, "checkpoint_every": EVERY}
    distaff.train(way.recipe, "dsprites", out=out, progress=False, **settings)
    over.set()
    watcher.join()
    representation = distaff.load(out)
    end = max(seen.values())
    for minute in [*(m for m in minutes if m < end), end]:
        step = max((s for s, at in seen.items() if at <= minute), default=0)
        if not step:
            continue
        representation.model.load_state_dict(load_file(snapshots.kept(folder.snapshots)[step]))
        codes = representation.encode(judge.images.numpy())
        found = judge.scores(codes, lambda z: torch.from_numpy(representation.decode(z.numpy())))
        keep(Moment(way.library, way.recipe, way.rate, seed, round(minute, 3), seen[step], step, *found))


def theirs(way: Way, seed: int, minutes: Sequence[float], keep: Callable[[Moment], None], out: Path) -> None:
    """Train with pythae's trainer, which pauses while it is scored."""
    from pythae.trainers.training_callbacks import TrainingCallback

    from benchmarks import pythae_peer

    data = dsprites.load()
    judge = Judge(data)
    torch.manual_seed(seed)
    model = pythae_peer.model(way.recipe)

    class Enough(Exception):
        """The last minute is over."""

    class Marks(TrainingCallback):
        def __init__(self) -> None:
            self.step, self.start, self.left = 0, 0.0, list(minutes)

        def on_train_begin(self, *_: object, **__: object) -> None:
            self.start = time.process_time()

        def on_train_step_end(self, *_: object, **__: object) -> None:
            self.step += 1
            now = time.process_time()
            if (now - self.start) / 60 < self.left[0]:
                return
            with torch.no_grad(), torch.random.fork_rng():
                made = [model.encoder(block) for block in judge.images.split(500)]
                mu, logvar = (torch.cat([one[k] for one in made]) for k in ("embedding", "log_covariance"))
                codes = Codes(mu.numpy(), logvar.numpy())
                found = judge.scores(codes, lambda z: model.decoder(z)["reconstruction"])
            at = (now - self.start) / 60
            keep(Moment(way.library, way.recipe, way.rate, seed, self.left.pop(0), at, self.step, *found))
            if not self.left:
                raise Enough
            self.start += time.process_time() - now

    images, options = pythae_peer.Images(data), {"rate": way.rate, "seed": seed, "epochs": 100}
    with contextlib.suppress(Enough):
        pythae_peer.train(model, way.recipe, images, out, [Marks()], **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", nargs="*", help="library, recipe, rate and seed of a single run")
    parser.add_argument("--minutes", type=float, nargs="+", default=MINUTES)
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1, 2))
    parser.add_argument("--table", type=Path, default=Path("docs/results/score-by-minute.csv"))
    parser.add_argument("--figure", type=Path, default=Path("docs/images/score-by-minute.png"))
    parser.add_argument("--runs", type=Path, default=Path("runs/peers"), help="where runs are kept")
    parser.add_argument("--draw", action="store_true", help="draw the results so far, and train nothing")
    given = parser.parse_args()

    def keep(moment: Moment) -> None:
        print(moment, flush=True)
        rows = pd.concat([kept(given.table), pd.DataFrame([asdict(moment)])])
        rows.round(4).to_csv(given.table, index=False)

    if given.run:
        torch.set_num_threads(1)
        library, recipe, rate, seed = given.run
        train = {"distaff": ours, "pythae": theirs}[library]
        out = given.runs / f"{library}-{recipe}-{rate}-{seed}"
        out.parent.mkdir(parents=True, exist_ok=True)
        return train(Way(library, recipe, float(rate)), int(seed), given.minutes, keep, out)
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    for seed in given.seeds if not given.draw else ():
        for way in WAYS:
            minutes = [minute for minute in given.minutes if minute <= way.until]
            rows = of(kept(given.table), way)
            rows = rows[rows["seed"] == seed]
            ended = len(rows) >= len(minutes) or (way.library == "distaff" and len(rows) > 0)
            if ended:
                continue
            table = kept(given.table).drop(index=rows.index)
            table.to_csv(given.table, index=False)
            run = [way.library, way.recipe, str(way.rate), str(seed)]
            limits = ["--minutes", *map(str, minutes), "--table", str(given.table), "--runs", str(given.runs)]
            subprocess.run(
                [sys.executable, "-m", "benchmarks.score_by_minute", *run, *limits], env=alone, check=True
            )
    table = kept(given.table)
    tell(table)
    draw(table, given.figure)
    return None


if __name__ == "__main__":
    main()
