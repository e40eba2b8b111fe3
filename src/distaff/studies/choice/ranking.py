"""Rank settings without labels: models should agree with each other and still explain the data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from distaff.analysis.explained import explained_variance
from distaff.data.splits import some
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import write_json
from distaff.foundation.progress import watched
from distaff.foundation.untrusted_files import parse_yaml, read_json
from distaff.metrics.active_latents import active_latents
from distaff.studies.bootstrap import difference_of
from distaff.studies.centrality import model_centrality
from distaff.studies.choice.plan import BATCH, OBSERVATIONS, VOTES
from distaff.studies.results import Results
from distaff.studies.selection import udr_scores
from distaff.studies.study_run import StudyRun
from distaff.studies.tables import grouped
from distaff.training.validation import PREFIX

KEPT = "measured.json"
"""File that keeps the measurements of runs, since comparing models takes a minute or two."""
MEASURED = ("reconstruction", "explained", "active", "udr", "centrality")
FEWEST_SEEDS = 3
"""Smallest number of seeds for which an interval is meaningful."""


@dataclass(frozen=True)
class Ranking:
    """The settings of a study, the best first.

    Args:
        settings: one row per setting: its ``label``, ``seeds``, the means of ``reconstruction`` (nats per
            held-out observation), ``explained``, ``active`` (latents), ``udr`` and ``centrality``, the
            ``score``, and how far it is ``behind`` the best, with ``low`` and ``high`` of the 95% interval.
        runs: one row per finished run, with ``label``, ``seed`` and the same numbers.
        weights: weights of each setting, including its recipe, by its label.
    """

    settings: pd.DataFrame
    runs: pd.DataFrame
    weights: Mapping[str, Mapping[str, Any]]

    @property
    def tied(self) -> list[str]:
        """The settings, the best first, that cannot be distinguished from the best: their intervals reach 0.

        A setting without any active latent is always worse than one with some, whatever the noise.
        """
        nothing = (self.settings["score"] <= 0) & (self.settings["score"].max() > 0)
        apart = (self.settings["low"] > 0) | nothing  # False if there is no interval
        return [str(label) for label in self.settings["label"][~apart]]

    @property
    def clear(self) -> bool:
        """Whether the best setting is best beyond noise."""
        return len(self.tied) == 1 and len(self.settings) > 1


def rank(results: Results, progress: bool = True) -> Ranking | None:
    """Rank the settings that have at least two finished runs; None if there are none.

    The score of a setting is A · E. A is the mean of UDR and ModelCentrality over its seeds: how far its
    models agree with each other and with all others. E is the fraction of the variance of held-out data that
    reconstructions explain. Either alone has a trivial optimum: models with one latent agree, and models
    without any pressure reconstruct well.
    """
    runs = measure(results, progress)
    rows, influences = [], {}
    for key, part in grouped(runs, ["label"]):
        if len(part) < 2:
            continue
        means = part[list(MEASURED)].mean()
        score, by_seed = scored(part)
        influences[key[0]] = by_seed
        rows.append({"label": key[0], "seeds": len(part), **means, "score": score})
    if not rows:
        return None
    table = pd.DataFrame(rows).sort_values("score", ascending=False, ignore_index=True, kind="stable")
    best = table["label"][0]
    behind = [_behind(influences[best], influences[label]) for label in table["label"]]
    table[["behind", "low", "high"]] = behind
    weights = {label(own): own for own in map(_own_weights(results), results.all_runs)}
    return Ranking(table, runs, weights)


def scored(part: pd.DataFrame) -> tuple[float, dict[int, float]]:
    """The score A · E of a setting, and each seed's contribution to it.

    The contributions have the score as their mean, and spread as the score would over new seeds: to first
    order, A · E changes by E · (A_s − A) + A · (E_s − E). A seed's UDR is its mean agreement with the n − 1
    others, so that all seeds share pairs and their UDRs are too similar. Spread by 2 (n − 1)/(n − 2) about
    their mean, they are the jackknife's pseudo-values of a mean over pairs (Efron & Stein 1981).

    Args:
        part: the runs of one setting, with ``seed``, ``udr``, ``centrality`` and ``explained``.
    """
    count = len(part)
    udr = part["udr"].to_numpy(np.float64).clip(0, 1)
    stretch = 2 * (count - 1) / (count - 2) if count > 2 else 1.0
    pairs = udr.mean() + stretch * (udr - udr.mean())
    agreement = (pairs + part["centrality"].to_numpy(np.float64)) / 2
    explained = part["explained"].to_numpy(np.float64).clip(0, 1)
    a, e = float(agreement.mean()), float(explained.mean())
    values = a * e + e * (agreement - a) + a * (explained - e)
    return a * e, {int(seed): float(value) for seed, value in zip(part["seed"], values, strict=True)}


def measure(results: Results, progress: bool = True) -> pd.DataFrame:
    """One row per finished run: its setting, and its measurements without labels."""
    weights = _own_weights(results)
    finished = [run for run in results.all_runs if run.state == "finished"]
    numbers = _kept(results.folder / KEPT, [run.key for run in finished])
    if numbers is None:
        numbers = _numbers(results, finished, progress)
        write_json(results.folder / KEPT, numbers)
    rows = [
        {"run": run.key, "label": label(weights(run)), "seed": run.settings["seed"], **numbers[run.key]}
        for run in finished
    ]
    return pd.DataFrame(rows, columns=["run", "label", "seed", *MEASURED])


def label(settings: Mapping[str, Any]) -> str:
    """The label of a setting: ``beta_vae beta 4``.

    >>> label({"recipe": "beta_vae", "beta": 4.0})
    'beta_vae beta 4'
    """
    weights = [f"{name} {value:g}" for name, value in settings.items() if name != "recipe"]
    return " ".join([str(settings["recipe"]), *weights])


def _own_weights(results: Results) -> Callable[[StudyRun], dict[str, Any]]:
    """A function from a run to its recipe and the weights that the study file gives for that recipe."""
    named: dict[str, dict[str, None]] = {}
    for entry in parse_yaml(results.study.source)["runs"]:
        named.setdefault(entry["recipe"], {}).update(dict.fromkeys(entry.keys() - {"recipe", "seed"}))
    return lambda run: {
        name: run.settings[name] for name in ("recipe", *sorted(named[run.settings["recipe"]]))
    }


def _behind(best: Mapping[int, float], other: Mapping[int, float]) -> tuple[float, float, float]:
    """How far a setting is behind the best, with the interval; no interval for too few seeds."""
    effect = difference_of(best, other)
    if best is other or effect.seeds < FEWEST_SEEDS:
        return (effect.value, np.nan, np.nan)
    return (effect.value, *effect.interval)


def _reconstruction(run: StudyRun) -> float:
    """−log p(x|z) of held-out data after the last step, in nats per observation."""
    line = run.last_line
    return float(line.get(f"{PREFIX}nll", np.nan))


def _explained(run: StudyRun) -> float:
    config = run.folder.read()
    kept, held_out = config.parts(run.whole_data)
    return explained_variance(run.model, some(kept if held_out is None else held_out, OBSERVATIONS))


def _numbers(results: Results, finished: list[StudyRun], progress: bool) -> dict[str, dict[str, float]]:
    """The measurements of each run; a model without an active latent agrees with none."""
    found, alive = {}, {}
    scores = udr_scores(results, rows=OBSERVATIONS)
    udr: dict[str, float] = dict(zip(scores["run"], scores["udr"], strict=True))
    for run in watched("measuring", finished, len(finished), progress):
        active = int(active_latents(run.encoded.standard_codes)[0].sum())
        if active:
            alive[run.key] = run.model
        values = (_reconstruction(run), _explained(run), active, udr.get(run.key, np.nan), 0.0)
        found[run.key] = dict(zip(MEASURED, map(float, values), strict=True))
    if len(alive) > 1:
        for key, value in model_centrality(alive, votes=VOTES, batch=BATCH).items():
            found[key]["centrality"] = value
    return found


def _kept(path: Path, keys: list[str]) -> dict[str, dict[str, float]] | None:
    """The measurements of an earlier call, if of exactly the same runs."""
    try:
        found = read_json(path) if path.is_file() else None
    except DistaffError:
        return None
    if not isinstance(found, dict) or list(found) != keys:
        return None
    try:
        return {key: {name: _or_nan(found[key][name]) for name in MEASURED} for key in keys}
    except (TypeError, KeyError, ValueError):
        return None


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else float(value)
