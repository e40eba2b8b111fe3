"""Data sets: one file per data set, each with a ``load() -> Dataset``.

- ``open_dataset`` opens any data set by name, file or folder; ``names`` lists the named ones, and
  ``distaff.data.NAME.load()`` opens one of them (its ``ABOUT`` describes it).
- ``from_array``, ``from_torch``, ``from_hugging_face`` turn your own data into a ``Dataset``.
- ``BitImages``, ``ByteImages``, ``FloatImages`` are the ``Images`` that a ``Dataset`` can hold.
- ``split``, ``some``, ``some_rows``, ``without`` select parts of a data set; ``measure_strokes`` measures
  drawn characters.

To add a data set, write one file here with ``load()`` and an ``ABOUT = About(...)``: it is found
automatically, and the arguments of ``load`` are its options.
>>> import distaff
>>> distaff.data.pinwheel.load(count=80)
pinwheel: 80 × (2,), arm 4
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from distaff.data.about import About
from distaff.data.arrays import from_array
from distaff.data.dataset import Dataset
from distaff.data.frameworks import from_hugging_face, from_torch
from distaff.data.images import BitImages, ByteImages, FloatImages, Images
from distaff.data.opening import names, open_dataset
from distaff.data.splits import some, some_rows, split, without
from distaff.data.strokes import measure_strokes

__all__ = [
    "About",
    "BitImages",
    "ByteImages",
    "Dataset",
    "FloatImages",
    "Images",
    "from_array",
    "from_hugging_face",
    "from_torch",
    "measure_strokes",
    "names",
    "open_dataset",
    "some",
    "some_rows",
    "split",
    "without",
]


def __getattr__(name: str) -> ModuleType:
    """The module of a data set, as in ``distaff.data.dsprites.load()``, imported on first use."""
    if not name.startswith("_") and any(module.name == name for module in iter_modules(__path__)):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'distaff.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *names()]
