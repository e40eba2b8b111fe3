"""``Rule``: which seeds of a setting become models, by a score; and how seeds are ranked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from distaff import DistaffError
from distaff.foundation.binding import bind
from distaff.foundation.files import parse_yaml, read_text
from distaff.metrics.score import Entry, Scores
from distaff.runs import RunFolder

Choice = Literal["median", "best"]
FILE = Path(__file__).parent / "rules.yaml"


@dataclass(frozen=True)
class Rule:
    """Which runs are taken.

    Args:
        name: of the model; that of the best run ends in ``-best``.
        by: the score that ranks the seeds.
        take: the median, the best or both.
        study: the study that the runs are of.
        where: the settings that the runs have; only their seeds may differ.
    """

    name: str
    by: str
    take: list[Choice]
    study: str = ""
    where: dict[str, Any] | None = None

    def place(self, shelf: Path, choice: Choice) -> Path:
        """The folder of a model."""
        return shelf / (self.name if choice == self.take[0] else f"{self.name}-{choice}")


@dataclass(frozen=True)
class Ranked:
    """One seed's run with its score.

    Args:
        folder: the run.
        seed: its seed.
        score: by which it is ranked.
        higher_is_better: whether a higher score is better.
    """

    folder: RunFolder
    seed: int
    score: float
    higher_is_better: bool


def read_rules(file: Path = FILE) -> list[Rule]:
    """The rules of a file."""
    return [Rule(**bind(Rule, entry)) for entry in parse_yaml(read_text(file), str(file))]


def rank(folders: Sequence[RunFolder], by: str) -> list[Ranked]:
    """The runs of one setting from the worst to the best by a score; equal ones by their seeds."""
    if not folders:
        raise DistaffError("there is no run to choose from.")
    ranked = [_ranked(folder, by) for folder in folders]
    first, *others = (folder.read() for folder in folders)
    seeds = [one.seed for one in ranked]
    if len(set(seeds)) < len(seeds):
        raise DistaffError(f"the runs should differ in their seeds, and have the seeds {seeds}.")
    for other in others:
        apart = [text for text in first.differences(other) if not text.startswith("seed is ")]
        if apart:
            raise DistaffError(f"the runs should differ in their seeds alone, not so: {'; '.join(apart)}.")
    sign = 1 if ranked[0].higher_is_better else -1
    return sorted(ranked, key=lambda one: (sign * one.score, one.seed))


def choose(ranked: Sequence[Ranked], choice: Choice) -> Ranked:
    """The median, of an even number the lower of the two in the middle; or the best."""
    return ranked[-1] if choice == "best" else ranked[(len(ranked) - 1) // 2]


def scores_of(ranked: Sequence[Ranked]) -> Mapping[str, float]:
    """Seed → score, in the order of seeds."""
    return {str(one.seed): one.score for one in sorted(ranked, key=lambda one: one.seed)}


def kept_entries(folder: RunFolder) -> list[Entry]:
    """The scores of a run's last checkpoint, each metric once: over the most observations."""
    known = [entry for entry in Scores.read(folder.scores).entries if not entry.reason]
    best: dict[tuple[str, str], Entry] = {}
    for entry in known:
        key = entry.metric, str(entry.content["name"])
        if key not in best or _observations(entry) > _observations(best[key]):
            best[key] = entry
    return list(best.values())


def _ranked(folder: RunFolder, by: str) -> Ranked:
    found = [one for one in kept_entries(folder) if by in (one.metric, one.content["name"])]
    if not found:
        raise DistaffError(f"{folder.path} has no {by}: score it with distaff evaluate {folder.path} first.")
    score = found[0].score
    return Ranked(folder, folder.read().training.seed, score.value, score.direction == "higher")


def _observations(entry: Entry) -> float:
    return float("inf") if entry.setup.observations is None else entry.setup.observations
