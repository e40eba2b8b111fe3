"""Runs of every kind of data, with it or without."""

import shutil
import warnings

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from distaff.analysis.evaluate import evaluate_run
from distaff.explore.loaded_run import DRAWN, LoadedRun
from distaff.explore.render import DOT, INK, SIDE, renderer_for
from distaff.explore.session import Session
from distaff.explore.standalone import export_page
from distaff.foundation.errors import DistaffError
from distaff.training.train import train
from tests.explore.conftest import SETTINGS, squares

QUICK = {**SETTINGS, "steps": 5, "network": "mlp"}


def test_without_its_data_a_run_starts_from_draws_of_the_prior(trained, tmp_path):
    """The run's data are moved away and put back."""
    kept = tmp_path / "kept.npz"
    shutil.move(trained / "squares.npz", kept)
    try:
        session = Session.open([trained / "run"])
    finally:
        shutil.move(kept, trained / "squares.npz")
    described = session.describe()
    assert described["data"] == {"name": "draws of the prior", "size": DRAWN, "start": 0}
    assert "squares.npz" in described["runs"][0]["notices"][0]
    assert described["runs"][0]["latents"][0]["information"] > 0.1
    assert session.start_at(3)["picture"]
    assert "no labelled factors" in session.runs[0].factors()["note"]


def test_scheduled_weights_are_shown_by_what_they_came_to():
    facts = LoadedRun.open("zoo:factor_vae-dsprites").facts
    assert (facts["gamma"], facts["bottleneck"], facts["steps"]) == ("→ 10", "→ 1", "5,500")


def test_codes_of_an_evaluation_are_used(run, monkeypatch):
    evaluate_run(run, progress=False)
    monkeypatch.setattr("distaff.models.representation.Representation.encode", None)
    opened = LoadedRun.open(run)
    assert len(opened.codes) == 144
    assert opened.factors()["factors"] == ["row", "column"]


def test_images_in_colour(tmp_path):
    images, _ = squares(channels=3)
    np.save(tmp_path / "colour.npy", images)
    train("vae", str(tmp_path / "colour.npy"), latents=2, out=tmp_path / "run", **QUICK)
    session = Session.open([tmp_path / "run"])
    opened = session.runs[0]
    assert opened.render.shape == (16, 16, 3)
    assert opened.decode([[0, 0]]).shape == (1, 16, 16, 3)
    red, _, blue = opened.render(images[:1])[0, 0, 0]
    assert (red, blue) == (255, 64)
    assert opened.factors() == {"note": "The data have no labelled factors to compare the latents with."}
    assert session.start_at(0)["facts"] == []


def test_points_of_the_plane(tmp_path):
    train("vae", "pinwheel", latents=2, out=tmp_path / "run", **{**QUICK, "network": "auto"})
    session = Session.open([tmp_path / "run"])
    run = session.describe()["runs"][0]
    assert run["shape"] == (SIDE, SIDE, 3)
    assert "point of the plane" in run["notices"][0]
    assert session.runs[0].traverse([0.0, 0.0], 9).shape == (18, SIDE, SIDE, 3)
    with pytest.raises(DistaffError, match="no image can start from it"):
        session.start_from_file(b"")


def test_a_point_is_drawn_where_it_lies():
    some = np.array([[-1.0, -1.0], [1.0, 1.0]])
    left_top = renderer_for((2,), some)(np.array([[-1.0, 1.0]]))[0]
    rows, columns = np.nonzero((left_top == INK).all(-1))
    assert abs(rows.mean() - SIDE / 12) < 1
    assert abs(columns.mean() - SIDE / 12) < 1
    assert len(rows) == pytest.approx(np.pi * DOT**2, rel=0.1)


def test_bars_stand_for_longer_vectors():
    some = np.array([[0.0, -1.0, 1.0, 0.5]])
    bars = (renderer_for((4,), some)(some)[0] == INK).all(-1).sum(0)
    np.testing.assert_allclose(bars.reshape(4, -1)[:, 0] / SIDE, [0, 0.5, 0.5, 0.25], atol=0.02)


def test_vectors_and_images_that_are_not_finite_are_still_drawn():
    for shape in [(1, 4, 4), (2,), (7,)]:
        some = np.random.default_rng(0).uniform(size=(5, *shape))
        assert renderer_for(shape, some)(np.full((1, *shape), np.nan)).dtype == np.uint8


def test_two_runs_start_from_the_same_observation(trained, run):
    session = Session.open([trained / "run", run])
    start = session.start_at(7)
    assert start["values"][0] == start["values"][1]
    assert all(described["notices"] == [] for described in session.describe()["runs"])


def test_two_runs_of_other_data_say_so(trained, tmp_path):
    images, _ = squares()
    np.save(tmp_path / "others.npy", images[:50])
    train("vae", str(tmp_path / "others.npy"), latents=2, out=tmp_path / "run", **QUICK)
    second = Session.open([trained / "run", tmp_path / "run"]).describe()["runs"][1]
    assert second["notices"] == ["Trained on other data (others) than the observations shown here."]


def test_two_runs_of_other_shapes_are_refused(trained, tmp_path):
    np.save(tmp_path / "small.npy", squares(side=12)[0])
    train("vae", str(tmp_path / "small.npy"), latents=2, out=tmp_path / "run", **QUICK)
    with pytest.raises(DistaffError, match="side by side they need the same"):
        Session.open([trained / "run", tmp_path / "run"])


@pytest.mark.parametrize("count", [0, 3])
def test_one_run_or_two(trained, count):
    with pytest.raises(DistaffError, match="one run, or two"):
        Session.open([trained / "run"] * count)


@pytest.mark.parametrize("content", ["{", "[]", '{"z0": 3}'])
def test_names_that_are_not_readable_are_one_sentence(run, content):
    (run / "names.json").write_text(content)
    with pytest.raises(DistaffError, match="correct it or remove it"):
        LoadedRun.open(run)


def test_signals_are_drawn_as_curves_over_time(tmp_path):
    times = np.linspace(0, 6, 40)
    waves = np.stack([np.sin(times + shift) for shift in np.linspace(0, 5, 30)])[:, None]
    np.save(tmp_path / "waves.npy", np.concatenate([waves, -waves], axis=1))
    how = {"data_options": {"signals": True}, "latents": 2, "out": tmp_path / "run"}
    train("vae", str(tmp_path / "waves.npy"), **how, **{**SETTINGS, "steps": 5, "batch_size": 10})
    session = Session.open([tmp_path / "run"])
    assert session.start_at(3)["picture"]
    assert session.runs[0].traverse([0.0, 0.0], 9).shape == (18, SIDE, SIDE, 3)
    assert "2 channels over time" in session.describe()["runs"][0]["notices"][-1]
    assert export_page(session, tmp_path / "page.html").stat().st_size > 10_000


def test_observations_are_not_brought_in_twice(tmp_path):
    """What a model sees of a table, of signals or of images with a range is no row of the user's own."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"price": rng.normal(9000, 2000, 30), "kind": rng.choice(["new", "used"], 30)})
    table.loc[7, "price"] = None
    table.to_csv(tmp_path / "cars.csv", index=False)
    waves, scans = (
        20 + rng.normal(size=(30, 2, 40)),
        rng.integers(0, 4096, (30, 1, 16, 16)).astype(np.float64),
    )
    np.save(tmp_path / "waves.npy", waves)
    np.save(tmp_path / "scans.npy", scans)
    for file, given, how in [
        ("cars.csv", table, {"data_options": {"factors": "kind"}}),
        ("cars.csv", table, {}),
        ("waves.npy", waves, {"data_options": {"signals": True}}),
        ("scans.npy", scans, {"range": "0:4095"}),
    ]:
        out = tmp_path / f"run {file} {len(how)}"
        train("vae", str(tmp_path / file), latents=2, out=out, **how, **{**QUICK, "batch_size": 10})
        session = Session.open([out])
        expected = session.runs[0].model.encode(given).means[7]
        np.testing.assert_allclose(session.start_at(7)["values"][0], expected, rtol=1e-4, atol=1e-6)
        notices = str(session.describe()["runs"][0]["notices"])
        assert ("3 numbers, from left to right price, kind = new, kind = used." in notices) is (not how)
        assert session.start_at(7)["facts"] == ([["kind", table["kind"][7]]] if "factors" in str(how) else [])


def test_a_person_s_image_is_fitted_as_the_run_s_own_were(tmp_path):
    (tmp_path / "photos").mkdir()
    for number in range(12):
        wide = Image.fromarray(np.tile(np.linspace(0, 255, 40, dtype=np.uint8), (20 + number, 1)))
        wide.save(tmp_path / "photos" / f"{number:02d}.png")
    for fit in ("pad", "squash", "crop"):
        out = tmp_path / fit
        train(
            "vae",
            str(tmp_path / "photos"),
            resize=16,
            fit=fit,
            latents=2,
            out=out,
            **{**QUICK, "batch_size": 6},
        )
        session = Session.open([out])
        by_hand = session.start_from_file((tmp_path / "photos" / "03.png").read_bytes())["values"]
        np.testing.assert_allclose(by_hand, session.start_at(3)["values"], rtol=1e-4, atol=1e-6)


def test_a_curve_passes_through_its_values():
    signal = np.linspace(-1, 3, 50)[None, None]
    picture = renderer_for((1, 50), signal)(signal)[0]
    rows, columns = np.nonzero((picture == INK).all(-1))
    expected = (SIDE - 1) * (1 - np.arange(SIDE) / (SIDE - 1))
    for column in range(SIDE):
        assert abs(rows[columns == column].mean() - expected[column]) <= 1.5


@pytest.mark.parametrize("size", [2, 5])
def test_rows_with_values_missing_are_drawn_without_a_warning(size):
    some = np.random.default_rng(0).normal(size=(20, size))
    some[3, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pictures = renderer_for((size,), some)(some)
    assert (pictures[4] != pictures[5]).any()
    assert (pictures[4] == INK).all(-1).any()


def test_images_with_alpha_keep_their_colours():
    images = np.zeros((1, 4, 2, 2), np.float32)
    images[:, 0], images[:, 3, 0] = 1, 1  # red, and clear in its lower row
    render = renderer_for((4, 2, 2), images)
    assert (render.shape, render.explains, render.drawn) == ((2, 2, 3), None, False)
    assert render(images)[0, :, 0].tolist() == [[255, 0, 0], [255, 255, 255]]
