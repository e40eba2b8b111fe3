"""Mathieu et al. 2019: densities of the plane, divergences by quadrature, lines from the table."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from distaff.figures.checked_arrays import mean_interval
from distaff.foundation.errors import DistaffError
from distaff.studies.drawings.runs import vae_of
from studies.mathieu19 import drawings
from studies.mathieu19.drawings import divergences_of, plane
from tests.figures.drawings import drawn


def test_q_of_z_is_the_mixture_of_the_runs_posteriors(pinwheel):
    extent = (-1.0, 2.0, -0.5, 1.5)
    figure = drawings.aggregate_posteriors(pinwheel, extent=extent)
    assert [axes.get_title() for axes in figure.axes[:2]] == ["β = 0.01", "β = 1.2"]
    codes = pinwheel.runs(alpha=0, beta=1.2)[0].codes
    x, y = np.linspace(-1, 2, 120)[90], np.linspace(-0.5, 1.5, 120)[30]
    sigma = np.exp(codes.logvars / 2)
    expected = np.prod(norm.pdf([x, y], codes.means, sigma), axis=1).mean()
    assert drawn(figure.axes[1])[30, 90] == pytest.approx(expected, rel=1e-4)


def test_aggregate_posteriors_are_a_grid_of_alpha_by_beta():
    densities = {(a, b): np.full((4, 5), a + b) for a in (0.0, 1.0) for b in (0.5, 1.0, 2.0)}
    del densities[1.0, 2.0]
    extent = (-1.0, 2.0, -1.0, 2.0)
    hill = np.outer(np.hanning(6)[1:-1], np.hanning(7)[1:-1])
    figure = drawings.densities_by_weights(densities, extent, hill)
    assert len(figure.axes) == 5
    assert [axes.get_title() for axes in figure.axes] == ["β = 0.5", "β = 1", "β = 2", "", ""]
    assert figure.axes[3].get_ylabel().startswith("α = 1")
    np.testing.assert_array_equal(drawn(figure.axes[4]), densities[1.0, 1.0])
    assert figure.axes[0].get_images()[0].get_extent() == list(extent)
    assert figure.axes[0].get_images()[0].origin == "lower"
    np.testing.assert_allclose(figure.axes[0].collections[0].levels, hill.max() * np.array([0.1, 0.4, 0.8]))


def test_divergences_are_those_of_the_integral(pinwheel):
    run = pinwheel.runs(alpha=5, beta=1.2)[0]
    forward, backward = divergences_of(run, samples=20_000)
    grid = plane(-4, 5, -4, 5, side=150)
    cell = (9 / 149) ** 2
    codes = run.codes
    mu, sigma = torch.tensor(codes.means), torch.tensor(codes.logvars).div(2).exp()
    with torch.no_grad():
        log_p = vae_of(run).prior.log_prob(grid).double()
        parts = [
            torch.distributions.Normal(mu, sigma).log_prob(some[:, None]).sum(-1) for some in grid.split(2500)
        ]
        log_q = (torch.cat(parts).double().logsumexp(1) - np.log(len(mu))).clamp(min=-600)
    p, q = log_p.exp(), log_q.exp()
    assert float(p.sum() * cell) == pytest.approx(1, abs=1e-3)
    assert forward == pytest.approx(float((p * (log_p - log_q)).sum() * cell), rel=0.05)
    assert backward == pytest.approx(float((q * (log_q - log_p)).sum() * cell), rel=0.05)


def test_divergences_are_tabulated_by_alpha_and_beta(pinwheel):
    table = drawings.divergence_from_prior(pinwheel, samples=2000)["KL(p(z) ‖ q(z)), nats"]
    assert list(table.columns) == ["α", "β = 0.01", "β = 1.2"]
    assert table["α"].tolist() == [0, 5]
    expected = np.mean([divergences_of(run, 2000)[0] for run in pinwheel.runs(alpha=5, beta=1.2)])
    assert table["β = 1.2"][1] == pytest.approx(expected)


def test_sparsity_is_the_tables(pinwheel):
    figure = drawings.sparsity_against_alpha(pinwheel, term="inclusive_kl")
    table = pinwheel.finished.groupby(["beta", "alpha"]).mean(numeric_only=True)
    for axes, column in zip(figure.axes, ("hoyer", "reconstruction"), strict=False):
        for curve, beta in zip(axes.get_lines(), (0.01, 1.2), strict=True):
            np.testing.assert_allclose(curve.get_ydata(), table.loc[beta][column])
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "Hoyer sparsity", "reconstruction loss (nats)", "inclusive kl",
    ]  # fmt: skip
    seeds = [[run.scores["hoyer"].value for run in pinwheel.runs(beta=1.2, seed=s)] for s in (0, 1)]
    mean, low, high = mean_interval(seeds)
    line, band = figure.axes[0].lines[1], figure.axes[0].collections[1].get_paths()[0].get_extents()
    np.testing.assert_allclose(line.get_xydata(), np.stack([[0, 5], mean], 1))
    assert (band.ymin, band.ymax) == pytest.approx((low.min(), high.max()))
    runs = pinwheel.runs(alpha=0, beta=0.01)
    expected = np.mean([[line["inclusive_kl"] for line in run.log[-3:]] for run in runs])
    assert figure.axes[2].get_lines()[0].get_ydata()[0] == pytest.approx(expected)


def test_a_study_without_alpha_is_told_so(line):
    with pytest.raises(DistaffError, match="unknown setting of ablated_elbo 'alpha'"):
        drawings.aggregate_posteriors(line)


def test_priors_are_drawn_by_their_names(pinwheel):
    figure = drawings.prior_densities(pinwheel, priors=["student_t:3", "normal"], end=2)
    assert [axes.get_title() for axes in figure.axes] == ["student_t:3", "normal"]
    heavy, usual = (drawn(axes) for axes in figure.axes)
    ends = norm.pdf(np.array([-2.0, 2.0]))
    assert usual[0, -1] == pytest.approx(np.prod(ends), rel=1e-4)
    assert heavy[0, -1] > usual[0, -1]
