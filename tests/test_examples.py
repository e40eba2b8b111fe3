"""The examples run as they stand, each in a process of its own."""

import pytest

from tests import processes
from tests.processes import ROOT

SCRIPTS = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "sprites.py")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_example_runs(script, tmp_path):
    done = processes.script(script, tmp_path, TMPDIR=str(tmp_path), DISTAFF_CACHE=str(tmp_path)).end()
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert f"| [{script.name}]({script.name}) |" in (ROOT / "examples" / "README.md").read_text()
