"""``Study``: many runs, what is measured of them and what is drawn, read from a short YAML file."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from distaff.foundation.binding import find_function, names_code
from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.files import parse_yaml, read_text, yaml_text
from distaff.foundation.snippets import snippet
from distaff.metrics.evaluation import selected
from distaff.runs.config import named_code
from distaff.runs.data_config import DataCall
from distaff.runs.request import RunRequest
from distaff.runs.settings import SETTINGS, names_of_trackers
from distaff.studies.claim_forms import Claim
from distaff.studies.claims import read_claims
from distaff.studies.grid import how_many, requests, varied_settings
from distaff.studies.own_metrics import is_own

SCORING = ("observations", "scored_on", "ica", "metrics", "figures", "claims")
KEYS = ("name", "about", "data", "preset", "steps", "seeds", "scale", "common", "runs", *SCORING)
MOST_RUNS = 100_000
"""Largest number of runs that one entry of a study may stand for."""
SELECTIONS = ("default", "all")
Drawn = Figure | pd.DataFrame | Mapping[str, Figure] | Mapping[str, Figure | pd.DataFrame]
"""What a drawing returns: a figure, a table, or several of them by title."""


@dataclass(frozen=True)
class Drawing:
    """A figure of a study: a function of its ``Results`` and the arguments to call it with.

    Args:
        name: name of a function in ``distaff.studies.drawings``, or ``module:function``.
        arguments: arguments of the function after the results.
        caption: caption in the report.
    """

    name: str
    arguments: Mapping[str, Any]
    caption: str = ""

    @property
    def function(self) -> Callable[..., Drawn]:
        """The function, whose first argument is the ``Results``."""
        from distaff.studies import drawings  # which know Results, which know Study

        return find_function("drawing", self.name, drawings.all_drawings())

    def check(self) -> None:
        """Raise an error if there is no such function, or if it does not take these arguments."""
        _, *parameters = inspect.signature(self.function).parameters.values()
        known = {parameter.name: parameter.default for parameter in parameters}
        for name in self.arguments:
            if name not in known:
                raise unknown(f"argument of {self.name}", name, known)
        for name, default in known.items():
            if default is inspect.Parameter.empty and name not in self.arguments:
                raise DistaffError(f"the drawing {self.name} needs the argument {name!r}.")


@dataclass(frozen=True)
class Study:
    """Many runs, their metrics and their figures.

    Args:
        name: name of the study's folder and page.
        about: one sentence about what the study shows.
        runs: every run once, in the order of the file.
        metrics: names of metrics, with the protocol if it is not the default, and ``module:function`` for
            metrics of the user's own; reconstruction and KL are always measured.
        figures: figures of the report.
        scale: factor that the file's steps were multiplied by.
        source: content of the file.
        observations: number of random observations that trained runs are scored and drawn with; None for all.
        claims: claims of the paper that the runs should show.
        ica: whether the real latents of every run are unmixed by ICA before they are scored.
        scored_on: data that every run is scored on and drawn with; None for its training data.
    """

    name: str
    about: str
    runs: tuple[RunRequest, ...]
    metrics: tuple[str, ...]
    figures: tuple[Drawing, ...]
    scale: float
    source: str
    observations: int | None = None
    claims: tuple[Claim, ...] = ()
    ica: bool = False
    scored_on: DataCall | None = None

    @classmethod
    def read(cls, path: str | Path, scale: float | None = None, check_drawings: bool = True) -> "Study":
        """The study of a file.

        Args:
            path: the file.
            scale: factor for the steps of every run, in place of the one in the file.
            check_drawings: whether drawings that cannot be found are an error. Only the page of a study needs
                them once it has begun, and it checks them itself.
        """
        path = Path(path)
        try:
            text = read_text(path)
        except FileNotFoundError:
            raise DistaffError(f"there is no study file {path}.") from None
        except DistaffError as problem:
            raise DistaffError(f"{path} cannot be read as a study: {problem}") from problem
        try:
            return cls.parse(text, path.stem, scale, check_drawings)
        except DistaffError as problem:
            raise DistaffError(f"{path}: {problem}") from problem

    @classmethod
    def parse(
        cls, text: str, name: str = "study", scale: float | None = None, check_drawings: bool = True
    ) -> "Study":
        """The study that YAML describes."""
        content = _mapping("a study", parse_yaml(text), KEYS)
        factor = _scale(content.get("scale", 1) if scale is None else scale)
        figures = tuple(_drawing(entry) for entry in _list("figures", content.get("figures")))
        if check_drawings:
            for drawing in figures:
                drawing.check()
        runs, metrics = _runs(content, factor), _metrics(content.get("metrics"))
        if not runs and not figures:
            raise DistaffError("the study has neither runs nor figures: add runs.")
        elsewhere = None if (data := content.get("scored_on")) is None else DataCall.of(data)
        ica = _switch("ica", content.get("ica", False))
        if ica and elsewhere is not None:
            raise DistaffError(
                "ICA is fitted to the training data of a run: ica and scored_on exclude each other."
            )
        return cls(
            name=_file_name(content.get("name", name)),
            about=str(content.get("about", "")).strip(),
            runs=runs,
            metrics=metrics,
            figures=figures,
            scale=factor,
            source=text,
            observations=_observations(content.get("observations")),
            claims=tuple(read_claims(_list("claims", content.get("claims")), runs, metrics, elsewhere)),
            ica=ica,
            scored_on=elsewhere,
        )

    @property
    def code(self) -> dict[str, str]:
        """The code outside the library that the study names, such as networks, with the kind of each."""
        drawings = {drawing.name: "drawing" for drawing in self.figures if ":" in drawing.name}
        named: dict[str, str] = {}
        for run in _of_each_setting(self.runs):
            named |= named_code(run.recipe, run.model, run.data.spec, run.training)
            named |= {name: "tracker" for name in names_of_trackers(run.machine.track) if ":" in name}
        if self.scored_on is not None and names_code(str(self.scored_on.spec)):
            named[str(self.scored_on.spec)] = "data set"
        metrics = {metric: "metric" for metric in self.metrics if is_own(metric)}
        return {**named, **metrics, **drawings}

    @property
    def varied(self) -> tuple[str, ...]:
        """The settings that distinguish runs, except seeds: ``recipe``, then those with several values."""
        return ("recipe", *varied_settings(run.settings for run in self.runs)) if self.runs else ()

    def _repr_html_(self) -> str:
        """The notebook view: one row per setting, with its seeds and steps."""
        settings: dict[tuple[Any, ...], list[RunRequest]] = {}
        for run in self.runs:
            settings.setdefault(tuple(run.settings.get(name) for name in self.varied), []).append(run)
        rows = [
            (*(None if value is None else str(value) for value in key), len(runs), runs[0].training.steps)
            for key, runs in settings.items()
        ]
        about = f"{len(self.runs)} runs, scored by {', '.join(self.metrics) or 'reconstruction and KL'}"
        notes = [self.about] if self.about else []
        return snippet(self.name, about, headers=[*self.varied, "seeds", "steps"], rows=rows, notes=notes)

    def to_yaml(self) -> str:
        """The content of the file, with the scale that it was read with."""
        content = {"name": self.name, **parse_yaml(self.source), "scale": self.scale}
        return yaml_text(content)


def _of_each_setting(runs: Sequence[RunRequest]) -> Iterable[RunRequest]:
    """Runs that may name different code: one for each group of runs that differ only in their seeds."""
    found: dict[tuple[int | str, ...], RunRequest] = {}
    for run in runs:
        texts = (run.data.spec, run.training.pairs, run.training.hold_out, run.machine.track)
        found[id(run.recipe), id(run.model), *map(str, texts)] = run
    return found.values()


def _runs(content: Mapping[str, Any], scale: float) -> tuple[RunRequest, ...]:
    known = [*(name for name in SETTINGS if name != "progress"), "data", "preset"]
    common = {key: content[key] for key in ("data", "preset", "steps") if key in content}
    common |= _mapping("common", content.get("common", {}), known)
    seeds = _seeds(content.get("seeds", 1))
    runs: dict[str, RunRequest] = {}
    for number, entry in enumerate(_list("runs", content.get("runs")), 1):
        entry = {"recipe": entry} if isinstance(entry, str) else entry
        where = f"run {number}"
        try:
            if not isinstance(entry, Mapping) or not entry.get("recipe"):
                raise DistaffError(f"it must name a recipe, as in {{recipe: vae}}, not {entry!r}.")
            where = f"run {number} ({entry['recipe']})"
            own = {**common, **entry}
            if "data" not in own:
                raise DistaffError("nothing says which data to train on: add data, such as data: dsprites.")
            own["seed"] = _seeds(own.pop("seeds")) if "seeds" in own else own.get("seed", seeds)
            for name, value in own.items():
                if how_many({name: value}) == 0:
                    raise DistaffError(f"{name} is an empty list: give it values, or leave it out.")
            if (count := how_many(own)) > MOST_RUNS:
                raise DistaffError(f"{count:,} runs are more than the {MOST_RUNS:,} that a study may have.")
            for request in requests(own, scale):
                runs.setdefault(request.key, request)
        except DistaffError as problem:
            raise DistaffError(f"{where}: {problem}") from problem
    return tuple(runs.values())


def _metrics(metrics: Any) -> tuple[str, ...]:
    """The names of metrics as in results: with the protocol only if it is not the default."""
    if metrics is None:
        return ()
    if isinstance(metrics, str):
        metrics = metrics if metrics in SELECTIONS else [metrics]
    elif not isinstance(metrics, list):
        raise DistaffError(f"metrics are default, all or a list of names, not {metrics!r}.")
    return tuple(dict.fromkeys(entry.label for entry in selected(metrics))) if metrics else ()


def _drawing(entry: Any) -> Drawing:
    if isinstance(entry, str):
        entry = {"drawing": entry}
    if not isinstance(entry, Mapping) or not isinstance(entry.get("drawing"), str):
        raise DistaffError(f"a figure names a drawing, as in {{drawing: trade_off}}, not {entry!r}.")
    given = {key: value for key, value in entry.items() if key not in ("drawing", "caption")}
    return Drawing(entry["drawing"], given, str(entry.get("caption", "")).strip())


def _mapping(what: str, value: Any, known: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise DistaffError(f"{what} must be a mapping of names to values, not {value!r}.")
    for key in value:
        if key not in known:
            raise unknown(f"key of {what}", str(key), known)
    return dict(value)


def _list(what: str, value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise DistaffError(f"{what} must be a list, one entry a line with a dash before it, not {value!r}.")
    return value


def _seeds(seeds: Any) -> list[int]:
    """The seeds 0, 1, 2 for ``3``; a list is returned unchanged."""
    if isinstance(seeds, int) and seeds > MOST_RUNS:
        raise DistaffError(f"{seeds:,} seeds are more runs than the {MOST_RUNS:,} that a study may have.")
    numbers = list(range(seeds)) if isinstance(seeds, int) and not isinstance(seeds, bool) else seeds
    if not isinstance(numbers, list) or not numbers or not all(type(n) is int and n >= 0 for n in numbers):
        raise DistaffError(f"seeds are a number of them, or a list such as [0, 1, 2], not {seeds!r}.")
    return numbers


def _scale(scale: Any) -> float:
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < float("inf"):
        raise DistaffError(f"scale must be a positive number, not {scale!r}.")
    return float(scale)


def _observations(count: Any) -> int | None:
    if count is not None and (type(count) is not int or count < 2):
        raise DistaffError(
            f"observations are how many to score, 2 or more, or all if left out, not {count!r}."
        )
    return count


def _switch(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise DistaffError(f"{name} must be true or false, not {value!r}.")
    return value


def _file_name(name: Any) -> str:
    if not isinstance(name, str) or not name or "/" in name or "\\" in name or name.startswith("."):
        raise DistaffError(f"a study's name becomes that of a folder, which {name!r} cannot be.")
    return name
