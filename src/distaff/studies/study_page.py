"""The page of a study: one HTML file with results, sortable tables, figures, settings and commands."""

import os
from collections.abc import Iterable, Mapping
from itertools import compress
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from distaff.figures.html import Block, Cell, Code, Facts, Link, Picture, Short, Table, Text, page
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import write_text
from distaff.studies.display import duration
from distaff.studies.own_metrics import heading
from distaff.studies.results import Results
from distaff.studies.selection import FEWEST, METHODS, metric_correlations, udr_agreement, udr_scores
from distaff.studies.setting_texts import SettingTexts
from distaff.studies.study import Drawing, Drawn
from distaff.studies.tables import INTERVALS, group_table, score_columns
from distaff.studies.verdict_table import numbers_text
from distaff.studies.verdicts import FEWEST as FEWEST_SEEDS
from distaff.studies.verdicts import counts, judge

TOO_FEW = f"; too few seeds for one below {FEWEST_SEEDS}"
"""Note in captions if intervals are left out: with two seeds they reach 12.7 standard errors each way."""


def write_report(results: Results, path: str | Path | None = None) -> Path:
    """Write the page about a study; if a drawing cannot be found, raise an error and keep the former page.

    Args:
        results: results of the study.
        path: file of the page; by default report.html in the study's folder.
    """
    for drawing in results.study.figures:
        drawing.check()
    path = Path(path) if path is not None else results.folder / "report.html"
    blocks = [
        *_claims(results),
        *_summary(results),
        *_groups(results),
        *(block for drawing in results.study.figures for block in _drawing(drawing, results)),
        *_runs(results, path.parent),
        *_correlations(results),
        *_selection(results),
        *_troubles(results),
        *_settings(results),
    ]
    write_text(path, page(results.study.name, blocks))
    return path


def _claims(results: Results) -> list[Block]:
    """The paper's claims, the verdicts of our runs, and the numbers of both."""
    verdicts = judge(results.study, results.table)
    if not verdicts:
        return []
    rows: list[list[Cell]] = [
        [
            one.claim.says,
            one.text,
            numbers_text(one.claim.published),
            numbers_text(one.ours),
            _interval({"mean": one.effect, "low": one.low, "high": one.high, "n": one.seeds}),
            one.probability,
            one.seeds,
            one.note,
        ]
        for one in verdicts
    ]
    headers = ("claim", "verdict", "published", "ours", "effect", "P(as claimed)", "seeds", "note")
    told = [any(cell != "" for cell in column) for column in zip(*rows, strict=True)]
    few = min(one.seeds for one in verdicts) < FEWEST_SEEDS
    caption = f"{counts(verdicts)}. Effects with their 95% bootstrap interval over seeds{TOO_FEW * few}."
    columns = tuple(compress(headers, told))
    return [Table(columns, [list(compress(row, told)) for row in rows], title="Claims", caption=caption)]


def _summary(results: Results) -> list[Block]:
    study, table = results.study, results.table
    facts: dict[str, Cell] = {}
    if study.runs:
        facts["runs finished"] = f"{len(results.finished)} of {len(table)}"
        facts["data"] = ", ".join(dict.fromkeys(Path(str(run.data.spec)).stem for run in study.runs))
        steps = sorted({run.training.steps for run in study.runs})
        facts["steps"] = f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} … {steps[-1]:,}"
        if study.observations is not None or study.scored_on is not None:
            count = "all" if study.observations is None else f"{study.observations:,}"
            drawn = "" if study.observations is None else " drawn at random"
            source = "" if study.scored_on is None else f" of {study.scored_on.text}"
            facts["scored on"] = f"{count} observations{source}{drawn}"
        facts["training, all runs"] = duration(table["seconds"].sum())
        facts |= _best(results)
    if (table["state"] == "failed").any():
        facts["failed"] = int((table["state"] == "failed").sum())
    facts["scale"] = "full" if study.scale == 1 else f"{study.scale:g} of the full steps"
    sentences = [study.about] if study.about else []
    if study.scale != 1 and study.runs:
        sentences.append(
            f"A trial: every run had {study.scale:.3g} times the steps of the full study, with its schedules "
            "shortened in proportion. Its numbers are not those of full runs."
        )
    return [Facts(facts), *([Text("\n\n".join(sentences))] if sentences else [])]


def _best(results: Results) -> dict[str, Cell]:
    """The setting whose mean is best by the study's first metric."""
    leading = next(iter(results.study.metrics), "").partition(":")[0]
    scored = ((run, name) for run in results.runs() for name in run.values if name.startswith(leading))
    run, name = next(scored, (None, "")) if leading else (None, "")
    if run is None:
        return {}
    sign = 1 if run.scores[name].direction == "higher" else -1
    table = group_table(results, metrics=[name]).dropna(subset="mean")
    if table.empty:
        return {}
    best = table.iloc[int((sign * table["mean"].to_numpy()).argmax())].to_dict()
    return {f"best mean {_title(name)}": f"{best['mean']:.3g}", "by": _texts_of(results).sentence(best)}


def _groups(results: Results) -> list[Block]:
    """One row per setting: its scores with their intervals."""
    scores = score_columns(results)
    if not scores:
        return []
    table = group_table(results)
    texts = _texts_of(results)
    rows: list[list[Cell]] = []
    for _, part in table.groupby(table.index // len(scores), sort=False):
        found = part.to_dict("records")
        rows.append([*texts.cells(found[0]), int(part["n"].max()), *map(_interval, found)])
    headers = [*texts.names, "runs", *map(_title, scores)]
    few = TOO_FEW * bool(table["n"].min() < FEWEST_SEEDS)
    units = "; reconstruction and KL in nats" * ("kl" in scores)
    caption = f"Mean over seeds [{INTERVALS['t']}{few}]{units}."
    return [Table(headers, rows, title="Settings compared", caption=caption)]


def _drawing(drawing: Drawing, results: Results) -> list[Block]:
    """A drawing's blocks; if it cannot be drawn, the reason, so that the others still are."""
    title = drawing.name.rpartition(":")[2].replace("_", " ").capitalize()
    try:
        drawn: Drawn = drawing.function(results, **drawing.arguments)
    except DistaffError as reason:
        return [Text(f"Not drawn: {reason}", title=title)]
    except Exception as problem:  # a drawing may be a user's code
        return [Text(f"Not drawn: {type(problem).__name__}: {problem}", title=title)]
    parts: Mapping[str, Figure | pd.DataFrame] = drawn if isinstance(drawn, Mapping) else {title: drawn}
    return [_shown(name, part, drawing.caption or None) for name, part in parts.items()]


def _shown(title: str, part: Figure | pd.DataFrame, caption: str | None) -> Block:
    if isinstance(part, Figure):
        return Picture(part, alt=caption or title, title=title, caption=caption)
    return frame(part, title, caption)


def frame(table: pd.DataFrame, title: str, caption: str | None = None) -> Table:
    """A sortable table from a pandas table; its index is shown if it has names of its own."""
    plain = table if isinstance(table.index, pd.RangeIndex) else table.reset_index(names="")
    rows = [[_cell(value) for value in row] for row in plain.itertuples(index=False)]
    return Table([_title(str(name)) for name in plain.columns], rows, title=title, caption=caption)


def _runs(results: Results, beside: Path) -> list[Block]:
    table = results.table
    if table.empty:
        return []
    progress = [] if (table["state"] == "finished").all() else ["state", "step"]
    columns = ["seed", *progress, *score_columns(results), "seconds"]
    texts, rows = _texts_of(results), []
    for row in table.to_dict("records"):
        folder = os.path.relpath(results.folder / "runs" / row["run"], beside)
        rows.append([Link(row["run"], folder), *texts.cells(row), *(_cell(row[name]) for name in columns)])
    return [Table(["run", *map(_title, (*texts.names, *columns))], rows, title="All runs")]


def _texts_of(results: Results) -> SettingTexts:
    return SettingTexts(results.table, results.study.varied)


def _correlations(results: Results) -> list[Block]:
    scores = score_columns(results)
    if len(results.finished) < FEWEST or len(scores) < 2:
        return []
    blocks: list[Block] = []
    for method in METHODS:
        table = metric_correlations(results.finished, method, scores).round(3).rename(index=_title)
        caption = f"Over {len(results.finished)} runs."
        blocks.append(frame(table, f"Correlation of scores, {method.capitalize()}'s", caption))
    return blocks


def _selection(results: Results) -> list[Block]:
    """UDR, which needs no labels, and its rank correlation with scores that do."""
    try:
        scores = udr_scores(results)
    except DistaffError as reason:
        return [Text(f"UDR could not be computed: {reason}", title="Chosen without labels (UDR)")]
    if scores.empty:
        return []
    texts = _texts_of(results)
    rows = [[row["run"], *texts.cells(row), row["seed"], row["udr"]] for row in scores.to_dict("records")]
    caption = "Agreement of a run with other seeds of its setting."
    headers = ["run", *map(_title, texts.names), "seed", "udr"]
    blocks: list[Block] = [Table(headers, rows, title="Chosen without labels (UDR)", caption=caption)]
    agreement = udr_agreement(results, scores).dropna().reset_index(drop=True)
    if len(agreement):
        blocks.append(frame(agreement, "UDR beside the scores", "Spearman's rank correlation over runs."))
    return blocks


def _troubles(results: Results) -> list[Block]:
    failed = [(run.key, run.failure or "") for run in results.all_runs if run.state == "failed"]
    skipped = [(r.key, metric, why) for r in results.all_runs for metric, why in r.skipped.items()]
    blocks: list[Block] = []
    if failed:
        blocks.append(Table(("run", "error"), failed, title="Runs that failed"))
    if skipped:
        blocks.append(Table(("run", "metric", "reason"), skipped, title="Scores that could not be computed"))
    return blocks


def _settings(results: Results) -> list[Block]:
    versions = {
        name.removeprefix("version."): ", ".join(_texts(results.table[name]))
        for name in results.table.columns
        if name.startswith("version.") and results.table[name].notna().any()
    }
    scale = "" if results.study.scale == 1 else f" --scale {results.study.scale:g}"
    commands = (
        f"distaff study run study.yaml{scale} --out {results.folder}\n"
        f"distaff study table {results.folder} --group-by {','.join(results.study.varied) or 'recipe'}\n"
        f"distaff study report {results.folder}"
    )
    return [
        Code(results.study.source, title="The study (study.yaml)", folded=True),
        *([Facts(versions, title="Made with")] if versions else []),
        Code(commands, title="Make it again"),
    ]


def _texts(column: "pd.Series[Any]") -> Iterable[str]:
    return sorted({str(int(v)) if isinstance(v, float) else str(v)[:12] for v in column.dropna()})


def _interval(row: Mapping[Any, Any]) -> Cell:
    """A mean with its interval, or without one if there are too few seeds."""
    mean = float(row["mean"])
    known = row["n"] >= FEWEST_SEEDS and not pd.isna(row["low"])
    return (mean, float(row["low"]), float(row["high"])) if known else mean


def _cell(value: Any) -> Cell:
    plain: Cell = value.item() if hasattr(value, "item") else value
    return None if not isinstance(plain, tuple | Link | Short) and pd.isna(plain) else plain


def _title(name: str) -> str:
    return heading(name).replace("_", " ")
