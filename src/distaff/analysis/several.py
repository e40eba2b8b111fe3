"""The scores of several runs, or of several files of codes, in one table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from distaff.analysis.compare import run_names
from distaff.analysis.evaluate import evaluate_run
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import write_text
from distaff.metrics import Evaluation, Score


def evaluate_runs(runs: Sequence[str | Path], **settings: Any) -> dict[str, Evaluation]:
    """The scores of each run, by the end of its path.

    Args:
        runs: run folders, zoo:NAME, or files of codes.
        **settings: settings of ``evaluate_run``, the same for all; ``out`` is a CSV file for the whole table.
    """
    out = settings.pop("out", None)
    if out is not None and Path(out).suffix.lower() != ".csv":
        raise DistaffError(
            f"the scores of several runs go to a table, --out scores.csv, not to {out}: for a page write "
            "distaff compare."
        )
    folders = run_names(runs)
    for folder in folders.values():
        if not folder.path.is_file():
            folder.read()  # an error for any that is not a run, before the first is scored
    found = {name: evaluate_run(folder.path, **settings) for name, folder in folders.items()}
    if out is not None:
        write_text(Path(out), scores_table(found).to_csv(na_rep=""))
    return found


def scores_table(found: Mapping[str, Evaluation]) -> pd.DataFrame:
    """One row per score and one column per run; scores that a run lacks are NaN."""
    rows = _scores(found)
    return pd.DataFrame(
        {
            name: [of_run[name].value if name in of_run else float("nan") for of_run in rows.values()]
            for name in found
        },
        index=pd.Index(list(rows), name="score"),
    )


def print_several(found: Mapping[str, Evaluation], console: Console | None = None) -> None:
    """Print one table of all runs, the best value of each score in bold, then metrics left out and why."""
    console = console or Console()
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("score", no_wrap=True)
    for name in found:
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("better")
    for title, of_run in _scores(found).items():
        direction = next(iter(of_run.values())).direction
        best = (max if direction == "higher" else min)(score.value for score in of_run.values())
        cells = [_cell(of_run.get(name), best, len(of_run) > 1) for name in found]
        table.add_row(title, *cells, direction)
    if console.is_terminal:
        console.print(table)
    else:
        Console(width=10_000, file=console.file).print(table)  # a file has no edge to wrap at
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, evaluation in found.items():
        for metric, reason in evaluation.skipped.items():
            reasons.setdefault((metric, reason), []).append(name)
    for (metric, reason), names in reasons.items():
        where = "" if len(names) == len(found) else f"{', '.join(names)}: "
        console.print(f"{where}{metric} is left out, {reason}", markup=False, highlight=False)


def _scores(found: Mapping[str, Evaluation]) -> dict[str, dict[str, Score]]:
    """title → run → score; a score measured under several protocols has the protocol in its title."""
    rows: dict[str, dict[str, Score]] = {}
    for name, evaluation in found.items():
        names = [score.name for score in evaluation.scores]
        for score in evaluation.scores:
            title = score.name if names.count(score.name) == 1 else f"{score.name} ({score.protocol})"
            rows.setdefault(title, {})[name] = score
    return rows


def _cell(score: Score | None, best: float, several: bool) -> str:
    if score is None:
        return "–"
    error = f" ± {score.details['standard_error']:.2g}" if "standard_error" in score.details else ""
    text = f"{score.value:.3f}{error}"
    if score.interval is not None:
        text += f" ({score.interval[0]:.3f} to {score.interval[1]:.3f})"
    return f"[bold]{text}[/bold]" if several and score.value == best else text
