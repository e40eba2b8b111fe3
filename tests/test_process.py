"""What a process is told before torch is imported, as libgomp itself reports it."""

import gc
import os
import subprocess
import sys

import pytest

from distaff.foundation.process import importing


def reported(code: str, **variables: str) -> str:
    chosen = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    surroundings = {name: value for name, value in os.environ.items() if name not in chosen}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**surroundings, "OMP_DISPLAY_ENV": "verbose", **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    found = [line for line in done.stderr.splitlines() if "GOMP_SPINCOUNT" in line]
    if not found:
        pytest.skip("torch is built with another OpenMP than libgomp")
    return found[0].split("'")[1]


def test_what_is_imported_is_not_searched_for_garbage(monkeypatch):
    frozen = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(gc.isenabled()))
    with importing():
        assert not gc.isenabled()
    assert frozen == [False]
    with pytest.raises(ImportError), importing():
        raise ImportError
    assert gc.isenabled()
    assert frozen == [False]


@pytest.mark.parametrize("room", ["distaff.training", "distaff.studies.worker", "distaff.cli"])
def test_threads_wait_briefly_before_they_sleep(room):
    assert reported(f"import {room}, torch") == "5000"


def test_what_the_user_chose_stays():
    code = "import distaff.training, torch"
    assert reported(code, GOMP_SPINCOUNT="70") == "70"
    assert reported(code, OMP_WAIT_POLICY="passive") == "0"
