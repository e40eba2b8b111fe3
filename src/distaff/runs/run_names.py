"""The name of a run's folder: readable, and the same for the same calls."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

HASH_LENGTH = 10
PREFIX_LENGTH = 60


def digest(calls: Mapping[str, Any]) -> str:
    """A short SHA-256 of plain values; the order in which they were written does not matter."""
    text = json.dumps(calls, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]


def folder_name(words: Mapping[str, Any], calls: Mapping[str, Any]) -> str:
    """``factor_vae-gamma35-seed0-1f0c…``: what a reader looks for first, then the hash that tells runs apart.

    >>> folder_name({"": "vae", "seed": 0}, {})
    'vae-seed0-44136fa355'
    """
    prefix = "-".join(re.sub(r"[^A-Za-z0-9_.+]+", ".", f"{name}{value}") for name, value in words.items())
    return f"{prefix[:PREFIX_LENGTH]}-{digest(calls)}"
