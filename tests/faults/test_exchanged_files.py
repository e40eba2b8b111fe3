"""Files and folders of a run deleted, emptied, exchanged or replaced by what is no file: as before, or said.

``make test-faults`` does ``DISTAFF_EXCHANGES`` cases, 200 by default, from ``DISTAFF_FAULTS_SEED``.
"""

import os
import random
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import distaff
from distaff import cli
from distaff.export import export_run
from tests import toys

SEED = int(os.environ.get("DISTAFF_FAULTS_SEED", str(time.time_ns() % 10**6)))
CASES = int(os.environ.get("DISTAFF_EXCHANGES", "200"))
SECONDS = 30
"""After which a command counts as one that never ends."""
SETTINGS = {
    **{"steps": 6, "checkpoint_every": 2, "snapshots": 2, "batch_size": 8, "log_every": 1, "latents": 2},
    **{"network": "mlp:hidden=4", "hold_out": 0.2, "validate_every": 2, "patience": 9, "accelerator": "cpu"},
}
COMMANDS = (
    ("evaluate", "run", "--metrics", "hoyer"),
    ("evaluate", "run", "--metrics", "hoyer", "--ica"),
    ("decompose", "run", "--samples", "8", "--particles", "2"),
    ("encode", "run", "--data", "data.npz", "--out", "codes.npz"),
    ("doctor", "run"),
    ("export", "run", "--hub", "new", "--overwrite"),
    ("resume", "run"),
)
PLACES = ("run", "data.npz", "codes.npz", "new")
LINKS = {"nowhere": "absent", "endless": "/dev/zero", "above": ".."}
KINDS = ("deleted", "empty", "folder", "loop", "pipe", "holes", "other", "other run", *LINKS)
MEASURED = ("evaluate", "decompose")
"""Commands that print numbers, which must be the former ones, or others with a warning."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """Two finished runs with everything in them."""
    folder = tmp_path_factory.mktemp("exchanged")
    np.savez(folder / "data.npz", images=toys.ring(40).images[:].numpy())
    for seed, name in enumerate(("run", "other")):
        run = folder / name
        distaff.train("beta_vae", folder / "data.npz", out=run, seed=seed, progress=False, **SETTINGS)
        for ica in (False, True):
            distaff.evaluate_run(run, metrics="hoyer", ica=ica, progress=False)
        export_run(run, hub=run / "hub", progress=False)
    return folder


def exchange(run: Path, other: Path, rng: random.Random) -> str:
    """Do something to a file or folder of a run; says what."""
    place, kind = rng.choice(sorted(run.rglob("*"))), rng.choice(KINDS)
    source = other / place.relative_to(run) if kind == "other run" else rng.choice(sorted(run.rglob("*")))
    copy = source.read_bytes() if kind.startswith("other") and source.is_file() else b""
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()
    if kind in LINKS or kind == "loop":
        place.symlink_to(LINKS.get(kind, place.name))
    elif kind == "folder":
        (place / "within").mkdir(parents=True)
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind != "deleted":
        place.write_bytes(copy)
        if kind == "holes":
            os.truncate(place, 1 << 40)
    return f"{place.relative_to(run)}: {kind} {source.name if copy else ''}"


def answer(
    command: tuple[str, ...], place: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[object, str, set[str]]:
    """The exit code, what was printed, and the warnings and errors."""
    code: object = 0
    words = [str(place / word) if word in PLACES else word for word in command]
    signal.alarm(SECONDS)
    try:
        cli.main([*words, *([] if command[0] == "doctor" else ["--no-progress"])])
    except SystemExit as stop:
        code = stop.code
    finally:
        signal.alarm(0)
    printed = capsys.readouterr()
    return code, printed.out, {line for line in printed.err.splitlines() if line.startswith("distaff: ")}


def campaign(whole: Path, place: Path, cases: int, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Every answer is the former one, says more than that, or is one sentence of refusal."""

    def fresh() -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(whole, place)

    former = {}
    for command in COMMANDS:
        fresh()
        former[command] = answer(command, place, capsys)
        assert former[command][0] in (0, 1), former[command]
    for case in range(cases):
        rng = random.Random(f"{seed} {case}")
        fresh()
        what = f"seed {seed}, case {case}, {exchange(place / 'run', place / 'other', rng)}"
        for command in rng.sample(COMMANDS, 2):
            try:
                code, printed, said = answer(command, place, capsys)
            except BaseException as leak:
                raise AssertionError(f"{what}, {command}: {type(leak).__name__}: {leak}") from leak
            expected, shown, told = former[command]
            assert code in (expected, cli.BAD_INPUT) or command[0] == "doctor", f"{what}, {command}: {code}"
            same = command[0] not in MEASURED or printed == shown
            assert same or said - told, f"{what}, {command}: {printed}"


@pytest.fixture(autouse=True)
def _cache_and_clock(tmp_path, monkeypatch):
    def late(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setenv("DISTAFF_CACHE", str(tmp_path / "cache"))
    former = signal.signal(signal.SIGALRM, late)
    yield
    signal.signal(signal.SIGALRM, former)


def test_a_few_exchanged_files(whole, tmp_path, capsys):
    campaign(whole, tmp_path / "work", 6, 0, capsys)


@pytest.mark.faults
def test_exchanged_files(whole, tmp_path, capsys):
    campaign(whole, tmp_path / "work", CASES, SEED, capsys)
    with capsys.disabled():
        print(f"\n{CASES} cases, all as before or said (seed {SEED})")
