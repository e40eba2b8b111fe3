"""Closed latents and dead units, drawn anew."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from distaff.foundation.errors import DistaffError
from distaff.models.latents import LatentSpace
from distaff.models.networks import kim_mnih
from distaff.models.networks.halving import Networks
from distaff.models.priors.parsing import parse_prior
from distaff.models.vae import VAE
from distaff.training.revival import LOGVAR, Revival
from distaff.training.train import resume, train
from tests import toys

SEED = (0, 7)
LAYERS = [0, 2, 4, 6, 9]
"""The places of the layers with a ReLU behind them in the encoder of Kim & Mnih."""


def alone(x: torch.Tensor) -> torch.Tensor:
    return x


def images(count: int = 64) -> torch.Tensor:
    return toys.tiny_images(count).images[:]


@torch.no_grad()
def with_closed(latents: str, closed: list[int]) -> VAE:
    """A VAE whose real latents of these numbers have the prior as their posterior and go unheard.

    The others tell images apart: their means vary by far more than their noise.
    """
    torch.manual_seed(0)
    space = LatentSpace.parse(latents)
    model = VAE(kim_mnih((1, 16, 16), space.parameters, space.width), space)
    head, stem = model.encoder[-1], model.decoder[0]
    dims = space.groups["z"].dims
    head.bias[dims : 2 * dims] = -2
    head.weight[:dims] /= model.encode(images()).parts["z"].mu.std(0)[:, None]
    for d in closed:
        head.weight[[d, dims + d]] = 0
        head.bias[[d, dims + d]] = 0
        stem.weight[:, d] = 0
    return model


def active(model: VAE, x: torch.Tensor) -> list[torch.Tensor]:
    """Which units of each layer say something about any image."""
    found, h = [], x
    for place, layer in enumerate(model.encoder):
        h = layer(h)
        if place in LAYERS:
            found.append((h.transpose(0, 1).flatten(1) > 0).any(1))
    return found


@torch.no_grad()
def test_closed_latents_tell_and_are_heard_again_and_open_ones_stay_as_they_were():
    model, x = with_closed("z=gaussian:5", [1, 4]), images()
    before, heard = model.encode(x).parts["z"], model.decoder[0].weight.clone()
    assert Revival(model)(x, alone, SEED) == [1, 4]
    after = model.encode(x).parts["z"]
    open_ones = [0, 2, 3]
    torch.testing.assert_close(after.mu[:, open_ones], before.mu[:, open_ones])
    torch.testing.assert_close(after.logvar[:, open_ones], before.logvar[:, open_ones])
    assert torch.equal(model.decoder[0].weight[:, open_ones], heard[:, open_ones])
    assert after.mu[:, [1, 4]].mean(0).abs().max() < 1e-4
    torch.testing.assert_close(after.mu[:, [1, 4]].std(0), torch.ones(2), atol=1e-3, rtol=0)
    assert (after.logvar[:, [1, 4]] == LOGVAR).all()
    assert (model.decoder[0].weight[:, [1, 4]].std(0) / heard[:, open_ones].std()).sub(0.5).abs().max() < 0.1
    assert Revival(model)(x, alone, SEED) == []


@torch.no_grad()
def test_dead_units_wake_and_nothing_else_changes():
    model, x = with_closed("z=gaussian:3", []), images()
    for place in LAYERS:
        model.encoder[place].bias[::2] = -100
    before = model.encode(x).parts["z"]
    dead = [~units for units in active(model, x)]
    assert all(units.any() for units in dead)
    Revival(model)(x, alone, SEED)
    after = model.encode(x).parts["z"]
    torch.testing.assert_close(after.mu, before.mu)
    torch.testing.assert_close(after.logvar, before.logvar)
    for units, now in zip(dead, active(model, x), strict=True):
        assert now[units].float().mean() > 0.6


def test_what_was_closed_for_good_opens():
    """A latent whose weights are all 0 has no gradient at all, and never opens by itself."""
    x = images(256)
    told = []
    for revived in (False, True):
        model = with_closed("z=gaussian:3", [1, 2])
        if revived:
            Revival(model)(x, alone, SEED)
        adam = torch.optim.Adam(model.parameters(), 1e-3)
        torch.manual_seed(0)
        for _ in range(60):
            output = model(x)
            loss = (
                -output.likelihood.log_prob(x).mean()
                + 0.1 * output.prior.kl(output.posterior, output.u).mean()
            )
            adam.zero_grad()
            loss.backward()
            adam.step()
        told.append(model.measure(x)[1]["kl_dims"].mean(0)[1:])
    assert told[0].max() < 0.05
    assert told[1].min() > 0.3


@torch.no_grad()
def test_only_real_latents_with_a_variance_are_opened():
    model, x = with_closed("z=gaussian:2,kind=concrete:3", [1]), images()
    kept = model.encoder[-1].weight[4:].clone()
    assert Revival(model)(x, alone, SEED) == [1]
    torch.testing.assert_close(model.encoder[-1].weight[4:][:, :1], kept[:, :1])


def revived(model, share, gather):
    return Revival(model)(share, gather, SEED)


def in_two_processes(models: list[VAE], x: torch.Tensor, act=revived) -> list[list[int]]:
    """Which latents are drawn anew in each of two models, that share a batch."""
    shares: dict[int, torch.Tensor] = {}
    both = threading.Barrier(2)

    def process(rank: int) -> list[int]:
        def gather(share: torch.Tensor) -> torch.Tensor:
            shares[rank] = share.clone()
            both.wait(60)
            whole = torch.cat([shares[0], shares[1]])
            both.wait(60)
            return whole

        with torch.no_grad():
            return act(models[rank], x[rank::2], gather)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(process, range(2)))


def test_processes_that_share_a_batch_draw_the_weights_of_the_whole_batch():
    x = images()
    first, second, whole = (with_closed("z=gaussian:3", [1]) for _ in range(3))
    in_two_processes([first, second], x)
    Revival(whole)(torch.cat([x[::2], x[1::2]]), alone, SEED)
    for name, weight in whole.state_dict().items():
        torch.testing.assert_close(first.state_dict()[name], weight, msg=name)
        assert torch.equal(first.state_dict()[name], second.state_dict()[name]), name


@pytest.mark.parametrize("prior", ["student_t:5", "sparse:0.9:0.05", "normal"])
def test_latents_that_say_nothing_of_x_are_closed_under_any_prior(prior):
    """The nearest Gaussian to a Student-t or sparse prior has a KL of its own, which says nothing of x."""
    models = [with_closed("z=gaussian:6", [0, 2, 3]) for _ in range(2)]
    for model in models:
        model.prior = parse_prior(prior, model.latents)
        with torch.no_grad():
            model.encoder[-1].bias[6:] = -0.43
    ours, theirs = in_two_processes(models, images())
    assert ours == theirs == [0, 2, 3]


def test_a_revival_draws_as_much_noise_as_in_earlier_versions():
    """Runs that an earlier version began go on with the noise that they would have had."""
    x, after = images(), []
    revival = Revival(with_closed("z=gaussian:3", [1]))
    for draw in (lambda: revival(x, alone, SEED), lambda: torch.randn(len(x), 3)):
        torch.manual_seed(3)
        draw()
        after.append(torch.rand(4))
    assert torch.equal(*after)


def test_a_run_with_a_revival_resumes_exactly(tmp_path):
    data = toys.tiny_images()
    settings = {
        "batch_size": 32,
        "learning_rate": 1e-3,
        "bottleneck": "exponential:60:30:20,exponential:0.1:1:10",
        "gamma": 0.0,
        "revive": 20,
        "progress": False,
    }
    whole = train("factor_vae", data, steps=30, out=tmp_path / "whole", **settings)
    for stop in (20, 21, 30):
        if stop == 20:
            train("factor_vae", data, steps=stop, out=tmp_path / "parts", **settings)
        else:
            parts = resume(tmp_path / "parts", data, steps=stop, progress=False)
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(parts.model.state_dict()[name], weight), name
    without = train("factor_vae", data, steps=30, **{**settings, "revive": None})
    x = data.images[:].numpy()
    assert np.var(whole.encode(x).means, axis=0).min() > 10 * np.var(without.encode(x).means, axis=0).min()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (VAE(Networks(nn.Flatten(), nn.Linear(2, 4)), LatentSpace.parse(2)), "encoder that ends"),
        (VAE(Networks(nn.Linear(9, 4), nn.Flatten()), LatentSpace.parse(2)), "decoder that begins"),
        (VAE(Networks(nn.Linear(9, 2), nn.Linear(2, 9)), LatentSpace.parse("point:2")), "has none"),
    ],
)
def test_models_that_cannot_be_revived_are_refused(model, message):
    with pytest.raises(DistaffError, match=message):
        Revival(model)


def test_a_gan_is_refused():
    with pytest.raises(DistaffError, match="a GAN has none"):
        train("infogan", toys.tiny_images(), steps=2, revive=1, network="infogan_mlp", progress=False)
