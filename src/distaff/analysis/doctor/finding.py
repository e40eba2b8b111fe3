"""The results of checks."""

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """How bad a finding is, worst first."""

    PROBLEM = "problem"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """A fact about a run that the user should know, in plain words.

    Args:
        severity: problem or note; a note is worth knowing, but not wrong in itself.
        what: what was found.
        why: why it matters, or how it comes about.
        try_: what to do.
    """

    severity: Severity
    what: str
    why: str
    try_: str

    def __str__(self) -> str:
        return f"{self.severity.value}: {self.what}\n  why: {self.why}\n  try: {self.try_}"


def problem(what: str, why: str, try_: str) -> Finding:
    """Something that is wrong."""
    return Finding(Severity.PROBLEM, what, why, try_)


def note(what: str, why: str, try_: str) -> Finding:
    """Something worth knowing."""
    return Finding(Severity.NOTE, what, why, try_)
