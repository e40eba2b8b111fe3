"""The ``--help`` text of a command: its flags by topic, with their kinds and defaults."""

import dataclasses
import inspect
import shutil
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Literal

from distaff.foundation.binding import options_of, takes_list

KINDS = {int: "INT", float: "NUMBER", str: "TEXT", bool: "true|false"}
INDENT, COLUMN = 2, 28
WIDEST, NARROWEST = 110, 60
"""Largest and smallest number of characters per line."""


@dataclass(frozen=True)
class Described:
    """An argument of a command."""

    parameter: inspect.Parameter
    words: str

    @property
    def placed(self) -> bool:
        """Whether it is positional, that is, typed without a flag."""
        return self.parameter.default is inspect.Parameter.empty


def help_text(
    prog: str,
    summary: str,
    arguments: Sequence[Described],
    topics: Mapping[str, Sequence[str]],
    pairs: bool = False,
) -> str:
    """The help text of a command.

    Args:
        prog: the name of the command.
        summary: what it does, in one sentence.
        arguments: its arguments.
        topics: title → the arguments under it; arguments without a topic are listed under the topic that
            names none, or under "other flags".
        pairs: show both ``--name`` and ``--no-name`` for a switch that is on by default.
    """
    placed = [one for one in arguments if one.placed]
    usage = " ".join([f"usage: {prog}", *(_placeholder(one.parameter) for one in placed), "[flags]"])
    rest = next((title for title, names in topics.items() if not names), "other flags")
    groups: dict[str, list[Described]] = {title: [] for title in topics}
    for one in arguments:
        if not one.placed:
            title = next((t for t, names in topics.items() if one.parameter.name in names), rest)
            groups.setdefault(title, []).append(one)
    lines = [usage, "", *wrap(summary, _width()), ""]
    lines += [line for one in placed for line in _entry(_placeholder(one.parameter), one.words)]
    for title, members in groups.items():
        if members:
            lines += [*[""] * bool(lines[-1]), f"{title}:"]
            lines += [line for one in members for line in _flag_lines(one, pairs)]
    return "\n".join(lines)


def _flag_lines(one: Described, pairs: bool) -> Iterator[str]:
    parameter = one.parameter
    options = options_of(parameter.annotation)
    settings = next((o for o in options if isinstance(o, type) and dataclasses.is_dataclass(o)), None)
    if settings is None or str in options or hasattr(settings, "parse"):
        yield from _entry(*_flag(parameter.name, parameter.annotation, parameter.default, one.words, pairs))
        return
    yield from _entry(f"--{parameter.name.replace('_', '-')}.…", one.words)
    hints, words = typing.get_type_hints(settings), described(settings)
    for field in dataclasses.fields(settings):
        default = getattr(parameter.default, field.name, None)
        name = f"{parameter.name}.{field.name}"
        yield from _entry(*_flag(name, hints[field.name], default, words.get(field.name, ""), pairs))


def _flag(name: str, hint: Any, default: Any, words: str, pairs: bool) -> tuple[str, str]:
    """A flag as it is typed, and its description."""
    typed = name.replace("_", "-")
    if options_of(hint) == (bool,):
        if default is True:
            return (f"--{typed}, --no-{typed}", words) if pairs else (f"--no-{typed}", f"do not {words}")
        return f"--{typed}", words
    if default is not None and default != "" and default != ():
        shown = " ".join(map(str, default)) if isinstance(default, tuple | list) else str(default)
        words = f"{words.rstrip('.')} (default: {shown})"
    return f"--{typed} {kind_of(hint)}", words


def kind_of(hint: Any) -> str:
    """The placeholder for the value of a flag.

    >>> kind_of(int | None), kind_of(tuple[float, float] | None), kind_of(Literal["bce", "l2"])
    ('INT', 'NUMBER NUMBER', 'bce|l2')
    """
    kinds: dict[str, None] = {}
    for option in options_of(hint):
        if option in KINDS:
            kinds[KINDS[option]] = None
        elif typing.get_origin(option) is Literal:
            kinds |= dict.fromkeys(map(str, typing.get_args(option)))
        elif typing.get_origin(option) is tuple and Ellipsis not in typing.get_args(option):
            kinds[" ".join(kind_of(part) for part in typing.get_args(option))] = None
        elif option is not type(None) and hasattr(option, "parse"):
            kinds[option.__name__.upper()] = None
    if len(kinds) > 1 and "TEXT" in kinds and "NUMBER" not in kinds and "INT" not in kinds:
        kinds = {"TEXT": None}
    return "|".join(kinds) or "TEXT"


def described(thing: Any) -> dict[str, str]:
    """The description of each argument in a docstring, as one line each."""
    import docstring_parser

    found = docstring_parser.parse(thing.__doc__ or "").params
    return {one.arg_name: " ".join((one.description or "").replace("``", "").split()) for one in found}


def _placeholder(parameter: inspect.Parameter) -> str:
    name = parameter.name.upper()
    return f"{name} …" if takes_list(parameter.annotation) else name


def _entry(typed: str, words: str) -> Iterable[str]:
    lines = wrap(words, _width() - COLUMN) or [""]
    head = f"{'':{INDENT}}{typed}"
    if len(head) + 2 > COLUMN:
        return [head, *(f"{'':{COLUMN}}{line}" for line in lines)]
    return [f"{head:{COLUMN}}{lines[0]}", *(f"{'':{COLUMN}}{line}" for line in lines[1:])]


def _width() -> int:
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))
