"""A small run with real and discrete latents, trained once, and an application that serves a copy of it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from distaff.explore.server import build_app
from distaff.explore.session import Session
from distaff.training.train import train

TOKEN = "a-token-for-tests"
SETTINGS = {"steps": 150, "batch_size": 32, "learning_rate": 3e-3, "progress": False, "accelerator": "cpu"}


def squares(side: int = 16, channels: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Every place of a square on a small grid: images (N, C, side, side) and (N, 2) rows and columns."""
    places = np.stack(np.meshgrid(*[np.arange(side - 4)] * 2, indexing="ij"), -1).reshape(-1, 2)
    images = np.zeros((len(places), channels, side, side), np.float32)
    for image, (row, column) in zip(images, places, strict=True):
        image[:, row : row + 4, column : column + 4] = np.linspace(1, 0.25, channels)[:, None, None]
    return images, places


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """A folder with ``squares.npz`` and the run of it."""
    folder = tmp_path_factory.mktemp("explore")
    images, places = squares()
    np.savez(folder / "squares.npz", images=images, factors=places, factor_names=["row", "column"])
    latents = "z=gaussian:3,kind=concrete:3"
    train("vae", str(folder / "squares.npz"), latents=latents, network="mlp", out=folder / "run", **SETTINGS)
    return folder


@pytest.fixture
def run(trained, tmp_path) -> Path:
    """A copy of the run to write into; its data stay where they are."""
    return Path(shutil.copytree(trained / "run", tmp_path / "run"))


@pytest.fixture
def session(run) -> Session:
    return Session.open([run])


@pytest.fixture
def client(session) -> TestClient:
    """Knows the token: addresses are relative to it."""
    app = build_app(session, TOKEN)
    return TestClient(app, base_url=f"http://127.0.0.1:8300/{TOKEN}/", raise_server_exceptions=False)
