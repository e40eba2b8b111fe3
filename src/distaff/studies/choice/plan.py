"""The study of ``distaff choose``: the request, the time per step, and the steps that fit the budget."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distaff.foundation.errors import DistaffError, said, warn
from distaff.foundation.files import write_json, write_text, yaml_text
from distaff.foundation.untrusted_files import read_json
from distaff.models.representation import Representation
from distaff.runs.calls import DataCall
from distaff.studies.centrality import model_centrality
from distaff.studies.choice.grid import Entry
from distaff.studies.commands import run as run_study
from distaff.studies.local import runs_at_once
from distaff.studies.results import Results
from distaff.studies.study_run import StudyRun

FILE = "choose.json"
OBSERVATIONS = 2000
"""Number of observations on which runs are compared."""
FEWEST, MOST = 50, 20_000
"""Limits of the steps per run, whatever the budget."""
YOUNG = 1000
"""Number of steps below which a model has hardly begun to learn."""
VOTES, BATCH = 100, 8
"""Votes and images per vote of ModelCentrality; fewer than for a published score."""
MAKING = 3
"""Models read each other's images; generating images takes about as long as reading three times as many."""
TIMED, BETWEEN = 40, 8
"""Number of steps of a warm-up run, and steps between the lines of its log."""
FOR_STARTING = 1.0
"""Seconds that a run takes before its first step."""


@dataclass(frozen=True)
class Plan:
    """The settings to compare, the data and the time."""

    name: str
    data: DataCall
    fingerprint: str
    grid: Sequence[Entry]
    seeds: int
    minutes: float
    settings: Mapping[str, Any]

    def plain(self) -> dict[str, Any]:
        """Plain values, as in ``choose.json``; another request needs another folder."""
        return {
            "data": {**self._data, "fingerprint": self.fingerprint},
            "recipes": [dict(entry) for entry in self.grid],
            "seeds": self.seeds,
            "minutes": self.minutes,
            "settings": dict(self.settings),
        }

    @property
    def _data(self) -> dict[str, Any]:
        file = {} if self.data.file is None else {"file": self.data.file}
        # A plain list in a study would be a grid.
        options = {k: {"value": v} if isinstance(v, list) else v for k, v in self.data.options.items()}
        return {"spec": str(self.data.spec), **file, **options}

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self.seeds * sum(math.prod(len(w) for w in _lists(entry)) for entry in self.grid)

    def study(self, steps: int) -> str:
        """The study file; every setting has its first run before any has its second."""
        content = {
            "name": self.name,
            "about": "Short runs without labels, to choose a recipe and its weight by.",
            "data": self._data,
            "steps": steps,
            "observations": OBSERVATIONS,
            "common": {**self.settings, "learning_rate": learning_rate(steps), "validate_every": steps},
            "runs": [{**_copied(entry), "seed": seed} for seed in range(self.seeds) for entry in self.grid],
        }
        return yaml_text(content)

    def warm_up(self, copies: int) -> str:
        """A study of a few steps of each recipe, with as many runs at once as later."""
        content = {
            "name": "warm-up",
            "data": self._data,
            "steps": TIMED,
            "seeds": copies,
            "observations": OBSERVATIONS,
            "common": {**self.settings, "log_every": BETWEEN, "validate_every": TIMED},
            "runs": [_middle(entry) for entry in self.grid],
        }
        return yaml_text(content)


def learning_rate(steps: int) -> str:
    """A schedule from 1e-3 to 1e-4, with which short runs learn most."""
    return f"cosine:1e-3:1e-4:{steps}"


def begun(plan: Plan, folder: Path) -> bool:
    """Whether the folder holds this study already; an error if it holds another."""
    if not (folder / FILE).is_file():
        if (folder / "study.yaml").exists() or (folder / "run.yaml").exists():
            raise DistaffError(f"{folder} holds something else: give --out another folder.")
        return False
    held, asked = read_json(folder / FILE), plan.plain()
    differing = [name for name in asked if not isinstance(held, dict) or held.get(name) != asked[name]]
    if differing:
        raise DistaffError(
            f"{folder} holds a choice with other {', '.join(differing)}: give --out another folder, or "
            "remove this one."
        )
    return (folder / "study.yaml").is_file()


def begin(plan: Plan, folder: Path, workers: int | None, progress: bool) -> None:
    """Write the study, with as many steps as the budget allows according to a timed warm-up."""
    write_json(folder / FILE, plan.plain())
    began = time.monotonic()
    at_once = runs_at_once(plan.runs, workers)
    write_text(folder / "warm-up.yaml", plan.warm_up(at_once))
    run_study(folder / "warm-up.yaml", out=folder / "warm-up", workers=workers, progress=progress)
    tried = Results.read(folder / "warm-up").all_runs
    paces, model = measured(tried), tried[0].model
    spent = time.monotonic() - began
    starting = max(0.0, spent - sum(TIMED * pace.step + pace.rest for pace in paces.values()))
    beside = spent + starting + comparing(model, plan.runs)
    steps = affordable(plan, paces, plan.minutes * 60 - beside, at_once)
    needed, enough = (
        math.ceil((beside + lasting(plan, paces, count, at_once)) / 60) for count in (steps, YOUNG)
    )
    if steps == FEWEST and needed > plan.minutes:
        message = (
            f"{plan.minutes:g} minutes are too few: {steps} steps for each of {plan.runs} runs, the least, "
            f"take about {needed} here, and {YOUNG:,}, by which models begin to learn, about {enough}; "
            "there is less to do with fewer --recipes or fewer --seeds."
        )
        warn(said(message))
    elif steps < YOUNG:
        message = (
            f"{plan.minutes:g} minutes are {steps:,} steps for each of {plan.runs} runs, after which a model "
            f"has hardly begun to learn: --minutes {enough} would be {YOUNG:,}."
        )
        warn(said(message))
    write_text(folder / "study.yaml", plan.study(steps))


def comparing(model: Representation, runs: int) -> float:
    """Seconds that ModelCentrality, nearly all of the ranking's time, will take for ``runs`` runs.

    The warm-up's ``model`` is timed on its own images; each model generates images and reads those of all.
    """
    began = time.monotonic()
    model_centrality({"one": model, "other": model}, votes=VOTES, batch=BATCH)
    return (time.monotonic() - began) * runs * (MAKING + runs - 1) / (2 * (MAKING + 1))


@dataclass(frozen=True)
class Pace:
    """The duration of a recipe's runs.

    Seconds per step, and for everything else.
    """

    step: float
    rest: float


def measured(runs: Sequence[StudyRun]) -> dict[str, Pace]:
    """The pace of each recipe from the logs of the warm-up, averaged over runs at once."""
    found: dict[str, list[Pace]] = {}
    for run in runs:
        if run.failure is not None:
            raise DistaffError(f"{run.settings['recipe']} cannot be trained on these data: {run.failure}")
        seconds = {int(line["step"]): float(line["seconds"]) for line in run.log}
        if not {BETWEEN, TIMED - BETWEEN, TIMED} <= seconds.keys():
            raise DistaffError(f"the warm-up in {run.folder.path} is damaged: remove it.")
        timed = seconds[TIMED - BETWEEN] - seconds[BETWEEN]
        step = max(timed / (TIMED - 2 * BETWEEN), 1e-5)
        look = max(0.0, seconds[TIMED] - seconds[TIMED - BETWEEN] - BETWEEN * step)
        rest = FOR_STARTING + look + (run.scoring_seconds or 0.0)
        found.setdefault(run.settings["recipe"], []).append(Pace(step, rest))
    return {
        recipe: Pace(sum(p.step for p in paces) / len(paces), sum(p.rest for p in paces) / len(paces))
        for recipe, paces in found.items()
    }


def affordable(plan: Plan, paces: Mapping[str, Pace], seconds: float, at_once: int) -> int:
    """The steps per run, to two digits, with which all runs end within ``seconds``."""
    pace, rounds = _mean(plan, paces), math.ceil(plan.runs / at_once)
    steps = min(max((seconds / rounds - pace.rest) / pace.step, FEWEST), MOST)
    unit = 10 ** max(0, math.floor(math.log10(steps)) - 1)
    return int(steps // unit * unit)


def lasting(plan: Plan, paces: Mapping[str, Pace], steps: int, at_once: int) -> float:
    """The seconds after which all runs of ``steps`` steps end; the inverse of ``affordable``."""
    pace = _mean(plan, paces)
    return math.ceil(plan.runs / at_once) * (pace.rest + steps * pace.step)


def _mean(plan: Plan, paces: Mapping[str, Pace]) -> Pace:
    """The mean pace over all runs."""
    counts = [plan.seeds * math.prod(len(w) for w in _lists(entry)) for entry in plan.grid]
    each = [paces[entry["recipe"]] for entry in plan.grid]
    step = sum(count * pace.step for count, pace in zip(counts, each, strict=True)) / plan.runs
    rest = sum(count * pace.rest for count, pace in zip(counts, each, strict=True)) / plan.runs
    return Pace(step, rest)


def _lists(entry: Entry) -> list[list[Any]]:
    return [value for value in entry.values() if isinstance(value, list)]


def _copied(entry: Entry) -> dict[str, Any]:
    """The entry with copies of its lists; YAML would write shared lists as references."""
    return {key: list(v) if isinstance(v, list) else v for key, v in entry.items()}


def _middle(entry: Entry) -> dict[str, Any]:
    return {key: v[len(v) // 2] if isinstance(v, list) else v for key, v in entry.items()}
