"""Metrics: arrays in, a ``Score`` out; nothing here needs a model or a framework.

- one function per metric; ``evaluate`` calls several on the same codes, ``metrics_table`` describes them
  all;
- ``read_codes``, ``write_codes``, ``evaluate_file``, ``write_scores``: codes and scores as files;
- ``Factors``, ``as_factors``, ``quantize_factors``: labels; ``Evaluator``: scores within a training loop;
- ``metric``, ``settle``, ``labelled``, ``Positive``, ``CodesLike``, ``FactorsLike``: what a metric of one's
  own is declared with.

To add a metric, write one file with a function under ``@metric`` and its protocols, and import it below.

>>> import numpy as np
>>> from distaff.metrics import mig
>>> y = np.random.default_rng(0).integers(0, 4, (1000, 2))
>>> round(mig(y.astype(float), y).value, 1)  # each factor in a latent of its own
1.0
"""

from distaff.metrics.catalogue import metrics_table
from distaff.metrics.codes_file import evaluate_file, read_codes, write_codes
from distaff.metrics.correlations import correlation_matrix
from distaff.metrics.dci import DCI, dci
from distaff.metrics.dci_es import DCIES, dci_es
from distaff.metrics.declare import metric, settle
from distaff.metrics.evaluation import Evaluation, evaluate, evaluate_scores
from distaff.metrics.evaluator import Evaluator
from distaff.metrics.explicitness import explicitness
from distaff.metrics.factor_vae import factor_vae_score
from distaff.metrics.hoyer import hoyer
from distaff.metrics.infomec import InfoMEC, infomec
from distaff.metrics.informativeness import informativeness
from distaff.metrics.inputs import CodesLike, Factors, FactorsLike, as_factors, labelled, quantize_factors
from distaff.metrics.irs import irs
from distaff.metrics.mig import mig
from distaff.metrics.misjed import misjed
from distaff.metrics.modularity import modularity
from distaff.metrics.options import Positive
from distaff.metrics.rmig_jemmig import jemmig, rmig
from distaff.metrics.sap import sap
from distaff.metrics.score import Score
from distaff.metrics.scores_file import write_scores
from distaff.metrics.separability import separability, total_correlation, total_information
from distaff.metrics.sepin import indin, sepin, windin, wsepin
from distaff.metrics.udr import udr
from distaff.metrics.z_diff import z_diff

__all__ = [
    "DCI",
    "CodesLike",
    "DCIES",
    "Evaluation",
    "Evaluator",
    "Factors",
    "FactorsLike",
    "InfoMEC",
    "Positive",
    "Score",
    "as_factors",
    "correlation_matrix",
    "dci",
    "dci_es",
    "evaluate",
    "evaluate_file",
    "evaluate_scores",
    "explicitness",
    "factor_vae_score",
    "hoyer",
    "indin",
    "infomec",
    "informativeness",
    "irs",
    "jemmig",
    "labelled",
    "metric",
    "metrics_table",
    "mig",
    "misjed",
    "modularity",
    "quantize_factors",
    "read_codes",
    "rmig",
    "sap",
    "separability",
    "sepin",
    "settle",
    "total_correlation",
    "total_information",
    "udr",
    "windin",
    "write_codes",
    "write_scores",
    "wsepin",
    "z_diff",
]
