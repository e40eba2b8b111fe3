"""The checks: each examines one thing, and returns nothing if that is in order.

To add a check, write one function here: it takes a ``RunEvidence`` and returns a ``Finding`` or None.
"""

import math
import shlex

from distaff.analysis.doctor.finding import Finding, note, problem
from distaff.analysis.doctor.run_evidence import RunEvidence
from distaff.foundation.errors import DistaffError
from distaff.objectives.objective import FunctionTerm, Objective, Term
from distaff.objectives.schedules import Schedule

UNUSED = 0.01
"""Information in nats below which a latent is unused, as in the FactorVAE score's pruning."""
TOO_SMALL = 0.5
"""Total information in nats below which z cannot distinguish two observations with any certainty."""
SATURATED, GUESSING = 0.95, 0.55
"""Accuracies of a critic that is nearly always right, and of one that has learnt nothing."""
NOTICEABLE = 0.5
"""Divergence in nats that a useful critic detects, with about 70% accuracy."""
APART = 1.0
"""Nats by which two estimates of the same quantity may differ."""


def divergence(p: RunEvidence) -> Finding | None:
    """A term or weight that became non-finite."""
    if p.divergence is None:
        return None
    kept = f"the checkpoint of step {p.step} is good" if p.step else "there is no good checkpoint"
    return problem(
        f"training diverged: {p.divergence} became infinite or not a number; {kept}.",
        "a step was so large that numbers overflowed, or a term took the logarithm or the inverse of 0.",
        f"a lower learning rate (it is {_rate(p)}) or smaller weights, in another folder; in your own terms, "
        "stay in log space and keep variances away from 0.",
    )


def unfinished(p: RunEvidence) -> Finding | None:
    """A run with steps left."""
    steps = p.config.training.steps
    if p.step >= steps or p.divergence or p.damages:
        return None
    done = (
        f"step {p.step:,} of {steps:,} is the last that was kept" if p.step else "there is no checkpoint yet"
    )
    if p.being_trained:
        return note(f"{done}, and another process is training now.", "the run is going on.", "wait for it.")
    return problem(
        f"the run is unfinished: {done}.",
        "it was stopped or killed; what was kept is not lost.",
        f"distaff resume {shlex.quote(str(p.folder.path))}",
    )


def damaged_checkpoint(p: RunEvidence) -> Finding | None:
    """A checkpoint whose files do not match their hashes."""
    if not p.damages:
        return None
    return problem(
        p.damages[-1].removesuffix(".") + ".",
        "its files have changed since they were written, by a failing disk or by hand.",
        f"distaff resume {shlex.quote(str(p.folder.path))}" if p.step else "train again into another folder.",
    )


def missing_data(p: RunEvidence) -> Finding | None:
    """Data that cannot be opened, or that have changed since training."""
    if not isinstance(p.data, DistaffError):
        return None
    unlooked = "without them the latents could not be looked at, and evaluate, report and resume need them."
    if p.config.data.spec is None and p.given is None:
        return note(
            "the run was trained on data given in Python.",
            unlooked,
            f"in Python: distaff.diagnose({str(p.folder.path)!r}, data)",
        )
    place = p.config.data.file or p.config.data.spec
    return problem(
        f"the data cannot be opened: {p.data}",
        unlooked,
        f"put back what was at {place}; official files are looked for in $DISTAFF_DATA.",
    )


def missing_recipe(p: RunEvidence) -> Finding | None:
    """A recipe of the user's own that cannot be imported."""
    if not isinstance(p.goal, DistaffError):
        return None
    return problem(
        str(p.goal),
        "the run's objective is code outside distaff, which resume and report need.",
        "call distaff from the folder that holds the module, or put that folder on PYTHONPATH.",
    )


def unused_latents(p: RunEvidence) -> Finding | None:
    """Some, but not all, latents whose posterior is the same for every observation."""
    if p.sample is None or _says_too_little(p):
        return None
    told = p.sample.information
    unused = [name for name, nats in told.items() if nats < UNUSED]
    if not unused:
        return None
    what = (
        f"{len(unused)} of {len(told)} latents are unused (under {UNUSED} nats about x): {', '.join(unused)}."
    )
    if len(unused) <= len(told) / 2:
        why = "the data may have no more factors than the other latents hold; metrics prune unused ones."
        return note(what, why, "nothing, unless factors are missing from the traversals.")
    return problem(
        what,
        f"their posterior is the same for every observation: {_pull(p)} costs more than they would save.",
        f"{_less_pull(p)}; or fewer latents, if the others hold all factors.",
    )


def kl_too_small(p: RunEvidence) -> Finding | None:
    """A posterior that is nearly the same for every observation, in all latents."""
    if p.sample is None or not _says_too_little(p):
        return None
    what = f"the latents hold {_told(p):.2g} nats in all: z says next to nothing about x."
    if _reconstruction_gain(p) < 0.05:
        return problem(
            what,
            "the reconstruction error has hardly fallen since the first line of the log either: training has "
            "not begun to learn.",
            f"more steps than {p.step:,}, another learning rate (it is {_rate(p)}), or smaller weights.",
        )
    own = (
        " In a recipe of your own, a mean over pixels in place of the sum makes every weight hundreds of "
        "times too large."
        if _is_own(p)
        else ""
    )
    why = f"{_pull(p)} costs more than z would save in reconstruction ({p.sample.nll:.4g} nats now).{own}"
    return problem(what, why, f"{_less_pull(p)}.")


def mean_for_sum(p: RunEvidence) -> Finding | None:
    """A user's own term that is a mean where it should be a sum."""
    if p.sample is None or not isinstance(p.goal, Objective):
        return None
    sums = {
        "the reconstruction error, averaged over pixels": (p.sample.nll, math.prod(p.sample.shape)),
        "the KL, averaged over latents": (p.sample.kl, len(p.sample.kl_per_latent)),
    }
    for weighted in p.goal.terms:
        value = p.recent(weighted.term.name)
        if _is_ours(weighted.term) or value is None:
            continue
        for meaning, (total, count) in sums.items():
            if count > 2 and total > 0.1 and abs(value * count / total - 1) < 0.25:
                return problem(
                    f"the term {weighted.term.name!r} ({value:.4g}) looks like {meaning}.",
                    f"losses are sums over pixels and latents ({total:.4g} here), and means over the batch "
                    f"alone: this one's weight is {count} times as small as it seems.",
                    "replace .mean() by .flatten(1).sum(1).mean(), or multiply by the number of values.",
                )
    return None


def saturated_critic(p: RunEvidence) -> Finding | None:
    """A critic that is nearly always right."""
    for term, accuracy in p.logged(".critic_accuracy").items():
        if accuracy > SATURATED:
            return problem(
                f"the critic of {term} is saturated: it is right {accuracy:.0%} of the time.",
                "the densities it compares hardly overlap, and a ratio read where one of them is 0 is no "
                "estimate: its value and its gradient mean little.",
                "a larger weight from the start, a smaller learning rate of the VAE, or a smaller critic.",
            )
    return None


def useless_critic(p: RunEvidence) -> Finding | None:
    """A critic that guesses although the densities differ."""
    for term, accuracy in p.logged(".critic_accuracy").items():
        bounds = p.sample and p.sample.bounds(term)
        if accuracy < GUESSING and bounds and bounds[0] > NOTICEABLE:
            return problem(
                f"the critic of {term} guesses: it is right {accuracy:.0%} of the time, though {term} is at "
                f"least {bounds[0]:.2g} nats.",
                "it has not learnt to tell the densities apart, and the term it estimates has no effect.",
                "a larger --critic.learning-rate, a larger batch, or more steps.",
            )
    return None


def total_correlations_disagree(p: RunEvidence) -> Finding | None:
    """An estimate of the total correlation in the log that cannot be right."""
    logged, sample = p.recent("total_correlation"), p.sample
    bounds = sample and sample.bounds("total_correlation")
    if sample is None or logged is None or not bounds or useless_critic(p) or saturated_critic(p):
        return None
    low, high = bounds
    if low - max(APART, low / 2) <= logged <= high + max(APART, high / 2):
        return None
    what = (
        f"training sees a total correlation of {logged:.2f} nats; over {len(sample.output.z):,} observations "
        f"it is between {low:.2f} and {high:.2f}."
    )
    why = "so what is minimised is not the total correlation." + " It is never negative." * (logged < 0)
    if "total_correlation" in p.logged(".critic_accuracy"):
        if 0 <= logged < low:
            return note(
                what,
                "critics see too little of it (Kim & Mnih 2018, Fig. 7): the penalty pulls less than γ says.",
                "a larger learning rate of the critic, or more steps.",
            )
        return problem(
            what, f"the critic is off, {why}", "a larger learning rate of the critic, or more steps."
        )
    return problem(
        what, f"the minibatch estimate of q(z) is off, {why}", "a larger batch size, or --density stratified."
    )


def _says_too_little(p: RunEvidence) -> bool:
    return p.sample is not None and _told(p) < TOO_SMALL


def _told(p: RunEvidence) -> float:
    """A bound on the nats that z tells about x, latent by latent."""
    assert p.sample is not None
    return sum(p.sample.information.values())


def _reconstruction_gain(p: RunEvidence) -> float:
    """The fraction by which the logged reconstruction error has fallen since the log's first line."""
    first, last = (p.log[0].get("nll", math.nan) if p.log else math.nan), p.recent("nll")
    return 1.0 if math.isnan(first) or last is None else (first - last) / max(abs(first), 1e-9)


def _weights(p: RunEvidence) -> dict[str, object]:
    arguments = p.config.recipe.arguments.items()
    return {name: value for name, value in arguments if isinstance(value, int | float | str) and value}


def _rate(p: RunEvidence) -> str:
    """The learning rate, a number or a schedule."""
    rate = p.config.training.learning_rate
    return str(rate) if isinstance(rate, Schedule) else f"{rate:g}"


def _pull(p: RunEvidence) -> str:
    said = ", ".join(f"{name} {value}" for name, value in _weights(p).items())
    return f"the penalty ({said})" if said else "the penalty"


def _less_pull(p: RunEvidence) -> str:
    numbers = {name: value for name, value in _weights(p).items() if isinstance(value, int | float)}
    if not numbers:
        return "smaller weights, or more steps"
    name, value = max(numbers.items(), key=lambda item: item[1])
    steps = max(1, p.config.training.steps // 2)
    return f"a smaller {name}, or one that grows: --{name.replace('_', '-')} linear:0:{value:g}:{steps}"


def _is_own(p: RunEvidence) -> bool:
    return ":" in p.config.recipe.name


def _is_ours(term: Term) -> bool:
    home = term.compute.__module__ if isinstance(term, FunctionTerm) else type(term).__module__
    return home.partition(".")[0] == "distaff"
