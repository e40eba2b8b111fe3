"""Results kept with a repository: tables and verdicts of studies, and their counts by paper.

``distaff study keep STUDY --into docs/results`` writes ``study.parquet`` and ``claims.json`` into
``docs/results/NAME``, with ``--join`` beside the runs that are kept there already;
``distaff study claims docs/results`` counts the verdicts of all of them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import StrictFloat, StrictStr, TypeAdapter

from distaff.foundation.errors import DistaffError
from distaff.foundation.files import atomic_file
from distaff.foundation.table_files import read_parquet
from distaff.foundation.untrusted_files import read_json
from distaff.studies.results import Results
from distaff.studies.verdicts import FILE, OUTCOMES, judge, write_claims

TABLE = "study.parquet"
COLUMNS = ("run", "state", "error", "scale", "step", "seconds")
"""Columns that separate settings, scores and the rest of a table."""
TEXTS = ("scored_on", "version.")
"""How the names of columns after the scores begin that hold texts."""
PAPER = re.compile(r"[a-z]+\d\d")
"""A paper in the name of a study, such as ``kim18`` in ``small-kim18-dsprites``."""
CITATION = re.compile(r"\((?:[^()]*? \d{4}, )?")
"""The citation before the figure's number, which only the first claim about a paper has."""


@dataclass(frozen=True, eq=False)
class KeptStudy:
    """A study's results as they are kept.

    Args:
        name: name of the study.
        scale: factor that the file's steps were multiplied by.
        claims: the claims with their ``verdict``, as in ``claims.json``.
        table: one row per run; None if no run was begun.
    """

    name: str
    scale: float
    claims: Sequence[Mapping[str, Any]]
    table: pd.DataFrame | None

    @property
    def paper(self) -> str:
        """The paper that the claims are from, by the name of the study."""
        found = PAPER.search(self.name)
        return found[0] if found else "other"

    @property
    def runs(self) -> tuple[int, int]:
        """The number of finished runs and of all runs; (0, 0) if no run was begun."""
        if self.table is None:
            return 0, 0
        return int((self.table["state"] == "finished").sum()), len(self.table)

    @property
    def settings(self) -> list[str]:
        """The columns of the table that are settings with several values, except seeds."""
        if self.table is None:
            return []
        columns = list(self.table.columns)
        own = columns[columns.index("error") + 1 : columns.index("scale")]
        return [name for name in own if name != "seed" and self.table[name].astype(str).nunique() > 1]

    @property
    def scores(self) -> list[str]:
        """The columns of the table that are scores of any run."""
        if self.table is None:
            return []
        columns = list(self.table.columns)
        own = columns[columns.index("step") + 1 : columns.index("seconds")]
        return [name for name in own if self.table[name].notna().any()]


def keep_results(results: Results, into: Path, join: bool = False) -> Path:
    """Write a study's table and verdicts into ``into/NAME``; only its claims if it was not begun.

    With ``join``, rows of finished runs stay that are there already and not finished in ``results``.
    """
    place = into / results.study.name
    if place.resolve() == results.folder.resolve():
        raise DistaffError(f"{place} is the study's own folder: keep its results elsewhere.")
    table = _joined(results.table, place) if join and (place / TABLE).is_file() else results.table
    begun = (table["state"] != "waiting").any()
    if not begun and not results.study.claims:
        raise DistaffError(
            f"{results.study.name} was not begun and makes no claims: there is nothing to keep."
        )
    if not begun and (place / TABLE).exists():
        raise DistaffError(
            f"{results.folder} holds no run of {results.study.name}, and {place / TABLE} would be lost: name "
            "the study's folder, or remove that table first."
        )
    place.mkdir(parents=True, exist_ok=True)
    if begun:
        with atomic_file(place / TABLE) as temporary:
            table.to_parquet(temporary, engine="pyarrow", index=False)
    write_claims(results.study, judge(results.study, table), place)
    return place


def _joined(table: pd.DataFrame, place: Path) -> pd.DataFrame:
    """A study's table, with kept rows in place of runs that are not finished in it.

    A run is identified by its name, which contains its settings and its seed.
    """
    kept = _read(place).table
    assert kept is not None
    for name in ("scale", "observations", "scored_on"):
        ours, theirs = (_values(one, name) for one in (table, kept))
        told = "observations" in kept or name != "observations"  # which older tables do not say
        if ours != theirs and told:
            raise DistaffError(
                f"{place} holds runs with {name} {theirs}, and these have {ours}: they cannot be joined."
            )
    done = kept[kept["state"] == "finished"].set_index("run")
    others = [run for run in done.index if run not in set(table["run"])]
    if others:
        raise DistaffError(
            f"{place} holds {len(others):,} finished runs that are not of this study, such as {others[0]}: "
            "join them with a study file that has them all, or keep these without --join."
        )
    measured = ["state", "error", *done.columns[list(done.columns).index("scale") :]]
    known: Mapping[Any, dict[Any, Any]] = done[measured].to_dict("index")
    rows = [
        row if row["state"] == "finished" else {**row, **known.get(row["run"], {})}
        for row in table.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=_columns(table, kept))


def _columns(table: pd.DataFrame, kept: pd.DataFrame) -> list[str]:
    """The columns of both tables; those of the kept one alone come after their neighbour there."""
    columns = list(table.columns)
    before = "run"
    for name in kept.columns:
        if name not in columns:
            columns.insert(columns.index(before) + 1, name)
        before = name
    return columns


def _values(table: pd.DataFrame, name: str) -> str:
    """The values of a column as text; a missing one is ``all`` observations, or the run's ``own`` data."""
    values = table[name].unique() if name in table else [None]
    missing = "own" if name == "scored_on" else "all"
    return ", ".join(
        missing if pd.isna(value) else f"{value:g}" if isinstance(value, float | int) else str(value)
        for value in values
    )


def holds_kept(folder: Path) -> bool:
    """Whether a folder holds results of several studies and is not a study's folder itself."""
    return not (folder / "study.yaml").exists() and any(folder.glob(f"*/{FILE}"))


def kept_studies(folder: str | Path) -> list[KeptStudy]:
    """All results kept in a folder, sorted by name."""
    places = sorted({file.parent for name in (FILE, TABLE) for file in Path(folder).glob(f"*/{name}")})
    return [_read(place) for place in places]


def claims_by_paper(studies: Iterable[KeptStudy]) -> pd.DataFrame:
    """The numbers of claims of each paper that hold, do not hold, are undecided and were not run.

    A claim that several studies make, at the paper's scale and at a smaller one, counts once, by the first of
    them that was run. Sorted by name, studies at a small scale come after the others.

    Returns:
        One row per paper, with columns for the paper, its claims and each outcome; the last row is the sum.
    """
    best: dict[tuple[str, str], str] = {}
    for study in studies:
        for claim in study.claims:
            key = study.paper, CITATION.sub("(", claim["says"])
            if best.get(key, "not run") == "not run":
                best[key] = claim["verdict"]
    papers = list(dict.fromkeys(paper for paper, _ in best))
    rows = []
    for paper in [*papers, "all"]:
        found = [outcome for (own, _), outcome in best.items() if paper in (own, "all")]
        row: dict[str, Any] = {"paper": paper, "claims": len(found)}
        rows.append(row | {outcome: found.count(outcome) for outcome in OUTCOMES})
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class _HeldClaim:
    says: StrictStr
    verdict: StrictStr


@dataclass(frozen=True)
class _HeldVerdicts:
    """The part of ``claims.json`` that is read; everything else in it is for human readers."""

    claims: Sequence[_HeldClaim] = ()
    scale: StrictFloat = 1.0


_VERDICTS = TypeAdapter(_HeldVerdicts)


def _is_of_a_study(table: pd.DataFrame) -> bool:
    """Whether a table has a study's columns, one row per run, and numbers where it measures."""
    columns = list(table.columns)
    if not {*COLUMNS} <= {*columns} or not table["run"].is_unique:
        return False
    measured = [name for name in columns[columns.index("scale") :] if not name.startswith(TEXTS)]
    known = (table[name].dropna() for name in ("run", "state", *measured))
    return all(
        values.empty or pd.api.types.is_numeric_dtype(values) == (values.name in measured) for values in known
    )


def _read(place: Path) -> KeptStudy:
    file, table = place / FILE, place / TABLE
    try:
        content = read_json(file) if file.is_file() else {}
        held = _VERDICTS.validate_python(content)
        found = read_parquet(table) if table.is_file() else None
        if found is not None and not _is_of_a_study(found):
            raise ValueError("the table is no study's")
    except (OSError, ValueError) as problem:
        raise DistaffError(f"{place} cannot be read as results of a study: keep them again.") from problem
    return KeptStudy(place.name, held.scale, content.get("claims", ()), found)
