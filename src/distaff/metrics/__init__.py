"""Metrics: arrays in, a ``Score`` out; nothing here needs a model or a framework.

A metric is one file of this room: a dataclass of settings and a formula under ``@metric``. It is public by
its being there. ``__init__.pyi`` has the signatures for type
checkers and editors: ``python -m tests.metrics.stub`` writes it, and a test keeps it in step.
"""

from distaff.metrics.catalogue import all_metrics, metrics_table
from distaff.metrics.codes_file import evaluate_file, read_codes, write_codes
from distaff.metrics.correlations import correlation_matrix
from distaff.metrics.evaluation import Evaluation, evaluate, evaluate_scores
from distaff.metrics.evaluator import Evaluator
from distaff.metrics.inputs import Factors, as_factors, quantize_factors
from distaff.metrics.metric import card_of, metric
from distaff.metrics.score import Result, Score
from distaff.metrics.scores_file import write_scores

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
    globals()[_name] = _metric  # in place of the module of the same name
    __all__ += [_name]
    if (_returned := card_of(_metric).returns) not in (Score, dict):
        globals()[_returned.__name__] = _returned
        __all__ += [_returned.__name__]
