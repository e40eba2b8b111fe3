"""Trained models that come with the library; ``distaff zoo`` lists them.

- ``models``: every ``ZooModel`` by its name, with its run, its scores and how it was chosen.
- ``distaff.load("zoo:NAME")`` opens one; commands that read a run folder also take ``zoo:NAME``, and
  ``distaff resume zoo:NAME --steps STEPS --out RUN`` trains one further.

A model is one hub folder in ``models``. To add one, run ``python -m zoo.shelve`` in a clone: it writes the
folder from a finished study, by the rule in ``zoo/rules.yaml``.

>>> import distaff
>>> all(model.size < 10_000_000 for model in distaff.zoo.models().values())
True
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from distaff.metrics.score import Score, Scores
from distaff.objectives.schedules import weight_text
from distaff.runs.config import RunConfig
from distaff.runs.zoo import PREFIX, Origin, model_config, zoo_folder, zoo_names

__all__ = ["ZooModel", "models"]


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True)
class ZooModel:
    """A model that comes with the library.

    Args:
        name: name of the model, which follows ``zoo:``.
        folder: hub folder of the model.
        config: run that it comes from.
        step: number of steps of this run.
        scores: scores of the model.
        origin: data that it was trained on, and how it was chosen.
    """

    name: str
    folder: Path
    config: RunConfig
    step: int
    scores: Sequence[Score]
    origin: Origin

    @property
    def size(self) -> int:
        """Size of the folder in bytes."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())

    @property
    def steps(self) -> int:
        """Number of steps of training, with those of the runs before the model's own."""
        return self.step + sum(run.training.steps for run in self.origin.runs_before)

    @property
    def weights(self) -> str:
        """The recipe's weights; for scheduled ones, the final values."""
        given = self.config.recipe.arguments
        texts = {
            name: weight_text(v, self.step) for name, v in given.items() if isinstance(v, str | float | int)
        }
        return ", ".join(f"{name} {text}" for name, text in texts.items())

    @property
    def score_texts(self) -> list[str]:
        """Each score with its value; the one by which it was chosen is followed by those of all seeds."""
        texts, when = [], "before, " if self.origin.before else ""
        for score in self.scores:
            seeds = self.origin.scores if self.origin.by in (score.name, score.metric) else {}
            each = ", ".join(f"{seed}: {value:.3g}" for seed, value in seeds.items())
            others = f" ({when}seeds {each})" if len(seeds) > 1 else ""
            texts.append(f"{score.name} {score.value:.4g}{others}")
        return texts

    def __str__(self) -> str:
        made = f"{self.steps:,} steps, seed {self.config.training.seed}, {self.origin.history}"
        scores = textwrap.wrap(
            "  ".join(text.replace(" ", "\N{NO-BREAK SPACE}") for text in self.score_texts),
            96,
            break_long_words=False,
        )
        return "\n    ".join(
            [
                f"{PREFIX}{self.name}  {self.config.title}, {self.size / 1e6:.1f} MB",
                made,
                *([self.weights] if self.weights else []),
                *(line.replace("\N{NO-BREAK SPACE}", " ") for line in scores),
            ]
        )


def models() -> dict[str, ZooModel]:
    """All models by name; the first is the one that ``distaff explore`` opens by default."""
    return {name: _model(name) for name in zoo_names()}


def _model(name: str) -> ZooModel:
    folder = zoo_folder(name)
    config, step, _ = model_config(folder)
    entries = Scores.read(folder / "scores.json").entries
    scores = [entry.score for entry in entries if not entry.reason]
    return ZooModel(name, folder, config, step, scores, Origin.read(folder))
