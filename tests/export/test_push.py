"""``export --push``: huggingface_hub's own client against a hub on this machine."""

import sys
from pathlib import Path

import numpy as np
import pytest

import distaff
from distaff import DistaffError
from distaff.export import export_run
from tests.export.local_hub import LocalHub, local_hub
from tests.export.test_export import make_run
from tests.test_cli import in_process

constants = pytest.importorskip("huggingface_hub.constants")
MINE = "me/beta_vae-tiny"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return make_run(tmp_path_factory.mktemp("push"))


@pytest.fixture
def hub(monkeypatch):
    with local_hub() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        monkeypatch.setenv("HF_TOKEN", "hf_mine")
        yield hub


def test_what_is_pushed_is_the_hub_folder_and_loads_again(run, hub: LocalHub, tmp_path, capsys):
    code, printed = in_process(capsys, "export", run, "--hub", tmp_path / "kept", "--push", MINE)
    assert code == 0, printed
    assert f"{MINE}: pushed to {hub.address}/{MINE}/commit/" in printed
    files = hub.repositories[MINE]
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    assert hub.tokens == {"Bearer hf_mine"}
    assert hub.messages == ["beta_vae on tiny, by distaff"]
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    x = np.random.default_rng(0).random((3, *distaff.load(run).shape), np.float32)
    np.testing.assert_array_equal(distaff.load(tmp_path).encode(x).means, distaff.load(run).encode(x).means)


def test_a_push_into_a_repository_that_is_there_adds_a_commit_and_needs_no_folder(run, hub: LocalHub):
    hub.repositories[MINE] = {"notes.txt": b"mine"}
    (written,) = export_run(run, push=MINE, progress=False)
    assert "pushed to" in written.note
    assert hub.repositories[MINE].keys() == {
        "notes.txt",
        "README.md",
        "config.json",
        "model.safetensors",
        "traversals.png",
    }


def test_a_hub_that_refuses_or_is_not_there_is_one_sentence(run, hub: LocalHub, monkeypatch):
    hub.refuses = True
    with pytest.raises(DistaffError, match=r"me/beta_vae-tiny could not be pushed: .*403") as refused:
        export_run(run, push=MINE, progress=False)
    assert "\n" not in str(refused.value)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DistaffError, match="could not be pushed"):
        export_run(run, push=MINE, progress=False)


def test_what_a_push_lacks_is_said_before_any_work(tmp_path, monkeypatch):
    nowhere = tmp_path / "no run"
    with pytest.raises(DistaffError, match=r"such as USER/NAME, not 'mine'"):
        export_run(nowhere, push="mine")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no token"))
    with pytest.raises(DistaffError, match=r"`hf auth login`, or set HF_TOKEN"):
        export_run(nowhere, push=MINE)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DistaffError, match=r"pip install 'distaff\[hub\]'"):
        export_run(nowhere, push=MINE)
