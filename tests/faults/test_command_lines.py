"""Wrong command lines end with exit code 2 and a sentence, and nothing is written."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from distaff import cli
from distaff.training.train import train
from tests import toys
from tests.faults.command_lines import Line, Places, by_hand, wrong_lines

STUDY = """
name: wrong
data: {data}
steps: 2
common: {{batch_size: 16, network: mlp, latents: 2, accelerator: cpu}}
runs: [vae]
metrics: [mig]
"""
LINES = 2
FEWEST = 300


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> Places:
    folder = tmp_path_factory.mktemp("places")
    data = folder / "tiny.npz"
    images = toys.tiny_images(64).images[:].numpy()
    corners = np.array([np.argwhere(image[0])[0] for image in images])
    np.savez(data, images=images, factors=corners // 3, factor_names=["row", "column"])
    run = folder / "run"
    small = {"network": "mlp", "latents": 2, "progress": False, "accelerator": "cpu"}
    train("beta_vae", str(data), out=run, steps=2, batch_size=16, **small)
    study = folder / "study.yaml"
    study.write_text(STUDY.format(data=data))
    return Places(folder, data, run, study)


def content(folder: Path) -> dict[str, str]:
    """Every file and folder, with a hash of what is in it; the codes of a run may be made on the way."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.name not in ("codes.safetensors", "codes.json"):
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return found


def trouble(line: Line, places: Places, capsys: pytest.CaptureFixture[str]) -> str:
    """What is wrong with the answer to a wrong command line; nothing if all is as it should be."""
    code: object = 0
    try:
        cli.main(list(line))
    except SystemExit as stop:
        code = stop.code
    except BaseException as problem:
        return f"{type(problem).__name__}: {problem}"
    said = [text for text in capsys.readouterr().err.splitlines() if text.strip()]
    if code != cli.BAD_INPUT:
        return f"exit code {code}: {said}"
    if not said or len(said) > LINES or not said[-1].startswith("distaff: ") or "Traceback" in said[-1]:
        return f"{len(said)} lines: {said}"
    return "a folder is left" if (places.folder / "new").exists() else ""


def check(lines: list[Line], places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    places.wrong  # noqa: B018  (made before, so that they are there)
    wrong_lines(places)  # which names files of its own
    before = content(places.folder)
    found = {line: problem for line in lines if (problem := trouble(line, places, capsys))}
    assert not found, "\n".join(f"{' '.join(line)} → {problem}" for line, problem in found.items())
    assert content(places.folder) == before


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """In a folder of its own, where the default places of what is written would be."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_mistakes_that_were_made_are_one_sentence(places, capsys):
    check(by_hand(places), places, capsys)


def test_some_of_the_campaign(places, capsys):
    check(wrong_lines(places)[::23], places, capsys)


@pytest.mark.faults
def test_every_wrong_command_line_is_a_sentence_and_writes_nothing(places, capsys):
    lines = wrong_lines(places)
    assert len(lines) >= FEWEST
    check(lines, places, capsys)
    with capsys.disabled():
        print(f"\n{len(lines)} wrong command lines: exit code 2 and a sentence each, nothing written")
