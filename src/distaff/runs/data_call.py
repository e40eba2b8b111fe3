"""The data of a run as a call that can be written down and made again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import SkipValidation
from torch.utils.data import Dataset as TorchDataset

from distaff.data import names, open_dataset
from distaff.data.dataset import Dataset
from distaff.data.frameworks import from_object
from distaff.data.sizes import resized
from distaff.foundation.errors import DistaffError
from distaff.runs.former_versions import renamed_data

Data = str | Path | Dataset | np.ndarray[Any, Any] | TorchDataset[Any]


@dataclass(frozen=True)
class DataCall:
    """Which data set to open.

    Args:
        spec: a known name, a file, a folder, an array, a ``Dataset``, or another library's (``from_object``).
        file: the official file of a named data set.
        options: what its ``load`` takes beside.
    """

    spec: Annotated[Data, SkipValidation]
    file: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Any) -> "DataCall":
        """``dsprites``, or ``{spec: mnist, part: test}``."""
        given = dict(data) if isinstance(data, Mapping) else {"spec": data}
        spec = renamed_data(given.pop("spec", None))
        if not isinstance(spec, str):
            raise DistaffError(
                f"data is a name, a path, or a mapping with a spec such as {{spec: mnist}}, not {data!r}."
            )
        return cls(spec, given.pop("file", None), given)

    def open(self) -> tuple[Dataset, "DataConfig"]:
        """The data set, and the call that opens it again: paths are absolute; data in memory have none."""
        spec = None
        if isinstance(self.spec, str | Path):
            here = str(self.spec) not in names() and Path(self.spec).exists()
            spec = str(Path(self.spec).resolve()) if here else str(self.spec)
            dataset = open_dataset(spec, self.file, **self.options)
        else:
            dataset = self._in_memory(self.spec)
        file = None if self.file is None else str(Path(self.file).resolve())
        found = (dataset.name, len(dataset), dataset.shape, dataset.fingerprint)
        return dataset, DataConfig(spec, file, self.options, *found)

    def _in_memory(self, data: Any) -> Dataset:
        dataset = data if isinstance(data, Dataset) else from_object(data)
        if wrong := self.options.keys() - {"resize"}:
            raise DistaffError(f"{', '.join(wrong)} go with files, not with data in memory.")
        return resized(dataset, int(self.options["resize"])) if "resize" in self.options else dataset


@dataclass(frozen=True)
class DataConfig:
    """How a data set is opened, and what was found there.

    Args:
        spec: its name or absolute path; None for data given in Python.
        file: the official file of a named data set.
        options: what its ``load`` was told beside.
        name: what it calls itself.
        size: observations.
        shape: of one.
        fingerprint: of its content.
    """

    spec: str | None
    file: str | None
    options: Mapping[str, Any]
    name: str
    size: int
    shape: tuple[int, ...]
    fingerprint: str

    def reopen(self, data: Data | None = None) -> Dataset:
        """The data set again, or ``data`` in its place; its content must be the same as then."""
        if data is None and self.spec is None:
            raise DistaffError("the run was trained on data given in Python: pass the same data again.")
        call = DataCall(data) if data is not None else DataCall(self.spec or "", self.file, self.options)
        dataset, _ = call.open()
        if dataset.fingerprint != self.fingerprint:
            raise DistaffError(f"{dataset.name} is not what the run was trained on: its content has changed.")
        return dataset
