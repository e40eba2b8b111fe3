"""Mutated files of every format that the library reads: only ``DistaffError`` comes out, and soon.

Each format has a short campaign in ``make test`` and a long one in ``make test-faults``, whose size and seed
are ``DISTAFF_FAULTS`` (cases per format) and ``DISTAFF_FAULTS_SEED``; the seed is printed.
"""

import contextlib
import os
import resource
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import distaff
from distaff import studies
from distaff.analysis.encoding import already_encoded
from distaff.data import tables
from distaff.data.pairs import listed
from distaff.explore.uploads import read_upload
from distaff.foundation.errors import DistaffError
from distaff.metrics.code_sources import read_source
from distaff.metrics.codes_file import read_codes
from distaff.metrics.score import Scores
from distaff.models import Unmixing
from distaff.runs import RunFolder
from distaff.runs.folder import read_log, read_names, save_name
from distaff.runs.load import TrainedRun
from distaff.studies.drawings import history
from distaff.studies.kept import claims_by_paper, keep_results, kept_studies
from distaff.studies.results import Results
from distaff.studies.run_files import Work
from distaff.studies.study import Study
from distaff.studies.worker_task import attempt
from tests import toys
from tests.data.test_fuzz import FORMATS as DATA
from tests.data.test_fuzz import STARTING
from tests.faults import mutations

SHORT = 12
LONG = int(os.environ.get("DISTAFF_FAULTS", "2000"))
SEED = int(os.environ.get("DISTAFF_FAULTS_SEED", str(time.time_ns() % 10**6)))
SECONDS, MEMORY = 10.0, 2 << 20
"""Of the processor per case, and KiB of growth over all cases of a format, each with the processes begun."""
STUDY = """
name: small
data: pinwheel
steps: 4
seeds: 2
common: {batch_size: 400, latents: 2, network: pinwheel, snapshots: 2, accelerator: cpu}
runs: [vae]
metrics: [hoyer]
claims:
  - {says: "Few latents speak (Doe 2018, Fig. 1)", within: {metric: hoyer, range: [0, 1]}}
  - {says: "And say much (Fig. 2)", within: {metric: log.nll, range: [0, 9]}}
"""
STUDIED, UNFINISHED = "study/runs/*seed0*", "study/runs/*seed1*"
Mutate = Callable[[bytes, np.random.Generator], bytes]


@dataclass(frozen=True)
class Format:
    """A kind of file: what matches it in a folder, what makes it bad, and what reads it."""

    file: str
    mutate: Mutate
    read: Callable[[Path], object]


def read_config(folder: Path) -> object:
    """All that is done with it before training, evaluation or drawing begin."""
    config = RunFolder(folder).read()
    config.to_yaml()
    config.recipe.goal()
    config.data.reopen()
    return distaff.load(folder)


def read_unsealed_config(folder: Path) -> object:
    """As former versions wrote it, without the hash that would notice every change at once."""
    file = folder / "run.yaml"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(line for line in lines if not line.startswith(b"# sha256")))
    return read_config(folder)


def read_scores(folder: Path) -> object:
    return [repr(entry.score) for entry in Scores.read(folder / "scores.json").entries if not entry.reason]


def read_codes_of_run(folder: Path) -> object:
    return already_encoded(run := TrainedRun.open(RunFolder(folder)), run.config.data.fingerprint)


def read_study(folder: Path) -> object:
    """All that is said of a study, which may be from elsewhere."""
    study = folder / "study"
    return [studies.status(study), studies.table(study), Results.read(study).table]


def read_measured(folder: Path) -> object:
    run = Results.read(folder / "study").all_runs[0]
    return history.measured(run, "mean", lambda codes, _: float(codes.means.mean()), 4)


def upload(folder: Path) -> object:
    return read_upload((folder / "upload.png").read_bytes(), (1, 8, 8))


FORMATS = {
    "run.yaml": Format("run.yaml", mutations.yaml_bytes, read_config),
    "run.yaml without a hash": Format("run.yaml", mutations.yaml_bytes, read_unsealed_config),
    "manifest": Format("checkpoint/step-000000004/checkpoint.json", mutations.json_bytes, distaff.load),
    "weights": Format("checkpoint/step-000000004/model.safetensors", mutations.any_bytes, distaff.load),
    "snapshot": Format(
        "snapshots/step-000000002.safetensors", mutations.any_bytes, lambda run: distaff.load(run, step=2)
    ),
    "hub config": Format("hub/config.json", mutations.json_bytes, lambda run: distaff.load(run / "hub")),
    "hub weights": Format(
        "hub/model.safetensors", mutations.any_bytes, lambda run: distaff.load(run / "hub")
    ),
    "scores.json": Format("scores.json", mutations.json_bytes, read_scores),
    "names.json": Format("names.json", mutations.json_bytes, lambda run: read_names(RunFolder(run))),
    "log.jsonl": Format("log.jsonl", mutations.json_lines, lambda run: read_log(run / "log.jsonl")),
    "codes of a run": Format("codes.safetensors", mutations.any_bytes, read_codes_of_run),
    "codes npz": Format("codes.npz", mutations.any_bytes, lambda run: read_codes(run / "codes.npz")),
    "codes npy": Format("codes.npy", mutations.any_bytes, lambda run: read_codes(run / "codes.npy")),
    "codes csv": Format("codes.csv", mutations.text_bytes, lambda run: read_source(run / "codes.csv")),
    "codes parquet": Format(
        "codes.parquet", mutations.any_bytes, lambda run: read_source(run / "codes.parquet")
    ),
    "labels npz": Format(
        "labels.npz", mutations.any_bytes, lambda run: read_source(run / "codes.npy", run / "labels.npz")
    ),
    "components": Format("ica.safetensors", mutations.any_bytes, lambda run: distaff.load(run, ica=True)),
    "table csv": Format("codes.csv", mutations.text_bytes, lambda run: tables.load(run / "codes.csv")),
    "table parquet": Format(
        "codes.parquet", mutations.any_bytes, lambda run: tables.load(run / "codes.parquet")
    ),
    "pairs": Format(
        "pairs.npy", mutations.any_bytes, lambda run: listed(str(run / "pairs.npy"), toys.ring(40))
    ),
    "study.yaml": Format("study/study.yaml", mutations.yaml_bytes, read_study),
    "scores in a study": Format(f"{STUDIED}/scores.json", mutations.json_bytes, read_study),
    "log in a study": Format(f"{STUDIED}/log.jsonl", mutations.json_lines, read_study),
    "run.yaml in a study": Format(f"{STUDIED}/run.yaml", mutations.yaml_bytes, read_study),
    "note of a worker": Format(f"{UNFINISHED}/.work.json", mutations.json_bytes, read_study),
    "failure in a study": Format(f"{UNFINISHED}/failure.json", mutations.json_bytes, read_study),
    "numbers of snapshots": Format(f"{STUDIED}/snapshots/measured.json", mutations.json_bytes, read_measured),
    "kept claims": Format(
        "kept/small/claims.json",
        mutations.json_bytes,
        lambda run: claims_by_paper(kept_studies(run / "kept")),
    ),
    "kept table": Format(
        "kept/small/study.parquet",
        mutations.any_bytes,
        lambda run: claims_by_paper(kept_studies(run / "kept")),
    ),
    "upload": Format("upload.png", mutations.any_bytes, upload),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run folder with everything in it that is read again."""
    folder = tmp_path_factory.mktemp("whole")
    np.savez(folder / "data.npz", images=toys.ring(40).images[:].numpy())
    settings = {"steps": 4, "checkpoint_every": 2, "snapshots": 2, "batch_size": 8, "log_every": 1}
    settings |= {"latents": "z=gaussian:2,kind=concrete:3", "network": "mlp:hidden=4", "progress": False}
    run = folder / "run"
    distaff.train("beta_tcvae", folder / "data.npz", out=run, beta="linear:1:4:10", **settings)
    distaff.evaluate_run(run, metrics="total_correlation", progress=False)
    distaff.export_run(run, hub=run / "hub", progress=False)
    save_name(RunFolder(run), ["z0"], "z0", "left to right")
    rng = np.random.default_rng(0)
    np.savez_compressed(
        run / "codes.npz", means=rng.normal(size=(9, 2)), factors=np.arange(9) % 3, factor_names=["side"]
    )
    np.save(run / "codes.npy", rng.normal(size=(9, 2)))
    np.savez(run / "labels.npz", factors=np.arange(9) % 3, factor_names=["side"])
    np.save(run / "pairs.npy", rng.integers(0, 40, (9, 2)))
    table = pd.DataFrame({"z0": rng.normal(size=9), "z1": rng.normal(size=9), "kind": list("abcabcabc")})
    table.to_csv(run / "codes.csv", index=False)
    table.to_parquet(run / "codes.parquet", index=False)
    Unmixing(rng.normal(size=2), np.eye(2)).write(RunFolder(run).ica, {"step": "4"})
    _small_study(run)
    Image.fromarray(rng.integers(0, 256, (9, 9, 4), dtype=np.uint8)).save(run / "upload.png")
    return run


def _small_study(run: Path) -> None:
    """A study with a finished run and one that failed, and what is kept of it."""
    results = Results(Study.parse(STUDY), run / "study")
    first, second = results.all_runs
    outcome = attempt(first)
    assert outcome.error is None, outcome.details
    Work.note(Path(shutil.copytree(first.folder.path / "snapshots", second.folder.path)), "training")
    second.failure_file.write_text('{"error": "it would not", "details": "at all"}')
    results.write()
    read_measured(run)
    keep_results(results, run / "kept")


def campaign(read: Callable[[], object], file: Path, mutate: Mutate, cases: int, seed: int) -> str:
    """Read a file mutated in many ways; raises where anything but ``DistaffError`` comes out."""
    content, longest = file.read_bytes(), 0.0
    said: list[str] = []
    read()
    file.write_bytes(content)
    _forget_peak()
    before = _peak()
    for case in range(cases):
        changed = mutate(content, np.random.default_rng((seed, case)))
        file.write_bytes(changed)
        os.utime(file, ns=(case, case))
        began = _spent()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read()
        except DistaffError as error:
            said.append(str(error))
        except BaseException as leak:
            kept = file.with_name(f"leak-{seed}-{case}-{file.name}")
            kept.write_bytes(changed)
            raise AssertionError(f"seed {seed}, case {case}: {type(leak).__name__}: {leak}; {kept}") from leak
        longest = max(longest, _spent() - began)
    assert not [sentence for sentence in said if "\n" in sentence or len(sentence) > 20_000]
    assert longest < SECONDS
    grown = _peak() - before
    assert grown < MEMORY
    assert "tests.faults.canary" not in sys.modules
    file.write_bytes(content)
    return f"{cases} cases, {len(said)} refused, longest {longest:.2f} s, grown by {grown >> 10} MiB"


def _spent() -> float:
    """Seconds of a processor so far, here and in processes that were begun here and have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _peak() -> int:
    """KiB of memory at the most, here or in the largest of the processes that were begun here."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _forget_peak() -> None:
    """Count from now, where the system allows it: what a format before took would hide what this one does."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def of_run(kind: str, whole: Path, folder: Path, cases: int, seed: int) -> str:
    form = FORMATS[kind]
    run = Path(shutil.copytree(whole, folder / "run"))
    (file,) = run.glob(form.file)
    return campaign(lambda: form.read(run), file, form.mutate, cases, seed)


def of_data(kind: str, folder: Path, cases: int, seed: int) -> str:
    name, content, read = DATA[kind]
    (folder / "place").mkdir()
    file = folder / "place" / name
    file.write_bytes(content)
    return campaign(lambda: read(file), file, mutations.any_bytes, cases, seed)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DISTAFF_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("kind", FORMATS)
def test_a_few_mutated_files_of_a_run(kind, whole, tmp_path):
    of_run(kind, whole, tmp_path, SHORT, seed=0)


@pytest.mark.faults
@pytest.mark.parametrize("kind", FORMATS)
def test_mutated_files_of_a_run(kind, whole, tmp_path, capsys):
    result = of_run(kind, whole, tmp_path, LONG, SEED)
    with capsys.disabled():
        print(f"\n{kind}: {result} (seed {SEED})", flush=True)


@pytest.mark.faults
@pytest.mark.parametrize("kind", DATA)
def test_mutated_files_of_data(kind, tmp_path, capsys):
    result = of_data(kind, tmp_path, max(1, LONG // STARTING.get(kind, 1)), SEED)
    with capsys.disabled():
        print(f"\n{kind}: {result} (seed {SEED})", flush=True)
