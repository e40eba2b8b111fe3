"""How often intervals hold what they are about: the mean score over fresh data sets of the same size.

That mean is taken over the repetitions themselves: R of them know it to 1/√R of a score's deviation, which
moves coverage by far less than the binomial error of counting it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from distaff import Codes
from distaff.metrics import Score, udr
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.inputs import IntArray
from distaff.metrics.metric import card_of
from tests.metrics.worlds import WORLDS

HALVES = 10


@dataclass(frozen=True)
class Case:
    """A metric by one protocol, with options that make it quick, and how often it is repeated."""

    metric: str
    protocol: str
    repetitions: int
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return ":".join(
            [self.metric, self.protocol, *(f"{key}={value}" for key, value in self.options.items())]
        )


FEW_SAMPLES = {"samples": 250}
FEW_ROUNDS = {"rounds": 20}
CASES = [
    Case("factor_vae_score", "kim18", 400, {"size": 10}),
    Case("factor_vae_score", "locatello19", 200, {"size": 10, "votes": 2000, "fresh": 1000}),
    Case("z_diff", "locatello19", 200, {"pairs": 5, "points": 1000, "test": 500}),
    Case("z_diff", "kim18", 200, {"pairs": 5, "points": 5000, "test": 800}),
    Case("mig", "locatello19", 400),
    Case("mig", "chen18", 200, FEW_SAMPLES),
    Case("rmig", "do20", 400),
    Case("rmig", "do20", 200, {"estimate": "sampled", **FEW_SAMPLES}),
    Case("jemmig", "do20", 400),
    Case("jemmig", "do20", 200, {"estimate": "sampled", **FEW_SAMPLES}),
    Case("informativeness", "do20", 400),
    Case("informativeness", "do20", 200, {"estimate": "sampled", **FEW_SAMPLES}),
    Case("separability", "do20", 200, FEW_SAMPLES),
    Case("total_correlation", "do20", 200, FEW_SAMPLES),
    Case("total_information", "do20", 200, FEW_SAMPLES),
    Case("misjed", "do20", 400),
    Case("misjed", "do20", 400, {"bins": 20}),
    Case("sepin", "do20", 200, FEW_SAMPLES),
    Case("wsepin", "do20", 200, FEW_SAMPLES),
    Case("indin", "do20", 200, FEW_SAMPLES),
    Case("windin", "do20", 200, FEW_SAMPLES),
    Case("sap", "kumar18", 200),
    Case("sap", "kumar18", 400, {"continuous": True}),
    Case("sap", "locatello19", 200),
    Case("sap", "locatello19-standardised", 200),
    Case("dci", "esmaeili18", 100),
    Case("dci", "eastwood18", 200),
    Case("dci", "eastwood18-code", 200),
    Case("dci", "locatello19", 100, FEW_ROUNDS),
    Case("dci", "locatello19-histogram", 100, FEW_ROUNDS),
    Case("dci_es", "eastwood23", 200),
    Case("modularity", "original", 400),
    Case("modularity", "correct", 400),
    Case("explicitness", "ridgeway18", 200),
    Case("infomec", "hsu23", 200),
    Case("irs", "suter19", 200),
    Case("mig_sup", "li20", 400),
    Case("mig_sup", "li20-code", 200, FEW_SAMPLES),
    Case("dcimig", "sepliarskaia19", 400),
    Case("med", "cao22", 400),
    Case("minimality_sufficiency", "almudevar24", 400),
    Case("gaussian_total_correlation", "locatello19", 400),
    Case("gaussian_wasserstein_correlation", "locatello19", 400),
    Case("gaussian_wasserstein_correlation", "locatello19-normalised", 400),
    Case("pairwise_information", "locatello19", 400),
    Case("partial_information", "williams10", 400),
    Case("mcc", "khemakhem20", 400),
    Case("mcc", "khemakhem20-spearman", 400),
    Case("mcc", "khemakhem20-weak", 400),
    Case("r2", "linear", 400),
    Case("r2", "kernel", 100),
    Case("r2", "boosted", 100, FEW_ROUNDS),
    Case("downstream", "logistic", 200),
    Case("downstream", "boosted", 100, FEW_ROUNDS),
    Case("fairness", "logistic", 200),
    Case("fairness", "boosted", 100, FEW_ROUNDS),
    Case("single_neuron", "mahon23", 200),
    Case("knock_out", "mahon23", 100, {"epochs": 2, "units": 16, "batches": 10}),
    Case("unified", "information", 400),
    Case("unified", "boosting", 100, FEW_ROUNDS),
    Case("unified", "svm", 100),
    Case("z_max_variance", "kim19", 200, {"size": 10}),
    Case("hoyer", "mathieu19", 400),
    Case("hoyer", "mathieu19-code", 400),
]
UDR = [Case("udr", "duan20", 200), Case("udr", "duan20-spearman", 200)]


def test_every_metric_has_its_coverage_measured_by_every_protocol():
    there_are = {(name, p) for name, f in all_metrics().items() for p in card_of(f).protocols}
    assert there_are == {(case.metric, case.protocol) for case in CASES + UDR}


def scores_of(case: Case, codes: Codes, classes: IntArray, **options: Any) -> list[Score]:
    function = all_metrics()[case.metric]
    arrays = (codes,) if card_of(function).inputs == "codes" else (codes, classes)
    found = function(*arrays, protocol=case.protocol, **case.options, **options)
    return [s for s in ([found] if isinstance(found, Score) else found) if s.name != "dci_size"]


def models(rng: np.random.Generator, count: int = 1000) -> list[Codes]:
    """One model and four others, which are drawn anew each time: three mixed latents in different orders."""
    z = rng.normal(size=(count, 3))
    mixes = [np.random.default_rng(0), *rng.spawn(4)]
    return [
        Codes(
            z @ r.permuted(np.eye(3) + r.normal(scale=0.25, size=(3, 3)), axis=1)
            + 0.3 * rng.normal(size=z.shape)
        )
        for r in mixes
    ]


def coverage(repetitions: int, scores: Callable[[np.random.Generator, int], list[Score]]) -> dict[str, float]:
    """Score name → how often intervals hold the mean over all repetitions."""
    runs = [scores(np.random.default_rng([seed, 17]), seed) for seed in range(repetitions)]
    found = {}
    for same in zip(*runs, strict=True):
        truth = np.mean([score.value for score in same])
        found[same[0].name] = np.mean([score.interval[0] <= truth <= score.interval[1] for score in same])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_intervals_hold_the_expected_score(case, world):
    found = coverage(
        case.repetitions, lambda rng, seed: scores_of(case, *WORLDS[world](rng), bootstrap=HALVES, seed=seed)
    )
    print(f"coverage {case} {world} {case.repetitions} repetitions: {found}")
    assert_within(found, case.repetitions)


@pytest.mark.slow
@pytest.mark.parametrize("case", UDR, ids=str)
def test_intervals_of_udr_hold_the_expected_score(case):
    found = coverage(
        case.repetitions,
        lambda rng, seed: [udr(models(rng), protocol=case.protocol, bootstrap=HALVES, seed=seed)["model0"]],
    )
    print(f"coverage {case} {case.repetitions} repetitions: {found}")
    assert_within(found, case.repetitions)


def assert_within(found: dict[str, float], repetitions: int, low: float = 0.90, high: float = 0.98) -> None:
    """Coverage between ``low`` and ``high``, but for one standard error of counting so few repetitions."""
    error = np.sqrt(0.95 * 0.05 / repetitions)
    assert all(low - error <= share <= high + error for share in found.values()), found
