"""The names in a claim: settings, metrics and logged terms that the study's runs will have."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from distaff.data import names
from distaff.data.catalogue import about
from distaff.foundation.errors import DistaffError, unknown
from distaff.metrics.own_functions import metric_of
from distaff.objectives.critics import DensityRatio
from distaff.objectives.objective import Objective
from distaff.runs.calls import DataCall
from distaff.runs.request import RunRequest
from distaff.studies.claim_forms import Claim, Comparison, Correlation, Form, Quantity, Range, Trend, Where
from distaff.studies.grid import has_settings
from distaff.studies.own_metrics import column_of

LOG = "log."
"""Prefix of the name of a logged term, if a score has the same name."""
ALIASES = {"reconstruction_error": "reconstruction", "critic_tc": f"{LOG}total_correlation"}
GAME = (
    *("discriminator_loss", "generator_loss", "code_log_likelihood", "gradient_penalty"),
    *("accuracy_real", "accuracy_fake"),
)
"""Values that a run of a game logs."""


def with_known_names(
    claim: Claim, runs: Sequence[RunRequest], metrics: Sequence[str], scored_on: DataCall | None = None
) -> Claim:
    """The claim with the full names of its metrics; an error for names that the study does not have."""

    def known(quantity: Quantity) -> Quantity:
        chosen = _chosen(quantity.where, runs)
        return replace(quantity, metric=_metric(quantity.metric, chosen, metrics, scored_on))

    match claim.form:
        case Comparison(of=of, than=than, at_equal=at_equal):
            third = None if at_equal is None else known(replace(of, metric=at_equal)).metric
            form: Form = replace(claim.form, of=known(of), than=known(than), at_equal=third)
        case Correlation(first=first, second=second):
            form = replace(claim.form, first=known(first), second=known(second))
        case Trend(quantity=quantity, over=over):
            _check_numbers(over, _chosen(quantity.where, runs))
            form = replace(claim.form, quantity=known(quantity))
        case Range(quantity=quantity):
            form = replace(claim.form, quantity=known(quantity))
    return replace(claim, form=form)


def _chosen(where: Where, runs: Sequence[RunRequest]) -> list[RunRequest]:
    settings = {name for run in runs for name in run.settings}
    for name in where:
        if name not in settings:
            raise unknown("setting", name, settings)
    found = [run for run in runs if has_settings(run.settings, where)]
    if not found:
        wanted = ", ".join(f"{name} = {value}" for name, value in where.items()) or "any settings"
        raise DistaffError(f"the study has no run with {wanted}.")
    return found


def _check_numbers(over: str, runs: Sequence[RunRequest]) -> None:
    if not any(over in run.settings for run in runs):
        raise unknown("setting", over, {name for run in runs for name in run.settings})
    values = {run.settings.get(over) for run in runs}
    if not all(type(value) in (int, float) for value in values) or len(values) < 2:
        raise DistaffError(f"a trend is over several numbers, and {over} of these runs is not.")


def _metric(name: str, runs: Sequence[RunRequest], metrics: Sequence[str], scored_on: DataCall | None) -> str:
    """The full name of a quantity that these runs will have."""
    full = ALIASES.get(name, name)
    columns = [column for metric in metrics for column in _columns_of(metric)]
    if full in ("reconstruction", "kl", *columns):
        return full
    _, factor = factor_part(full, columns)
    if factor:
        factors = _factors([scored_on] if scored_on is not None else [run.data for run in runs])
        if factors and factor not in factors:
            raise unknown("factor", factor, factors)
        return full
    terms = _logged(runs)
    term = full.removeprefix(LOG)
    if term not in terms:
        known = [*columns, "reconstruction", "kl", *(f"{LOG}{term}" for term in terms), *ALIASES]
        raise unknown("metric", name, known)
    return f"{LOG}{term}"


def factor_part(name: str, columns: Iterable[str]) -> tuple[str, str]:
    """The column and the factor of a factor's part of a score; for any other name, the name and ``""``.

    >>> factor_part("rmig.scale", ["mig", "rmig"])
    ('rmig', 'scale')
    >>> factor_part("studies.mine:score.scale", ["studies.mine:score"])
    ('studies.mine:score', 'scale')
    """
    column = max((one for one in columns if name.startswith(f"{one}.")), key=len, default=name)
    return column, name[len(column) + 1 :]


def _columns_of(metric: str) -> list[str]:
    """The table's columns of a metric; some metrics have several scores."""
    card = metric_of(metric).card
    several = hasattr(card.returns, "_fields")
    return [column_of(metric, name) for name in card.score_names] if several else [metric]


def _factors(data: Iterable[DataCall]) -> list[str]:
    """The factors of named data sets; none if the catalogue only has their number."""
    known = names()
    specs = {str(one.spec) for one in data}
    found = dict.fromkeys(factor for spec in specs if spec in known for factor in about(spec).factors)
    return list(found) if all(factor.isidentifier() for factor in found) else []


def _logged(runs: Sequence[RunRequest]) -> set[str]:
    """The names of values that these runs will log."""
    found: set[str] = set()
    for recipe in {repr(run.recipe): run.recipe for run in runs}.values():
        goal = recipe.goal()
        if not isinstance(goal, Objective):
            found |= set(GAME)
            continue
        found.add("loss")
        for term in (weighted.term for weighted in goal.terms):
            critic = ("critic_loss", "critic_accuracy") if isinstance(term, DensityRatio) else ()
            found |= {term.name, *(f"{term.name}.{value}" for value in critic)}
    return found
