"""Metrics: arrays in, a ``Score`` out; nothing here needs a model or a framework.

- one function per metric; ``evaluate`` computes several for the same codes, ``metrics_table`` describes all
  of them;
- ``read_codes``, ``write_codes``, ``evaluate_file``, ``write_scores``: codes and scores as files;
- ``Factors``, ``as_factors``, ``quantize_factors``: labels; ``Evaluator``: scores within a training loop;
- ``metric`` and ``Result``: declare your own metric.

To add a metric, write one file in this room: a dataclass of settings and a formula under ``@metric``. It
becomes public automatically. ``__init__.pyi`` has the signatures for type checkers and editors:
``python -m tests.metrics.stub`` writes it, and a test keeps it up to date.
>>> import numpy as np
>>> from distaff.metrics import mig
>>> y = np.random.default_rng(0).integers(0, 4, (1000, 2))
>>> round(mig(y.astype(float), y).value, 1)  # each factor in a latent of its own
1.0
"""

from distaff.metrics.catalogue import all_metrics, metrics_table
from distaff.metrics.codes_file import evaluate_file, read_codes, write_codes
from distaff.metrics.correlations import correlation_matrix
from distaff.metrics.evaluation import Evaluation, evaluate, evaluate_scores
from distaff.metrics.evaluator import Evaluator
from distaff.metrics.factor_bins import quantize_factors
from distaff.metrics.inputs import Factors, as_factors
from distaff.metrics.metric import card_of, metric
from distaff.metrics.result import Result
from distaff.metrics.score import Score, write_scores

__all__ = [
    "Evaluation",
    "Evaluator",
    "Factors",
    "Result",
    "Score",
    "as_factors",
    "correlation_matrix",
    "evaluate",
    "evaluate_file",
    "evaluate_scores",
    "metric",
    "metrics_table",
    "quantize_factors",
    "read_codes",
    "write_codes",
    "write_scores",
]

for _name, _metric in all_metrics().items():
    globals()[_name] = _metric  # replaces the module of the same name
    __all__ += [_name]
    if (_returned := card_of(_metric).returns) not in (Score, dict):
        globals()[_returned.__name__] = _returned
        __all__ += [_returned.__name__]


def __dir__() -> list[str]:
    return __all__
