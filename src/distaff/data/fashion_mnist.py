"""Fashion-MNIST: 70,000 garments in the format of MNIST, 28×28."""

from pathlib import Path

from distaff.data.about import About
from distaff.data.dataset import Dataset
from distaff.data.idx import Part, idx_files, load_idx

ABOUT = About(
    summary="Garments in grey, 28×28: 60,000 for training and 10,000 for testing.",
    source="https://github.com/zalandoresearch/fashion-mnist",
    licence="MIT",
    citation="Xiao, Rasul & Vollgraf (2017), Fashion-MNIST: a novel image dataset for benchmarking",
    count=60_000,
    shape=(1, 28, 28),
    factors={"garment": 10},
    files=idx_files(
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    ),
)


def load(file: str | Path | None = None, part: Part = "train") -> Dataset:
    """Fashion-MNIST from its four idx files.

    Args:
        file: the folder that holds them, gzipped or not; by default the folder of the data set.
        part: ``"train"`` (60,000), ``"test"`` (10,000) or ``"all"``.
    """
    return load_idx("fashion_mnist", ABOUT, "garment", file, part)
