"""``Results``: the content of a study's run folders as one table, which can be rebuilt at any time."""

import math
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from distaff.foundation.binding import allow, words_of
from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.files import atomic_file, write_text
from distaff.runs.folder import RunFolder
from distaff.studies.claim_names import LOG, factor_part
from distaff.studies.grid import has_settings
from distaff.studies.study import Study
from distaff.studies.study_run import StudyRun

VERSIONS = ("distaff", "python", "torch", "numpy", "threads", "git")


class Results:
    """A study and the folder that holds its runs.

    Args:
        study: the study.
        folder: OUT; runs are in ``OUT/runs``, and the table is ``OUT/study.parquet``.
    """

    def __init__(self, study: Study, folder: str | Path) -> None:
        self.study, self.folder = study, Path(folder)
        self.all_runs = tuple(
            StudyRun(
                request,
                RunFolder(self.folder / "runs" / request.key),
                study.metrics,
                study.observations,
                study.ica,
                study.scored_on,
            )
            for request in study.runs
        )

    @classmethod
    def read(cls, folder: str | Path) -> "Results":
        """The results in a folder that ``distaff study run`` made."""
        folder = Path(folder)
        if not (folder / "study.yaml").is_file():
            raise DistaffError(f"{folder} is not a study's folder: it has no study.yaml.")
        with words_of(folder):
            study = Study.read(folder / "study.yaml", check_drawings=False)
            allow(study.code)
        return cls(study, folder)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per run, in the study's order.

        Columns: ``run`` (its folder), ``state``, ``error``; every setting (``recipe``, ``data``, ``gamma``,
        ``seed``, ``steps`` …); ``scale``; ``step``, done so far; ``reconstruction`` and ``kl`` in nats; each
        score (``factor_vae_score``, ``mig:chen18`` …); ``seconds`` of training, ``scoring_seconds``,
        ``observations`` scored; other numbers that the study's claims are about (``rmig.scale``,
        ``log.nll`` …); versions (``version.torch`` …). Values that are not known yet are missing.
        """
        parts = [self._row(run) for run in self.all_runs]
        groups = [
            dict.fromkeys(name for part in group for name in part) for group in zip(*parts, strict=True)
        ]
        columns = dict.fromkeys(name for group in groups for name in group)
        rows = [{name: value for part in row for name, value in part.items()} for row in parts]
        return _table(rows, list(columns) or ["run", "state", "error"])

    @property
    def progress(self) -> pd.DataFrame:
        """The columns of ``table`` about the state of each run, and its steps; nothing else is read."""
        rows = [{**_state(run), **_reached(run), "steps": run.steps} for run in self.all_runs]
        return _table(rows, ["run", "state", "step", "steps", "seconds", "error"])

    @property
    def finished(self) -> pd.DataFrame:
        """The rows of the runs that are trained and scored."""
        return self.table[self.table["state"] == "finished"]

    def runs(self, **where: Any) -> list[StudyRun]:
        """The finished runs with these settings: ``runs(recipe="factor_vae", gamma=[10, 35])``.

        Names with dots are written ``runs(**{"critic.hidden": 500})``.
        """
        known = {name for run in self.all_runs for name in run.settings}
        for name in where:
            if name not in known:
                raise unknown("setting", name, known)
        return [run for run in self.all_runs if has_settings(run.settings, where) and run.state == "finished"]

    def write(self) -> pd.DataFrame:
        """Write ``study.yaml`` and, from the run folders, ``study.parquet``; return the table."""
        write_text(self.folder / "study.yaml", self.study.to_yaml())
        with atomic_file(self.folder / "study.parquet") as temporary:
            self.table.to_parquet(temporary, engine="pyarrow", index=False)
        return self.table

    def _row(self, run: StudyRun) -> tuple[dict[str, Any], ...]:
        """The cells of a run in groups; columns of one group are neighbours in the table."""
        reached, scoring, versions = _reached(run), run.scoring_seconds, run.made_with
        return (
            _state(run),
            run.settings,
            {
                "scale": self.study.scale,
                "step": reached["step"],
                "reconstruction": math.nan,
                "kl": math.nan,
                **run.values,
            },
            {
                "seconds": reached["seconds"],
                "scoring_seconds": math.nan if scoring is None else scoring,
                "observations": run.observations,
                **({} if run.scored_on is None else {"scored_on": run.scored_on.text}),
            },
            self._claimed(run),
            {f"version.{name}": versions.get(name) for name in VERSIONS},
        )

    def _claimed(self, run: StudyRun) -> dict[str, float]:
        """The numbers that the study's claims are about and that are not scores themselves."""
        if run.state != "finished":
            return {}
        values = run.values
        columns = dict.fromkeys(name for claim in self.study.claims for name in claim.form.columns)
        return {name: _part(run, name) for name in columns if name not in values}


def _part(run: StudyRun, name: str) -> float:
    """A factor's part of a score, or the last logged value of a term; NaN if the run has none."""
    if name.startswith(LOG):
        value = run.last_line.get(name.removeprefix(LOG))
        return math.nan if value is None else float(value)
    scores = run.scores
    column, factor = factor_part(name, scores)
    parts = scores[column].per_factor if column in scores else None
    return float((parts or {}).get(factor, math.nan))


def _state(run: StudyRun) -> dict[str, Any]:
    return {"run": run.key, "state": run.state, "error": run.failure}


def _reached(run: StudyRun) -> dict[str, Any]:
    step, seconds = run.reached
    return {"step": step, "seconds": math.nan if seconds is None else seconds}


def _table(rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=columns)
    for name in columns:
        table[name] = _of_one_kind(table[name])
    return table


def _of_one_kind(column: pd.Series) -> pd.Series:
    """A column that a Parquet file can hold: all text if numbers and text are mixed.

    Numbers that pandas leaves as objects are whole ones beyond 64 bits, or of several kinds.
    """
    present = column.dropna()
    if column.dtype != object or present.empty:
        return column
    if present.map(lambda value: isinstance(value, int | float) and not isinstance(value, bool)).all():
        return column.astype(float)
    if present.map(type).nunique() < 2:
        return column
    return column.map(lambda value: None if pd.isna(value) else str(value))
