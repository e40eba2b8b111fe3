"""Signals: channels standardised as wholes, and given back in the user's shape and units."""

import numpy as np
import pytest

import distaff
from distaff.data.arrangements import read_arrangement
from distaff.data.bringing_in import bring_in
from distaff.data.signals import from_signals
from distaff.foundation.errors import DistaffError

TINY = {"latents": 2, "batch_size": 8, "steps": 2, "progress": False, "accelerator": "cpu"}


@pytest.fixture
def waves() -> np.ndarray:
    rng = np.random.default_rng(0)
    times = np.linspace(0, 6, 21)
    return 50 + 9 * np.sin(times * rng.uniform(1, 3, (20, 2, 1)) + rng.uniform(0, 6, (20, 2, 1)))


def test_channels_are_standardised_as_wholes_and_lead_back(waves):
    data = from_signals(waves)
    values = data.images[:].numpy()
    assert data.shape == (2, 21)
    np.testing.assert_allclose(values.mean((0, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(values.std((0, 2)), 1, rtol=1e-5)
    like = read_arrangement(data.arrangement.plain())
    assert like == data.arrangement
    np.testing.assert_allclose(like.back(values), waves, rtol=1e-5)
    np.testing.assert_array_equal(bring_in(waves[3], data.shape, like).images[0], data.images[3])
    flat = from_signals(waves[:, 0])
    assert flat.shape == (1, 21)
    assert flat.arrangement.back(flat.images[:].numpy()).shape == (20, 21)


def test_a_run_on_signals_takes_new_ones(waves, tmp_path):
    np.save(tmp_path / "waves.npy", waves)
    options = {"signals": True}
    model = distaff.train(
        "vae", str(tmp_path / "waves.npy"), data_options=options, out=tmp_path / "run", **TINY
    )
    assert "network: conv1d" in (tmp_path / "run" / "run.yaml").read_text()
    again = distaff.load(tmp_path / "run")
    np.testing.assert_array_equal(again.encode(waves).means, model.encode(tmp_path / "waves.npy").means)
    assert again.reconstruct(waves[0]).shape == (1, 2, 21)
    assert abs(again.reconstruct(waves).mean() - 50) < 5
    in_python = distaff.train("vae", waves, data_options=options, **TINY)
    np.testing.assert_array_equal(in_python.encode(waves).means, again.encode(waves).means)
    distaff.resume(tmp_path / "run", steps=3, progress=False)


def test_what_is_no_signal_is_one_sentence(waves):
    with pytest.raises(DistaffError, match=r"signals must be numbers \(N, T\) or \(N, C, T\)"):
        from_signals(np.zeros((2, 3, 4, 5)))
    waves[4, 1, 2] = np.nan
    with pytest.raises(DistaffError, match="signal 4 holds a value that is not finite"):
        from_signals(waves)
    data = from_signals(np.nan_to_num(waves))
    with pytest.raises(DistaffError, match=r"of shape \(2, 9\), but the model was trained on \(2, 21\)"):
        bring_in(np.nan_to_num(waves)[:, :, :9], data.shape, data.arrangement)


def test_an_array_of_other_signals_is_called_the_array(waves):
    data = from_signals(waves)
    with pytest.raises(DistaffError, match=r"^the array holds signals of shape \(1, 21\)"):
        bring_in(waves[:, :1], data.shape, data.arrangement)


def test_convolutions_over_time_refuse_columns_of_several_kinds():
    price = np.where(
        np.arange(20) == 3, np.nan, np.arange(20.0) ** 2
    )  # whose mask is an input, not an output
    table = {"price": price, "kind": ["new", "used"] * 10, "size": np.sin(np.arange(20))}
    with pytest.raises(
        DistaffError, match="conv1d networks are for signals, not for columns of several kinds"
    ):
        distaff.train("vae", table, network="conv1d", **TINY)
