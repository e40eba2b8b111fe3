"""A new training setting is one field and its docstring line: that edit is made here; the rest follows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.processes import ROOT

LINE = "        snapshots: number of"
FIELD = "    snapshots: AtLeastOne | None = None\n"
PROGRAM = f"""
import importlib.util, inspect, sys
from pathlib import Path

spec = importlib.util.find_spec("distaff.runs.sections")
text = Path(spec.origin).read_text()
assert text.count({LINE!r}) == text.count({FIELD!r}) == 1
text = text.replace({LINE!r}, "        stamina: steps to wait in vain.\\n" + {LINE!r})
text = text.replace({FIELD!r}, {FIELD!r} + "    stamina: AtLeastOne = 7\\n")
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
exec(compile(text, spec.origin, "exec"), vars(module))

import distaff
from distaff import cli
from distaff.foundation.errors import DistaffError
from distaff.runs.folder import RunFolder
from distaff.studies import Study

assert inspect.signature(distaff.train).parameters["stamina"].default == 7
assert "stamina: steps to wait in vain." in distaff.train.__doc__

quick = ["--data", "toy_line", "--latents", "1", "--batch-size", "8", "--steps", "2", "--accelerator", "cpu"]
cli.main(["train", "vae", *quick, "--no-progress", "--stamina", "9", "--out", "run"])
cli.main(["resume", "run", "--steps", "3", "--no-progress"])
assert RunFolder(Path("run")).read().training.stamina == 9

runs = Study.parse("data: toy_line\\nruns: [{{recipe: vae, stamina: [7, 9]}}]").runs
assert [run.settings["stamina"] for run in runs] == [7, 9]
assert len({{run.key for run in runs}}) == 2
usual = Study.parse("data: toy_line\\nruns: [{{recipe: vae}}]").runs[0]
assert usual.key == runs[0].key, "a setting at its default must not rename runs"
try:
    Study.parse("data: toy_line\\nruns: [{{recipe: vae, stamina: 0}}]")
except DistaffError as error:
    assert "stamina must be at least 1" in str(error), error
else:
    raise AssertionError("stamina 0 was taken")
cli.main(["train", "vae", "--help"])
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory) -> tuple[Path, "subprocess.CompletedProcess[str]"]:
    folder = tmp_path_factory.mktemp("edited")
    command = [sys.executable, "-c", PROGRAM]
    path = {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "200"}
    return folder, subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, **path}
    )


def test_python_run_folders_and_studies_follow(ended):
    folder, done = ended
    assert done.returncode == 0, done.stderr
    training = yaml.safe_load((folder / "run/run.yaml").read_text())["training"]
    assert training["stamina"] == 9
    assert training["steps"] == 3


def test_flags_follow(ended):
    _, done = ended
    assert "--stamina" in done.stdout
    assert "steps to wait in vain (default: 7)" in " ".join(done.stdout.split())
