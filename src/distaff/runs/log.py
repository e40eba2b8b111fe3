"""``log.jsonl``: one JSON object a line, each the mean of the values since the line before.

A value that is shown beside a loss without taking part in it may be infinite or undefined: it is null in the
file, and NaN to those who read it here.
"""

import json
import math
from pathlib import Path
from typing import Any

from distaff.foundation.files import json_text, write_text


def read_log(path: Path) -> list[dict[str, Any]]:
    """The lines of a log; null is read as NaN, and a last line cut short by a kill is left out."""
    lines: list[dict[str, Any]] = []
    if path.exists():
        for text in path.read_text(encoding="utf-8").splitlines():
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                break
            lines.append({name: math.nan if value is None else value for name, value in line.items()})
    return lines


def truncate_log(path: Path, start: int) -> None:
    """Drop lines past step ``start``: those steps will be taken again."""
    if path.exists():
        kept = [line for line in read_log(path) if line["step"] <= start]
        write_text(path, "".join(json_text(line) + "\n" for line in kept))
