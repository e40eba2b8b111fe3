"""What is wrong with a command line, in one sentence; the parser itself prints a box of fifteen lines."""

import dataclasses
import difflib
import inspect
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from distaff.foundation.binding import options_of, read_value, takes_list, wanted
from distaff.foundation.errors import DistaffError
from distaff.foundation.other_words import called_here

SEVERAL = 1_000_000
"""Number of values of a flag that takes any number of them."""
SHOWN = 60
"""Maximum number of typed characters that a message repeats."""


@dataclass(frozen=True)
class Flag:
    """A command-line flag.

    Args:
        hint: the type of its value; None for a switch, which has no value.
    """

    hint: Any

    @property
    def arity(self) -> int:
        """The number of values it takes."""
        if self.hint is None:
            return 0
        for option in options_of(self.hint):
            if typing.get_origin(option) is tuple and Ellipsis not in typing.get_args(option):
                return len(typing.get_args(option))
        return SEVERAL if takes_list(self.hint) else 1

    @property
    def _kind(self) -> str:
        """The type of its values, in words."""
        options = [option for option in options_of(self.hint) if option is not type(None)]
        return " or ".join(wanted(typing.get_args(o)[0] if takes_list(o) else o) for o in options)

    def check(self, name: str, values: Sequence[str]) -> None:
        """Raise if these are not valid values."""
        if self.hint is None:
            return
        if len(values) < self.arity and (self.arity < SEVERAL or not values):
            count = "a value" if self.arity in (1, SEVERAL) else f"{self.arity} values"
            found = f", not {' '.join(values)!r}" if values else ""
            raise DistaffError(f"{name} needs {count}{found}: {self._kind}.")
        if values[0] != "None" or type(None) not in options_of(self.hint):
            read_value(list(values) if self.arity > 1 else values[0], self.hint, name)


def complaint(prog: str, arguments: Sequence[str], parameters: Sequence[inspect.Parameter]) -> DistaffError:
    """The error for a command line that the parser refused."""
    hints = {p.name: strip(p.annotation) for p in parameters}
    flags = {
        name: flag
        for p in parameters
        if not _placed(p)
        for name, flag in _flags(p.name, hints[p.name], p.default)
    }
    placed = [p.name for p in parameters if _placed(p)]
    try:
        rest = _check_flags(prog, arguments, flags)
        for name, value in zip(placed, rest, strict=False):
            Flag(hints[name]).check(name, [value])
    except DistaffError as problem:
        return problem
    help_ = f"{prog} --help says what it takes"
    if len(rest) < len(placed):
        return DistaffError(f"{prog} needs the argument {placed[len(rest)].upper()}: {help_}.")
    if len(rest) > len(placed):
        return DistaffError(f"{_short(rest[len(placed)])} is one argument too many: {help_}.")
    return DistaffError(f"{_short(' '.join(arguments))} is not understood: {help_}.")


def _check_flags(prog: str, arguments: Sequence[str], flags: Mapping[str, Flag]) -> list[str]:
    """Raise an error for the first wrong flag; otherwise return the positional arguments."""
    rest, waiting = [], list(arguments)
    while waiting:
        token = waiting.pop(0)
        if not _is_flag(token):
            rest.append(token)
            continue
        typed, equals, value = token.partition("=")
        name = typed.replace("_", "-")
        if name not in flags:
            near = difflib.get_close_matches(name, flags, n=2, cutoff=0.7)
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            meant = called_here(name.removeprefix("--").replace("-", "_"))
            if meant is not None and f"--{meant.partition(',')[0].replace('_', '-')}" in flags:
                hint = f"it is called --{meant.replace('_', '-')} here; "
            raise DistaffError(f"{prog} has no flag {_short(typed)}: {hint}{prog} --help lists all.")
        flag = flags[name]
        if equals and flag.hint is None:
            raise DistaffError(f"{typed} is a switch and takes no value, not {_short(value)}.")
        values = [value] if equals else []
        while not equals and waiting and len(values) < flag.arity and not _is_flag(waiting[0]):
            values.append(waiting.pop(0))
        flag.check(typed, values)
    return rest


def _flags(name: str, hint: Any, default: Any) -> Iterator[tuple[str, Flag]]:
    """The flags of a parameter: one, or one per field of a group of settings."""
    typed = name.replace("_", "-")
    group = next((o for o in options_of(hint) if isinstance(o, type) and dataclasses.is_dataclass(o)), None)
    if group is not None:
        kinds = typing.get_type_hints(group)
        for field in dataclasses.fields(group):
            yield from _flags(f"{name}.{field.name}", kinds[field.name], getattr(default, field.name, None))
    elif hint is bool:
        yield f"--{typed}", Flag(None)
        head, dot, last = typed.rpartition(".")
        yield f"--{head}{dot}no-{last}", Flag(None)
    else:
        yield f"--{typed}", Flag(hint)


def strip(hint: Any) -> Any:
    """A type without its annotations."""
    return strip(typing.get_args(hint)[0]) if typing.get_origin(hint) is typing.Annotated else hint


def _placed(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty


def _is_flag(token: str) -> bool:
    """Whether a token is a flag; negative numbers are not."""
    return token.startswith("--") and len(token) > 2


def _short(text: str) -> str:
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
