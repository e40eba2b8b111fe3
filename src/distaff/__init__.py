"""distaff: train, measure and explore disentangled representations."""

import importlib
from typing import TYPE_CHECKING, Any

from distaff._version import __version__
from distaff.codes import Codes
from distaff.foundation.errors import DistaffError

if TYPE_CHECKING:
    from distaff import data, figures, metrics, studies
    from distaff.analysis.doctor import diagnose
    from distaff.analysis.evaluate import evaluate_run
    from distaff.data.dataset import Dataset
    from distaff.estimator import Disentangler
    from distaff.export import export_run
    from distaff.metrics.evaluation import evaluate
    from distaff.models.representation import Representation
    from distaff.runs.load import load
    from distaff.training.train import resume, train

__all__ = [
    "Codes",
    "Dataset",
    "Disentangler",
    "DistaffError",
    "Representation",
    "__version__",
    "data",
    "diagnose",
    "evaluate",
    "evaluate_run",
    "export_run",
    "figures",
    "load",
    "metrics",
    "resume",
    "studies",
    "train",
]

_HOMES = {
    "Dataset": "distaff.data.dataset",
    "Disentangler": "distaff.estimator",
    "Representation": "distaff.models.representation",
    "diagnose": "distaff.analysis.doctor",
    "evaluate": "distaff.metrics.evaluation",
    "evaluate_run": "distaff.analysis.evaluate",
    "export_run": "distaff.export",
    "load": "distaff.runs.load",
    "resume": "distaff.training.train",
    "train": "distaff.training.train",
}


def __getattr__(name: str) -> Any:
    """Import torch and the rooms that need it only when something of theirs is asked for."""
    if name in ("data", "figures", "metrics", "studies"):
        return importlib.import_module(f"distaff.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'distaff' has no attribute {name!r}")
