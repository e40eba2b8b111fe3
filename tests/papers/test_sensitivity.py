"""Metrics and their own settings: synthetic codes with known properties, and what is drawn of them."""

import numpy as np
import pytest

from distaff.foundation.errors import DistaffError
from distaff.metrics import factor_vae_score, informativeness, jemmig, rmig, total_information, wsepin
from distaff.studies.results import Results
from distaff.studies.study import Study
from studies.do20 import sensitivity as do20
from studies.fixed_codes import KINDS, synthetic_codes
from studies.kim18 import sensitivity as kim18


@pytest.fixture(scope="module")
def nothing(tmp_path_factory) -> Results:
    """A study without runs."""
    return Results(Study.parse("figures: [trade_off]"), tmp_path_factory.mktemp("nothing"))


def points(axes, i=0):
    return np.asarray(axes.containers[i].lines[0].get_ydata())


def test_synthetic_codes_are_what_they_are_called():
    found = {kind: synthetic_codes(kind, 4000) for kind in (*KINDS, "partly")}
    scores = {kind: rmig(*pair, normalize=True).value for kind, pair in found.items()}
    for kind in ("partly", "noisy", "mixed"):
        assert scores["apart"] > scores[kind] + 0.1
    for codes, _ in found.values():
        spare = list(informativeness(codes).per_latent.values())[5:]
        assert max(spare) == pytest.approx(0, abs=1e-6)
        variance = codes.means.var(0) + np.exp(codes.logvars).mean(0)
        np.testing.assert_allclose(variance, 1, rtol=1e-4)


def test_synthetic_codes_of_unknown_kinds_are_refused():
    with pytest.raises(DistaffError, match="did you mean 'mixed'"):
        synthetic_codes("mixd", 10)
    with pytest.raises(DistaffError, match="5 latents or more"):
        synthetic_codes("apart", 10, latents=4)


def test_votes_and_sizes_are_those_asked_for(nothing):
    figure = kim18.factor_vae_sensitivity(
        nothing, votes=(50, 400), sizes=(10, 50), seeds=3, observations=2000
    )
    codes, factors = synthetic_codes("partly", 2000, seed=1)
    expected = np.mean([factor_vae_score(codes, factors, votes=400, size=50, seed=s).value for s in range(3)])
    assert points(figure.axes[0], 1)[1] == pytest.approx(expected)
    assert list(figure.axes[0].containers[0].lines[0].get_xdata()) == [50, 400]


def test_higgins_score_rises_with_the_optimisers_iterations(nothing):
    figure = kim18.z_diff_sensitivity(nothing, iterations=(20, 500), sizes=(20,), seeds=2, observations=2000)
    few, many = points(figure.axes[0])
    assert many > few + 0.05


def test_more_bins_raise_the_joint_entropy(nothing):
    figure = do20.bins_sensitivity(nothing, bins=(20, 100), observations=2000)
    gaps, joints, entropies = figure.axes
    codes, factors = synthetic_codes("apart", 2000)
    assert points(gaps)[1] == pytest.approx(rmig(codes, factors, normalize=True).value)
    assert points(joints)[1] == pytest.approx(jemmig(codes, factors, normalize=True).value)
    assert points(entropies)[1] > points(entropies)[0] + 1


def test_samples_are_those_asked_for(shapes):
    figure = do20.samples_sensitivity(shapes, samples=(50, 200), seeds=2, observations=10_000)
    run = shapes.runs(recipe="factor_vae")[0]
    pair, options = (run.codes, run.data.factors), {"estimate": "sampled", "samples": 200}
    expected = [jemmig(*pair, **options, seed=seed).value for seed in (0, 1)]
    assert points(figure.axes[0], 1)[1] == pytest.approx(np.mean(expected))
    expected = [wsepin(run.codes, samples=200, seed=seed).value for seed in (0, 1)]
    assert points(figure.axes[1], 1)[1] == pytest.approx(np.mean(expected))


def test_spare_latents_know_nothing_and_leave_the_gaps_alone():
    few, many = (synthetic_codes("apart", 1000, latents) for latents in (5, 8))
    assert rmig(*few).value == pytest.approx(rmig(*many).value)
    assert informativeness(many[0]).value == pytest.approx(informativeness(few[0]).value * 5 / 8)


def test_with_runs_their_codes_are_taken(shapes):
    figure = do20.bins_sensitivity(shapes, bins=(50, 100), where={"seed": 0}, observations=10_000)
    run = shapes.runs(recipe="factor_vae")[0]
    expected = rmig(run.codes, run.data.factors, normalize=True).value
    assert points(figure.axes[0], 1)[1] == pytest.approx(expected)
    figure = do20.latents_sensitivity(shapes, curve="recipe", samples=200, observations=10_000)
    assert list(figure.axes[0].containers[0].lines[0].get_xdata()) == [3]
    by_name = {axes.get_ylabel(): axes for axes in figure.axes}
    expected = total_information(run.codes, samples=200).value
    assert points(by_name["$I(x; z)$ (nats)"], 1)[0] == pytest.approx(expected)
