"""Tables of scores: on the terminal, on a page, and in a CSV file."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from distaff.codes import Codes
from distaff.foundation.files import write_text
from distaff.metrics import Evaluation, Factors, Score
from distaff.metrics.card import TOPICS
from distaff.metrics.catalogue import topic_of
from distaff.metrics.text_columns import text_columns

READABLE = (".csv", ".html", ".htm")
"""The endings of files of scores for people to read; others are JSON."""


def by_topic(scores: Sequence[Score]) -> Iterator[tuple[str, list[Score]]]:
    """Each topic, in words, and its scores, in the order of ``TOPICS``."""
    for topic, words in TOPICS.items():
        found = [score for score in scores if topic_of(score) == topic]
        if found:
            yield words, found


def terminal_table(evaluation: Evaluation) -> Group:
    """The scores as a table, then notes, then the metrics left out, with reasons."""
    scores = evaluation.scores
    columns = text_columns(scores)
    headings = list(columns)
    rows = {
        id(score): [f"  {score.name}", *(cell or "" for cell in cells)]
        for score, (_, *cells) in zip(scores, zip(*columns.values(), strict=True), strict=True)
    }
    widths = [max(map(len, column)) for column in zip(headings, *rows.values(), strict=True)]
    parts: list[Table | Text] = [_columns(headings, widths, [headings])] if scores else []
    for words, group in by_topic(scores):
        parts += [
            Text(f"\n{words}", style="bold"),
            _columns(headings, widths, [rows[id(score)] for score in group]),
        ]
    notes: dict[str, list[str]] = {}
    for score in scores:
        for note in score.notes:
            notes.setdefault(note, []).append(score.name)
    lines = [Text(f"note ({_names(names)}): {note}", style="dim") for note, names in notes.items()]
    lines += [Text(f"{name}: left out, {reason}", style="dim") for name, reason in evaluation.skipped.items()]
    return Group(*parts, Text(), *lines)


def _columns(headings: Sequence[str], widths: Sequence[int], rows: Sequence[Sequence[str]]) -> Table:
    """Rows under columns of given widths; the last column, whose words may be long, fills the rest."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, width in zip(headings[:-1], widths[:-1], strict=True):
        left = name in ("score", "better")
        table.add_column(name, justify="left" if left else "right", no_wrap=True, width=width)
    table.add_column(headings[-1], style="dim", overflow="fold")
    for row in rows:
        table.add_row(*row, style="bold" if row is headings else None)
    return table


def write_table(path: Path, evaluation: Evaluation) -> None:
    """Write the scores as CSV: one row per score, followed by one per factor and latent."""
    table = evaluation.table()
    table["interval_low"] = [np.nan if s.interval is None else s.interval[0] for s in evaluation.scores]
    table["interval_high"] = [np.nan if s.interval is None else s.interval[1] for s in evaluation.scores]
    table = table.drop(columns=["interval", "null_range"], errors="ignore")
    table.insert(1, "part", "")
    rows = [table]
    for score in evaluation.scores:
        parts = {**(score.per_factor or {}), **(score.per_latent or {})}
        rows += [
            table.iloc[:0].reindex([0]).assign(metric=score.name, part=part, value=value)
            for part, value in parts.items()
        ]
    lines = [rows[0].to_csv(index=False), *(row.to_csv(index=False, header=False) for row in rows[1:])]
    write_text(path, "".join(lines))


def write_readable(
    path: Path, evaluation: Evaluation, title: str, codes: Codes, factors: Factors | None
) -> None:
    """Write scores as a table or as a page, depending on the file's name."""
    if path.suffix.lower() == ".csv":
        return write_table(path, evaluation)
    from distaff.analysis.scores_page import write_page

    return write_page(path, f"Scores of {title}", evaluation, codes, factors)


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {len(names) - 3} more"
