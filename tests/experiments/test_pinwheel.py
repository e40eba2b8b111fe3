"""Mathieu et al. 2019, §6.2: α improves the match of q(z) to a clustered prior, a large β harms it."""

import pytest

from tests.experiments.pinwheel import ALPHAS, BETAS, exclusive, grid_figure, inclusive

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("divergence", [inclusive, exclusive])
def test_the_largest_alpha_brings_the_codes_nearer_to_the_prior(divergence, beta):
    assert divergence(ALPHAS[-1], beta) < 0.8 * divergence(0.0, beta)


def test_each_larger_alpha_does_on_average_over_beta():
    means = [sum(inclusive(alpha, beta) for beta in BETAS) / len(BETAS) for alpha in ALPHAS]
    assert means == sorted(means, reverse=True)


@pytest.mark.parametrize("alpha", ALPHAS[:-1])
@pytest.mark.parametrize("divergence", [inclusive, exclusive])
def test_the_largest_beta_takes_the_codes_away_from_the_prior(divergence, alpha):
    """Unless the largest α holds them there."""
    assert divergence(alpha, BETAS[-1]) > 1.2 * min(divergence(alpha, beta) for beta in BETAS)


def test_the_grid_is_drawn():
    assert len(grid_figure().axes) == len(ALPHAS) * len(BETAS)
