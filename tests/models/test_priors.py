"""One contract over every kind of prior, and each kind against its textbook form."""

import inspect
import math
import typing

import numpy as np
import pytest
import torch
from torch.distributions import (
    Categorical,
    Independent,
    MixtureSameFamily,
    MultivariateNormal,
    Normal,
    StudentT,
)

from distaff.data.arrays import from_array
from distaff.foundation.binding import public_functions
from distaff.foundation.errors import DistaffError
from distaff.models.groups import Gaussian, GaussianPosterior
from distaff.models.latent_kinds import Concrete
from distaff.models.latents import LatentSpace
from distaff.models.priors import named as kinds
from distaff.models.priors.parsing import parse_prior
from distaff.models.priors.real import FullCovariance, GaussianMixture, principal_variances
from distaff.models.relaxed import BernoulliPosterior
from distaff.models.vae import Prior

LIKE = torch.zeros((), dtype=torch.float64)
GAUSSIAN_KINDS = [
    name for name, f in public_functions(kinds).items() if typing.get_type_hints(f)["group"] is Gaussian
]
DISCRETE_KINDS = [name for name in public_functions(kinds) if name not in GAUSSIAN_KINDS]
CASES = [(kind, "z=gaussian:2") for kind in GAUSSIAN_KINDS] + [
    (kind, latents)
    for kind in DISCRETE_KINDS
    for latents in ("d=concrete:2", "d=concrete:5", "b=bernoulli:2")
]


def prior_of(kind: str, latents: str) -> Prior:
    """A prior in double precision, away from where its parameters start."""
    prior = parse_prior(kind, LatentSpace.parse(latents)).double()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for tensor in (*prior.parameters(), *(b for n, b in prior.named_buffers() if "logvar" in n)):
            tensor += 0.4 * torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
    return prior


def posterior_of(latents: str, count: int = 3):
    space = LatentSpace.parse(latents)
    parameters = torch.randn(count, space.parameters, generator=torch.Generator().manual_seed(4))
    return space.posterior(parameters.double(), 0.66)


@pytest.mark.parametrize(("kind", "latents"), [case for case in CASES if case[1] != "d=concrete:5"])
def test_marginals_are_densities_and_samples_follow_them(kind, latents):
    """E_p[f(z_d)] of samples and by numerical integration of exp(log_prob_dims), for f = 1, |z|, sin z."""
    torch.manual_seed(0)
    prior = prior_of(kind, latents)
    z = LatentSpace.parse(latents).squash(prior.sample(100_000, LIKE).detach())
    assert z.dtype == torch.float64
    if latents.startswith("z"):
        grid = torch.sinh(torch.linspace(-8, 8, 40_001, dtype=torch.float64))
        steps = torch.gradient(grid)[0]
        points = grid[:, None].expand(-1, 2)
    else:
        logit = torch.linspace(-30, 30, 40_001, dtype=torch.float64)
        grid, steps = logit.sigmoid(), logit[1] - logit[0]
        points = torch.stack([logit, logit], 1)
        if "concrete" in latents:
            points = torch.nn.functional.logsigmoid(torch.stack([logit, -logit], 1))
    densities = prior.log_prob_dims(points).exp().detach()
    for f in (torch.ones_like, torch.sin, lambda v: v.abs().clamp_max(20)):
        for d in range(densities.shape[1]):
            integral = float((densities[:, d] * f(grid) * steps).sum())
            assert float(f(z[:, d]).mean()) == pytest.approx(integral, abs=0.02), (kind, d)


@torch.no_grad()
@pytest.mark.parametrize(("kind", "latents"), CASES)
def test_the_kl_is_the_monte_carlo_one_in_expectation(kind, latents):
    torch.manual_seed(0)
    prior, q = prior_of(kind, latents), posterior_of(latents)
    many = q.map(lambda t: t.repeat(60_000, 1))
    z = many.rsample()
    joint = many.log_prob(z) - prior.log_prob(z)
    marginal = many.log_prob_dims(z) - prior.log_prob_dims(z)
    count = len(z) // 3
    noise = 6 * joint.std() / math.sqrt(count)
    ours = prior.kl(many, z).view(count, 3).mean(0)
    torch.testing.assert_close(ours, joint.view(count, 3).mean(0), atol=float(noise) + 1e-9, rtol=0)
    assert (ours > -noise).all()
    ours_dims = prior.kl_dims(many, z).view(count, 3, -1).mean(0)
    noise = 6 * marginal.std() / math.sqrt(count)
    expected = marginal.view(count, 3, -1).mean(0)
    torch.testing.assert_close(ours_dims, expected, atol=float(noise) + 1e-9, rtol=0)


@pytest.mark.parametrize(("kind", "latents"), CASES)
def test_groups_dims_and_the_whole_agree(kind, latents):
    torch.manual_seed(0)
    prior = prior_of(f"{kind}", f"{latents},other=gaussian:2" if kind in DISCRETE_KINDS else latents)
    z = prior.sample(50, LIKE)
    torch.testing.assert_close(prior.log_prob_groups(z).sum(-1), prior.log_prob(z))
    if kind != "full_covariance":
        torch.testing.assert_close(prior.log_prob_dims(z).sum(-1), prior.log_prob(z))


@pytest.mark.parametrize("kind", [k for k in public_functions(kinds) if "learned" in k or "full" in k])
def test_gradients_reach_learned_parameters(kind):
    latents = "d=concrete:3" if kind == "learned_classes" else "z=gaussian:3"
    prior, q = prior_of(kind, latents), posterior_of(latents)
    parameters = list(prior.parameters())
    assert parameters
    for value in (prior.kl(q, q.rsample()).sum(), prior.log_prob(q.rsample()).sum()):
        for gradient in torch.autograd.grad(value, parameters):
            assert gradient.abs().max() > 1e-3


@pytest.mark.parametrize("kind", [k for k in GAUSSIAN_KINDS if "learned" not in k and "full" not in k])
def test_fixed_priors_have_no_parameters(kind):
    assert not list(prior_of(kind, "z=gaussian:2").parameters())


def test_textbook_forms():
    torch.manual_seed(0)
    z = torch.randn(40, 2, dtype=torch.float64)
    corners = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=torch.float64)
    pinwheel = MixtureSameFamily(
        Categorical(torch.ones(4, dtype=torch.float64)),
        Independent(Normal(corners, torch.full_like(corners, math.sqrt(0.03))), 1),
    )
    torch.testing.assert_close(prior_of("mixture", "2").log_prob(z), pinwheel.log_prob(z))
    nu = torch.tensor(3.0, dtype=torch.float64)
    ours = prior_of("student_t:3", "2").log_prob_dims(z)
    torch.testing.assert_close(ours, StudentT(nu).log_prob(z))
    full = prior_of("full_covariance", "2")
    (part,) = full.parts
    assert isinstance(part, FullCovariance)
    textbook = MultivariateNormal(torch.zeros(2, dtype=torch.float64), scale_tril=part.cholesky)
    torch.testing.assert_close(full.log_prob(z), textbook.log_prob(z))
    by_hand = 0.2 * Normal(LIKE, 1.0).log_prob(z).exp() + 0.8 * Normal(LIKE, 0.1).log_prob(z).exp()
    torch.testing.assert_close(prior_of("sparse:0.8:0.1", "2").log_prob_dims(z), by_hand.log())
    heavy, light = prior_of("student_t:3", "2"), prior_of("student_t:1000000", "2")
    torch.testing.assert_close(light.log_prob(z), prior_of("normal", "2").log_prob(z), atol=1e-4, rtol=0)
    assert heavy.log_prob(10 * z[:1]) > light.log_prob(10 * z[:1])


def test_a_mixture_off_the_corners_depends_on_both_dimensions_at_once():
    torch.manual_seed(0)
    means = torch.tensor([[0, 0], [1, 1]], dtype=torch.float64)
    diagonal = GaussianMixture(means, 0.03)
    textbook = MixtureSameFamily(
        Categorical(torch.ones(2, dtype=torch.float64)),
        Independent(Normal(means, torch.full_like(means, math.sqrt(0.03))), 1),
    )
    z = diagonal.sample(50_000, LIKE)
    assert torch.corrcoef(z.T)[0, 1] == pytest.approx(0.25 / 0.28, abs=0.01)
    torch.testing.assert_close(diagonal.log_prob(z), textbook.log_prob(z))
    total_correlation = (diagonal.log_prob(z) - diagonal.log_prob_dims(z).sum(-1)).mean()
    assert total_correlation == pytest.approx(math.log(2), abs=0.03), (
        "one bit, shared by two well parted modes"
    )


def test_the_kl_to_a_correlated_normal_is_torchs():
    prior, q = prior_of("full_covariance", "z=gaussian:2"), posterior_of("z=gaussian:2")
    (part,), gaussian = prior.parts, q.parts["z"]
    assert isinstance(gaussian, GaussianPosterior)
    p = MultivariateNormal(torch.zeros(2, dtype=torch.float64), scale_tril=part.cholesky)
    theirs = torch.distributions.kl_divergence(
        MultivariateNormal(gaussian.mu, torch.diag_embed(gaussian.logvar.exp())), p
    )
    torch.testing.assert_close(prior.kl(q, q.rsample()), theirs)
    assert not torch.allclose(prior.kl_dims(q, q.rsample()).sum(-1), theirs), (
        "the marginals miss the correlation"
    )


def test_the_kl_of_bits_is_smooth_at_zero_and_the_same_at_any_temperature():
    prior = parse_prior("uniform", LatentSpace.parse("b=bernoulli:1")).double()
    logits = torch.tensor([[0.0], [1e-4], [0.0999999], [0.1000001], [3.0], [-3.0], [80.0]]).double()
    q = BernoulliPosterior(logits.requires_grad_(), 0.66)
    (part,) = prior.parts
    kl = part.kl_dims(q, q.rsample())[:, 0]
    d = logits.detach()[2:, 0]
    torch.testing.assert_close(kl[2:], d / torch.tanh(d / 2) - 2, atol=1e-8, rtol=1e-6)
    assert kl[0] == 0
    assert kl[4] == kl[5]
    (gradient,) = torch.autograd.grad(kl.sum(), logits)
    assert torch.isfinite(gradient).all()
    assert gradient[0] == 0


def test_the_temperature_reaches_prior_and_posterior_alike():
    """With equal logits the two densities are one, whatever the temperature."""
    space = LatentSpace.parse("d=concrete:3,b=bernoulli:2")
    prior = Prior.standard(space)
    for temperature in (0.3, 1.5):
        prior.temperature = temperature
        q = space.posterior(torch.zeros(5, space.parameters), temperature)
        z = q.rsample()
        torch.testing.assert_close(prior.log_prob(z), q.log_prob(z))


def test_principal_variances_are_those_of_the_data_and_keep_the_total_scale():
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    x = (rng.normal(size=(2000, 6)) * [5, 3, 2, 1, 0.5, 0.1]) @ rotation + 7
    found = principal_variances(from_array(x.astype(np.float32)).images, 4)
    s = np.linalg.svd(x - x.mean(0), compute_uv=False)[:4]
    np.testing.assert_allclose(found, 4 * s / s.sum(), rtol=1e-4)
    wide = principal_variances(from_array(x[:5].astype(np.float32)).images, 4)
    s = np.linalg.svd(x[:5] - x[:5].mean(0), compute_uv=False)[:4]
    np.testing.assert_allclose(wide, 4 * s / s.sum(), rtol=1e-3)
    with pytest.raises(DistaffError, match=r"vary along 6 directions, too few .* over 7 latents"):
        principal_variances(from_array(x.astype(np.float32)).images, 7)


@pytest.mark.parametrize("shape", [(3000, 40), (300, 2000)])
def test_rounding_is_no_direction_of_the_data(shape):
    """Five directions in single precision: a sixth would be made of the rounding of squares."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(shape[0], 5)) @ rng.normal(size=(5, shape[1])) + 0.5
    images = from_array(x.astype(np.float32)).images
    assert len(principal_variances(images, 5)) == 5
    with pytest.raises(DistaffError, match="vary along 5 directions"):
        principal_variances(images, 6)


@pytest.mark.parametrize("kind", ["anisotropic", "learned_anisotropic"])
def test_anisotropic_priors_start_from_the_data(kind):
    rng = np.random.default_rng(0)
    images = from_array((rng.normal(size=(500, 4)) * [4, 2, 1, 1]).astype(np.float32)).images
    prior = parse_prior(kind, LatentSpace.parse(2))
    prior.start_from(images)
    (part,) = prior.parts
    torch.testing.assert_close(part.logvar.exp().detach(), principal_variances(images, 2))
    assert "parts.0.logvar" in prior.state_dict()


def test_an_unnamed_kind_goes_to_the_groups_it_fits_and_a_named_one_to_its_group():
    space = LatentSpace.parse("a=gaussian:2,d=concrete:3,b=gaussian:2,c=bernoulli:1")
    prior = parse_prior("student_t:4,d=learned_classes", space)
    assert [type(part).__name__ for part in prior.parts] == ["StudentT", "Relaxed", "StudentT", "Relaxed"]
    assert len(list(prior.parameters())) == 1
    prior = parse_prior("b=sparse:0.5,learned_classes", space)
    assert [type(p).__name__ for p in prior.parts] == ["StandardNormal", "Relaxed", "Sparse", "Relaxed"]
    assert len(list(prior.parameters())) == 2
    assert space.groups["d"] == Concrete(3)


def test_every_kind_is_documented():
    for kind in public_functions(kinds).values():
        assert inspect.getdoc(kind)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("studentt:5", "did you mean 'student_t'"),
        ("stile=normal", "did you mean 'style'"),
        ("student_t:five", "should have numbers after its name"),
        ("student_t:5:6", "takes 1 numbers: write student_t:NU"),
        ("student_t:-1", "nu of a prior must be positive"),
        ("sparse:1", "between 0 and 1, not 1"),
        ("digit=student_t:5", "does not fit digit=concrete:3: use one of learned_classes, uniform"),
        ("style=normal,student_t", "the group 'style' twice"),
        ("mixture", "use at most 10 latents"),
    ],
)
def test_bad_text_is_one_sentence(text, message):
    space = LatentSpace.parse("style=gaussian:12,digit=concrete:3")
    with pytest.raises(DistaffError, match=message):
        parse_prior(text, space)


def narrow(group: Gaussian, variance: float = 0.25) -> GaussianMixture:
    """A prior from outside the library: a mixture of one."""
    return GaussianMixture(torch.zeros(1, group.dims), variance)


def no_module(group: Gaussian):
    """What is no prior."""
    return 0.5


def of_nothing(group):
    """A prior that does not say what it fits."""
    return narrow(group)


def test_a_prior_from_elsewhere_is_module_and_function_with_its_numbers():
    z = torch.randn(40, 2)
    space = LatentSpace.parse("a=gaussian:2,d=concrete:3")
    for text, variance in (("{}:narrow", 0.25), ("{}:narrow:0.5", 0.5), ("a={}:narrow:2", 2.0)):
        found = parse_prior(text.format(__name__), space).groups["a"].log_prob_dims(z)
        torch.testing.assert_close(found, Normal(0, math.sqrt(variance)).log_prob(z))
    with pytest.raises(DistaffError, match=r"cannot be imported: .*absent"):
        parse_prior(f"{__name__}:absent:0.5", space)
    with pytest.raises(DistaffError, match="annotate its first argument"):
        parse_prior(f"{__name__}:of_nothing", space)
    with pytest.raises(DistaffError, match=r"the prior 'no_module' returns float, not an nn\.Module"):
        parse_prior(f"{__name__}:no_module", space)


def test_the_standard_priors_go_with_any_latents():
    (part,) = parse_prior("normal", LatentSpace.parse("d=concrete:3")).parts
    assert type(part).__name__ == "Relaxed"
    (part,) = parse_prior("uniform", LatentSpace.parse(3)).parts
    assert type(part).__name__ == "StandardNormal"


def test_a_kind_that_fits_no_group():
    with pytest.raises(DistaffError, match="'learned_classes' fits no group"):
        parse_prior("learned_classes", LatentSpace.parse(3))


def test_uniform_classes_are_equally_likely():
    space = LatentSpace.parse("digit=concrete:4")
    prior, usual = parse_prior("digit=uniform", space), Prior.standard(space)
    u = torch.randn(6, 4).log_softmax(1)
    torch.testing.assert_close(prior.log_prob(u), usual.log_prob(u))
    assert not list(prior.parameters())
