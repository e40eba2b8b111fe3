"""The models that are there: whole, small, listed, and in the wheel."""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import distaff
from distaff.data import names
from distaff.data.arrays import load as load_arrays
from distaff.runs import zoo

ROOT = Path(__file__).parents[2]
LARGEST_ZOO = 25_000_000


@pytest.mark.parametrize("name", zoo.zoo_names())
def test_a_model_of_the_zoo_is_whole(name):
    model = distaff.zoo.models()[name]
    assert model.origin.spec in names()
    assert model.step > 0
    assert model.scores, "scored"
    assert {"README.md", "LICENSE", "log.jsonl"} <= {path.name for path in model.folder.iterdir()}
    assert "license: apache-2.0" in (model.folder / "README.md").read_text("utf-8")
    examples = load_arrays(model.folder / zoo.EXAMPLES)
    trained = distaff.load(f"zoo:{name}")
    again = trained.reconstruct(examples.images[:8].numpy())
    assert again.shape == (8, *model.config.data.shape)
    assert np.isfinite(again).all()


def test_all_together_stay_small():
    assert sum(model.size for model in distaff.zoo.models().values()) < LARGEST_ZOO


def test_the_wheel_has_the_models(tmp_path):
    pytest.importorskip("hatchling")
    build = "from hatchling.build import build_wheel; import sys; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    files = {str(path.relative_to(source)) for path in (source / "distaff/zoo").rglob("*") if path.is_file()}
    assert {file for file in files if "__pycache__" not in file} <= inside
    assert "distaff/zoo/__init__.py" in inside
