"""Baselines are paired with codes by what both files call their rows, or else by position."""

import h5py
import numpy as np
import pandas as pd
import pytest

import distaff
from distaff import DistaffError, evaluate_run
from distaff.metrics.baseline_file import Baseline
from distaff.metrics.code_sources import named_source, read_source
from tests import toys
from tests.metrics.test_names_of_rows import CODES, NAMES, SIZES, save, shuffled

OTHERS = pd.DataFrame({"left": CODES["tall"] * 3, "right": CODES["wide"] * 2})
RANKS = CODES.rank().astype(int) - 1


def beside(codes, other, factors=None, latents=None):
    """The baseline of a file in the order of the codes of another."""
    rows = named_source(codes, read_source(codes, factors, latents)[0])
    return Baseline.read(other, factors, latents).codes_of(rows)


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("kind", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("heading", [None, "cell"])
def test_a_saved_index_pairs_rows_and_is_no_latent(tmp_path, names, kind, heading):
    index = pd.Index(NAMES[names], name=heading)
    latents = "wide,tall" if heading and names != "texts" and kind != ".parquet" else None
    codes = save(CODES.set_axis(index), tmp_path / f"codes{kind}")
    other = save(shuffled(OTHERS.set_axis(index)), tmp_path / f"other{kind}")
    found = beside(codes, other, latents=latents)
    assert found.names == ("left", "right")
    np.testing.assert_allclose(found.means, OTHERS)


def test_a_column_of_names_or_of_numbers_in_order_pairs_rows(tmp_path):
    for heading, names in (("cell", NAMES["texts"]), ("id", range(100, 160)), ("observation", range(60))):
        CODES.assign(**{heading: names}).to_csv(tmp_path / "codes.csv", index=False)
        shuffled(OTHERS.assign(**{heading: names})).to_csv(tmp_path / "other.csv", index=False)
        found = beside(tmp_path / "codes.csv", tmp_path / "other.csv")
        assert found.names == ("left", "right")
        np.testing.assert_allclose(found.means, OTHERS)


def test_more_rows_than_the_codes_are_left_out(tmp_path):
    codes = save(CODES.set_axis(NAMES["texts"])[:40], tmp_path / "codes.csv")
    other = save(shuffled(OTHERS.set_axis(NAMES["texts"])), tmp_path / "other.parquet")
    np.testing.assert_allclose(beside(codes, other).means, OTHERS[:40])


def test_names_that_do_not_match_are_one_sentence(tmp_path):
    codes = save(CODES.set_axis(NAMES["texts"]), tmp_path / "codes.csv")
    fewer = save(shuffled(OTHERS.set_axis(NAMES["texts"]).drop(["cell7", "cell9"])), tmp_path / "fewer.csv")
    with pytest.raises(
        DistaffError, match=r"fewer.csv lacks 2 of the 60 rows of .*codes.csv, such as 'cell7':"
    ):
        beside(codes, fewer)
    strange = save(OTHERS.set_axis([f"nucleus{n}" for n in range(60)]), tmp_path / "strange.csv")
    with pytest.raises(
        DistaffError, match=r"no row name of .*codes.csv is in .*strange.csv: they describe diff"
    ):
        beside(codes, strange)


def test_latents_of_whole_numbers_do_not_name_rows(tmp_path):
    RANKS.to_csv(tmp_path / "codes.csv", index=False)
    shuffled(RANKS).to_csv(tmp_path / "other.csv", index=False)
    np.testing.assert_array_equal(
        beside(tmp_path / "codes.csv", tmp_path / "other.csv").means, shuffled(RANKS)
    )
    RANKS.set_axis(pd.Index(range(60), name="observation")).to_csv(tmp_path / "codes.csv")
    np.testing.assert_array_equal(
        beside(tmp_path / "codes.csv", tmp_path / "other.csv").means, shuffled(RANKS)
    )


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_row_numbers_in_order_in_one_file_only_are_refused(tmp_path, kind):
    codes, other = save(CODES, tmp_path / f"codes{kind}"), save(shuffled(OTHERS), tmp_path / f"other{kind}")
    with pytest.raises(DistaffError, match="are numbered in another order"):
        beside(codes, other)
    with pytest.raises(DistaffError, match="are numbered in another order than those of"):
        beside(other, codes)
    labels = save(pd.DataFrame({"size": SIZES}), tmp_path / f"labels{kind}")
    with pytest.raises(DistaffError, match="are numbered in another order than those of"):
        read_source(other, labels)
    pd.DataFrame({"size": SIZES}).to_csv(tmp_path / "without.csv", index=False)
    assert read_source(other, tmp_path / "without.csv")[1].names == ("size",), (
        "rows without numbers say nothing"
    )


def test_rows_without_names_are_paired_by_position(tmp_path):
    CODES.to_csv(tmp_path / "codes.csv", index=False)
    OTHERS.to_csv(tmp_path / "other.csv", index=False)
    np.save(tmp_path / "other.npy", OTHERS)
    for codes in (tmp_path / "codes.csv", save(CODES.set_axis(NAMES["texts"]), tmp_path / "named.csv")):
        for other in (tmp_path / "other.csv", tmp_path / "other.npy"):
            np.testing.assert_allclose(beside(codes, other).means, OTHERS)


def test_cells_of_an_h5ad_are_paired_with_a_table_and_with_another_h5ad(tmp_path):
    for name, frame in (("codes", CODES), ("other", shuffled(OTHERS))):
        with h5py.File(tmp_path / f"{name}.h5ad", "w") as file:
            obs = file.create_group("obs")
            obs.attrs.update({"encoding-type": "dataframe", "_index": "_index"})
            obs.attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
            names = [NAMES["texts"][row] for row in frame.index]
            obs.create_dataset("_index", data=names, dtype=h5py.string_dtype())
            file["obsm/X_pca"] = frame.to_numpy()
    table = save(CODES.set_axis(NAMES["texts"]), tmp_path / "codes.csv")
    index = pd.Index(NAMES["texts"], name="barcode")
    other = save(shuffled(OTHERS.set_axis(index)), tmp_path / "other.csv")
    for codes in (tmp_path / "codes.h5ad", table):
        for baseline in (tmp_path / "other.h5ad", other):
            np.testing.assert_allclose(beside(codes, baseline).means, OTHERS)


def test_the_scores_of_a_shuffled_baseline_are_those_of_its_rows(tmp_path):
    codes = save(CODES.assign(size=SIZES).set_axis(NAMES["texts"]), tmp_path / "codes.csv")
    other = save(shuffled(OTHERS.assign(size=SIZES).set_axis(NAMES["texts"])), tmp_path / "other.csv")
    (score,) = evaluate_run(codes, factors="size", metrics=["mig"], baseline=str(other)).scores
    assert score.null.baselines == {"other": pytest.approx(score.value)}
    assert score.value > 0.5


@pytest.mark.parametrize("count", [256, 100])
def test_observations_of_a_run_are_found_by_what_encode_calls_them(tmp_path, count):
    images = toys.tiny_images(256).images[:].numpy()
    corners = np.array([np.argwhere(image[0])[0] for image in images])
    np.savez(tmp_path / "tiny.npz", images=images, factors=corners, factor_names=["row", "column"])
    few = {"steps": 4, "latents": 3, "network": "mlp", "progress": False, "accelerator": "cpu"}
    distaff.train("vae", tmp_path / "tiny.npz", out=tmp_path / "run", **few)
    encoded = distaff.encode_data(tmp_path / "run", out=tmp_path / "codes.csv", progress=False)
    shuffled(pd.read_csv(encoded)).to_csv(tmp_path / "other.csv", index=False)
    how = {"observations": count, "metrics": ["mig"], "progress": False, "out": tmp_path / "scores.json"}
    *_, score = evaluate_run(tmp_path / "run", baseline=str(tmp_path / "other.csv"), **how).scores
    assert score.null.baselines["other"] == pytest.approx(score.value, abs=1e-6)
