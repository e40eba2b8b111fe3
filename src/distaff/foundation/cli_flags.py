"""Flags from signatures: the parameters and docstrings of functions are their command line."""

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Union

UNIONS = (types.UnionType, Union)
"""``A | B`` is of the second kind where A or B is a generic alias, such as ``Dataset[Any]``."""


def parse(
    prog: str,
    arguments: Sequence[str],
    *functions: Callable[..., Any],
    leave_out: Sequence[str] = (),
    pairs: bool = False,
) -> dict[str, Any]:
    """Read ``arguments`` as keyword arguments of the functions together; wrong ones end the program with 2.

    Args:
        prog: how the command is called.
        arguments: what was typed after it.
        *functions: whose parameters become flags (positional without a default).
        leave_out: parameters that have no form as a flag.
        pairs: give a switch that is on by default its ``--name`` beside its ``--no-name``.
    """
    import docstring_parser
    import tyro

    parameters = []
    for function in functions:
        hints = typing.get_type_hints(function)
        helps = {
            p.arg_name: p.description or "" for p in docstring_parser.parse(function.__doc__ or "").params
        }
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name in leave_out or parameter.kind is inspect.Parameter.VAR_KEYWORD:
                continue
            hint: Any = _readable(hints[parameter.name])
            hint = Annotated[hint, tyro.conf.arg(help=helps.get(parameter.name, ""))]
            if parameter.default is inspect.Parameter.empty:
                hint = Annotated[hint, tyro.conf.Positional]
            if hasattr(parameter.default, "parse"):
                parameter = parameter.replace(default=str(parameter.default))
            parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))

    def collect(**call: Any) -> dict[str, Any]:
        return call

    collect.__annotations__ = {p.name: p.annotation for p in parameters}
    vars(collect)["__signature__"] = inspect.Signature(parameters)
    summary = docstring_parser.parse(functions[0].__doc__ or "").short_description
    config = () if pairs else (tyro.conf.FlagCreatePairsOff,)
    return tyro.cli(collect, args=list(arguments), prog=prog, description=summary, config=config)


def _readable(hint: Any) -> Any:
    """The type a flag is read as: what can be written as text, and parses it by itself, is read as text."""
    options = typing.get_args(hint) if typing.get_origin(hint) in UNIONS else (hint,)
    if str in options or any(hasattr(option, "parse") for option in options):
        return str | None if type(None) in options else str
    return hint
