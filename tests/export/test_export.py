"""Exported runs give what the run gives: in onnxruntime, in torch.export, and loaded again."""

import errno
import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file

import distaff
from distaff import DistaffError
from distaff.analysis.evaluate import evaluate_run
from distaff.export import export_run
from distaff.export.formats import ONNX, PROGRAM, Format, write_graphs
from distaff.training.train import train
from tests import toys
from tests.test_cli import in_process

QUICK = {"steps": 4, "batch_size": 16, "log_every": 2, "progress": False, "accelerator": "cpu"}
MIXED = "digit=concrete:3,style=gaussian:2,smile=bernoulli:2"


def make_run(folder: Path, **settings) -> Path:
    data = folder / "tiny.npz"
    images = toys.tiny_images(64).images[:].numpy()
    factors = np.arange(64) % 4
    np.savez(data, images=images, factors=factors)
    train("beta_vae", str(data), beta=2, out=folder / "run", **{**QUICK, **settings})
    return folder / "run"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return make_run(tmp_path_factory.mktemp("images"), network="hfvae_celeba")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> Path:
    return make_run(tmp_path_factory.mktemp("mixed"), latents=MIXED)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    np.savez(folder / "v.npz", images=np.random.default_rng(0).normal(size=(50, 7)))
    train("wae", str(folder / "v.npz"), latents="point:3", out=folder / "run", **QUICK)
    return folder / "run"


@pytest.fixture(scope="module")
def gan(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("gan")
    np.savez(folder / "v.npz", images=images(50))
    train("infogan", str(folder / "v.npz"), latents=3, out=folder / "run", **QUICK)
    return folder / "run"


def images(count: int) -> np.ndarray:
    return toys.tiny_images(count, seed=5).images[:].numpy()


@pytest.mark.parametrize("name", ["run", "mixed"])
def test_onnx_gives_what_torch_gives_for_any_batch(name, request, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    folder = request.getfixturevalue(name)
    written = export_run(folder, onnx=tmp_path)
    assert [w.path.name for w in written] == ["encoder.onnx", "decoder.onnx"]
    assert all("agrees with torch to" in w.note for w in written)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["decoder.onnx", "encoder.onnx"]
    model = distaff.load(folder)
    encoder, decoder = (onnxruntime.InferenceSession(w.path) for w in written)
    for count in (1, 5):
        codes = model.encode(images(count))
        outputs = [output.name for output in encoder.get_outputs()]
        found = dict(zip(outputs, encoder.run(None, {"x": images(count)}), strict=True))
        np.testing.assert_allclose(found["mean"], codes.means, atol=1e-5)
        np.testing.assert_allclose(found["logvar"], codes.logvars, atol=1e-5)
        for group, probabilities in codes.categories.items():
            np.testing.assert_allclose(found[f"probabilities_{group}"], probabilities, atol=1e-5)
        z = model.to_z(codes)
        np.testing.assert_allclose(decoder.run(["mean"], {"z": z})[0], model.decode(z), atol=1e-5)


@pytest.mark.parametrize("name", ["run", "mixed", "vectors", "gan"])
def test_programs_of_torch_export_give_what_torch_gives_for_any_batch(name, request, tmp_path):
    folder = request.getfixturevalue(name)
    encoder, decoder = export_run(folder, torch_export=tmp_path / "m.pt2")
    assert (encoder.path.name, decoder.path.name) == ("m.encoder.pt2", "m.decoder.pt2")
    model = distaff.load(folder)
    for count in (1, 5):
        x = torch.randn(count, 7) if name == "vectors" else torch.tensor(images(count))
        codes = model.encode(x)
        seen = model.arrangement.dataset(x.numpy()).images[:] if name == "vectors" else x
        found = torch.export.load(encoder.path).module()(seen)
        np.testing.assert_allclose(found["mean"].detach(), codes.means, atol=1e-5)
        z = model.to_z(codes)
        decoded = torch.export.load(decoder.path).module()(torch.tensor(z))
        np.testing.assert_allclose(decoded["mean"].detach(), model.decode(z), atol=1e-5)


def off_by_one(content: bytes):
    right = PROGRAM.read(content)
    return lambda x: {name: array + 1 for name, array in right(x).items()}


def of_another_shape(content: bytes):
    right = PROGRAM.read(content)
    return lambda x: {name: array[:1, :1] for name, array in right(x).items()}


@pytest.mark.parametrize("wrong", [off_by_one, of_another_shape])
def test_what_disagrees_with_torch_is_not_written(run, tmp_path, wrong):
    with pytest.raises(DistaffError, match="encoder differs from torch by"):
        write_graphs(distaff.load(run), tmp_path / "out", Format(".pt2", PROGRAM.write, wrong))
    assert not (tmp_path / "out").exists()


def test_a_hub_folder_that_cannot_be_replaced_stays_as_it_was(run, vectors, tmp_path, monkeypatch):
    export_run(run, hub=tmp_path / "hub", progress=False)
    before = distaff.load(tmp_path / "hub").model.state_dict()

    def fail(path: Path) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("distaff.runs.hub.sha256", fail)
        with pytest.raises(OSError, match="No space left"):
            export_run(vectors, hub=tmp_path / "hub", overwrite=True, progress=False)
    after = distaff.load(tmp_path / "hub").model.state_dict()
    assert all(after[name].equal(weights) for name, weights in before.items())
    assert not list((tmp_path / "hub").glob(".*"))


def test_existing_files_are_kept_unless_told(run, tmp_path):
    (tmp_path / "encoder.pt2").write_text("mine")
    with pytest.raises(DistaffError, match=r"encoder.pt2 exists already.*--overwrite"):
        export_run(run, torch_export=tmp_path)
    assert (tmp_path / "encoder.pt2").read_text() == "mine"
    assert not (tmp_path / "decoder.pt2").exists()
    export_run(run, torch_export=tmp_path, overwrite=True)
    assert torch.export.load(tmp_path / "encoder.pt2") is not None
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DistaffError, match="is a file: name a folder"):
        write_graphs(distaff.load(run), tmp_path / "file", ONNX)


@pytest.mark.parametrize("name", ["run", "mixed", "vectors"])
def test_a_hub_folder_is_read_back_bit_for_bit(name, request, tmp_path):
    folder = request.getfixturevalue(name)
    export_run(folder, hub=tmp_path / "hub", progress=False)
    x = np.random.default_rng(0).normal(size=(9, 7)) if name == "vectors" else images(9)
    before, after = distaff.load(folder), distaff.load(tmp_path / "hub")
    assert after.names == before.names
    assert after.model.temperature == before.model.temperature
    np.testing.assert_array_equal(after.encode(x).means, before.encode(x).means)
    np.testing.assert_array_equal(after.encode(x).logvars, before.encode(x).logvars)
    np.testing.assert_array_equal(after.reconstruct(x), before.reconstruct(x))
    names = {path.name for path in (tmp_path / "hub").iterdir()}
    picture = set() if name == "vectors" else {"traversals.png"}
    assert names == {"README.md", "config.json", "model.safetensors"} | picture


def front_matter(folder: Path) -> dict:
    return yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])


def test_the_card_has_metadata_scores_and_a_picture(run, tmp_path):
    evaluation = evaluate_run(run, metrics="mig,sap", progress=False)
    export_run(run, hub=tmp_path, progress=False)
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    metadata = front_matter(tmp_path)
    assert metadata["library_name"] == "distaff"
    assert metadata["pipeline_tag"] == "image-feature-extraction"
    (result,) = metadata["model-index"][0]["results"]
    values = {metric["type"]: metric["value"] for metric in result["metrics"]}
    assert values == {score.name: pytest.approx(score.value) for score in evaluation.scores}
    assert f"| mig | {values['mig']:.4f} | higher |" in card
    assert "![Latent traversals](traversals.png)" in card
    assert (tmp_path / "traversals.png").read_bytes().startswith(b"\x89PNG")
    assert "nll + 2.0 kl" in card


def test_the_hub_s_own_reader_accepts_the_card(run, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    export_run(run, hub=tmp_path, progress=False)
    card = hub.ModelCard.load(tmp_path / "README.md")
    assert card.data.library_name == "distaff"
    assert {result.metric_type for result in card.data.eval_results} >= {"reconstruction_error", "kl"}


def test_a_hub_folder_that_holds_other_files_is_refused(run, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(DistaffError, match=r"holds other files.*--overwrite"):
        export_run(run, hub=tmp_path, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_nothing_of_the_machine_is_shared(run, tmp_path):
    export_run(run, hub=tmp_path, progress=False)
    for file in ("README.md", "config.json"):
        assert str(run.parent) not in (tmp_path / file).read_text(encoding="utf-8")


def test_of_places_beside_the_data_at_most_names_are_shared(run, tmp_path):
    np.savez(tmp_path / "held.npz", images=toys.tiny_images(32, seed=1).images[:].numpy())
    others = {"start": run, "hold_out": str(tmp_path / "held.npz"), "patience": 3}
    folder = make_run(tmp_path, network="hfvae_celeba", **others)
    export_run(folder, hub=tmp_path / "hub", progress=False)
    for file in ("README.md", "config.json"):
        text = (tmp_path / "hub" / file).read_text(encoding="utf-8")
        assert "held.npz" in text
        assert str(tmp_path) not in text
        assert str(run) not in text
    assert (
        distaff.load(tmp_path / "hub").model.state_dict().keys()
        == distaff.load(folder).model.state_dict().keys()
    )


def test_a_model_can_be_shared_where_its_data_are_not(tmp_path):
    folder = make_run(tmp_path)
    (tmp_path / "tiny.npz").unlink()
    (written,) = export_run(folder, hub=tmp_path / "hub", progress=False)
    assert "no scores" in written.note
    assert "model-index" not in front_matter(tmp_path / "hub")
    assert (tmp_path / "hub/traversals.png").exists()
    assert (
        load_file(tmp_path / "hub/model.safetensors").keys() == distaff.load(folder).model.state_dict().keys()
    )


def spoil(folder: Path, how: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    if how == "weights":
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-8] + b"distaff!")
    elif how == "no weights":
        (folder / "model.safetensors").unlink()
    elif how == "another library":
        config["library_name"] = "transformers"
    elif how == "lacking":
        del config["model"]["latents"]
    elif how == "another model":
        config["model"]["latents"] = "z=gaussian:3"
    elif how == "code":
        config["model"]["network"] = "antigravity:fly"
    (folder / "config.json").write_text("{" if how == "not json" else json.dumps(config))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("weights", "missing or damaged"),
        ("no weights", "missing or damaged"),
        ("another library", "not of a distaff model"),
        ("lacking", "lacks model.latents"),
        ("another model", "does not fit"),
        ("code", "would import 'antigravity': if you trust that code"),
        ("not json", "not readable JSON"),
    ],
)
def test_folders_that_are_not_whole_are_named(run, tmp_path, how, message):
    export_run(run, hub=tmp_path, progress=False)
    spoil(tmp_path, how)
    with pytest.raises(DistaffError, match=message):
        distaff.load(tmp_path)


def test_a_network_of_ones_own_is_loaded_once_it_is_trusted(tmp_path):
    folder = make_run(tmp_path, network="tests.toys:mlp")
    export_run(folder, hub=tmp_path / "hub", progress=False)
    with pytest.raises(DistaffError, match=r"would import 'tests\.toys'"):
        distaff.load(tmp_path / "hub")
    assert distaff.load(tmp_path / "hub", trust="tests").names == distaff.load(folder).names


def test_the_command_says_what_it_wrote_and_what_it_needs(run, tmp_path, capsys):
    code, printed = in_process(capsys, "export", run, "--torch-export", tmp_path, "--hub", tmp_path / "hub")
    assert code == 0
    assert "encoder.pt2: agrees with torch to" in printed
    assert "distaff.load reads it" in printed
    code, printed = in_process(capsys, "export", run)
    assert (code, "say what to write" in printed) == (2, True)
    code, printed = in_process(capsys, "export", tmp_path / "hub", "--hub", tmp_path / "again")
    assert (code, "not a run folder" in printed) == (2, True)
