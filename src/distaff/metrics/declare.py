"""How a metric is declared: a plain function, a card that describes it, and named protocols.

A metric is an ordinary function with its own keyword arguments; ``None`` means "the protocol's value".

    PROTOCOLS = {"kim18": Voting(votes=800, size=100), "locatello19": Voting(votes=10_000, size=64)}

    @metric(paper="Kim & Mnih 2018", protocols=PROTOCOLS, bounds=(0, 1))
    def factor_vae_score(codes, factors, *, protocol="kim18", votes=None, ..., bootstrap=0, seed=0) -> Score:
        settings, protocol = settle(PROTOCOLS, protocol, votes=votes, ...)

What an option may hold is said once, by the type of the protocol's field (``distaff.metrics.options``).
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from distaff.foundation.errors import unknown
from distaff.metrics.intervals import HALF, Inputs, with_intervals
from distaff.metrics.options import check, declared

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Function = TypeVar("Function", bound=Callable[..., Any])
Settings = TypeVar("Settings", bound="DataclassInstance")


@dataclass(frozen=True)
class Card:
    """What a reader should know about a metric before using it.

    Args:
        name: the function's name.
        summary: the first line of its docstring.
        paper: where it comes from.
        inputs: what it reads. Only metrics of one model's codes appear in ``evaluate``.
        posterior: whether it needs q(z|x), that is log-variances: ``"yes"``, or not (``"no"``), or it is
            ``"optional"``: some protocols need it, or all use it if it is given.
        posterior_protocols: the protocols that need it, where only some do.
        bounds: the range of values.
        direction: whether higher or lower is better.
        presets: the settings of each protocol by its name, the default first.
        default: whether it belongs to the default table of ``evaluate``.
    """

    name: str
    summary: str
    paper: str
    inputs: Inputs
    posterior: Literal["no", "optional", "yes"]
    bounds: tuple[float, float]
    direction: Literal["higher", "lower"]
    presets: Mapping[str, Any]
    default: bool
    posterior_protocols: tuple[str, ...] = ()

    @property
    def protocols(self) -> tuple[str, ...]:
        """The names of the presets."""
        return tuple(self.presets)


def metric(
    *,
    paper: str,
    protocols: Mapping[str, Any],
    bounds: tuple[float, float] = (0.0, math.inf),
    direction: Literal["higher", "lower"] = "higher",
    inputs: Inputs = "codes and factors",
    posterior: Literal["no", "optional", "yes"] = "no",
    default: bool = True,
    posterior_protocols: tuple[str, ...] = (),
    shares: Sequence[float] = HALF,
) -> Callable[[Function], Function]:
    """Attach a ``Card`` to a metric, check its options before it starts, let ``bootstrap=`` give intervals.

    The function computes its scores and nothing else: intervals come from scoring parts of the rows, the
    ``shares`` of ``distaff.metrics.intervals``. Its signature stays, ``bootstrap`` being there for readers.
    """
    allowed = declared(protocols)

    def attach(function: Function) -> Function:
        several = inputs == "several codes"  # such a metric makes its intervals by itself
        measured = function if several else with_intervals(function, inputs, bounds, shares)

        @wraps(function)
        def checked(*arrays: Any, **options: Any) -> Any:
            for name, value in options.items():
                if name in allowed and (value is not None or name not in optional):
                    check(name, value, allowed[name])
            return measured(*arrays, **options)

        optional = {p.name for p in signature(function).parameters.values() if p.default is None}
        summary = (function.__doc__ or "").strip().splitlines()[0]
        card = Card(
            function.__name__,
            summary,
            paper,
            inputs,
            posterior,
            bounds,
            direction,
            protocols,
            default,
            posterior_protocols,
        )
        checked.__dict__["card"] = card
        return cast(Function, checked)

    return attach


def card_of(function: Callable[..., Any]) -> Card:
    """The card of a metric."""
    card = getattr(function, "card", None)
    if not isinstance(card, Card):
        raise TypeError(f"{function!r} is not a metric: declare it with @metric.")
    return card


def metrics_in(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The metrics among a module's public names, by name."""
    public = {name: getattr(module, name) for name in module.__all__}
    return {name: value for name, value in public.items() if isinstance(getattr(value, "card", None), Card)}


def settle(
    protocols: Mapping[str, Settings],
    protocol: str,
    *,
    idle: Callable[[Settings], Collection[str]] = lambda _: (),
    **given: Any,
) -> tuple[Settings, str]:
    """The protocol's settings with the caller's values put in, and the name that says so.

    Values of ``None`` keep the protocol's. A changed value becomes part of the name
    (``"kim18 with votes=200"``), so that the same name never means two numbers. ``idle`` names the settings
    that have no effect beside the others: their values stay the protocol's and out of the name.
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
