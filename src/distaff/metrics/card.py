"""``Card``: the description of a metric, which ``@metric`` attaches to its function."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, Literal, Protocol

from distaff.codes import Codes

Width = tuple[int, str]
"""A maximum number of latents, and what takes too long with more of them."""
UNLIMITED: Mapping[str, Width] = {}
Reads = Literal["codes", "codes and factors", "several codes"]
Posterior = Literal["no", "used if given", "yes"] | tuple[str, ...]
Topic = Literal[
    "both", "compactness", "modularity", "explicitness", "information", "independence", "use", "other"
]
TOPICS: Mapping[Topic, str] = {
    "both": "one latent for each factor, and one factor for each latent",
    "compactness": "one latent for each factor",
    "modularity": "one factor for each latent",
    "explicitness": "how well factors can be read",
    "information": "how much latents know of the data",
    "independence": "what latents share with each other",
    "use": "what the codes are good for",
    "other": "other scores",
}
"""What scores are about, in display order."""


@dataclass(frozen=True)
class Card:
    """The description of a metric.

    Args:
        formula: the function that computes the results.
        paper: the reference.
        presets: the settings of each protocol by name, the default first.
        bounds: the range of values.
        direction: whether higher or lower is better.
        posterior: whether the metric needs q(z|x), that is, log-variances: always, never, or optionally; or
            the protocols that need them.
        returns: the return type: ``Score``, a named tuple of scores, or ``dict`` for one score per model.
        idle: returns the settings that have no effect given the others and the codes (of the first model):
            they keep the protocol's value and are not part of the score's name.
        shares: the fractions of the rows to score for intervals, see ``distaff.metrics.intervals.errors``.
        by_factor: whether a missing label removes a row for its own factor only. True if the value is the
            mean of the values of the single factors; "within" if the formula handles factors one by one and
            treats class −1 as missing; False drops every row that lacks a label.
        says: the topic of the score, or of each score by name if there are several.
        usual: whether the metric is in the default table; slow or specialised metrics are not.
        widest: the largest number of latents for which ``evaluate`` computes the metric without being asked
            for it by name, and the step that takes more than a minute with more latents (for 20,000 rows on
            two cores) or too much memory; by protocol if protocols differ. A protocol without an entry has no
            limit.
        name: the function's name.
        limits: ``widest`` by protocol, None for no limit; the limit of None is that of the first protocol.
        inputs: what the metric reads. ``evaluate`` includes only metrics of one model's codes.
        protocols: the names of the presets.
    """

    formula: Callable[..., Any]
    paper: str
    presets: Mapping[str, Any]
    bounds: tuple[float, float]
    direction: Literal["higher", "lower"]
    posterior: Posterior
    returns: type
    idle: Callable[[Any, Codes], Collection[str]]
    shares: Sequence[float]
    by_factor: bool | Literal["within"]
    says: Topic | Mapping[str, Topic]
    usual: bool
    widest: Width | Mapping[str, Width]
    name: str = field(init=False)
    limits: Mapping[str | None, Width | None] = field(init=False)
    inputs: Reads = field(init=False)
    protocols: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        labelled = "factors" in self.takes or "labels" in self.takes
        inputs = "several codes" if "models" in self.takes else "codes and factors" if labelled else "codes"
        object.__setattr__(self, "name", self.formula.__name__)
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "protocols", tuple(self.presets))
        by_protocol = (
            self.widest if isinstance(self.widest, Mapping) else dict.fromkeys(self.presets, self.widest)
        )
        limits = {protocol: by_protocol.get(protocol) for protocol in self.protocols}
        object.__setattr__(self, "limits", {None: limits[self.protocols[0]], **limits})

    @cached_property
    def takes(self) -> Mapping[str, Parameter]:
        """The parameters of the formula by name."""
        return signature(self.formula).parameters

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.formula.__doc__ or "").strip().partition("\n")[0]

    @property
    def score_names(self) -> tuple[str, ...]:
        """The names of its scores; a metric may have several."""
        parts = getattr(self.returns, "_fields", None)
        if parts is None:
            return (self.name,)
        return (
            tuple(f"{self.name}_{part}" for part in parts) if isinstance(self.says, str) else tuple(self.says)
        )

    def topic(self, score: str) -> Topic:
        """The topic of one of its scores."""
        return self.says if isinstance(self.says, str) else self.says[score]

    @property
    def best(self) -> float:
        """The best possible value; infinite if the metric is unbounded."""
        return self.bounds[1] if self.direction == "higher" else self.bounds[0]


class Metric(Protocol):
    """A public metric: a function, and its card."""

    card: Card

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """The score or scores."""


def card_of(function: Callable[..., Any]) -> Card:
    """The card of a metric."""
    card = getattr(function, "card", None)
    if not isinstance(card, Card):
        raise TypeError(f"{function!r} is not a metric: declare it with @metric.")
    return card
