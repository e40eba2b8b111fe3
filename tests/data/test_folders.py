import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from distaff.data import folders, open_dataset, pictures
from distaff.errors import DistaffError

PIXELS = np.random.default_rng(0).integers(0, 256, (4, 10, 12, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "photos"
    for name, image in zip(["b/2.png", "a/1.png", "a/0.PNG", "c.bmp"], PIXELS, strict=True):
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(file)
    (place / "notes.txt").write_text("not an image")
    return place


def test_images_come_in_the_order_of_their_names(folder: Path) -> None:
    data = open_dataset(folder)
    assert (data.name, data.shape, len(data), data.factors) == ("photos", (3, 10, 12), 4, None)
    expected = np.moveaxis(PIXELS[[2, 1, 0, 3]], 3, 1) / 255
    np.testing.assert_allclose(data.images[:].numpy(), expected, atol=1e-6)


def test_a_changed_file_is_decoded_again(folder: Path) -> None:
    open_dataset(folder)
    Image.fromarray(255 - PIXELS[3]).save(folder / "c.bmp")
    os.utime(folder / "c.bmp", ns=(1, 1))
    last = open_dataset(folder).images[3].numpy()
    np.testing.assert_allclose(last, np.moveaxis(255 - PIXELS[3], 2, 0) / 255, atol=1e-6)


def test_grey_images_stay_grey_and_one_colour_image_makes_all_rgb(tmp_path: Path) -> None:
    for k in range(2):
        Image.fromarray(PIXELS[k, ..., 0]).save(tmp_path / f"{k}.png")
    assert open_dataset(tmp_path).shape == (1, 10, 12)
    Image.fromarray(PIXELS[2]).save(tmp_path / "2.png")
    data = open_dataset(tmp_path)
    assert data.shape == (3, 10, 12)
    np.testing.assert_allclose(data.images[0].numpy(), np.stack([PIXELS[0, ..., 0]] * 3) / 255, atol=1e-6)


def test_sizes_must_agree_or_be_adapted(folder: Path) -> None:
    Image.fromarray(PIXELS[0, :5]).save(folder / "small.png")
    with pytest.raises(DistaffError, match=r"small\.png is 12×5 but a/0\.PNG is 12×10: .*--resize"):
        open_dataset(folder)
    assert folders.load(folder, resize=16).shape == (3, 16, 16)


def test_resizing_keeps_flat_colours(tmp_path: Path) -> None:
    Image.new("RGB", (100, 80), (10, 200, 30)).save(tmp_path / "flat.png")
    image = folders.load(tmp_path, resize=64).images[0]
    np.testing.assert_allclose(image.numpy().reshape(3, -1).T * 255, [[10, 200, 30]] * 4096, atol=0.5)


def test_images_that_do_not_decode_are_named_or_skipped(folder: Path) -> None:
    whole = (folder / "a" / "1.png").read_bytes()
    (folder / "a" / "bad.png").write_bytes(b"no image")
    with pytest.raises(
        DistaffError, match=r"bad\.png does not decode .*: remove it, or leave such files out with --skip-bad"
    ):
        folders.load(folder)
    (folder / "a" / "bad.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DistaffError, match=r"bad\.png does not decode"):
        folders.load(folder)
    assert len(folders.load(folder, skip_bad=True)) == 4


def test_bombs_and_deep_pixels_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.fromarray(np.full((9, 9), 70000, np.int32)).save(tmp_path / "deep.tif")
    with pytest.raises(DistaffError, match=r"deep\.tif has pixels of kind I"):
        open_dataset(tmp_path)
    (tmp_path / "deep.tif").unlink()
    Image.new("L", (500, 500)).save(tmp_path / "big.png")
    monkeypatch.setattr(pictures, "LARGEST_IMAGE", 1000)
    with pytest.raises(DistaffError, match=r"big\.png unpacks to 500×500"):
        open_dataset(tmp_path)


def test_a_folder_without_images_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DistaffError, match="holds no images"):
        open_dataset(tmp_path)
    with pytest.raises(DistaffError, match="there is no folder or archive"):
        folders.load(tmp_path / "absent")
