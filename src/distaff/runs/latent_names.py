"""Names that people give to latents, such as "x position": kept in the run folder, shown in its reports."""

from collections.abc import Iterable, Mapping

from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.files import read_json, write_json
from distaff.runs.folder import RunFolder

LONGEST = 60
"""Characters of a name."""


def read_names(folder: RunFolder) -> dict[str, str]:
    """Latent → the name it was given; latents without one are absent."""
    try:
        content = read_json(folder.names)
    except FileNotFoundError:
        return {}
    except DistaffError as error:
        raise DistaffError(f"{folder.names} is not readable JSON: correct it or remove it.") from error
    if not isinstance(content, dict) or not all(isinstance(title, str) for title in content.values()):
        raise DistaffError(f"{folder.names} should map latents to texts: correct it or remove it.")
    return content


def save_name(folder: RunFolder, latents: Iterable[str], latent: str, title: str) -> dict[str, str]:
    """Name one of the run's ``latents``, or take its name away with an empty text; returns all names."""
    known = tuple(latents)
    if latent not in known:
        raise unknown("latent", latent, known)
    title = " ".join("".join(c if c.isprintable() else " " for c in title).split())
    if len(title) > LONGEST:
        raise DistaffError(f"a latent's name may have {LONGEST} characters, not {len(title)}.")
    names = {**read_names(folder), latent: title}
    write_json(folder.names, {name: names[name] for name in sorted(names) if names[name]})
    return read_names(folder)


def titled(latents: Iterable[str], names: Mapping[str, str]) -> list[str]:
    """The latents with the names they were given behind them: ``z0``, ``z1 x position``."""
    return [f"{latent} {names[latent]}" if latent in names else latent for latent in latents]
