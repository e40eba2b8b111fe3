"""The one error class that users see, and messages for misspelt names, damaged files and users' own code."""

import difflib
import errno
import functools
import os
import re
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError

Function = TypeVar("Function", bound=Callable[..., Any])
LIBRARY = f"{__name__.partition('.')[0]}."
COMMAND = r"distaff [a-z]+(?: (?:[A-Z]\S*|\S*/\S*|--\S+))*"
FLAG = re.compile(COMMAND + r"|--([a-z][a-z-]*[a-z])(?:[ =]([A-Za-z0-9_.:+=/-]*[A-Za-z0-9_]))?")
PROSE = (
    *("adds", "and", "another", "are", "asked", "asks", "beside", "for", "go", "goes", "is", "keep", "keeps"),
    *("knows", "labels", "leaves", "lists", "must", "needs", "or", "out", "runs", "says", "silences", "to"),
)
"""Words after a flag in a message that are not its value."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""System errors on writing to a full disk."""
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
"""System errors on writing to a read-only place."""
LONGEST = 500
"""Maximum number of characters of a value in a message."""


MOST_LETTERS = 4_000
"""Maximum number of characters of a message, however long the names in it are."""


class DistaffError(ValueError):
    """Input that cannot be used: the message says what is wrong and what to do, in one sentence.

    >>> len(str(DistaffError("there is no factor " + "a" * 1_000_000 + ": name another.")))
    4000
    """

    def __init__(self, message: str) -> None:
        end = MOST_LETTERS // 4
        if len(message) > MOST_LETTERS:
            message = f"{message[: MOST_LETTERS - end - 3]} … {message[-end:]}"
        super().__init__(message)


class DataNotice(UserWarning):
    """Information about data that users should see when the data are first read, but not every time that a
    run reopens them.
    """


def warn(message: str) -> None:
    """Give the user a warning."""
    warnings.warn(message, stacklevel=3)


def shown(value: object) -> str:
    """A value as shown in a message, shortened if it is very long."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def check_text(text: str) -> None:
    """Raise an error for the name of a file that is not text in UTF-8, which no file of settings can hold."""
    if text.encode(errors="ignore").decode() != text:
        raise DistaffError(f"the name {shown(text)} is not text in UTF-8: rename that file or folder.")


def unknown(kind: str, name: str, known: Iterable[str]) -> DistaffError:
    """The error for a name that does not exist, with similar names as suggestions.

    >>> str(unknown("recipe", "factorvae", ["vae", "factor_vae"]))
    "unknown recipe 'factorvae': did you mean 'factor_vae'? Known: factor_vae, vae."
    """
    options = sorted(known)
    near = difflib.get_close_matches(name[:LONGEST], options, n=3, cutoff=0.6)
    hint = f" did you mean {' or '.join(map(repr, near))}?" if near else ""
    if not options:
        return DistaffError(f"unknown {kind} {shown(name)}: there are none.")
    return DistaffError(f"unknown {kind} {shown(name)}:{hint} Known: {', '.join(options)}.")


@contextmanager
def whole(file: str | Path, kind: str) -> Iterator[None]:
    """Turn anything wrong with the bytes of ``file`` into one sentence: it is not a whole ``kind``."""
    try:
        yield
    except FileNotFoundError as problem:
        raise DistaffError(f"there is no file {file}.") from problem
    except DistaffError:
        raise
    except Exception as problem:  # on damaged bytes, readers can raise anything
        reason = str(problem).partition("\n")[0]
        raise DistaffError(f"{file} is not a whole {kind} ({reason}): fetch or save it again.") from problem


def reason(problem: Exception) -> str:
    """What an exception says, in one line; its type if it says nothing."""
    return " ".join(str(problem).split()) or type(problem).__name__


@contextmanager
def foreign(sentence: Callable[[str], str]) -> Iterator[None]:
    """Turn whatever foreign code raises into one sentence, which says the reason; our own errors pass.

    >>> with foreign(lambda why: f"the table cannot be read ({why})."):
    ...     raise OSError("no such device")
    Traceback (most recent call last):
    distaff.foundation.errors.DistaffError: the table cannot be read (no such device).
    """
    try:
        yield
    except DistaffError:
        raise
    except Exception as problem:  # readers and users' code can fail in any way
        raise DistaffError(sentence(reason(problem))) from problem


@contextmanager
def system_errors(path: Path) -> Iterator[None]:
    """Turn what safetensors raises where a file cannot be written into the system's own error."""
    try:
        yield
    except SafetensorError as problem:
        found = re.search(r"\(os error (\d+)\)", str(problem))
        if found is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1])), str(path)) from problem


@contextmanager
def kept_if_allowed(path: Path) -> Iterator[None]:
    """Write an optional file within this context: in a read-only folder, warn and continue without it."""
    try:
        yield
    except OSError as problem:
        if problem.errno not in READ_ONLY:
            raise
        warn(f"{path} is not kept: its folder is read-only ({problem.strerror}).")


def is_ours(thing: object) -> bool:
    """Whether a function or class belongs to this library, whose exceptions are not changed."""
    return f"{getattr(thing, '__module__', '')}.".startswith(LIBRARY)


@contextmanager
def told_if_it_fails(kind: str, function: Callable[..., Any], *passed: type[Exception]) -> Iterator[None]:
    """One sentence for what a user's own function raises; mistakes of the library are left as they are.

    Exceptions of the types ``passed`` are left as they are too, whoever raises them.
    """
    left: tuple[type[Exception], ...] = (DistaffError, *passed)
    try:
        yield
    except left:
        raise
    except Exception as problem:
        if is_ours(function):
            raise
        raise failure(kind, function, problem) from problem


def failure(kind: str, function: Callable[..., Any], error: Exception) -> DistaffError:
    """The error for an exception in a user's function; raise it from ``error``, which has the traceback."""
    name = f"{getattr(function, '__module__', '')}:{getattr(function, '__name__', type(function).__name__)}"
    steps = traceback.extract_tb(error.__traceback__)
    source = getattr(getattr(function, "__code__", None), "co_filename", None)
    step = next((step for step in reversed(steps) if step.filename == source), steps[-1])
    reason = str(error).strip().partition("\n")[0].rstrip(".")
    return DistaffError(
        f"the {kind} {name} failed at {step.filename}:{step.lineno}: "
        f"{type(error).__name__}{reason and f': {reason}'}."
    )


def of_system(error: OSError) -> str:
    """The sentence for a file that the system does not let be read or written, or for what else it refuses.

    >>> of_system(FileNotFoundError(2, "No such file or directory", "/proc/run"))
    '/proc/run cannot be read or written: No such file or directory.'
    >>> of_system(OSError(errno.ENOSPC, "No space left on device"))
    'No space left on device: make room, then give the same command again.'
    """
    if error.strerror is None:
        return str(error)
    what = "" if error.filename is None else f"{error.filename} cannot be read or written: "
    advice = ": make room, then give the same command again" if error.errno in FULL else ""
    return f"{what}{error.strerror}{advice}."


class _Speaker:
    """Whether messages are for a command line, where settings are flags."""

    on_command_line = False


@contextmanager
def speaking_in_flags() -> Iterator[None]:
    """Within this context, messages are written for the command line."""
    before, _Speaker.on_command_line = _Speaker.on_command_line, True
    try:
        yield
    finally:
        _Speaker.on_command_line = before


def said(text: str) -> str:
    """Adapt a message written with flags to its reader: in Python, flags become arguments.

    Whole commands are not changed.

    >>> said("scale them with --resize 64, or use --network mlp; --skip-bad leaves some out.")
    "scale them with resize=64, or use network='mlp'; skip_bad leaves some out."
    >>> said("say where with --out runs/mine; --fit and --data-options are for other data.")
    "say where with out='runs/mine'; fit and data_options are for other data."
    >>> said("runs/mine has no ICA yet: make one with distaff evaluate runs/mine --ica.")
    'runs/mine has no ICA yet: make one with distaff evaluate runs/mine --ica.'
    """
    return text if _Speaker.on_command_line else FLAG.sub(_as_argument, text)


def _as_argument(flag: re.Match[str]) -> str:
    if flag[1] is None:
        return flag[0]
    name, value = flag[1].replace("-", "_"), flag[2]
    if value is None or value in PROSE:
        return name if value is None else f"{name} {value}"
    number = re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", value)
    return f"{name}={value if number else repr(value)}"


def spoken_to_its_caller(function: Function) -> Function:
    """Let the errors of a public function name arguments in Python, and flags on the command line."""

    @functools.wraps(function)
    def call(*arguments: Any, **settings: Any) -> Any:
        try:
            return function(*arguments, **settings)
        except DistaffError as problem:
            text = said(str(problem))
            if text == str(problem):
                raise
            raise type(problem)(text) from problem

    return call  # type: ignore[return-value]
