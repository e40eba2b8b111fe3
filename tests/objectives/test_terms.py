"""Each term by itself against closed-form Gaussians, and the identities between them."""

import math

import pytest
import torch

from distaff.foundation.errors import DistaffError
from distaff.mixtures.pairs import log_pairs
from distaff.models.representation import Representation
from distaff.objectives import recipes
from distaff.objectives.densities import batch, stratified
from distaff.objectives.moments import (
    of_means,
    of_samples,
    posterior_log_det,
    squared_covariances,
    unit_variances,
)
from distaff.objectives.objective import Objective, term
from distaff.objectives.schedules import Linear
from distaff.objectives.step import Step
from distaff.objectives.terms import (
    AnchoredInformation,
    CapacityGap,
    dimension_kl,
    kl,
    marginal_kl,
    mutual_information,
    nll,
    sampled_kl,
    tc_between_groups,
    tc_within_groups,
    total_correlation,
)
from tests import toys
from tests.objectives import worlds

MEAN_COV = torch.tensor(
    [[0.9, 0.5, 0.3, 0.0], [0.5, 0.8, 0.4, 0.1], [0.3, 0.4, 1.0, 0.5], [0.0, 0.1, 0.5, 0.7]]
).double()
VARIANCES = torch.tensor([0.5, 0.6, 0.4, 0.7]).double()


@pytest.fixture(scope="module")
def world():
    return worlds.GaussianWorld(1200, MEAN_COV, VARIANCES)


def average(world, *terms, latents=None, prior=None, draws=6):
    """The terms' means over fresh samples of all N posteriors, with q(z) exact."""
    latents = latents or worlds.space(4)
    torch.manual_seed(0)
    values = []
    for _ in range(draws):
        s = worlds.step_of(world.mu, world.logvar, latents, len(world.mu), batch, prior)
        values.append(torch.stack([t(s) for t in terms]))
    return torch.stack(values).mean(0).tolist()


def test_information_tc_and_kls_are_those_of_the_gaussian_q_z(world):
    found = average(world, mutual_information, total_correlation, marginal_kl, dimension_kl)
    diagonal = torch.diag(world.cov.diagonal())
    marginals = worlds.GaussianWorld.kl_to(type("", (), {"cov": diagonal})(), torch.eye(4).double())
    expected = [
        world.information(),
        world.total_correlation(),
        world.kl_to(torch.eye(4).double()),
        marginals,
    ]
    assert found == pytest.approx(expected, abs=0.04)
    assert expected[1] > 0.15


def test_the_information_of_anchors_is_that_of_their_block(world):
    (found,) = average(world, AnchoredInformation((0, 2)))
    block = world.cov[[0, 2]][:, [0, 2]]
    expected = 0.5 * float(torch.logdet(block) - VARIANCES[[0, 2]].log().sum())
    assert found == pytest.approx(expected, abs=0.04)


def test_anchors_are_numbered_as_codes_are():
    """The latent that ``Representation`` calls number i is anchor i, wherever its group stands in z."""
    torch.manual_seed(0)
    data = toys.tiny_images(64)
    model = toys.model(data, "digit=concrete:3,style=gaussian:2,smile=bernoulli:1")
    step = Step(model, model(data.images[:]), 0, len(data), density=batch)
    names = Representation(model, data.shape).names
    assert names == ("z0", "z1", "digit", "smile0")
    pairs = step.output.posterior.log_prob_dims(step.u[:, None])
    for anchor, place in zip(range(4), (1, 2, 0, 3), strict=True):
        own = pairs[:, :, place]
        expected = (own.diagonal() - own.logsumexp(1) + math.log(len(data))).mean()
        for which in (anchor, names[anchor]):
            torch.testing.assert_close(AnchoredInformation((which,))(step), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_group_tcs_are_relative_to_the_priors_own(world, correlation):
    """Groups {0, 1}, {2, 3}; a prior correlated within its groups has a TC of its own to compare with."""
    latents = worlds.space(2, 2)
    prior = worlds.CorrelatedPrior({name: worlds.CorrelatedNormal(2, correlation) for name in latents.groups})
    between, within, dims, whole = average(
        world, tc_between_groups, tc_within_groups, dimension_kl, marginal_kl, latents=latents, prior=prior
    )
    assert between == pytest.approx(world.total_correlation([[0, 1], [2, 3]]), abs=0.04)
    block = torch.tensor([[1, correlation], [correlation, 1]]).double()
    inverse = torch.linalg.inv(block)
    ours = world.total_correlation(of=[0, 1]) + world.total_correlation(of=[2, 3])
    # E_q [log p(z_g) − Σ log p(z_d)] of N(0, block), in closed form.
    theirs = sum(
        -0.5
        * float(torch.logdet(block) + torch.trace((inverse - torch.eye(2).double()) @ world.cov[g][:, g]))
        for g in ([0, 1], [2, 3])
    )
    assert within == pytest.approx(ours - theirs, abs=0.05)
    assert between + within + dims == pytest.approx(whole, abs=1e-9)
    full = torch.block_diag(block, block)
    assert whole == pytest.approx(world.kl_to(full), abs=0.05)


def test_kl_is_information_plus_marginal_kl(world):
    """FactorVAE Lemma 1, in expectation: the closed form of E KL on the left."""
    found_kl, information, marginal = average(world, kl, mutual_information, marginal_kl)
    assert found_kl == pytest.approx(information + marginal, abs=0.05)
    assert found_kl == pytest.approx(world.information() + world.kl_to(torch.eye(4).double()), abs=1e-6)


def test_sampled_kl_agrees_with_the_closed_form_in_expectation(world):
    closed, sampled = average(world, kl, sampled_kl, draws=20)
    assert sampled == pytest.approx(closed, abs=0.03)


@pytest.mark.parametrize("latents", [worlds.space(4), worlds.space(2, 2), worlds.space(1, 3)])
def test_the_decomposed_recipes_telescope(world, latents):
    """A plumbing check only: log q(z) cancels in it."""
    torch.manual_seed(0)
    s = worlds.step_of(world.mu[:32], world.logvar[:32], latents, 1200, stratified)
    elbo = (nll + sampled_kl)(s)["loss"]
    for recipe in (recipes.beta_tcvae(beta=1), recipes.hfvae(beta=1, gamma=1)):
        torch.testing.assert_close(recipe(s)["loss"], elbo)


def test_tc_keeps_its_constants():
    """Independent latents have TC 0, not some multiple of log N: weights enter once in each density."""
    world = worlds.GaussianWorld(1000, torch.eye(3).double() * 0.5, torch.full((3,), 0.5).double())
    torch.manual_seed(0)
    values = []
    for start in range(0, 1000, 250):
        rows = slice(start, start + 250)
        s = worlds.step_of(world.mu[rows], world.logvar[rows], worlds.space(3), 1000, stratified)
        values.append(float(total_correlation(s)))
    assert sum(values) / 4 == pytest.approx(0, abs=0.05)


def test_covariances_follow_the_law_of_total_covariance(world):
    torch.manual_seed(0)
    s = worlds.step_of(world.mu, world.logvar, worlds.space(4), 1200)
    correction = 1200 / 1199
    torch.testing.assert_close(of_means(s).double(), MEAN_COV * correction, rtol=1e-4, atol=1e-4)
    expected = MEAN_COV * correction + torch.diag(VARIANCES)
    torch.testing.assert_close(of_samples(s).double(), expected, rtol=1e-4, atol=1e-4)
    z = torch.cat([worlds.step_of(world.mu, world.logvar, worlds.space(4), 1).z for _ in range(40)])
    torch.testing.assert_close(torch.cov(z.T), expected, rtol=0, atol=0.05)
    off = expected - torch.diag(expected.diagonal())
    assert float(squared_covariances(of_samples)(s)) == pytest.approx(float((off**2).sum()), rel=1e-4)
    assert float(unit_variances(of_samples)(s)) == pytest.approx(
        float(((expected.diagonal() - 1) ** 2).sum()), rel=1e-3
    )


def test_log_det_is_the_entropy_but_for_a_constant(world):
    s = worlds.step_of(world.mu, world.logvar, worlds.space(4), 1200)
    entropy = torch.distributions.Normal(world.mu, (0.5 * world.logvar).exp()).entropy().sum(1).mean()
    constant = 4 * torch.tensor(2 * torch.pi * torch.e).log()
    torch.testing.assert_close(0.5 * (posterior_log_det(s) + constant).double(), entropy)


def test_the_capacity_gap_follows_its_schedule(world):
    s = worlds.step_of(world.mu, world.logvar, worlds.space(4), 1200)
    value = float(kl(s))
    assert float(CapacityGap(25.0)(s)) == pytest.approx(25 - value)
    late = type(s)(s.model, s.output, 50, 1200)
    assert float(CapacityGap(Linear(0, 10, 100))(late)) == pytest.approx(abs(value - 5))


def test_a_term_of_weight_zero_takes_no_gradient_from_the_others():
    """What a step computes is kept: a term shown without gradient must not be the first to ask for it."""
    torch.manual_seed(0)
    mu = torch.randn(16, 3).double().requires_grad_()
    s = worlds.step_of(mu, torch.zeros(16, 3).double(), worlds.space(3), 100)
    values = (0.0 * mutual_information + 2.0 * total_correlation)(s)
    assert list(values) == ["loss", "mutual_information", "total_correlation"]
    assert not values["mutual_information"].requires_grad
    (ours,) = torch.autograd.grad(values["loss"], mu)
    again = type(s)(s.model, s.output, 0, 100)
    pairs = log_pairs(again.posteriors.paired_with(again.z))
    plain = (pairs.sum(0) + again.log_weights).logsumexp(1) - (pairs + again.log_weights).logsumexp(2).sum(0)
    (expected,) = torch.autograd.grad(2 * plain.mean(), mu)
    torch.testing.assert_close(ours, expected)
    assert expected.abs().max() > 1e-3


def test_objectives_keep_their_density_and_read_well():
    objective = (nll + 2.0 * total_correlation).using(batch) + kl + -1.5 * posterior_log_det
    assert objective.density is batch
    assert str(objective) == "nll + 2.0 total_correlation + kl − 1.5 posterior_log_det"
    with pytest.raises(DistaffError, match="every weight"):
        Objective((0.0 * kl).terms)(worlds.step_of(*torch.zeros(2, 4, 2).double(), worlds.space(2), 9))


@pytest.mark.parametrize(
    ("anchors", "message"),
    [
        ((), "at least one"),
        ((4,), "no latent 4: the model has 4"),
        ((-1,), "no latent -1"),
        (("z5",), "unknown latent 'z5'"),
    ],
)
def test_anchors_must_be_latents(world, anchors, message):
    s = worlds.step_of(world.mu[:8], world.logvar[:8], worlds.space(4), 1200)
    with pytest.raises(DistaffError, match=message):
        AnchoredInformation(anchors)(s)


def test_a_term_is_a_function_with_a_name():
    @term
    def doubled(s):
        """Twice."""
        return 2 * s.kl.mean()

    assert doubled.name == "doubled"
    assert doubled.__doc__ == "Twice."
