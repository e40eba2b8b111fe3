"""The log of a run, read again: one JSON object per line; see ``RunFolder.log``."""

import math
from pathlib import Path
from typing import Any

from distaff.foundation.errors import DistaffError, warn
from distaff.foundation.files import json_text, regular, write_text
from distaff.foundation.untrusted_files import parse_json


def read_log(path: Path) -> list[dict[str, Any]]:
    """The lines of a log; null is read as NaN.

    Damaged lines, such as one that a killed process cut short, are left out with a warning.
    """
    try:
        texts = regular(path).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise DistaffError(f"{path} cannot be read ({problem.strerror or problem}).") from problem
    lines = [line for text in texts if (line := log_line(text)) is not None]
    if len(lines) < len(texts):
        warn(f"{path}: {len(texts) - len(lines)} of {len(texts)} lines are damaged and left out")
    return lines


def log_line(text: bytes) -> dict[str, Any] | None:
    """The numbers of a line by name, including its step; None if the line is damaged."""
    try:
        line = parse_json(text)
    except DistaffError:
        return None
    if not isinstance(line, dict) or type(line.get("step")) is not int:
        return None
    numbers = {name: math.nan if value is None else value for name, value in line.items()}
    return numbers if all(type(value) in (int, float) for value in numbers.values()) else None


def truncate_log(path: Path, start: int) -> None:
    """Delete lines after step ``start``: those steps will be repeated."""
    kept = [line for line in read_log(path) if line["step"] <= start]
    write_text(path, "".join(json_text(line) + "\n" for line in kept))
