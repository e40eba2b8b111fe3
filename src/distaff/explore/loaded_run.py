"""A run prepared for exploration: its model, observations to start from, and summaries of its latents."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from distaff.analysis.encoding import already_encoded, trained_steps
from distaff.analysis.evaluate import varied_factors
from distaff.codes import Codes, FloatArray
from distaff.data.arrangements import Table
from distaff.data.arrays import from_array
from distaff.data.dataset import Dataset
from distaff.data.images import FloatImages, IntArray
from distaff.explore.latent_summary import Latent, factor_information, latent_summaries
from distaff.explore.render import Pixels, Renderer, renderer_for
from distaff.foundation.errors import DistaffError
from distaff.models.representation import Representation
from distaff.objectives.schedules import weight_text
from distaff.runs.config import RunConfig
from distaff.runs.folder import RunFolder, TrainedRun, run_folder
from distaff.runs.latent_names import save_name
from distaff.runs.pictures import drawable, typical
from distaff.runs.zoo import examples_of

FEW, MANY = 4096, 20_000
"""Numbers of observations that represent the data: encoded now, or taken from the codes of ``distaff
evaluate``."""

DRAWN = 512
"""Number of draws of the prior that replace data that are not here."""

DRAWN_NAME = "draws of the prior"


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """A run whose latents can be moved.

    Values are one number per latent in the order of ``Codes.names``: z_j, or the class of a discrete latent.
    ``codes`` describe the ``rows`` of ``data``, which are None if the data are not here.
    """

    folder: RunFolder
    config: RunConfig
    model: Representation
    data: Dataset
    rows: IntArray | None
    codes: Codes
    latents: tuple[Latent, ...]
    render: Renderer
    notices: tuple[str, ...]
    step: int

    @classmethod
    def open(cls, path: str | Path) -> "LoadedRun":
        """Load a run's model and data, or the examples that came with a model of the zoo.

        If the data are missing, draws of the prior replace them.
        """
        folder = run_folder(path)
        in_training = folder.being_trained
        if in_training and not any(folder.checkpoints.glob("step-*")):
            raise DistaffError(
                f"{folder.path} has just begun to train and has no checkpoint: try again in half a minute."
            )
        trained = TrainedRun.open(folder)
        config, step, model = trained.config, trained.step, trained.model
        notices = []
        if in_training:
            notices.append(
                f"Still in training: this is step {step:,} of {config.training.steps:,}; reload the page for "
                "what has been learnt since."
            )
        examples = examples_of(folder)
        rows: IntArray | None
        if examples is not None:
            data, rows, codes = examples, np.arange(len(examples)), model.encode(examples.images)
            notices.append(f"Pictures start from {len(data):,} examples that come with the model.")
        else:
            try:
                data, here = config.data.reopen(), True
            except (DistaffError, OSError) as problem:
                data, here = _drawn(model), False
                notices.append(f"The data are not here: {problem} Pictures start from {DRAWN_NAME}.")
            rows, codes = _codes(trained, data, here)
        some = data.images[np.linspace(0, len(data) - 1, min(len(data), 1000)).astype(np.int64)].numpy()
        how = model.arrangement
        names = how.headings if isinstance(how, Table) and how.named else []
        render = renderer_for(model.shape, some, names)
        if render.explains:
            notices.append(render.explains)
        summaries = latent_summaries(model, codes)
        return cls(folder, config, model, data, rows, codes, summaries, render, tuple(notices), step)

    @property
    def outdated(self) -> bool:
        """Whether the run has been trained further since it was loaded."""
        return trained_steps(self.folder) != self.step

    @property
    def title(self) -> str:
        """The run's title on pages."""
        return self.config.title

    @property
    def facts(self) -> dict[str, str]:
        """The run's main settings; of a schedule, the value that the loaded model was trained with last."""
        arguments = self.config.recipe.arguments.items()
        weights = {k: weight_text(v, self.step) for k, v in arguments if isinstance(v, str | float)}
        return {**weights, "steps": f"{self.step:,}", "seed": str(self.config.training.seed)}

    @property
    def typical(self) -> int:
        """The observation whose code is nearest to the mean of the codes, to begin with."""
        return 0 if self.rows is None else int(self.rows[typical(self.codes)])

    @property
    def centre(self) -> list[float]:
        """The central values: 0, and the first class."""
        return [0.0] * len(self.latents)

    def values(self, observation: FloatArray) -> list[float]:
        """The means of q(z|x), and the most likely classes, of a prepared observation."""
        codes = self.model.encode(FloatImages(observation[None]))
        return [*codes.means[0].tolist(), *(float(p[0].argmax()) for p in codes.categories.values())]

    def decode(self, values: Sequence[Sequence[float]]) -> Pixels:
        """Pictures (N, height, width, channels) of E[x|z] at N lists of values."""
        return self.render(self.model.decode(self._z(values)))

    def traverse(self, values: Sequence[float], steps: int) -> Pixels:
        """Pictures of each latent moved through its steps, the others fixed: all rows one after another."""
        moved = [
            [*values[:j], value, *values[j + 1 :]]
            for j, latent in enumerate(self.latents)
            for value in latent.steps(steps).tolist()
        ]
        return self.decode(moved)

    def check(self, values: Any) -> list[float]:
        """Check that ``values`` from a request are one number per latent, and existing classes."""
        if not isinstance(values, list) or len(values) != len(self.latents):
            raise DistaffError(f"values must be a list of {len(self.latents)} numbers, one per latent.")
        for value, latent in zip(values, self.latents, strict=True):
            name, classes = latent.variable.name, latent.variable.classes
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e6:
                raise DistaffError(f"the value of {name} must be a number.")
            if classes and value not in range(classes):
                raise DistaffError(f"{name} has the classes 0 … {classes - 1}, not {value:g}.")
        return [float(value) for value in values]

    def rename(self, latent: str, title: str) -> dict[str, str]:
        """Save a user's name for a latent."""
        return save_name(self.folder, self.model.names, latent, title)

    def factors(self) -> dict[str, Any]:
        """I(z_j; y_k) of all latents and factors, for the page; without factors, the reason."""
        if self.rows is None or self.data.factors is None:
            return {"note": "The data have no labelled factors to compare the latents with."}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            factors = varied_factors(self.data.subset(self.rows))
        if factors is None:
            return {"note": "No labelled factor takes more than one value."}
        information, entropies, notes = factor_information(self.codes, self.latents, factors)
        about = (
            f"In nats, over {len(self.codes):,} observations; the shade is the share of the factor's entropy."
        )
        return {
            "factors": list(factors.names),
            "entropies": entropies.round(4).tolist(),
            "information": information.round(4).tolist(),
            "note": " ".join([about, *(f"{note}." for note in notes)]),
        }

    def _z(self, values: Sequence[Sequence[float]]) -> NDArray[np.float32]:
        z = np.empty((len(values), self.model.model.latents.width), np.float32)
        columns = zip(self.latents, np.asarray(values).T, strict=True)
        for latent, column in columns:
            variable = latent.variable
            chosen = variable.corners[column.astype(np.int64)] if variable.classes else column[:, None]
            z[:, variable.columns] = chosen
        return z


def _drawn(model: Representation) -> Dataset:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        drawn = model.model.draw(DRAWN).cpu().numpy()
    images = drawable(drawn) if drawn.ndim == 4 else drawn
    return from_array(images, channels="first", name=DRAWN_NAME)


def _codes(run: TrainedRun, data: Dataset, here: bool) -> tuple[IntArray | None, Codes]:
    """Codes of some observations, already encoded or new, and the observations' rows."""
    known = already_encoded(run, run.config.data.fingerprint)
    total, most = (len(data), FEW) if known is None else (len(known.codes), MANY)
    rng = np.random.default_rng(0)
    rows = np.arange(total) if total <= most else np.sort(rng.choice(total, most, replace=False))
    codes = run.model.encode(data.subset(rows).images) if known is None else known.codes[rows]
    numbers = rows if known is None or known.rows is None else known.rows[rows]
    return (numbers if here else None), codes
