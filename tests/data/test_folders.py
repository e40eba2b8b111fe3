import io
import os
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from distaff.data import folders, open_dataset, pictures
from distaff.foundation.errors import DistaffError

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
    with pytest.raises(DistaffError, match=r"small\.png is 12×5 but a/0\.PNG is 12×10: .*resize=64"):
        open_dataset(folder)
    assert folders.load(folder, resize=16).shape == (3, 16, 16)


def test_resizing_keeps_flat_colours(tmp_path: Path) -> None:
    Image.new("RGB", (100, 80), (10, 200, 30)).save(tmp_path / "flat.png")
    image = folders.load(tmp_path, resize=64).images[0]
    np.testing.assert_allclose(image.numpy().reshape(3, -1).T * 255, [[10, 200, 30]] * 4096, atol=0.5)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("ending", ["png", "tif", "webp"])
def test_photographs_are_turned_upright(tmp_path: Path, orientation: int, ending: str) -> None:
    seen = Image.fromarray(PIXELS[0])  # 12 wide, 10 tall
    ways = Image.Transpose  # what undoes how the camera was held, by the Exif standard
    undone = (None, ways.FLIP_LEFT_RIGHT, ways.ROTATE_180, ways.FLIP_TOP_BOTTOM)
    undone += (ways.TRANSPOSE, ways.ROTATE_90, ways.TRANSVERSE, ways.ROTATE_270)
    way = undone[orientation - 1]
    taken, notes = seen if way is None else seen.transpose(way), Image.Exif()
    notes[pictures.ORIENTATION] = orientation
    taken.save(tmp_path / f"a.{ending}", exif=notes, **({"lossless": True} if ending == "webp" else {}))
    seen.save(tmp_path / "b.png")
    data = open_dataset(tmp_path)  # which asks for one size of all
    np.testing.assert_array_equal(data.images[0].numpy(), data.images[1].numpy())


@pytest.mark.parametrize("fit", ["crop", "pad", "squash"])
def test_large_photographs_are_decoded_no_larger_than_needed(tmp_path: Path, fit: pictures.Fit) -> None:
    ways, notes = Image.Transpose, Image.Exif()
    notes[pictures.ORIENTATION] = 6
    seen = Image.fromarray(PIXELS[0]).resize((600, 800), Image.Resampling.BICUBIC)
    seen.transpose(ways.ROTATE_90).save(tmp_path / "a.jpg", quality=95, exif=notes)
    photograph = (tmp_path / "a.jpg").read_bytes()
    sizes = []
    whole = Image.Image.convert
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Image.Image, "convert", lambda im, *how: sizes.append(im.size) or whole(im, *how))
        small = pictures.decode(photograph, "a", "RGB", (16, 16), fit=fit)
    assert sizes[-1] == (75, 100)  # an eighth, upright: at least 4 · 16 each
    exact = np.asarray(pictures.fitted(seen, (16, 16), fit))
    assert np.abs(small.astype(int) - exact).max() <= 4  # with what JPEG loses
    assert pictures.decode(photograph, "a", "RGB", (200, 150)).shape == (200, 150, 3)
    assert pictures.decode(photograph, "a", "RGB").shape == (800, 600, 3)


def test_damaged_notes_of_a_camera_do_not_spoil_its_picture(tmp_path: Path) -> None:
    Image.fromarray(PIXELS[0]).save(tmp_path / "a.png", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff")
    assert open_dataset(tmp_path).shape == (3, 10, 12)


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
    with pytest.raises(DistaffError, match="there is no file or folder"):
        folders.load(tmp_path / "absent")


def zipped(folder: Path, extra: dict[str, bytes]) -> Path:
    file = folder.parent / "photos.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*.*")):
            archive.write(path, path.relative_to(folder))
        for name, data in extra.items():
            archive.writestr(name, data)
    return file


def test_a_zip_and_a_tar_are_read_like_the_folder(folder: Path) -> None:
    expected = open_dataset(folder).images[:]
    with tarfile.open(folder.parent / "photos.tar.gz", "w:gz") as archive:
        archive.add(folder, "photos")
    for file in (zipped(folder, {}), folder.parent / "photos.tar.gz"):
        assert open_dataset(file).images[:].equal(expected)


@pytest.mark.parametrize(
    "name", ["../out.png", "a/../../out.png", "/etc/out.png", "..\\out.png", "C:/out.png"]
)
def test_archives_that_point_outside_are_refused(folder: Path, name: str) -> None:
    image = (folder / "c.bmp").read_bytes()
    with pytest.raises(DistaffError, match="points outside of it"):
        open_dataset(zipped(folder, {name: image}))
    with tarfile.open(folder.parent / "photos.tar", "w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(image)
        archive.addfile(info, io.BytesIO(image))
    with pytest.raises(DistaffError, match="points outside of it"):
        open_dataset(folder.parent / "photos.tar")


def test_archives_that_are_none_are_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = folder.parent / "bad.zip"
    bad.write_bytes(b"no archive")
    with pytest.raises(DistaffError, match="cannot be read as a folder, zip or tar"):
        open_dataset(bad)
    with pytest.raises(DistaffError, match="there is no file or folder"):
        open_dataset(folder.parent / "absent.zip")
    file = zipped(folder, {"bomb.png": bytes(1 << 20)})
    monkeypatch.setattr(pictures, "LARGEST_FILE", 1 << 16)
    with pytest.raises(DistaffError, match=r"bomb\.png has 1,048,576 bytes, too many"):
        open_dataset(file)


def test_labels_come_from_sub_folders(folder: Path) -> None:
    (folder / "c.bmp").rename(folder / "b" / "c.bmp")
    data = open_dataset(folder, labels="folders")
    assert (data.names, data.sizes) == (("folder",), (2,))
    np.testing.assert_array_equal(data.column("folder"), [0, 0, 1, 1])
    (folder / "b" / "c.bmp").rename(folder / "c.bmp")
    with pytest.raises(DistaffError, match=r"c\.bmp is not in a sub-folder"):
        open_dataset(folder, labels="folders")


def test_labels_come_from_a_table(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text(
        "file,kind,age\na/0.PNG,cat,1.5\n1.png,dog,2\nb/2.png,cat,3\nc.bmp,ant,4\nunused.png,x,5\n"
    )
    data = open_dataset(folder, labels=table)
    assert (data.names, data.sizes) == (("kind", "age"), (3, 0))
    np.testing.assert_array_equal(data.factors, [[1, 1.5], [2, 2], [1, 3], [0, 4]])
    for text, message in [
        ("file,kind\na/0.PNG,1\n1.png,2\n2.png,3\n", r"no row for c\.bmp and 0 other"),
        ("file,kind\na/0.PNG\n1.png\n2.png\nc.bmp\n", "factor 'kind' of .* has no value in any row: leave"),
        ("file,kind\na/0.PNG,1,2,3\n", "has rows with more cells than its heading"),
        ("file,kind\na/0.PNG,1\n1.png,2\n2.png,3\nc.bmp,1\n1.png,1\n", "has two rows for 1.png: keep one"),
        ("file\na/0.PNG\n1.png\n2.png\nc.bmp\n", "no column of labels"),
        ("", "cannot be read as a CSV"),
    ]:
        table.write_text(text)
        with pytest.raises(DistaffError, match=message):
            open_dataset(folder, labels=table)


def test_labels_of_a_table_may_be_missing_and_cells_parted_by_semicolons(
    folder: Path, tmp_path: Path
) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("file;kind;age\na/0.PNG;cat;\n1.png;;2,5\nb/2.png;cat;3,5\nc.bmp;ant;4\nc.bmp;ant;4\n")
    data = open_dataset(folder, labels=table)
    assert (data.names, data.sizes) == (("kind", "age"), (2, 0))
    np.testing.assert_array_equal(data.factors, [[1, np.nan], [np.nan, 2.5], [1, 3.5], [0, 4]])


def test_a_label_that_could_be_of_two_images_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "c.bmp").rename(folder / "b" / "0.PNG")
    table = tmp_path / "labels.csv"
    table.write_text("file,kind\n0.PNG,1\n1.png,2\n2.png,1\n")
    with pytest.raises(
        DistaffError, match=r"one row for 0\.PNG, which is a/0\.PNG and b/0\.PNG: write their f"
    ):
        open_dataset(folder, labels=table)
    table.write_text("file,kind\n0.PNG,1\n1.png,2\n2.png,1\nb/0.PNG,2\n")
    np.testing.assert_array_equal(open_dataset(folder, labels=table).factors[:, 0], [0, 1, 1, 0])


def test_bytes_of_no_image_are_told_without_an_address_in_memory(folder: Path) -> None:
    (folder / "d.png").write_bytes(b"nothing")
    with pytest.raises(
        DistaffError, match=r"d\.png does not decode as an image \(it is of no kind that is known\)"
    ):
        folders.load(folder)


def test_skipped_images_take_their_labels_along(folder: Path) -> None:
    (folder / "c.bmp").unlink()
    whole = (folder / "a" / "1.png").read_bytes()
    (folder / "a" / "1.png").write_bytes(whole[: len(whole) // 2])
    data = open_dataset(folder, labels="folders", skip_bad=True)
    np.testing.assert_array_equal(data.column("folder"), [0, 1])
    np.testing.assert_allclose(data.images[1].numpy(), np.moveaxis(PIXELS[0], 2, 0) / 255, atol=1e-6)


def test_what_is_left_out_is_named(folder: Path) -> None:
    (folder / "half.png").write_bytes((folder / "a/1.png").read_bytes()[:60])
    with pytest.warns(
        UserWarning, match=r"1 of 5 images in photos left out because they do not decode: half.png"
    ):
        assert len(folders.load(folder, skip_bad=True)) == 4


@pytest.mark.parametrize("how", ["without endings", "as numbers", "after an index", "as an index"])
def test_tables_name_images_in_many_ways(tmp_path: Path, how: str) -> None:
    """As tables of competitions do, whose rows are rarely in the order of the files."""
    (tmp_path / "photos").mkdir()
    stems = [f"{n:03}" if how == "as numbers" else f"{n}x" for n in range(12)]
    for stem in stems:
        Image.fromarray(np.zeros((16, 16), np.uint8)).save(tmp_path / "photos" / f"{stem}.png")
    table = pd.DataFrame({"file": stems, "kind": [f"k{n % 3}" for n in range(12)], "size": np.arange(12) % 2})
    table = table.sample(frac=1, random_state=0)
    if how == "as an index":
        table = table.set_index("file").rename_axis(None)
    table.to_csv(tmp_path / "labels.csv", index="index" in how)
    data = open_dataset(tmp_path / "photos", labels=tmp_path / "labels.csv")
    assert data.names == ("kind", "size")
    expected = [int(str(name).split(".")[0].rstrip("x")) for name in data.row_names]
    np.testing.assert_array_equal(data.factors[:, 0], np.array(expected) % 3)
    np.testing.assert_array_equal(data.factors[:, 1], np.array(expected) % 2)
