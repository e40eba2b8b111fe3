"""Where observations come from: one file a data set, each with a ``load() -> Dataset``."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from distaff.data import arrays, folders
from distaff.data.arrays import from_array
from distaff.data.dataset import Dataset
from distaff.data.images import BitImages, ByteImages, FloatImages, Images
from distaff.errors import DistaffError, unknown

__all__ = [
    "BitImages",
    "ByteImages",
    "Dataset",
    "FloatImages",
    "Images",
    "from_array",
    "names",
    "open_dataset",
]


def names() -> tuple[str, ...]:
    """The data sets known by name: the files of this folder that describe themselves in an ``ABOUT``."""
    modules = (module.name for module in iter_modules(__path__))
    return tuple(name for name in modules if hasattr(import_module(f"{__name__}.{name}"), "ABOUT"))


def open_dataset(spec: str | Path, file: str | Path | None = None) -> Dataset:
    """The data set of a known name, of an ``.npz`` or ``.npy`` file, or of a folder of images.

    Args:
        spec: ``"dsprites"``, ``"my.npz"`` or ``"photos/"``.
        file: for a known name, the official file to read instead of the built-in images.
    """
    if str(spec) in names():
        module = import_module(f"{__name__}.{spec}")
        data: Dataset = module.load() if file is None else module.load(file)
        return data
    path = Path(spec)
    if file is not None:
        raise DistaffError(
            f"a file goes with a data set known by name ({', '.join(names())}), not with {spec}."
        )
    if path.is_dir():
        return folders.load(path)
    if path.suffix in (".npz", ".npy"):
        return arrays.load(path)
    if path.exists():
        raise DistaffError(
            f"{path} is not a kind of file that can be read: give an .npz, a .npy or a folder."
        )
    if len(path.parts) > 1 or path.suffix:
        raise DistaffError(f"there is no file or folder {path}.")
    raise unknown("data set", str(spec), names())
