"""Labels are paired with codes by what both files call their rows, or else by position."""

import h5py
import numpy as np
import pandas as pd
import pytest

from distaff import DistaffError
from distaff.metrics.code_sources import read_source

RNG = np.random.default_rng(0)
SIZES = RNG.integers(0, 3, 60)
CODES = pd.DataFrame({"wide": SIZES + 0.1 * RNG.normal(size=60), "tall": RNG.normal(size=60)})
LABELS = pd.DataFrame({"size": SIZES})
NAMES = {
    "texts": [f"cell{n}" for n in range(60)],
    "numbers of a split": (RNG.permutation(1000)[:60]).tolist(),
    "numbers in another order": RNG.permutation(60).tolist(),
}


def save(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def shuffled(frame):
    return frame.sample(frac=1, random_state=1)


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("kind", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("heading", [None, "cell"])
def test_a_saved_index_pairs_rows_and_is_no_latent(tmp_path, names, kind, heading):
    index = pd.Index(NAMES[names], name=heading)
    codes = save(CODES.set_axis(index), tmp_path / f"codes{kind}")
    labels = save(shuffled(LABELS.set_axis(index)), tmp_path / f"labels{kind}")
    read, factors = read_source(codes, labels)
    assert read.names == ("wide", "tall")
    assert factors.names == ("size",)
    assert np.array_equal(factors.indices[:, 0], SIZES)


def test_names_without_a_heading_are_found_among_the_columns_of_the_other_table(tmp_path):
    codes = save(CODES.set_axis(NAMES["texts"]), tmp_path / "codes.csv")
    labels = tmp_path / "labels.csv"
    shuffled(LABELS.assign(barcode=NAMES["texts"])).to_csv(labels, index=False)
    assert np.array_equal(read_source(codes, labels)[1].indices[:, 0], SIZES)


def test_cells_of_an_h5ad_are_paired_with_a_saved_obs(tmp_path):
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        obs = file.create_group("obs")
        obs.attrs.update({"encoding-type": "dataframe", "_index": "_index"})
        obs.attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
        obs.create_dataset("_index", data=NAMES["texts"], dtype=h5py.string_dtype())
        file["obsm/X_pca"] = CODES.to_numpy()
    labels = save(shuffled(LABELS.set_axis(NAMES["texts"])), tmp_path / "labels.csv")
    assert np.array_equal(read_source(tmp_path / "cells.h5ad", labels)[1].indices[:, 0], SIZES)


def test_latents_that_are_called_like_measured_factors_do_not_name_rows(tmp_path):
    measured = pd.DataFrame({"wide": RNG.random(60), "size": SIZES})
    CODES.to_csv(tmp_path / "codes.csv", index=False)
    measured.to_csv(tmp_path / "labels.csv", index=False)
    read, factors = read_source(tmp_path / "codes.csv", tmp_path / "labels.csv")
    assert (read.names, factors.names) == (("wide", "tall"), ("wide", "size"))
    assert np.array_equal(factors.indices[:, 1], SIZES)


def test_repeated_names_in_another_order_are_refused(tmp_path):
    names = [f"subject{n // 2}" for n in range(60)]
    CODES.assign(subject=names).to_csv(tmp_path / "codes.csv", index=False)
    labels = LABELS.assign(subject=names)
    shuffled(labels).to_csv(tmp_path / "labels.csv", index=False)
    with pytest.raises(DistaffError, match="the same subjects in another order"):
        read_source(tmp_path / "codes.csv", tmp_path / "labels.csv")
    labels.to_csv(tmp_path / "labels.csv", index=False)
    factors = read_source(tmp_path / "codes.csv", tmp_path / "labels.csv")[1]
    assert np.array_equal(factors.indices[:, factors.names.index("size")], SIZES)


def test_an_unnamed_column_of_remarks_is_a_column_like_others(tmp_path):
    remarks = np.where(np.arange(60) % 2, "good", None)
    LABELS.assign(remark=remarks).rename(columns={"remark": ""}).to_csv(tmp_path / "labels.csv", index=False)
    CODES.to_csv(tmp_path / "codes.csv", index=False)
    assert np.array_equal(
        read_source(tmp_path / "codes.csv", tmp_path / "labels.csv")[1].indices[:, 0], SIZES
    )


def test_labels_that_lie_in_both_files_are_no_latents(tmp_path):
    CODES.assign(size=SIZES).to_csv(tmp_path / "codes.csv", index=False)
    LABELS.to_csv(tmp_path / "labels.csv", index=False)
    with pytest.warns(UserWarning, match="not read as codes, since they are the labels: size"):
        read, factors = read_source(tmp_path / "codes.csv", tmp_path / "labels.csv")
    assert (read.names, factors.names) == (("wide", "tall"), ("size",))
    assert read_source(tmp_path / "codes.csv", tmp_path / "labels.csv", "size")[0].names == ("size",)


def test_what_encode_calls_the_rows_is_found_under_any_heading_of_the_labels(tmp_path):
    CODES.set_axis(pd.Index(NAMES["texts"], name="observation")).to_csv(tmp_path / "codes.csv")
    shuffled(LABELS.assign(file=NAMES["texts"])).to_csv(tmp_path / "labels.csv", index=False)
    factors = read_source(tmp_path / "codes.csv", tmp_path / "labels.csv")[1]
    assert factors.names == ("size",)
    assert np.array_equal(factors.indices[:, 0], SIZES)


def test_whole_numbers_among_codes_may_be_labels_which_is_said(tmp_path):
    CODES.assign(size=SIZES, x=SIZES[::-1]).to_csv(tmp_path / "codes.csv", index=False)
    with pytest.warns(UserWarning, match=r"read as codes, although they hold whole numbers .* do: x; "):
        assert read_source(tmp_path / "codes.csv", "size")[0].names == ("wide", "tall", "x")
    assert read_source(tmp_path / "codes.csv", "size,x")[0].names == ("wide", "tall")
    assert read_source(tmp_path / "codes.csv", "size", "x")[0].names == ("x",)
    CODES.round().to_csv(tmp_path / "rounded.csv", index=False)
    assert read_source(tmp_path / "rounded.csv")[0].names == ("wide", "tall")


def test_files_may_be_named_without_folders_endings_and_zeros(tmp_path):
    files = [f"photos/{n:03}.png" for n in range(60)]
    CODES.set_axis(pd.Index(files, name="observation")).to_csv(tmp_path / "codes.csv")
    shuffled(LABELS.assign(id=range(60))).to_csv(tmp_path / "labels.csv", index=False)
    read, factors = read_source(tmp_path / "codes.csv", tmp_path / "labels.csv")
    assert (read.names, factors.names) == (("wide", "tall"), ("size",))
    assert np.array_equal(factors.indices[:, 0], SIZES)
