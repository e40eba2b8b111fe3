"""A few tiny real studies that the drawings' tests look at, each trained once."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from distaff.studies.attempt import attempt
from distaff.studies.results import Results
from distaff.studies.study import Study
from tests import toys

SHAPES = """
name: shapes
about: Squares somewhere.
data: {data}
steps: 12
seeds: 2
common: {{batch_size: 32, network: mlp, latents: 3, learning_rate: 3.0e-3, log_every: 2, snapshots: 3,
         accelerator: cpu}}
runs:
  - {{recipe: beta_vae, beta: [1, 4]}}
  - {{recipe: factor_vae, gamma: [1, 10], critic: {{hidden: 16, layers: 2}}}}
metrics: [factor_vae_score, mig, rmig]
"""
PINWHEEL = """
name: pinwheel
steps: 30
seeds: 2
data: pinwheel
common: {batch_size: 400, learning_rate: 1.0e-2, latents: 2, network: pinwheel, prior: "mixture:0.03",
         log_every: 1, accelerator: cpu}
runs:
  - {recipe: alpha_beta_vae, alpha: [0, 5], beta: [0.01, 1.2], divergence: inclusive_kl}
metrics: [hoyer]
"""
LINE = """
name: line
steps: 20
data: line
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

GENERATOR = """
name: generator
steps: 4
data: {data}
common: {{batch_size: 16, network: infogan_mlp, latents: "side=concrete:2,place=uniform:2,noise:5",
         log_every: 1, accelerator: cpu}}
runs: [{{recipe: infowgan_gp}}, {{recipe: infogan}}]
metrics: [factor_vae_score]
"""


def made(text: str, folder: Path) -> Results:
    """The results of a study, trained and scored here and now."""
    results = Results(Study.parse(text), folder)
    for run in results.all_runs:
        outcome = attempt(run)
        assert outcome.error is None, outcome.details
    results.write()
    return Results.read(folder)


@pytest.fixture(scope="session")
def squares(tmp_path_factory) -> Path:
    """Squares somewhere, with their coarse rows and columns."""
    file = tmp_path_factory.mktemp("squares") / "tiny.npz"
    images = toys.tiny_images(256).images[:].numpy()
    corners = np.array([np.argwhere(image[0])[0] for image in images])
    np.savez(file, images=images, factors=corners // 3, factor_names=["row", "column"])
    return file


@pytest.fixture(scope="session")
def shapes(squares, tmp_path_factory) -> Results:
    """β-VAEs and FactorVAEs, two seeds, three snapshots."""
    return made(SHAPES.format(data=squares), tmp_path_factory.mktemp("shapes"))


@pytest.fixture(scope="session")
def generator(squares, tmp_path_factory) -> Results:
    """A generator of squares by each game."""
    return made(GENERATOR.format(data=squares), tmp_path_factory.mktemp("generator"))


@pytest.fixture(scope="session")
def pinwheel(tmp_path_factory) -> Results:
    """α and β on the pinwheel, two seeds."""
    return made(PINWHEEL, tmp_path_factory.mktemp("pinwheel"))


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
