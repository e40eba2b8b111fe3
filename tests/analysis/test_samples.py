"""Scoring a sample of a run's data: the same rows everywhere, sizes told, codes never mixed up."""

import errno
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest

from distaff.analysis import decompose_run, encoding
from distaff.analysis.encoding import already_encoded, any_codes, encode_run
from distaff.analysis.evaluate import evaluate_run
from distaff.analysis.report import report_run
from distaff.analysis.traversals import traverse_run
from distaff.cli import main
from distaff.codes import Codes
from distaff.data import some_rows
from distaff.explore.loaded_run import LoadedRun
from distaff.export.publish import write_hub
from distaff.foundation.errors import DistaffError
from distaff.runs.folder import RunFolder
from distaff.runs.load import TrainedRun, open_data
from distaff.runs.pictures import typical
from distaff.training.train import train
from tests import toys

SIZE = 512


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run on images whose factors are their row and column on a grid of 32 × 16."""
    folder = tmp_path_factory.mktemp("samples")
    factors = np.stack(np.meshgrid(np.arange(32), np.arange(16), indexing="ij"), -1).reshape(-1, 2)
    data = folder / "tiny.npz"
    np.savez(data, images=toys.tiny_images(SIZE).images[:].numpy(), factors=factors)
    settings = {"steps": 60, "batch_size": 32, "latents": 3, "progress": False, "accelerator": "cpu"}
    train("vae", str(data), out=folder / "run", learning_rate=1e-3, **settings)
    return RunFolder(folder / "run")


@pytest.fixture
def run(trained):
    """The run, with nothing measured yet."""
    for file in (trained.codes, trained.scores):
        file.unlink(missing_ok=True)
    return trained


def scores(run, **how):
    return {score.name: score for score in evaluate_run(run.path, progress=False, **how).scores}


def test_a_sample_is_the_rows_that_studies_draw(run):
    data, whole = open_data(run), encode_run(TrainedRun.open(run), open_data(run), False)
    for seed in (0, 3):
        sample = encode_run(TrainedRun.open(run), data, False, 100, seed)
        np.testing.assert_array_equal(sample.rows, some_rows(SIZE, 100, seed))
        np.testing.assert_allclose(sample.codes.means, whole.codes.means[sample.rows], atol=1e-5)


@pytest.mark.parametrize("observations", [SIZE, SIZE + 1, 100_000, "all"])
def test_as_many_as_there_are_is_the_whole(run, observations):
    whole, found = scores(run, observations="all"), scores(run, observations=observations)
    assert {n: s.to_dict() for n, s in found.items()} == {n: s.to_dict() for n, s in whole.items()}
    assert "observations" not in found["kl"].settings
    assert "standard_error" not in found["kl"].details
    entries = json.loads(run.scores.read_text())["scores"]
    assert {entry["observations"] for entry in entries} == {None}


def test_every_score_of_a_sample_says_its_size(run):
    found = scores(run, observations=100, metrics="factor_vae_score,mig")
    assert found.keys() == {"reconstruction_error", "kl", "factor_vae_score", "mig"}
    assert {score.settings["observations"] for score in found.values()} == {100}
    assert all("100 observations" in str(score) for score in found.values())
    scores(run, observations="all")
    entries = json.loads(run.scores.read_text())["scores"]
    both = [entry["observations"] for entry in entries if entry["name"] == "factor_vae_score"]
    assert sorted(both, key=str) == [100, None]


def test_the_standard_error_covers_the_whole(run):
    """Over 200 samples the distance to the whole set's value is one standard error, at the median 0.67."""
    data = open_data(run)
    whole = encode_run(TrainedRun.open(run), data, False)
    for name in ("nll", "kl"):
        values = getattr(whole, name)
        ratios = []
        for seed in range(200):
            rows = some_rows(SIZE, 64, seed)
            part = encoding.Encoded(whole.codes[rows], whole.nll[rows], whole.kl[rows], whole.kl_dims[rows])
            score = _elbo(part, rows, name)
            ratios.append(abs(score.value - values.mean()) / score.details["standard_error"])
        # Drawn without replacement, the mean of 64 of 512 varies √(1 − 64/512) = 0.94 times as much.
        assert 0.8 < np.sqrt(np.mean(np.square(ratios))) / np.sqrt(1 - 64 / SIZE) < 1.25
        assert np.mean(np.array(ratios) < 1.96) > 0.9


def _elbo(part, rows, name):
    from dataclasses import replace

    from distaff.analysis.evaluate import elbo

    return elbo(replace(part, rows=rows)).scores[("nll", "kl").index(name)]


def test_the_printed_line_has_the_standard_error(run, capsys):
    main(["evaluate", str(run.path), "--observations", "100", "--no-progress"])
    error = scores(run, observations=100)["reconstruction_error"].details["standard_error"]
    assert error > 0
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith("reconstruction_error ")
    assert f"± {error:.4f}" in line


def test_samples_do_not_share_codes(run):
    data = open_data(run)
    sizes = [(100, 0), (200, 0), (100, 1), (None, 0)]
    trained = TrainedRun.open(run)
    fresh = [encode_run(trained, data, False, *which).codes.means for which in sizes]
    for which, means in zip(sizes, fresh, strict=True):
        np.testing.assert_array_equal(encode_run(trained, data, False, *which).codes.means, means)
    assert not np.array_equal(fresh[0], fresh[2])
    assert already_encoded(trained, data.fingerprint, {"observations": "100", "seed": "0"}) is None
    assert already_encoded(trained, data.fingerprint, {}) is not None


def test_everything_that_follows_an_evaluation_uses_its_codes(run, monkeypatch, tmp_path):
    scores(run, observations=100)
    kept = run.codes.read_bytes()
    monkeypatch.setattr(encoding, "_arrays", None)
    assert scores(run, observations=100, metrics="mig")["mig"].settings["observations"] == 100
    assert "Over 100 of the 512 observations" in report_run(run.path, observations=100).read_text()
    traverse_run(run.path, out=tmp_path / "t.png")
    opened = LoadedRun.open(run.path)
    np.testing.assert_array_equal(opened.rows, some_rows(SIZE, 100))
    np.testing.assert_allclose(
        opened.codes.means, opened.model.encode(opened.data.images[opened.rows]).means, atol=1e-5
    )
    write_hub(TrainedRun.open(run), tmp_path / "hub", overwrite=False, progress=False)
    assert "100 observations" in (tmp_path / "hub/README.md").read_text()
    assert run.codes.read_bytes() == kept
    with pytest.raises(TypeError):
        scores(run, observations=101)


def test_a_card_has_the_scores_of_most_observations(run, tmp_path):
    for observations in (100, 300, 200):
        scores(run, observations=observations)
    write_hub(TrainedRun.open(run), tmp_path / "sample", overwrite=False, progress=False)
    card = (tmp_path / "sample/README.md").read_text()
    assert "300 observations" in card
    assert "200 observations" not in card
    scores(run, observations="all")
    write_hub(TrainedRun.open(run), tmp_path / "whole", overwrite=False, progress=False)
    assert "observations)" not in (tmp_path / "whole/README.md").read_text()


def test_codes_of_the_version_before_are_those_of_the_whole_set(run):
    """They say nothing of a sample."""
    from safetensors import safe_open

    encode_run(TrainedRun.open(run), open_data(run), False)
    with safe_open(run.codes, "numpy") as file:
        assert file.metadata().keys() == {"step", "data"}


@pytest.mark.parametrize("command", ["evaluate", "report"])
@pytest.mark.parametrize("observations", ["0", "-5", "1", "abc", "1e5", ""])
def test_what_is_no_number_of_observations_is_one_sentence(run, command, observations, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([command, str(run.path), f"--observations={observations}"])
    said = capsys.readouterr().err
    assert said == (
        f"distaff: --observations is how many to take, 2 or more, or all, not {observations!r}.\n"
    )


def test_a_typical_observation_is_near_the_mean_in_standard_deviations():
    """In plain distance the second row is nearest to the mean, (0, 0); in deviations the first one is."""
    means = np.array([[3.0, 0.0], [0.0, 0.1], [100.0, -0.1], [-100.0, 0.1], [-3.0, -0.1]])
    assert typical(Codes(means)) == 0
    assert typical(Codes(np.zeros((5, 0)), categories={"digit": np.full((5, 2), 0.5)})) == 2


def test_traversals_start_from_a_typical_observation_of_the_data(run, monkeypatch):
    data = open_data(run)
    encoded = any_codes(TrainedRun.open(run), data, False)
    sample = encode_run(TrainedRun.open(run), data, False, 100)
    assert encoded.typical == typical(encoded.codes)
    assert sample.typical == some_rows(SIZE, 100)[typical(sample.codes)]
    with pytest.raises(DistaffError, match="observations is how many to take"):
        evaluate_run(run.path, observations="none")


@pytest.fixture
def only_read(run, monkeypatch):
    """The run of somebody else, in whose folder nothing may be written; a root user may write anywhere."""
    made = tempfile.mkstemp

    def refuse(*, prefix, dir):
        if Path(dir).is_relative_to(run.path):
            raise PermissionError(errno.EACCES, "Permission denied", f"{dir}/{prefix}x1y2")
        return made(prefix=prefix, dir=dir)

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    return run


@pytest.mark.filterwarnings("ignore:.* is not kept. its folder is read-only")
def test_a_run_that_may_only_be_read_is_scored_drawn_and_decomposed(only_read, tmp_path):
    run = only_read.path
    with pytest.warns(UserWarning, match=r"scores\.json is not kept: its folder is read-only"):
        assert "factor_vae_score" in scores(only_read)
    evaluate_run(run, progress=False, out=tmp_path / "s.json")
    report_run(run, out=tmp_path / "r.html", progress=False)
    traverse_run(run, out=tmp_path / "t.png")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["r.html", "s.json", "t.png"]
    assert decompose_run(run, progress=False, bounded=16).kl > 0
    assert not only_read.codes.exists()


@pytest.mark.parametrize("why", [errno.EACCES, errno.EROFS])
def test_a_run_that_may_only_be_read_is_not_being_trained(run, monkeypatch, why):
    def refuse(path, timeout):
        raise OSError(why, "no", str(path))

    (run.path / ".lock").touch()
    monkeypatch.setattr("distaff.runs.folder.FileLock", refuse)
    assert not run.being_trained


def test_what_was_asked_for_and_may_not_be_written_is_named_by_its_own_name(only_read, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["report", str(only_read.path), "--no-progress"])
    assert stop.value.code == 2
    said = f"distaff: {only_read.path}/report.html cannot be read or written: Permission denied.\n"
    assert capsys.readouterr().err.endswith(said)
