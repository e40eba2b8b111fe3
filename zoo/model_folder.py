"""A run as a folder of the zoo: what ``export --hub`` writes, its origin, examples, log, scores, licence."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from distaff import Dataset, DistaffError
from distaff.data import names, some_rows
from distaff.data.arrays import load as load_arrays
from distaff.data.catalogue import about
from distaff.export.card import PICTURE
from distaff.export.publish import CARD, write_hub
from distaff.foundation.files import write_text
from distaff.metrics.score import Scores
from distaff.runs import RunConfig
from distaff.runs.hub import write_model
from distaff.runs.load import TrainedRun
from distaff.runs.zoo import EXAMPLES, PREFIX, Origin
from zoo.rule import kept_entries

MOST_EXAMPLES, LARGEST_EXAMPLES = 2048, 400_000
"""How many observations at most, and how many bytes their file may have."""
LOG_LINES = 300
MOST_PIXELS = 900
"""Of a picture from left to right."""
LICENCE = """SPDX-License-Identifier: Apache-2.0

The weights in this folder were trained with distaff and are under its licence, the Apache License 2.0:
https://www.apache.org/licenses/LICENSE-2.0
"""


def write_folder(trained: TrainedRun, origin: Origin, place: Path) -> None:
    """Write a model's folder; one that is there is replaced file by file."""
    run, step, data = trained.folder, trained.step, trained.config.data.reopen()
    write_hub(trained, place, overwrite=True, progress=True)
    if origin.half:
        write_model(place, trained.model, trained.config, step, half=True)
    origin.write(place)
    shrink_picture(place / PICTURE)
    write_examples(data, place / EXAMPLES)
    write_text(place / "log.jsonl", "".join(f"{line}\n" for line in _thinned(run.log)))
    Scores(step, tuple(kept_entries(run))).write(place / "scores.json")
    if run.names.is_file():
        write_text(place / "names.json", run.names.read_text(encoding="utf-8"))
    write_text(place / "LICENSE", LICENCE + _licence_of_examples(origin.spec))
    card = (place / CARD).read_text(encoding="utf-8")
    write_text(place / CARD, _with_origin(card, place.name, origin))


def shrink_picture(file: Path) -> None:
    """A picture as wide as a page shows it, which takes half the room."""
    with Image.open(file) as picture:
        size = MOST_PIXELS, round(picture.height * MOST_PIXELS / picture.width)
        small = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    small.save(file, optimize=True)


def write_examples(data: Dataset, file: Path) -> None:
    """Observations drawn at random, as many as fit, with their factors: read back they are the same."""
    count = min(MOST_EXAMPLES, len(data))
    while True:
        chosen = data.subset(some_rows(len(data), count, seed=0))
        arrays: Any = _arrays(chosen)
        np.savez_compressed(file, **arrays)
        if file.stat().st_size <= LARGEST_EXAMPLES or count < 32:
            break
        count = count * 3 // 4
    if not np.array_equal(load_arrays(file).images[:].numpy(), chosen.images[:].numpy()):
        raise DistaffError(f"the examples of {data.name} are not the same when they are read back.")


def _arrays(chosen: Dataset) -> dict[str, np.ndarray]:
    """The arrays of an npz file, in the fewest bits that hold them."""
    x = chosen.images[:].numpy()
    if x.ndim == 4:
        levels = (255 * x).round().astype(np.uint8)
        if np.array_equal(x, x.astype(bool)):
            x = x.astype(bool)
        elif np.array_equal(levels.astype(np.float32) / np.float32(255), x):
            x = levels
    if chosen.factors is None:
        return {"images": x}
    return {"images": x, "factors": chosen.factors, "factor_names": np.array(chosen.names)}


def _thinned(log: Path) -> Sequence[str]:
    """At most so many lines, evenly spread, the last among them."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    lines = [line for line in lines if _whole(line)]
    if len(lines) <= LOG_LINES:
        return lines
    return [lines[i] for i in np.linspace(0, len(lines) - 1, LOG_LINES).astype(int)]


def _whole(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _chosen(origin: Origin) -> str:
    rule = f"it is {origin.rule}."
    return f"By a rule stated beforehand {rule}" if len(origin.scores) > 1 else rule.capitalize()


def _in_words(run: RunConfig) -> str:
    """A run with its weights, its steps and its data."""
    weights = ", ".join(f"{key} {value}" for key, value in run.recipe.arguments.items() if key != "critic")
    data = f"{run.data.size:,} observations of {run.data.name}"
    return f"{run.recipe.name} ({weights}), {run.training.steps:,} steps on {data}"


def _licence_of_examples(spec: str) -> str:
    if spec not in names():
        return ""
    known = about(spec)
    return f"\n{EXAMPLES} holds observations of {spec} ({known.source}): {known.licence}\n"


def _with_origin(card: str, name: str, origin: Origin) -> str:
    """The card with its licence, its name in the zoo, and how the model was chosen."""
    card = card.replace("---\n", "---\nlicense: apache-2.0\n", 1)
    card = card.replace('distaff.load("path/to/this/folder")', f'distaff.load("{PREFIX}{name}")')
    seeds = ", ".join(f"{seed}: {value:.4f}" for seed, value in origin.scores.items())
    lines = ["", "## How it was chosen", "", _chosen(origin)]
    lines += [f"By seed: {seeds}."] if len(origin.scores) > 1 else []
    if origin.before:
        lines += [
            "",
            "It was then trained further, so that its scores are its own and not those of its seed:",
            "",
        ]
        lines += [f"{place}. {_in_words(run)}" for place, run in enumerate(origin.runs_before, 1)]
        lines += [f"{len(origin.before) + 1}. the run above"]
    lines += (
        ["Its weights are rounded to half precision; the scores are of those before."] if origin.half else []
    )
    if origin.claims:
        lines += ["", f"What the study {origin.study} says about its paper's claims:", ""]
        lines += ["| claim | verdict |", "|---|---|"]
        lines += [f"| {one['says']} | {one['verdict']} |" for one in origin.claims]
    return "\n".join([card.rstrip("\n"), *lines, ""])
