"""Toys of single papers: the ELBO without its terms on a line, digits with and without some combinations."""

import gzip

import numpy as np
import pytest

from distaff.studies.results import Results
from tests.small_studies import made

LINE = """
name: line
steps: 20
data: toy_line
common: {batch_size: 8, latents: 1, network: mlp, accelerator: cpu}
runs:
  - {recipe: ablated_elbo, without: [1, 2, 3, 4], evidence: "grid:50", density: exact}
"""
DIGITS = """
name: digits
steps: 40
common: {{batch_size: 32, latents: "style=gaussian:3,digit=concrete:2", network: mlp, learning_rate: 3.0e-3,
         accelerator: cpu}}
runs:
  - {{recipe: hfvae, data: [{{spec: mnist, file: {file}}}, {{spec: mnist, file: {file}, zero_shot: kept}}]}}
"""


@pytest.fixture(scope="session")
def line(tmp_path_factory) -> Results:
    """The ELBO without each of its terms, on a line."""
    return made(LINE, tmp_path_factory.mktemp("line"))


@pytest.fixture(scope="session")
def digits(tmp_path_factory) -> Results:
    """HFVAEs of bars (7) and boxes (0), with and without the thick and the narrow ones."""
    folder = tmp_path_factory.mktemp("digits")
    images, labels = strokes(200)
    for name, array in (("train-images-idx3", images), ("train-labels-idx1", labels)):
        header = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
        (folder / f"{name}-ubyte.gz").write_bytes(gzip.compress(header + array.tobytes()))
    return made(DIGITS.format(file=folder), folder / "out")


def strokes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Bars of every thickness, called 7, and outlined boxes of every width, called 0."""
    rng = np.random.default_rng(0)
    images = np.zeros((count, 28, 28), np.uint8)
    labels = np.tile(np.array([7, 0], np.uint8), count // 2)
    for image, label in zip(images, labels, strict=True):
        if label == 7:
            image[4:24, 12 : 12 + rng.integers(2, 9)] = 255
        else:
            right = 8 + rng.integers(6, 18)
            image[6:22, 6:right] = 255
            image[8:20, 8 : right - 2] = 0
    return images, labels
