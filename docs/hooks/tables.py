"""What mkdocs takes from the code itself, so that no table of the documentation can go stale.

A page says ``<!-- from the code: recipe factor_vae -->`` where the text belongs.
"""

import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

import docstring_parser

from distaff import cli
from distaff.data import catalogue
from distaff.foundation.binding import public_functions
from distaff.metrics.catalogue import all_metrics, metrics_table
from distaff.metrics.metric import card_of
from distaff.models import infogan_networks, networks
from distaff.models.latent_kinds import KINDS
from distaff.models.latents import NOISE
from distaff.models.priors import named as priors
from distaff.objectives import densities, divergences, labels, recipes, terms
from distaff.objectives.objective import Term

MARK = re.compile(r"<!-- from the code: (\w+) ?(\S*) -->")
WRITERS: dict[str, Callable[..., str]] = {}


def writer(function: Callable[..., str]) -> Callable[..., str]:
    """Make a function known to the marks, by its name."""
    WRITERS[function.__name__] = function
    return function


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill the marks of a page."""
    return fill(markdown)


def fill(markdown: str) -> str:
    """A page's text with every mark replaced by what the code says."""
    return MARK.sub(lambda mark: WRITERS[mark[1]](*filter(None, [mark[2]])), markdown)


@writer
def recipe_table() -> str:
    """One row per recipe: its loss by default and where it comes from."""
    rows = [
        (f"[`{name}`](recipes.md#{name})", f"`{recipe()}`", _summary(recipe))
        for name, recipe in public_functions(recipes).items()
    ]
    return _table(("recipe", "loss, minimised (defaults)", "from"), rows)


@writer
def recipe(name: str) -> str:
    """What one recipe is, its sum of terms and its arguments."""
    function = public_functions(recipes)[name]
    objective = function()
    parts = [_summary(function), "", f"Terms: `{objective}`"]
    if len(inspect.signature(function).parameters):
        parts += ["", _table(("argument", "default", "meaning"), _arguments(function))]
    return "\n".join(parts)


@writer
def metric_table() -> str:
    """One row per metric: what it needs, its range, which way is better."""
    table = metrics_table()
    table["range"] = [_unbroken(text) for text in table["range"]]
    table["summary"] = [_plain(text) for text in table["summary"]]
    table["metric"] = [f"[`{name}`](metrics.md#{name})" for name in table["metric"]]
    columns = {"metric": "metric", "what it says": "summary", "labels": "needs labels"}
    columns |= {"q(z|x)": "needs q(z|x)", "range": "range", "better": "better"}
    return _table(tuple(columns), table[list(columns.values())].itertuples(index=False))


@writer
def metric(name: str) -> str:
    """What one metric is, what it needs, and its protocols with their settings."""
    function = all_metrics()[name]
    card = card_of(function)
    facts = metrics_table().set_index("metric").loc[name]
    line = (
        f"Range {facts['range']}, **{card.direction} is better**. Labels: {facts['needs labels']}. "
        f"q(z|x): {facts['needs q(z|x)']}. Latents: {facts['latents']}. {card.paper}. "
        f"[All arguments](api/metrics.md#{function.__module__}.{name})"
    )
    rows = [
        (f"`{protocol}`" + " (default)" * (number == 0), _settings(preset))
        for number, (protocol, preset) in enumerate(card.presets.items())
    ]
    return "\n".join([_plain(card.summary), "", line, "", _table(("protocol", "settings"), rows)])


@writer
def data_table() -> str:
    """One row per data set."""
    rows = []
    for name, (about, _) in catalogue.overview().items():
        sizes = set(about.factors.values())
        many = f"{len(about.factors)} attributes of {sizes} classes".replace("{", "").replace("}", "")
        factors = many if len(about.factors) > 10 else ", ".join(f"{f} {n}" for f, n in about.factors.items())
        how = "built in" if about.built_in else "official file"
        size = _unbroken(f"{about.count:,} × {about.shape}")
        rows.append((f"`{name}`", _plain(about.summary), size, _plain(factors), _unbroken(how)))
    return _table(("data set", "what", "observations", "factors", "how"), rows)


@writer
def data_terms() -> str:
    """One row per data set: whose it is and on which terms."""
    found = catalogue.overview().items()
    rows = [
        (f"`{name}`", *map(_plain, (about.licence, about.citation, about.source)))
        for name, (about, _) in found
    ]
    return _table(("data set", "licence", "cite", "source"), rows)


@writer
def data_options(name: str) -> str:
    """What a data set's ``load`` takes."""
    return _table(
        ("option", "default", "meaning"), _arguments(importlib.import_module(f"distaff.data.{name}").load)
    )


@writer
def network_table() -> str:
    """One row per pair of networks."""
    return _networks(networks)


@writer
def generator_table() -> str:
    """One row per GAN's networks."""
    return _networks(infogan_networks)


@writer
def prior_table() -> str:
    """One row per prior, with the numbers behind its name and the latents it fits."""
    rows = []
    for name, function in public_functions(priors).items():
        group, *numbers = inspect.signature(function).parameters.values()
        form = ":".join([name, *(f"{number.default:g}" for number in numbers)])
        fits = "discrete" if "Discrete" in str(group.annotation) or "|" in str(group.annotation) else "real"
        rows.append((f"`{form}`", fits, _summary(function)))
    return _table(("prior", "latents", "p(z)"), rows)


@writer
def latent_table() -> str:
    """One row per kind of latent."""
    rows = [(f"`{name}`", _summary(kind)) for name, kind in KINDS.items()]
    noise = "Of GANs: N(0, I) beside the codes, which no code holds; 62 by default."
    return _table(("latents", "what"), [*rows, (f"`{NOISE}`", noise)])


@writer
def density_table() -> str:
    """One row per estimator of q(z)."""
    rows = [
        (f"`{name}`", density.source.value, _written_below(densities, name))
        for name, density in densities.DENSITIES.items()
    ]
    return _table(("density", "posteriors of", "weights"), rows)


@writer
def divergence_table() -> str:
    """One row per divergence of q(z) from p(z)."""
    names = divergences.DIVERGENCES
    return _table(("divergence", "D"), [(f"`{name}`", _written_below(divergences, name)) for name in names])


@writer
def term_table() -> str:
    """One row per term that recipes share."""
    modules = (terms, labels)
    found = {n: value for module in modules for n, value in vars(module).items() if isinstance(value, Term)}
    return _table(("term", "value"), [(f"`{name}`", _summary(value)) for name, value in found.items()])


@writer
def command_table() -> str:
    """One row per command."""
    rows = [(f"`distaff {name}`", _summary(command)) for name, command in cli.COMMANDS.items()]
    return _table(("command", "what it does"), rows)


@writer
def arguments(place: str) -> str:
    """The arguments of any function, given as ``module:function``."""
    module, _, name = place.partition(":")
    return _table(
        ("argument", "default", "meaning"), _arguments(getattr(importlib.import_module(module), name))
    )


def _networks(module: ModuleType) -> str:
    rows = [(f"`{name}`", _summary(function)) for name, function in public_functions(module).items()]
    return _table(("network", "from"), rows)


def _summary(thing: Any) -> str:
    return _plain((inspect.getdoc(thing) or "").partition("\n\n")[0])


def _plain(text: str) -> str:
    """A docstring's words as Markdown shows them: ``H(z*, y_k)`` must not turn into italics."""
    parts = re.split(r"(`[^`]*`)", text.replace("``", "`").replace("\n", " "))
    return "".join(
        p if p.startswith("`") else re.sub(r"[][*_<|]", lambda c: f"&#{ord(c[0])};", p) for p in parts
    )


def _arguments(function: Callable[..., Any]) -> list[tuple[str, str, str]]:
    """(name, default, meaning) of each argument."""
    texts = {p.arg_name: p.description or "" for p in docstring_parser.parse(function.__doc__ or "").params}
    rows = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            rows.append((f"`{name}`", _default(parameter), _plain(texts.get(name, ""))))
    return rows


def _default(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is inspect.Parameter.empty:
        return "required"
    if dataclasses.is_dataclass(value) and type(value).__str__ is object.__str__:
        return ", ".join(f"`{f.name}={getattr(value, f.name)}`" for f in dataclasses.fields(value))
    return f"`{value}`"


def _settings(preset: Any) -> str:
    values = dataclasses.asdict(preset)
    return ", ".join(f"`{name}={value}`" for name, value in values.items() if value is not None)


def _written_below(module: ModuleType, name: str) -> str:
    """The text that stands below ``name = ...`` in a module's source."""
    found = re.search(rf'^{name} = .*\n"""(.*?)"""', inspect.getsource(module), re.M | re.S)
    return _plain(found[1]) if found else ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _unbroken(text: str) -> str:
    """Text that stays on one line."""
    return text.replace(" ", "\u00a0")


def _cell(text: str) -> str:
    """Text that a table can hold: ``q(z|x)`` outside code would end the cell."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("|", "&#124;") for part in parts)
