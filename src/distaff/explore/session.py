"""The content of a page: one or two runs, and the observation that their sliders start from."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from distaff.codes import FloatArray
from distaff.data.dataset import Dataset
from distaff.data.images import Scaled
from distaff.explore.latent_summary import UNUSED, Latent
from distaff.explore.loaded_run import LoadedRun
from distaff.explore.uploads import read_upload
from distaff.foundation.errors import DistaffError
from distaff.runs.latent_names import read_names

STEPS = 9
"""Number of pictures in a row of a real latent's traversal."""

Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Session:
    """One or two runs; the observations come from the first run's data."""

    runs: tuple[LoadedRun, ...]

    @classmethod
    def open(cls, paths: Sequence[str | Path]) -> "Session":
        """Load the runs, whose observations must have the same shape."""
        if not 1 <= len(paths) <= 2:
            raise DistaffError(f"explore one run, or two side by side, not {len(paths)}.")
        runs = tuple(LoadedRun.open(path) for path in paths)
        first, last = runs[0], runs[-1]
        if first.model.shape != last.model.shape:
            raise DistaffError(
                f"{first.folder.path} was trained on observations of shape {first.model.shape} and "
                f"{last.folder.path} on {last.model.shape}: side by side they need the same."
            )
        return cls(runs)

    def renewed(self) -> "Session":
        """The same session, with runs reloaded that have been trained further."""
        if not any(run.outdated for run in self.runs):
            return self
        return Session.open([run.folder.path for run in self.runs])

    def describe(self, steps: int = STEPS) -> Json:
        """Everything that the page needs to draw itself, before any picture."""
        data = self.runs[0].data
        return {
            "data": {"name": data.name, "size": len(data), "start": self.runs[0].typical},
            "images": len(data.shape) == 3,
            "runs": [self._run(run, steps) for run in self.runs],
        }

    def start_at(self, index: int) -> Json:
        """Start from an observation of the data."""
        data = self.runs[0].data
        if not 0 <= index < len(data):
            raise DistaffError(f"{data.name} has the observations 0 … {len(data) - 1:,}, not {index:,}.")
        alone = data.subset([index])
        facts = [] if data.factors is None else [[name, _shown(alone, name)] for name in data.names]
        started = self._start(f"{data.name} {index:,}", data.images[index].numpy())
        return {**started, "index": index, "facts": facts}

    def start_from_file(self, content: bytes) -> Json:
        """Start from an image that the user uploaded."""
        model = self.runs[0].model
        like = model.arrangement if isinstance(model.arrangement, Scaled) else None
        return self._start("your image", read_upload(content, model.shape, like))

    def start_at_centre(self) -> Json:
        """Start from z = 0 and the first class, with no observation."""
        values = [run.centre for run in self.runs]
        return {"label": "the prior's centre", "picture": None, "facts": [], "values": values}

    def _start(self, label: str, observation: FloatArray) -> Json:
        picture = self.runs[0].render(observation[None])
        values = [run.values(observation) for run in self.runs]
        return {"label": label, "picture": text(picture.tobytes()), "facts": [], "values": values}

    def _run(self, run: LoadedRun, steps: int) -> Json:
        names = read_names(run.folder)
        order = np.argsort([-latent.information for latent in run.latents], kind="stable").tolist()
        notices = list(run.notices)
        own, first = (one.config.data for one in (run, self.runs[0]))
        if own.fingerprint != first.fingerprint:
            notices.append(f"Trained on other data ({own.name}) than the observations shown here.")
        return {
            "title": run.title,
            "path": str(run.folder.path),
            "facts": run.facts,
            "notices": notices,
            "shape": run.render.shape,
            "drawn": run.render.drawn,
            "observations": len(run.codes),
            "unused": UNUSED,
            "latents": [_latent(run.latents[j], j, names, steps) for j in order],
        }


def _shown(alone: Dataset, name: str) -> str:
    """A factor of one observation, as its original text or as a number."""
    return str(alone.labels(name)[0]) if name in alone.class_names else f"{alone.column(name)[0]:g}"


def _latent(latent: Latent, place: int, names: dict[str, str], steps: int) -> Json:
    name = latent.variable.name
    return {
        "place": place,
        "name": name,
        "title": names.get(name, ""),
        "classes": latent.variable.classes,
        "information": round(latent.information, 4),
        "reach": latent.reach,
        "steps": latent.steps(steps).round(6).tolist(),
        "posterior": latent.posterior.round(5).tolist(),
        "prior": latent.prior.round(5).tolist(),
    }


def text(content: bytes) -> str:
    """Bytes as base64 text, for JSON."""
    return base64.b64encode(content).decode()
