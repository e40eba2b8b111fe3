"""Command lines generated from functions: parameters become flags, and docstrings their help."""

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from io import StringIO
from itertools import pairwise
from typing import Annotated, Any

import tyro

from distaff.foundation.binding import options_of, read_value, types_of
from distaff.foundation.errors import DistaffError
from distaff.foundation.help_text import Described, described, help_text
from distaff.foundation.wrong_flags import complaint


def parse_flags(
    prog: str,
    arguments: Sequence[str],
    *functions: Callable[..., Any],
    leave_out: Sequence[str] = (),
    pairs: bool = False,
    defaults: Mapping[str, Any] | None = None,
    topics: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Parse ``arguments`` as keyword arguments of all functions together; raise an error for wrong ones.

    Args:
        prog: the name of the command.
        arguments: the arguments typed after it.
        *functions: functions whose parameters become flags (positional without a default).
        leave_out: parameters that cannot be flags.
        pairs: give a switch that is on by default both ``--name`` and ``--no-name``.
        defaults: plain default values of flags, which override those of the functions.
        topics: title → flags that are grouped in ``--help``.
    """
    typed = list(arguments)
    taken = {f: list(_parameters(f, leave_out, defaults or {})) for f in functions}
    if "--help" in typed or "-h" in typed:
        summary = (inspect.getdoc(functions[0]) or "").partition("\n\n")[0]
        words = {f: described(f) for f in functions}
        shown = [Described(p, words[f].get(p.name, "")) for f, own in taken.items() for p in own]
        print(help_text(prog, summary, shown, topics or {}, pairs))
        raise SystemExit(0)
    parameters = [_flag(parameter) for own in taken.values() for parameter in own]

    def collect(**call: Any) -> dict[str, Any]:
        return call

    collect.__annotations__ = {p.name: p.annotation for p in parameters}
    vars(collect)["__signature__"] = inspect.Signature(parameters)
    config = () if pairs else (tyro.conf.FlagCreatePairsOff,)
    try:
        with redirect_stderr(StringIO()):  # hides tyro's error boxes
            call = tyro.cli(collect, args=typed, prog=prog, config=config)
    except SystemExit as stop:
        if not stop.code:
            raise
        raise complaint(prog, typed, parameters) from None
    placed = [p.name for p in parameters if p.default is p.empty]
    for function in functions:
        _check_bounds(call, types_of(function), placed)
    return call


def typed(flag: str, arguments: Sequence[str]) -> str | None:
    """The value of a flag, as the next word or after an equals sign; the last one counts.

    >>> typed("--steps", ["--data", "dsprites", "--steps=100"])
    '100'
    """
    values = [after for word, after in pairwise([*arguments, "--"]) if word == flag]
    values += [word.partition("=")[2] for word in arguments if word.startswith(f"{flag}=")]
    return next((value for value in reversed(values) if not value.startswith("--")), None)


def _parameters(
    function: Callable[..., Any], leave_out: Sequence[str], defaults: Mapping[str, Any]
) -> Iterator[inspect.Parameter]:
    """The keyword parameters of a function, with their types and the given defaults."""
    hints = types_of(function, extras=False)
    for parameter in inspect.signature(function).parameters.values():
        name = parameter.name
        if name in leave_out or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if name not in hints:
            raise DistaffError(
                f"{function.__name__} cannot be called from the command line: its argument "
                f"{name!r} has no type hint."
            )
        if name in defaults:
            parameter = parameter.replace(default=read_value(defaults[name], hints[name], name))
        yield parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)


def _flag(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter in the form that the parser needs."""
    hint: Any = _readable(parameter.annotation)
    as_text = hint is str
    if parameter.default is inspect.Parameter.empty:
        hint = Annotated[hint, tyro.conf.Positional]
    if hasattr(parameter.default, "parse") or (as_text and isinstance(parameter.default, int)):
        parameter = parameter.replace(default=str(parameter.default))
    return parameter.replace(annotation=hint)


def _readable(hint: Any) -> Any:
    """The type that a flag is parsed as: text, for types that parse their own text form."""
    options = options_of(hint)
    if str in options or any(hasattr(option, "parse") for option in options):
        return str | None if type(None) in options else str
    return hint


def _check_bounds(call: Mapping[str, Any], hints: Mapping[str, Any], placed: Sequence[str]) -> None:
    """Raise if a value is outside the bounds in its parameter's annotation.

    ``placed`` are parameters that are typed without a flag.
    """
    for name, value in call.items():
        if value is not None and _has_bounds(hints.get(name)):
            read_value(value, hints[name], name if name in placed else f"--{name.replace('_', '-')}")


def _has_bounds(hint: Any) -> bool:
    return typing.get_origin(hint) is typing.Annotated or any(map(_has_bounds, typing.get_args(hint)))
