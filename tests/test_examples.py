"""The examples run as they stand, each in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "sprites.py")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_example_runs(script, tmp_path):
    surroundings = {**os.environ, "TMPDIR": str(tmp_path), "DISTAFF_CACHE": str(tmp_path)}
    surroundings["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=surroundings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert f"| [{script.name}]({script.name}) |" in (ROOT / "examples" / "README.md").read_text()
