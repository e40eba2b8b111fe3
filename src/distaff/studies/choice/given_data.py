"""Write data given in Python to a file in the study's folder, for other processes and later commands."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from distaff.codes import as_array
from distaff.data.arrangements import Table
from distaff.data.dataset import Dataset
from distaff.data.frameworks import is_frame, to_frame
from distaff.data.images import BitImages, ByteImages, Chosen
from distaff.data.signals import Signals
from distaff.foundation.files import atomic_file
from distaff.runs.calls import DataCall

WHITE = 255
BLOCK = 4096


def on_disk(call: DataCall, dataset: Dataset, folder: Path) -> DataCall:
    """The call that opens the same data from a file; ``call`` itself if the data are on disk already."""
    data: Any = call.spec
    if isinstance(data, str | Path):
        return DataCall(_absolute(str(data)), call.file, call.options)
    if is_frame(data):
        options = {name: value for name, value in call.options.items() if name != "matrix"}
        frame = to_frame(data, options, call.options.get("matrix"))
        return _written_table(frame, folder, DataCall(data, None, options))
    if isinstance(data, Dataset | TorchDataset | DataLoader) or hasattr(data, "column_names"):
        return _written_dataset(dataset, folder, call)
    return _written_array(as_array(data), folder, call)


def _written_dataset(dataset: Dataset, folder: Path, call: DataCall) -> DataCall:
    """Write the original data of a ``Dataset`` if they are known, else its observations."""
    how = dataset.arrangement
    if isinstance(how, Table):
        rows = how.back(dataset.images[:].numpy())
        counts = "+".join(column.name for column in how.columns if column.kind == "count")
        classes = "+".join(column.name for column in how.columns if column.kind == "classes")
        told = {"counts": counts} if counts else {}
        if isinstance(rows, pd.DataFrame):
            told |= {"categorical": classes} if classes else {}
            return _written_table(rows, folder, DataCall(call.spec, None, told))
        return _written_array(rows, folder, DataCall(call.spec, None, told))
    if isinstance(how, Signals):
        signals = how.back(dataset.images[:].numpy())
        return _written_array(signals, folder, DataCall(call.spec, None, {"signals": True}))
    if len(dataset.shape) != 3:
        raw = DataCall(call.spec, None, {"standardise": False})
        return _written_array(dataset.images[:].numpy(), folder, raw)
    stored: Any = dataset.images
    while isinstance(stored, Chosen):
        stored = stored.images
    whole = isinstance(stored, ByteImages | BitImages)
    values = np.empty((len(dataset), *dataset.shape), np.uint8 if whole else np.float32)
    for start in range(0, len(dataset), BLOCK):
        block = dataset.images[start : start + BLOCK].numpy()
        values[start : start + BLOCK] = np.rint(block * WHITE) if whole else block
    # The observations are already resized, if that was requested.
    return _written_array(values, folder, DataCall(call.spec, None, {"channels": "first"}))


def _written_table(frame: pd.DataFrame, folder: Path, call: DataCall) -> DataCall:
    path = folder / "data.parquet"
    with atomic_file(path) as temporary:
        frame.rename(columns=str).to_parquet(temporary, engine="pyarrow")
    return DataCall(str(path.resolve()), None, call.options)


def _written_array(values: np.ndarray[Any, Any], folder: Path, call: DataCall) -> DataCall:
    path = folder / "data.npy"
    with atomic_file(path) as temporary, open(temporary, "wb") as file:
        np.save(file, values, allow_pickle=False)
    return DataCall(str(path.resolve()), None, call.options)


def _absolute(place: str) -> str:
    return str(Path(place).resolve()) if Path(place).exists() else place
