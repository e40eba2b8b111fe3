"""What the page asks for, asked over HTTP: pictures, starts, uploads, names."""

import base64
import io
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from distaff.data import open_dataset
from distaff.explore.server import LARGEST_QUESTION
from distaff.explore.session import STEPS, Session
from distaff.explore.uploads import LARGEST_UPLOAD, read_upload
from distaff.foundation.errors import DistaffError
from distaff.runs.folder import RunFolder
from distaff.runs.load import load
from distaff.training.train import resume
from tests.explore.conftest import squares


def png(mode: str = "L", size: tuple[int, int] = (37, 23), kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, size, 1).save(buffer, kind)
    return buffer.getvalue()


def pixels(content: bytes) -> np.ndarray:
    return np.frombuffer(content, np.uint8).reshape(-1, 16, 16)


def test_the_session_sorts_latents_by_information(client):
    run = client.get("api/session").json()["runs"][0]
    information = [latent["information"] for latent in run["latents"]]
    assert information == sorted(information, reverse=True)
    assert information[0] > 1  # the square's place is learnt
    assert sorted(latent["name"] for latent in run["latents"]) == ["kind", "z0", "z1", "z2"]
    assert run["shape"] == [16, 16, 1]


def test_decoding_gives_the_models_own_picture(client, run):
    values = [0.5, -1.0, 0.25, 2]
    z = np.array([[0.5, -1.0, 0.25, 0, 0, 1]], np.float32)
    expected = (load(run).decode(z)[0, 0] * 255).round()
    answer = client.post("api/decode", json={"values": values})
    np.testing.assert_array_equal(pixels(answer.content)[0], expected)


def test_a_traversal_moves_one_latent_and_holds_the_others(client):
    values = [0.5, -1.0, 0.25, 1]
    cells = pixels(client.post("api/traverse", json={"values": values}).content)
    assert len(cells) == 3 * STEPS + 3
    latents = {latent["place"]: latent for latent in client.get("api/session").json()["runs"][0]["latents"]}
    for place, step, cell in [(0, 0, 0), (1, STEPS - 1, 2 * STEPS - 1), (3, 2, 3 * STEPS + 2)]:
        moved = [*values[:place], latents[place]["steps"][step], *values[place + 1 :]]
        alone = client.post("api/decode", json={"values": moved})
        np.testing.assert_array_equal(pixels(alone.content)[0], cells[cell])


@pytest.mark.parametrize(
    "values",
    [None, "0", [0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 3], [0, 0, 0, 0.5], [0, 0, 0, -1], ["0", 0, 0, 0],
     [True, 0, 0, 0], [float("nan"), 0, 0, 0], [float("inf"), 0, 0, 0], [1e300, 0, 0, 0], [None, 0, 0, 0]],
)  # fmt: skip
def test_values_that_are_none_are_one_sentence(client, values):
    for address in ("api/decode", "api/traverse"):
        answer = client.post(address, content=json.dumps({"values": values}))
        assert answer.status_code == 422
        assert answer.json()["error"].endswith(".")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"3"])
def test_a_question_that_is_no_object_is_one_sentence(client, body):
    for address in ("api/decode", "api/start", "api/name"):
        assert client.post(address, content=body).json() == {"error": "the question is not a JSON object."}


def test_a_question_is_short(client):
    assert client.post("api/start", content=b" " * (LARGEST_QUESTION + 1)).status_code == 413


def test_starting_from_an_observation_gives_its_code(client, run):
    images, places = squares()
    start = client.post("api/start", json={"index": 30}).json()
    codes = load(run).encode(images[30:31])
    np.testing.assert_allclose(start["values"][0][:3], codes.means[0], rtol=1e-5)
    assert start["values"][0][3] == codes.categories["kind"][0].argmax()
    shown = pixels(base64.b64decode(start["picture"]))[0]
    np.testing.assert_array_equal(shown, images[30, 0] * 255)
    assert start["facts"] == [["row", str(places[30, 0])], ["column", str(places[30, 1])]]


@pytest.mark.parametrize("index", [-1, 144, 10**30, 0.5, "3", True, [1]])
def test_observations_that_do_not_exist_are_one_sentence(client, index):
    answer = client.post("api/start", json={"index": index})
    assert answer.status_code == 422
    assert "observation" in answer.json()["error"]


def test_starting_from_the_centre(client):
    start = client.post("api/start", json={}).json()
    assert start["values"] == [[0, 0, 0, 0]]
    assert start["picture"] is None


def test_an_uploaded_observation_gives_the_same_code_as_the_data(client):
    """Black and white survive 8 bits, so the file and the data set hold the same image."""
    buffer = io.BytesIO()
    Image.fromarray((squares()[0][30, 0] * 255).astype(np.uint8)).save(buffer, "PNG")
    uploaded = client.post("api/upload", content=buffer.getvalue()).json()
    assert uploaded["values"] == client.post("api/start", json={"index": 30}).json()["values"]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_images_of_any_mode_and_size_are_taken(client, mode):
    for size in [(1, 1), (500, 3), (16, 16)]:
        answer = client.post("api/upload", content=png(mode, size))
        assert answer.status_code == 200, answer.text
        assert len(base64.b64decode(answer.json()["picture"])) == 16 * 16


@pytest.mark.parametrize(
    ("mode", "kind"), [("CMYK", "JPEG"), ("F", "TIFF"), ("I", "TIFF"), ("RGB", "WEBP"), ("P", "GIF")]
)
def test_other_kinds_of_files_are_taken(client, mode, kind):
    assert client.post("api/upload", content=png(mode, kind=kind)).status_code == 200


def bomb() -> bytes:
    """A PNG whose header promises 100,000 × 100,000 pixels."""
    whole = bytearray(png("L", (1, 1)))
    whole[16:24] = (100_000).to_bytes(4, "big") * 2
    return bytes(whole)


@pytest.mark.parametrize("content", [b"", b"hello", b"<svg></svg>", png()[:45], b"GIF89a", bomb()])
def test_a_bad_upload_is_one_sentence_and_changes_nothing(client, content):
    answer = client.post("api/upload", content=content)
    assert answer.status_code == 422
    assert "image" in answer.json()["error"]
    assert client.post("api/start", json={"index": 0}).status_code == 200


def test_an_upload_has_a_limit(client):
    answer = client.post("api/upload", content=b"x" * (LARGEST_UPLOAD + 1))
    assert answer.status_code == 413
    assert "20 MB" in answer.json()["error"]


def test_names_are_kept_in_the_run_folder(client, run):
    named = client.post("api/name", json={"latent": "z1", "title": "  x\tposition\n"}).json()
    assert named == {"z1": "x position"}
    assert json.loads((run / "names.json").read_text()) == {"z1": "x position"}
    latents = client.get("api/session").json()["runs"][0]["latents"]
    assert {latent["name"]: latent["title"] for latent in latents}["z1"] == "x position"
    assert client.post("api/name", json={"latent": "z1", "title": ""}).json() == {}


@pytest.mark.parametrize(
    "question",
    [{"latent": "z9", "title": "a"}, {"latent": "../z0", "title": "a"}, {"latent": "z0", "title": "a" * 61},
     {"latent": "z0"}, {"title": "a"}, {"latent": 0, "title": "a"}, {"latent": "z0", "title": None}],
)  # fmt: skip
def test_bad_names_are_one_sentence_and_nothing_is_written(client, run, question):
    answer = client.post("api/name", json=question)
    assert answer.status_code == 422
    assert answer.json()["error"].endswith(".")
    assert not (run / "names.json").exists()


def test_names_given_at_once_are_all_kept(client, run):
    names = {"z0": "x", "z1": "y", "z2": "size", "kind": "shape"}

    def give(latent: str) -> int:
        return client.post("api/name", json={"latent": latent, "title": names[latent]}).status_code

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(give, [*names] * 8)) == {200}
    assert json.loads((run / "names.json").read_text()) == names


def test_pictures_asked_for_at_once_are_not_mixed_up(client):
    questions = [[x / 10, 0, 0, 0] for x in range(-20, 20)]

    def ask(values: list[float]) -> bytes:
        return client.post("api/decode", json={"values": values}).content

    one_by_one = [ask(values) for values in questions]
    assert len(set(one_by_one)) > 10
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, questions)) == one_by_one


def test_latents_are_compared_with_the_factors(client):
    found = client.get("api/factors").json()
    information, entropies = np.array(found["information"]), np.array(found["entropies"])
    assert found["factors"] == ["row", "column"]
    np.testing.assert_allclose(entropies, np.log(12), atol=1e-3)
    assert information.shape == (4, 2)
    assert (information <= entropies + 1e-3).all()
    assert information.max() > 0.3


def test_a_run_that_trained_on_is_read_again_when_the_page_is_loaded(client, run):
    before = client.get("api/session").json()["runs"][0]
    assert before["facts"]["steps"] == "150"
    resume(run, steps=152, progress=False, accelerator="cpu")
    values = [0.5, -1.0, 0.25, 2]
    z = np.array([[0.5, -1.0, 0.25, 0, 0, 1]], np.float32)
    assert client.get("api/session").json()["runs"][0]["facts"]["steps"] == "152"
    answer = client.post("api/decode", json={"values": values})
    np.testing.assert_array_equal(pixels(answer.content)[0], (load(run).decode(z)[0, 0] * 255).round())
    assert client.get("api/factors").status_code == 200


def test_a_run_in_training_says_so(run):
    with RunFolder(run).lock():
        notices = Session.open([run]).describe()["runs"][0]["notices"]
        assert any("Still in training: this is step 150 of 150" in notice for notice in notices)
        shutil.rmtree(run / "checkpoint")
        with pytest.raises(DistaffError, match="half a minute"):
            Session.open([run])
    with pytest.raises(DistaffError, match="no checkpoint yet"):
        Session.open([run])


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGBA", "I;16"])
@pytest.mark.parametrize("told", [None, "0:4095"])
def test_an_upload_is_prepared_as_the_runs_own_files_were(tmp_path, mode, told):
    """Also where pixels are transparent, or where a range was given for scans of 16 bits."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 200, (24, 24, len(mode) if mode in ("LA", "RGBA") else 1), dtype=np.uint8)
    picture = Image.fromarray(values.squeeze().astype(np.uint16) * 16 if mode == "I;16" else values.squeeze())
    (tmp_path / "scans").mkdir()
    (picture.convert("P") if mode == "P" else picture).save(tmp_path / "scans" / "one.png")
    data = open_dataset(tmp_path / "scans", resize=16, fit="pad", **({} if told is None else {"range": told}))
    content = (tmp_path / "scans" / "one.png").read_bytes()
    uploaded = read_upload(content, data.shape, data.arrangement)
    np.testing.assert_allclose(uploaded, data.images[0].numpy(), atol=1e-6)
