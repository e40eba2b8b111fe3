"""The data of a run: which data set to open, as requested and as stored in ``run.yaml``."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import SkipValidation
from torch.utils.data import Dataset as TorchDataset

from distaff.data import tables
from distaff.data.arrangements import Arrangement, Table, read_arrangement
from distaff.data.bringing_in import bring_in
from distaff.data.dataset import Dataset
from distaff.data.folder_scan import shape_of
from distaff.data.frameworks import from_object
from distaff.data.images import Scaled
from distaff.data.opening import find_reader, names, open_told
from distaff.data.signals import Signals
from distaff.data.sizes import resized
from distaff.foundation.binding import ADDED_LATER
from distaff.foundation.errors import DataNotice, DistaffError, unknown
from distaff.foundation.files import named_path
from distaff.models.likelihoods import COUNTED
from distaff.runs.settings import AUTO, DataSettings

Data = str | Path | Dataset | np.ndarray[Any, Any] | TorchDataset[Any]
"""Everything that can be trained on: a name, a file, a folder, or data in Python."""
DATA_SETS = {"line": "toy_line"}
"""Data sets that have another name today."""


@dataclass(frozen=True)
class DataCall:
    """Which data set to open.

    Args:
        spec: a known name, a file, a folder, an array, a ``Dataset``, or data of another library
            (``from_object``).
        file: the official file of a named data set.
        options: further arguments of the data set's ``load``.
    """

    spec: Annotated[Data, SkipValidation]
    file: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def told(cls, data: Data, how: DataSettings) -> "DataCall":
        """The data given to ``train``, with its data settings."""
        return cls(data, None if how.file is None else str(how.file), how.options)

    @classmethod
    def of(cls, data: Any) -> "DataCall":
        """The call that a study file describes, as ``dsprites`` or ``{spec: mnist, part: test}``."""
        given = dict(data) if isinstance(data, Mapping) else {"spec": data}
        spec = renamed_data(given.pop("spec", None))
        if not isinstance(spec, str):
            raise DistaffError(
                f"data is a name, a path, or a mapping with a spec such as {{spec: mnist}}, not {data!r}."
            )
        return cls(spec, given.pop("file", None), given)

    @property
    def text(self) -> str:
        """The call as text, such as ``mnist, part=test``."""
        told = {"file": self.file, **self.options}
        return ", ".join(
            [str(self.spec), *(f"{key}={value}" for key, value in told.items() if value is not None)]
        )

    @property
    def located(self) -> "DataCall":
        """The same call with absolute paths, for processes in another folder."""
        return replace(self, spec=_absolute(str(self.spec)), file=self.file and _absolute(self.file))

    def open(self, likelihood: str = AUTO, standardise: bool = True) -> tuple[Dataset, "DataConfig"]:
        """The data set, and the config that opens it again: paths are absolute, data in memory have none.

        Args:
            likelihood: requested likelihood; data for likelihoods of counts or bits are not standardised.
            standardise: whether to bring vectors of files and arrays to mean 0 and variance 1; those of named
                data sets, and of a ``Dataset``, are never changed.
        """
        spec, own = None, _ways(likelihood, standardise)
        if isinstance(self.spec, str | Path):
            here = str(self.spec) not in names() and named_path(self.spec).exists()
            spec = str(Path(self.spec).resolve()) if here else str(self.spec)
            known = own if here and _may_hold_vectors(Path(spec)) else {}
            dataset = open_told(spec, self.file, {**known, **self.options})
        else:
            dataset = self._in_memory(self.spec, own)
        file = None if self.file is None else str(Path(self.file).resolve())
        found = (dataset.name, len(dataset), dataset.shape, dataset.fingerprint)
        how = None if dataset.arrangement is None else dataset.arrangement.plain()
        return dataset, DataConfig(spec, file, self.options, *found, arrangement=how)

    def shape(self) -> tuple[int, ...] | None:
        """The shape that images will have, if it is known before they are decoded."""
        spec = self.spec
        if not isinstance(spec, str | Path) or str(spec) in names():
            return None
        if not named_path(spec).is_dir() and Path(spec).suffix not in (".zip", ".tar", ".tgz", ".gz"):
            return None
        _, told, _ = find_reader(spec, self.file, self.options)
        side = told.get("resize")
        return shape_of(**told) if side is None else (3, side, side)

    def _in_memory(self, data: Any, own: Mapping[str, Any]) -> Dataset:
        options = dict(self.options)
        side, fit = options.pop("resize", None), options.pop("fit", "squash")
        if isinstance(data, Dataset):
            if options:
                raise DistaffError(f"{', '.join(options)} go with files, not with a Dataset.")
            dataset = data
        else:
            for name in options:
                if name not in IN_MEMORY:
                    raise unknown("option of data in memory", name, IN_MEMORY)
            dataset = from_object(data, **{**own, **options})
        return dataset if side is None else resized(dataset, int(side), fit, "range" not in options)


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
        else:
            given = {} if self.spec is not None else self.options
            call = (
                DataCall(self.spec or "", self.file, options) if data is None else DataCall(data, None, given)
            )
            dataset, _ = call.open(standardise=False)
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
        return self._checked(data.open(standardise=False)[0])

    def _checked(self, data: Dataset) -> Dataset:
        if data.shape != self.shape:
            raise DistaffError(
                f"{data.name} holds observations of shape {data.shape}, but the run was trained on "
                f"{self.shape}."
            )
        return data


IN_MEMORY = ("categorical", "columns", "counts", "factors", "matrix", "range", "signals", "standardise")
"""Options of data in memory, in addition to ``resize`` and ``fit``."""


def renamed_data(spec: Any) -> Any:
    """The data set's name today."""
    return DATA_SETS.get(spec, spec) if isinstance(spec, str) else spec


def first_data_name(spec: Any) -> Any:
    """The data set's first name, which the folders of a study's runs keep."""
    return next((former for former, today in DATA_SETS.items() if today == spec), spec)


def _ways(likelihood: str, standardise: bool) -> dict[str, Any]:
    counted = {"counts": "all"} if likelihood in COUNTED else {}
    return {"standardise": standardise and likelihood != "bernoulli", **counted}


def _absolute(place: str) -> str:
    """The absolute path if the path exists; a name is returned unchanged."""
    return str(Path(place).resolve()) if Path(place).exists() else place


def _may_hold_vectors(path: Path) -> bool:
    return path.suffix in (*tables.SUFFIXES, ".npz", ".npy", ".h5", ".hdf5")
