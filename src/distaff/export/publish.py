"""Write a run in the Hugging Face layout: weights, config, a card with scores, a traversal picture."""

from collections.abc import Sequence
from math import inf
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from distaff import figures
from distaff.analysis.encoding import SAMPLE, any_codes, encode_run
from distaff.analysis.evaluate import evaluate_encoded
from distaff.data.dataset import Dataset
from distaff.export.card import PICTURE, model_card
from distaff.export.formats import Written, refuse_existing
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import write_text
from distaff.metrics import Score
from distaff.metrics.score import Scores
from distaff.metrics.scores_json import Setup
from distaff.runs.config import RunConfig
from distaff.runs.hub import CONFIG, WEIGHTS, write_model
from distaff.runs.load import TrainedRun
from distaff.runs.pictures import drawable, traversals

CARD = "README.md"


def write_hub(run: TrainedRun, target: str | Path, overwrite: bool, progress: bool) -> Written:
    """Write the folder, ``config.json`` last; other files in it are not changed."""
    place, config, step = Path(target), run.config, run.step
    refuse_existing([place / name for name in (WEIGHTS, CONFIG, CARD, PICTURE)], overwrite)
    if place.is_dir() and any(place.iterdir()) and not overwrite:
        raise DistaffError(
            f"{place} holds other files: choose an empty folder, or add --overwrite to mix them."
        )
    data = _data(config)
    scores = _scores(run, data, progress)
    figure = _picture(run, data, progress)
    if figure is not None:
        figures.save(figure, place / PICTURE)
    card = model_card(config, _objective(config), step, scores, picture=figure is not None)
    write_text(place / CARD, card)
    write_model(place, run.model, config, step)
    scored = f"{len(scores)} scores" if scores else "no scores, since its data cannot be opened here"
    return Written(place, f"weights, config and a card with {scored}; distaff.load reads it")


def _objective(config: RunConfig) -> str:
    """The objective; if its code is not here, its name."""
    try:
        return str(config.goal())
    except DistaffError:
        return config.recipe.name


def _data(config: RunConfig) -> Dataset | None:
    """The run's data, if they are here; a model can be shared without them."""
    try:
        return config.data.reopen()
    except (DistaffError, OSError):
        return None


def _scores(run: TrainedRun, data: Dataset | None, progress: bool) -> Sequence[Score]:
    """Scores of this checkpoint: those of ``distaff evaluate`` on the largest sample, or new ones."""
    known = Scores.read(run.folder.scores).at(run.step)
    samples = {e.setup.observations or inf for e in known.entries if e.setup == Setup(e.setup.observations)}
    for size in sorted(samples, reverse=True):
        entries = known.of(Setup(None if size == inf else int(size)))
        found = [entry.score for entry in entries if not entry.reason]
        if found:
            return found
    if data is None:
        return []
    return evaluate_encoded(encode_run(run, data, progress, SAMPLE), data).scores


def _picture(run: TrainedRun, data: Dataset | None, progress: bool) -> Figure | None:
    trained = run.model
    if len(trained.shape) != 3:
        return None
    if data is not None:
        encoded = any_codes(run, data, progress)
        return traversals(trained, data, encoded.kl_per_latent, encoded.typical)
    values = np.linspace(-2, 2, 9).tolist()
    return figures.traversals(drawable(trained.traverse(values=values)), trained.names)
