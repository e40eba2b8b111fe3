"""The data of a run as a call that can be written down and made again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.data import Dataset as TorchDataset

from distaff.data import names, open_dataset
from distaff.data.dataset import Dataset
from distaff.data.frameworks import from_object
from distaff.data.sizes import resized
from distaff.foundation.errors import DistaffError
from distaff.foundation.text import named_values

Data = str | Path | Dataset | np.ndarray[Any, Any] | TorchDataset[Any]


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
        if data is not None:
            dataset, _ = open_data(data)
        elif self.spec is not None:
            dataset, _ = open_data(self.spec, self.file, self.options)
        else:
            raise DistaffError("the run was trained on data given in Python: pass the same data again.")
        if dataset.fingerprint != self.fingerprint:
            raise DistaffError(f"{dataset.name} is not what the run was trained on: its content has changed.")
        return dataset


def open_data(
    data: Data, file: str | Path | None = None, options: str | Mapping[str, Any] | None = None
) -> tuple[Dataset, DataConfig]:
    """A data set, and the call that opens it again: paths are made absolute, what is in memory has no spec.

    Args:
        data: a known name, a file, a folder, an array, a ``Dataset``, or another library's (``from_object``).
        file: the official file of a named data set.
        options: what its ``load`` takes beside, as a mapping or as text such as ``part=test,variant=real``.
    """
    given = named_values(options) if isinstance(options, str) else dict(options or {})
    spec = None
    if isinstance(data, Dataset):
        dataset = data
    elif isinstance(data, str | Path):
        known = str(data) in names()
        spec = str(data) if known or not Path(data).exists() else str(Path(data).resolve())
        dataset = open_dataset(spec, file and Path(file), **given)
    else:
        dataset = from_object(data)
    if spec is None and given.keys() - {"resize"}:
        raise DistaffError(f"{', '.join(given.keys() - {'resize'})} go with files, not with data in memory.")
    if spec is None and "resize" in given:
        dataset = resized(dataset, int(given["resize"]))
    return dataset, DataConfig(
        spec=spec,
        file=None if file is None else str(Path(file).resolve()),
        options=given,
        name=dataset.name,
        size=len(dataset),
        shape=dataset.shape,
        fingerprint=dataset.fingerprint,
    )
