"""The public face, for type checkers; written by ``python -m tests.metrics.stub``."""

from collections.abc import Mapping, Sequence
from typing import Literal

from numpy.typing import ArrayLike

from distaff.metrics.catalogue import metrics_table as metrics_table
from distaff.metrics.codes_file import evaluate_file as evaluate_file
from distaff.metrics.codes_file import read_codes as read_codes
from distaff.metrics.codes_file import write_codes as write_codes
from distaff.metrics.correlations import correlation_matrix as correlation_matrix
from distaff.metrics.dci import DCI as DCI
from distaff.metrics.dci_es import DCIES as DCIES
from distaff.metrics.downstream import Downstream as Downstream
from distaff.metrics.evaluation import Evaluation as Evaluation
from distaff.metrics.evaluation import evaluate as evaluate
from distaff.metrics.evaluation import evaluate_scores as evaluate_scores
from distaff.metrics.evaluator import Evaluator as Evaluator
from distaff.metrics.factor_bins import quantize_factors as quantize_factors
from distaff.metrics.fairness import Fairness as Fairness
from distaff.metrics.infomec import InfoMEC as InfoMEC
from distaff.metrics.inputs import CodesLike, FactorsLike
from distaff.metrics.inputs import Factors as Factors
from distaff.metrics.inputs import as_factors as as_factors
from distaff.metrics.med import MED as MED
from distaff.metrics.metric import metric as metric
from distaff.metrics.minimality_sufficiency import MinimalSufficient as MinimalSufficient
from distaff.metrics.result import Result as Result
from distaff.metrics.score import Score as Score
from distaff.metrics.score import write_scores as write_scores
from distaff.metrics.unified import Unified as Unified

def dci(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "esmaeili18",
    predictor: Literal["lasso", "forest", "boosting", "histogram"] | None = None,
    task: Literal["regression", "classification"] | None = None,
    weighted: bool | None = None,
    train: int | None = None,
    test: int | None = None,
    alpha: float | None = None,
    trees: int | None = None,
    rounds: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> DCI: ...
def dci_es(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "eastwood23",
    first: int | None = None,
    last: int | None = None,
    train: int | None = None,
    test: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> DCIES: ...
def dcimig(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "sepliarskaia19",
    bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def downstream(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "logistic",
    predictor: Literal["logistic", "boosted"] | None = None,
    train: int | None = None,
    test: int | None = None,
    rounds: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Downstream: ...
def explicitness(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "ridgeway18",
    penalty: float | None = None,
    normalize: bool | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def factor_vae_score(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "kim18",
    votes: int | None = None,
    size: int | None = None,
    fresh: int | None = None,
    prune: Literal["auto", "kl", "ratio", "means", "none"] | None = None,
    threshold: float | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def fairness(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "logistic",
    predictor: Literal["logistic", "boosted"] | None = None,
    train: int | None = None,
    test: int | None = None,
    rounds: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Fairness: ...
def gaussian_total_correlation(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "locatello19",
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def gaussian_wasserstein_correlation(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "locatello19-normalised",
    normalize: bool | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def hoyer(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "mathieu19",
    scale: bool | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def indin(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    normalize: bool | None = None,
    bins: int | None = None,
    low: float | None = None,
    high: float | None = None,
    k: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def infomec(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "hsu23",
    neighbours: int | None = None,
    inactive: float | None = None,
    rows: int | None = None,
    values: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> InfoMEC: ...
def informativeness(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    estimate: Literal["quantized", "sampled"] | None = None,
    bins: int | None = None,
    low: float | None = None,
    high: float | None = None,
    samples: int | None = None,
    normalize: bool | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def irs(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "suter19",
    quantile: float | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def jemmig(
    codes: CodesLike,
    factors: FactorsLike | None = None,
    *,
    probabilities: Mapping[str, ArrayLike] | None = None,
    protocol: str = "do20",
    estimate: Literal["quantized", "sampled"] | None = None,
    bins: int | None = None,
    low: float | None = None,
    high: float | None = None,
    samples: int | None = None,
    normalize: bool | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def knock_out(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "mahon23",
    units: int | None = None,
    epochs: int | None = None,
    batches: int | None = None,
    train: int | None = None,
    test: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def mcc(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "khemakhem20",
    correlation: Literal["pearson", "spearman"] | None = None,
    linear: bool | None = None,
    train: int | None = None,
    test: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def med(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "cao22",
    bins: int | None = None,
    top: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> MED: ...
def mig(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "locatello19",
    bins: int | None = None,
    samples: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def mig_sup(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "li20",
    bins: int | None = None,
    samples: int | None = None,
    active: float | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def minimality_sufficiency(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "almudevar24",
    bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> MinimalSufficient: ...
def misjed(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    bins: int | None = None,
    low: float | None = None,
    high: float | None = None,
    normalize: bool | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def modularity(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "original",
    bins: int | None = None,
    posterior: bool | None = None,
    low: float | None = None,
    high: float | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def pairwise_information(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "locatello19",
    bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def partial_information(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "williams10",
    bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def r2(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "linear",
    predictor: Literal["linear", "kernel", "boosted"] | None = None,
    penalty: float | None = None,
    train: int | None = None,
    test: int | None = None,
    rounds: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def rmig(
    codes: CodesLike,
    factors: FactorsLike | None = None,
    *,
    probabilities: Mapping[str, ArrayLike] | None = None,
    protocol: str = "do20",
    estimate: Literal["quantized", "sampled"] | None = None,
    bins: int | None = None,
    low: float | None = None,
    high: float | None = None,
    samples: int | None = None,
    normalize: bool | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def sap(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "kumar18",
    classifier: Literal["thresholds", "svm"] | None = None,
    standardise: bool | None = None,
    penalty: float | None = None,
    train: int | None = None,
    test: int | None = None,
    continuous: Sequence[str] | bool | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def separability(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def sepin(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    normalize: bool | None = None,
    bins: int | None = None,
    low: float | None = None,
    high: float | None = None,
    k: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def single_neuron(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "mahon23",
    train: int | None = None,
    test: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def total_correlation(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def total_information(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def udr(
    models: Mapping[str, CodesLike] | Sequence[CodesLike],
    *,
    protocol: str = "duan20",
    similarity: Literal["lasso", "spearman"] | None = None,
    alpha: float | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> dict[str, Score]: ...
def unified(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "information",
    matrix: Literal["information", "boosting", "svm"] | None = None,
    rounds: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Unified: ...
def windin(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    normalize: bool | None = None,
    bins: int | None = None,
    low: float | None = None,
    high: float | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def wsepin(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    normalize: bool | None = None,
    bins: int | None = None,
    low: float | None = None,
    high: float | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def z_diff(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "locatello19",
    pairs: int | None = None,
    points: int | None = None,
    test: int | None = None,
    solver: Literal["adagrad", "logistic"] | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
def z_max_variance(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "kim19",
    votes: int | None = None,
    size: int | None = None,
    fresh: int | None = None,
    prune: Literal["auto", "kl", "ratio", "means", "none"] | None = None,
    threshold: float | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score: ...
