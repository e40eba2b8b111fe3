"""Shared by all tests: one thread a process, so that two test workers use two cores."""

import os
from collections.abc import Iterator

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest_plugins = ["tests.small_studies"]


@pytest.fixture(autouse=True, scope="session")
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What distaff remembers of its user is remembered apart from the real one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISTAFF_STATE", str(tmp_path_factory.mktemp("state")))
        yield
