"""``choose``: find a recipe and a weight for data by a short study without labels."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from annotated_types import Ge, Gt

from distaff.foundation.binding import chosen, to_plain
from distaff.foundation.errors import DistaffError, said, spoken_to_its_caller, unknown
from distaff.runs.calls import Data, DataCall
from distaff.runs.sections import AtLeastOne, TrainingSettings, held_out_share
from distaff.runs.settings import DATA_SETTINGS, DataSettings, ModelSettings, takes_settings
from distaff.studies.choice.given_data import on_disk
from distaff.studies.choice.grid import read_grid, usual_grid
from distaff.studies.choice.page import write_choice
from distaff.studies.choice.plan import Plan, begin, begun, learning_rate
from distaff.studies.choice.ranking import FEWEST_SEEDS, Ranking, rank
from distaff.studies.commands import run as run_study
from distaff.studies.results import Results

TO_THE_END = 100_000
"""Number of steps of the command that trains a setting fully."""
FLAGS = ("resize", "fit", "range", "skip_bad")
"""Options of data that have flags of their own."""


@dataclass(frozen=True)
class Choice:
    """The result of ``choose``: what to train, and how certain that is.

    Args:
        settings: arguments of ``distaff.train`` for the best setting: its recipe, weights and the rest.
        clear: whether it is the best beyond the noise of seeds.
        verdict: result in words.
        table: one row per setting, the best first.
        command: command that trains the best setting fully.
        page: page with all results.
        folder: folder of the study, which ``distaff.studies`` reads.
    """

    settings: Mapping[str, Any]
    clear: bool
    verdict: str
    table: pd.DataFrame
    command: str
    page: Path
    folder: Path

    def __str__(self) -> str:
        shown = ["label", "seeds", "score", "explained", "udr", "centrality", "reconstruction", "active"]
        table = self.table[[*shown, "behind", "low", "high"]].rename(columns={"label": "setting"})
        text = table.to_string(index=False, na_rep="–", float_format="{:.3g}".format)
        return f"{text}\n\n{self.verdict}\n\ntrain it to the end with:\n{self.command}\n\npage: {self.page}"


@takes_settings(DataSettings, ModelSettings)
@spoken_to_its_caller
def choose(
    data: Data,
    *,
    minutes: Annotated[float, Gt(0)] = 20.0,
    recipes: str | None = None,
    seeds: Annotated[int, Ge(2)] = 4,
    hold_out: float | str = 0.1,
    out: str | Path | None = None,
    batch_size: AtLeastOne = 64,
    workers: AtLeastOne | None = None,
    so_far: bool = False,
    progress: bool = True,
    **settings: Any,
) -> Choice:
    """Find a recipe and a weight for data without labels: a short study, ranked by how far models agree.

    Each setting is trained from several seeds, for as many steps as fit the budget according to a timed
    warm-up, and scored by agreement × explained. Agreement is the mean of UDR and ModelCentrality; explained
    is the fraction of the variance of held-out data that reconstructions explain. It is a study: if stopped
    at any moment, the same call resumes it.

    Args:
        data: folder or archive of images, table, file of arrays, or name of a data set; in Python also an
            array, a data frame or a Dataset.
        minutes: approximate total time.
        recipes: recipes to compare, such as beta_vae:1:4:16,factor_vae:10:40 (hfvae.beta:1:4 for another
            argument than the first); by default β-VAEs and β-TCVAEs with weights that suit the data's size.
        seeds: runs per setting; with three or more, differences have intervals.
        hold_out: fraction of the data that is held out of training, or a file or folder of other data.
        out: folder of the study; by default runs/choose-NAME.
        batch_size: observations per step.
        workers: number of runs at once; by default one per core, with one thread each.
        so_far: train no more, and rank the finished runs.
        progress: show progress.
        **settings: no others.

    Returns:
        The choice, with its table, its page and the command that trains the best setting fully.
    """
    usual = vars(ModelSettings())
    known = (*usual, *DATA_SETTINGS)
    for name in settings:
        if name not in known:
            raise unknown("argument of choose", name, known)
    grid = None if recipes is None else read_grid(recipes)
    model = chosen(ModelSettings, settings)
    chosen(TrainingSettings, {"hold_out": hold_out})  # an error for invalid values
    call = DataCall.told(data, chosen(DataSettings, settings))
    dataset = call.open(model.likelihood)
    name = Path(str(data)).stem if isinstance(data, str | Path) else type(data).__name__
    folder = Path(out) if out is not None else Path("runs") / f"choose-{name}"
    left = len(dataset) - round(len(dataset) * (held_out_share(hold_out) or 0))
    shared = {"hold_out": hold_out, "batch_size": min(batch_size, left)}
    shared |= {name: to_plain(value) for name, value in vars(model).items() if value != usual[name]}
    plan = Plan(
        f"choose-{name}",
        on_disk(call, dataset, folder),
        dataset.fingerprint,
        usual_grid(dataset.shape) if grid is None else grid,
        seeds,
        minutes,
        shared,
    )
    if not begun(plan, folder):
        if so_far:
            raise DistaffError(f"nothing was begun in {folder}: leave --so-far out.")
        begin(plan, folder, workers, progress)
        run_study(folder / "study.yaml", out=folder, workers=workers, progress=progress)
    elif not so_far:
        run_study(folder, workers=workers, progress=progress)
    shown = str(data) if isinstance(data, str | Path) else str(folder / Path(str(plan.data.spec)).name)
    return conclude(Results.read(folder), plan, shown, progress)


def conclude(results: Results, plan: Plan, data: str, progress: bool) -> Choice:
    """Rank the finished runs and write the page."""
    ranking = rank(results, progress)
    if ranking is None:
        failed = next((run.failure for run in results.all_runs if run.failure), None)
        why = f": {failed}" if failed else ", so there is nothing to rank yet."
        raise DistaffError(f"no setting of {results.folder} has two finished runs{why}")
    labels = [str(label) for label in ranking.settings["label"]]
    commands = [(label, command(ranking.weights[label], plan, data)) for label in labels]
    again = shlex.join(["distaff", "choose", data, "--out", str(results.folder)])
    words = said(verdict(ranking, results))
    page = write_choice(results, ranking, words, commands, again)
    longer = {"learning_rate": learning_rate(TO_THE_END), "steps": TO_THE_END}
    best = {**ranking.weights[labels[0]], **plan.settings, **longer}
    return Choice(best, ranking.clear, words, ranking.settings, commands[0][1], page, results.folder)


def verdict(ranking: Ranking, results: Results) -> str:
    """The result in words, which claim no more than the runs show."""
    table, tied = ranking.settings, ranking.tied
    best = table.iloc[0]
    unfinished = len(results.all_runs) - len(ranking.runs)
    missing = f" {unfinished} of {len(results.all_runs)} runs are not finished." if unfinished else ""
    if best["score"] <= 0:
        return (
            f"No setting learnt anything that models agree on in {results.all_runs[0].steps:,} steps: give "
            f"more --minutes, or weaker weights.{missing}"
        )
    first = f"{best['label']} has the highest score, {best['score']:.2f}."
    if len(table) == 1:
        return f"{first} There is no other setting to compare it with.{missing}"
    if ranking.clear:
        return f"{first} It is ahead of every other setting beyond the noise of seeds.{missing}"
    if table["seeds"].min() < FEWEST_SEEDS:
        return f"{first} Two seeds cannot tell whether that is noise: give --seeds 3 or more.{missing}"
    others = ", ".join(tied[1:])
    everything = "The ranking is within noise: " if len(tied) == len(table) else "The best is not clear: "
    return (
        f"{first} {everything}{len(tied) - 1} of the {len(table) - 1} other settings cannot be told from it "
        f"by {int(table['seeds'].min())} seeds ({others}). Compare their traversals on the page, or give "
        f"more --seeds and --minutes.{missing}"
    )


def command(entry: Mapping[str, Any], plan: Plan, data: str) -> str:
    """The command that trains a setting fully."""
    options = dict(plan.data.options)
    flags: dict[str, Any] = {"data": data, "file": plan.data.file}
    flags |= {name: options.pop(name) for name in FLAGS if name in options}
    told = ",".join(f"{name}={_text(value)}" for name, value in options.items())
    flags |= {"data_options": told or None}
    flags |= {name: value for name, value in entry.items() if name != "recipe"} | dict(plan.settings)
    flags |= {"steps": TO_THE_END, "learning_rate": learning_rate(TO_THE_END)}
    weights = "-".join(f"{name}{_text(value)}" for name, value in entry.items() if name != "recipe")
    folder = "-".join(filter(None, [plan.name.removeprefix("choose-"), entry["recipe"], weights]))
    flags |= {"out": f"runs/{folder.replace(':', '.')}"}
    words = ["distaff", "train", str(entry["recipe"])]
    for name, value in flags.items():
        if value is not None:
            flag = f"--{name.replace('_', '-')}"
            words += [flag] if value is True else [flag, _text(value)]
    return shlex.join(words)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "+".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
