"""Quantised latents: the nearest value, a gradient straight through, and codebooks that learn."""

import math

import numpy as np
import pytest
import torch

from distaff.data.arrays import from_array
from distaff.data.dataset import grid
from distaff.foundation.errors import DistaffError
from distaff.models.groups import Posterior
from distaff.models.latents import LatentSpace, code_tensors
from distaff.models.quantized import QuantizedPosterior
from distaff.models.vae import Prior
from distaff.objectives import recipes
from distaff.objectives.step import Step
from distaff.runs.sections import TrainingSettings
from distaff.training.learner import make_optimiser
from distaff.training.train import resume, train
from tests import toys
from tests.objectives.rotated import alignment

SPACE = LatentSpace.parse("quantized:3:4")
TINY = {"network": "tests.toys:mlp", "batch_size": 8, "progress": False, "accelerator": "cpu"}


def posterior(rows: int = 30) -> QuantizedPosterior:
    torch.manual_seed(0)
    continuous = torch.randn(rows, 3, requires_grad=True)
    values = torch.randn(3, 4, requires_grad=True)
    return QuantizedPosterior(continuous, values)


def test_the_words_for_quantised_latents():
    assert (
        str(LatentSpace.parse("style=quantized:12:5,digit=concrete:3"))
        == "style=quantized:12:5,digit=concrete:3"
    )
    assert str(LatentSpace.parse("quantized:12")) == "quantized=quantized:12:10"
    with pytest.raises(DistaffError, match="a codebook of 1 value says nothing"):
        LatentSpace.parse("quantized:3:1")
    with pytest.raises(DistaffError, match="gaussian takes one number, not 3:4"):
        LatentSpace.parse("gaussian:3:4")


def test_each_number_goes_to_the_nearest_value_of_its_own_codebook():
    q = posterior()
    for d in range(3):
        for c, found in zip(q.continuous[:, d].tolist(), q.quantized[:, d].tolist(), strict=True):
            values = q.values[d].tolist()
            assert found == min(values, key=lambda value, c=c: abs(value - c))


def test_the_gradient_goes_straight_through():
    q = posterior()
    torch.testing.assert_close(q.rsample(), q.quantized)
    weights = torch.randn(30, 3)
    (weights * q.rsample()).sum().backward()
    torch.testing.assert_close(q.continuous.grad, weights)
    assert q.values.grad is None


def test_codebooks_and_encoder_move_by_their_own_losses():
    data = toys.ring(40)
    model = toys.model(data, "quantized:3:4")
    objective = recipes.qlae(quantize=2, commit=3)
    step = Step(model, objective.output(model, data.images[:20]), 0, 40)
    values = objective(step)
    (part,) = step.output.posterior.parts.values()
    squares = (part.continuous - part.quantized).square().sum(1).mean()
    torch.testing.assert_close(values["quantization"], squares)
    torch.testing.assert_close(values["commitment"], squares)
    (codebook,) = model.prior.codebooks.values()
    encoder = next(model.encoder.parameters())
    for name, moved, still in (("quantization", codebook, encoder), ("commitment", encoder, codebook)):
        pulls = torch.autograd.grad(values[name], [moved, still], retain_graph=True, allow_unused=True)
        assert pulls[0].abs().max() > 0
        assert pulls[1] is None


def test_codes_are_the_values_and_their_kl_is_that_of_equal_values():
    q = SPACE.posterior(torch.randn(30, 3))
    prior = Prior.standard(SPACE)
    u = q.rsample()
    torch.testing.assert_close(prior.kl(q, u), torch.full((30,), 3 * math.log(4)))
    drawn = prior.sample(2000, u)
    assert {round(v, 4) for v in drawn.flatten().tolist()} == {-0.5, -0.1667, 0.1667, 0.5}
    assert set(code_tensors(q)["means"].flatten().tolist()) <= set(
        SPACE.groups["quantized"].codebook()[0].tolist()
    )


def test_pairs_of_posteriors_are_alike_or_not():
    q = SPACE.posterior(torch.randn(6, 3)).parts["quantized"]
    pairs = q.log_prob_pairs(q.rsample())
    same = q.quantized[:, None] == q.quantized[None]
    assert (pairs.permute(1, 2, 0) == 0).equal(same)


def test_weight_decay_spares_codebooks():
    data = toys.ring(40)
    settings = {"latents": "quantized:2:4", "learning_rate": 0.1, "weight_decay": 0.5, "steps": 3, **TINY}
    spared = train("qlae", data, quantize=0, **settings).model.prior.codebooks["quantized"]
    torch.testing.assert_close(spared.detach(), torch.linspace(-0.5, 0.5, 4).repeat(2, 1))


def test_weight_decay_is_of_weights_alone():
    """Hsu et al.'s code labels biases and latents as not regularised: without gradients they stay."""
    model = toys.model(toys.ring(40), "quantized:2:4")
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    asked = TrainingSettings(optimizer="adamw", learning_rate=0.1, weight_decay=0.5)
    optimiser = make_optimiser(model.parameters(), asked, tuple(model.prior.codebooks.values()))
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimiser.step()
    spared = {id(codebook) for codebook in model.prior.codebooks.values()}
    for name, p in model.named_parameters():
        shrunk = 1.0 if name.endswith("bias") or id(p) in spared else 0.95
        torch.testing.assert_close(p.detach(), shrunk * before[name])


def test_defaults_are_those_of_the_paper(tmp_path):
    train("qlae", toys.ring(40), steps=1, out=tmp_path / "run", **TINY)
    text = (tmp_path / "run/run.yaml").read_text()
    for line in (
        "latents: z=quantized:10:10",
        "optimizer: adamw",
        "weight_decay: 0.1",
        "learning_rate: 0.001",
    ):
        assert line in text
    with pytest.raises(DistaffError, match="qlae needs quantized latents"):
        train("qlae", toys.ring(40), latents="gaussian:3", steps=1, **TINY)


@pytest.mark.parametrize("recipe", ["qlae", "ae"])
def test_a_run_resumes_exactly(recipe, tmp_path):
    data = toys.ring(40)
    whole = train(recipe, data, latents=3, steps=6, **TINY)
    train(recipe, data, latents=3, steps=3, out=tmp_path / "run", **TINY)
    again = resume(tmp_path / "run", data, steps=6, progress=False)
    assert [*whole.model.state_dict()] == [*again.model.state_dict()]
    for ours, theirs in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert ours.equal(theirs)


def test_a_turned_world_is_unturned():
    """Five values of two factors, turned by 30°, by linear maps: 5 × 5 values fit all 25 only by the axes."""
    factors = grid((5, 5))
    angle = np.pi / 6
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    data = from_array((factors - 2) @ turn.T * 2, factors)
    settings = {"likelihood": "unit_gaussian", "network": "tests.objectives.rotated:linear", "batch_size": 25}
    settings |= {"learning_rate": 1e-2, "weight_decay": 0.01}
    quantised = train("qlae", data, latents="quantized:2:5", steps=500, **{**TINY, **settings})
    plain = train("ae", data, latents=2, steps=200, **{**TINY, **settings})
    assert alignment(quantised.encode(data.images).means, data.factors) > 0.98
    assert alignment(plain.encode(data.images).means, data.factors) < 0.98


def test_codes_are_certain_at_their_values_and_rows_can_be_selected():
    own = posterior(4)
    both = Posterior({"z": own})
    z = both.mode()
    assert own.width == 3
    assert both.log_code(z).tolist() == [0.0] * 4
    assert bool((both.log_code(z.flip(0)) < -1000).any())
    assert torch.equal(both.map(lambda c: c[[2, 0]]).mode(), z[[2, 0]])
