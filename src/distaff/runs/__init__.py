"""Runs: what was asked for, the folder it is kept in, and the model that comes back out of it.

``RunConfig`` is what ``train`` fills, ``run.yaml`` holds, and everything else reads.

- ``RunFolder``: the places in a run's folder; ``RunFolder(path).read()`` is its ``RunConfig``.
- ``ModelSettings``, ``TrainingSettings``, ``Machine``: the arguments that ``distaff.train`` takes beside a
  recipe's.
- ``trusting``: lets folders that are read within it name code of your own or of a friend's.

A new training setting is one field of ``TrainingSettings`` with its line in the docstring: Python, flags,
``run.yaml`` and studies follow. ``distaff.load`` opens a run.
"""

from typing import TYPE_CHECKING

from distaff.foundation.lazy import lazy_getattr

if TYPE_CHECKING:
    from distaff.foundation.trust import trusting
    from distaff.runs.config import RunConfig
    from distaff.runs.folder import RunFolder
    from distaff.runs.settings import Machine, ModelSettings, TrainingSettings

__all__ = ["Machine", "ModelSettings", "RunConfig", "RunFolder", "TrainingSettings", "trusting"]

__getattr__ = lazy_getattr(
    __name__,
    {
        "Machine": "distaff.runs.settings",
        "ModelSettings": "distaff.runs.settings",
        "RunConfig": "distaff.runs.config",
        "RunFolder": "distaff.runs.folder",
        "TrainingSettings": "distaff.runs.settings",
        "trusting": "distaff.foundation.trust",
    },
)


def __dir__() -> list[str]:
    return __all__
