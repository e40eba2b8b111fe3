"""Users' names for the latents of a run, such as "x position"."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.files import write_json
from distaff.foundation.untrusted_files import read_json

if TYPE_CHECKING:
    from distaff.runs.folder import RunFolder

LONGEST_NAME = 60
"""Largest number of characters in a user's name for a latent."""


def read_names(folder: "RunFolder") -> dict[str, str]:
    """Latent → a user's name for it, such as "x position"; latents without one are absent."""
    try:
        content = read_json(folder.names)
    except FileNotFoundError:
        return {}
    except DistaffError as error:
        raise DistaffError(f"{folder.names} is not readable JSON: correct it or remove it.") from error
    if not isinstance(content, dict) or not all(isinstance(title, str) for title in content.values()):
        raise DistaffError(f"{folder.names} should map latents to texts: correct it or remove it.")
    return content


def save_name(folder: "RunFolder", latents: Collection[str], latent: str, title: str) -> dict[str, str]:
    """Name one of the run's ``latents``, or remove its name with an empty text; returns all names."""
    if latent not in latents:
        raise unknown("latent", latent, latents)
    title = " ".join("".join(c if c.isprintable() else " " for c in title).split())
    if len(title) > LONGEST_NAME:
        raise DistaffError(f"a latent's name may have {LONGEST_NAME} characters, not {len(title)}.")
    names = {**read_names(folder), latent: title}
    write_json(folder.names, {name: names[name] for name in sorted(names) if names[name]})
    return read_names(folder)
