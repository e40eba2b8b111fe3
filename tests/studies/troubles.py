"""Recipes that get into trouble, and drawings, for studies to name as ``tests.studies.troubles:NAME``."""

import os
import signal
import time
from pathlib import Path

import pandas as pd
import torch

from distaff.figures import kl_bars
from distaff.foundation.errors import DistaffError
from distaff.objectives.objective import FunctionTerm
from distaff.objectives.step import Step
from distaff.objectives.terms import kl, nll


def diverging(beta: float = 1.0):
    """Fails at its sixth step, every time."""

    def blows_up(s: Step) -> torch.Tensor:
        return s.z.sum() * (float("nan") if s.index >= 5 else 0.0)

    return nll + beta * kl + FunctionTerm("blows_up", blows_up)


def needs(wanted: str, beta: float = 1.0):
    """Fails as long as a file is missing."""

    def look(s: Step) -> torch.Tensor:
        if not Path(wanted).exists():
            raise DistaffError(f"{wanted} is missing.")
        return s.z.sum() * 0.0

    return nll + beta * kl + FunctionTerm("look", look)


def full_disk(beta: float = 1.0):
    """Meets a disk without room, every time."""

    def writes(s: Step) -> torch.Tensor:
        Path("/dev/full").write_text("x")
        return s.z.sum() * 0.0

    return nll + beta * kl + FunctionTerm("writes", writes)


def recorded(log: str, seconds: float = 0.0, die_at: int = -1, beta: float = 1.0):
    """Writes every step it takes to a file; kills its process at a step, the first time it comes there."""

    def record(s: Step) -> torch.Tensor:
        time.sleep(seconds)
        path = Path(f"{log}-{beta:g}")
        with path.open("a") as file:
            file.write(f"{s.index}\n")
        if path.read_text().splitlines().count(str(die_at)) == 1 and s.index == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return s.z.sum() * 0.0

    return nll + beta * kl + FunctionTerm("record", record)


def dots(results, column: str = "mig"):
    """A figure of a column."""
    return kl_bars(results.finished[column].to_numpy(), list(map(str, range(len(results.finished)))))


def means(results):
    """A figure and a table."""
    table = results.finished.groupby("recipe")[["mig"]].mean()
    return {"Mean MIG": table, "The same as bars": kl_bars(table["mig"].to_numpy(), list(table.index))}


def nothing_to_draw(results) -> pd.DataFrame:
    """A drawing that the study does not allow."""
    raise DistaffError("it needs a critic, and no run has one.")
