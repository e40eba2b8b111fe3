"""How two runs differ, in words."""

from dataclasses import replace
from typing import Any

from distaff.runs.config import PARTS, RunConfig

ASKED = ("spec", "file", "options")
"""Fields of ``data`` that the user gives; the others are found in the data."""


def differences(run: RunConfig, other: RunConfig, found: bool = True) -> list[str]:
    """The differences between two runs, in words; ``made_with`` is ignored.

    Without ``found``, what was found in the data, such as their size, is left out.
    """
    both = [replace(config, recipe=config.recipe.with_defaults()).to_plain() for config in (run, other)]
    if not found:
        both = [{**plain, "data": {name: plain["data"].get(name) for name in ASKED}} for plain in both]
    mine, others = both
    if not (mine["data"].get("others") and others["data"].get("others")):  # former versions have none
        for plain in both:
            plain["data"].pop("others", None)
    return [d for name in PARTS for d in _differences(name, mine[name], others[name])]


def _differences(prefix: str, held: Any, asked: Any) -> list[str]:
    if isinstance(held, dict) and isinstance(asked, dict):
        keys = [*held, *(key for key in asked if key not in held)]
        return [d for key in keys for d in _differences(str(key), held.get(key), asked.get(key))]
    if held == asked:
        return []
    if held is None:
        return [f"{prefix} is not set there, but {asked} here"]
    return [f"{prefix} is {held} there, " + ("but not set here" if asked is None else f"not {asked}")]
