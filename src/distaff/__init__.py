"""distaff: train, measure and explore disentangled representations.

Users import from here and from the rooms below; the modules inside a room are private, except the data sets
(``distaff.data.dsprites``) and the few that a room itself exports (``distaff.objectives.recipes``).

- ``train``, ``resume``, ``load``: train a model from a recipe and data, and load it from its run folder.
- ``choose``: choose a recipe and its weight for data without labels.
- ``evaluate``: compute metrics of codes from any framework. ``Disentangler``: any recipe as a scikit-learn
  transformer. ``ica``: unmix codes linearly.
- ``encode_data``, ``evaluate_run``, ``decompose_run``, ``traverse_run``, ``diagnose``, ``report_run``,
  ``export_run``: work with a run folder, like the commands of the same names.
- ``Codes``, ``Dataset``, ``Representation``, ``Score``, ``DistaffError``: the types of inputs and results.
- rooms, from the lowest layer up: ``mixtures``, ``data``, ``metrics``, ``figures``, ``models``,
  ``objectives``, ``runs``, ``analysis``, ``explore``, ``export``, ``studies``, ``zoo``.

>>> import distaff
>>> distaff.data.pinwheel.load(count=80)
pinwheel: 80 × (2,), arm 4
"""

from typing import TYPE_CHECKING

from distaff._version import __version__
from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.foundation.lazy import lazy_getattr

if TYPE_CHECKING:
    from distaff import (
        analysis,
        data,
        explore,
        export,
        figures,
        metrics,
        mixtures,
        models,
        objectives,
        runs,
        studies,
        zoo,
    )
    from distaff.analysis import decompose_run, diagnose, encode_data, evaluate_run, report_run, traverse_run
    from distaff.data import Dataset
    from distaff.estimator import Disentangler
    from distaff.export import export_run
    from distaff.metrics import Score, evaluate
    from distaff.models import Representation, ica
    from distaff.runs.load import load
    from distaff.studies import choose
    from distaff.training.train import resume, train

__all__ = [
    "Codes",
    "Dataset",
    "Disentangler",
    "DistaffError",
    "Representation",
    "Score",
    "__version__",
    "analysis",
    "choose",
    "data",
    "decompose_run",
    "diagnose",
    "encode_data",
    "evaluate",
    "evaluate_run",
    "explore",
    "export",
    "export_run",
    "figures",
    "ica",
    "load",
    "metrics",
    "mixtures",
    "models",
    "objectives",
    "report_run",
    "resume",
    "runs",
    "studies",
    "train",
    "traverse_run",
    "zoo",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        **{room: f"distaff.{room}" for room in __all__},
        **dict.fromkeys(("decompose_run", "diagnose", "encode_data", "evaluate_run"), "distaff.analysis"),
        **dict.fromkeys(("report_run", "traverse_run"), "distaff.analysis"),
        "Dataset": "distaff.data",
        "Disentangler": "distaff.estimator",
        "export_run": "distaff.export",
        **dict.fromkeys(("Score", "evaluate"), "distaff.metrics"),
        **dict.fromkeys(("Representation", "ica"), "distaff.models"),
        "load": "distaff.runs.load",
        "choose": "distaff.studies",
        **dict.fromkeys(("resume", "train"), "distaff.training.train"),
    },
)


def __dir__() -> list[str]:
    return __all__
