"""What a trained model takes as an observation, and what it says to what it cannot take."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import distaff
from distaff import DistaffError

TINY = {"latents": 3, "network": "mlp:hidden=8,layers=1", "steps": 2, "progress": False, "accelerator": "cpu"}
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    for number in range(6):
        side = 20 + number
        Image.fromarray(RNG.integers(0, 256, (side, side, 3), dtype=np.uint8)).save(folder / f"{number}.png")
    return folder


@pytest.fixture(scope="module")
def model(photos):
    return distaff.train("vae", photos, resize=16, **TINY)


@pytest.fixture(scope="module")
def rows():
    return pd.DataFrame(
        {"age": RNG.normal(40, 9, 30), "kind": RNG.choice(["a", "b"], 30), "size": RNG.random(30)}
    )


@pytest.fixture(scope="module")
def table(rows):
    return distaff.train("vae", rows, **TINY)


def test_lists_of_files_and_of_photographs_are_encoded_as_the_folder_is(model, photos):
    files = sorted(photos.iterdir())
    wanted = model.encode(photos).means
    np.testing.assert_allclose(model.encode(files).means, wanted, atol=1e-6)
    np.testing.assert_allclose(model.encode([str(file) for file in files]).means, wanted, atol=1e-6)
    np.testing.assert_allclose(model.encode([Image.open(file) for file in files]).means, wanted, atol=1e-6)


def test_grey_arrays_are_what_grey_files_are_to_a_model_of_colours(model, tmp_path):
    grey = RNG.integers(0, 256, (4, 16, 16), dtype=np.uint8)
    grey[0] %= 2  # nearly black, which is not black and white
    for number, image in enumerate(grey):
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    wanted = model.encode(tmp_path).means
    np.testing.assert_allclose(model.encode(grey).means[1:], wanted[1:], atol=1e-5)
    np.testing.assert_allclose(model.encode(grey[0]).means, wanted[:1], atol=1e-5)


def test_a_row_may_be_a_series_or_a_dict(table, rows):
    wanted = table.encode(rows).means
    np.testing.assert_allclose(table.encode(rows.iloc[4]).means, wanted[4:5], atol=1e-6)
    np.testing.assert_allclose(table.encode(rows.iloc[4].to_dict()).means, wanted[4:5], atol=1e-6)
    np.testing.assert_allclose(table.encode(rows.to_dict("list")).means, wanted, atol=1e-6)
    assert table.interpolate(rows.iloc[0], rows.iloc[1], 3).shape == (3, 3)


def test_a_dict_of_columns_can_be_trained_on(rows):
    assert distaff.train("vae", rows.to_dict("list"), **TINY).shape == (4,)
    with pytest.raises(DistaffError, match="the dict is not a table"):
        distaff.train("vae", {"a": [1, 2], "b": [1, 2, 3]}, **TINY)


@pytest.mark.parametrize(
    ("data", "words"), [(None, "there are no data"), (["a.png", "b.png"], "a list of files")]
)
def test_what_cannot_be_trained_on_is_said(data, words):
    with pytest.raises(DistaffError, match=words):
        distaff.train("vae", data, **TINY)


def test_latents_may_be_one(model):
    one = model.traverse(latents="z1", values=[-1, 1])
    np.testing.assert_array_equal(one, model.traverse(latents=[1], values=[-1, 1]))
    np.testing.assert_array_equal(one, model.traverse(latents=1, values=[-1, 1]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda model, x: model.sample("three"), "must be a whole number of at least 1, not 'three'"),
        (lambda model, x: model.set_latents(x, [1.5]), 'as in {"z0": 1.5}'),
        (lambda model, x: model.set_latents(x, {"z1": "big"}), "'z1' must be a number, not 'big'"),
        (lambda model, x: model.set_latents(x, {"z1": float("nan")}), "'z1' must be a number, not nan"),
        (lambda model, x: model.interpolate(x, x, steps=1), "2 or more, not 1"),
    ],
)
def test_wrong_arguments_get_a_sentence(model, photos, call, words):
    with pytest.raises(DistaffError) as problem:
        call(model, photos / "0.png")
    assert words in str(problem.value)


def test_the_estimator_names_a_column_of_texts(rows):
    with pytest.raises(DistaffError, match="column 'kind' of the DataFrame holds no numbers"):
        distaff.Disentangler("vae", steps=1).fit(rows)
    with pytest.raises(DistaffError, match="unknown argument of vae 'bta': there are none"):
        distaff.Disentangler("vae", options={"bta": 1}, steps=1).fit(rows[["age", "size"]])
