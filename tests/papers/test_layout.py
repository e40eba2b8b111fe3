"""The papers' figures fit a paper as the package's do, of small studies and of made data."""

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import norm

from studies.do20 import drawings as do20
from studies.esmaeili18 import ablations
from studies.esmaeili18 import drawings as esmaeili18
from studies.kim18 import drawings as kim18
from studies.mathieu19 import drawings as mathieu19
from tests.figures import layout
from tests.figures.gallery import STEPS, blobs, decay, rng

FACTORS = {"where": {"recipe": "factor_vae"}}
OF_STUDIES: dict[str, tuple[str, Callable[..., Figure]]] = {
    "critic_tc": ("shapes", lambda shapes: kim18.critic_tc(shapes, samples=100, **FACTORS)),
    "critic_accuracy": ("shapes", lambda shapes: kim18.critic_accuracy(shapes, **FACTORS)),
    "sampled_against_quantized": ("shapes", lambda s: do20.sampled_against_quantized(s, samples=100)),
    "rmig_against_mig": ("shapes", do20.rmig_against_mig),
    "distributions_of_means": ("shapes", do20.distributions_of_means),
    "interpolation_planes": (
        "shapes",
        lambda shapes: next(iter(do20.interpolation_planes(shapes, steps=5).values())),
    ),
    "prior_densities": (
        "pinwheel",
        lambda s: mathieu19.prior_densities(s, priors=["student_t:3", "student_t:5", "student_t:100"]),
    ),
    "sparsity_against_alpha": (
        "pinwheel",
        lambda s: mathieu19.sparsity_against_alpha(s, term="inclusive_kl"),
    ),
}


def information_curves() -> Figure:
    ends = [3.1, 2.8, 2.2, 1.9, 1.5, 1.1, 0.6, 0.02, 0.01, 0.0]
    table = np.stack([decay(1, end, 1)[0].clip(0) for end in ends], axis=1)
    return esmaeili18.information_curves(STEPS, table, [f"z{i}" for i in range(10)])


def log_densities() -> Figure:
    pairs = {b: (rng(b).normal(-20, 2, 5000), rng(b + 1).normal(-18 - 6 / b, 3, 5000)) for b in (1, 5, 9)}
    return kim18.log_densities({f"β = {b}": pair for b, pair in pairs.items()})


def kept_and_removed() -> Figure:
    kept, removed = rng(1).normal(-0.4, 0.8, 5000), rng(2).normal(1.8, 0.4, 600)
    values = {"trained on all": (kept, removed), "trained without thick 7s": (kept, removed - 0.2)}
    images = np.stack([blobs(12), blobs(12) * 0.8])
    return esmaeili18.kept_and_removed(values, images, "z3 (stroke thickness)")


def toy_panels() -> Figure:
    z, x, data = np.linspace(-3, 3, 200), np.linspace(-4, 4, 200), np.linspace(-2, 2, 7)
    prior, model = norm.pdf(z), np.mean([norm.pdf(x, d, 0.4) for d in data], axis=0)
    widths = {
        "without ①": (0.0, 1.0),
        "without ②": (0.8, 0.05),
        "without ③": (0.6, 0.4),
        "without ④": (1.1, 0.2),
    }
    return ablations.toy_panels(
        {
            title: ablations.Toy(
                z, np.stack([norm.pdf(z, shrink * d, width) for d in data]), prior, x, model, data
            )
            for title, (shrink, width) in widths.items()
        }
    )


def grid_density(means: np.ndarray, scale: float, n: int = 80) -> np.ndarray:
    y, x = np.mgrid[-1 : 2 : n * 1j, -1 : 2 : n * 1j]
    return np.mean([norm.pdf(x, a, scale) * norm.pdf(y, b, scale) for a, b in means], axis=0)


def densities_by_weights() -> Figure:
    corners = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])
    densities = {
        (alpha, beta): grid_density(
            corners * min(1, 0.3 + alpha / 5) + (0.5 - 0.5 * min(1, 0.3 + alpha / 5)),
            0.05 + 0.08 * np.sqrt(beta),
        )
        for alpha in (0.0, 1.0, 3.0, 5.0)
        for beta in (0.01, 0.5, 1.0, 1.2)
    }
    return mathieu19.densities_by_weights(densities, (-1, 2, -1, 2), grid_density(corners, 0.03**0.5))


MADE = (information_curves, log_densities, kept_and_removed, toy_panels, densities_by_weights)


@pytest.mark.parametrize("name", OF_STUDIES)
def test_figures_of_studies_are_laid_out_well(name, request):
    study, draw = OF_STUDIES[name]
    check(draw(request.getfixturevalue(study)))


@pytest.mark.parametrize("draw", MADE, ids=lambda draw: draw.__name__)
def test_figures_of_realistic_size_are_laid_out_well(draw):
    check(draw())


def check(figure: Figure) -> None:
    renderer = layout.laid_out(figure)
    layout.fits_a_paper_and_is_legible(figure)
    layout.is_not_cut_off(figure, renderer)
    layout.ticks_do_not_touch(figure, renderer)
