import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from distaff.data import open_dataset
from distaff.data.cache import cached
from distaff.foundation.errors import DistaffError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISTAFF_CACHE", str(tmp_path))
    return tmp_path


class Builder:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, array: np.ndarray) -> None:
        self.calls += 1
        array[...] = np.arange(array.size).reshape(array.shape)


def test_an_array_is_built_once_and_mapped_after() -> None:
    build = Builder()
    first, second = (cached("a", (10, 7), build, np.int32) for _ in range(2))
    assert build.calls == 1
    assert isinstance(second, np.memmap)
    assert not second.flags.writeable
    np.testing.assert_array_equal(first, np.arange(70).reshape(10, 7))
    np.testing.assert_array_equal(second, first)


@pytest.mark.parametrize("damage", ["header", "body", "digest", "short", "half", "empty", "longer", "other"])
def test_a_damaged_file_is_built_anew(folder: Path, damage: str) -> None:
    build = Builder()
    cached("a", (100, 7), build)
    path = folder / "a.npy"
    data = bytearray(path.read_bytes())
    place = {"header": 20, "body": 300, "digest": len(data) - 1}.get(damage)
    if place is not None:
        data[place] ^= 1
    short = {"short": len(data) - 1, "half": len(data) // 2, "empty": 0}.get(damage, len(data))
    path.write_bytes(bytes(data[:short]) + (b"x" if damage == "longer" else b""))
    if damage == "other":
        cached("a", (9, 9), Builder())
    np.testing.assert_array_equal(cached("a", (100, 7), build).ravel(), np.arange(700) % 256)
    assert build.calls == 2


def test_a_build_that_fails_leaves_nothing(folder: Path) -> None:
    def fails(array: np.ndarray) -> None:
        array[0] = 1
        raise DistaffError("the source is bad.")

    with pytest.raises(DistaffError, match="source is bad"):
        cached("a", (10, 7), fails)
    assert [path.name for path in folder.iterdir() if path.suffix != ".lock"] == []


SLOW_BUILD = """
import sys, time, pathlib, numpy as np
from distaff.data.cache import cached
def build(array):
    with open(sys.argv[1], "a") as log: log.write("built ")
    time.sleep(0.5)
    array[...] = 7
print(int(cached("shared", (1000, 10), build).sum()))
"""


def test_of_two_processes_one_builds_and_the_other_waits(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-c", SLOW_BUILD, str(log)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [worker.communicate(timeout=60)[0].strip() for worker in workers] == ["70000"] * 2
    assert log.read_text() == "built "


KILLED = """
import os, signal
from distaff.data.cache import cached
def build(array):
    array[:500] = 7
    os.kill(os.getpid(), signal.SIGKILL)
cached("shared", (1000, 10), build)
"""


def test_a_build_that_is_killed_is_done_again_and_leaves_nothing(folder: Path) -> None:
    worker = subprocess.run([sys.executable, "-c", KILLED], check=False)
    assert worker.returncode == -9
    assert len(list(folder.glob(".shared.npy.*"))) == 1
    assert not (folder / "shared.npy").exists()
    build = Builder()
    np.testing.assert_array_equal(cached("shared", (1000, 10), build).ravel()[:3], [0, 1, 2])
    assert build.calls == 1
    assert not list(folder.glob(".shared.npy.*"))


FULL_DISK = """
import resource
from distaff.data.cache import cached
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    cached("big", (1000, 1000), lambda array: array.fill(1))
except ValueError as problem:
    print(problem)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a file size limit stands in for a full disk")
def test_a_disk_without_room_is_one_sentence(folder: Path) -> None:
    worker = subprocess.run([sys.executable, "-c", FULL_DISK], capture_output=True, text=True, check=True)
    assert "set DISTAFF_CACHE to a folder with room" in worker.stdout
    assert not (folder / "big.npy").exists()


def test_a_cache_folder_that_is_a_file_is_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("")
    monkeypatch.setenv("DISTAFF_CACHE", str(folder / "file"))
    with pytest.raises(DistaffError, match="set DISTAFF_CACHE"):
        cached("a", (1, 1), Builder())


def test_a_cache_that_cannot_be_written_is_not_the_fault_of_the_images(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "photos").mkdir()
    Image.new("L", (8, 8)).save(folder / "photos" / "0.png")
    monkeypatch.setenv("DISTAFF_CACHE", str(folder / "photos" / "0.png"))
    with pytest.raises(DistaffError, match=r"^the cache .* cannot be written .*: set DISTAFF_CACHE"):
        open_dataset(folder / "photos")
