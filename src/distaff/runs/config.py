"""``RunConfig``: the complete description of a run in typed values, stored in ``run.yaml``."""

import platform
import subprocess
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from distaff._version import __version__
from distaff.data import tables
from distaff.data.arrangements import Arrangement, Table, read_arrangement
from distaff.data.bringing_in import bring_in
from distaff.data.dataset import Dataset
from distaff.data.images import Scaled
from distaff.data.opening import names, open_told
from distaff.data.pairs import listed
from distaff.data.signals import Signals
from distaff.data.splits import split
from distaff.foundation.binding import ADDED_LATER, CODE, bind, names_code, to_plain
from distaff.foundation.errors import DataNotice, DistaffError
from distaff.foundation.files import named_path, yaml_text
from distaff.models.by_name import split_call
from distaff.models.encoders import TIMM
from distaff.models.priors.parsing import kinds_named
from distaff.runs.calls import Data, DataCall, Goal, RecipeCall, labelled_goal
from distaff.runs.former_versions import DATA_SETS, FIRST, in_todays_words
from distaff.runs.sections import (
    GANConfig,
    ModelConfig,
    TrainingSettings,
    VAEConfig,
    held_out_share,
    model_config,
)
from distaff.runs.settings import ModelSettings

LIBRARIES = ("torch", "numpy", "lightning-fabric", "safetensors")


@dataclass(frozen=True)
class DataConfig:
    """How a data set is opened, and what it contained.

    Args:
        spec: name or absolute path; None for data given in Python.
        file: the official file of a named data set.
        options: further arguments of the data set's ``load``.
        name: name of the data set in messages.
        size: number of observations.
        shape: shape of an observation.
        fingerprint: fingerprint of the content.
        arrangement: how the observations were derived from the given data, with everything learned from them
            (ranges, means and scales, classes), in plain values; None if they are unchanged.
        others: fingerprints of other files that the run reads: ``pairs``, ``hold_out`` and ``start``.
    """

    spec: str | None
    file: str | None
    options: Mapping[str, Any] = field(hash=False)
    name: str
    size: int
    shape: tuple[int, ...]
    fingerprint: str
    arrangement: Mapping[str, Any] | None = field(default=None, metadata=ADDED_LATER, hash=False)
    others: Mapping[str, str] | None = field(default=None, metadata=ADDED_LATER, hash=False)

    @classmethod
    def of(cls, call: DataCall, data: Dataset) -> "DataConfig":
        """How to open again the data that a call opened; data in memory have no name or path."""
        file = None if call.file is None else str(Path(call.file).resolve())
        found = (data.name, len(data), data.shape, data.fingerprint)
        how = None if data.arrangement is None else data.arrangement.plain()
        return cls(call.place, file, call.options, *found, arrangement=how)

    def reopen(self, data: Data | None = None) -> Dataset:
        """Open the data set again, or ``data`` in its place; the content must not have changed."""
        if data is None and self.spec is None:
            raise DistaffError(
                "the run was trained on data given in Python, which no file holds: there, pass the same data "
                "again; at a command line, evaluate and encode take them as a file, with --data."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNotice)
            return self._reopened(data)

    def _reopened(self, data: Data | None) -> Dataset:
        options = self.options if data is None else {}
        if isinstance(self.made_of, Table | Signals):
            dataset = self.bring_in(self.spec if data is None else data, **options)
        elif data is None:
            spec = self.spec or ""
            # The first version did not standardise tables, nor say how it had read them.
            raw = {"standardise": False} if Path(spec).suffix in tables.SUFFIXES else {}
            dataset = open_told(spec, self.file, {**raw, **options})
        else:
            given = {} if self.spec is not None else self.options
            dataset = DataCall(data, None, given).open(standardise=False)
        if dataset.fingerprint != self.fingerprint:
            raise DistaffError(f"{dataset.name} is not what the run was trained on: its content has changed.")
        return dataset

    @property
    def made_of(self) -> Arrangement | None:
        """How the observations were derived from the given data."""
        if self.arrangement is None:
            return None
        images = "images" in self.arrangement
        return Scaled.read(self.arrangement) if images else read_arrangement(self.arrangement)

    def bring_in(self, data: Any, /, **options: Any) -> Dataset:
        """Other data, converted as those of the run were.

        Args:
            data: anything that could have been trained on: a folder, a file, an array, a photograph.
            **options: further arguments of the reader, which override those of the run. Labels in a file
                belong to the run's own data, and must be given again.
        """
        told = {key: value for key, value in self.options.items() if key != "labels" or value == "folders"}
        return self._checked(bring_in(data, self.shape, self.made_of, told, **options))

    def other(self, data: DataCall) -> Dataset:
        """Another data set for the run's model: a named one unchanged, a user's converted like the run's."""
        if str(data.spec) not in names() and named_path(str(data.spec)).exists():
            return self.bring_in(data.spec, **data.options)
        return self._checked(data.open(standardise=False))

    def _checked(self, data: Dataset) -> Dataset:
        if data.shape != self.shape:
            raise DistaffError(
                f"{data.name} holds observations of shape {data.shape}, but the run was trained on "
                f"{self.shape}."
            )
        return data


@dataclass(frozen=True)
class RunConfig:
    """Everything needed to repeat a run.

    Args:
        recipe: the recipe and its arguments.
        data: the data set.
        model: the model.
        training: training settings.
        made_with: versions of the libraries, threads and commit.
    """

    recipe: RecipeCall
    data: DataConfig
    model: ModelConfig
    training: TrainingSettings
    made_with: Mapping[str, Any] = field(default_factory=lambda: surroundings())

    @classmethod
    def from_plain(cls, content: Any) -> "RunConfig":
        """Read a run from a mapping of plain values; files of this version have every field."""
        sections = content if isinstance(content, Mapping) else {}
        parts = {name: s if isinstance(s := sections.get(name), Mapping) else {} for name in PARTS}
        kinds = {**PARTS, "model": model_config(parts["model"])}
        made_with = dict(m) if isinstance(m := sections.get("made_with"), Mapping) else {}
        made_by = made_with.get("distaff", __version__)
        data = parts["data"]
        names = {key: data[key] for key in ("spec", "name") if isinstance(data.get(key), str)}
        parts["data"] = {**data, **{key: DATA_SETS.get(name, name) for key, name in names.items()}}
        if made_by == FIRST:
            parts = in_todays_words(parts)
        if made_by == __version__:
            lacking = [
                f"{n}.{f.name}"
                for n, kind in kinds.items()
                for f in fields(kind)
                if f.name not in parts[n] and not f.metadata.get("added_later")
            ]
            if lacking:
                raise DistaffError(f"it lacks {', '.join(lacking)}")
        read = {name: kind(**bind(kind, parts[name])) for name, kind in kinds.items()}
        return cls(**read, made_with=made_with)

    def to_plain(self) -> dict[str, Any]:
        """Plain values, as stored in ``run.yaml``."""
        plain: dict[str, Any] = {name: to_plain(getattr(self, name)) for name in PARTS}
        return {**plain, "made_with": dict(self.made_with)}

    def goal(self) -> Goal:
        """The recipe's goal, with the label loss if the run has labels."""
        return labelled_goal(self.recipe.goal(), self.training)

    def parts(self, data: Dataset) -> tuple[Dataset, Dataset | None]:
        """The training part of the run's data set, and the held-out part, if any.

        If another file or folder is held out, it is prepared in the same way as the data set.
        """
        hold_out, pairs = self.training.hold_out, self.training.pairs
        if pairs is not None:
            data = listed(pairs, data)
        if hold_out is None:
            return data, None
        share = held_out_share(hold_out)
        if share is None:
            other = self.data.bring_in(hold_out)
            return data, listed(pairs, other) if pairs == "sequence" else other
        return split(data, share, self.training.seed, self.training.hold_out_by)

    @property
    def code(self) -> dict[str, str]:
        """Names of code outside the library, such as ``mine:net``, and the kind of thing that each names."""
        return named_code(self.recipe, self.model, self.data.spec, self.training)

    @property
    def title(self) -> str:
        """The run's title on pages."""
        return f"{self.recipe.name} on {self.data.name}"

    def to_yaml(self) -> str:
        """The text of ``run.yaml``."""
        return yaml_text(self.to_plain())


PARTS: dict[str, type] = {
    "recipe": RecipeCall,
    "data": DataConfig,
    "model": VAEConfig,
    "training": TrainingSettings,
}
"""The sections of ``run.yaml``; a model's section may be a ``GANConfig`` instead."""


def named_code(
    recipe: RecipeCall,
    model: ModelConfig | ModelSettings,
    data: object,
    training: TrainingSettings,
) -> dict[str, str]:
    """Every name that the run would import, and the kind of thing that it names.

    A recipe may look up any text among its arguments, so every argument that could be a name counts as one.

    >>> from distaff.runs.config import RecipeCall
    >>> model = ModelSettings(network="mine:net:depth=2", prior="mine:laplace:0.7")
    >>> named_code(RecipeCall("vae", {}), model, "dsprites", TrainingSettings(pairs="mine:neighbours"))
    {'mine:net': 'network', 'mine:laplace': 'prior', 'mine:neighbours': 'pair source'}
    """
    texts = [("recipe", recipe.name)]
    texts += [("argument of the recipe", found) for text in _texts(recipe.arguments) for found in _in(text)]
    texts += [("kind of latent", found) for found in _in(str(model.latents))]
    if ":" in model.network and not model.network.startswith(TIMM):  # timm's are not the run author's code
        texts.append(("network", split_call(model.network)[0]))
    if not isinstance(model, GANConfig):
        if ":" in model.prior:
            texts += [("prior", name) for name in kinds_named(model.prior)]
        texts.append(("likelihood", model.likelihood))
    texts += [("pair source", found) for found in _in(training.pairs or "")]
    files = [data, training.hold_out]
    texts += [("data set", text) for text in files if isinstance(text, str) and names_code(text)]
    return {text: kind for kind, text in texts if ":" in text}


def _in(text: str) -> list[str]:
    return CODE.findall(text)


def _texts(value: Any) -> Iterator[str]:
    """Every string within mappings and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def surroundings() -> dict[str, Any]:
    """The value of ``made_with`` for a new run."""
    libraries = {library: version(library) for library in LIBRARIES}
    versions = {"distaff": __version__, "python": platform.python_version(), **libraries}
    return {**versions, "threads": torch.get_num_threads(), "git": _commit()}


def _commit() -> str | None:
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None
