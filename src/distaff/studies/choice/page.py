"""The page of a choice: the result and how certain it is, trade-offs, traversals, all settings."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from distaff import figures
from distaff.analysis.compare import ComparedRun, matched_traversals
from distaff.figures.html import Block, Cell, Code, Facts, Link, Picture, Table, Text, page
from distaff.foundation.files import write_text
from distaff.runs.folder import RunFolder
from distaff.runs.pictures import traversals
from distaff.studies.choice.plan import OBSERVATIONS
from distaff.studies.choice.ranking import FEWEST_SEEDS, Ranking
from distaff.studies.display import duration
from distaff.studies.results import Results

SHOWN = 3
"""Number of settings whose traversals are shown side by side."""
HEADERS = {
    "score": "score",
    "explained": "explained",
    "udr": "UDR",
    "centrality": "ModelCentrality",
    "reconstruction": "held-out error",
    "active": "active latents",
}
WORDS = (
    "The score is agreement × explained. Agreement is the mean of UDR (how far the seeds of a setting found "
    "the same latents; Duan et al. 2020) and ModelCentrality (how well models read each other's latents, "
    "over all runs; Lin et al. 2020). Explained is the share of the variance of held-out data that "
    "reconstructions keep. Models of one latent agree easily, and models without pressure reconstruct "
    "easily: a good setting does both. How far each is behind the best comes with a 95% interval over seeds."
)
FEW = " Two seeds are too few for an interval."


def write_choice(
    results: Results, ranking: Ranking, verdict: str, commands: Sequence[tuple[str, str]], again: str
) -> Path:
    """Write ``choice.html`` in the study's folder."""
    path = results.folder / "choice.html"
    others = "\n".join(f"# {name}\n{_over_lines(command)}\n" for name, command in commands[1:])
    blocks: list[Block] = [
        Text(verdict),
        Code(_over_lines(commands[0][1]), title=f"Train {commands[0][0]} to the end"),
        Facts(_facts(results)),
        _settings(ranking),
        Text(WORDS + (FEW if ranking.settings["seeds"].min() < FEWEST_SEEDS else "")),
        *_trade_offs(ranking),
        *_side_by_side(results, ranking),
        _runs(results, ranking, path.parent),
        *_failures(results),
        *([Code(others, title="Or train another setting", folded=True)] if others else []),
        Code(f"{again}\ndistaff study report {results.folder}", title="Look again", folded=True),
    ]
    write_text(path, page(f"What to train on {results.study.name.removeprefix('choose-')}", blocks))
    return path


def _facts(results: Results) -> dict[str, Cell]:
    table = results.table
    return {
        "runs finished": f"{(table['state'] == 'finished').sum()} of {len(table)}",
        "steps per run": f"{results.all_runs[0].steps:,}",
        "training, all runs": duration(table["seconds"].sum()),
    }


def _settings(ranking: Ranking) -> Table:
    tied = set(ranking.tied)
    rows: list[list[Cell]] = []
    for row in ranking.settings.to_dict("records"):
        behind: Any = (
            round(row["behind"], 3)
            if pd.isna(row["low"])
            else tuple(round(row[n], 3) for n in ("behind", "low", "high"))
        )
        standing = "" if row["label"] not in tied else "best" if not rows else "within noise"
        score, *others = (float(f"{row[name]:.3g}") for name in HEADERS)
        rows.append([row["label"], standing, score, behind, *others, row["seeds"]])
    first, *rest = HEADERS.values()
    headers = ["setting", "standing", first, "behind the best", *rest, "seeds"]
    return Table(headers, rows, title="Settings, the best first")


def _over_lines(command: str) -> str:
    """A command with one flag per line."""
    return command.replace(" --", " \\\n  --")


def _trade_offs(ranking: Ranking) -> list[Block]:
    """UDR and ModelCentrality against the held-out error."""
    blocks: list[Block] = []
    x = "reconstruction" if ranking.runs["reconstruction"].notna().all() else "explained"
    name = "held-out reconstruction error (nats)" if x == "reconstruction" else "explained variance"
    for score in ("udr", "centrality"):
        points: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
        for label in sorted(ranking.settings["label"], key=list(dict.fromkeys(ranking.runs["label"])).index):
            part = ranking.runs[ranking.runs["label"] == label]
            recipe, _, value = str(label).partition(" ")
            weight = value.rpartition(" ")[2] or recipe
            points.setdefault(recipe, {})[weight] = (part[x].tolist(), part[score].tolist())
        title = f"{HEADERS[score]} against reconstruction"
        picture = figures.trade_off(points, x=name, y=HEADERS[score])
        caption = (
            "A point is a setting's mean over seeds, its weight beside it; up and to the left is better."
        )
        blocks.append(Picture(picture, alt=title, title=title, caption=caption))
    return blocks


def _side_by_side(results: Results, ranking: Ranking) -> list[Block]:
    """Traversals of the most central run of each of the best settings, with matching rows side by side."""
    best = {}
    for label in ranking.settings["label"][:SHOWN]:
        part = ranking.runs[ranking.runs["label"] == label]
        key = part.loc[part["centrality"].idxmax(), "run"]
        folder = RunFolder(results.folder / "runs" / str(key))
        best[str(label)] = ComparedRun(folder, OBSERVATIONS, progress=False)
    if len(best) > 1:
        return matched_traversals(best)[:1]  # without the correlations used for matching
    (label, run) = next(iter(best.items()))
    if len(run.data.shape) != 3:
        return []
    picture = traversals(run.model, run.data, run.encoded.kl_per_latent, run.encoded.typical)
    return [Picture(picture, alt=f"Traversals of {label}", title=f"Traversals of {label}", kind="png")]


def _runs(results: Results, ranking: Ranking, beside: Path) -> Table:
    rows: list[list[Cell]] = []
    for row in ranking.runs.to_dict("records"):
        folder = os.path.relpath(results.folder / "runs" / row["run"], beside)
        numbers = [row[name] for name in HEADERS if name != "score"]
        rows.append([Link(row["run"], folder), row["label"], row["seed"], *numbers])
    headers = ["run", "setting", "seed", *(title for name, title in HEADERS.items() if name != "score")]
    return Table(headers, rows, title="All finished runs")


def _failures(results: Results) -> list[Block]:
    failed = [(run.key, run.failure or "") for run in results.all_runs if run.state == "failed"]
    return [Table(("run", "error"), failed, title="Runs that failed")] if failed else []
