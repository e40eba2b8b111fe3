"""What training accepts, a model accepts later, brought in alike."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import sparse

import distaff
from distaff.data import folder_scan, folders, from_array, open_dataset
from distaff.data.arrangements import read_arrangement
from distaff.data.bringing_in import bring_in
from distaff.data.images import Scaled
from distaff.data.pictures import fitted
from distaff.data.ranges import find_range, ways
from distaff.data.sizes import resized
from distaff.foundation.errors import DataNotice, DistaffError


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Photographs of different sizes: red on the left, blue on the right."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for number, (width, height) in enumerate([(40, 20), (20, 40), (30, 30)]):
        picture = np.zeros((height, width, 3), np.uint8)
        picture[:, : width // 2, 0] = 255
        picture[:, width // 2 :, 2] = 255
        Image.fromarray(picture).save(folder / f"{number}.png")
    return folder


def test_crop_keeps_the_middle_and_pad_keeps_everything():
    wide = Image.fromarray(np.tile(np.arange(40, dtype=np.uint8), (20, 1)))
    cropped, padded = (np.asarray(fitted(wide, (20, 20), fit)) for fit in ("crop", "pad"))
    np.testing.assert_array_equal(cropped[0], np.arange(10, 30))  # unscaled: the middle half
    assert not padded[:5].any()  # half as tall as it is wide, so a quarter of the side above and below
    assert not padded[15:].any()
    assert padded[10].any()


@pytest.mark.parametrize("fit", ["squash", "crop", "pad"])
def test_arrays_are_fitted_as_photographs_are(fit):
    ramp = np.linspace(0, 1, 48 * 32, dtype=np.float32).reshape(1, 48, 32)
    by_array = resized(from_array(ramp), 16, fit, levels=False).images[0][0].numpy()
    by_photo = np.asarray(fitted(Image.fromarray(ramp[0]), (16, 16), fit))
    assert by_array.shape == by_photo.shape == (16, 16)
    np.testing.assert_allclose(by_array[2:-2, 6:10], by_photo[2:-2, 6:10], atol=0.05)


def test_squashing_is_said_and_a_choice_silences_it(photos):
    with pytest.warns(UserWarning, match=r"squashed to 16×16: fit='crop' keeps their middle"):
        folders.load(photos, resize=16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folders.load(photos, resize=16, fit="squash")


def test_a_photograph_is_the_same_observation_however_it_comes(photos):
    data = folders.load(photos, resize=16, fit="crop")
    like = read_arrangement(data.arrangement.plain())
    assert like == data.arrangement == Scaled((3, 16, 16), fit="crop")
    path = photos / "1.png"
    ways = [path, str(path), Image.open(path), photos]
    for way in ways:
        found = bring_in(way, data.shape, like).images
        np.testing.assert_array_equal(found[1 if way == photos else 0], data.images[1])
    pixels = np.asarray(Image.open(path))
    by_array = bring_in(pixels, data.shape, like).images[0]
    assert float((by_array - data.images[1]).abs().mean()) < 0.02  # another filter scales arrays
    assert data.row_names.tolist() == ["0.png", "1.png", "2.png"]


def test_a_photograph_of_a_turned_camera_is_the_same_as_a_file_and_as_an_image(photos):
    taken, notes = Image.open(photos / "0.png"), Image.Exif()
    notes[0x0112] = 6
    taken.save(photos / "turned.png", exif=notes)
    like = Scaled((3, 16, 16), fit="crop")
    by_file, by_image, as_stored = (
        bring_in(way, (3, 16, 16), like).images[0].numpy()
        for way in (photos / "turned.png", Image.open(photos / "turned.png"), photos / "0.png")
    )
    np.testing.assert_array_equal(by_file, by_image)
    np.testing.assert_array_equal(by_file, np.rot90(as_stored, -1, (1, 2)))


def test_images_that_were_not_scaled_in_training_are_not_scaled_silently(photos, tmp_path):
    same = tmp_path / "same"
    same.mkdir()
    (same / "2.png").write_bytes((photos / "2.png").read_bytes())
    like = folders.load(same).arrangement
    with pytest.raises(DistaffError, match=r"0\.png is 40×20, but the model was trained on images of 30×30"):
        bring_in(photos, (3, 30, 30), like)
    assert bring_in(photos, (3, 30, 30), like, fit="pad").shape == (3, 30, 30)
    with pytest.raises(DistaffError, match="the photograph is 40×20"):
        bring_in(Image.open(photos / "0.png"), (3, 30, 30), like)


def test_what_a_model_of_images_cannot_take_is_named(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    shape, like = (3, 16, 16), Scaled((3, 16, 16), fit="crop")
    for given, said in [
        (tmp_path / "mine.csv", r"mine\.csv is a table, but the model was trained on images of shape"),
        (frame, "the DataFrame is a table, but the model was trained on images"),
        (np.zeros((0, 16, 16, 3), np.uint8), "the array holds no observations"),
        ([], "the array holds no observations"),
        (tmp_path / "none.jpg", r"there is no file or folder .*none\.jpg"),
    ]:
        with pytest.raises(DistaffError, match=said):
            bring_in(given, shape, like, resize=16)
    with pytest.raises(DistaffError, match="rows of 2 numbers, and only images can be scaled"):
        open_dataset("pinwheel", resize=16)


def test_dark_bytes_stay_bytes():
    """Alone, an array of zeros and ones would be taken for black and white."""
    like = from_array(np.full((2, 8, 8), 255, np.uint8)).arrangement
    assert bring_in(np.ones((2, 8, 8), np.uint8), (1, 8, 8), like).images[0].max() == pytest.approx(1 / 255)


def test_ranges():
    values = np.array([[-3.0, 1.0], [5.0, 9.0]])
    assert find_range("min-max", values, "x") == (-3, 9)
    assert find_range("signed", values, "x") == (-1, 1)
    assert find_range("percentiles:0:50", values, "x") == (-3, 3)
    assert find_range("-2:6.5", values, "x") == (-2, 6.5)
    for wrong in ("wide", "3", "1:2:3", "nan:1", "percentiles:9:1"):
        with pytest.raises(DistaffError, match=r"range|percentiles"):
            find_range(wrong, values, "x")
    with pytest.raises(DistaffError, match="nothing varies"):
        find_range("min-max", np.zeros(3), "x")


def test_deep_images_are_scaled_by_their_range(tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 4096, (3, 8, 6)).astype(np.uint16)
    np.save(tmp_path / "scans.npy", pixels)
    with pytest.raises(DistaffError, match="range='min-max'"):
        open_dataset(tmp_path / "scans.npy")
    data = open_dataset(tmp_path / "scans.npy", range="0:4095")
    np.testing.assert_allclose(data.images[:][:, 0], pixels / 4095, rtol=1e-6)
    other = bring_in(pixels[:1] // 2, data.shape, data.arrangement)
    np.testing.assert_allclose(other.images[0][0], pixels[0] // 2 / 4095, rtol=1e-6)
    folder = tmp_path / "deep"
    folder.mkdir()
    for number, image in enumerate(pixels):
        Image.fromarray(image).save(folder / f"{number}.png")
    with pytest.warns(
        DataNotice, match=rf"brightest pixel of deep is {pixels.max()} of 65535.* range='min-max'"
    ):
        sixteen = folders.load(folder)
    np.testing.assert_allclose(sixteen.images[:][:, 0], pixels / 65535, rtol=1e-5)
    narrow = folders.load(folder, range="0:4095")
    np.testing.assert_allclose(narrow.images[:][:, 0], pixels / 4095, rtol=1e-5)
    again = bring_in(folder / "1.png", narrow.shape, read_arrangement(narrow.arrangement.plain()))
    np.testing.assert_array_equal(again.images[0], narrow.images[1])


def test_transparency_is_kept_on_request(tmp_path):
    Image.fromarray(np.full((8, 8, 4), 100, np.uint8)).save(tmp_path / "a.png")
    assert folders.load(tmp_path).shape == (3, 8, 8)
    assert folders.load(tmp_path, colours="rgba").shape == (4, 8, 8)
    assert folders.load(tmp_path, colours="grey").shape == (1, 8, 8)


def test_the_shape_is_known_before_anything_is_decoded(photos):
    assert folder_scan.shape_of(photos, resize=16) == (3, 16, 16)
    with pytest.raises(DistaffError, match="--resize 64"):
        folder_scan.shape_of(photos)


def test_labels_that_only_name_their_rows_are_left_out(photos, tmp_path):
    (tmp_path / "labels.csv").write_text("file,person,taken\n0.png,a,mon\n1.png,b,tue\n2.png,a,wed\n")
    with pytest.warns(UserWarning, match="the column 'taken' is not a factor"):
        data = folders.load(photos, labels=tmp_path / "labels.csv", resize=16, fit="crop")
    assert data.names == ("person",)


def test_what_was_said_of_a_runs_data_is_not_said_again(photos, tmp_path):
    settings = {"network": "mlp", "steps": 1, "progress": False, "accelerator": "cpu", "batch_size": 3}
    with pytest.warns(UserWarning, match="squashed"):
        distaff.train("vae", photos, resize=16, out=tmp_path / "run", **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        distaff.evaluate_run(tmp_path / "run", progress=False)


def test_a_model_of_bytes_takes_dark_images_for_what_they_are():
    """Whole numbers up to 1 are bits where nothing else is known, and nearly black to a model of 0–255."""
    like = Scaled((1, 2, 2))
    dark = np.array([[[0, 1], [1, 0]]])
    for kind in (np.uint8, np.int64, np.uint16):
        found = bring_in(dark.astype(kind), (1, 2, 2), like).images[:].numpy()
        np.testing.assert_allclose(found, dark[:, None] / 255, rtol=1e-6)


def test_values_that_a_model_does_not_know_are_refused_without_flags_that_are_not_there():
    with pytest.raises(DistaffError, match="run from -3 to 300, but the model was trained on") as problem:
        bring_in(np.array([[[-3.0, 1], [1, 300]]]), (1, 2, 2), Scaled((1, 2, 2)))
    assert "range=" not in str(problem.value).replace("--", "")


@pytest.mark.parametrize(
    ("low", "high", "first"),
    [
        (-0.9, 0.8, "--range signed"),
        (0, 254.5, "--range 0:255"),
        (3.5, 4000, "--range 0:4095"),
        (-5, 9, "--range min-max"),
    ],
)
def test_the_likeliest_range_is_proposed_first(low, high, first):
    assert ways(low, high).startswith(first)
    assert find_range(ways(low, high).split()[1].rstrip(","), np.array([low, high]), "scans")


def test_deep_files_for_a_model_of_colours_are_told_what_to_be(tmp_path):
    (tmp_path / "deep").mkdir()
    Image.fromarray(np.full((16, 16), 4000, np.uint16)).save(tmp_path / "deep" / "a.tif")
    with pytest.raises(
        DistaffError, match=r"a\.tif is grey with more than 8 bits .* trained on colours"
    ) as error:
        bring_in(tmp_path / "deep", (3, 16, 16), Scaled((3, 16, 16), fit="crop"))
    assert "skip" not in str(error.value)


def test_new_data_are_told_no_more_than_may_differ_from_training(photos, tmp_path):
    like = Scaled((3, 16, 16), fit="crop")
    found = bring_in(photos, (3, 16, 16), like, {"resize": 16, "colours": "rgb"}, resize=16, fit="pad")
    assert found.shape == (3, 16, 16), "what was told in training may be told again"
    for name in ("resize", "colours", "folder", "data", "shape", "like", "told"):
        with pytest.raises(
            DistaffError, match=rf"cannot have the option {name}=8, only labels or skip_bad or fit"
        ):
            bring_in(photos, (3, 16, 16), like, {"resize": 16}, **{name: 8})
    for option, said in [
        ({"fit": "cut"}, "fit must be squash or crop"),
        ({"labels": True}, "labels must be"),
    ]:
        with pytest.raises(DistaffError, match=said):
            bring_in(photos, (3, 16, 16), like, **option)
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "y": [1.0, 0.0, 4.0]})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    data = open_dataset(tmp_path / "mine.csv")
    with pytest.raises(
        DistaffError, match=r"mine\.csv cannot have the option columns=x, only factors or matrix"
    ):
        bring_in(tmp_path / "mine.csv", data.shape, data.arrangement, columns="x")
    np.save(tmp_path / "mine.npy", np.zeros((3, 16, 16, 3), np.uint8))
    with pytest.raises(
        DistaffError, match=r"mine\.npy cannot have the option range=signed, only key or channels"
    ):
        bring_in(tmp_path / "mine.npy", (3, 16, 16), like, range="signed")


def test_a_data_set_known_by_name_is_not_told_what_only_a_folder_of_training_takes():
    told = {"skip_bad": True, "labels": "folders", "count": 80}
    assert len(bring_in("pinwheel", (2,), None, told)) == 80
    with pytest.raises(DistaffError, match="skip_bad"):
        bring_in("pinwheel", (2,), None, {}, skip_bad=True)


@pytest.mark.parametrize("labels", ["folders", "table"])
def test_labels_of_training_need_not_cover_new_images(photos, tmp_path, labels):
    """A model of labelled photographs encodes others, which have no labels."""
    (tmp_path / "table.csv").write_text("file,kind\n0.png,a\n1.png,b\n2.png,a\n")
    told = {"labels": "folders" if labels == "folders" else str(tmp_path / "table.csv")}
    (tmp_path / "new").mkdir()
    Image.fromarray(np.full((16, 16, 3), 9, np.uint8)).save(tmp_path / "new" / "other.png")
    for place in (tmp_path / "new", tmp_path / "new" / "other.png"):
        assert bring_in(place, (3, 16, 16), Scaled((3, 16, 16)), told).factors is None
        with pytest.raises(DistaffError, match=r"not in a sub-folder|has no row for other\.png"):
            bring_in(place, (3, 16, 16), Scaled((3, 16, 16)), None, **told)


def test_files_are_as_bright_as_their_own_kind_of_pixels_says(tmp_path):
    """A model of bytes takes files of 16 bits and of floats, and the other way round."""
    grey, kinds = np.full((16, 16), 51, np.uint8), {}
    kinds["bytes"], kinds["short"], kinds["floats"] = grey, grey.astype(np.uint16) * 257, grey / 255
    for name, pixels in kinds.items():
        (tmp_path / name).mkdir()
        picture = Image.fromarray(pixels.astype(np.float32) if name == "floats" else pixels)
        picture.save(tmp_path / name / "one.tif")
        for trained, high, mode in (("bytes", 255.0, "L"), ("short", 65535.0, "F"), ("floats", 1.0, "F")):
            like = Scaled((1, 16, 16), 0.0, high, None, mode)
            for given in (tmp_path / name, Image.open(tmp_path / name / "one.tif")):
                seen = bring_in(given, (1, 16, 16), like).images[:].numpy()
                np.testing.assert_allclose(seen, 0.2, atol=1e-6, err_msg=f"{name} for a model of {trained}")
    Image.fromarray(np.full((16, 16), 300, np.float32)).save(tmp_path / "floats" / "one.tif")
    with pytest.raises(DistaffError, match="run from 300 to 300, and the model was trained on bytes"):
        bring_in(tmp_path / "floats", (1, 16, 16), Scaled((1, 16, 16)))


def test_floats_of_0_to_1_stay_so_when_edges_are_scaled(tmp_path):
    """Scaling with Lanczos' filter overshoots at edges."""
    stripes = np.repeat(np.arange(40) // 5 % 2, 40).reshape(40, 40).astype(np.float32)
    Image.fromarray(stripes).save(tmp_path / "stripes.tif")
    images = folders.load(tmp_path, resize=24).images[:].numpy()
    assert images.min() == 0
    assert images.max() == 1


def test_what_macos_writes_beside_copied_files_is_no_image(photos):
    (photos / "._0.png").write_bytes(b"\0\5\26\7")
    assert len(folders.load(photos, resize=16, fit="crop")) == 3


def test_a_sparse_matrix_is_encoded_as_it_was_trained():
    rows = sparse.random(20, 6, 0.5, random_state=0).tocsr()
    model = distaff.train("vae", rows, latents=2, steps=1, batch_size=4, progress=False)
    np.testing.assert_array_equal(model.encode(rows).means, model.encode(rows.toarray()).means)
