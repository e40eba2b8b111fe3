import numpy as np
import pandas as pd
import pytest
import torch

from distaff import Codes, DistaffError
from distaff.metrics import Evaluator, evaluate, mig, rmig, sap, udr
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.factor_bins import quantize_factors
from distaff.metrics.inputs import aligned, as_codes, as_factors
from distaff.metrics.metric import card_of
from distaff.metrics.missing_labels import all_labelled

RNG = np.random.default_rng(0)


def labelled(codes, factors):
    return all_labelled(*aligned(codes, factors))


def test_classes_are_numbered_in_the_order_of_values():
    factors = as_factors(np.array([[30, 7], [10, 7], [20, 5]]))
    assert factors.indices.tolist() == [[2, 1], [0, 1], [1, 0]]
    assert factors.sizes == (3, 2)
    assert factors.names == ("factor0", "factor1")
    assert factors.values[0].tolist() == [30, 7]


def test_frames_keep_their_column_names_and_mixed_types():
    frame = pd.DataFrame(
        {
            "shape": ["heart", "square", None, "heart"],
            "size": [1, 2, 2, 1],
            "angle": [0.5, 0.5, np.nan, 1.5],
            "big": pd.Categorical(["no", "yes", "no", "no"], categories=["no", "maybe", "yes"]),
        }
    )
    factors = as_factors(frame)
    assert factors.names == ("shape", "size", "angle", "big")
    assert factors.missing.tolist() == [False, False, True, False]
    assert factors.indices[:, 0].tolist() == [0, 1, -1, 0]
    assert factors.indices[:, 3].tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor, pd.DataFrame, np.ndarray.tolist])
def test_every_container_gives_the_same_factors(convert):
    values = RNG.integers(0, 4, (50, 3))
    assert np.array_equal(as_factors(convert(values)).classes, as_factors(values).classes)


def test_a_dict_of_columns_and_one_column_are_factors():
    assert as_factors({"a": [0, 1], "b": ["x", "y"]}).names == ("a", "b")
    assert as_factors([0, 1, 1]).sizes == (2,)
    assert as_factors(np.array([0, 1]), names=["shape"]).names == ("shape",)


def test_floats_are_classes_when_whole_or_when_their_values_repeat():
    angles = np.repeat(np.linspace(0, 2 * np.pi, 40), 25)
    assert as_factors(angles).sizes == (40,)
    assert as_factors(np.arange(10.0)).sizes == (10,)
    assert as_factors(RNG.normal(size=1000)).sizes == (0,)


TEXTS = ["10", "2", "33", "2", "10", "1"]


@pytest.mark.parametrize(
    "given",
    [
        TEXTS,
        np.array(TEXTS),
        np.array(TEXTS, object),
        np.array(TEXTS, "S"),
        [[text] for text in TEXTS],
        pd.Series(TEXTS),
        pd.DataFrame({"size": TEXTS}),
        pd.DataFrame({"size": TEXTS}, dtype="string"),
        {"size": TEXTS},
        [10, "2", 33, 2, "10", 1],
        pd.Series(TEXTS, dtype="category"),
        pd.Series(pd.Categorical([10, 2, 33, 2, 10, 1], categories=[33, 10, 2, 1])),
    ],
)
def test_strings_of_numbers_are_classes_in_the_order_of_the_numbers(given):
    factors = as_factors(given)
    assert factors.indices[:, 0].tolist() == [2, 1, 3, 1, 2, 0]
    assert factors.values[:, 0].tolist() == [10, 2, 33, 2, 10, 1]
    assert factors.notes == ()


def test_categories_keep_an_order_of_their_own_and_are_classes_unless_said_to_be_real():
    sizes = pd.Series(pd.Categorical(["10", None, "2", "10"], categories=["10", "2"], ordered=True))
    assert as_factors(sizes).indices[:, 0].tolist() == [0, -1, 1, 0]
    assert as_factors(sizes.cat.as_unordered()).indices[:, 0].tolist() == [1, -1, 0, 1]
    angles = pd.Series([0.5, 0.25, 1.5], dtype="category")
    assert (as_factors(angles).sizes, as_factors(angles).notes) == ((3,), ())
    assert as_factors(angles, real=True).sizes == (0,)
    assert as_factors(angles, real=True).values[:, 0].tolist() == [0.5, 0.25, 1.5]


def test_strings_that_are_not_all_numbers_or_write_one_number_twice_are_texts():
    assert as_factors(["10", "2", "two"]).indices[:, 0].tolist() == [0, 1, 2]
    assert as_factors(["7", "007"]).sizes == (2,)
    assert as_factors(["1", "inf", "nan"]).sizes == (3,)


ROWS = [["heart", 10, 0.5, True], ["oval", 9, 1.5, False], [None, 10, 1.5, True], ["heart", 9, None, True]]


def test_lists_of_mixed_rows_are_what_a_frame_of_them_is():
    """An array of such rows would be one of texts, where True, 10 and None have lost their types."""
    frame = pd.DataFrame(ROWS, columns=["shape", "size", "angle", "big"])
    expected = as_factors(frame)
    assert expected.missing.tolist() == [False, False, True, True]
    assert expected.indices[:, 1].tolist() == [1, 0, 1, 0]
    for given in (ROWS, [tuple(row) for row in ROWS], frame.to_dict("list"), frame.to_dict("records")):
        found = as_factors(given)
        assert np.array_equal(found.values, expected.values, equal_nan=True)
        assert np.array_equal(found.indices, expected.indices)


@pytest.mark.parametrize("kind", [np.int64, np.float64, str])
def test_whole_numbers_of_many_values_are_classes_and_the_score_says_that_they_may_be_measured(kind):
    """Noise about ages is far from nothing: of 60 classes in 300 rows, bins know 1 nat by chance."""
    ages = np.arange(300) % 60
    said = "factor 'age' has 60 whole values in 300 rows, taken as classes"
    noise = np.random.default_rng(0).normal(size=(300, 2))
    score = mig(noise, {"age": ages.astype(kind)})
    assert score.details["mutual_information"].min() > 1
    assert [note[: len(said)] for note in score.notes] == [said]
    for few in ({"age": ages // 3}, {"age": np.tile(ages, 2)}, {"age": ages // 30}):
        assert as_factors({name: column.astype(kind) for name, column in few.items()}).notes == ()
    measured = as_factors({"age": ages.astype(kind)}, real=["age"])
    assert (measured.sizes, measured.notes) == ((0,), ())


@pytest.mark.parametrize("rows", [99, 100, 101, 5000])
def test_values_with_fractions_are_classes_from_ten_rows_a_value_on_and_the_score_says_so(rows):
    angles = np.resize(np.linspace(0.05, 0.95, 10), rows)
    other = np.arange(rows) % 3
    factors = as_factors({"angle": angles, "kind": other})
    assert factors.sizes == (10 if rows >= 100 else 0, 3)
    taken = "classes: at least" if rows >= 100 else "numbers: fewer than"
    note = f"factor 'angle' has 10 values with fractions in {rows} rows, taken as {taken} 10 rows per value"
    assert factors.notes == (note,)
    assert sap(np.stack([angles, other], axis=1), factors).notes == (note,)


@pytest.mark.parametrize("rows", [30, 1000])
def test_an_argument_decides_whether_numbers_are_real(rows):
    values = {"angle": np.arange(rows) % 10 / 10, "kind": np.arange(rows) % 3}
    assert as_factors(values, real=["angle"]).sizes == (0, 3)
    assert as_factors(values, real=False).sizes == (10, 3)
    assert as_factors(values, real=True).sizes == (0, 0)
    assert as_factors(as_factors(values, real=True), real=["kind"]).sizes == (10, 0)
    assert as_factors(values, real=["angle"]).notes == ()
    with pytest.raises(DistaffError, match="did you mean 'angle'"):
        as_factors(values, real=["angel"])
    with pytest.raises(DistaffError, match="'s' holds labels that are not numbers"):
        as_factors({"s": ["a", "b"]}, real=True)


def test_whole_numbers_too_large_for_floats_stay_apart():
    assert as_factors(2**60 + np.arange(4)).sizes == (4,)


def test_masked_labels_are_missing():
    classes = np.ma.masked_equal(np.arange(6) % 3, 2)
    assert as_factors(classes).missing.tolist() == [False, False, True] * 2
    texts = np.ma.masked_equal(np.array(["a", "b", "c"]), "b")
    assert as_factors(texts).missing.tolist() == [False, True, False]


def test_a_real_factor_refuses_to_be_classes_and_says_how_to_quantize():
    factors = as_factors({"angle": RNG.normal(size=100)})
    with pytest.raises(DistaffError, match=r"'angle' is real-valued.*quantize_factors"):
        factors.refuse_real()


@pytest.mark.parametrize("method", ["uniform", "quantile"])
def test_quantized_factors_have_the_bins_asked_for(method):
    value = RNG.normal(size=1000)
    factors = quantize_factors({"angle": value}, 8, method=method)
    assert factors.sizes == (8,)
    assert (np.diff(factors.classes[np.argsort(value), 0]) >= 0).all()
    if method == "quantile":
        assert np.bincount(factors.classes[:, 0]).tolist() == [125] * 8
    assert "8 classes" in factors.notes[-1]


def test_rows_with_missing_labels_are_dropped_from_both_with_a_note():
    values = np.array([[0, 1.0], [np.nan, 2], [3, 1], [3, 2], [0, 2]])
    codes, factors = labelled(np.arange(5.0)[:, None], values)
    assert codes.means[:, 0].tolist() == [0, 2, 3, 4]
    assert factors.classes.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]]
    assert factors.notes == ("1 of 5 rows dropped: a label is missing",)


def test_classes_that_vanish_with_dropped_rows_leave_no_gap():
    factors = as_factors({"a": [0, 1, 2, 2], "b": [0, None, 1, 0]})
    _, kept = labelled(np.zeros((4, 1)), factors)
    assert kept.sizes == (2, 2)
    assert kept.classes[:, 0].tolist() == [0, 1, 1]


def test_means_and_log_variances_become_codes():
    mu = torch.randn(5, 2, requires_grad=True)
    codes = as_codes(mu, torch.zeros(5, 2))
    assert isinstance(codes, Codes)
    assert codes.logvars is not None
    assert as_codes(mu.detach().bfloat16()).means.dtype == np.float32


MEANS = RNG.normal(size=(40, 2)).astype(np.float32)


@pytest.mark.parametrize(
    "form",
    [
        pd.DataFrame,
        lambda z: pd.DataFrame(z).astype("Float32"),
        lambda z: pd.DataFrame(z).astype(object),
        lambda z: np.lib.stride_tricks.as_strided(z, writeable=False),
        lambda z: z[::-1].copy()[::-1],
        np.asfortranarray,
        lambda z: z.astype(">f4"),
        lambda z: torch.tensor(z).to_sparse(),
        np.ndarray.tolist,
        np.ma.asarray,
    ],
)
@pytest.mark.filterwarnings("error")
def test_codes_of_every_form_give_the_same_scores_without_a_warning(form):
    """Of read-only memory, as frames have it, torch warns, and negative strides it refuses."""
    y = np.arange(40) % 4
    names = ["rmig", "total_correlation", "mig"]
    found = evaluate(form(MEANS), y, logvar=form(MEANS - 4), metrics=names)
    expected = evaluate(MEANS, y, logvar=MEANS - 4, metrics=names)
    assert found["value"].tolist() == pytest.approx(expected["value"].tolist(), abs=1e-6)


def test_frames_in_different_orders_are_not_paired():
    codes, factors = pd.DataFrame(MEANS), pd.DataFrame({"y": np.arange(40) % 4})
    for call in (labelled, lambda c, f: evaluate(c, f, metrics=["mig"])):
        call(codes, factors)
        call(codes, factors.set_index(np.arange(40) + 100))
        with pytest.raises(DistaffError, match="same index in another order"):
            call(codes, factors.sample(frac=1, random_state=0))


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda z, y: mig(z, {"y": y}), "codes and factors"),
        (lambda z, y: evaluate(MEANS, {"x": z[0], "y": y}), "codes and factors"),
        (lambda z, y: Evaluator().update(z, {"y": y}), "codes and factors"),
        (lambda z, y: evaluate(z, logvar=z.loc[y.index] - 4), "codes and log-variances"),
        (lambda z, y: evaluate(z, baselines={"b": z.loc[y.index]}), "codes and the baseline 'b'"),
        (lambda z, y: udr([z, z.loc[y.index]]), "the models"),
    ],
)
def test_no_rows_are_paired_with_those_of_a_frame_in_another_order(call, what):
    codes = pd.DataFrame(MEANS)
    y = pd.Series(np.arange(40) % 4).sample(frac=1, random_state=0)
    with pytest.raises(DistaffError, match=f"frames of {what} have the same index in another order"):
        call(codes, y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: Codes(MEANS, categories={"z0": p}), "two latents are called 'z0'"),
        (lambda p: Codes(MEANS[:, :2], latents=("hue", "hue")), "two latents are called 'hue'"),
        (lambda p: Codes(MEANS, categories=p), "categories are class probabilities by name, not a ndarray"),
        (lambda p: Codes({"a": MEANS[:, 0]}), r"means must be a matrix \(N, D\), not a dict"),
        (lambda p: rmig(MEANS, probabilities=p), "by the factors' names, not a ndarray"),
        (lambda p: rmig(MEANS, probabilities=[p]), "by the factors' names, not a list"),
    ],
)
def test_what_has_no_name_of_its_own_is_one_sentence(make, message):
    with pytest.raises(DistaffError, match=message):
        make(np.eye(4)[np.arange(40) % 4])


@pytest.mark.parametrize(
    ("codes", "factors", "message"),
    [
        (np.zeros((4, 2)), np.arange(5), "4 rows of codes but 5"),
        (np.zeros((4, 2)), {"hue": [1, 1, 1, 1], "b": [0, 1, 0, 1]}, "'hue' has only one value"),
        (np.zeros((4, 2)), {"hue": [0.1] * 4}, "'hue' has only one value"),
        (np.zeros((4, 2)), {"hue": [1, None, None, None]}, "only 1 rows have all their labels"),
        (np.zeros((4, 0)), np.arange(4), "no latents"),
        (np.zeros((1, 2)), np.arange(1), "at least 2 observations"),
        (np.zeros((4, 2)), np.zeros((4, 0)), "no factors"),
        (np.zeros((4, 2)), np.zeros((4, 2, 2)), r"matrix \(N, K\)"),
        (np.zeros((4, 2)), [0.1, np.inf, 2, 3], "infinite"),
        (np.zeros((4, 2)), np.arange(4) * 1j, "complex"),
        (np.zeros((4, 2)), {"a": [1, 2], "b": [1, 2, 3]}, "columns of equal length"),
        (np.full((4, 2), np.nan), np.arange(4), "nan at row 0"),
        (np.full((4, 2), 1e200), np.arange(4), "rescale the latents"),
        (Codes(np.ones((4, 1)), np.full((4, 1), 1e3)), np.arange(4), "are these logarithms"),
        (np.zeros(4), np.arange(4), r"matrix \(N, D\)"),
        ([[1, 2], [3]], np.arange(2), "list cannot be read as an array"),
        (np.ma.masked_less(np.arange(8.0).reshape(4, 2), 1), np.arange(4), "nan at row 0"),
        (pd.DataFrame({"a": [1, pd.NA]}), np.arange(2), "column 'a' holds <NA>"),
        (torch.empty(4, 2, device="meta"), np.arange(4), "Tensor cannot be read"),
        (np.zeros((4, 2)), [[1, 2], [3]], "differ in length"),
        (np.zeros((4, 2)), [], "no rows"),
        (np.zeros((4, 2)), {"a": np.zeros((4, 2))}, r"columns \(N,\)"),
        (np.zeros((4, 2)), np.zeros(4, "V4"), "numbers or labels"),
    ],
)
def test_bad_input_is_one_clear_sentence(codes, factors, message):
    with pytest.raises(DistaffError, match=message):
        labelled(codes, factors)


def test_names_must_fit_and_differ():
    with pytest.raises(DistaffError, match="1 names for 2 factors"):
        as_factors(np.eye(2), names=["a"])
    with pytest.raises(DistaffError, match="same name"):
        as_factors(np.eye(2), names=["a", "a"])


def test_categories_in_a_dict_keep_their_order():
    sizes = pd.Categorical(["S", "L", "M", "S"], categories=["S", "M", "L"], ordered=True)
    for column in (sizes, pd.CategoricalIndex(sizes), pd.Series(sizes)):
        assert as_factors({"size": column}).indices[:, 0].tolist() == [0, 2, 1, 0]


def test_codes_may_say_whether_a_feature_is_there():
    there = RNG.random((50, 3)) < 0.3
    assert Codes(there).means.tolist() == there.astype(float).tolist()


@pytest.mark.parametrize(
    "name", ["informativeness", "misjed", "hoyer", "total_correlation", "infomec", "rmig", "z_diff"]
)
@pytest.mark.filterwarnings("error")
def test_means_are_read_up_to_what_sums_in_single_precision_hold(name):
    y = np.indices((3, 4)).reshape(2, -1).T.repeat(5, axis=0)
    z = (y + 0.1 * RNG.normal(size=y.shape)) * 1e34
    metric = all_metrics()[name]
    labels = (y,) if card_of(metric).inputs == "codes and factors" else ()
    metric(Codes(z, np.zeros(z.shape)), *labels)
    metric(Codes(z.astype(np.float32), np.zeros(z.shape)), *labels)
    with pytest.raises(DistaffError, match="beyond 1e\\+35 overflow where they are added up: rescale"):
        metric(Codes(z * 1e3, np.zeros(z.shape)), *labels)


def test_one_real_valued_factor_is_named_as_it_stands():
    factors = as_factors({"angle": np.arange(40), "a": np.arange(40) % 4}, real="angle")
    assert factors.sizes == (0, 4)
