"""One small real study that several tests look at."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from distaff import studies
from distaff.studies import local
from distaff.studies.check import check
from distaff.studies.results import Results
from distaff.studies.study_run import StudyRun
from distaff.studies.worker_task import Outcome, attempt
from tests import toys

STUDY = """
name: tiny
about: Squares somewhere, by three objectives.
data: {data}
steps: 20
seeds: 2
common: {{batch_size: 16, network: mlp, latents: 4, learning_rate: 1e-3, accelerator: cpu}}
runs:
  - {{recipe: beta_vae, beta: [1, 8]}}
  - {{recipe: dip_vae_i}}
metrics: [mig, "mig:chen18", dci, wsepin]
figures:
  - {{drawing: "tests.studies.troubles:dots", column: mig, caption: Every run a dot.}}
  - {{drawing: "tests.studies.troubles:means"}}
  - {{drawing: "tests.studies.troubles:nothing_to_draw"}}
"""


class OneAfterTheOther:
    """An engine without processes, for what is not about them."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    @property
    def room(self) -> int:
        return 1 - len(self.outcomes)

    def check(self, runs: Sequence[StudyRun]) -> None:
        check(runs)

    def start(self, run: StudyRun) -> None:
        self.outcomes.append(attempt(run))

    def finished(self, seconds: float) -> list[Outcome]:
        outcomes, self.outcomes = self.outcomes, []
        return outcomes

    def close(self) -> None:
        pass


def without_workers(patch: pytest.MonkeyPatch) -> None:
    """Let studies do their runs in this process."""
    patch.setattr(local, "local_workers", lambda *_: OneAfterTheOther())


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Path:
    """Squares with their rows and columns as factors."""
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    images = toys.tiny_images(256).images[:].numpy()
    corners = np.array([np.argwhere(image[0])[0] for image in images])
    np.savez(path, images=images, factors=corners, factor_names=["row", "column"])
    return path


@pytest.fixture(scope="session")
def done(tiny, tmp_path_factory) -> Results:
    """A study of six runs, all finished."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "tiny.yaml").write_text(STUDY.format(data=tiny))
    with pytest.MonkeyPatch.context() as patch:
        without_workers(patch)
        table = studies.run(folder / "tiny.yaml", out=folder / "out", progress=False)
    assert list(table["state"]) == ["finished"] * 6, table["error"].tolist()
    return Results.read(folder / "out")


@pytest.fixture
def here(monkeypatch) -> None:
    """Studies do their runs in this process."""
    without_workers(monkeypatch)
