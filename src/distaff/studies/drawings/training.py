"""Looking back at training: logged terms, and scores of the snapshots along the way."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from distaff import figures
from distaff.codes import Codes
from distaff.data.dataset import Dataset
from distaff.data.splits import some
from distaff.errors import DistaffError, unknown
from distaff.evaluation import varied_factors
from distaff.files import write_json
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.evaluation import evaluate_scores
from distaff.metrics.informativeness import informativeness
from distaff.metrics.separability import total_correlation as tc_of_codes
from distaff.studies.drawings.runs import (
    Settings,
    Where,
    axis,
    best_of,
    chosen,
    data_of,
    grouped,
    model_of,
    sweep,
    varied,
)
from distaff.studies.results import Results
from distaff.studies.study_run import StudyRun
from distaff.training.checkpoint import kept

POINTS = 100
"""Log lines that a curve shows at most."""

Curve = dict[int, float]
"""Step → value."""


def through_training(
    results: Results,
    *,
    quantities: Sequence[str] = ("nll", "factor_vae_score"),
    curve: Settings = "recipe",
    point: Settings | None = None,
    where: Where = None,
    observations: int | None = 20_000,
) -> Figure:
    """Logged terms and scores through training: the FactorVAE paper's Fig. 4, 12, 23, 38 and 39.

    Args:
        results: of the study; scores need runs with ``snapshots``.
        quantities: terms by their name in the log (nll), or metrics (factor_vae_score), a row each.
        curve: the settings that tell columns apart.
        point: the settings that tell colours apart; by default those that vary within a column.
        where: settings that the runs must have.
        observations: how many random ones a snapshot is scored on; None takes all.
    """
    columns = sweep(chosen(results, where), curve, point)
    rows = {
        axis(quantity): {
            name: {
                value: [_curve(run, quantity, observations) for run in runs] for value, runs in along.items()
            }
            for name, along in columns.items()
        }
        for quantity in quantities
    }
    steps = _all_steps(
        c for row in rows.values() for along in row.values() for runs in along.values() for c in runs
    )
    curves = {
        quantity: {
            name: {value: _table(runs, steps) for value, runs in along.items()} for name, along in row.items()
        }
        for quantity, row in rows.items()
    }
    return figures.curves_by_setting(steps, curves, setting=_setting(results, where, curve, point))


def training_curves(
    results: Results,
    *,
    terms: Sequence[str] | None = None,
    curve: Settings | None = None,
    where: Where = None,
) -> Mapping[str, Figure]:
    """Logged terms as small multiples, mean and interval over seeds: the FactorVAE paper's Fig. 32, 33.

    Args:
        results: of the study.
        terms: by their names in the log; all by default.
        curve: the settings that tell figures apart; by default all that vary.
        where: settings that the runs must have.
    """
    runs = chosen(results, where)
    drawn = {}
    for name, members in grouped(runs, varied(runs) if curve is None else curve).items():
        logged = [t for t in members[0].log[-1] if t not in ("step", "seconds")]
        curves = {term: [_logged(run, term) for run in members] for term in terms or logged}
        steps = _all_steps(c for along in curves.values() for c in along)
        tables = {term: _table(along, steps) for term, along in curves.items()}
        drawn[str(name)] = figures.training_curves(steps, tables, title=str(name) or None)
    return drawn


def critic_accuracy(
    results: Results,
    *,
    term: str = "total_correlation.critic_accuracy",
    curve: Settings | None = None,
    where: Where = None,
) -> Figure:
    """The critic's accuracy through training, a line a setting: the FactorVAE paper's Fig. 24 and 37.

    Args:
        results: of the study.
        term: its name in the log.
        curve: the settings that tell lines apart; by default all that vary.
        where: settings that the runs must have.
    """
    runs = chosen(results, where)
    settings = varied(runs) if curve is None else curve
    lines = {
        name: [_logged(run, term) for run in members] for name, members in grouped(runs, settings).items()
    }
    steps = _all_steps(c for along in lines.values() for c in along)
    prefix = f"{settings[0]} = " if len(settings) == 1 else ""
    return figures.critic_accuracy(
        steps, {f"{prefix}{n}": _table(along, steps) for n, along in lines.items()}
    )


def total_correlation(
    results: Results,
    *,
    point: str = "gamma",
    where: Where = None,
    observations: int | None = None,
    samples: int = 2000,
) -> Figure:
    """The true total correlation beside the critic's estimate through training: the FactorVAE paper's Fig. 7.

    The true one is that of a snapshot's q(z), summed over the observations, at ``samples`` draws; the
    critic's is in the log.

    Args:
        results: of the study, whose runs have ``snapshots``.
        point: the setting that tells colours apart.
        where: settings that the runs must have.
        observations: how many random ones stand for the data; None takes all.
        samples: draws of z.
    """

    def measure(codes: Codes, _: Dataset) -> float:
        return tc_of_codes(codes, samples=samples).value

    groups = grouped(chosen(results, where), point)
    key = f"total_correlation {samples}"
    true = {v: [_snapshots(run, key, measure, observations) for run in runs] for v, runs in groups.items()}
    critic = {v: [_logged(run, "total_correlation") for run in runs] for v, runs in groups.items()}
    steps = _all_steps(c for panel in (true, critic) for along in panel.values() for c in along)
    tables = [{v: _table(along, steps) for v, along in panel.items()} for panel in (true, critic)]
    return figures.total_correlation(steps, *tables, setting=point)


def information_through_training(
    results: Results,
    *,
    score: str | None = None,
    where: Where = None,
    observations: int | None = 10_000,
    threshold: float = 0.1,
) -> Figure:
    """I(x; z_d) of every latent of one run through training: HFVAE Fig. 6.

    Args:
        results: of the study, whose runs have ``snapshots``.
        score: the run with the best value of it is drawn; the first run if none is given.
        where: settings that the run must have.
        observations: how many random ones are encoded; None takes all.
        threshold: a latent is kept when its last value lies above this many nats.
    """
    run = best_of(chosen(results, where), score)
    data = some(data_of(run), observations)
    steps = _snapshot_steps(run)
    found = [
        informativeness(model_of(run, step).encode(data.images), normalize=False).per_latent or {}
        for step in steps
    ]
    table = np.array([list(one.values()) for one in found])
    return figures.information_per_latent(steps, table, list(found[0]), threshold=threshold)


def _setting(results: Results, where: Where, curve: Settings, point: Settings | None) -> str:
    """What the colours stand for: the names of the settings that tell them apart."""
    if point is not None:
        return point if isinstance(point, str) else ", ".join(point)
    curves = [curve] if isinstance(curve, str) else list(curve)
    names = [
        name
        for members in grouped(chosen(results, where), curve).values()
        for name in varied(members)
        if name not in curves
    ]
    return " or ".join(dict.fromkeys(names))


def _curve(run: StudyRun, quantity: str, observations: int | None) -> Curve:
    """A term of the log, or a metric of the snapshots."""
    if quantity.partition(":")[0] not in all_metrics() or any(quantity in line for line in run.log[-1:]):
        return _logged(run, quantity)

    def measure(codes: Codes, data: Dataset) -> float:
        return evaluate_scores(codes, varied_factors(data), metrics=[quantity]).scores[0].value

    return _snapshots(run, quantity, measure, observations)


def _logged(run: StudyRun, term: str) -> Curve:
    """A term of the log, at most ``POINTS`` of its lines, each the mean since the one before."""
    lines = run.log
    if not lines or term not in lines[-1]:
        raise unknown("term in the log", term, lines[-1] if lines else ())
    parts = np.array_split(np.arange(len(lines)), min(POINTS, len(lines)))
    return {
        lines[part[-1]]["step"]: float(np.mean([lines[i].get(term, np.nan) for i in part])) for part in parts
    }


def _snapshots(
    run: StudyRun, key: str, measure: Callable[[Codes, Dataset], float], observations: int | None
) -> Curve:
    """A number of every snapshot's codes; what was measured once is kept beside the snapshots."""
    file = run.folder.snapshots / "measured.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    found: dict[str, float] = known.setdefault(f"{key}, {observations or 'all'} observations", {})
    missing = [step for step in _snapshot_steps(run) if str(step) not in found]
    data = some(data_of(run), observations)
    for step in missing:
        found[str(step)] = float(measure(model_of(run, step).encode(data.images), data))
    if missing:
        write_json(file, known)
    return {int(step): value for step, value in found.items()}


def _snapshot_steps(run: StudyRun) -> list[int]:
    steps = list(kept(run.folder.snapshots))
    if not steps:
        raise DistaffError(
            f"{run.folder.path} has no snapshots, and scores through training are those of snapshots: "
            "add snapshots: 30 under common."
        )
    return steps


def _all_steps(curves: Iterable[Curve]) -> list[int]:
    return sorted({step for curve in curves for step in curve})


def _table(curves: Sequence[Curve], steps: Sequence[int]) -> np.ndarray:
    """(S, T) a row a run; NaN at steps where it has no value."""
    return np.array([[curve.get(step, np.nan) for step in steps] for curve in curves])
