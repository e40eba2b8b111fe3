"""A few tiny real studies that tests of drawings look at, each trained once; a plugin of pytest."""

from pathlib import Path

import numpy as np
import pytest

from distaff.studies.results import Results
from distaff.studies.study import Study
from distaff.studies.worker_task import attempt
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
