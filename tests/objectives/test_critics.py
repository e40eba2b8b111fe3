import math

import pytest
import torch
from lightning_fabric import Fabric
from torch.nn import functional as F

from distaff.foundation.errors import DistaffError
from distaff.models.latents import LatentSpace
from distaff.models.likelihoods import Gaussian
from distaff.models.networks.halving import Networks
from distaff.models.priors.real import Anisotropic
from distaff.models.vae import VAE, Prior
from distaff.objectives import recipes
from distaff.objectives.critics import (
    CriticSettings,
    DensityRatio,
    adversarial_prior,
    density_ratio_groups,
    density_ratio_prior,
    density_ratio_tc,
    non_saturating,
    permute_groups,
)
from distaff.objectives.step import Step
from distaff.runs.log import read_log
from distaff.training.batches import Batches, seed_step
from distaff.training.learner import VAELearner, make_adam
from distaff.training.train import train
from tests import toys

CRITIC = CriticSettings(hidden=32, layers=2)


class Spy:
    """An optimiser that leaves the weights alone and remembers who had a gradient when it was called."""

    def __init__(self, learner):
        self.learner = learner
        self.seen = []

    def step(self):
        self.seen.append(
            {
                name: any(p.grad is not None for p in m.parameters())
                for name, m in self.learner.modules.items()
            }
        )

    def zero_grad(self):
        for module in self.learner.modules.values():
            module.zero_grad()


def make_learner(data, gamma=10.0):
    model = toys.model(data)
    objective = recipes.factor_vae(gamma, CRITIC)
    optimiser = make_adam(model.parameters(), 1e-3, (0.9, 0.999))
    return VAELearner(model, objective, optimiser, len(data), Fabric(accelerator="cpu", devices=1))


def test_each_step_gives_gradients_to_its_own_network_only():
    data = toys.ring(200)
    learner = make_learner(data)
    spy = Spy(learner)
    learner.optimisers = dict.fromkeys(learner.optimisers, spy)
    learner.update(Batches(data, 32, 0, torch.device("cpu")), 0)
    vae_step, critic_step = spy.seen
    assert vae_step == {"model": True, "critic.total_correlation": False}
    assert critic_step == {"model": False, "critic.total_correlation": True}


def test_the_total_correlation_pulls_at_the_encoder(monkeypatch):
    data = toys.ring(200)
    gradients = {}
    for gamma in (0.0, 100.0):
        learner = make_learner(data, gamma)
        torch.manual_seed(1)
        for parameter in learner.critics["total_correlation"].parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        remembered = []
        monkeypatch.setattr(
            "distaff.training.learner.descend", lambda *call, seen=remembered: seen.append(call[3])
        )
        seed_step(0, 0, 0)
        learner.update(Batches(data, 32, 0, torch.device("cpu")), 0)
        (first, *_) = remembered
        encoder = list(learner.model.encoder.parameters())
        gradients[gamma] = torch.cat([g.flatten() for g in torch.autograd.grad(first, encoder)])
    assert not torch.allclose(gradients[0.0], gradients[100.0])


def test_the_critic_sees_the_first_batch_and_an_independent_second_one():
    data = toys.ring(1000)
    batches = Batches(data, 64, 0, torch.device("cpu"))
    overlap = [len(set(batches.indices(i)) & set(batches.indices(i, stream=1))) for i in range(15)]
    # Independent draws of 64 of 1000 share 4.1 on average; the same batch would share 64.
    assert 1 < sum(overlap) / len(overlap) < 8


def test_the_critic_learns_after_the_vae_has_moved():
    data = toys.ring(200)
    learner = make_learner(data)
    before = [p.clone() for p in learner.model.parameters()]
    had_moved = []

    def reference(model, x):
        had_moved.append(not all(map(torch.equal, before, model.parameters())))
        return model.encode(x).mode()

    learner.ratios = [DensityRatio("total_correlation", reference, CRITIC)]
    learner.update(Batches(data, 32, 0, torch.device("cpu")), 0)
    assert had_moved == [True]


def test_permuted_groups_keep_what_is_within_and_break_what_is_between():
    torch.manual_seed(0)
    latents = LatentSpace.parse("a=gaussian:2,b=gaussian:1")
    z = torch.randn(4000, 1) + 0.3 * torch.randn(4000, 3)
    permuted = permute_groups(z, latents)
    torch.testing.assert_close(permuted.sort(dim=0).values, z.sort(dim=0).values)
    correlation = torch.corrcoef(permuted.T)
    assert correlation[0, 1] > 0.85
    assert correlation[:2, 2].abs().max() < 0.06


def trained_critic(term, draw, reference, latents):
    torch.manual_seed(0)
    critic = term.network(latents)
    adam = torch.optim.Adam(critic.parameters(), 2e-3, betas=(0.5, 0.9))
    for _ in range(400):
        loss, _ = term.critic_loss(critic, draw(512), reference(512))
        adam.zero_grad()
        loss.backward()
        adam.step()
    with torch.no_grad():
        return term.reading(critic(draw(20_000))).mean().item()


@pytest.mark.parametrize("logits", [1, 2])
def test_the_ratio_to_the_prior_approaches_the_closed_form(logits):
    """KL(N(0.7, 0.8²) ‖ N(0, 1)) = ½ (μ² + σ² − 1) − log σ."""
    latents = LatentSpace.parse(1)
    model = toys.model(toys.ring(10), 1)
    term = density_ratio_prior(CriticSettings(hidden=64, layers=2, logits=logits))
    found = trained_critic(
        term,
        lambda n: 0.7 + 0.8 * torch.randn(n, 1),
        lambda n: term.reference(model, torch.zeros(n, 1)),
        latents,
    )
    assert found == pytest.approx(0.5 * (0.49 + 0.64 - 1) - math.log(0.8), abs=0.06)


def test_the_critic_of_do_and_tran_has_five_layers_and_one_logit():
    """Tables 3 and 4: 5 × [FC 1000, leaky ReLU], FC 1."""
    settings = CriticSettings(layers=5, betas=(0.5, 0.99), logits=1)
    network = density_ratio_tc(settings).network(LatentSpace.parse(10))
    assert [len(p) for p in network.parameters() if p.ndim == 2] == [1000] * 5 + [1]


def test_one_logit_is_the_log_ratio_and_learns_by_binary_cross_entropy():
    """−mean log σ(l) over q and log σ(−l) over the reference, as are two logits that are l apart."""
    torch.manual_seed(0)
    one = density_ratio_tc(CriticSettings(logits=1))
    z, r, weight = torch.randn(6, 3), torch.randn(4, 3), torch.randn(3, 1)
    loss, accuracy = one.critic_loss(lambda x: x @ weight, z, r)
    of_q, of_r = (z @ weight).sigmoid().flatten(), (r @ weight).sigmoid().flatten()
    torch.testing.assert_close(loss, -(of_q.log().sum() + (1 - of_r).log().sum()) / 10)
    assert float(accuracy) == pytest.approx(float((of_q > 0.5).sum() + (of_r < 0.5).sum()) / 10)
    torch.testing.assert_close(one.reading(z @ weight), (z @ weight)[:, 0])

    two = density_ratio_tc(CriticSettings()).critic_loss(
        lambda x: torch.cat([x @ weight, 0 * x[:, :1]], 1), z, r
    )
    torch.testing.assert_close(two[0], loss)
    assert two[1] == accuracy


def test_a_critic_of_three_logits_is_refused():
    with pytest.raises(DistaffError, match="1 logit or 2, not 3"):
        CriticSettings(logits=3)


class RatioOfNormals(torch.nn.Module):
    """The critic that knows: log N(z; 0, q) − log N(z; 0, p) of variances q and p, one logit."""

    def __init__(self, q: float, p: float) -> None:
        super().__init__()
        self.q, self.p = q, p

    def forward(self, z):
        return 0.5 * (math.log(self.p / self.q) - z.square() * (1 / self.q - 1 / self.p))


@pytest.mark.parametrize("variance", [0.25, 1.5, 4.0])
def test_a_learned_prior_deceives_the_critic_of_a_wae_gan(variance):
    """By log σ² of p = N(0, 1.5): ∫ p(z) ½ z d/dz softplus(−l(z)) dz, 0 where q(z) = p(z)."""
    critic = RatioOfNormals(variance, 1.5)
    prior = Anisotropic(1, learned=True)
    prior.logvar.data.fill_(math.log(1.5))
    term = adversarial_prior(CriticSettings(logits=1))
    model = VAE(toys.mlp((3,), 2, 1, (6,)), LatentSpace.parse(1), Prior({"z": prior}), Gaussian.read)
    torch.manual_seed(0)
    step = Step(model, model(torch.randn(40_000, 3)), 0, 50, {term.name: critic})
    estimate = term(step)
    assert estimate == term.reading(critic(step.z)).mean()
    (found,) = torch.autograd.grad(estimate, prior.logvar)

    z = torch.linspace(-15, 15, 200_001, dtype=torch.float64)
    slope = -z * (1 / variance - 1 / 1.5)
    density = torch.distributions.Normal(0.0, math.sqrt(1.5)).log_prob(z).exp()
    expected = torch.trapezoid(density * -critic(z).neg().sigmoid() * slope * 0.5 * z, z)
    assert float(found) == pytest.approx(float(expected), abs=0.01)
    assert abs(float(expected)) < 1e-9 if variance == 1.5 else (float(expected) > 0.05) == (variance < 1.5)


def test_a_wae_gan_finds_the_scale_of_its_latents():
    """Encoder and decoder held at q(z) = N(0, 0.5²): only the prior can close the gap."""
    torch.manual_seed(0)
    prior = Anisotropic(1, learned=True)
    latents = LatentSpace.parse(1)
    networks = Networks(torch.nn.Identity(), torch.nn.Linear(1, 2).requires_grad_(False))
    model = VAE(networks, latents, Prior({"z": prior}), Gaussian.read)
    goal = 1.0 * adversarial_prior(CriticSettings(hidden=32, layers=2, learning_rate=3e-3))
    fabric = Fabric(accelerator="cpu", devices=1)
    learner = VAELearner(model, goal, make_adam(prior.parameters(), 1e-2, (0.5, 0.9)), 512, fabric)
    x = torch.tensor([0.0, 2 * math.log(0.5)]).expand(512, 2)
    found = []
    for index in range(300):
        learner.update(lambda *_, **__: x, index)
        found.append(float(prior.logvar.detach().exp().sqrt()))
    assert sum(found[-100:]) / 100 == pytest.approx(0.5, abs=0.05)


def test_the_ratio_to_a_learned_prior_pulls_at_it_as_the_kl_does():
    """By log σ_d² of the prior: ½ (1 − E z_d² / σ_d²); the critic's own estimate stays as it is."""
    prior = Anisotropic(2, learned=True)
    prior.logvar.data.copy_(torch.tensor([0.5, -0.7]))
    term = density_ratio_prior(CRITIC)
    latents = LatentSpace.parse(2)
    model = VAE(toys.mlp((3,), 4, 2, (6,)), latents, Prior({"z": prior}), Gaussian.read)
    step = Step(model, model(torch.randn(50, 3)), 0, 50, {term.name: term.network(latents)})
    estimate = term(step)
    assert estimate == term.reading(step.networks[term.name](step.z)).mean()
    found, of_z = torch.autograd.grad(estimate, [prior.logvar, step.z])
    z = step.z.detach()
    torch.testing.assert_close(found, 0.5 * (1 - z.square().mean(0) * (-prior.logvar).exp()).detach())
    (critics,) = torch.autograd.grad(term.reading(step.networks[term.name](step.z)).mean(), step.z)
    torch.testing.assert_close(of_z, critics)


def test_the_ratio_between_groups_approaches_the_closed_form():
    """Groups {0, 1} and {2} of a Gaussian; what is dependent within a group does not count."""
    latents = LatentSpace.parse("a=gaussian:2,b=gaussian:1")
    cov = torch.tensor([[1.0, 0.9, 0.6], [0.9, 1.0, 0.6], [0.6, 0.6, 1.0]])
    root = torch.linalg.cholesky(cov)
    term = density_ratio_groups(CriticSettings(hidden=64, layers=2))

    def draw(n):
        return torch.randn(n, 3) @ root.T

    found = trained_critic(term, draw, lambda n: permute_groups(draw(n), latents), latents)
    expected = 0.5 * float(torch.logdet(cov[:2, :2]) - torch.logdet(cov))
    assert expected > 0.2
    assert found == pytest.approx(expected, abs=0.06)


def test_the_adversarial_loss_is_minus_the_log_of_the_critics_belief_in_the_prior():
    logits = torch.tensor([[2.0, 0.5], [-1.0, 3.0]])
    torch.testing.assert_close(non_saturating(logits), -F.log_softmax(logits, 1)[:, 1])
    assert adversarial_prior(CRITIC).reading is non_saturating


def test_a_critic_is_above_chance_early_and_returns_towards_it(tmp_path):
    train(
        "aae",
        toys.ring(500, side=16),
        out=tmp_path / "run",
        gamma=10.0,
        critic=CriticSettings(hidden=64, layers=2, learning_rate=1e-3),
        latents=2,
        network="tests.toys:mlp",
        steps=600,
        batch_size=100,
        learning_rate=5e-3,
        log_every=20,
        progress=False,
    )
    accuracy = [line["marginal_kl.critic_accuracy"] for line in read_log(tmp_path / "run/log.jsonl")]
    assert max(accuracy[:8]) > 0.65
    assert sum(accuracy[-8:]) / 8 < 0.6


@pytest.mark.parametrize(
    ("recipe", "arguments"), [("aae", {"critic": CRITIC}), ("wae", {}), ("wae_gan", {"critic": CRITIC})]
)
def test_encoders_may_be_deterministic(recipe, arguments):
    settings = {"steps": 30, "batch_size": 50, "learning_rate": 5e-3, "log_every": 10, "progress": False}
    trained = train(
        recipe, toys.ring(100), latents="point:2", network="tests.toys:mlp", **settings, **arguments
    )
    codes = trained.encode(toys.ring(100).images)
    assert (codes.logvars == -math.inf).all()
    assert codes.means.std() > 0
    assert math.isfinite(codes.means.sum())
