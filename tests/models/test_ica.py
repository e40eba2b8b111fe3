"""ICA: a mixed world is unmixed, posteriors are mapped with it, and a run keeps it."""

import sys

import numpy as np
import pytest

import distaff
from distaff.analysis.evaluate import evaluate_run
from distaff.codes import Codes
from distaff.data.arrays import from_array
from distaff.data.dataset import grid
from distaff.foundation.errors import DistaffError
from distaff.models.ica import ica
from distaff.models.representation import Representation
from tests import toys
from tests.objectives.rotated import alignment

RNG = np.random.default_rng(0)
SOURCES = RNG.uniform(-1, 1, (3000, 3))
MIXING = np.linalg.qr(RNG.standard_normal((3, 3)))[0] @ np.diag([1.0, 2.0, 3.0])
MIXED = SOURCES @ MIXING.T + 5


def test_a_turned_world_is_unturned():
    assert alignment(MIXED, SOURCES) < 0.95
    components = ica(MIXED)(Codes(MIXED)).means
    assert alignment(components, SOURCES) > 0.995
    np.testing.assert_allclose(np.cov(components.T, bias=True), np.eye(3), atol=1e-6)


def test_mixing_back_is_the_inverse():
    unmixing = ica(MIXED)
    components = unmixing(Codes(MIXED)).means
    np.testing.assert_allclose(unmixing.mix(components), MIXED, atol=1e-5)
    spreads = np.square(unmixing.mixing).sum(0)
    assert (np.diff(spreads) <= 0).all()
    assert (unmixing.mixing[np.abs(unmixing.mixing).argmax(0), range(3)] > 0).all()


def test_posteriors_are_mapped_with_their_means():
    """The variance of W z, z ~ N(mu, diag s²), by sampling."""
    logvars = np.log(RNG.uniform(0.1, 2, MIXED.shape))
    unmixing = ica(MIXED)
    codes = unmixing(Codes(MIXED, logvars))
    draws = MIXED[0] + np.exp(logvars[0] / 2) * RNG.standard_normal((200_000, 3))
    np.testing.assert_allclose(np.exp(codes.logvars[0]), (draws @ unmixing.unmixing.T).var(0), rtol=0.02)
    point = unmixing(Codes(MIXED, np.full_like(MIXED, -np.inf)))
    assert np.isneginf(point.logvars).all()


def test_latents_that_hardly_vary_stay_last_and_small():
    with_idle = np.hstack([MIXED, 1e-6 * RNG.standard_normal((3000, 1))])
    unmixing = ica(with_idle)
    components = unmixing(Codes(with_idle)).means
    assert components[:, 3].std() < 1e-5
    assert alignment(components[:, :3], SOURCES) > 0.995
    np.testing.assert_allclose(unmixing.mix(components), with_idle, atol=1e-5)


def test_a_search_that_does_not_settle_is_used_and_said(monkeypatch):
    """Codes of real encoders have nearly Gaussian directions, among which FastICA turns for ever."""
    monkeypatch.setattr(sys.modules[ica.__module__], "ITERATIONS", 2)
    with pytest.warns(UserWarning, match="nearly Gaussian have no axes of their own"):
        unmixing = ica(MIXED)
    components = unmixing(Codes(MIXED)).means
    np.testing.assert_allclose(np.cov(components.T, bias=True), np.eye(3), atol=1e-6)
    np.testing.assert_allclose(unmixing.mix(components), MIXED, atol=1e-5)


def test_classes_are_left_alone():
    categories = {"digit": np.eye(3)[RNG.integers(0, 3, 3000)]}
    codes = ica(MIXED)(Codes(MIXED, None, categories))
    assert codes.categories["digit"] is categories["digit"]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.zeros((50, 3)), "never vary"),
        (np.zeros((3, 3)), "more rows than 3"),
        (np.full((50, 2), np.nan), "finite"),
        (np.zeros(5), "real latents"),
    ],
)
def test_codes_that_cannot_be_unmixed_are_refused(codes, message):
    with pytest.raises(DistaffError, match=message):
        ica(codes)


def test_a_model_seen_through_its_ica():
    data = toys.ring(200)
    model = Representation(toys.model(data, "style=point:3,digit=concrete:2"), data.shape)
    seen = model.unmixed(distaff.ica(model.encode(data.images)))
    plain, components = model.encode(data.images), seen.encode(data.images)
    np.testing.assert_allclose(seen.unmixing.mix(components.means), plain.means, atol=1e-5)
    np.testing.assert_allclose(
        seen.reconstruct(data.images[:5]), model.reconstruct(data.images[:5]), atol=1e-5
    )
    assert seen.traverse().shape == model.traverse().shape


def test_a_run_keeps_its_ica(tmp_path):
    factors = grid((6, 6)).repeat(4, axis=0)
    data = from_array(RNG.random((144, 8)), factors)
    out = tmp_path / "run"
    settings = {"network": "tests.toys:mlp", "latents": 3, "steps": 2, "batch_size": 16, "progress": False}
    distaff.train("ae", data, out=out, accelerator="cpu", **settings)
    np.savez(tmp_path / "data.npz", images=data.images[:].numpy(), factors=factors)
    with pytest.raises(DistaffError, match="has no ICA yet"):
        distaff.load(out, ica=True)
    out = tmp_path / "filed"
    distaff.train("ae", tmp_path / "data.npz", out=out, accelerator="cpu", **settings)
    scores = evaluate_run(out, metrics="mig", ica=True, progress=False)
    assert (out / "scores-ica.json").exists()
    assert not (out / "scores.json").exists()
    components = distaff.load(out, ica=True).encode(data.images[:].numpy())
    assert distaff.metrics.mig(components, factors).value == pytest.approx(
        next(score.value for score in scores.scores if score.metric == "mig"), abs=1e-4
    )
