"""A cache folder that no user ever sees, and the real files where the machine has them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from distaff.data import Dataset
from distaff.data import dsprites as module


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISTAFF_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def dsprites(cache: Path) -> Dataset:
    return module.load()


@pytest.fixture(scope="session")
def real_data() -> Path:
    folder = os.environ.get("DISTAFF_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("DISTAFF_DATA names no folder of real data")
    return Path(folder)
