"""A run's history as curves over steps: terms of its log, and measurements of its snapshots."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pydantic import TypeAdapter

from distaff import figures
from distaff.codes import Codes
from distaff.data.dataset import Dataset
from distaff.data.splits import some
from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.files import write_json
from distaff.foundation.untrusted_files import read_json
from distaff.models.representation import Representation
from distaff.runs.load import load
from distaff.runs.snapshots import kept
from distaff.studies.study_run import StudyRun

POINTS = 100
"""Largest number of log lines that a curve shows."""

Curve = dict[int, float]
"""Step → value."""
_MEASURED = TypeAdapter(dict[str, dict[int, float | None]])


def logged(run: StudyRun, term: str) -> Curve:
    """A term of the log at up to ``POINTS`` lines, each the mean since the previous line."""
    lines = run.log
    if not lines or term not in lines[-1]:
        raise unknown("term in the log", term, lines[-1] if lines else ())
    parts = np.array_split(np.arange(len(lines)), min(POINTS, len(lines)))
    return {
        lines[part[-1]]["step"]: float(np.mean([lines[i].get(term, np.nan) for i in part])) for part in parts
    }


def measured(
    run: StudyRun, key: str, measure: Callable[[Codes, Dataset], float], observations: int | None
) -> Curve:
    """A measurement of every snapshot's codes; results are kept beside the snapshots.

    Args:
        run: run with ``snapshots``.
        key: name under which results are kept.
        measure: function from a snapshot's codes and their data to a number.
        observations: number of random observations to encode; None for all.
    """
    file = run.folder.snapshots / "measured.json"
    known = _measured_before(file)
    found = known.setdefault(f"{key}, {observations or 'all'} observations", {})
    missing = [step for step in snapshot_steps(run) if step not in found]
    data = some(run.data, observations)
    for step in missing:
        found[step] = float(measure(snapshot(run, step).encode(data.images), data))
    if missing:
        write_json(file, known)
    return {step: np.nan if value is None else value for step, value in found.items()}


def _measured_before(file: Path) -> dict[str, dict[int, float | None]]:
    """The kept results in a file; empty if the file is missing or damaged, so that all is measured again."""
    try:
        return _MEASURED.validate_python(read_json(file))
    except (OSError, ValueError):
        return {}


def snapshot(run: StudyRun, step: int) -> Representation:
    """The model at a step of ``snapshot_steps``."""
    return load(run.folder.path, step=step)


def snapshot_steps(run: StudyRun) -> list[int]:
    """The steps of a run's snapshots; an error if it has none."""
    steps = list(kept(run.folder.snapshots))
    if not steps:
        raise DistaffError(
            f"{run.folder.path} has no snapshots, and scores through training are those of snapshots: "
            "add snapshots: 30 under common."
        )
    return steps


def curves_figure(
    curves: Mapping[str, Mapping[str, Mapping[Any, Sequence[Curve]]]],
    setting: str,
    nulls: Mapping[str, tuple[float, float]] | None = None,
) -> Figure:
    """Quantities (rows) of objectives (columns) during training, one colour per value of a setting.

    Args:
        curves: quantity with its unit → objective → value of the setting → one curve per run.
        setting: setting that the colours represent.
        nulls: quantity → range of scores against shuffled factors.
    """
    each = [along for row in curves.values() for column in row.values() for along in column.values()]
    steps = all_steps(curve for along in each for curve in along)
    tables = {
        quantity: {
            name: {value: table(along, steps) for value, along in column.items()}
            for name, column in row.items()
        }
        for quantity, row in curves.items()
    }
    return figures.curves_by_setting(steps, tables, setting=setting, nulls=nulls)


def all_steps(curves: Iterable[Curve]) -> list[int]:
    """The steps at which any of the curves has a value."""
    return sorted({step for curve in curves for step in curve})


def table(curves: Sequence[Curve], steps: Sequence[int]) -> np.ndarray:
    """(S, T) one row per run; NaN at steps without a value."""
    return np.array([[curve.get(step, np.nan) for step in steps] for curve in curves])
