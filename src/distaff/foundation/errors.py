"""The one error class a user meets, and the sentence that helps with a misspelt name."""

import difflib
from collections.abc import Iterable


class DistaffError(ValueError):
    """Input that cannot be used: the message says what is wrong and what to do, in one sentence."""


def unknown(kind: str, name: str, known: Iterable[str]) -> DistaffError:
    """The error for a name that does not exist, with its near misses.

    >>> str(unknown("recipe", "factorvae", ["vae", "factor_vae"]))
    "unknown recipe 'factorvae': did you mean 'factor_vae'? Known: factor_vae, vae."
    """
    options = sorted(known)
    near = difflib.get_close_matches(name, options, n=3, cutoff=0.6)
    hint = f" did you mean {' or '.join(map(repr, near))}?" if near else ""
    return DistaffError(f"unknown {kind} {name!r}:{hint} Known: {', '.join(options)}.")
