"""Helpers for drawings: groups of a study's runs, and each run's scores, settings and factors."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from distaff.analysis.evaluate import varied_factors
from distaff.foundation.errors import DistaffError, unknown
from distaff.metrics import Factors
from distaff.metrics.catalogue import all_metrics
from distaff.models.vae import VAE
from distaff.studies.grid import varied_settings
from distaff.studies.own_metrics import heading
from distaff.studies.results import Results
from distaff.studies.study_run import StudyRun

Where = Mapping[str, Any] | None
"""Settings that runs must have to be drawn; None for all runs."""

Settings = str | Sequence[str]
"""The name of one setting, or several names."""

LABELS = {
    "reconstruction": "reconstruction error (nats)",
    "nll": "reconstruction error (nats)",
    "factor_vae_score": "FactorVAE score",
    "z_diff": "Z-diff score",
    "kl": "KL to the prior (nats)",
    "informativeness": r"mean of $I(x; z_i)$ / log #bins",
    "total_information": r"$I(x; z)$ (nats)",
    "separability": r"mean of $I(z_i; z_{\neq i})$ (nats)",
    "total_correlation": "total correlation (nats)",
    "sepin": "SEPIN@3 (nats)",
    "wsepin": "WSEPIN (nats)",
    "rmig": "RMIG (nats)",
    "jemmig": "JEMMIG (nats)",
    "mig": "MIG",
    "sap": "SAP",
}


def axis(name: str) -> str:
    """The axis label of a quantity, such as ``mig:chen18``."""
    base, _, protocol = heading(name).partition(":")
    text = LABELS.get(base, base.replace("_", " ").replace("dci", "DCI"))
    return f"{text}, {protocol}" if protocol else text


def chosen(results: Results, where: Where = None) -> list[StudyRun]:
    """The finished runs with these settings, in the study's order; an error if there are none."""
    runs = results.runs(**(where or {}))
    if not runs:
        wanted = f" with {', '.join(f'{k} = {v}' for k, v in where.items())}" if where else ""
        raise DistaffError(f"{results.study.name} has no finished run{wanted} to draw.")
    return list(runs)


def varied(runs: Iterable[StudyRun]) -> list[str]:
    """The settings that take several values among the runs, except seeds."""
    all_settings = [run.settings for run in runs]
    recipes = {settings["recipe"] for settings in all_settings}
    return [*(["recipe"] if len(recipes) > 1 else []), *varied_settings(all_settings)]


def label(run: StudyRun, settings: Sequence[str]) -> Any:
    """A run in a few words: the value of a single setting, or of several with their names."""
    if len(settings) == 1:
        return _plain(run.settings.get(settings[0], f"no {settings[0]}"))
    parts = {name: _plain(run.settings[name]) for name in settings if run.settings.get(name) is not None}
    words = [str(value) if name == "recipe" else f"{name} {value}" for name, value in parts.items()]
    return " · ".join(words) or f"no {' or '.join(settings)}"


def grouped(runs: Iterable[StudyRun], settings: Settings) -> dict[Any, list[StudyRun]]:
    """Runs by the value of one or several settings, in order of appearance."""
    names = names_in(settings)
    groups: dict[Any, list[StudyRun]] = {}
    for run in runs:
        groups.setdefault(label(run, names), []).append(run)
    return groups


def sweep(
    runs: Iterable[StudyRun], curve: Settings, point: Settings | None = None
) -> dict[str, dict[Any, list[StudyRun]]]:
    """Curve → point on it → the runs of the point, which differ by their seeds.

    Args:
        runs: runs of a study.
        curve: settings that distinguish curves.
        point: settings that distinguish the points of a curve; by default all others that vary along it. If
            none does, the curve is a single point with the curve's name.
    """
    found = {}
    for name, members in grouped(runs, curve).items():
        others = [setting for setting in varied(members) if setting not in names_in(curve)]
        if point is None and not others:
            found[str(name)] = {str(name): members}
        else:
            found[str(name)] = grouped(members, others if point is None else point)
    return found


def varied_along(runs: Iterable[StudyRun], curve: Settings) -> list[str]:
    """The settings that vary within curves, other than those that distinguish the curves."""
    names = [name for members in grouped(runs, curve).values() for name in varied(members)]
    return [name for name in dict.fromkeys(names) if name not in names_in(curve)]


def one_each(
    results: Results, curve: Settings | None, score: str | None, where: Where
) -> dict[str, StudyRun]:
    """One run, the best or the first, for each value of the settings; by default of all that vary."""
    runs = chosen(results, where)
    names = names_in((varied(runs) or ["recipe"]) if curve is None else curve)
    prefix = f"{names[0]} = " if len(names) == 1 and isinstance(label(runs[0], names), int | float) else ""
    return {f"{prefix}{name}": best_of(members, score) for name, members in grouped(runs, names).items()}


def best_of(runs: Sequence[StudyRun], score: str | None) -> StudyRun:
    """The run with the best value of a score; the first one if no score is given."""
    if score is None:
        return runs[0]
    values = np.array([score_of(run, score) for run in runs])
    if np.isnan(values).all():
        raise DistaffError(f"no run has a value of {score}: name it under metrics, or draw without it.")
    return runs[int(np.nanargmin(values) if lower_is_better(score) else np.nanargmax(values))]


def score_of(run: StudyRun, score: str) -> float:
    """A run's score by its name in the table; NaN if it could not be computed, an error if not measured."""
    values = run.values
    if score not in values and score.partition(":")[0] not in run.skipped:
        raise unknown("score of the study", score, values)
    return values.get(score, float("nan"))


def number_of(run: StudyRun, setting: str) -> float:
    """A setting's value as a number; an error if the run does not have it."""
    if setting not in run.settings:
        raise unknown(f"setting of {run.settings['recipe']}", setting, run.settings)
    return float(run.settings[setting])


def lower_is_better(score: str) -> bool:
    """Whether lower is better: true for errors and KL; metrics define it themselves."""
    metric = all_metrics().get(score.partition(":")[0])
    return score in ("reconstruction", "kl") if metric is None else metric.card.direction == "lower"


def vae_of(run: StudyRun) -> VAE:
    """The trained VAE; an error for other models, which have no prior and no likelihood."""
    model = run.model.model
    if not isinstance(model, VAE):
        raise DistaffError(f"this figure is of VAEs, which {run.settings['recipe']} does not train.")
    return model


def factors_of(run: StudyRun) -> Factors:
    """The factors of the run's data that vary; an error for data without labels."""
    factors = varied_factors(run.data)
    if factors is None:
        raise DistaffError(f"{run.data.name} has no factors, which this figure is about.")
    return factors


def names_in(settings: Settings) -> list[str]:
    """The names of one or several settings."""
    return [settings] if isinstance(settings, str) else list(settings)


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
