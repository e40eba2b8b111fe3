"""The learner of InfoGANs: who moves what, that it learns, and that it is noticed when it does not."""

import math

import pytest
import torch
from lightning_fabric import Fabric

from distaff.data.dataset import Dataset
from distaff.models.infogan import InfoGAN
from distaff.models.infogan_networks import infogan_mlp
from distaff.models.latents import LatentSpace
from distaff.objectives import recipes
from distaff.objectives.adversarial import code_log_likelihood
from distaff.objectives.games import DiscriminatorSettings, Game
from distaff.training.batches import Batches, seed_step
from distaff.training.gan_learner import InfoGANLearner, generator_parameters
from distaff.training.learner import make_adam
from tests import toys

GAMES = {"infogan": recipes.infogan, "infowgan_gp": recipes.infowgan_gp}


def learner(game: Game, data: Dataset, learning_rate: float = 1e-3) -> InfoGANLearner:
    torch.manual_seed(0)
    latents = LatentSpace.parse("kind=concrete:4,style=uniform:1,noise:4")
    width = latents.width + latents.noise
    model = InfoGAN(infogan_mlp(data.shape, latents.parameters, width, game.norm, hidden=64), latents)
    adam = make_adam(generator_parameters(model), learning_rate, (0.5, 0.999))
    return InfoGANLearner(model, game, adam, Fabric(accelerator="cpu", devices=1))


def batches(data: Dataset, size: int = 32) -> Batches:
    return Batches(data, size, 0, torch.device("cpu"))


def moved(before: dict[str, torch.Tensor], model: InfoGAN) -> set[str]:
    after = dict(model.named_parameters())
    return {name for name in after if not torch.equal(before[name], after[name])}


def snapshot(model: InfoGAN) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters()}


@pytest.mark.parametrize("name", GAMES)
def test_each_optimiser_moves_its_own_parameters_and_all_of_them(name):
    data = toys.tiny_images()
    ours = learner(GAMES[name](), data)
    names = dict(ours.model.named_parameters())
    judges = {n for n in names if n.startswith("discriminator.")}
    authors = {n for n in names if n.startswith(("generator.", "reader."))}
    assert judges | authors == set(names)

    before = snapshot(ours.model)
    real = batches(data)(0)
    c = ours.model.latents.draw(len(real), real)
    fake = ours.model.generate(c)
    ours._teach(real, fake.detach(), c)
    # A constant added to all of a critic's scores changes no distance.
    unmoved = {"discriminator.verdict.bias"} if name == "infowgan_gp" else set()
    assert moved(before, ours.model) == judges - unmoved

    before = snapshot(ours.model)
    ours._deceive(fake, c, 0)
    assert moved(before, ours.model) == authors
    assert all(p.grad is None for p in ours.model.parameters())


@pytest.mark.parametrize("name", GAMES)
def test_what_the_trunk_reads_for_its_own_step_leaves_no_gradient_at_the_reader(name):
    """The reader's next step is down the gradient of the generator's loss, and nothing else."""
    data = toys.tiny_images()
    ours = learner(GAMES[name](discriminator=DiscriminatorSettings(reads=2.0)), data)
    ours.optimisers = {**ours.optimisers, "generator": torch.optim.SGD(generator_parameters(ours.model), 1.0)}
    real = batches(data)(0)
    c = ours.model.latents.draw(len(real), real)
    fake = ours.model.generate(c)
    ours._teach(real, fake.detach(), c)
    assert all(p.grad is None for p in ours.model.parameters())

    before = snapshot(ours.model)
    reader = dict(ours.model.reader.named_parameters())
    loss = -code_log_likelihood(ours.model.encode(fake), c)
    expected = dict(
        zip(reader, torch.autograd.grad(loss, list(reader.values()), retain_graph=True), strict=True)
    )
    ours._deceive(fake, c, 0)
    for place, weight in reader.items():
        torch.testing.assert_close(before[f"reader.{place}"] - weight, expected[place], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", GAMES)
def test_the_weight_of_the_codes_reaches_generator_and_q_alone(name):
    """With λ = 0 Q's head stands still; the discriminator's first step is the same under any λ."""
    data = toys.tiny_images()
    ends = {}
    for lam in (0.0, 5.0):
        ours = learner(GAMES[name](lam=lam), data)
        before = snapshot(ours.model)
        seed_step(0, 0, 0)
        ours.update(batches(data), 0)
        ends[lam] = ours.model
        assert any(n.startswith("reader.") for n in moved(before, ours.model)) is (lam > 0)
    for a, b in zip(ends[0.0].discriminator.parameters(), ends[5.0].discriminator.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", GAMES)
def test_the_trunk_learns_to_read_only_where_it_is_rewarded_for_it(name):
    """Ten steps of D alone on the same images raise what Q's untouched head can read from the trunk."""
    data = toys.tiny_images()
    gained = {}
    for reads in (0.0, 1.0):
        game = GAMES[name](discriminator=DiscriminatorSettings(reads=reads, learning_rate=1e-3))
        ours = learner(game, data)
        seed_step(0, 0, 0)
        real = batches(data)(0)
        c = ours.model.latents.draw(len(real), real)
        fake = ours.model.generate(c).detach()
        head = [p.detach().clone() for p in ours.model.reader.parameters()]
        before = code_log_likelihood(ours.model.encode(fake), c).item()
        for _ in range(10):
            ours._teach(real, fake, c)
        assert all(torch.equal(a, b) for a, b in zip(head, ours.model.reader.parameters(), strict=True))
        gained[reads] = code_log_likelihood(ours.model.encode(fake), c).item() - before
    assert gained[1.0] > gained[0.0] + 0.1


def test_the_discriminator_takes_its_steps_on_new_images():
    data = toys.tiny_images()
    game = recipes.infowgan_gp(discriminator=DiscriminatorSettings(steps=3))
    ours = learner(game, data)
    seen = []

    class Watched(Batches):
        def __call__(self, index: int, stream: int = 0) -> torch.Tensor:
            seen.append(index)
            return super().__call__(index, stream)

    watched = Watched(data, 32, 0, torch.device("cpu"))
    for index in range(2):
        ours.update(watched, index)
    assert seen == [0, 1, 2, 3, 4, 5]
    steps = {name: int(next(iter(o.state.values()))["step"]) for name, o in ours.optimisers.items()}
    assert steps == {"generator": 2, "discriminator": 6}


@pytest.mark.parametrize("name", GAMES)
def test_it_learns_codes_that_can_be_read_back_without_nan(name):
    """Chance for 4 equal classes and U[−1, 1] under its best normal is −log 4 − ½ log(2πe/3) = −2.26 nats."""
    data = toys.tiny_images()
    ours, source = learner(GAMES[name](), data), batches(data)
    values = []
    for index in range(300):
        seed_step(0, index, 0)
        values.append(ours.update(source, index))
    assert all(torch.isfinite(value) for step in values for value in step.values())
    likelihood = torch.stack([step["code_log_likelihood"] for step in values])
    chance = -math.log(4) - 0.5 * math.log(2 * math.pi * math.e / 3)
    assert likelihood[-20:].mean() > likelihood[:20].mean() + 0.5
    assert likelihood[-20:].mean() > chance + 0.5


def test_the_game_moves_the_images_towards_the_data():
    """The mean of what is generated comes near the mean of the data, from the grey that it starts with."""
    data = toys.tiny_images()
    mean = data.images[:].mean(0)
    ours, source = learner(recipes.infowgan_gp(lam=0.1), data), batches(data)

    def distance() -> float:
        return float((ours.model.draw(500).mean(0) - mean).abs().mean())

    start = distance()
    for index in range(300):
        seed_step(0, index, 0)
        ours.update(source, index)
    assert distance() < 0.3 * start
