"""MNIST: 70,000 handwritten digits, 28×28."""

from pathlib import Path
from typing import Literal

from distaff.data import strokes
from distaff.data.about import About
from distaff.data.dataset import Dataset
from distaff.data.idx import Part, idx_files, load_idx
from distaff.foundation.errors import unknown

ABOUT = About(
    summary="Handwritten digits in grey, 28×28: 60,000 for training and 10,000 for testing.",
    source="https://ossci-datasets.s3.amazonaws.com/mnist/",
    licence="CC BY-SA 3.0",
    citation="LeCun, Bottou, Bengio & Haffner (1998), Gradient-based learning for documents",
    count=60_000,
    shape=(1, 28, 28),
    factors={"digit": 10},
    files=idx_files(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
)


def load(
    file: str | Path | None = None,
    part: Part = "train",
    zero_shot: Literal["all", "kept", "removed"] = "all",
) -> Dataset:
    """MNIST from its four idx files.

    Args:
        file: the folder that holds them, gzipped or not; by default the folder of the data set.
        part: ``"train"`` (60,000), ``"test"`` (10,000) or ``"all"``.
        zero_shot: ``"kept"`` leaves out the thick 7s and the narrow 0s of that part, ``"removed"`` has only
            those (HFVAE §6.4, see :func:`distaff.data.strokes.zero_shot`).
    """
    data = load_idx("mnist", ABOUT, "digit", file, part)
    if zero_shot == "all":
        return data
    kept, removed = strokes.zero_shot(data)
    parts = {"kept": kept, "removed": removed}
    if zero_shot not in parts:
        raise unknown("zero_shot part of mnist", zero_shot, ["all", *parts])
    return parts[zero_shot]
