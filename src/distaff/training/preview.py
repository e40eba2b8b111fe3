"""A page that shows what a run has learnt so far, updated while it trains."""

import copy
import shlex
from collections.abc import Callable

import torch

from distaff import figures
from distaff.codes import FloatArray
from distaff.data.dataset import Dataset
from distaff.data.splits import some
from distaff.figures.html import Block, Code, Facts, Picture, page
from distaff.foundation.errors import warn
from distaff.foundation.files import write_text
from distaff.models.latents import codes_of
from distaff.models.representation import Model, Representation
from distaff.runs.folder import RunFolder
from distaff.runs.latent_names import read_names
from distaff.runs.log import read_log
from distaff.runs.pictures import traversals, typical

LOOKED_AT = 256
"""Number of observations from which used latents and a typical observation are found."""
RELOAD = 20
"""Seconds after which a browser reloads the page."""


class Preview:
    """A page with the current traversals and curves of a run on images."""

    def __init__(
        self, folder: RunFolder, data: Dataset, title: str, steps: int, tell: Callable[[str], None]
    ) -> None:
        self.folder, self.title, self.steps, self._tell = folder, title, steps, tell
        self.some = some(data, LOOKED_AT)
        self.shown = False

    def draw(self, model: Model, step: int) -> None:
        """Write the page; an error becomes a warning and does not stop the run."""
        try:
            blocks = self._blocks(model, step)
            write_text(self.folder.preview, page(self.title, blocks, None if step >= self.steps else RELOAD))
        except Exception as problem:  # networks may be a user's code, and disks may be full
            return warn(f"{self.folder.preview} could not be written ({problem}).")
        if not self.shown:
            self._tell(
                f"first traversals: {self.folder.preview}, updated while it trains; "
                f"distaff explore {shlex.quote(str(self.folder.path))} moves them"
            )
        self.shown = True
        return None

    def _blocks(self, model: Model, step: int) -> list[Block]:
        # A copy, because evaluation changes the model's mode.
        seen = Representation(copy.deepcopy(model), self.some.shape, self.some.arrangement)
        log = read_log(self.folder.log)
        names = [name for name in (log[0] if log else {}) if name not in ("step", "seconds")]
        curves = {name: [line.get(name, float("nan")) for line in log] for name in names}
        start, kl = self._start(seen)
        drawn = traversals(seen, self.some, kl, start, names=read_names(self.folder))
        caption = "Latent traversals so far" + ("" if kl is None else ", sorted by KL to the prior")
        blocks: list[Block] = [
            Facts({"steps": f"{step:,} of {self.steps:,}"}),
            Picture(drawn, alt=caption, title=caption),
        ]
        if len(log) > 1:
            picture = figures.training_curves([line["step"] for line in log], curves)
            blocks.append(Picture(picture, alt="Training curves", title="Training curves"))
        return [
            *blocks,
            Code(f"distaff explore {shlex.quote(str(self.folder.path))}", title="Move the latents yourself"),
        ]

    @torch.inference_mode()
    def _start(self, seen: Representation) -> tuple[int, FloatArray | None]:
        """A typical observation, and each latent's KL if there is one."""
        with torch.random.fork_rng():
            torch.manual_seed(0)
            posterior, measured = seen.model.measure(next(iter(seen.batches(self.some))))
        codes = codes_of(posterior)
        kl = measured.get("kl_dims")
        if kl is None or not torch.isfinite(kl).all():  # infinite for a deterministic latent
            return typical(codes), None
        return typical(codes), kl.mean(0).cpu().numpy()
