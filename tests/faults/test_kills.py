"""Runs of every family of recipes, killed at random moments and begun again: bit for bit as if never killed.

``make test-faults`` does ``DISTAFF_KILLS`` of them, 200 by default, from ``DISTAFF_FAULT_SEED``, by default
the time, and prints both.
"""

import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from distaff.runs.log import read_log
from tests import toys
from tests.processes import distaff

SEED = int(os.environ.get("DISTAFF_FAULT_SEED", time.time_ns() % 1_000_000))
KILLS = int(os.environ.get("DISTAFF_KILLS", "200"))
COMMON = {
    "--network": "mlp",
    "--latents": "3",
    "--steps": "60",
    "--batch-size": "16",
    "--log-every": "5",
    "--checkpoint-every": "7",
    "--accelerator": "cpu",
}
FAMILIES = {
    "plain": "vae --snapshots 3",
    "averaged": "beta_vae --average 0.9 --optimizer adamw --learning-rate cosine:1e-3:1e-4:60 --clip 1",
    "annealed": "annealed_vae --capacity linear:0:25:40",
    "critic": "factor_vae --critic.hidden 16 --critic.layers 2",
    "critic of the prior": "wae_gan --critic.hidden 16 --critic.layers 2",
    "density": "beta_tcvae --density weighted",
    "moments": "dip_vae_i",
    "kernel": "wae",
    "groups": "hfvae --latents style=gaussian:2,kind=concrete:3 --temperature linear:1:0.5:40",
    "mixture": "alpha_beta_vae --prior mixture:0.5 --latents 2",
    "game": "infogan --network infogan_mlp --latents side=concrete:2,place=uniform:2,noise:5",
    "game with penalty": "infowgan_gp --network infogan_mlp --latents side=concrete:2,noise:5",
}
MUST_STAY = (".lock",)


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    np.savez(path, images=toys.tiny_images(64).images[:].numpy())
    return path


def command(family: str, images: Path, out: Path) -> list[str]:
    own = FAMILIES[family].split()
    common = [word for flag, value in COMMON.items() if flag not in own for word in (flag, value)]
    return ["train", *own, *common, "--data", str(images), "--out", str(out)]


def outcome(folder: Path) -> dict[str, object]:
    """All that a run leaves and that should not depend on how often it was killed."""
    last = max(folder.glob("checkpoint/*/"))  # which one is kept beside it, the clock may have decided
    weights = [*last.glob("*.safetensors"), *folder.glob("snapshots/*")]
    found: dict[str, object] = {str(path.relative_to(folder)): path.read_bytes() for path in weights}
    found["log"] = [
        {name: value for name, value in line.items() if name != "seconds"}
        for line in read_log(folder / "log.jsonl")
    ]
    found["hidden"] = sorted(p.name for p in folder.rglob(".*") if p.name not in MUST_STAY)
    return found


def campaign(family: str, kills: int, images: Path, folder: Path, rng: random.Random) -> int:
    """Kill runs of a family so many times; how many runs were begun, each of which ended as it should."""
    began = time.monotonic()
    done = distaff(*command(family, images, folder / "whole")).end(600)
    assert done.returncode == 0, done.stderr
    lasts = time.monotonic() - began
    whole = outcome(folder / "whole")
    runs = 0
    while kills:
        runs += 1
        out = folder / f"killed-{runs}"
        killed_before = False
        while True:
            began = time.monotonic()
            process = distaff(*command(family, images, out))
            process.process.join(rng.uniform(0, lasts) if kills else 600)
            if not process.running:
                break
            process.send(signal.SIGKILL)
            process.process.join()
            kills, killed_before = kills - 1, True
        if not killed_before:
            lasts = min(lasts, time.monotonic() - began)  # the first run waits for the server of forks
        assert process.end().returncode == 0, process.end().stderr
        killed = outcome(out)
        assert killed.keys() == whole.keys()
        different = [name for name in whole if killed[name] != whole[name]]
        assert not different, f"{family}, seed {SEED}: {different} of {out}"
    return runs


@pytest.mark.parametrize("family", ["averaged", "game"])
def test_a_few_kills_change_nothing(family, images, tmp_path):
    campaign(family, 2, images, tmp_path, random.Random(f"{SEED} {family}"))


@pytest.mark.faults
@pytest.mark.parametrize("family", FAMILIES)
def test_kills_by_the_hundred_change_nothing(family, images, tmp_path, capsys):
    kills = -(-KILLS // len(FAMILIES))
    runs = campaign(family, kills, images, tmp_path, random.Random(f"{SEED} {family}"))
    with capsys.disabled():
        print(f"\n{family}: {kills} kills, {runs} runs, all bit for bit as if never killed (seed {SEED})")
