"""The commands for studies: run a study, show its status, tabulate it, write its page."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from filelock import FileLock, Timeout

from distaff.foundation.errors import DistaffError, kept_if_allowed
from distaff.foundation.files import write_text
from distaff.foundation.trust import remember
from distaff.runs.sections import AtLeastOne
from distaff.studies.changed_file import tell_change
from distaff.studies.display import Display
from distaff.studies.kept import TABLE, keep_results
from distaff.studies.results import Results
from distaff.studies.study import Study
from distaff.studies.study_page import write_report
from distaff.studies.tables import Interval, group_table
from distaff.studies.verdicts import FILE, Verdict, judge, write_claims

if TYPE_CHECKING:
    from distaff.studies.queue import Engine


def run(
    file: str | Path,
    *,
    scale: float | None = None,
    workers: AtLeastOne | None = None,
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Do all runs of a study that are not done yet, and write its table.

    If stopped or killed at any moment, the same call resumes the study: finished runs are kept, others resume
    from their last checkpoint. A run that fails is tried once more; its error is then kept in its folder
    while the others go on, and the next call tries it again. Where the file has changed since the folder was
    begun, a line says which runs are new and which are no longer part of the study; those stay.

    Args:
        file: the study file, or the folder of a study begun before.
        scale: factor for the steps of every run, for a trial; schedules are shortened in proportion.
        workers: number of runs at once; by default one per core, with one thread each. Fewer workers share
            the cores as threads, up to OMP_NUM_THREADS each.
        ray: "local", or the address of a Ray cluster, to do the runs as Ray tasks.
        out: folder of the study; by default runs/NAME, and runs/NAME-SCALE for a trial.
        progress: show progress.

    Returns:
        The table, one row per run.
    """
    results = find(file, scale=scale, out=out)
    with ExitStack() as stack:
        stack.enter_context(_alone(results.folder))
        tell_change(results)
        write_text(results.folder / "study.yaml", results.study.to_yaml())
        remember(results.folder, results.study.code)
        pending = [one for one in results.all_runs if one.state != "finished" or one.may_be_mended]
        if pending:
            from distaff.studies.queue import work_through  # tables need no code for training

            engine = _engine(results.folder, len(pending), workers, ray)
            stack.callback(engine.close)
            engine.check(pending)
            display = stack.enter_context(Display(results, progress))
            try:
                work_through(pending, engine, display)
            except KeyboardInterrupt:
                raise KeyboardInterrupt("stopped; the same command resumes it") from None
    return Results(results.study, results.folder).write()


def status(study: str | Path, *, scale: float | None = None, out: str | Path | None = None) -> pd.DataFrame:
    """The progress of each run of a study.

    Args:
        study: the study's folder, or its file.
        scale: scale of a trial, if the file is given.
        out: the study's folder, if the file is given and the folder is not the default.

    Returns:
        One row per run: run, state, step, steps, seconds, error.
    """
    return find(study, scale=scale, out=out).progress


def table(
    study: str | Path,
    *,
    group_by: str | None = None,
    metric: str | None = None,
    interval: Interval = "t",
    scale: float | None = None,
    out: str | Path | None = None,
) -> pd.DataFrame:
    """Scores by setting: mean over seeds, a 95% interval, the number of runs.

    Args:
        study: the study's folder, or its file.
        group_by: settings such as recipe,gamma; by default those that the study varies, except seeds.
        metric: scores such as factor_vae_score,mig; by default all.
        interval: t for Student's interval over seeds, or bootstrap for that of claims.
        scale: scale of a trial, if the file is given.
        out: the study's folder, if the file is given and the folder is not the default.
    """
    results = find(study, scale=scale, out=out)
    groups = None if group_by is None else group_by.split(",")
    return group_table(results, groups, None if metric is None else metric.split(","), interval)


def check_claims(
    study: str | Path, *, scale: float | None = None, out: str | Path | None = None
) -> list[Verdict]:
    """Check whether the runs of a study support its paper's claims; writes claims.json in the study's folder.

    Args:
        study: the study's folder, or its file.
        scale: scale of a trial, if the file is given.
        out: the study's folder, if the file is given and the folder is not the default.
    """
    results = find(study, scale=scale, out=out)
    verdicts = judge(results.study, results.table)
    with kept_if_allowed(results.folder / FILE):
        write_claims(results.study, verdicts, results.folder)
    return verdicts


def keep(
    study: str | Path,
    *,
    into: str | Path = "docs/results",
    join: bool = False,
    scale: float | None = None,
    out: str | Path | None = None,
) -> Path:
    """Copy a study's table and verdicts to the kept results: INTO/NAME/study.parquet and claims.json.

    Args:
        study: the study's folder, or its file.
        into: folder of all kept results.
        join: retain the rows of finished runs that are kept there and are not finished here, such as other
            seeds that another machine trained; claims are decided from all of them.
        scale: scale of a trial, if the file is given.
        out: the study's folder, if the file is given and the folder is not the default.
    """
    return keep_results(find(study, scale=scale, out=out), Path(into), join)


def write_page(
    study: str | Path,
    *,
    page: str | Path | None = None,
    scale: float | None = None,
    out: str | Path | None = None,
) -> Path:
    """Write a page about a study, in one file that needs no network.

    Args:
        study: the study's folder, or its file.
        page: file of the page; by default report.html in the study's folder.
        scale: scale of a trial, if the file is given.
        out: the study's folder, if the file is given and the folder is not the default.
    """
    results = find(study, scale=scale, out=out)
    with kept_if_allowed(results.folder / TABLE):
        tell_change(results)
        results.write()
    return write_report(results, page)


def find(place: str | Path, *, scale: float | None = None, out: str | Path | None = None) -> Results:
    """The results of a study, given its folder, or its file and the folder of its runs."""
    place = Path(place)
    if not place.is_dir():
        study = Study.read(place, scale)
        trial = "" if study.scale == 1 else f"-{study.scale:g}"
        return Results(study, Path(out) if out is not None else Path("runs") / f"{study.name}{trial}")
    if out is not None:
        raise DistaffError(f"{place} is a study's folder already: --out goes with a study file.")
    held = Results.read(place)
    if scale is not None and scale != held.study.scale:
        raise DistaffError(
            f"{place} holds a study at scale {held.study.scale:g}: give the study file to run it at another."
        )
    return held


def _engine(folder: Path, runs: int, workers: int | None, ray: str | None) -> "Engine":
    """The engine that does the runs."""
    if ray is None:
        from distaff.studies.local import local_workers

        return local_workers(runs, workers, folder / "logs")
    from distaff.studies.cluster import RayTasks

    return RayTasks(ray, folder, workers)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the study's lock, so that two processes do not train the same runs."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            yield
    except Timeout:
        raise DistaffError(
            f"another process works on the study in {folder}: wait for it or stop it."
        ) from None
