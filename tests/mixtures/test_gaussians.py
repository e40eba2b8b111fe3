"""The mixture kernel against float64 broadcasting and closed forms."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from distaff.mixtures import box_sums
from distaff.mixtures.gaussians import Classes, Mixture, blur, log_marginal
from distaff.mixtures.pairs import log_density
from distaff.models import LatentSpace


def posteriors(kind: str, count: int, dims: int = 5) -> tuple[Tensor, Tensor]:
    """Means and log-variances of one sort, in float32 as an encoder gives them."""
    random = torch.Generator().manual_seed(len(kind) + count)
    mu = torch.randn(count, dims, generator=random)
    noise = torch.randn(count, dims, generator=random)
    sigma = {
        "sharp": torch.full((dims,), 0.01),
        "deterministic": torch.full((dims,), 1e-4),
        "broad": torch.full((dims,), 0.7),
        "trained": torch.tensor([0.01, 0.03, 0.2, 0.9, 1.0])[:dims],
    }
    if kind == "mixed":
        return mu, -5 + 3 * noise
    if kind == "far from the origin":
        return 300 + 2 * mu, 2 * math.log(0.05) + 0.1 * noise
    return mu * (1 - sigma[kind] ** 2).sqrt(), 2 * sigma[kind].log() + 0.2 * noise


def samples(mu: Tensor, logvar: Tensor, count: int) -> Tensor:
    random = torch.Generator().manual_seed(count)
    rows = torch.randint(len(mu), (count,), generator=random)
    return mu[rows] + torch.randn(count, mu.shape[1], generator=random) * (logvar[rows] / 2).exp()


def all_pairs(z: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
    """(M, N, D) as torch has it, in float64."""
    sigma = (logvar.double() / 2).exp()
    return torch.distributions.Normal(mu.double(), sigma).log_prob(z.double()[:, None])


def broadcast(z: Tensor, mu: Tensor, logvar: Tensor, log_weights: Tensor | float | None = None) -> Tensor:
    joint = all_pairs(z, mu, logvar).sum(-1)
    return torch.logsumexp(joint + (-math.log(len(mu)) if log_weights is None else log_weights), 1)


KINDS = ["sharp", "deterministic", "broad", "trained", "mixed", "far from the origin"]


@pytest.mark.parametrize("dims", [300, 1000])
@pytest.mark.parametrize("alike", [True, False])
def test_sums_over_many_latents_of_any_width_agree_with_float64(dims, alike):
    """Means in one place, where nothing cancels: single precision would round the sum itself."""
    random = torch.Generator().manual_seed(dims)
    widths = torch.rand(800, 1 if alike else dims, generator=random, dtype=torch.float64)
    mu, logvar = torch.zeros(800, dims), (2 * math.log(1e-6) * widths).expand(800, dims)
    z = samples(mu, logvar, 30)
    error = Mixture(mu, logvar).log_density(z) - broadcast(z, mu, logvar)
    assert error.abs().max() < 1e-4


@pytest.mark.parametrize("apart", [0.3, 0.7, 1.0, 1.3])
def test_two_far_and_narrow_posteriors_agree_with_float64(apart):
    mu = apart * torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
    logvar = torch.full_like(mu, 2 * math.log(1e-6))
    z = samples(mu, logvar, 200)
    error = Mixture(mu, logvar).log_density(z) - broadcast(z, mu, logvar)
    assert error.abs().max() < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_log_density_agrees_with_float64(kind):
    mu, logvar = posteriors(kind, 6000)
    z = samples(mu, logvar, 400)
    error = Mixture(mu, logvar).log_density(z) - broadcast(z, mu, logvar)
    assert error.abs().max() < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_leave_one_out_joints_agree_with_float64(kind):
    mu, logvar = posteriors(kind, 4000)
    z = samples(mu, logvar, 300)
    without = Mixture(mu, logvar).log_density_without_each(z)
    for i in range(5):
        others = [j for j in range(5) if j != i]
        error = without[:, i] - broadcast(z[:, others], mu[:, others], logvar[:, others])
        assert error.abs().max() < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_marginals_agree_with_float64(kind):
    mu, logvar = posteriors(kind, 5000)
    z = samples(mu, logvar, 400)
    for i in range(5):
        error = log_marginal(z[:, i], mu[:, i], logvar[:, i]) - broadcast(
            z[:, i : i + 1], mu[:, i : i + 1], logvar[:, i : i + 1]
        )
        assert error.mean().abs() < 1e-5
        assert error.abs().max() < 1e-4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [3000, 20_000])
def test_marginals_of_many_samples_and_components_agree_with_float64(kind, count):
    """Enough samples for interpolation, and with 20,000 components enough of these for merging."""
    mu, logvar = (x[:, 0] for x in posteriors(kind, count, 5))
    z = samples(mu[:, None], logvar[:, None], 6000)[:, 0]
    order = z.argsort()
    some = torch.cat([order[:10], order[-10:], torch.arange(100)])
    error = log_marginal(z, mu, logvar)[some] - broadcast(z[some, None], mu[:, None], logvar[:, None])
    assert error.abs().max() < 1e-4


def test_interpolation_leaves_out_the_gaps_between_components():
    """Two sharp components 12 σ apart: log q bends between them within a fraction of σ."""
    mu, logvar = torch.tensor([0.0, 12.0]), torch.zeros(2)
    z = torch.linspace(-8, 20, 3001)
    error = log_marginal(z, mu, logvar) - broadcast(z[:, None], mu[:, None], logvar[:, None])
    assert error.abs().max() < 1e-4


def test_samples_far_from_every_component_get_their_density_too():
    mu, logvar = posteriors("trained", 5000)
    z = torch.tensor([[30.0, -20, 5, 5, 5], [0, 0, 0, 0, 40]])
    torch.testing.assert_close(
        Mixture(mu, logvar).log_density(z), broadcast(z, mu, logvar), rtol=1e-5, atol=0.01
    )


def test_weights_and_marginals_of_several_latents():
    mu, logvar = posteriors("mixed", 3000)
    z = samples(mu, logvar, 200)
    weights = torch.rand(3000, dtype=torch.float64)
    normalised = (weights / weights.sum()).log()
    mixture = Mixture(mu, logvar, weights=weights)
    torch.testing.assert_close(
        mixture.log_density(z, keep=[3, 1]),
        broadcast(z[:, [3, 1]], mu[:, [3, 1]], logvar[:, [3, 1]], normalised),
        rtol=0,
        atol=1e-4,
    )
    each = mixture.log_density_of_each(z)
    for i in range(5):
        alone = broadcast(z[:, [i]], mu[:, [i]], logvar[:, [i]], normalised)
        torch.testing.assert_close(each[:, i], alone, rtol=0, atol=1e-4)


def test_categorical_latents_multiply_the_density():
    mu, logvar = posteriors("broad", 2000, 2)
    z = samples(mu, logvar, 100)
    probabilities = torch.softmax(3 * torch.randn(2000, 4), 1)
    probabilities[:500] = torch.tensor([1.0, 0, 0, 0])
    classes = torch.arange(100) % 4
    mixture = Mixture(mu, logvar, [Classes(probabilities)])
    log_p = probabilities.double().log()[:, classes].T
    joint = all_pairs(z, mu, logvar).sum(-1) + log_p
    expected = torch.logsumexp(joint, 1) - math.log(2000)
    torch.testing.assert_close(mixture.log_density(z, [classes]), expected, rtol=0, atol=1e-4)
    alone = mixture.log_density(z, [classes], keep=[2])
    expected = probabilities.double().mean(0)[classes].log()
    torch.testing.assert_close(alone, expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(mixture.log_density_of_each(z, [classes])[:, 2], expected)
    without = mixture.log_density_without_each(z, [classes])
    assert without.shape == (100, 3)
    torch.testing.assert_close(without[:, 2], broadcast(z, mu, logvar), rtol=0, atol=1e-4)


def test_one_component_is_its_own_density():
    mu, logvar, z = torch.randn(1, 3), torch.randn(1, 3), torch.randn(50, 3)
    torch.testing.assert_close(
        Mixture(mu, logvar).log_density(z), log_density(z, mu, logvar).sum(1).double(), rtol=1e-5, atol=1e-5
    )


def test_latents_in_any_unit_have_the_density_of_that_unit():
    mu, logvar = posteriors("trained", 3000)
    z = samples(mu, logvar, 200).double()
    units = 10.0 ** torch.tensor([-30, 0, 30, -12, 7], dtype=torch.float64)
    mixture, plain = Mixture(mu * units, logvar + 2 * units.log()), Mixture(mu, logvar)
    near = {"rtol": 0, "atol": 2e-4}
    logs = units.log()
    torch.testing.assert_close(mixture.log_density(z * units), plain.log_density(z) - logs.sum(), **near)
    without, of_each = mixture.log_density_without_each(z * units), mixture.log_density_of_each(z * units)
    torch.testing.assert_close(without, plain.log_density_without_each(z) - logs.sum() + logs, **near)
    torch.testing.assert_close(of_each, plain.log_density_of_each(z) - logs, **near)


def test_equal_means_do_not_trouble_the_boxes():
    mu = torch.zeros(5000, 2)
    z = torch.randn(600, 2)
    torch.testing.assert_close(
        Mixture(mu, mu).log_density(z), log_density(z, mu[:1], mu[:1]).sum(1).double(), rtol=0, atol=1e-4
    )


def test_blur_raises_only_what_is_narrower_and_follows_the_scale():
    mu = torch.randn(1000, 3, dtype=torch.float64)
    logvar = torch.full((1000, 3), -torch.inf, dtype=torch.float64)
    logvar[:, 1] = -2.0
    mu[:, 2] = 7.0
    blurred = blur(mu, logvar)
    assert blurred[0, 0].item() == pytest.approx(2 * math.log(1e-4) + mu[:, 0].var(correction=0).log().item())
    assert (blurred[:, 1] == -2).all()
    assert blurred[0, 2].item() == pytest.approx(2 * math.log(1e-4))
    torch.testing.assert_close(
        blur(1000 * mu, logvar)[:, 0] - blurred[:, 0], torch.full((1000,), math.log(1e6)).double()
    )


@pytest.mark.parametrize("kept", [1.5, 1e-2, 3e-5])
def test_blur_keeps_any_width_that_the_kernel_can_resolve(kept):
    mu = torch.randn(100, 1)
    logvar = torch.full((100, 1), 2 * math.log(kept))
    assert torch.equal(blur(mu, logvar), logvar)


@pytest.mark.parametrize("sigma", [1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("spread", ["equal", "unequal"])
def test_right_to_1e_4_nats_at_any_width(sigma, spread):
    """Samples at their own component, halfway to another and far off, of widths over seven decades."""
    random = torch.Generator().manual_seed(0)
    mu = torch.randn(3000, 4, generator=random)
    # Neighbours at a few σ, without which log q(z) of sharp posteriors would be that of one component.
    mu[1500:] = mu[:1500] + 2 * sigma * torch.randn(1500, 4, generator=random)
    logvar = torch.full((3000, 4), 2 * math.log(sigma))
    if spread == "unequal":
        logvar = logvar + torch.randn(3000, 4, generator=random)
    own = mu[1400:1600].double()
    noise = torch.randn(200, 4, generator=random).double()
    z = own + (logvar[1400:1600].double() / 2).exp() * noise
    z[::4] += 4 * sigma
    mixture, expected = Mixture(mu, logvar), broadcast(z, mu, logvar)
    assert (mixture.log_density(z) - expected).abs().max() < 1e-4
    for i in range(4):
        alone = broadcast(z[:, [i]], mu[:, [i]], logvar[:, [i]])
        assert (mixture.log_density(z, keep=[i]) - alone).abs().max() < 1e-4
        assert (mixture.log_density_of_each(z)[:, i] - alone).abs().max() < 1e-4
    information = (log_density(z, own, logvar[1400:1600].double()).sum(1) - mixture.log_density(z)).max()
    assert information < math.log(3000) + 1e-4


@pytest.mark.parametrize("sigma", [1e-6, 1e-3, 1e-1, 10.0])
@pytest.mark.parametrize(
    "latents", ["c=concrete:4,z=gaussian:2,b=bernoulli:3", "b=bernoulli:2", "c=concrete:3"]
)
def test_relaxed_latents_beside_gaussians_are_right_to_1e_4_nats(sigma, latents):
    torch.manual_seed(0)
    space = LatentSpace.parse(latents)
    everything = space.posterior(4 * torch.randn(2500, space.parameters, dtype=torch.float64))
    if "z" in everything.parts:
        everything.parts["z"].logvar.fill_(2 * math.log(sigma))
    u = everything.map(lambda parameter: parameter[:150]).rsample()
    pairs = everything.log_prob_dims(u[:, None])
    parts = everything.paired_with(u)
    real = [(part, c) for part, c in parts if hasattr(part, "logvar")]
    others = [(part, c) for part, c in parts if not hasattr(part, "logvar")]
    nothing = torch.zeros(2500, 0, dtype=torch.float64)
    mu, logvar = (real[0][0].mu, real[0][0].logvar) if real else (nothing, nothing)
    z = real[0][1] if real else nothing[:150]
    mixture = Mixture(mu, logvar, [part for part, _ in others])
    values = [c for _, c in others]
    expected = pairs.sum(-1).logsumexp(1) - math.log(2500)
    torch.testing.assert_close(mixture.log_density(z, values), expected, rtol=0, atol=1e-4)
    each = pairs.logsumexp(1) - math.log(2500)
    order = [v.place for v in space.coded]
    torch.testing.assert_close(mixture.log_density_of_each(z, values), each[:, order], rtol=0, atol=1e-4)
    some = [0, len(order) - 1]
    expected = pairs[..., [order[i] for i in some]].sum(-1).logsumexp(1) - math.log(2500)
    torch.testing.assert_close(mixture.log_density(z, values, some), expected, rtol=0, atol=1e-4)


def test_the_entropy_of_a_gaussian_q_is_the_closed_form():
    """Means N(0, 1−σ²) and noise σ give q(z) = N(0, 1) up to the finite number of components."""
    rng = np.random.default_rng(0)
    sigma = 0.3
    mu = torch.from_numpy(rng.normal(0, math.sqrt(1 - sigma**2), (200_000, 1)))
    z = torch.from_numpy(rng.normal(0, 1, 200_000))
    found = -log_marginal(z, mu[:, 0], torch.full((200_000,), 2 * math.log(sigma))).mean()
    assert found.item() == pytest.approx(0.5 * math.log(2 * math.pi * math.e), abs=0.005)


def test_two_threads_give_what_one_gives_and_leave_torch_as_it_was():
    mu, logvar = posteriors("trained", 6000)
    z = samples(mu, logvar, 700)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = Mixture(mu, logvar).log_density(z)
        torch.set_num_threads(2)
        together = Mixture(mu, logvar).log_density(z)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-6)


def test_samples_in_pieces_have_the_same_densities(monkeypatch):
    mu, logvar = posteriors("trained", 6000)
    z = samples(mu, logvar, 300)
    mixture = Mixture(mu, logvar)
    whole = mixture.log_density_without_each(z)
    monkeypatch.setattr(box_sums, "FLAGS", 40 * 5 * len(mixture._sums.boxes))
    monkeypatch.setattr(box_sums, "PAIRS", 7000)
    torch.testing.assert_close(mixture.log_density_without_each(z), whole, rtol=0, atol=1e-6)
