"""Every metric by every protocol: its range, what must not change it, and what the scale of codes does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distaff import Codes
from distaff.metrics import Score, infomec, irs, udr
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.metric import card_of

EVERY = [f"{name}:{protocol}" for name, f in all_metrics().items() for protocol in card_of(f).protocols]
QUICK = {
    **{"samples": 100, "votes": 100, "fresh": 100, "size": 10, "pairs": 5, "points": 200, "last": 4},
    **{"epochs": 2, "units": 32, "batches": 10},
}
SAMPLED = {"indin", "separability", "sepin", "total_correlation", "total_information", "windin", "wsepin"}
DRAWN = {
    *(f"{name}:do20" for name in SAMPLED),
    *(
        "mig:chen18",
        "mig_sup:li20-code",
        "dci_es:eastwood23",
        "infomec:hsu23",
        "sap:locatello19",
        "sap:locatello19-standardised",
    ),
    *(name for name in EVERY if name.startswith(("dci:", "factor_vae_score:", "mcc:", "r2:", "z_diff:"))),
    *(
        name
        for name in EVERY
        if name.startswith(("downstream:", "fairness:", "knock_out:", "single_neuron:", "z_max_variance:"))
    ),
    *("unified:boosting", "unified:svm"),
}
"""Protocols that draw rows, latents or features by number: in another order they draw others."""

SEEDS = range(8)
SCALES = (1e-6, 1e-3, 1e3, 1e6)
GRID = {"informativeness:do20", "jemmig:do20", "misjed:do20", "modularity:correct", "rmig:do20"}
"""Read bins over [−4, 4]: at another scale they see less, and say so in a note."""

SMALL = {
    "factor_vae_score:locatello19": 1e-3,
    "gaussian_wasserstein_correlation:locatello19": np.inf,
    "mig_sup:li20-code": 1e-3,
    "sap:locatello19": np.inf,
    "z_diff:kim18": np.inf,
    "z_diff:locatello19": np.inf,
    "dci:locatello19": 1e-6,
    "unified:boosting": 1e-6,
    "unified:svm": np.inf,
}
"""Depend on the scale up to here, as their docstrings say; above they are the same at all."""


def world(seed, kind, rows=80, latents=3):
    """Codes and classes of one of several kinds, without ties."""
    rng = np.random.default_rng(seed)
    classes = np.stack([rng.permutation(np.arange(rows) % size) for size in (2, 3)], axis=1)
    noise = rng.normal(size=(rows, latents))
    signal = np.pad((classes - classes.mean(0)) / classes.std(0), ((0, 0), (0, latents - 2)))
    means = {"noise": noise, "clear": signal + 0.2 * noise, "skewed": np.exp(signal + 0.5 * noise)}
    means["dead"] = means["clear"] * np.array([1, 0] + [1] * (latents - 2))
    return Codes(means[kind], rng.uniform(-6, -1, size=noise.shape)), classes


def scores(name, codes, classes, seed=0):
    """The scores of one protocol, with fewer draws than it asks for."""
    metric, protocol = name.split(":")
    function = all_metrics()[metric]
    card = card_of(function)
    preset = vars(card.presets[protocol])
    options = {key: value for key, value in QUICK.items() if preset.get(key)}
    arrays = (codes, classes) if card.inputs == "codes and factors" else (codes,)
    if card.inputs == "several codes":
        arrays = ([codes, Codes(classes @ [[1.0, 0.5], [0.2, 1.0]])],)
    found = function(*arrays, protocol=protocol, seed=seed, **options)
    if isinstance(found, dict):
        return list(found.values())
    return [found] if isinstance(found, Score) else list(found)


def values(*arguments, **options):
    return np.array([score.value for score in scores(*arguments, **options)])


def assert_same(name, before, after):
    """Equal up to rounding; of what is drawn, the means over seeds, up to five of their standard errors."""
    if name not in DRAWN:
        assert values(name, *after) == pytest.approx(values(name, *before), abs=1e-5)
        return
    one, other = (np.array([values(name, *case, seed=seed) for seed in SEEDS]) for case in (before, after))
    error = np.sqrt((one.var(axis=0, ddof=1) + other.var(axis=0, ddof=1)) / len(SEEDS))
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) <= 5 * error + 1e-6).all()


KINDS = st.sampled_from(["noise", "clear", "skewed", "dead"])
few = settings(max_examples=3, deadline=None, derandomize=True)
boosted = ("dci:locatello19", "dci:locatello19-histogram")
every_protocol = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in boosted else ()) for name in EVERY]
)


@every_protocol
@settings(few, max_examples=6)
@given(seed=st.integers(0, 999), kind=KINDS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_values_keep_to_the_stated_range(name, seed, kind):
    metric = name.split(":")[0]
    low, high = card_of(all_metrics()[metric]).bounds
    error = 0.2 if metric in SAMPLED else 1e-9
    assert ((low - error <= (v := values(name, *world(seed, kind)))) & (v <= high + error)).all()


@every_protocol
@few
@given(seed=st.integers(0, 999), kind=st.sampled_from(["noise", "clear", "skewed"]))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_order_of_rows_changes_nothing(name, seed, kind):
    codes, classes = world(seed, kind)
    order = np.random.default_rng(seed).permutation(len(codes))
    assert_same(name, (codes, classes), (codes[order], classes[order]))


@every_protocol
@few
@given(seed=st.integers(0, 999), kind=st.sampled_from(["noise", "clear", "skewed"]))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_order_and_the_signs_of_latents_change_nothing(name, seed, kind):
    codes, classes = world(seed, kind)
    order, signs = [2, 0, 1], np.array([-1, 1, -1])
    turned = Codes(codes.means[:, order] * signs, codes.logvars[:, order])
    assert_same(name, (codes, classes), (turned, classes))


@pytest.mark.parametrize(
    "name", [n for n in EVERY if card_of(all_metrics()[n.split(":")[0]]).inputs == "codes and factors"]
)
@few
@given(seed=st.integers(0, 999))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_names_of_factors_are_only_names(name, seed):
    codes, classes = world(seed, "clear")
    plain = scores(name, codes, {"a": classes[:, 0], "b": classes[:, 1]})
    renamed = scores(name, codes, {"z": classes[:, 0], "": classes[:, 1]})
    for one, other in zip(plain, renamed, strict=True):
        assert other.value == one.value
        assert one.per_factor is None or list(other.per_factor) == ["z", ""]


@every_protocol
@settings(few, max_examples=2)
@given(seed=st.integers(0, 999), scale=st.sampled_from(SCALES))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_scale_of_codes_does_what_is_said(name, seed, scale):
    codes, classes = world(seed, "clear")
    scaled = Codes(codes.means * scale, codes.logvars + 2 * np.log(scale))
    if name in GRID:
        assert any(
            "miss what is finer" in note or "outside" in note
            for note in scores(name, scaled, classes)[0].notes
        )
    elif scale > SMALL.get(name, 0):
        assert values(name, scaled, classes) == pytest.approx(values(name, codes, classes), abs=2e-3)


@pytest.mark.parametrize("protocol", ["locatello19", "kim18"])
def test_z_diff_is_at_chance_for_small_codes_as_it_says(protocol):
    codes, classes = world(0, "clear")
    assert values(f"z_diff:{protocol}", Codes(1e-3 * codes.means), classes) < 0.65
    assert values(f"z_diff:{protocol}", codes, classes) > 0.9


def test_irs_of_groups_skewed_both_ways_is_negative():
    first = np.repeat([0, 1], 1000)
    rare = np.arange(2000) % 50 == 0
    z = np.where(first == 1, 1.0, -1.0) * np.where(rare, -1, 1)
    score = irs(np.stack([z, z], axis=1), first[:, None], bootstrap=10)
    assert -1 <= score.value < -0.5
    assert score.interval[0] < score.value < score.interval[1]


def test_udr_of_correlated_latents_may_exceed_one():
    z = np.random.default_rng(0).normal(size=(500, 2))
    tilted = np.stack([z[:, 0], z[:, 0] + 0.3 * z[:, 1]], axis=1)
    assert udr([tilted, z], alpha=0.001)["model1"].value > 1


def test_udr_names_the_categorical_latents_that_it_leaves_out():
    codes, classes = world(0, "clear")
    mixed = Codes(codes.means, None, {"shape": np.eye(3)[classes[:, 1]]})
    scores = udr({"mixed": mixed, "real": Codes(codes.means)})
    assert scores["mixed"].notes == ("categorical latents take no part: shape",)
    assert scores["real"].notes == ()


def test_factors_that_a_lone_latent_does_not_know_are_not_compact():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, size=(1000, 6))
    found = infomec(rng.normal(size=(1000, 1)), classes).compactness
    unknown = found.details["nmi"][:, 0] == 0
    assert unknown.any()
    assert [found.per_factor[f"factor{k}"] for k in np.flatnonzero(unknown)] == [0.0] * unknown.sum()
