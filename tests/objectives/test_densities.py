"""Each estimator of q(z) by itself: its weights, its bias against the exact sum, and its gradient."""

import math

import pytest
import torch

from distaff.foundation.errors import DistaffError
from distaff.mixtures.pairs import log_sum_exp
from distaff.models.groups import GaussianPosterior
from distaff.objectives.densities import (
    DENSITIES,
    Density,
    Shape,
    Source,
    batch,
    chen_stratified,
    exact,
    independent_batch,
    stratified,
    weighted,
)
from tests.objectives import worlds

DOUBLE = torch.zeros((), dtype=torch.float64)


def weights(density: Density, rows: int, columns: int, offset: int, size: int) -> torch.Tensor:
    return density.weights(Shape(rows, columns, offset, size)).double()


def test_stratified_weights_are_1_over_n_on_the_diagonal_and_sum_to_one():
    w = weights(stratified, 8, 8, 0, 100)
    torch.testing.assert_close(w.diagonal(), torch.full((8,), 0.01).double())
    others = w[~torch.eye(8, dtype=torch.bool)]
    torch.testing.assert_close(others, torch.full((56,), 99 / (100 * 7)).double())
    torch.testing.assert_close(w.sum(1), torch.ones(8).double())


def test_chens_weights():
    size, m = 100, 7
    w = weights(chen_stratified, 8, 8, 0, size)
    torch.testing.assert_close(w.diagonal(), torch.full((8,), 1 / size).double())
    torch.testing.assert_close(w.sum(1), torch.ones(8).double())
    special = (size - m) / (size * m)
    assert ((w - special).abs() < 1e-7).sum() == 8
    assert ((w - 1 / m).abs() < 1e-7).sum() == 8 * 6
    w = weights(weighted, 8, 8, 0, size)
    torch.testing.assert_close(w, torch.full((8, 8), 1 / (size * 8)).double())


@pytest.mark.parametrize("density", [stratified, chen_stratified])
def test_the_rows_of_a_process_are_its_rows_of_the_whole_batch(density):
    whole = weights(density, 8, 8, 0, 50)
    for rank in (0, 1):
        share = weights(density, 4, 8, 4 * rank, 50)
        torch.testing.assert_close(share, whole[4 * rank : 4 * rank + 4])


@pytest.mark.parametrize(
    ("density", "unbiased"), [(stratified, True), (chen_stratified, True), (batch, False)]
)
def test_bias_for_q_z_against_the_exact_sum_over_batches_without_replacement(density, unbiased):
    """z ~ q(z|x_0); the batch is x_0 and B−1 others drawn without replacement."""
    torch.manual_seed(0)
    size, columns, draws = 12, 4, 40_000
    mu = torch.randn(size).double() * 2
    z = mu[0] + 0.3
    density_of = torch.distributions.Normal(mu, 1.0).log_prob(z).exp()
    others = torch.rand(draws, size - 1).argsort(1)[:, : columns - 1] + 1
    members = torch.cat([torch.zeros(draws, 1, dtype=torch.long), others], 1)
    w = weights(density, columns, columns, 0, size)[0]
    estimates = density_of[members] @ w
    error = float(estimates.std() / math.sqrt(draws))
    gap = abs(float(estimates.mean() - density_of.mean()))
    assert gap < 4 * error if unbiased else gap > 20 * error


def a_step(density, size=60, **more):
    torch.manual_seed(1)
    mu, logvar = torch.randn(size, 5).double(), torch.randn(size, 5).double() * 0.5 - 1
    latents = worlds.space(2, 3)
    rows = slice(0, 16)
    return worlds.step_of(mu[rows], logvar[rows], latents, size, density, **more), mu, logvar


@pytest.mark.parametrize("density", [stratified, weighted, chen_stratified, batch])
def test_joint_groups_and_variables_are_the_weighted_sums_by_hand(density):
    """The weight enters once in the joint and once in each marginal, never D times."""
    s, mu, logvar = a_step(density)
    w = weights(density, 16, 16, 0, 60)
    q = torch.distributions.Normal(mu[:16], (0.5 * logvar[:16]).exp()).log_prob(s.z[:, None]).exp()
    torch.testing.assert_close(s.log_qz, (w * q.prod(-1)).sum(1).log(), rtol=1e-5, atol=1e-5)
    groups = torch.stack([(w * q[..., g].prod(-1)).sum(1) for g in (slice(0, 2), slice(2, 5))], 1)
    torch.testing.assert_close(s.log_qz_groups, groups.log(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(s.log_qz_dims, (w[..., None] * q).sum(1).log(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(
        s.log_qz_of([1, 4]), (w * q[..., [1, 4]].prod(-1)).sum(1).log(), rtol=1e-5, atol=1e-5
    )


def test_exact_is_the_sum_over_the_whole_data_set():
    asked = []
    size = 60
    torch.manual_seed(1)
    mu, logvar = torch.randn(size, 5).double(), torch.randn(size, 5).double() * 0.5 - 1

    def images(source):
        asked.append(source)
        return torch.cat([mu[:, :2], logvar[:, :2], mu[:, 2:], logvar[:, 2:]], 1)

    s, mu, logvar = a_step(exact, images=images)
    torch.testing.assert_close(s.log_qz, worlds.log_aggregate(s.z, mu, logvar))
    for d in range(5):
        torch.testing.assert_close(s.log_qz_dims[:, d], worlds.log_aggregate(s.z, mu, logvar, [d]))
    assert asked == [Source.DATA_SET]


def test_a_batch_of_the_whole_data_set_makes_stratified_and_plain_exact():
    for density in (stratified, batch):
        torch.manual_seed(1)
        mu, logvar = torch.randn(40, 3).double(), torch.zeros(40, 3).double()
        s = worlds.step_of(mu, logvar, worlds.space(3), 40, density)
        torch.testing.assert_close(s.log_qz, worlds.log_aggregate(s.z, mu, logvar), rtol=1e-6, atol=1e-6)


def test_an_independent_batch_is_asked_for_and_its_tc_turns_negative():
    """FactorVAE App. D: with narrow posteriors, z lands on the tails of the other batch's mixture."""
    torch.manual_seed(0)
    found = {}
    first, second = torch.randn(64, 10).double(), torch.randn(64, 10).double()
    logvar = torch.full((64, 10), -4.0).double()
    for density in (batch, independent_batch):
        s = worlds.step_of(
            first, logvar, worlds.space(10), 10_000, density, images=lambda _: torch.cat([second, logvar], 1)
        )
        found[density.name] = float((s.log_qz - s.log_qz_dims.sum(1)).mean())
    assert found["independent_batch"] < -10
    assert found["batch"] > 10


def test_appendix_c_the_entropy_estimate_tends_to_log_n_plus_the_mean_entropy():
    """Mathieu et al., App. C: posteriors that hardly overlap and B ≪ n."""
    torch.manual_seed(0)
    size, dims = 100_000, 10
    mu, logvar = 3 * torch.randn(64, dims).double(), torch.full((64, dims), -5.0).double()
    s = worlds.step_of(mu, logvar, worlds.space(dims), size)
    entropy = 0.5 * dims * (math.log(2 * math.pi * math.e) - 5.0)
    assert float(-s.log_qz.mean()) == pytest.approx(math.log(size) + entropy, abs=1.0)
    assert float((s.log_qz_x - s.log_qz).mean()) == pytest.approx(math.log(size), abs=1e-6)


def test_log_sum_exp_is_torchs_with_its_gradient():
    torch.manual_seed(0)
    log_terms = (5 * torch.randn(3, 6, 7)).double().requires_grad_()
    log_weights = torch.randn(6, 7).double()
    assert torch.autograd.gradcheck(lambda t: log_sum_exp(t, log_weights), log_terms)
    torch.testing.assert_close(log_sum_exp(log_terms, log_weights), (log_terms + log_weights).logsumexp(-1))


def test_far_tails_stay_finite_and_clear_of_the_numbers_that_cpus_are_slow_with():
    log_terms = torch.tensor([[[-1e4, -2e4, -1.01e4]]], requires_grad=True)
    value = log_sum_exp(log_terms, torch.zeros(1, 3))
    assert value.item() == -1e4
    (value * 1e-3).backward()
    assert (log_terms.grad > torch.finfo(torch.float32).tiny).all()


def test_pairs_are_the_densities_of_every_sample_under_every_posterior():
    torch.manual_seed(0)
    mu, logvar, z = torch.randn(6, 3) + 40, torch.randn(6, 3) - 3, torch.randn(4, 3) + 40
    pairs = GaussianPosterior(mu, logvar).log_prob_pairs(z)
    expected = torch.distributions.Normal(mu, (0.5 * logvar).exp()).log_prob(z[:, None])
    torch.testing.assert_close(pairs, expected.permute(2, 0, 1), rtol=1e-4, atol=1e-3)


def test_densities_are_written_by_name():
    for name, density in DENSITIES.items():
        assert Density.parse(name) is density
        assert str(density) == name
    with pytest.raises(DistaffError, match="did you mean 'stratified'"):
        Density.parse("stratifed")


def test_a_batch_of_one_is_refused():
    with pytest.raises(DistaffError, match="at least 2 observations"):
        stratified.log_weights(Shape(1, 1, 0, 10), DOUBLE)
