"""Images of trained models: those of the run asked for, decoded by its model."""

import numpy as np
import pytest

from distaff.foundation.errors import DistaffError
from distaff.metrics import as_factors, rmig
from distaff.studies import drawings


def shown(figure):
    """What the first panel with an image shows, as one array."""
    return next(np.asarray(a.get_images()[0].get_array()) for a in figure.axes if a.get_images())


def test_traversals_are_of_the_best_run_and_say_so(shapes):
    drawn = drawings.traversals(shapes, score="mig")
    runs = shapes.runs(recipe="beta_vae")
    best = max(run.scores["mig"].value for run in runs)
    assert next(iter(drawn)) == f"beta_vae: mig {best:.3f}"
    beta, factor = (shown(figure) for figure in drawn.values())
    assert beta.shape == factor.shape
    assert not np.allclose(beta, factor)


def test_samples_are_drawn_from_each_recipes_prior(shapes):
    drawn = drawings.samples(shapes, count=20)
    assert list(drawn) == ["beta_vae", "factor_vae"]
    assert not np.allclose(*(shown(figure) for figure in drawn.values()))


def test_the_top_latent_of_a_factor_is_the_one_that_knows_most(shapes):
    drawn = drawings.top_latents(shapes, factors=["column"], top=2, where={"recipe": "beta_vae"})
    labels = [tick.get_text() for tick in drawn["beta_vae"].axes[0].get_yticklabels()]
    run = shapes.runs(recipe="beta_vae")[0]
    information = rmig(run.codes, as_factors(run.data.factors)).details["mutual_information"][:, 1]
    best = int(np.argmax(information))
    assert labels[0] == f"column: z{best} · {information[best]:.2f} nats"
    assert len(labels) == 2
    with pytest.raises(DistaffError, match="did you mean 'column'"):
        drawings.top_latents(shapes, factors=["colum"])


def test_a_run_is_matched_with_itself_one_to_one(shapes):
    drawn = drawings.matched_latents(shapes, where={"beta": [1, 4], "seed": 0}, observations=100)
    assert len(drawn) == 2
    matrix = shown(next(iter(drawn.values())))
    runs = shapes.runs(beta=[1, 4], seed=0)
    rows = np.sort(np.random.default_rng(0).choice(256, 100, replace=False))
    both = np.corrcoef(*(run.codes.means[rows].T for run in runs))[:3, 3:]
    np.testing.assert_allclose(np.sort(np.abs(matrix).ravel()), np.sort(np.abs(both).ravel()), atol=1e-4)
    with pytest.raises(DistaffError, match="choose two or more"):
        drawings.matched_latents(shapes, where={"beta": 1, "seed": 0})
