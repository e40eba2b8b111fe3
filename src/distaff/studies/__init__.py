"""Studies: many runs from one short file, on this machine or on a cluster, as one table.

``table = distaff.studies.run("studies/kim18/fig4-5.yaml", scale=0.05)`` tries one with few steps.
"""

import importlib
from typing import TYPE_CHECKING, Any

from distaff.foundation.memory import keep_freed_memory

if TYPE_CHECKING:
    from distaff.studies.commands import run, status, table
    from distaff.studies.results import Results
    from distaff.studies.selection import metric_correlations, udr_agreement, udr_scores
    from distaff.studies.study import Study
    from distaff.studies.study_page import write_report
    from distaff.studies.tables import group_table

__all__ = [
    "Results",
    "Study",
    "group_table",
    "metric_correlations",
    "run",
    "status",
    "table",
    "udr_agreement",
    "udr_scores",
    "write_report",
]

_HOMES = {
    "Results": "results",
    "Study": "study",
    "group_table": "tables",
    "metric_correlations": "selection",
    "run": "commands",
    "status": "commands",
    "table": "commands",
    "udr_agreement": "selection",
    "udr_scores": "selection",
    "write_report": "study_page",
}

# A worker's first import of distaff is this one: before torch, as in distaff.training.
keep_freed_memory()


def __getattr__(name: str) -> Any:
    """Import torch only when something that needs it is asked for."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"distaff.studies.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'distaff.studies' has no attribute {name!r}")
