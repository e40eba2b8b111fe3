"""A trained model on data that it has not seen, from the command line and from Python."""

import os
import shutil
import sys

import h5py
import numpy as np
import pandas as pd
import pytest
from PIL import Image

import distaff
from distaff import cli
from distaff.analysis import evaluate_run
from distaff.analysis.new_data import encode_data
from distaff.analysis.other_labels import with_labels
from distaff.foundation.h5ad import read_h5ad
from distaff.metrics import modularity
from distaff.metrics.codes_file import read_codes
from distaff.runs.folder import RunFolder
from distaff.runs.latent_names import save_name

TINY = {"latents": 3, "network": "mlp:hidden=8,layers=1", "batch_size": 8, "steps": 3, "progress": False}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A run on photographs, with new ones in two sub-folders."""
    place = tmp_path_factory.mktemp("photographs")
    rng = np.random.default_rng(0)
    for folder, count in {"photos": 12, "new/a": 4, "new/b": 3}.items():
        (place / folder).mkdir(parents=True)
        for number in range(count):
            pixels = rng.integers(0, 256, (*rng.integers(20, 40, 2), 3), dtype=np.uint8)
            Image.fromarray(pixels).save(place / folder / f"{number}.png")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISTAFF_CACHE", str(place / "cache"))
        photos = str(place / "photos")
        distaff.train("vae", photos, resize=16, fit="crop", accelerator="cpu", out=place / "run", **TINY)
        save_name(RunFolder(place / "run"), ["z0", "z1", "z2"], "z1", "size")
        yield place


def test_codes_go_to_any_format(place):
    run, new = str(place / "run"), str(place / "new")
    for suffix in ("npz", "csv", "parquet", "h5ad"):
        out = str(place / f"codes.{suffix}")
        cli.main(
            ["encode", run, "--data", new, "--data-options", "labels=folders", "--out", out, "--no-progress"]
        )
    codes, factors = read_codes(place / "codes.npz")
    assert codes.means.shape == codes.logvars.shape == (7, 3)
    assert factors.names == ("folder",)
    tables = [pd.read_csv(place / "codes.csv", index_col=0), pd.read_parquet(place / "codes.parquet")]
    for table in tables:
        assert table.index.tolist()[:2] == ["a/0.png", "a/1.png"]
        assert table.columns.tolist() == ["z0", "size", "z2", "folder"]
        np.testing.assert_allclose(table["size"], codes.means[:, 1], rtol=1e-6)
        assert table["folder"].tolist() == ["a"] * 4 + ["b"] * 3
    with h5py.File(place / "codes.h5ad") as file:
        np.testing.assert_array_equal(file["X"], codes.means)
        assert file["var/_index"].asstr()[:].tolist() == ["z0", "size", "z2"]
        assert file["obs/_index"].asstr()[0] == "a/0.png"
    assert read_h5ad(place / "codes.h5ad", "X")[1]["folder"].tolist() == ["a"] * 4 + ["b"] * 3


def test_latents_of_one_name_are_told_apart(place, tmp_path):
    run = shutil.copytree(place / "run", tmp_path / "run")
    save_name(RunFolder(run), ["z0", "z1", "z2"], "z2", "size")
    out = distaff.encode_data(run, data=place / "new", out=tmp_path / "codes.csv", progress=False)
    assert pd.read_csv(out, index_col=0).columns.tolist() == ["z0", "size z1", "size z2"]


def test_new_data_are_scored(place, capsys):
    cli.main(["evaluate", str(place / "run"), "--data", str(place / "new"), "--no-progress"])
    assert "reconstruction_error" in capsys.readouterr().out
    assert not (place / "run" / "scores.json").exists()
    with pytest.raises(SystemExit):
        cli.main(["evaluate", str(place / "run"), "--held-out", "--no-progress"])
    assert "--hold-out 0.1" in capsys.readouterr().err


def test_labels_may_lie_in_a_file_of_their_own(place, tmp_path):
    """By their names in any order, by their place, or as an array: one score, that of the codes by hand."""
    run, new = place / "run", place / "new"
    files = ["a/0.png", "a/1.png", "a/2.png", "a/3.png", "b/0.png", "b/1.png", "b/2.png"]
    hue, size = np.array(list("ppqqpqq")), np.array([0, 1, 1, 0, 0, 1, 0])
    table = pd.DataFrame({"file": files, "hue": hue, "size": size})
    table.sample(frac=1, random_state=0).to_csv(tmp_path / "named.csv", index=False)
    table[["hue", "size"]].to_parquet(tmp_path / "in place.parquet")
    np.save(tmp_path / "numbers.npy", np.stack([hue == "q", size], 1).astype(int))
    codes = distaff.load(run).encode(str(new))
    expected = modularity(codes, {"hue": hue, "size": size}).value
    for file in ("named.csv", "in place.parquet", "numbers.npy"):
        how = {"data": new, "factors": str(tmp_path / file), "metrics": "modularity", "progress": False}
        found = evaluate_run(run, **how)
        assert found.scores[-1].value == pytest.approx(expected, abs=1e-6)
    assert not (run / "scores.json").exists()


def test_a_run_may_be_scored_by_labels_that_came_later(place, tmp_path):
    run = shutil.copytree(place / "run", tmp_path / "run")
    hue = np.arange(12) % 3
    named = pd.DataFrame({"id": [f"{n}.png" for n in range(12)], "hue": hue, "half": np.arange(12) // 6})
    named[:10].to_csv(tmp_path / "hue.csv", index=False)
    how = {"factors": str(tmp_path / "hue.csv"), "metrics": "modularity", "progress": False}
    found = evaluate_run(run, **how).scores[-1]
    rows = sorted(range(12), key="{}.png".format)  # as the folder is read
    codes = distaff.load(run).encode(str(place / "photos"))
    known = np.array(rows) < 10
    known, half = (np.where(known, named[name][rows], np.nan) for name in ("hue", "half"))
    assert found.value == pytest.approx(modularity(codes, {"hue": known, "half": half}).value, abs=1e-6)
    assert any("2 of 12 rows dropped" in note for note in found.notes)
    assert not (run / "scores.json").exists()
    evaluate_run(run, **how, out=tmp_path / "s.html")
    assert "hue" in (tmp_path / "s.html").read_text()


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("few.csv", "hue\n1\n2\n", "has 2 rows of labels, and new 7 observations: give one for each"),
        ("hue", "", "a file of labels, one that ends in .npz, .npy, .csv, .tsv, .parquet, not 'hue'"),
        ("absent.csv", None, "does not exist"),
    ],
)
def test_labels_that_do_not_fit_are_one_sentence(place, tmp_path, monkeypatch, capsys, file, text, message):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / file).write_text(text)
    with pytest.raises(SystemExit) as stop:
        cli.main(["evaluate", str(place / "run"), "--data", str(place / "new"), "--factors", file])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_a_model_takes_folders_photographs_and_names_that_people_gave(place):
    model = distaff.load(place / "run")
    whole = model.encode(str(place / "new"))
    photo = place / "new" / "a" / "2.png"
    for one in (photo, Image.open(photo)):
        np.testing.assert_allclose(model.encode(one).means[0], whole.means[2], rtol=1e-5, atol=1e-6)
    assert model.reconstruct(photo).shape == (1, 3, 16, 16)
    assert model.sample(4, seed=1).shape == (4, 3, 16, 16)
    np.testing.assert_array_equal(model.sample(4, seed=1), model.sample(4, seed=1))
    way = model.interpolate(place / "new" / "a" / "1.png", photo, 5)
    np.testing.assert_allclose(way[-1], model.reconstruct(photo)[0], atol=1e-5)
    z = model.to_z(whole)
    z[:, 1] = 1.5
    for name in ("size", "z1", 1):
        np.testing.assert_allclose(model.set_latents(place / "new", {name: 1.5}), model.decode(z), atol=1e-5)
    assert model.traverse(photo, latents=["size"]).shape == (1, 9, 3, 16, 16)
    with pytest.raises(distaff.DistaffError, match="one observation is needed, but 7 were given"):
        model.interpolate(place / "new", photo)
    with pytest.raises(distaff.DistaffError, match="sise"):
        model.set_latents(photo, {"sise": 1.0})


def test_a_table_comes_back_in_its_own_units_with_missing_values_filled_in(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"price": rng.normal(9000, 300, 60), "kind": rng.choice(["new", "used"], 60)})
    frame["seats"] = rng.poisson(4, 60)
    frame.loc[3, "price"] = np.nan
    frame.to_csv(tmp_path / "cars.csv", index=False)
    out = tmp_path / "run"
    options = {"counts": "seats"}
    distaff.train("vae", str(tmp_path / "cars.csv"), data_options=options, out=out, accelerator="cpu", **TINY)
    model = distaff.load(out)
    back = model.reconstruct(frame)
    assert sorted(back.columns) == sorted(frame.columns)
    assert back["price"].between(8000, 10000).all()
    assert set(back["kind"]) <= {"new", "used"}
    np.testing.assert_array_equal(model.encode(frame).means, model.encode(tmp_path / "cars.csv").means)
    distaff.resume(out, steps=4, progress=False)
    in_python = distaff.train("vae", frame, data_options=options, accelerator="cpu", **TINY)
    np.testing.assert_array_equal(in_python.encode(frame).means, model.encode(frame).means)


def test_labels_are_paired_by_names_without_endings_and_by_a_saved_index(place, tmp_path):
    """Not by position: a folder is read in the order 0.png, 1.png, 10.png, …."""
    data, classes = distaff.data.open_dataset(place / "photos", resize=16), np.arange(12) % 3
    table = pd.DataFrame({"id": np.arange(12), "hue": classes}).sample(frac=1, random_state=0)
    table.to_csv(tmp_path / "ids.csv", index=False)
    named = table.set_axis([f"{n}.png" for n in table["id"]], axis=0)
    named[["hue"]].to_csv(tmp_path / "index.csv")
    named[["hue"]].to_parquet(tmp_path / "index.parquet")
    for file in ("ids.csv", "index.csv", "index.parquet"):
        labelled = with_labels(data, tmp_path / file)
        numbers = [int(name.removesuffix(".png")) for name in data.row_names]
        assert labelled.names == ("hue",)
        np.testing.assert_array_equal(labelled.factors[:, 0], classes[numbers])


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are texts there")
def test_names_that_are_not_utf8_are_spelled_out_in_tables(place):
    folder = place / "latin"
    (folder / os.fsdecode(b"caf\xe9")).mkdir(parents=True)
    for name in ("1.png", os.fsdecode(b"na\xefve.png")):
        shutil.copyfile(place / "photos" / "0.png", folder / os.fsdecode(b"caf\xe9") / name)
    for suffix in ("csv", "parquet", "h5ad"):
        out = place / f"latin.{suffix}"
        how = {"data": folder, "data_options": "labels=folders", "progress": False}
        encode_data(place / "run", out=out, **how)
    table = pd.read_parquet(place / "latin.parquet")
    assert list(table.index) == [r"caf\udce9/1.png", r"caf\udce9/na\udcefve.png"]
    assert set(table["folder"]) == {r"caf\udce9"}
