"""Every protocol against the definition it is named after, on four worlds: as close as the docs say."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from distaff import Codes
from distaff.metrics import Score
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.metric import card_of
from distaff.metrics.train_test import split_rows
from tests.metrics.peers import identifiability, information, prediction, use, voting
from tests.metrics.toys import grid, perfect_codes, rotated

CLASSES = grid((2, 3, 4), repeats=10)
WORLDS = ("perfect", "noisy", "rotated", "collapsed")


@cache
def world(name: str, seed: int = 0) -> Codes:
    """Posteriors of 240 observations of three factors.

    perfect: a sure latent a factor; noisy: the same with noise between observations and within each, and two
    latents of noise; rotated: perfect latents mixed; collapsed: the last factor is lost, and three latents
    are the prior but for a trace.
    """
    rng = np.random.default_rng([seed, WORLDS.index(name)])
    z = perfect_codes(CLASSES)
    if name == "perfect":
        return Codes(z, np.full(z.shape, 2 * np.log(0.05)))
    if name == "rotated":
        return Codes(rotated(z + 0.1 * rng.normal(size=z.shape), seed + 3), np.full(z.shape, 2 * np.log(0.1)))
    if name == "noisy":
        means = np.concatenate([z + 0.9 * rng.normal(size=z.shape), rng.normal(size=(len(z), 2))], axis=1)
        return Codes(means, 2 * np.log(rng.uniform(0.1, 0.6, size=means.shape)))
    dead = 1e-3 * rng.normal(size=(len(z), 3))
    means = np.concatenate([z[:, :2] + 0.1 * rng.normal(size=(len(z), 2)), dead], axis=1)
    return Codes(means, np.repeat([[-4.0, -4.0, 0.0, 0.0, 0.0]], len(z), axis=0))


def split(seed: int = 0, train: int = 10_000):
    """The rows that our predictors train and are tested on."""
    return split_rows(len(CLASSES), train, 5_000, np.random.default_rng(seed))


@dataclass(frozen=True)
class Peer:
    """Values by the definition, of codes and a seed; and over how many seeds both sides are averaged."""

    values: Callable[[Codes, int], tuple[float, ...]]
    seeds: int = 1


def exact(function, **options):
    """A peer without chance that reads codes and classes."""
    return Peer(lambda codes, seed: function(codes, CLASSES, **options))


def unlabelled(function, **options):
    """A peer that reads codes alone."""
    return Peer(lambda codes, seed: function(codes, **options))


def sampled(function, seeds=1):
    """A peer that draws by itself."""
    return Peer(lambda codes, seed: function(codes, CLASSES, seed=seed + 100), seeds)


def trained(function, **options):
    """A peer trained and tested on the same rows as ours."""
    return Peer(lambda codes, seed: function(codes, CLASSES, *split(seed), **options))


BOOSTED = Peer(cache(trained(prediction.locatello19_dci).values))


def kernel(codes, seed):
    """Kernel ridge regression trains on fewer rows."""
    return identifiability.held_out_r2(codes, CLASSES, *split(seed, 2_000), predictor="kernel")


PEERS = {
    "dci:esmaeili18": trained(prediction.esmaeili18_dci),
    "dci:eastwood18": trained(prediction.eastwood18_dci, alpha=0.002),
    "dci:eastwood18-code": trained(prediction.eastwood18_dci, alpha=0.02),
    "dci:locatello19": BOOSTED,
    "dci:locatello19-histogram": BOOSTED,
    "dcimig:sepliarskaia19": exact(identifiability.sepliarskaia19_dcimig),
    "dci_es:eastwood23": Peer(
        lambda codes, seed: prediction.eastwood23_dci_es(codes, CLASSES, *split(seed), seed + 100), 10
    ),
    "downstream:boosted": trained(use.locatello19_downstream, predictor="boosted"),
    "downstream:logistic": trained(use.locatello19_downstream, predictor="logistic"),
    "explicitness:ridgeway18": exact(prediction.ridgeway18_explicitness),
    "factor_vae_score:kim18": sampled(voting.kim18_factor_vae, 10),
    "factor_vae_score:locatello19": sampled(voting.locatello19_factor_vae, 3),
    "fairness:boosted": trained(use.locatello19_fairness, predictor="boosted"),
    "fairness:logistic": trained(use.locatello19_fairness, predictor="logistic"),
    "gaussian_total_correlation:locatello19": unlabelled(identifiability.locatello19_gaussian_tc),
    "gaussian_wasserstein_correlation:locatello19": unlabelled(
        identifiability.locatello19_wasserstein, normalised=False
    ),
    "gaussian_wasserstein_correlation:locatello19-normalised": unlabelled(
        identifiability.locatello19_wasserstein, normalised=True
    ),
    "hoyer:mathieu19": unlabelled(prediction.mathieu19_hoyer, scaled=False),
    "hoyer:mathieu19-code": unlabelled(prediction.mathieu19_hoyer, scaled=True),
    "indin:do20": unlabelled(information.do20_sepin, seed=100),
    "infomec:hsu23": sampled(prediction.hsu23_infomec, 5),
    "informativeness:do20": unlabelled(information.do20_informativeness),
    "irs:suter19": exact(voting.suter19_irs),
    "jemmig:do20": exact(information.do20_jemmig),
    "knock_out:mahon23": Peer(
        lambda codes, seed: use.mahon23_nk(codes, CLASSES, *split(seed), seed=seed + 100), 3
    ),
    "mcc:khemakhem20": trained(identifiability.khemakhem20_mcc),
    "mcc:khemakhem20-spearman": trained(identifiability.khemakhem20_mcc, rank=True),
    "mcc:khemakhem20-weak": trained(identifiability.khemakhem20_mcc, linear=True),
    "med:cao22": exact(identifiability.cao22_med),
    "mig_sup:li20": exact(identifiability.li20_mig_sup),
    "mig_sup:li20-code": sampled(identifiability.li20_code_mig_sup),
    "minimality_sufficiency:almudevar24": exact(identifiability.almudevar24_min_suf),
    "mig:locatello19": exact(information.locatello19_mig),
    "mig:chen18": sampled(information.chen18_mig),
    "misjed:do20": unlabelled(information.do20_misjed),
    "modularity:original": exact(information.ridgeway18_modularity),
    "modularity:correct": exact(information.correct_modularity),
    "pairwise_information:locatello19": unlabelled(identifiability.locatello19_pairwise),
    "partial_information:williams10": exact(information.williams10_unique),
    "r2:boosted": trained(identifiability.held_out_r2, predictor="boosted"),
    "r2:kernel": Peer(kernel),
    "r2:linear": trained(identifiability.held_out_r2, predictor="linear"),
    "rmig:do20": exact(information.do20_rmig),
    "sap:kumar18": exact(prediction.kumar18_sap),
    "sap:locatello19": trained(prediction.locatello19_sap),
    "sap:locatello19-standardised": trained(prediction.locatello19_sap, standardised=True),
    "separability:do20": unlabelled(information.do20_separability, seed=100),
    "sepin:do20": unlabelled(information.do20_sepin, seed=100),
    "single_neuron:mahon23": trained(use.mahon23_snc),
    "total_correlation:do20": unlabelled(information.do20_total_correlation, seed=100),
    "total_information:do20": unlabelled(information.do20_total_information, seed=100),
    "unified:boosting": trained(use.locatello20_unified, matrix="boosting"),
    "unified:information": trained(use.locatello20_unified, matrix="information"),
    "unified:svm": trained(use.locatello20_unified, matrix="svm"),
    "windin:do20": unlabelled(information.do20_wsepin, seed=100),
    "wsepin:do20": unlabelled(information.do20_wsepin, seed=100),
    "z_diff:kim18": sampled(voting.kim18_z_diff, 8),
    "z_diff:locatello19": sampled(voting.locatello19_z_diff, 3),
    "z_max_variance:kim19": sampled(use.kim19_z_max_variance, 5),
}
MODEL_PEERS = {
    "udr:duan20": prediction.lasso_similarity,
    "udr:duan20-spearman": prediction.rank_similarity,
}


def ours(name: str, codes: Codes, seed: int) -> tuple[float, ...]:
    """The values of one protocol."""
    metric, protocol = name.split(":")
    function = all_metrics()[metric]
    labels = (CLASSES,) if card_of(function).inputs == "codes and factors" else ()
    found = function(codes, *labels, protocol=protocol, seed=seed)
    return tuple(score.value for score in ([found] if isinstance(found, Score) else found))


def difference(name: str, place: str) -> float:
    """The largest difference between ours and the peer's values in one world."""
    if name in MODEL_PEERS:
        models = [world(place, seed) for seed in range(3)]
        found = all_metrics()["udr"](models, protocol=name.split(":")[1])
        peers = prediction.duan20_udr(models, MODEL_PEERS[name])
        return float(np.abs([a.value - b for a, b in zip(found.values(), peers, strict=True)]).max())
    peer = PEERS[name]
    averages = [
        np.mean([values(seed) for seed in range(peer.seeds)], axis=0)
        for values in (partial(ours, name, world(place)), partial(peer.values, world(place)))
    ]
    return float(np.abs(averages[0] - averages[1]).max())


SLOW = {"z_diff:kim18"}


@cache
def figures() -> dict[str, float]:
    """The largest differences that docs/metrics.md speaks of, by protocol."""
    text = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w:-]+)` \|.*\| ([\d.e-]+) \|$", text, re.M)
    return {name: float(figure) for name, figure in rows}


def test_the_docs_speak_of_every_protocol_and_each_has_its_peer():
    every = {f"{name}:{protocol}" for name, f in all_metrics().items() for protocol in card_of(f).protocols}
    assert set(figures()) == every == {*PEERS, *MODEL_PEERS}


@pytest.mark.parametrize("place", WORLDS)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in [*PEERS, *MODEL_PEERS]],
)
def test_every_protocol_agrees_with_its_definition_as_closely_as_the_docs_say(name, place):
    assert difference(name, place) <= figures()[name]
