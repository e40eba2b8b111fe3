"""Tables: columns learnt once, applied to other rows, and given back in the user's units."""

import warnings

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import distaff
from distaff.data import columns, open_dataset, tables
from distaff.data.arrangements import read_arrangement
from distaff.data.bringing_in import bring_in
from distaff.data.frameworks import from_object
from distaff.data.tables import from_frame, from_vectors
from distaff.foundation.errors import DataNotice, DistaffError

FRAME = pd.DataFrame(
    {
        "colour": ["red", "blue", None, "red"],
        "size": [1.0, 3.0, 5.0, 7.0],
        "visits": [0, 2, 1, 40],
        "weight": [2.0, None, 4.0, 6.0],
        "kind": ["a", "b", "a", "b"],
    }
)
HOW = {"factors": "kind", "counts": "visits"}


def test_categories_are_classes_whatever_they_are():
    frame = pd.DataFrame({"cluster": pd.Categorical([1, 2, 3, 1]), "size": [1.0, 3.0, 5.0, 7.0]})
    data = from_frame(frame)
    np.testing.assert_array_equal(data.images[:].numpy()[:, 1:], np.eye(3)[[0, 1, 2, 0]])
    texts = frame.assign(cluster=pd.Categorical(["0", "1", "10", "0"]))
    assert from_frame(texts).shape == (4,)


def test_numbers_too_large_to_standardise_are_refused():
    """Their deviation overflowed, and all of them were 0."""
    frame = pd.DataFrame({"depth": [1.0, 2.0, 1e300], "size": [1.0, 3.0, 5.0]})
    with pytest.raises(DistaffError, match=r"column 'depth' of the DataFrame holds numbers up to 1e\+300"):
        from_frame(frame)


def test_columns_are_standardised_counted_and_split_into_classes():
    data = from_frame(FRAME, **HOW)
    assert data.names == ("kind",)
    assert data.shape == (5,)  # size, weight; visits; blue, red
    values = data.images[:].numpy()
    np.testing.assert_allclose(values[:, 0], (FRAME["size"] - 4) / np.sqrt(5), rtol=1e-6)
    weights = np.array([2.0, 4.0, 6.0])
    np.testing.assert_allclose(values[[0, 2, 3], 1], (weights - 4) / weights.std(), rtol=1e-6)
    assert np.isnan(values[1, 1])
    np.testing.assert_array_equal(values[:, 2], FRAME["visits"])
    np.testing.assert_array_equal(values[[0, 1, 3], 3:], [[0, 1], [1, 0], [0, 1]])
    assert np.isnan(values[2, 3:]).all()
    assert data.arrangement.likelihood == "by_column:real=2,counts=1,classes=2,missing=true"


def test_what_was_learnt_survives_being_written_down_and_leads_back():
    data = from_frame(FRAME, **HOW)
    like = read_arrangement(data.arrangement.plain())
    assert like == data.arrangement
    other = bring_in(FRAME[::-1], data.shape, like)
    np.testing.assert_array_equal(other.images[:], data.images[:].flip(0))
    back = like.back(np.nan_to_num(data.images[:].numpy()))
    np.testing.assert_allclose(back["size"], FRAME["size"])
    assert back["colour"][[0, 1, 3]].tolist() == ["red", "blue", "red"]
    assert back["weight"][1] == pytest.approx(4)  # filled in: the mean stands for nothing known


def test_vectors_are_standardised_and_lead_back():
    rng = np.random.default_rng(0)
    vectors = rng.normal(5, [1, 100, 0.001], (50, 3))
    data = from_vectors(vectors)
    values = data.images[:].numpy()
    np.testing.assert_allclose(values.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(values.std(0), 1, rtol=1e-4)
    np.testing.assert_allclose(data.arrangement.back(values), vectors, rtol=1e-4)
    assert data.arrangement.likelihood == "unit_gaussian"
    one = bring_in(vectors[3], data.shape, data.arrangement)
    np.testing.assert_array_equal(one.images[0], data.images[3])


def test_twelve_columns_of_an_array_stay_in_order():
    """As texts, column 10 would come before column 2."""
    vectors = np.arange(36.0).reshape(3, 12) ** 2
    data = from_vectors(vectors)
    np.testing.assert_allclose(data.arrangement.back(data.images[:].numpy()), vectors, atol=1e-3)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_files_of_tables(tmp_path, suffix):
    path = tmp_path / f"mine.{suffix}"
    if suffix == "parquet":
        FRAME.to_parquet(path)
    else:
        FRAME.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    data = open_dataset(path, **HOW)
    np.testing.assert_array_equal(data.images[:], from_frame(FRAME, **HOW).images[:])


def test_names_of_rows_are_left_out_and_said():
    ids = [f"w{n}" for n in range(4)]
    with pytest.warns(UserWarning, match="column 'id' of the DataFrame is left out"):
        assert from_frame(FRAME[["size"]].assign(id=ids)).shape == (1,)


@pytest.mark.parametrize(
    ("change", "how", "message"),
    [
        ({"size": ["1", "2", "x", "4"] * 8}, {"columns": "size", "categorical": "colour"}, None),
        ({"size": [*map(str, range(31)), "oops"]}, {}, r"column 'size' .* holds 'oops' in row 31"),
        ({"size": [np.inf] + [1.0] * 31}, {}, "column 'size' .* is infinite in row 0"),
        ({"size": [None] * 32}, {}, "column 'size' .* is empty"),
        ({"visits": [-1] * 32}, {"counts": "visits"}, "column 'visits' .* holds -1, which is not a count"),
        ({}, {"columns": "sise"}, "did you mean 'size'"),
        (
            {"colour": [f"{n}" * 2 + "x" for n in range(31)] + ["00x"]},
            {},
            "column 'colour' .* 31 different values, too many for classes: .* among factors, or .* columns",
        ),
    ],
)
def test_a_column_that_cannot_be_read_is_named(change, how, message, monkeypatch):
    monkeypatch.setattr(columns, "MOST_CLASSES", 30)
    frame = pd.concat([FRAME] * 8, ignore_index=True).assign(**change)
    if message is None:
        assert from_frame(frame, **how).shape == (4,)  # texts become classes
        return
    with pytest.raises(DistaffError, match=message):
        from_frame(frame, **how)


def test_rows_that_do_not_fit_the_model_are_named():
    data = from_frame(FRAME[["size", "visits", "kind"]])
    with pytest.raises(DistaffError, match="lacks the column 'size'"):
        bring_in(FRAME[["visits", "kind"]], data.shape, data.arrangement)
    with pytest.raises(
        DistaffError, match="holds 'c' in row 3, which was not in training: the known values are a, b"
    ):
        bring_in(FRAME.assign(kind=["a", "b", "a", "c"]), data.shape, data.arrangement)
    with pytest.raises(DistaffError, match=r"row 1 .* lacks a value of 'size'"):
        bring_in(FRAME.assign(size=[1, None, 2, 3]), data.shape, data.arrangement)


def test_labels_are_read_where_they_are_and_several_columns_are_named_at_once():
    data = from_frame(FRAME.assign(weights=[1, 2, 1, 2]), factors="kind+weights", columns="size+visits")
    assert data.names == ("kind", "weights")
    assert data.shape == (2,)
    with_labels = bring_in(FRAME, data.shape, data.arrangement, factors="kind")
    assert with_labels.names == ("kind",)
    without = bring_in(FRAME[["size", "visits"]], data.shape, data.arrangement, factors="kind")
    assert without.factors is None


def _written_cells(path, matrix, layers=None):
    """Cells of three genes as anndata writes them, with a kind, a batch and an array in obsm."""
    rng = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        for name, values in {"X": matrix, **{f"layers/{n}": v for n, v in (layers or {}).items()}}.items():
            if sparse.issparse(values):
                group = file.create_group(name)
                group.attrs.update({"encoding-type": "csr_matrix", "shape": values.shape})
                for part in ("data", "indices", "indptr"):
                    group.create_dataset(part, data=getattr(values, part))
            else:
                file.create_dataset(name, data=values)
        text = h5py.string_dtype()
        for group, names, columns in (
            ("var", ["CD4", "CD8", "MS4A1"], []),
            ("obs", [f"cell{n}" for n in range(matrix.shape[0])], ["kind", "batch"]),
        ):
            made = file.create_group(group)
            made.attrs.update({"encoding-type": "dataframe", "_index": "_index"})
            made.attrs["column-order"] = np.array(columns, dtype=text)
            made.create_dataset("_index", data=names, dtype=text)
        file["obs"].create_dataset("batch", data=np.arange(matrix.shape[0]) % 2)
        kind = file["obs"].create_group("kind")
        kind.attrs.update({"encoding-type": "categorical", "ordered": False})
        kind.create_dataset("categories", data=["B", "T"], dtype=text)
        kind.create_dataset("codes", data=(np.arange(matrix.shape[0]) % 2).astype(np.int8))
        file.create_dataset("obsm/X_pca", data=rng.normal(size=(matrix.shape[0], 2)))
    return path


def test_cells_of_an_h5ad_file_are_trained_on(tmp_path):
    rng = np.random.default_rng(0)
    counts = rng.poisson(2, (40, 3)).astype(np.float32)
    path = _written_cells(tmp_path / "cells.h5ad", np.log1p(counts), {"counts": sparse.csr_matrix(counts)})
    plain = open_dataset(path)
    assert plain.shape == (3,), "obs is not trained on"
    assert plain.row_names[1] == "cell1"
    assert [column.name for column in plain.arrangement.columns] == ["CD4", "CD8", "MS4A1"]
    labelled = open_dataset(path, factors="kind+batch", matrix="counts", counts="all")
    np.testing.assert_array_equal(labelled.images[:].numpy(), counts)
    assert labelled.names == ("kind", "batch")
    assert open_dataset(path, matrix="X_pca").shape == (2,)
    assert open_dataset(path, columns="CD4+kind").shape == (3,), "one gene, and a class of two"
    with pytest.raises(DistaffError, match="'count': did you mean 'counts'"):
        open_dataset(path, matrix="count")
    with pytest.raises(DistaffError, match=r"unknown column in obs of .* 'kid'"):
        open_dataset(path, factors="kid")
    (tmp_path / "text.h5ad").write_text("no")
    with pytest.raises(DistaffError, match="not a whole"):
        open_dataset(tmp_path / "text.h5ad")


def test_new_cells_are_brought_in_as_those_of_training(tmp_path):
    rng = np.random.default_rng(0)
    counts = sparse.csr_matrix(rng.poisson(2, (40, 3)))
    path = _written_cells(tmp_path / "cells.h5ad", rng.normal(size=(40, 3)), {"counts": counts})
    options = {"matrix": "counts", "counts": "all", "factors": "kind"}
    small = {"steps": 2, "batch_size": 8, "latents": 2, "progress": False}
    distaff.train("vae", path, data_options=options, out=tmp_path / "run", **small)
    out = distaff.encode_data(tmp_path / "run", data=path, out=tmp_path / "codes.csv", progress=False)
    table = pd.read_csv(out, index_col=0)
    assert table.index[3] == "cell3"
    assert "kind" in table.columns
    assert len(distaff.load(tmp_path / "run").encode(path)) == 40


class Cells:
    """What of an AnnData is read."""

    def __init__(self, matrix, obs):
        self.X, self.obs, self.obs_names = matrix, obs, obs.index
        self.var_names = [f"gene{n}" for n in range(matrix.shape[1])]
        self.layers, self.obsm = {"counts": matrix * 2}, {"X_pca": np.ones((matrix.shape[0], 2))}


def test_obs_of_an_annotated_table_in_memory_is_for_labels():
    obs = pd.DataFrame({"kind": list("ab") * 10}, index=[f"cell{n}" for n in range(20)])
    cells = Cells(sparse.csr_matrix(np.random.default_rng(0).poisson(2, (20, 3))), obs)
    assert from_object(cells).shape == (3,)
    assert from_object(cells, factors="kind").names == ("kind",)


def test_a_model_of_a_layer_takes_that_layer_of_an_annotated_table_in_memory():
    counts = np.random.default_rng(0).poisson(3, (20, 3))
    names = pd.DataFrame(index=[f"cell{n}" for n in range(20)])
    cells, options = Cells(sparse.csr_matrix(counts), names), {"matrix": "counts", "standardise": False}
    how = {"latents": 2, "network": "mlp:hidden=8,layers=1", "batch_size": 8, "steps": 2, "progress": False}
    data = from_object(cells, **options)
    np.testing.assert_array_equal(data.images[:], 2 * counts)
    assert from_object(cells, matrix="X_pca").shape == (2,)
    model = distaff.train("vae", cells, data_options=options, **how)
    plain = distaff.train("vae", cells, data_options={"standardise": False}, **how)
    np.testing.assert_array_equal(model.encode(cells).means, model.encode(2 * counts).means)
    np.testing.assert_array_equal(plain.encode(cells).means, plain.encode(counts).means)
    with pytest.raises(DistaffError, match="unknown matrix of the AnnData 'count': did you mean 'counts'"):
        from_object(cells, matrix="count")
    with pytest.raises(DistaffError, match="matrix=counts is for an AnnData, not for a DataFrame"):
        from_object(FRAME, matrix="counts")


@pytest.mark.parametrize("day", ["2024-05-{:02d}", "{:02d}.05.2024", "5/{}/24", "2024-05-{:02d} 12:30"])
def test_dates_that_repeat_are_left_out_too(day):
    frame = pd.DataFrame({"x": np.arange(12) % 5, "bought": [day.format(n % 4 + 1) for n in range(12)]})
    with pytest.warns(
        UserWarning, match="column 'bought' of the DataFrame is left out: its values are dates"
    ):
        assert from_frame(frame).shape == (1,)
    assert from_frame(frame, columns="x+bought").shape == (5,)  # four classes, where they are asked for


def test_spreadsheets_of_other_countries_are_read(tmp_path):
    frame = pd.DataFrame({"price": [1.5, 2.25, 1000.5], "kind": ["a, b", "c", "c"]})
    frame.to_csv(tmp_path / "european.csv", sep=";", decimal=",", index=False)
    frame.to_csv(tmp_path / "points.csv", sep=";", index=False)
    frame.to_csv(tmp_path / "tabs.csv", sep="\t", index=False)
    frame.to_csv(tmp_path / "usual.csv", index=False)
    wanted = from_frame(frame)
    for file in ("european.csv", "points.csv", "tabs.csv", "usual.csv"):
        data = open_dataset(tmp_path / file)
        np.testing.assert_allclose(data.images[:].numpy(), wanted.images[:].numpy())
        assert data.arrangement.columns == wanted.arrangement.columns


def test_numbers_of_rows_are_left_out_and_named_unless_asked_for():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"number": np.arange(100, 150), "age": rng.integers(20, 60, 50), "x": rng.normal(size=50)}
    )
    with pytest.warns(UserWarning, match="'number' of the DataFrame is left out: it numbers the rows"):
        data = from_frame(frame)
    assert [column.name for column in data.arrangement.columns] == ["age", "x"]
    assert from_frame(frame, columns="number+x").shape == (2,)
    assert from_vectors(frame.to_numpy()).shape == (3,)  # an array has no column of names


def test_labels_may_be_missing():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "kind": ["b", None, "a", "b"], "size": [1, 2, None, 1]})
    data = from_frame(frame, factors=["kind", "size"])
    np.testing.assert_array_equal(data.factors, [[1, 0], [np.nan, 1], [0, np.nan], [1, 0]])
    assert data.labels("kind").tolist() == ["b", None, "a", "b"]
    np.testing.assert_array_equal(data.subset([3, 2]).labels("size"), [1, np.nan])
    with pytest.raises(DistaffError, match="'none' of the DataFrame has no value in any row"):
        from_frame(frame.assign(none=None), factors="none", columns="x")


def test_a_table_is_called_what_the_user_called_it(tmp_path, monkeypatch):
    FRAME.to_csv(tmp_path / "mine.csv", index=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DistaffError, match=r"unknown column of mine\.csv 'vists': did you mean 'visits'"):
        distaff.train("vae", "mine.csv", data_options="counts=vists", steps=1)


def test_rows_with_more_cells_than_names_and_bytes_that_are_no_text_are_refused(tmp_path):
    wide = tmp_path / "wide.csv"
    wide.write_text("a,b\n" + "x,y,1,2\n" * 8)
    with pytest.raises(DistaffError, match="more cells than its heading has names"):
        tables.load(wide)
    texts = tmp_path / "texts.parquet"
    pd.DataFrame({"a": np.arange(8.0), "kind": ["first", "other"] * 4}).to_parquet(texts)
    assert len(tables.load(texts)) == 8
    texts.write_bytes(texts.read_bytes().replace(b"first", b"fi\xff\xfet"))
    with pytest.raises(DistaffError, match=r"texts\.parquet"):
        tables.load(texts)


def test_rows_may_be_named_by_several_columns():
    rows = pd.MultiIndex.from_product([["left", "right"], range(4)])
    data = tables.from_frame(pd.DataFrame({"a": np.arange(8.0), "b": np.arange(8.0) % 3}, index=rows))
    assert data.row_names[0] == "('left', 0)"


def test_a_column_is_not_read_in_two_ways():
    with pytest.raises(DistaffError, match=r"column 'visits' of .* is named among categorical and counts"):
        from_frame(FRAME, categorical="visits", counts="visits")
    with pytest.raises(DistaffError, match=r"column 'kind' of .* is named among columns and factors"):
        from_frame(FRAME, columns="kind", factors="kind")


def test_cells_that_share_a_name_stay_as_many_as_they_are(tmp_path):
    """Scanpy joins experiments whose barcodes repeat, and warns that observation names are not unique."""
    matrix = np.random.default_rng(0).normal(size=(20, 3))
    path = _written_cells(tmp_path / "cells.h5ad", matrix)
    with h5py.File(path, "r+") as file:
        file["obs/_index"][:] = [f"cell{n % 10}" for n in range(20)]
    for options in ({}, {"factors": "kind"}):
        data = open_dataset(path, standardise=False, **options)
        np.testing.assert_allclose(data.images[:].numpy(), matrix, rtol=1e-6)
    obs = pd.DataFrame({"kind": list("ab") * 10}, index=[f"cell{n % 10}" for n in range(20)])
    assert len(from_object(Cells(sparse.csr_matrix(matrix), obs), factors="kind")) == 20


@pytest.mark.parametrize("names", ["texts", "numbers"])
def test_an_index_saved_with_a_table_names_its_rows_and_is_not_trained_on(tmp_path, names):
    """What pandas writes of some rows of a larger table, without ``index=False``."""
    rng = np.random.default_rng(0)
    index = [f"row{n}" for n in range(30)] if names == "texts" else rng.permutation(900)[:30].tolist()
    path = tmp_path / "mine.csv"
    pd.DataFrame({"a": rng.normal(size=30), "b": rng.normal(size=30)}, index=index).to_csv(path)
    data = tables.load(path)
    assert [column.name for column in data.arrangement.columns] == ["a", "b"]
    assert data.row_names.tolist() == list(map(str, index))
    assert [c.name for c in tables.load(path, columns="a+Unnamed: 0").arrangement.columns] == [
        "a",
        "Unnamed: 0",
    ]


@pytest.mark.parametrize(
    ("trained", "later"),
    [
        (["1", "2", "x"], ["1", "2", "2"]),
        (["1", "2", "2"], ["1", "2", "x"]),
        (["True", "False", "unknown"], ["True", "False", "True"]),
        (["1", "2", "x", ""], ["1", "", "2"]),
        (["2", "2.5", "x"], ["2", "2.5", "2.5"]),
    ],
)
def test_classes_are_known_again_whatever_the_other_rows_of_a_file_hold(tmp_path, trained, later):
    """A reader takes a column for texts or for numbers by all of its cells."""
    for name, cells in (("first", trained), ("later", later)):
        rows = "\n".join(f"{0.1 * n},{cell}" for n, cell in enumerate(cells * 5))
        (tmp_path / f"{name}.csv").write_text(f"size,grade\n{rows}\n")
    like = tables.load(tmp_path / "first.csv", categorical="grade").arrangement
    classes = [str(value) for value in like.columns[1].classes]
    if "x" in later:
        with pytest.raises(DistaffError, match="holds 'x' in row 2, which was not in training"):
            tables.load(tmp_path / "later.csv", like=like)
        return
    seen = tables.load(tmp_path / "later.csv", like=like).images[:3].numpy()[:, 1:]
    for row, cell in zip(seen, later, strict=True):
        assert np.isnan(row).all() if cell == "" else classes[row.argmax()] == cell


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([[1, 2]] * 8, "column 'a' of the DataFrame holds a list in row 0, where a number or a text belongs"),
        ([None, *[np.zeros(2)] * 7], "column 'a' of the DataFrame holds a ndarray in row 1"),
        (np.ones(8) + 1j, "column 'a' of the DataFrame holds complex numbers"),
    ],
)
def test_cells_that_are_neither_numbers_nor_texts_are_named(cells, message):
    frame = pd.DataFrame({"a": pd.Series(list(cells)), "b": np.arange(8.0) % 3})
    with pytest.raises(DistaffError, match=message):
        from_frame(frame)
    assert from_frame(frame, columns="b").shape == (1,)


def test_a_sign_for_missing_numbers_is_pointed_out(tmp_path):
    ages = [str(n) if n % 5 else "?" for n in range(40)]
    frame = pd.DataFrame({"age": ages, "kind": ["a", "b"] * 20})
    with pytest.warns(DataNotice, match=r"column 'age' .* classes, since some .* no numbers, such as '\?'"):
        data = from_frame(frame)
    assert data.arrangement.columns[0].kind == "classes"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_frame(frame, columns="kind")
        from_frame(frame, categorical="age")


def test_a_table_in_another_encoding_is_said_to_be(tmp_path):
    (tmp_path / "cities.csv").write_bytes("size,city\n1.5,Köln\n2.5,Zürich\n".encode("latin-1"))
    with pytest.raises(DistaffError, match=r"cities\.csv is not a text in UTF-8"):
        tables.load(tmp_path / "cities.csv")
