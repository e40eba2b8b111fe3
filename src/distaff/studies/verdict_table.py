"""Display verdicts: as a table on a terminal, as one line per claim elsewhere."""

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from distaff.studies.verdicts import Outcome, Verdict, counts

STYLES: dict[Outcome, str] = {
    "holds": "green",
    "does not hold": "red",
    "undecided": "yellow",
    "not run": "dim",
}


def show_verdicts(verdicts: Sequence[Verdict], stderr: bool = False) -> None:
    """Print verdicts and their counts; without claims, print a note, or nothing if to stderr."""
    console = Console(stderr=stderr)
    if not verdicts:
        if not stderr:
            console.print("the study makes no claims.")
        return
    if console.is_terminal:
        console.print(_table(verdicts))
    else:
        for verdict in verdicts:
            line = ": ".join([verdict.text, *filter(None, [verdict.claim.says, _numbers(verdict)])])
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(f"claims: {counts(verdicts)}", markup=False, highlight=False)


def numbers_text(numbers: Sequence[float]) -> str:
    """A few numbers as text: both sides of a comparison, or one number.

    >>> numbers_text([0.82, 0.734567])
    '0.82, 0.7346'
    """
    return ", ".join(f"{number:.4g}" for number in numbers)


def _numbers(verdict: Verdict) -> str:
    parts = [_effect(verdict)] if not math.isnan(verdict.effect) else []
    if verdict.ours:
        parts.append(f"ours {numbers_text(verdict.ours)}")
    if verdict.claim.published:
        parts.append(f"published {numbers_text(verdict.claim.published)}")
    return "; ".join([*parts, *filter(None, [verdict.note])])


def _effect(verdict: Verdict) -> str:
    value = f"effect {verdict.effect:.4g}"
    if math.isnan(verdict.low):
        return value
    return f"{value} [{verdict.low:.4g}, {verdict.high:.4g}], P(as claimed) {verdict.probability:.3f}"


def _table(verdicts: Sequence[Verdict]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=True)
    for column in ("verdict", "claim", "published", "ours", "effect", "P"):
        table.add_column(column, overflow="fold")
    for verdict in verdicts:
        known = not math.isnan(verdict.low)
        interval = f" [{verdict.low:.3g}, {verdict.high:.3g}]" if known else ""
        effect = "–" if math.isnan(verdict.effect) else f"{verdict.effect:.3g}{interval}"
        table.add_row(
            Text(verdict.text, style=STYLES[verdict.outcome]),
            Text(verdict.claim.says + (f" ({verdict.note})" if verdict.note else "")),
            numbers_text(verdict.claim.published) or "–",
            numbers_text(verdict.ours) or "–",
            Text(effect),
            f"{verdict.probability:.2f}" if known else "–",
        )
    return table
