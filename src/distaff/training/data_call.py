"""The data of a run as a call that can be written down and made again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.data import Dataset as TorchDataset

from distaff.calls import named_values
from distaff.data import names, open_dataset
from distaff.data.dataset import Dataset
from distaff.data.frameworks import from_object
from distaff.data.sizes import resized
from distaff.errors import DistaffError

Data = str | Path | Dataset | np.ndarray[Any, Any] | TorchDataset[Any]


def open_data_call(
    data: Data,
    file: str | Path | None = None,
    options: str | Mapping[str, Any] | None = None,
    resize: int | None = None,
    skip_bad: bool = False,
) -> tuple[Dataset, dict[str, Any]]:
    """A data set, and the call that opens it again: paths are made absolute, what is in memory has no spec.

    Args:
        data: a known name, a file, a folder, an array, a ``Dataset``, or another library's (``from_object``).
        file: the official file of a named data set.
        options: what its ``load`` takes beside, as a mapping or as text such as ``part=test,variant=real``.
        resize: one of those options by itself.
        skip_bad: another.
    """
    chosen = named_values(options) if isinstance(options, str) else dict(options or {})
    if resize is not None:
        chosen["resize"] = resize
    if skip_bad:
        chosen["skip_bad"] = True
    spec = None
    if isinstance(data, Dataset):
        dataset = data
    elif isinstance(data, str | Path):
        known = str(data) in names()
        spec = str(data) if known or not Path(data).exists() else str(Path(data).resolve())
        dataset = open_dataset(spec, file and Path(file), **chosen)
    else:
        dataset = from_object(data)
    if spec is None and chosen.keys() - {"resize"}:
        raise DistaffError(f"{', '.join(chosen.keys() - {'resize'})} go with files, not with data in memory.")
    if spec is None and "resize" in chosen:
        dataset = resized(dataset, chosen["resize"])
    return dataset, {
        "spec": spec,
        "file": file and str(Path(file).resolve()),
        "options": chosen,
        "name": dataset.name,
        "size": len(dataset),
        "shape": list(dataset.shape),
        "fingerprint": dataset.fingerprint,
    }


def reopen(call: Mapping[str, Any], data: Data | None = None) -> Dataset:
    """The data set of a call, or ``data`` in its place; its content must be the same as then."""
    if data is None and call["spec"] is None:
        raise DistaffError("the run was trained on data given in Python: pass the same data again.")
    dataset, _ = (
        open_data_call(call["spec"], call["file"], call["options"]) if data is None else open_data_call(data)
    )
    if dataset.fingerprint != call["fingerprint"]:
        raise DistaffError(f"{dataset.name} is not what the run was trained on: its content has changed.")
    return dataset
