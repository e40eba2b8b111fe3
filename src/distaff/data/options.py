"""Options of the readers of data: check their names, and convert their values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, get_args, get_origin

from distaff.data import correlated_factors
from distaff.data import left_out as combinations
from distaff.data.dataset import Dataset
from distaff.data.pictures import Fit
from distaff.data.sizes import check_side, resized
from distaff.foundation.binding import read_value, types_of
from distaff.foundation.errors import DistaffError, unknown


@dataclass(frozen=True)
class Beside:
    """Options that apply to any data set, unless its reader handles them itself.

    Args:
        resize: the side that images are scaled to.
        fit: how to fit images that are not square.
        correlate: two factors to correlate, such as ``scale,posX:0.4``.
        leave_out: combinations of factors to leave out, see ``distaff.data.left_out``.
        left_out: return what was left out instead.
    """

    resize: int | None = None
    fit: Fit | None = None
    correlate: str | None = None
    leave_out: str | None = None
    left_out: bool = False

    def done_to(self, data: Dataset) -> Dataset:
        """Apply all of these to a data set."""
        if self.correlate is not None:
            data = correlated_factors.tied(data, self.correlate)
        if self.leave_out is not None:
            data = combinations.leave_out(data, self.leave_out)[int(self.left_out)]
        if self.resize is not None:
            return resized(data, self.resize, self.fit or "squash")
        if self.fit is not None:
            raise DistaffError("--fit is for scaling images: give --resize 64 too, or leave it out.")
        return data


def checked(
    load: Callable[..., Any], options: Mapping[str, Any], what: str, hidden: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Convert options to arguments of ``load``.

    Args:
        load: the reader.
        options: its options.
        what: the name of the data in messages.
        hidden: arguments of the reader that are not options.
    """
    known = [name for name in signature(load).parameters if name not in hidden]
    for name in options:
        if name not in known:
            raise unknown(f"option of {what}", name, known)
    hints = types_of(load)
    told = {name: _value(name, value, hints.get(name, Any), what) for name, value in options.items()}
    if told.get("resize") is not None:
        check_side(told["resize"])
    return told


def refuse_lack(load: Callable[..., Any], arguments: Mapping[str, Any], what: str) -> None:
    """Raise if a reader needs an argument that it is not given."""
    for name, parameter in signature(load).parameters.items():
        several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if parameter.default is parameter.empty and not several and name not in arguments:
            raise DistaffError(f"{what} needs {name}: say it, as in --data-options {name}=3.")


def _value(name: str, value: Any, hint: Any, what: str) -> Any:
    if isinstance(value, str) and get_origin(hint) is Literal and value not in get_args(hint):
        raise unknown(f"{name} of {what}", value, map(str, get_args(hint)))
    return read_value(value, hint, name)
