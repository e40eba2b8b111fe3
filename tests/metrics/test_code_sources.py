"""Codes and labels from tables and h5ad files."""

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from distaff import Codes, DistaffError, evaluate_run
from distaff.metrics import as_factors, evaluate, mig, modularity, write_codes
from distaff.metrics.baseline_file import Baseline
from distaff.metrics.code_sources import named_source, read_source

RNG = np.random.default_rng(0)
CLASSES = RNG.integers(0, 3, (90, 2))
MEANS = CLASSES + 0.1 * RNG.normal(size=CLASSES.shape)
CELLS = [f"cell{n}" for n in range(len(MEANS))]
CODES = pd.DataFrame({"cell": CELLS, "wide": MEANS[:, 0], "tall": MEANS[:, 1]})
LABELS = pd.DataFrame({"cell": CELLS, "shape": np.array(list("abc"))[CLASSES[:, 0]], "size": CLASSES[:, 1]})


def written(frame, path):
    frame.to_parquet(path, index=False) if path.suffix == ".parquet" else frame.to_csv(
        path, index=False, sep="\t" if path.suffix == ".tsv" else ","
    )
    return path


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".parquet"])
@pytest.mark.filterwarnings("ignore:.*do not hold numbers")
def test_tables_that_share_a_column_of_names_are_paired_by_it(tmp_path, kind):
    codes = written(CODES, tmp_path / f"codes{kind}")
    labels = written(LABELS.sample(frac=1, random_state=0), tmp_path / f"labels{kind}")
    read, factors = read_source(codes, str(labels))
    assert read.names == ("wide", "tall")
    assert read.means == pytest.approx(MEANS)
    assert factors.names == ("shape", "size")
    assert np.array_equal(factors.indices, CLASSES)


def test_others_are_paired_by_the_order_of_rows(tmp_path):
    codes = written(CODES[["wide", "tall"]], tmp_path / "codes.csv")
    _, factors = read_source(codes, str(written(LABELS[["size"]], tmp_path / "labels.csv")))
    assert np.array_equal(factors.indices[:, 0], CLASSES[:, 1])
    short = written(LABELS[["size"]][:50], tmp_path / "short.csv")
    with pytest.raises(DistaffError, match="90 rows of codes but 50 of factors"):
        evaluate(*read_source(codes, str(short)))


def test_columns_of_one_table_are_labels_and_latents(tmp_path):
    both = written(CODES.merge(LABELS), tmp_path / "both.csv")
    read, factors = read_source(both, "shape,size", "tall")
    assert read.names == ("tall",)
    assert factors.names == ("shape", "size")
    with pytest.warns(
        UserWarning, match="columns that do not hold numbers are not read as codes: cell, shape"
    ):
        assert read_source(both, "size")[0].names == ("wide", "tall")
    with pytest.raises(DistaffError, match="did you mean 'size'"):
        read_source(both, "sise")


def test_columns_that_are_named_twice_are_one_sentence(tmp_path):
    both = written(CODES[["wide", "tall"]].assign(size=CLASSES[:, 1]), tmp_path / "both.csv")
    with pytest.raises(DistaffError, match="column 'wide' is twice in --latents"):
        read_source(both, "size", "wide,wide")
    with pytest.raises(DistaffError, match="'size' is in both --factors and --latents"):
        read_source(both, "size", "wide, size")


def test_labels_and_latents_of_a_baseline_are_those_of_the_codes_own_table(tmp_path):
    table = CODES[["wide", "tall"]].assign(size=CLASSES[:, 1])
    both, other = written(table, tmp_path / "both.csv"), written(table * 2, tmp_path / "other.csv")
    rows = named_source(both, read_source(both, "size")[0])
    assert Baseline.read(other, "size").codes_of(rows).names == ("wide", "tall")
    assert Baseline.read(other, "size", "tall").codes_of(rows).names == ("tall",)
    assert Baseline.read(other, "size", "deep").codes_of(rows).names == ("wide", "tall")
    (score,) = evaluate_run(both, factors="size", metrics=["mig"], baseline=str(other)).scores
    assert score.null.baselines == {"other": score.value}
    np.save(tmp_path / "other.npy", MEANS)
    assert Baseline.read(tmp_path / "other.npy", "size", "tall").codes_of(rows).names == ("z0", "z1")


def test_labels_may_stand_beside_arrays(tmp_path):
    np.save(tmp_path / "codes.npy", MEANS)
    labels = written(LABELS[["shape"]], tmp_path / "labels.csv")
    codes, factors = read_source(tmp_path / "codes.npy", str(labels))
    assert mig(codes, factors).value > 0.8
    np.save(tmp_path / "labels.npy", CLASSES)
    assert np.array_equal(
        read_source(tmp_path / "codes.npy", str(tmp_path / "labels.npy"))[1].indices, CLASSES
    )
    write_codes(tmp_path / "own.npz", codes, factors)
    assert read_source(tmp_path / "own.npz")[1].names == ("shape",)


def h5ad(path, obsm):
    """A file as anndata 0.8 and later write it."""
    with h5py.File(path, "w") as file:
        obs = file.create_group("obs")
        obs.attrs.update({"encoding-type": "dataframe", "_index": "_index"})
        obs.attrs["column-order"] = np.array(["kind", "batch", "depth"], dtype=h5py.string_dtype())
        obs.create_dataset("_index", data=CELLS, dtype=h5py.string_dtype())
        kind = obs.create_group("kind")
        kind.attrs.update({"encoding-type": "categorical", "ordered": False})
        kind.create_dataset("categories", data=["B", "NK", "T"], dtype=h5py.string_dtype())
        kind.create_dataset("codes", data=np.where(np.arange(90) == 4, -1, CLASSES[:, 0]).astype(np.int8))
        obs.create_dataset("batch", data=CLASSES[:, 1])
        obs.create_dataset("depth", data=RNG.uniform(size=90))
        for name, array in obsm.items():
            if sparse.issparse(array):
                group = file.create_group(f"obsm/{name}")
                group.attrs.update({"encoding-type": "csr_matrix", "shape": array.shape})
                for part in ("data", "indices", "indptr"):
                    group.create_dataset(part, data=getattr(array, part))
            else:
                file.create_dataset(f"obsm/{name}", data=array)
    return path


def test_h5ad_files_have_codes_in_obsm_and_labels_in_obs(tmp_path):
    one = h5ad(tmp_path / "one.h5ad", {"X_scVI": MEANS})
    codes, factors = read_source(one)
    assert np.array_equal(codes.means, MEANS)
    assert factors.names == ("kind", "batch"), "what is real-valued is asked for by name"
    assert factors.indices[4, 0] == -1
    assert np.array_equal(np.delete(factors.indices, 4, 0), np.delete(CLASSES, 4, 0))
    assert read_source(one, "depth")[1].sizes == (0,)
    two = h5ad(tmp_path / "two.h5ad", {"X_pca": MEANS, "X_sae": sparse.csr_matrix(CLASSES * 1.0)})
    with pytest.raises(DistaffError, match="say which are the codes with --latents: X_pca, X_sae"):
        read_source(two)
    assert np.array_equal(read_source(two, None, "X_sae")[0].means, CLASSES)
    with pytest.raises(DistaffError, match="unknown column in obs"):
        read_source(two, "knid", "X_pca")
    bare = h5ad(tmp_path / "bare.h5ad", {})
    with pytest.raises(DistaffError, match="no codes: neither X nor an array in obsm"):
        read_source(bare)
    with h5py.File(bare, "a") as file:  # as distaff encode writes it
        file.create_dataset("X", data=MEANS)
    assert np.array_equal(read_source(bare)[0].means, MEANS)


def test_h5ad_files_may_hold_texts_of_fixed_length(tmp_path):
    path = h5ad(tmp_path / "one.h5ad", {"X_sae": sparse.csr_matrix(MEANS)})
    expected, labels = read_source(path)
    with h5py.File(path, "a") as file:
        file["obs"].attrs["column-order"] = np.array(["kind", "batch", "depth"], dtype="S5")
        file["obs"].attrs["_index"] = np.bytes_("_index")
        file["obsm/X_sae"].attrs["encoding-type"] = np.bytes_("csr_matrix")
    codes, found = read_source(path)
    assert np.array_equal(codes.means, expected.means)
    assert found.names == labels.names
    assert np.array_equal(found.indices, labels.indices)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent.csv", "absent.csv does not exist"),
        ("absent.h5ad", "absent.h5ad does not exist"),
        ("codes.xlsx", "is not a file of codes"),
        ("text.h5ad", "not a whole HDF5 file"),
        ("words.csv", "has no column of numbers"),
    ],
)
def test_files_that_cannot_be_read_are_named(tmp_path, name, said):
    (tmp_path / "text.h5ad").write_text("hello")
    (tmp_path / "words.csv").write_text("a,b\nx,y\n")
    with pytest.raises(DistaffError, match=said):
        read_source(tmp_path / name)


def test_latents_have_the_names_of_columns_and_sparse_codes_are_read():
    frame = pd.DataFrame(MEANS, columns=["wide", "tall"])
    assert set(evaluate(frame, CLASSES, metrics=["mig"])["metric"]) == {"mig"}
    assert mig(frame, CLASSES).details["best_latent"] == {"factor0": "wide", "factor1": "tall"}
    assert mig(sparse.csr_matrix(MEANS), CLASSES).value == mig(MEANS, CLASSES).value
    with pytest.raises(DistaffError, match="1 names for 2 latents"):
        Codes(MEANS, latents=("wide",))
    assert Codes(MEANS, latents=("wide", "tall"))[:5].names == ("wide", "tall")


def test_labels_of_npy_and_npz_files_may_be_texts_may_be_missing_and_may_be_one_column(tmp_path):
    np.save(tmp_path / "codes.npy", MEANS)
    texts = np.array(list("abc"))[CLASSES]
    missing = np.where(CLASSES == 2, np.nan, CLASSES)
    for given in (texts, missing, CLASSES[:, 0], texts[:, 0], missing.astype(np.float16), CLASSES > 0):
        np.save(tmp_path / "labels.npy", given)
        np.savez(tmp_path / "labels.npz", factors=given)
        for name in ("labels.npy", "labels.npz"):
            _, factors = read_source(tmp_path / "codes.npy", tmp_path / name)
            assert np.array_equal(factors.indices, as_factors(given).indices)


@pytest.mark.parametrize("name", ["labels.npy", "labels.npz"])
def test_labels_that_are_pickled_objects_are_refused_in_a_sentence(tmp_path, name):
    np.save(tmp_path / "codes.npy", MEANS)
    np.save(tmp_path / "labels.npy", LABELS.to_numpy(), allow_pickle=True)
    np.savez(tmp_path / "labels.npz", factors=LABELS.to_numpy())
    with pytest.raises(DistaffError, match="pickled objects"):
        read_source(tmp_path / "codes.npy", tmp_path / name)


@pytest.mark.parametrize("codes", ["codes.npy", "codes.csv"])
@pytest.mark.filterwarnings("ignore:.*do not hold numbers")
def test_labels_whose_rows_are_numbered_in_another_order_are_not_paired_by_place(tmp_path, codes):
    np.save(tmp_path / "codes.npy", MEANS)
    CODES.to_csv(tmp_path / "codes.csv", index=False)
    shuffled = LABELS.sample(frac=1, random_state=0)
    shuffled[["shape", "size"]].to_csv(tmp_path / "labels.csv")
    with pytest.raises(DistaffError, match="numbered in another order"):
        read_source(tmp_path / codes, tmp_path / "labels.csv")
    LABELS[["shape", "size"]].to_csv(tmp_path / "labels.csv")
    assert np.array_equal(read_source(tmp_path / codes, tmp_path / "labels.csv")[1].indices, CLASSES)
    shuffled.to_csv(tmp_path / "labels.csv")  # a column names the rows
    if codes == "codes.csv":
        assert np.array_equal(read_source(tmp_path / codes, tmp_path / "labels.csv")[1].indices, CLASSES)


def test_what_encode_calls_the_rows_is_no_latent(tmp_path):
    frame = CODES.drop(columns="cell").rename_axis("observation").reset_index()
    codes, _ = read_source(written(frame, tmp_path / "codes.csv"))
    assert codes.latents == ("wide", "tall")
    with pytest.raises(DistaffError, match=r"column 'kind' of .* no value in row 1: .* --factors kind"):
        read_source(written(frame.assign(kind=[0, None] * 45), tmp_path / "labelled.csv"))


SPREADSHEETS = {
    "commas": {},
    "semicolons": {"sep": ";"},
    "decimal commas": {"sep": ";", "decimal": ","},
    "tabs": {"sep": "\t"},
    "tabs and decimal commas": {"sep": "\t", "decimal": ","},
    "a mark of the bytes' order": {"encoding": "utf-8-sig"},
    "no heading": {"header": False},
    "decimal commas without a heading": {"sep": ";", "decimal": ",", "header": False},
}


@pytest.mark.parametrize("how", SPREADSHEETS)
@pytest.mark.filterwarnings("ignore:.*has no line of headings, so that its columns are called 0 to 2")
def test_tables_are_read_as_spreadsheets_write_them(tmp_path, how):
    z = np.random.default_rng(0).normal(size=(30, 3))
    pd.DataFrame(z).to_csv(tmp_path / "z.csv", index=False, **SPREADSHEETS[how])
    codes, factors = read_source(tmp_path / "z.csv", latents="2,0")
    np.testing.assert_allclose(codes.means, z[:, [2, 0]], rtol=1e-12)
    assert (codes.names, factors) == (("2", "0"), None)


@pytest.mark.parametrize(
    ("old", "new"),
    [(",", ", "), ("\n", ",\n"), ("d\n", "d,\n")],
    ids=["a space after each comma", "a comma after each line", "a comma after each row"],
)
def test_tables_with_more_between_their_cells_are_those_without(tmp_path, old, new):
    frame = pd.DataFrame({"a": [0.5, 1.5, 2.5], "b": [3.25, 1.0, 2.0], "tone": ["red", "blond", "red"]})
    (tmp_path / "z.csv").write_text(frame.to_csv(index=False).replace(old, new))
    codes, factors = read_source(tmp_path / "z.csv", factors="tone")
    assert codes.names == ("a", "b")
    assert codes.means.tolist() == frame[["a", "b"]].to_numpy().tolist()
    assert factors is not None
    assert factors.indices[:, 0].tolist() == [1, 0, 1]


def test_labels_in_a_file_of_another_kind_are_not_taken_for_a_column(tmp_path):
    (tmp_path / "y.csv.zip").write_bytes(b"")
    codes = written(CODES, tmp_path / "codes.csv")
    with pytest.raises(DistaffError, match=r"y.csv.zip is not a file of labels: their names end in \.npz"):
        read_source(codes, factors=str(tmp_path / "y.csv.zip"))


def test_a_first_line_of_numbers_is_said_to_be_no_heading_and_years_are_one(tmp_path):
    (tmp_path / "z.csv").write_text("0.5,-1\n1,2\n")
    with pytest.warns(UserWarning, match="z.csv has no line of headings"):
        assert len(read_source(tmp_path / "z.csv")[0]) == 2
    (tmp_path / "years.csv").write_text("2019,2020\n1,2\n3,4\n")
    assert read_source(tmp_path / "years.csv")[0].names == ("2019", "2020")


def test_a_latent_without_a_heading_is_not_taken_for_the_names_of_rows(tmp_path):
    (tmp_path / "z.csv").write_text("z0,z1\n0.5,1,2\n0.25,3,4\n")
    with pytest.raises(DistaffError, match="has rows with more cells than its heading has names"):
        read_source(tmp_path / "z.csv")


def test_codes_may_be_a_dict_of_latents():
    z, y = np.random.default_rng(0).normal(size=(50, 2)), np.indices((5, 10)).reshape(2, -1).T % 3
    found = modularity({"long": z[:, 0], "wide": list(z[:, 1])}, y)
    assert found.value == modularity(z, y).value
    assert list(found.per_latent) == ["long", "wide"]
    for codes, message in (
        ({"a": z[:, 0], "b": z[:9, 1]}, "one number per row"),
        (None, r"\(N, D\), not None\."),
    ):
        with pytest.raises(DistaffError, match=message):
            modularity(codes, y)


@pytest.mark.parametrize("first", [0, 1])
def test_a_column_that_numbers_the_rows_is_no_latent_unless_it_is_named(tmp_path, first):
    z = np.random.default_rng(0).normal(size=(30, 2))
    frame = pd.DataFrame({"id": np.arange(30) + first, "a": z[:, 0], "b": z[:, 1]})
    frame.to_csv(tmp_path / "z.csv", index=False)
    with pytest.warns(UserWarning, match=r"z\.csv: not read as codes, since it numbers the rows: id\."):
        assert read_source(tmp_path / "z.csv")[0].names == ("a", "b")
    assert read_source(tmp_path / "z.csv", latents="id,a")[0].names == ("id", "a")
