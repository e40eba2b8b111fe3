"""Runs: their settings, their folders, and loading their models.

``RunConfig`` describes a run: ``train`` fills it, ``run.yaml`` stores it, and all other commands read it.

- ``RunFolder``: the files in a run's folder; ``RunFolder(path).read()`` returns its ``RunConfig``.
- ``ModelSettings``, ``TrainingSettings``, ``Machine``: the arguments of ``distaff.train`` beside the recipe's
  own.
- ``trusting``: within this context, folders that are read may name your own code or a friend's.

To add a training setting, add one field to ``TrainingSettings`` and its line to the docstring: Python, flags,
``run.yaml`` and studies follow. ``distaff.load`` opens a run.
"""

from typing import TYPE_CHECKING

from distaff.foundation.lazy import lazy_getattr

if TYPE_CHECKING:
    from distaff.foundation.trust import trusting
    from distaff.runs.config import RunConfig
    from distaff.runs.folder import RunFolder
    from distaff.runs.sections import TrainingSettings
    from distaff.runs.settings import Machine, ModelSettings

__all__ = ["Machine", "ModelSettings", "RunConfig", "RunFolder", "TrainingSettings", "trusting"]

__getattr__ = lazy_getattr(
    __name__,
    {
        "trusting": "distaff.foundation.trust",
        "RunConfig": "distaff.runs.config",
        "RunFolder": "distaff.runs.folder",
        "TrainingSettings": "distaff.runs.sections",
        **dict.fromkeys(("Machine", "ModelSettings"), "distaff.runs.settings"),
    },
)


def __dir__() -> list[str]:
    return __all__
