"""``@metric`` turns a formula into a public function with protocols, checked options and intervals.

A metric is a dataclass of settings, named protocols, and a formula of codes, factors and settings:

    @dataclass(frozen=True)
    class Voting:
        '''How votes are taken; each field is described under Args.'''

        votes: Count
        size: Annotated[int, Ge(2)]

    @metric(paper="Kim & Mnih 2018", protocols={"kim18": Voting(votes=800, size=100)}, bounds=(0, 1))
    def factor_vae_score(codes: Codes, factors: Factors, settings: Voting, seed: int) -> Result:
        '''Accuracy of guessing the fixed factor from the latent that varies least.'''

``distaff.metrics`` finds it automatically. The public function takes arrays of any kind and each setting as a
keyword, where ``None`` means the protocol's value; its signature and docstring list them all
(``distaff.metrics.signatures``).
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError, unknown
from distaff.metrics.card import UNLIMITED, Posterior, Topic, Width
from distaff.metrics.card import Card as Card
from distaff.metrics.card import card_of as card_of
from distaff.metrics.inputs import (
    Factors,
    IntArray,
    RealValued,
    aligned,
    as_codes,
    check_index,
    refuse_constant,
)
from distaff.metrics.intervals import HALF, checked_draws, with_intervals
from distaff.metrics.labels import hard_labels, read_labels
from distaff.metrics.missing_labels import all_labelled, joined, one_by_one, parts
from distaff.metrics.options import check, declared
from distaff.metrics.result import Breakdown, Result
from distaff.metrics.sampled import means_only_note
from distaff.metrics.score import Score
from distaff.metrics.signatures import public_docstring, public_signature, wrong_call

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")


def metric(
    *,
    paper: str,
    protocols: Mapping[str, Settings],
    bounds: tuple[float, float] = (0.0, math.inf),
    direction: Literal["higher", "lower"] = "higher",
    posterior: Posterior = "no",
    returns: type = Score,
    idle: Callable[[Settings, Codes], Collection[str]] = lambda settings, codes: (),
    shares: Sequence[float] = HALF,
    by_factor: bool | Literal["within"] = False,
    says: Topic | Mapping[str, Topic] = "other",
    usual: bool = True,
    widest: Width | Mapping[str, Width] = UNLIMITED,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Turn a formula into a public metric; ``Card`` describes the arguments.

    The formula is called with what its parameter names ask for: ``codes``; ``factors``, or ``labels`` if it
    also accepts soft ones; or ``models``, the codes of several models by name; ``settings``; ``seed`` if it
    is random. Its keyword-only parameters become options. It returns a ``Result``, or a dict of several by
    score name.
    """
    allowed = declared(protocols)

    def publish(formula: Callable[..., Any]) -> Callable[..., Any]:
        card = Card(
            formula,
            paper,
            protocols,
            bounds,
            direction,
            posterior,
            returns,
            idle,
            shares,
            by_factor,
            says,
            usual,
            widest,
        )
        shape = public_signature(formula, protocols, returns)

        @wraps(formula)
        def public(*arrays: Any, **options: Any) -> Any:
            try:
                call = shape.bind(*arrays, **options)
            except TypeError as problem:
                raise wrong_call(card.name, shape, options, problem) from None
            for name, value in call.arguments.items():
                if name in allowed and value is not shape.parameters[name].default:
                    check(name, value, allowed[name])
            call.apply_defaults()
            return _scored(card, call.arguments)

        vars(public).update(card=card, __signature__=shape)
        public.__annotations__ = {name: p.annotation for name, p in shape.parameters.items()}
        public.__annotations__["return"] = shape.return_annotation
        public.__doc__ = public_docstring(card.formula, shape, type(protocols[card.protocols[0]]))
        return public

    return publish


def resolve_protocol(
    protocols: Mapping[str, Settings],
    protocol: str,
    *,
    idle: Callable[[Settings], Collection[str]] = lambda _: (),
    **given: Any,
) -> tuple[Settings, str]:
    """The protocol's settings with the caller's values, and the name of the combination.

    ``None`` keeps the protocol's value. A changed value becomes part of the name
    (``"kim18 with votes=200"``), so that one name never means two numbers. ``idle`` returns the settings that
    have no effect given the others: they keep the protocol's values and are not part of the name.
    """
    if protocol not in protocols:
        raise unknown("protocol", protocol, protocols)
    preset = protocols[protocol]
    changes = {
        key: value for key, value in given.items() if value is not None and value != getattr(preset, key)
    }
    without_effect = idle(replace(preset, **changes))
    changes = {key: value for key, value in changes.items() if key not in without_effect}
    if not changes:
        return preset, protocol
    listed = ", ".join(f"{key}={value}" for key, value in changes.items())
    return replace(preset, **changes), f"{protocol} with {listed}"


def _scored(card: Card, given: Mapping[str, Any]) -> Any:
    """Compute the score or scores of a call whose options have been checked."""
    draws = checked_draws(given["bootstrap"]) if given["bootstrap"] else 0
    takes = card.takes
    whole = _read(card, given)
    codes = whole["codes"] if "codes" in whole else next(iter(whole["models"].values()))
    settings, protocol = resolve_protocol(
        card.presets,
        given["protocol"],
        idle=lambda changed: card.idle(changed, codes),
        **{name: given[name] for name in vars(card.presets[card.protocols[0]])},
    )
    own = {name: given[name] for name, parameter in takes.items() if parameter.kind is parameter.KEYWORD_ONLY}

    def result(read: Mapping[str, Any], seed: int) -> dict[str, Result]:
        drawing = {"seed": seed} if "seed" in takes else {}
        found = card.formula(**read, settings=settings, **drawing, **own)
        return {card.name: found} if isinstance(found, Result) else found

    def results(read: Mapping[str, Any], seed: int) -> dict[str, Result]:
        if "factors" not in read or card.by_factor == "within":
            return result(read, seed)
        if not read["factors"].missing.any():
            return result(_as_taken(takes, read["codes"], read["factors"]), seed)
        cut = parts(read["codes"], read["factors"])
        each = [result(_as_taken(takes, part.codes, part.factors), seed) for part in cut]
        return joined([part.columns for part in cut], each)

    try:
        found = results(whole, given["seed"])
    except RealValued:
        codes, factors = aligned(given["codes"], given["factors"])
        codes, factors = _paired(card, codes, factors.without_real())
        whole = {**whole, "codes": codes, "factors": factors}
        found = results(whole, given["seed"])
    if draws:
        found = with_intervals(
            card,
            found,
            lambda rows, seed: results(_part(card, whole, rows), seed),
            count=len(codes),
            draws=draws,
            seed=given["seed"],
            labelled=_fewest_labels(whole),
        )
    labels = whole.get("factors", whole.get("labels"))
    notes = () if labels is None else labels.notes
    if card.posterior == "yes":
        notes += means_only_note(codes)
    stored = {**asdict(settings), **({"seed": given["seed"]} if "seed" in takes else {})}
    scores = {
        name: Score(
            name=card.name if card.returns is dict else name,
            value=float(result.value),
            protocol=protocol,
            direction=card.direction,
            settings={**stored, **result.settings},
            per_factor=None if labels is None else _named(labels.names, result.per_factor),
            per_latent=_named(codes.names, result.per_latent),
            interval=result.interval,
            details=result.details,
            notes=notes + result.notes,
        )
        for name, result in found.items()
    }
    if card.returns is dict:
        return scores
    return scores[card.name] if card.returns is Score else card.returns(*scores.values())


def _read(card: Card, given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the caller's arguments to what the formula reads: codes, and factors or soft labels."""
    takes = card.takes
    if "labels" in takes and (given["factors"] is None or given["probabilities"] is not None):
        codes, labels = read_labels(given["codes"], given["factors"], given["probabilities"])
        return {"codes": codes, "labels": labels}
    if "factors" in takes or "labels" in takes:
        codes, factors = _paired(card, *aligned(given["codes"], given["factors"]))
        return {"codes": codes, "factors": factors}
    if "codes" in takes:
        return {"codes": as_codes(given["codes"], given["logvar"])}
    models = given["models"]
    named = models if isinstance(models, Mapping) else {f"model{i}": codes for i, codes in enumerate(models)}
    read = {name: as_codes(codes) for name, codes in named.items()}
    check_index(None, named, "the models")
    if len(read) < 2:
        raise DistaffError(f"{card.name} compares models: give the codes of at least two.")
    if len({len(codes) for codes in read.values()}) > 1:
        raise DistaffError(
            f"{card.name} compares models on the same observations: their codes differ in length."
        )
    return {"models": read}


def _paired(card: Card, codes: Codes, factors: Factors) -> tuple[Codes, Factors]:
    """Codes and factors of the same rows; missing labels are kept if the metric reads factors one by one."""
    if not factors.missing.any():
        refuse_constant(factors.names, factors.sizes)
        return codes, factors
    return one_by_one(codes, factors) if card.by_factor else all_labelled(codes, factors)


def _as_taken(takes: Mapping[str, Any], codes: Codes, factors: Factors) -> dict[str, Any]:
    """Codes and factors as keyword arguments of the formula."""
    return {
        "codes": codes,
        **({"labels": hard_labels(factors)} if "labels" in takes else {"factors": factors}),
    }


def _part(card: Card, whole: Mapping[str, Any], rows: IntArray) -> dict[str, Any]:
    """The formula's inputs for some of the observations; an error if these cannot be scored."""
    if "models" in whole:
        return {"models": {name: as_codes(codes[rows]) for name, codes in whole["models"].items()}}
    codes = as_codes(whole["codes"][rows])
    if "labels" in whole:
        return {"codes": codes, "labels": whole["labels"].select(rows)}
    if "factors" in whole:
        codes, factors = _paired(card, codes, whole["factors"].select(rows))
        return {"codes": codes, "factors": factors}
    return {"codes": codes}


def _fewest_labels(whole: Mapping[str, Any]) -> int | None:
    """The number of labels of the factor that has fewest, if the formula reads factors."""
    if "factors" not in whole:
        return None
    return int((~np.isnan(whole["factors"].values)).sum(axis=0).min())


def _named(names: Sequence[str], values: Breakdown | None) -> Mapping[str, float] | None:
    if isinstance(values, np.ndarray):
        return dict(zip(names, values.tolist(), strict=True))
    return values
