"""The one error class a user meets, and the sentences for misspelt names and for damaged files."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST = 500
"""Letters of a value that a sentence shows."""


class DistaffError(ValueError):
    """Input that cannot be used: the message says what is wrong and what to do, in one sentence."""


def shown(value: object) -> str:
    """A value as a sentence shows it: whole, unless it is longer than anybody reads."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def unknown(kind: str, name: str, known: Iterable[str]) -> DistaffError:
    """The error for a name that does not exist, with its near misses.

    >>> str(unknown("recipe", "factorvae", ["vae", "factor_vae"]))
    "unknown recipe 'factorvae': did you mean 'factor_vae'? Known: factor_vae, vae."
    """
    options = sorted(known)
    near = difflib.get_close_matches(name[:LONGEST], options, n=3, cutoff=0.6)
    hint = f" did you mean {' or '.join(map(repr, near))}?" if near else ""
    return DistaffError(f"unknown {kind} {shown(name)}:{hint} Known: {', '.join(options)}.")


@contextmanager
def whole(file: str | Path, kind: str) -> Iterator[None]:
    """Whatever is wrong with the bytes of ``file`` comes out as one sentence: it is not a whole ``kind``."""
    try:
        yield
    except FileNotFoundError as problem:
        raise DistaffError(f"there is no file {file}.") from problem
    except DistaffError:
        raise
    except Exception as problem:  # readers fed damaged bytes raise whatever they happen to meet
        reason = str(problem).partition("\n")[0]
        raise DistaffError(f"{file} is not a whole {kind} ({reason}): fetch or save it again.") from problem
