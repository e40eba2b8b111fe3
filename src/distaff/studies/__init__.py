"""Studies: many runs from one short file, on this machine or on a cluster, as one table.

- ``run``, ``status``, ``table``, ``write_report``: the commands of ``distaff study``; ``Study`` is the file,
  ``Results`` its runs and their table, ``StudyRun`` one run with its settings, scores, codes, data and model.
- ``check_claims``: a ``Verdict`` on each claim of the file; ``keep`` copies verdicts and table to the folder
  of kept results.
- ``group_table``, ``metric_correlations``, ``udr_scores``, ``udr_agreement``: tables over runs.
- ``choose`` finds a recipe and a weight for data without labels by a short study; returns a ``Choice``.
- ``select`` ranks runs by few labels, by UDR or by ``model_centrality``.
- ``drawings``: functions that a study file names under ``figures``, from ``Results`` to figures or tables.
- for your own drawings: runs by their settings (``chosen``, ``grouped``, ``one_each``, ``best_of``,
  ``varied``, ``varied_along``, ``names_in``, with arguments of the types ``Where`` and ``Settings``), the
  contents of one run (``score_of``, ``number_of``, ``factors_of``, ``vae_of``), its history (``logged``,
  ``measured``, ``snapshot``, ``snapshot_steps``, drawn by ``curves_figure``) and its codes
  (``posteriors_of``, ``draws_of``).

A study is a YAML file anywhere; those of the papers are in the folder ``studies`` of the repository. To add a
drawing for all studies, write one function in ``drawings``; a drawing for a single study is in a module
beside its file and named ``module:function``.

>>> from distaff.studies import Study
>>> study = Study.parse("{data: pinwheel, steps: 20, seeds: 2, runs: [{recipe: beta_vae, beta: [2, 8]}]}")
>>> len(study.runs), study.varied
(4, ('recipe', 'beta'))
"""

from typing import TYPE_CHECKING

from distaff.foundation.lazy import lazy_getattr
from distaff.foundation.process import prepare_process

if TYPE_CHECKING:
    from distaff.studies import drawings
    from distaff.studies.centrality import model_centrality
    from distaff.studies.choice.choose import Choice, choose
    from distaff.studies.choosing import select
    from distaff.studies.commands import check_claims, keep, run, status, table
    from distaff.studies.drawings.history import curves_figure, logged, measured, snapshot, snapshot_steps
    from distaff.studies.drawings.latent_codes import draws_of, posteriors_of
    from distaff.studies.drawings.runs import (
        Settings,
        Where,
        best_of,
        chosen,
        factors_of,
        grouped,
        names_in,
        number_of,
        one_each,
        score_of,
        vae_of,
        varied,
        varied_along,
    )
    from distaff.studies.results import Results
    from distaff.studies.selection import metric_correlations, udr_agreement, udr_scores
    from distaff.studies.study import Study
    from distaff.studies.study_page import write_report
    from distaff.studies.study_run import StudyRun
    from distaff.studies.tables import group_table
    from distaff.studies.verdicts import Verdict

__all__ = [
    "Choice",
    "Results",
    "Settings",
    "Study",
    "StudyRun",
    "Verdict",
    "Where",
    "best_of",
    "check_claims",
    "choose",
    "chosen",
    "curves_figure",
    "drawings",
    "draws_of",
    "factors_of",
    "group_table",
    "grouped",
    "keep",
    "logged",
    "measured",
    "metric_correlations",
    "model_centrality",
    "names_in",
    "number_of",
    "one_each",
    "posteriors_of",
    "run",
    "score_of",
    "select",
    "snapshot",
    "snapshot_steps",
    "status",
    "table",
    "udr_agreement",
    "udr_scores",
    "vae_of",
    "varied",
    "varied_along",
    "write_report",
]

# A worker imports this module first: call it before torch is imported, as in distaff.training.
prepare_process()

__getattr__ = lazy_getattr(
    __name__,
    {
        "model_centrality": "distaff.studies.centrality",
        **dict.fromkeys(("Choice", "choose"), "distaff.studies.choice.choose"),
        "select": "distaff.studies.choosing",
        **dict.fromkeys(("check_claims", "keep", "run", "status", "table"), "distaff.studies.commands"),
        "drawings": "distaff.studies.drawings",
        **dict.fromkeys(("curves_figure", "logged", "measured"), "distaff.studies.drawings.history"),
        **dict.fromkeys(("snapshot", "snapshot_steps"), "distaff.studies.drawings.history"),
        **dict.fromkeys(("draws_of", "posteriors_of"), "distaff.studies.drawings.latent_codes"),
        **dict.fromkeys(("Settings", "Where", "best_of", "chosen"), "distaff.studies.drawings.runs"),
        **dict.fromkeys(("factors_of", "grouped", "names_in", "number_of"), "distaff.studies.drawings.runs"),
        **dict.fromkeys(("one_each", "score_of", "vae_of", "varied"), "distaff.studies.drawings.runs"),
        "varied_along": "distaff.studies.drawings.runs",
        "Results": "distaff.studies.results",
        **dict.fromkeys(("metric_correlations", "udr_agreement", "udr_scores"), "distaff.studies.selection"),
        "Study": "distaff.studies.study",
        "write_report": "distaff.studies.study_page",
        "StudyRun": "distaff.studies.study_run",
        "group_table": "distaff.studies.tables",
        "Verdict": "distaff.studies.verdicts",
    },
)


def __dir__() -> list[str]:
    return __all__
