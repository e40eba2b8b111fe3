"""What a run has learnt: its codes, scores, traversals, decomposed ELBO and health, and a page about all.

Everything here reads a run folder (``distaff.runs``) and imports no study, page server or command line.
The command of the same name calls each ``..._run`` function; ``encode`` and ``evaluate_encoded`` do the same
for a model and data in memory.

- ``evaluate_run``, ``evaluate_encoded``: scores of a run, or of an ``Encoded``.
- ``encode``: encodes a data set into an ``Encoded``, with the parts of the ELBO.
- ``encode_data``: writes codes of any data, prepared in the same way as the run's own, to a file.
- ``decompose_run``: the ELBO in its parts, a ``Decomposition``.
- ``diagnose``: a ``Diagnosis`` of ``Finding`` objects with their ``Severity``.
- ``traverse_run``, ``report_run``: a figure, and an HTML page; ``compare_runs``: a page about several runs.
- ``drawable``: a decoder's images cut to [0, 1]; ``varied_factors``: a data set's factors that take several
  values.

To add a check of the doctor, write one function in ``doctor/checks.py``; to add another analysis of a run,
write one file here with its ``..._run`` function, and one command in ``cli.py`` that calls it.
"""

from typing import TYPE_CHECKING

from distaff.foundation.lazy import lazy_getattr

if TYPE_CHECKING:
    from distaff.analysis.compare import compare_runs
    from distaff.analysis.decompose import decompose_run
    from distaff.analysis.doctor import Diagnosis, Finding, Severity, diagnose
    from distaff.analysis.elbo_parts import Decomposition
    from distaff.analysis.encoding import Encoded, encode
    from distaff.analysis.evaluate import evaluate_encoded, evaluate_run, varied_factors
    from distaff.analysis.new_data import encode_data
    from distaff.analysis.report import report_run
    from distaff.analysis.traversals import traverse_run
    from distaff.runs.pictures import drawable

__all__ = [
    "Decomposition",
    "Diagnosis",
    "Encoded",
    "Finding",
    "Severity",
    "compare_runs",
    "decompose_run",
    "diagnose",
    "drawable",
    "encode",
    "encode_data",
    "evaluate_encoded",
    "evaluate_run",
    "report_run",
    "traverse_run",
    "varied_factors",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "compare_runs": "distaff.analysis.compare",
        "decompose_run": "distaff.analysis.decompose",
        **dict.fromkeys(("Diagnosis", "Finding", "Severity", "diagnose"), "distaff.analysis.doctor"),
        "Decomposition": "distaff.analysis.elbo_parts",
        **dict.fromkeys(("Encoded", "encode"), "distaff.analysis.encoding"),
        **dict.fromkeys(("evaluate_encoded", "evaluate_run", "varied_factors"), "distaff.analysis.evaluate"),
        "encode_data": "distaff.analysis.new_data",
        "report_run": "distaff.analysis.report",
        "traverse_run": "distaff.analysis.traversals",
        "drawable": "distaff.runs.pictures",
    },
)


def __dir__() -> list[str]:
    return __all__
