import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from distaff.data import idx, mnist, open_dataset
from distaff.foundation.errors import DistaffError

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype=np.uint8)
LABELS = np.array([3, 1, 4, 1, 5], np.uint8)


def packed(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for prefix, turn in (("train", 1), ("t10k", -1)):
        (tmp_path / f"{prefix}-images-idx3-ubyte.gz").write_bytes(gzip.compress(packed(PIXELS[::turn])))
        (tmp_path / f"{prefix}-labels-idx1-ubyte").write_bytes(packed(LABELS[::turn].copy()))
    return tmp_path


def test_parts_are_read_zipped_or_not(folder: Path) -> None:
    data = open_dataset("mnist", folder)
    assert (data.name, data.names, data.sizes, data.shape) == ("mnist", ("digit",), (10,), (1, 28, 28))
    np.testing.assert_array_equal(data.column("digit"), LABELS)
    np.testing.assert_allclose(data.images[:].numpy()[:, 0], PIXELS / 255, atol=1e-6)
    test = open_dataset("mnist", folder, part="test")
    np.testing.assert_array_equal(test.column("digit"), LABELS[::-1])
    both = open_dataset("fashion_mnist", folder, part="all")
    np.testing.assert_array_equal(both.column("garment"), [*LABELS, *LABELS[::-1]])


def test_images_of_any_set_are_resized_on_request(folder: Path) -> None:
    data = open_dataset("mnist", folder, resize=32)
    assert data.shape == (1, 32, 32)
    np.testing.assert_array_equal(data.column("digit"), LABELS)
    np.testing.assert_allclose(data.images[:].mean((1, 2, 3)).numpy(), PIXELS.mean((1, 2)) / 255, atol=0.02)


def test_options_and_parts_that_do_not_exist_are_explained(folder: Path) -> None:
    with pytest.raises(DistaffError, match="unknown part of mnist 'tset': did you mean 'test'"):
        open_dataset("mnist", folder, part="tset")
    with pytest.raises(DistaffError, match="unknown option of mnist 'parts': did you mean 'part'"):
        open_dataset("mnist", folder, parts="test")


WHOLE = packed(PIXELS)
BAD_BYTES = {
    "empty": (b"", "begins with"),
    "wrong magic number": (b"\1" + WHOLE[1:], "not an idx file of bytes: it begins with 01 00 08 03"),
    "another type": (b"\0\0\x0d" + WHOLE[3:], "begins with 00 00 0d 03"),
    "no dimensions": (b"\0\0\x08\0" + WHOLE[4:], "begins with"),
    "cut in the header": (WHOLE[:9], "ends in its header"),
    "cut in the values": (WHOLE[:-1], "holds 3,919 values or more where its header says 3,920"),
    "longer than it says": (WHOLE + b"x", "holds 3,921 values or more where its header says 3,920"),
    "truncated gzip": (gzip.compress(WHOLE)[:-20], "not a whole idx file"),
    "damaged gzip": (
        gzip.compress(WHOLE)[:40] + bytes(50) + gzip.compress(WHOLE)[90:],
        "not a whole idx file",
    ),
    "gigantic claim": (struct.pack(">BBBB3I", 0, 0, 8, 3, 1 << 31, 28, 28), "more than is accepted"),
}


@pytest.mark.parametrize("kind", BAD_BYTES)
def test_files_that_are_not_what_they_say_are_one_sentence(tmp_path: Path, kind: str) -> None:
    data, message = BAD_BYTES[kind]
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(data)
    with pytest.raises(DistaffError, match=message):
        idx.read_idx(path)


def test_files_that_disagree_are_refused(folder: Path) -> None:
    labels = folder / "train-labels-idx1-ubyte"
    labels.write_bytes(packed(LABELS[:4]))
    with pytest.raises(DistaffError, match="do not belong together"):
        mnist.load(folder)
    labels.write_bytes(packed(PIXELS))
    with pytest.raises(DistaffError, match="do not belong together"):
        mnist.load(folder)
    labels.write_bytes(packed(LABELS + 6))
    with pytest.raises(DistaffError, match="holds the label 11"):
        mnist.load(folder)


def test_missing_files_say_where_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISTAFF_DATA", str(tmp_path))
    with pytest.raises(
        DistaffError, match=r"is not in .*fashion-mnist: `distaff data fetch fashion_mnist` .*https://"
    ):
        open_dataset("fashion_mnist")
    with pytest.raises(DistaffError, match="there is no file or folder"):
        open_dataset("mnist", tmp_path / "absent")


@pytest.mark.parametrize(("name", "first"), [("mnist", [5, 0, 4, 1, 9]), ("fashion_mnist", [9, 0, 0, 3, 0])])
def test_the_real_files_are_read(real_data: Path, name: str, first: list[int]) -> None:
    data = open_dataset(name, part="all")
    assert len(data) == 70_000
    assert data.shape == (1, 28, 28)
    np.testing.assert_array_equal(data.factors[:5, 0], first)
    assert (np.bincount(data.factors[:, 0]) > 6000).all()
    assert 0.1 < data.images[:1000].mean() < 0.4
