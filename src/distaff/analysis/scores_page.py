"""A page of scores: one HTML file that needs no network, with tables, nulls and latents against factors."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from distaff import figures
from distaff.analysis.score_table import by_topic
from distaff.codes import Codes
from distaff.figures.html import Block, Cell, Facts, Picture, Table, Text, page
from distaff.foundation.files import write_text
from distaff.metrics import Evaluation, Factors, Score
from distaff.metrics.inputs import Float64Array

MOST = 30
"""Largest number of latents in matrices; those that matter least are left out."""


def write_page(path: Path, title: str, evaluation: Evaluation, codes: Codes, factors: Factors | None) -> None:
    """Write the page."""
    blocks: list[Block] = [
        Facts(
            {
                "observations": len(codes),
                "latents": len(codes.names),
                "factors": "none" if factors is None else len(factors.names),
                "scores": len(evaluation.scores),
            }
        ),
        *(_table(words, group) for words, group in by_topic(evaluation.scores)),
        *_ranges(evaluation.scores),
        *_matrices(evaluation.scores, codes),
        *_bars(evaluation.scores),
    ]
    if evaluation.skipped:
        reasons = [f"{name}: {reason}" for name, reason in evaluation.skipped.items()]
        blocks.append(Text("\n\n".join(reasons), title="Left out"))
    write_text(path, page(title, blocks))


def _table(words: str, scores: Sequence[Score]) -> Table:
    nulls = any(score.null for score in scores)
    baselines = list(dict.fromkeys(name for s in scores if s.null for name in s.null.baselines))
    headers = ["score", "value", *["shuffled factors"] * nulls, *baselines, *["share of the gap"] * nulls]
    rows: list[list[Cell]] = []
    for score in scores:
        value: Cell = score.value if score.interval is None else (score.value, *score.interval)
        row: list[Cell] = [score.name, value]
        if nulls:
            row.append(None if score.null is None else score.null.mean)
        row += [None if score.null is None else score.null.baselines.get(name) for name in baselines]
        if nulls:
            row.append(score.gap)
        rows.append([*row, score.direction, score.protocol])
    notes = dict.fromkeys(note for score in scores for note in score.notes)
    return Table(
        [*headers, "better", "protocol"],
        rows,
        title=words[0].upper() + words[1:],
        caption=" ".join(f"{note[0].upper()}{note[1:]}." for note in notes) or None,
    )


def _ranges(scores: Sequence[Score]) -> list[Block]:
    """Scores between 0 and 1 with their intervals and nulls."""
    shown = [s for s in scores if -0.001 <= s.value <= 1.001 and (s.interval or s.null)]
    if not shown:
        return []
    figure = figures.scores_and_nulls(
        {s.name: s.value for s in shown},
        intervals={s.name: s.interval for s in shown if s.interval is not None},
        nulls={s.name: s.null.range for s in shown if s.null is not None and s.null.range is not None},
        baselines={s.name: s.null.baselines for s in shown if s.null is not None and s.null.baselines},
    )
    caption = "Points are scores, lines their intervals, grey bands what shuffled factors score."
    return [Picture(figure, alt=caption, title="Scores and nulls", caption=caption)]


def _matrices(scores: Sequence[Score], codes: Codes) -> list[Block]:
    """Mutual information of latents and factors, and importances of latents for predicting factors."""
    wanted = {
        "mutual_information": ("Mutual information of latents and factors", "I(z; y) (nats)"),
        "importances": ("Importance of latents for predicting factors", "importance"),
    }
    blocks: list[Block] = []
    for key, (title, unit) in wanted.items():
        score = next((s for s in scores if key in s.details and s.per_factor), None)
        if score is None or score.per_factor is None:
            continue
        matrix, latents = _largest(np.asarray(score.details[key]), codes.names)
        figure = figures.information_matrix({"": matrix}, list(score.per_factor), latents, unit=unit)
        left = len(codes.names) - len(latents)
        note = f"of {score.name}" + (f"; {left} latents that matter less are left out" if left else "")
        blocks.append(Picture(figure, alt=title, title=title, caption=note[0].upper() + note[1:] + "."))
    return blocks


def _largest(matrix: Float64Array, names: Sequence[str]) -> tuple[Float64Array, list[str]]:
    order = np.sort(np.argsort(-matrix.max(axis=1), kind="stable")[:MOST])
    return matrix[order], [names[i] for i in order]


def _bars(scores: Sequence[Score]) -> list[Block]:
    """Bars of scores that are between 0 and 1 for every factor."""
    found: dict[tuple[str, ...], dict[str, Mapping[str, float]]] = {}
    for score in scores:
        parts = score.per_factor
        if parts and all(-0.001 <= value <= 1.001 for value in parts.values()):
            found.setdefault(tuple(parts), {})[score.name] = parts
    blocks: list[Block] = []
    for factors, group in found.items():
        heights = {name: list(parts.values()) for name, parts in group.items()}
        means = {s.name: s.null.mean for s in scores if s.name in heights and s.null is not None}
        nulls = {name: mean for name, mean in means.items() if mean is not None}
        figure = figures.scores_by_factor(heights, list(factors), score="score", nulls=nulls)
        title = "Scores by factor" + (f": {', '.join(group)}" if len(found) > 1 else "")
        caption = "A line across bars is what shuffled factors score, over all factors." if nulls else None
        blocks.append(Picture(figure, alt=title, title=title, caption=caption))
    return blocks
