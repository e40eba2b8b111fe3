"""A comparison of finished runs: one table, overlaid curves, traversals in matching order."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from distaff import figures
from distaff.analysis.encoding import SAMPLE, Encoded, encode_run, sample_size
from distaff.analysis.evaluate import evaluate_encoded
from distaff.codes import Codes, FloatArray
from distaff.data.dataset import Dataset
from distaff.figures.html import Block, Cell, Picture, Table, Text, page
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import write_text
from distaff.models.representation import Representation
from distaff.runs.differences import differences
from distaff.runs.folder import RunFolder, TrainedRun, run_folder
from distaff.runs.log import read_log
from distaff.runs.pictures import drawable
from distaff.runs.sections import in_zoo
from distaff.training.validation import PREFIX

TOP = 10
"""Number of latents that are drawn."""


def compare_runs(
    runs: Sequence[str | Path],
    *,
    out: str | Path = "compare.html",
    metrics: str = "auto",
    observations: int | str = SAMPLE,
    progress: bool = True,
) -> Path:
    """Write a page that compares runs: a table of settings and scores, overlaid curves, matched latents.

    Args:
        runs: two or more run folders.
        out: file of the page.
        metrics: default, all, or names such as mig,dci; auto is the FactorVAE score.
        observations: number of observations of each data set to score, chosen at random, or all.
        progress: show a progress bar while data sets are encoded.

    Returns:
        The path of the page.
    """
    names = run_names(runs)
    if len(names) < 2:
        raise DistaffError("a comparison needs two runs or more: distaff compare A B.")
    found = {name: ComparedRun(folder, sample_size(observations), progress) for name, folder in names.items()}
    blocks: list[Block] = [_block(scores_of_runs(found, metrics)), *_differences(names)]
    curves = _curves({name: read_log(folder.log) for name, folder in names.items()})
    if curves is not None:
        blocks.append(Picture(curves, alt="Training curves", title="Training curves", kind="svg"))
    blocks += matched_traversals(found)
    path = Path(out)
    write_text(path, page(" · ".join(names), blocks))
    return path


def scores_of_runs(runs: Mapping[str, "ComparedRun"], metrics: str) -> pd.DataFrame:
    """The scores of runs, one row per run."""
    rows = {}
    for name, run in runs.items():
        scores = evaluate_encoded(run.encoded, run.data, metrics).scores
        config = run.config
        told = {"recipe": config.recipe.name, "data": config.data.name, "steps": run.step}
        rows[name] = {**told, **{score.name: score.value for score in scores}}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("run")


def run_names(runs: Sequence[str | Path]) -> dict[str, RunFolder]:
    """The runs by the ends of their paths, as long as needed to be unique; those of the zoo by name."""
    places = dict.fromkeys(Path(run) if in_zoo(run) else Path(run).resolve() for run in runs)
    for length in range(1, max((len(place.parts) for place in places), default=1) + 1):
        names = ["/".join(place.parts[-length:]) for place in places]
        if len(set(names)) == len(names):
            break
    return {name: run_folder(place) for name, place in zip(names, places, strict=True)} if places else {}


class ComparedRun:
    """A run with its data, its model and the codes of a sample."""

    def __init__(self, folder: RunFolder, observations: int | None, progress: bool) -> None:
        trained = TrainedRun.open(folder)
        self.config, self.step, self.model = trained.config, trained.step, trained.model
        self.data: Dataset = trained.config.data.reopen()
        self.encoded: Encoded = encode_run(trained, self.data, progress, observations)


def _block(table: pd.DataFrame) -> Table:
    rows: list[list[Cell]] = [
        [str(name), *row] for name, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    return Table(["run", *table.columns], rows, title="Scores")


def _differences(names: Mapping[str, RunFolder]) -> list[Block]:
    """The settings in which the other runs differ from the first."""
    (first, start), *others = names.items()
    config = start.read()
    rows = [(name, text) for name, other in others for text in differences(other.read(), config, found=False)]
    if not rows:
        return [Text("All were asked for alike.", title="Settings")]
    return [Table(("run", f"differences from {first}"), rows, title="Settings")]


def _curves(logs: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure | None:
    """Every term that all runs logged, one line per run."""
    filled = {name: log for name, log in logs.items() if len(log) > 1}
    if len(filled) < 2:
        return None
    shared = [
        term for term in next(iter(filled.values()))[0] if all(term in log[0] for log in filled.values())
    ]
    shared = [term for term in shared if term not in ("step", "seconds") and not term.startswith(PREFIX)]
    steps = sorted({int(line["step"]) for log in filled.values() for line in log})
    curves = {}
    for term in shared:
        by_run = {}
        for name, log in filled.items():
            known = {int(line["step"]): line.get(term, np.nan) for line in log}
            by_run[name] = [[known.get(step, np.nan) for step in steps]]
        curves[term.replace("_", " ")] = {"": by_run}
    return figures.curves_by_setting(steps, curves, setting="run") if curves else None


def matched_traversals(found: Mapping[str, ComparedRun]) -> list[Block]:
    """The first run's latents, most informative first, and the other runs' latents correlated with them."""
    (first, start), *others = found.items()
    alike = {start.data.fingerprint} == {run.data.fingerprint for _, run in others}
    if not alike or len(start.data.shape) != 3 or not start.encoded.codes.means.shape[1]:
        return [Text("Latents are matched and drawn where runs share one set of images.", title="Latents")]
    kl = start.encoded.kl_per_latent
    count = start.encoded.codes.means.shape[1]
    spread = start.encoded.codes.means.std(0) if kl is None else kl[:count]
    order = np.argsort(-np.nan_to_num(spread, posinf=0.0), kind="stable")[:TOP].tolist()
    models = {name: run.model for name, run in found.items()}
    codes = {name: run.encoded.codes for name, run in found.items()}
    matrices, drawn = matched_figures(models, codes, order, start.data.subset([start.encoded.typical]))
    caption = "Traversals, each row of a run beside the latent it correlates with most"
    blocks: list[Block] = [Picture(drawn, alt=caption, title=caption)]
    for name, matrix in matrices.items():
        caption = f"Correlations of the latents of {first} and {name}"
        blocks.append(Picture(matrix, alt=caption, title=caption, kind="svg"))
    return blocks


def matched_figures(
    models: Mapping[str, Representation], codes: Mapping[str, Codes], order: list[int], start: Dataset
) -> tuple[dict[str, Figure], Figure]:
    """The correlations of each other run's latents with the first's, and all traversals in matching order.

    ``order`` are the first run's latents to draw; traversals begin at the observation ``start``.
    """
    (first, ours), *others = codes.items()
    rows, labels, matrices = {first: order}, {first: [f"z{latent}" for latent in order]}, {}
    for name, theirs in others:
        similarity = _correlations(ours.means, theirs.means)
        matrices[name] = figures.matched_latents(similarity, runs=(first, name))
        partner = dict(figures.match_latents(similarity))
        rows[name] = [partner[latent] for latent in order if latent in partner]
        labels[name] = [f"z{partner[z]} · {similarity[z, partner[z]]:.2f}" for z in order if z in partner]
    values = np.linspace(-2, 2, 7).tolist()
    panels = {name: drawable(models[name].traverse(start, latents, values)) for name, latents in rows.items()}
    return matrices, figures.side_by_side(panels, labels, values)


def _correlations(first: FloatArray, second: FloatArray) -> FloatArray:
    """(D, E) Pearson correlations of two runs' means; a constant latent correlates with none."""
    a, b = ((z - z.mean(0)) / np.where(z.std(0) > 0, z.std(0), 1) for z in (first, second))
    return np.asarray(a.T @ b / len(a), dtype=np.float64)
