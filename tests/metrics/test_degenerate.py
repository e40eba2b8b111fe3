"""Random shapes and degenerate arrays: a finite score, or one sentence."""

import math
from inspect import signature

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distaff import Codes, DistaffError
from distaff.metrics import Score, modularity
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.metric import card_of

COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "constant": lambda rng, n: np.full(n, 0.1),
    "zero": lambda rng, n: np.zeros(n),
    "repeated": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "huge": lambda rng, n: 1e200 * rng.normal(size=n),
    "tiny": lambda rng, n: 1e-200 * rng.normal(size=n),
    "outlier": lambda rng, n: np.where(np.arange(n) == 0, 1e12, rng.normal(size=n)),
}
LOGVARS = {
    "unit": lambda rng, n: np.zeros(n),
    "narrow": lambda rng, n: np.full(n, -30.0),
    "deterministic": lambda rng, n: np.full(n, -np.inf),
    "wide": lambda rng, n: np.full(n, 20.0),
    "mixed": lambda rng, n: rng.normal(size=n),
}
FACTORS = {
    "classes": lambda rng, n: rng.integers(0, 3, n),
    "binary": lambda rng, n: np.arange(n) % 2,
    "constant": lambda rng, n: np.zeros(n),
    "unique": lambda rng, n: np.arange(n),
    "real": lambda rng, n: rng.normal(size=n),
    "rare": lambda rng, n: (np.arange(n) == 0).astype(int),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 3, n)),
}


@st.composite
def inputs(draw):
    """Codes and factors of few rows, each column of some kind."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    count = draw(st.integers(0, 40))
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), max_size=4))
    means = np.array([COLUMNS[kind](rng, count) for kind in kinds]).reshape(len(kinds), count).T
    logvars = None
    if draw(st.booleans()):
        widths = [draw(st.sampled_from(sorted(LOGVARS))) for _ in kinds]
        logvars = np.array([LOGVARS[w](rng, count) for w in widths]).reshape(means.T.shape).T
    groups = {}
    if draw(st.booleans()):
        groups["c"] = rng.dirichlet([0.1, 0.1, 0.1], size=count)
    chosen = draw(st.lists(st.sampled_from(sorted(FACTORS)), min_size=1, max_size=3))
    factors = {f"{kind}{k}": FACTORS[kind](rng, count) for k, kind in enumerate(chosen)}
    return means, logvars, groups, factors


@pytest.mark.parametrize("name", sorted(all_metrics()))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(case=inputs(), bootstrap=st.sampled_from([0, 10]))
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
def test_any_input_gives_finite_scores_or_one_sentence(name, case, bootstrap):
    means, logvars, groups, factors = case
    function = all_metrics()[name]
    options = {"samples": 200} if "samples" in signature(function).parameters else {}
    found, message = (), "."
    try:
        codes = Codes(means, logvars, groups)
        arguments = {
            "codes": (codes,),
            "codes and factors": (codes, factors),
            "several codes": ([codes] * 2,),
        }
        found = function(*arguments[card_of(function).inputs], bootstrap=bootstrap, **options)
    except DistaffError as error:
        message = str(error)
    assert message.endswith((".", "?"))
    scores = [found] if isinstance(found, Score) else found.values() if isinstance(found, dict) else found
    for score in scores:
        assert math.isfinite(score.value)
        assert score.interval is None or score.interval[0] <= score.value <= score.interval[1]


def test_modularity_tells_a_latent_of_two_factors_from_one_of_none():
    """Both have a modularity of 0; the note is about the second alone."""
    factors = np.indices((4, 4)).reshape(2, -1).T
    both = factors.sum(axis=1, keepdims=True)
    assert modularity(both, factors).notes == ()
    found = modularity(np.hstack([both, np.ones_like(both)]), factors)
    assert np.allclose(list(found.per_latent.values()), 0)
    assert found.notes == ("latents without information about any factor count 0: z1",)
