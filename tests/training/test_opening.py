"""Closed latents opened by turns, the others shut meanwhile."""

import numpy as np
import pytest
import torch

from distaff.foundation.errors import DistaffError
from distaff.runs.openings import Opening, Openings, sooner
from distaff.training.opening import Opener, unexplained
from distaff.training.train import resume, train
from tests import toys
from tests.training.test_revival import SEED, alone, images, in_two_processes, with_closed


def opener_of(model):
    return Opener(model, Openings.parse("5:1,9"))


def gradients(model, x):
    output = model(x)
    loss = output.prior.kl(output.posterior, output.u) - output.likelihood.log_prob(x)
    model.zero_grad()
    loss.mean().backward()
    return model.encoder[-1].weight.grad, model.decoder[0].weight.grad


def test_some_latents_open_and_the_others_are_shut():
    model, x = with_closed("z=gaussian:5", [1, 3, 4]), images()
    with torch.no_grad():
        model.decoder[0].weight[:, 4] = 0.1  # closed, but not yet shut
    before = model.encode(x).parts["z"]
    assert opener_of(model).open([x], 1, alone, SEED) == [1]
    after = model.encode(x).parts["z"]
    torch.testing.assert_close(after.mu[:, [0, 2]], before.mu[:, [0, 2]])
    torch.testing.assert_close(after.mu[:, 1].std(), torch.tensor(1.0), atol=1e-3, rtol=0)
    assert torch.equal(after.mu[:, 3:], torch.zeros(len(x), 2))
    assert torch.equal(after.logvar[:, 3:], torch.zeros(len(x), 2))
    assert not model.decoder[0].weight[:, 3:].any()
    assert opener_of(model).open([x], None, alone, SEED) == [3, 4]
    assert model.decoder[0].weight.any(dim=0).all()


def test_shut_latents_learn_nothing_until_they_open():
    model, x = with_closed("z=gaussian:4", [1, 2]), images()
    opener = opener_of(model)
    opener.open([x], 1, alone, SEED)
    told, heard = gradients(model, x)
    for open_one in (0, 1, 3):
        assert told[open_one].any()
        assert told[4 + open_one].any()
        assert heard[:, open_one].any()
    assert not told[[2, 6]].any()
    assert not heard[:, 2].any()
    opener.open([x], 1, alone, SEED)
    told, heard = gradients(model, x)
    assert told.any(dim=1).all()
    assert heard.any(dim=0).all()


def test_processes_that_share_batches_open_the_same_latents_with_the_same_weights():
    x = images()
    first, second, whole = (with_closed("z=gaussian:4", [1, 3]) for _ in range(3))
    both = in_two_processes(
        [first, second], x, lambda model, share, gather: opener_of(model).open([share], 1, gather, SEED)
    )
    assert both == [[1], [1]] == [opener_of(whole).open([torch.cat([x[::2], x[1::2]])], 1, alone, SEED)] * 2
    for name, weight in whole.state_dict().items():
        torch.testing.assert_close(first.state_dict()[name], weight, msg=name, rtol=1e-3, atol=1e-5)
        assert torch.equal(first.state_dict()[name], second.state_dict()[name]), name


def test_projections_avoid_what_open_latents_tell():
    """Half of the features are curved functions of an open latent; half have nothing to do with it."""
    rng = np.random.default_rng(0)
    known, unknown = rng.standard_normal((2, 2000, 1))
    curves = np.concatenate([np.sin(3 * known), known**2, np.abs(known), known], axis=1)
    others = np.concatenate([np.cos(2 * unknown), unknown, unknown**3 / 5, np.tanh(unknown)], axis=1)
    features = np.concatenate([curves, others], axis=1) + 0.01 * rng.standard_normal((2000, 8))
    w = unexplained(features, known, 20, rng)
    told, untold = ((features[:, some] @ w[:, some].T).var(0) for some in (slice(4), slice(4, 8)))
    assert (told / untold).max() < 0.02
    drawn = np.abs(np.corrcoef(features @ w.T, rowvar=False)[np.triu_indices(20, 1)])
    assert np.median(drawn) < 0.9  # they differ


def test_without_open_latents_any_projection_will_do():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((50, 3))
    assert np.isfinite(unexplained(features, np.empty((50, 0)), 2, rng)).all()
    assert np.isfinite(unexplained(np.ones((50, 3)), np.ones((50, 1)), 2, rng)).all()


def test_a_run_with_openings_resumes_exactly(tmp_path):
    data = toys.tiny_images()
    settings = {
        "batch_size": 32,
        "latents": 4,
        "learning_rate": 1e-3,
        "bottleneck": "linear:60:60:15,linear:1:1:1",
        "gamma": 0.0,
        "revive": "15:1,20:1,25",
        "progress": False,
    }
    whole = train("factor_vae", data, steps=30, out=tmp_path / "whole", **settings)
    train("factor_vae", data, steps=18, out=tmp_path / "parts", **settings)
    shut = ~train("factor_vae", data, steps=18, **settings).model.decoder[0].weight.any(dim=0)
    assert shut.sum() >= 2
    for stop in (20, 21, 30):
        parts = resume(tmp_path / "parts", data, steps=stop, progress=False)
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(parts.model.state_dict()[name], weight), name
    assert whole.model.decoder[0].weight.any(dim=0).all()


def test_the_text_of_openings_is_read_and_written():
    openings = Openings.parse("1550:1, 2150:2,2650")
    assert openings.each == (Opening(1550, 1), Opening(2150, 2), Opening(2650))
    assert str(openings) == "1550:1,2150:2,2650"
    assert openings.at(2150) == Opening(2150, 2)
    assert openings.at(2151) is None
    assert str(sooner(openings, 0.1)) == "155:1,215:2,265"
    assert Openings.parse("1400") == 1400
    assert sooner(1400, 0.5) == 700


NONSENSE = ["", "0", "-3", "a", "5:0", "5:1:1", "9:1,5:1", "5:1,5:1", "5:1,,9", "1.5:1"]


@pytest.mark.parametrize("text", NONSENSE)
def test_openings_that_mean_nothing_are_refused_in_one_sentence(text):
    with pytest.raises(DistaffError, match=r"revive reads STEP|opens nothing|does not go forward"):
        Openings.parse(text)
