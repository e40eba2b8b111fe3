"""Held-out data: the split, what is logged of them, stopping early, and resuming exactly."""

import json
import shutil
import warnings

import numpy as np
import pytest
from safetensors.numpy import load_file

from distaff.analysis.evaluate import evaluate_run
from distaff.analysis.report import report_run
from distaff.data import split
from distaff.data.arrays import with_factors
from distaff.foundation.errors import DistaffError
from distaff.runs.folder import RunFolder
from distaff.runs.load import load, open_left_out
from distaff.runs.log import read_log
from distaff.training.train import resume, train
from tests import toys

TINY = {"latents": 2, "network": "mlp:hidden=8,layers=1", "batch_size": 8, "accelerator": "cpu"}
QUICK = {**TINY, "progress": False, "log_every": 4, "checkpoint_every": 3}


@pytest.fixture
def images(tmp_path):
    path = tmp_path / "tiny.npz"
    subject = np.repeat(np.arange(8), 8)
    np.savez(path, images=toys.tiny_images(64).images[:].numpy(), factors=subject, factor_names=["subject"])
    return str(path)


def test_groups_are_held_out_whole_and_the_seed_decides():
    data = toys.tiny_images(64)
    labelled = with_factors(data, [np.repeat(np.arange(8), [1, 2, 3, 4, 10, 14, 20, 10])], ["subject"])
    kept, held = split(labelled, 0.25, seed=3, by="subject")
    assert not set(kept.column("subject")) & set(held.column("subject"))
    assert len(kept) + len(held) == 64
    assert len(held) >= 16
    again = split(labelled, 0.25, seed=3, by="subject")[1]
    np.testing.assert_array_equal(held.factors, again.factors)
    with pytest.raises(DistaffError, match="one group of 'subject'"):
        split(with_factors(data, [np.zeros(64, int)], ["subject"]), 0.25, by="subject")


def test_held_out_rows_are_not_trained_on_and_are_logged(images, tmp_path):
    run = tmp_path / "run"
    how = {"hold_out": 0.25, "validate_every": 5, "steps": 10, **QUICK}
    train("beta_tcvae", images, out=run, **how)
    config = RunFolder(run).read()
    whole = config.data.reopen()
    kept, held = config.parts(whole)
    assert (len(kept), len(held)) == (48, 16)
    lines = read_log(run / "log.jsonl")
    looked = {line["step"]: line for line in lines if "held_out.elbo" in line}
    assert sorted(looked) == [5, 10]
    assert {"held_out.loss", "held_out.nll", "held_out.total_correlation"} <= looked[10].keys()
    # One z per observation is drawn, so the two estimates of the same ELBO differ by their noise alone.
    found = evaluate_run(run, held_out=True, progress=False).scores
    scores = {score.name: score.value for score in found}
    assert -looked[10]["held_out.elbo"] == pytest.approx(
        scores["reconstruction_error"] + scores["kl"], rel=0.02
    )
    assert (run / "scores-held-out.json").exists()
    assert not (run / "scores.json").exists()


def test_scores_of_both_parts_say_so(images, tmp_path):
    run = tmp_path / "run"
    train("vae", images, out=run, steps=4, hold_out=0.25, **QUICK)
    with pytest.warns(
        UserWarning, match="about 25% of these observations were held out .*; held_out leaves the others out"
    ):
        evaluate_run(run, progress=False)
    assert (
        "About 25% of these observations were held out of training."
        in report_run(run, progress=False).read_text()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate_run(run, held_out=True, progress=False)
        evaluate_run(run, data=images, progress=False)
    with pytest.raises(DistaffError, match=r"give held_out, .* or data, not both"):
        evaluate_run(run, data=images, held_out=True, progress=False)


def test_another_file_is_held_out_as_it_is(images, tmp_path):
    other = tmp_path / "other.npz"
    np.savez(other, images=toys.tiny_images(20, seed=1).images[:].numpy())
    train("vae", images, out=tmp_path / "run", hold_out=str(other), validate_every=2, steps=2, **QUICK)
    config = RunFolder(tmp_path / "run").read()
    kept, held = config.parts(config.data.reopen())
    assert (len(kept), len(held)) == (64, 20)
    assert "held_out.elbo" in read_log(tmp_path / "run" / "log.jsonl")[-1]


def test_patience_keeps_the_best_and_resuming_stops_at_the_same_step(images, tmp_path):
    """A learning rate of 0.3 makes things worse soon."""
    how = {"hold_out": 0.25, "validate_every": 2, "patience": 2, "learning_rate": 0.3, "steps": 60, **QUICK}
    whole, part = tmp_path / "whole", tmp_path / "part"
    with pytest.warns(UserWarning, match="held-out data were best at step"):
        trained = train("vae", images, out=whole, **how)
    looks = [(x["held_out.elbo"], x["step"]) for x in read_log(whole / "log.jsonl") if "held_out.elbo" in x]
    best, last = max(looks)[1], looks[-1][1]
    assert best == last - 4 < 60
    assert [path.name for path in (whole / "best").iterdir()] == [f"step-{best:09d}"]
    kept = load_file(whole / "best" / f"step-{best:09d}" / "model.safetensors")
    for model in (trained, load(whole)):
        for name, weight in model.model.state_dict().items():
            np.testing.assert_array_equal(weight, kept[name])
    assert (
        json.loads((whole / "checkpoint" / f"step-{last:09d}" / "checkpoint.json").read_text())["step"]
        == last
    )
    train("vae", images, out=part, **{**how, "steps": 3})  # interrupted, so to say, between two looks
    with pytest.warns(UserWarning, match="held-out data were best at step"):
        resume(part, steps=60, progress=False)
    again = load_file(part / "checkpoint" / f"step-{last:09d}" / "model.safetensors")
    for name, weight in load_file(whole / "checkpoint" / f"step-{last:09d}" / "model.safetensors").items():
        np.testing.assert_array_equal(weight, again[name])
    with pytest.warns(UserWarning, match="held-out data were best at step"):
        resume(whole, progress=False)  # nothing more is trained
    assert read_log(whole / "log.jsonl")[-1]["step"] == last


def test_a_run_whose_best_checkpoint_is_gone_says_so(images, tmp_path):
    how = {"hold_out": 0.25, "validate_every": 2, "patience": 9, "steps": 6, **QUICK}
    train("vae", images, out=tmp_path / "run", **how)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(tmp_path / "run")
    shutil.rmtree(tmp_path / "run/best")
    with pytest.warns(UserWarning, match=r"run has no best checkpoint: its last one is used"):
        load(tmp_path / "run")


@pytest.mark.parametrize("kind", ["file", "broken link"])
def test_the_best_stays_if_the_place_of_checkpoints_is_taken(images, tmp_path, kind):
    """Without checkpoints the run would begin again, and replace its best before it could write any."""
    how = {"hold_out": 0.25, "validate_every": 2, "patience": 9, "steps": 6, **QUICK}
    train("vae", images, out=tmp_path / "run", **how)
    before = {file: file.read_bytes() for file in (tmp_path / "run" / "best").rglob("*") if file.is_file()}
    place = tmp_path / "run" / "checkpoint"
    shutil.rmtree(place)
    place.write_bytes(b"") if kind == "file" else place.symlink_to("absent")
    with pytest.raises(DistaffError, match="checkpoint is not a folder"):
        resume(tmp_path / "run", progress=False)
    assert {file: file.read_bytes() for file in before} == before


def test_patience_without_a_folder_gives_the_best_as_well(images, tmp_path):
    how = {"hold_out": 0.25, "validate_every": 2, "patience": 2, "learning_rate": 0.3, "steps": 60, **QUICK}
    with pytest.warns(UserWarning, match="held-out data were best at step"):
        kept = train("vae", images, out=tmp_path / "run", **how)
    with pytest.warns(UserWarning, match="held-out data were best at step"):
        alone = train("vae", images, **how)
    for name, weight in kept.model.state_dict().items():
        np.testing.assert_array_equal(weight, alone.model.state_dict()[name])


def test_looking_changes_nothing(images, tmp_path):
    weights = []
    for every in (1, 50):
        model = train("factor_vae", images, hold_out=0.25, validate_every=every, steps=6, **QUICK)
        weights.append(model.model.state_dict())
    for name, weight in weights[0].items():
        np.testing.assert_array_equal(weight, weights[1][name])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hold_out": 1.5}, "hold_out is a share between 0 and 1"),
        ({"patience": 3}, r"patience needs data to look at: give hold_out=0\.1"),
        ({"hold_out": 0.1, "hold_out_by": "person"}, "unknown factor 'person'"),
        ({"hold_out": "absent/"}, "no data|unknown|there is no"),
    ],
)
def test_bad_settings_are_one_sentence(images, changes, message):
    with pytest.raises(DistaffError, match=message):
        train("vae", images, steps=2, **{**QUICK, **changes})


def test_combinations_that_were_left_out_of_training_are_the_held_out_data(tmp_path):
    path = tmp_path / "grid.npz"
    factors = np.indices((8, 8)).reshape(2, -1).T
    np.savez(
        path, images=toys.tiny_images(64).images[:].numpy(), factors=factors, factor_names=["row", "column"]
    )
    run = tmp_path / "run"
    train("vae", str(path), out=run, steps=2, leave_out="composition", **QUICK)
    left_out = open_left_out(RunFolder(run))
    assert (RunFolder(run).read().data.size, len(left_out)) == (48, 16)
    assert left_out.factors.min() >= 4
    found = evaluate_run(run, held_out=True, metrics="mig", progress=False)
    assert "mig" in [score.name for score in found.scores]
    train("vae", str(path), out=tmp_path / "all", steps=2, **QUICK)
    with pytest.raises(DistaffError, match="nothing was left out"):
        open_left_out(RunFolder(tmp_path / "all"))
