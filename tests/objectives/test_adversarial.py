"""The losses of the games: signs and sizes by hand, the gradient penalty in closed form."""

import math

import pytest
import torch

from distaff.foundation.errors import DistaffError
from distaff.models.latents import LatentSpace
from distaff.objectives import recipes
from distaff.objectives.adversarial import (
    code_log_likelihood,
    critic_loss,
    discriminator_loss,
    generator_loss,
    gradient_penalty,
    wasserstein_generator_loss,
)
from distaff.objectives.games import JENSEN_SHANNON, WASSERSTEIN, DiscriminatorSettings, Game

# D(x) = 0.9 and 0.8 on two real images, 0.25 and 0.5 on two generated ones.
REAL = torch.tensor([0.9, 0.8]).logit()
FAKE = torch.tensor([0.25, 0.5]).logit()


def test_the_discriminator_maximises_log_d_of_real_and_log_one_minus_d_of_fakes():
    by_hand = -(math.log(0.9) + math.log(0.8)) / 2 - (math.log(0.75) + math.log(0.5)) / 2
    assert float(discriminator_loss(REAL, FAKE)) == pytest.approx(by_hand, rel=1e-5)
    assert discriminator_loss(REAL + 1, FAKE) < discriminator_loss(REAL, FAKE)
    assert discriminator_loss(REAL, FAKE + 1) > discriminator_loss(REAL, FAKE)


def test_the_generator_maximises_log_d_of_its_images():
    assert float(generator_loss(FAKE)) == pytest.approx(-(math.log(0.25) + math.log(0.5)) / 2, rel=1e-5)
    assert generator_loss(FAKE + 1) < generator_loss(FAKE)


def test_the_generators_gradient_does_not_vanish_where_the_discriminator_is_sure():
    """The saturating form's would: d/ds log(1 − sigmoid(s)) is about 0 at s = −10, −d/ds log sigmoid −1."""
    sure = torch.tensor([-10.0], requires_grad=True)
    generator_loss(sure).backward()
    assert float(sure.grad) == pytest.approx(-1, abs=1e-3)


def test_critic_and_generator_pull_the_wasserstein_distance_apart_and_together():
    real, fake = torch.tensor([3.0, 5.0]), torch.tensor([-1.0, 0.0])
    assert float(critic_loss(real, fake)) == -(4.0 - -0.5)
    assert float(wasserstein_generator_loss(fake)) == 0.5


@pytest.mark.parametrize("shape", [(7,), (2, 4, 4)])
def test_the_gradient_penalty_of_a_linear_critic_is_closed(shape):
    """D(x) = a·x has the gradient a everywhere: (‖a‖ − 1)², and its own gradient 2(‖a‖ − 1) a/‖a‖."""
    torch.manual_seed(0)
    a = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    real, fake = torch.randn(2, 16, *shape, dtype=torch.float64)
    penalty = gradient_penalty(lambda x: (x * a).flatten(1).sum(1), real, fake)
    norm = a.detach().norm()
    torch.testing.assert_close(penalty.detach(), (norm - 1) ** 2)
    penalty.backward()
    torch.testing.assert_close(a.grad, 2 * (norm - 1) * a.detach() / norm)


def test_the_penalty_is_taken_between_the_images_at_new_places_each_time():
    """D(x) = ½‖x‖² has the gradient x̂ = π x + (1 − π) G(z) itself."""
    torch.manual_seed(0)
    real, fake = torch.full((1000, 1), 3.0), torch.full((1000, 1), -1.0)
    seen = []

    def critic(x):
        seen.append(x.detach()[:, 0])
        return 0.5 * x.square().sum(1)

    penalty = gradient_penalty(critic, real, fake)
    # E (|x̂| − 1)² for x̂ ~ U[−1, 3]: ∫_0^1 (x−1)² dx + ∫_0^3 (x−1)² dx, over 4.
    assert float(penalty.detach()) == pytest.approx((1 / 3 + 1 / 3 + 8 / 3) / 4, rel=0.1)
    assert seen[0].min() >= -1
    assert seen[0].max() <= 3
    assert len(seen[0].unique()) > 900
    gradient_penalty(critic, real, fake)
    assert not torch.equal(seen[0], seen[1])


def test_the_penalty_reaches_the_critic_and_not_the_generator():
    fake = torch.randn(8, 3, requires_grad=True)
    critic = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.LeakyReLU(0.1), torch.nn.Linear(16, 1))
    gradient_penalty(lambda x: critic(x)[:, 0], torch.randn(8, 3), fake).backward()
    assert fake.grad is None
    assert critic[0].weight.grad.abs().sum() > 0


def test_the_code_log_likelihood_by_hand():
    """Class 1 of logits (0, log 3), the bit 1 of the logit log 4, and c = 0.5 under N(1, e^0.2)."""
    space = LatentSpace.parse("digit=concrete:2,smile=bernoulli:1,style=uniform:1")
    q = space.posterior(torch.tensor([[0.0, math.log(3), math.log(4), 1.0, 0.2]]).expand(4, -1))
    c = torch.tensor([[0.0, 1.0, 1.0, 0.5]]).expand(4, -1)
    normal = -0.5 * (math.log(2 * math.pi) + 0.2 + 0.25 / math.exp(0.2))
    expected = math.log(3 / 4) + math.log(4 / 5) + normal
    assert float(code_log_likelihood(q, c)) == pytest.approx(expected, rel=1e-5)


def test_accuracies_count_each_side_by_itself():
    accuracies = JENSEN_SHANNON.accuracies(torch.tensor([1.0, 2.0, 3.0, -1.0]), torch.tensor([0.5, -2.0]))
    assert {name: float(value) for name, value in accuracies.items()} == {
        "accuracy_real": 0.75,
        "accuracy_fake": 0.5,
    }


def test_a_critics_accuracies_are_measured_half_way_between_its_mean_scores():
    real, fake = torch.tensor([10.0, 11.0, 2.0]), torch.tensor([5.0, 6.0, 4.0])
    for shift in (0.0, -100.0):
        accuracies = WASSERSTEIN.accuracies(real + shift, fake + shift)
        assert float(accuracies["accuracy_real"]) == pytest.approx(2 / 3)
        assert float(accuracies["accuracy_fake"]) == 1.0


def test_games_read_like_their_equations():
    assert str(recipes.infogan()) == "generator_loss − code_log_likelihood against discriminator_loss"
    assert str(recipes.infowgan_gp(lam=0.2)) == (
        "generator_loss − 0.2 code_log_likelihood against discriminator_loss + 10.0 gradient_penalty"
    )


def test_a_code_log_likelihood_of_weight_0_is_only_shown():
    reading = DiscriminatorSettings(reads=0.5)
    assert recipes.infogan().takes_part("code_log_likelihood", 0)
    assert recipes.infogan(lam=0, discriminator=reading).takes_part("code_log_likelihood", 0)
    assert not recipes.infogan(lam=0).takes_part("code_log_likelihood", 0)
    assert recipes.infogan(lam=0).takes_part("generator_loss", 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DiscriminatorSettings(steps=0), "discriminator.steps must be at least 1"),
        (lambda: DiscriminatorSettings(learning_rate=0), "discriminator.learning_rate must be positive"),
        (lambda: DiscriminatorSettings(reads=-1), "discriminator.reads must not be negative"),
        (lambda: Game(WASSERSTEIN, 1.0, penalty=-1), "must not be negative"),
    ],
)
def test_settings_that_make_no_sense(make, message):
    with pytest.raises(DistaffError, match=message):
        make()
