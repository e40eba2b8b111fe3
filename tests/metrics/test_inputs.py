import numpy as np
import pandas as pd
import pytest
import torch

from distaff import Codes, DistaffError
from distaff.metrics.inputs import as_codes, as_factors, labelled, quantize_factors

RNG = np.random.default_rng(0)


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


def test_a_real_factor_refuses_to_be_classes_and_says_how_to_quantize():
    factors = as_factors({"angle": RNG.normal(size=100)})
    with pytest.raises(DistaffError, match=r"'angle' is real-valued.*quantize_factors"):
        _ = factors.classes


@pytest.mark.parametrize("method", ["uniform", "quantile"])
def test_quantized_factors_have_the_bins_asked_for(method):
    value = RNG.normal(size=1000)
    factors = quantize_factors({"angle": value}, 8, method=method)
    assert factors.sizes == (8,)
    assert (np.diff(factors.classes[np.argsort(value), 0]) >= 0).all()
    if method == "quantile":
        assert np.bincount(factors.classes[:, 0]).tolist() == [125] * 8
    assert "8 classes" in factors.notes[0]


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


@pytest.mark.parametrize(
    ("codes", "factors", "message"),
    [
        (np.zeros((4, 2)), np.arange(5), "4 rows of codes but 5"),
        (np.zeros((4, 2)), {"hue": [1, 1, 1, 1], "b": [0, 1, 0, 1]}, "'hue' has one value only"),
        (np.zeros((4, 2)), {"hue": [0.1] * 4}, "'hue' has one value only"),
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
