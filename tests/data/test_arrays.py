import io
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from distaff.data import BitImages, ByteImages, FloatImages, arrays, from_array, open_dataset
from distaff.data.images import mapped_file
from distaff.foundation.errors import DistaffError

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (6, 3, 8, 9), dtype=np.uint8)
GREY = COLOUR[:, 0]


@pytest.mark.parametrize(
    "images",
    [
        COLOUR,
        np.moveaxis(COLOUR, 1, 3),
        COLOUR.astype(np.int64),
        COLOUR.astype(np.float64),
        COLOUR / 255.0,
        (COLOUR / 255.0).astype(">f4"),
        torch.from_numpy(COLOUR),
        COLOUR.tolist(),
    ],
)
def test_every_layout_and_number_type_gives_the_same_images(images: object) -> None:
    data = from_array(images)
    assert data.shape == (3, 8, 9)
    np.testing.assert_allclose(data.images[:].numpy(), COLOUR / 255, atol=1e-6)


def test_grey_images_need_no_channel_axis() -> None:
    data = from_array(GREY)
    assert data.shape == (1, 8, 9)
    np.testing.assert_allclose(data.images[2].numpy()[0], GREY[2] / 255, atol=1e-6)


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int32, np.float32])
def test_zeros_and_ones_are_packed_and_not_divided_by_255(kind: type) -> None:
    bits = (GREY > 100).astype(kind)
    data = from_array(bits)
    assert isinstance(data.images, BitImages)
    np.testing.assert_array_equal(data.images[:].numpy()[:, 0], bits.astype(np.float32))
    last = from_array(np.stack([bits, bits, 1 - bits.astype(np.uint8)], axis=3))
    np.testing.assert_array_equal(last.images[:].numpy()[:, 2], 1 - bits.astype(np.float32))


def test_each_kind_of_number_has_its_store() -> None:
    assert isinstance(from_array(COLOUR).images, ByteImages)
    assert isinstance(from_array(COLOUR / 255).images, FloatImages)
    vectors = RNG.normal(size=(9, 2))
    data = from_array(vectors)
    assert data.shape == (2,)
    np.testing.assert_allclose(data.images[:].numpy(), vectors, rtol=1e-6)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.full((4, 8, 8), np.nan), "observation 0 of the array holds a value that is not finite"),
        (np.where(np.arange(4)[:, None] == 2, np.inf, np.zeros((4, 3))), "observation 2"),
        (np.full((4, 8, 8), -0.1), "run from -0.1 to -0.1"),
        (np.full((4, 8, 8), 1.5), "run from 1.5"),
        (np.full((4, 8, 8), 256), "run from 256"),
        (np.full((4, 8, 8), -1), "run from -1"),
        (np.full((4, 8, 8), 1j), "numbers or booleans, not complex128"),
        (np.full((4, 8, 8), "x"), "numbers or booleans, not <U1"),
        (np.full((4, 8, 8), None), "numbers or booleans, not object"),
        (np.zeros(5), r"not \(5,\)"),
        (np.zeros((1, 2, 3, 4, 5)), r"not \(1, 2, 3, 4, 5\)"),
        (np.zeros((0, 8, 8)), r"not \(0, 8, 8\)"),
        (np.zeros((5, 3, 64, 3)), "do not show which axis"),
        (np.zeros((5, 32, 64, 64)), "do not show which axis"),
    ],
)
def test_images_that_cannot_be_used_are_one_sentence(images: np.ndarray, message: str) -> None:
    with pytest.raises(DistaffError, match=message):
        from_array(images)


def test_an_open_channel_axis_can_be_said() -> None:
    images = RNG.random((5, 3, 8, 3))
    assert from_array(images, channels="first").shape == (3, 8, 3)
    assert from_array(images, channels="last").shape == (3, 3, 8)


def test_classes_are_numbered_and_real_factors_stay_real() -> None:
    images = np.zeros((4, 8, 8))
    data = from_array(images, [[10, 0.5], [30, 0.25], [10, 1], [20, 2]], ["size", "place"])
    assert data.sizes == (3, 0)
    np.testing.assert_array_equal(data.factors, [[0, 0.5], [2, 0.25], [0, 1], [1, 2]])
    np.testing.assert_array_equal(data.values, [[10, 0.5], [30, 0.25], [10, 1], [20, 2]])
    words = from_array(images, np.array(["cat", "dog", "cat", "ant"]))
    assert (words.names, words.sizes) == (("factor0",), (3,))
    np.testing.assert_array_equal(words.factors, [[1], [2], [1], [0]])
    flags = from_array(images, np.array([True, False, True, True]))
    np.testing.assert_array_equal(flags.factors, [[1], [0], [1], [1]])


@pytest.mark.parametrize(
    ("factors", "names", "message"),
    [
        (np.zeros((3, 2)), None, "do not fit 4"),
        (np.zeros((4, 2)), ["a"], "2 factors but 1 names"),
        (np.zeros((4, 2)), ["a", "a"], "must differ"),
        (np.zeros((4, 2, 2)), None, r"not \(4, 2, 2\)"),
        (np.full((4, 1), np.nan), None, "factor 0 of the array holds a value that is not finite"),
        (np.full((4, 1), None), None, "not object"),
        (None, ["a"], "no factor array"),
    ],
)
def test_factors_that_cannot_be_used_are_one_sentence(
    factors: np.ndarray, names: list[str] | None, message: str
) -> None:
    with pytest.raises(DistaffError, match=message):
        from_array(np.zeros((4, 8, 8)), factors, names)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_is_read_with_its_factors(tmp_path: Path, save: object) -> None:
    file = tmp_path / "mine.npz"
    save(file, images=GREY, factors=np.arange(6) % 2, factor_names=["side"])  # type: ignore[operator]
    data = open_dataset(str(file))
    assert (data.name, data.names, data.sizes) == ("mine", ("side",), (2,))
    np.testing.assert_allclose(data.images[:].numpy()[:, 0], GREY / 255, atol=1e-6)
    save(file, images=GREY)  # type: ignore[operator]
    assert open_dataset(file).factors is None


def test_arrays_in_fortran_order_are_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.npz"
    np.savez(file, images=np.asfortranarray(GREY))
    np.testing.assert_allclose(open_dataset(file).images[:].numpy()[:, 0], GREY / 255, atol=1e-6)


def test_a_npy_is_memory_mapped(tmp_path: Path) -> None:
    file = tmp_path / "large.npy"
    np.save(file, COLOUR)
    data = open_dataset(file)
    assert isinstance(data.images, ByteImages)
    assert isinstance(data.images.rows.base, np.memmap)
    np.testing.assert_allclose(data.images[:].numpy(), COLOUR / 255, atol=1e-6)


def test_an_npz_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "mine.npz"
    with pytest.raises(DistaffError, match="there is no file"):
        arrays.load(file)
    np.savez(file, pictures=GREY)
    with pytest.raises(DistaffError, match=r"has no array 'images': it holds pictures; .* key=NAME"):
        arrays.load(file)
    np.savez(file, imgs=GREY, latents_classes=GREY)
    with pytest.raises(DistaffError, match="--data dsprites --file"):
        arrays.load(file)
    np.savez(file, images=np.array([None, 1]))
    with pytest.raises(DistaffError, match="pickled objects, which are never loaded"):
        arrays.load(file)
    file.write_bytes(b"")
    with pytest.raises(DistaffError, match=r"not a whole \.npz"):
        arrays.load(file)
    npy = tmp_path / "mine.npy"
    npy.write_bytes(b"\x93NUMPY nonsense")
    with pytest.raises(DistaffError, match=r"not a whole \.npy"):
        arrays.load(npy)
    np.save(npy, np.array([None, 1]), allow_pickle=True)
    with pytest.raises(DistaffError, match=r"not a whole \.npy"):
        arrays.load(npy)


def bomb(file: Path, shape: tuple[int, ...], written: int) -> None:
    """An npz whose header promises ``shape`` and whose member holds ``written`` zero bytes."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images.npy", header.getvalue() + bytes(written))


def test_sizes_are_checked_before_memory_is_used(tmp_path: Path) -> None:
    file = tmp_path / "bomb.npz"
    bomb(file, (1 << 40, 64, 64), 1000)
    with pytest.raises(DistaffError, match="not as long as its header says"):
        arrays.load(file)
    bomb(file, (1024, 64, 64), 1 << 22)
    with pytest.raises(DistaffError, match="more than is read at once"):
        arrays.load(file, largest=1 << 20)


@pytest.mark.parametrize("storage", [{}, {"chunks": True}, {"compression": "gzip"}])
def test_hdf5_is_read_by_key(tmp_path: Path, storage: dict[str, object]) -> None:
    path = tmp_path / "mine.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("group/pictures", data=np.moveaxis(COLOUR, 1, 3), **storage)
        file["factors"] = np.arange(6) % 3
        file["factor_names"] = ["side"]
    for _ in range(2):
        data = open_dataset(path, key="group/pictures")
        assert (data.name, data.names, data.sizes, data.shape) == ("mine", ("side",), (3,), (3, 8, 9))
        np.testing.assert_allclose(data.images[:].numpy(), COLOUR / 255, atol=1e-6)
    assert isinstance(data.images, ByteImages)
    mapping = data.images.rows
    while mapping.base is not None and not isinstance(mapping, np.memmap):
        mapping = mapping.base
    assert isinstance(mapping, np.memmap)
    with pytest.raises(DistaffError, match="has no array 'images': say which to read"):
        open_dataset(path)


def test_hdf5_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "mine.h5"
    with pytest.raises(DistaffError, match="there is no file"):
        arrays.load(path)
    with h5py.File(path, "w") as file:
        file["images"] = ["text"]
    with pytest.raises(DistaffError, match="plain numbers in the file itself"):
        arrays.load(path)
    with h5py.File(path, "w") as file:
        file.create_dataset("images", (4, 8, 8), "u1", external=[("/etc/hostname", 0, 256)])
    with pytest.raises(DistaffError, match="in the file itself"):
        arrays.load(path)
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(DistaffError, match="not a whole HDF5 file"):
        arrays.load(path)


def test_images_are_resized_on_request(tmp_path: Path) -> None:
    file = tmp_path / "mine.npz"
    flat = np.broadcast_to(np.array([10, 200, 30], np.uint8), (3, 40, 50, 3))
    np.savez(file, images=flat, factors=[0, 1, 1])
    data = open_dataset(file, resize=16)
    assert data.shape == (3, 16, 16)
    np.testing.assert_array_equal(data.column("factor0"), [0, 1, 1])
    np.testing.assert_allclose(data.images[:].mean((2, 3)).numpy() * 255, [[10, 200, 30]] * 3, atol=0.5)
    np.savez(file, images=np.random.default_rng(0).normal(size=(5, 3)))
    with pytest.raises(DistaffError, match="mine holds rows of 3 numbers, and only images"):
        open_dataset(file, resize=16)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64])
@pytest.mark.parametrize("white", [1, 255])
def test_a_large_mapped_file_stays_on_disk_and_is_read_alike(tmp_path, monkeypatch, dtype, white):
    pixels = np.random.default_rng(0).integers(0, 2, (6, 16, 16)) * white
    np.save(tmp_path / "images.npy", pixels.astype(dtype))
    small = arrays.load(tmp_path / "images.npy")
    monkeypatch.setattr("distaff.data.images.LARGE", 100)
    large = arrays.load(tmp_path / "images.npy")
    assert mapped_file(large.images.rows) is not None
    assert torch.equal(large.images[:], small.images[:])
    assert large.arrangement == small.arrangement


def test_of_bytes_no_more_is_read_than_tells_their_range(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK", 16 * 16)
    pixels = np.zeros((6, 16, 16), np.uint8)
    pixels[1, 3, 3] = 7
    assert arrays._extent(pixels, "pixels") == (0, 7, True)
    pixels[4, 3, 3] = 200
    assert arrays._extent(pixels, "pixels") == (0, 7, True)
    assert arrays._extent(pixels.astype(np.int32), "pixels") == (0, 200, True)


def test_what_only_images_have_is_refused_of_vectors_and_signals(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(20, 8)))
    for told in ({"standardise": True}, {"signals": True}):
        with pytest.raises(DistaffError, match="only images can be scaled: leave out resize"):
            open_dataset(tmp_path / "rows.npy", resize=16, **told)
        with pytest.raises(DistaffError, match="only images have black and white: leave out range"):
            open_dataset(tmp_path / "rows.npy", range="min-max", **told)
    with pytest.raises(DistaffError, match=r"unknown channels of rows\.npy 'middle': Known: auto, first"):
        open_dataset(tmp_path / "rows.npy", channels="middle")
    with pytest.raises(DistaffError, match="unknown place of channels 'middle': Known: auto, first, last"):
        from_array(np.zeros((3, 8, 8, 3)), channels="middle")


def test_a_file_that_is_no_hdf5_says_so(tmp_path):
    (tmp_path / "liar.h5").write_text("not what it says")
    with pytest.raises(DistaffError, match=r"liar\.h5 is not a whole HDF5 file \(.*signature not found"):
        open_dataset(tmp_path / "liar.h5")
