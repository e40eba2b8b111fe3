import mmap
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from distaff.data import BitImages, ByteImages, FloatImages
from distaff.data.images import Chosen, mapped_file, read_ahead
from distaff.foundation.errors import DistaffError

RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (20, 1, 5, 7), dtype=np.uint8)
BYTES = RNG.integers(0, 256, (20, 3, 5, 7), dtype=np.uint8)

STORES = {
    "bits": (BitImages.pack(BITS), BITS.astype(np.float32)),
    "bytes": (ByteImages(BYTES), BYTES / np.float32(255)),
    "channels last": (
        ByteImages(np.moveaxis(BYTES, 1, 3).copy(), channels_last=True),
        BYTES / np.float32(255),
    ),
    "floats": (FloatImages(BYTES / 255.0), BYTES / np.float32(255)),
    "big endian": (FloatImages((BYTES / 255.0).astype(">f8")), BYTES / np.float32(255)),
    "vectors": (FloatImages(BYTES[:, 0, 0] * 1.0), BYTES[:, 0, 0].astype(np.float32)),
    "chosen": (Chosen(ByteImages(BYTES), np.arange(20)[::-1]), BYTES[::-1] / np.float32(255)),
}


@pytest.mark.parametrize("kind", STORES)
def test_every_way_of_indexing_gives_the_same_floats(kind: str) -> None:
    store, expected = STORES[kind]
    assert len(store) == 20
    assert store.shape == expected.shape[1:]
    mask = np.zeros(20, bool)
    mask[[3, 4]] = True
    for indices in ([3, 0, 3], np.array([3, 0, 3]), torch.tensor([3, 0, 3]), slice(2, 12, 3), [-1, 5], mask):
        batch = store[indices]
        assert batch.dtype == torch.float32
        plain = indices.numpy() if isinstance(indices, torch.Tensor) else indices
        np.testing.assert_allclose(batch.numpy(), expected[plain], rtol=1e-6)
    np.testing.assert_allclose(store[7].numpy(), expected[7], rtol=1e-6)
    np.testing.assert_allclose(store[np.int64(7)].numpy(), expected[7], rtol=1e-6)
    assert store[[]].shape == (0, *store.shape)


@pytest.mark.parametrize("kind", STORES)
def test_indices_that_name_no_row_are_refused(kind: str) -> None:
    store, _ = STORES[kind]
    for beyond in (20, -21, [0, 20]):
        with pytest.raises(IndexError, match="outside the 20"):
            store[beyond]
    with pytest.raises(DistaffError, match="integers"):
        store[np.array([0.5])]


def test_a_batch_does_not_alias_the_store() -> None:
    values = np.zeros((4, 3), np.float32)
    FloatImages(values)[0:2].add_(1)
    assert (values == 0).all()


def test_rows_that_cannot_hold_the_images_are_refused() -> None:
    with pytest.raises(DistaffError, match="do not hold"):
        BitImages(np.zeros((2, 3), np.uint8), (1, 64, 64))
    with pytest.raises(DistaffError, match="uint8"):
        ByteImages(np.zeros((2, 1, 4, 4)))


def test_amapped_file_is_told_whether_rows_are_scattered(tmp_path, monkeypatch):
    """Reading ahead of each of 64 scattered rows took twenty times as long as reading them."""
    file = tmp_path / "images.npy"
    np.save(file, np.arange(4000, dtype=np.uint8)[:, None, None, None])
    images, advice = ByteImages(np.load(file, mmap_mode="r")), []
    assert isinstance(mapped_file(images.rows), mmap.mmap)
    assert mapped_file(np.load(file)) is None
    told = SimpleNamespace(madvise=advice.append)
    monkeypatch.setattr("distaff.data.images.mapped_file", lambda rows: told)
    for rows in (slice(0, 64), np.array([5, 3999, 70]), [0, 2000], slice(64, 128), 7):
        assert torch.equal(images[rows] * 255, torch.as_tensor(np.load(file)[rows]).float())
    assert advice == [mmap.MADV_RANDOM, mmap.MADV_NORMAL]


class Told(mmap.mmap):
    """A mapped file that remembers which of its bytes are wanted soon."""

    def __init__(self, *_: object, **__: object) -> None:
        self.wanted: set[int] = set()

    def madvise(self, option: int, start: int = 0, length: int | None = None) -> None:
        super().madvise(option, start, length if length is not None else len(self))
        if option == mmap.MADV_WILLNEED:
            assert length is not None
            self.wanted |= set(range(start, start + length))


def test_rows_of_a_mapped_file_are_read_ahead_where_they_lie(tmp_path):
    before, count, side = 128, 50, 40
    pixels = np.random.default_rng(0).integers(0, 256, (count, 1, side, side), np.uint8)
    (tmp_path / "images").write_bytes(bytes(before) + pixels.tobytes())
    with (tmp_path / "images").open("rb") as file:
        mapped = Told(file.fileno(), 0, access=mmap.ACCESS_READ)
    images = ByteImages(np.ndarray(pixels.shape, np.uint8, mapped, before))
    chosen = Chosen(images, np.array([3, 49, 20, 7]))
    read_ahead(chosen, np.array([1, 3]))
    size = side * side
    for row in (49, 7):
        assert set(range(before + row * size, before + (row + 1) * size)) <= mapped.wanted
    assert before + 20 * size not in mapped.wanted
    read_ahead(ByteImages(pixels), np.array([0]))  # in memory there is nothing to read
