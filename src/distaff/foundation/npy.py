"""Reading untrusted ``.npy`` files as a whole."""

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from distaff.foundation.errors import DistaffError, whole
from distaff.foundation.untrusted_files import LARGEST, NpyHeader, whole_array


def read_npy(path: Path, largest: int = LARGEST) -> NDArray[Any]:
    """Read the whole array of a ``.npy`` file."""
    with whole(path, ".npy file of plain numbers"), path.open("rb") as file:
        header = NpyHeader.read(file)
        if header.dtype.hasobject:
            raise DistaffError(f"{path} holds pickled objects, which are never loaded.")
        if file.tell() + header.size != path.stat().st_size:
            raise DistaffError(f"{path} is not as long as its header says.")
        if header.size > largest:
            raise DistaffError(f"{path} holds {header.size:,} bytes, more than the {largest:,} allowed.")
        return whole_array(file, header, str(path))
