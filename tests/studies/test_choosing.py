"""Choosing runs: a central model is the one that the others agree with, and few labels find it too."""

import shutil

import numpy as np
import pytest
import torch
from torch import nn

from distaff import Codes, studies
from distaff.data.splits import some_rows
from distaff.foundation.errors import DistaffError
from distaff.metrics import mig
from distaff.models.latents import LatentSpace
from distaff.models.likelihoods import UnitGaussian
from distaff.models.networks.halving import Networks
from distaff.models.representation import Representation
from distaff.models.vae import VAE
from distaff.runs.load import load
from distaff.studies.centrality import _made, majority, model_centrality
from distaff.studies.results import Results


def linear(matrix: np.ndarray) -> Representation:
    """A model whose codes are ``matrix`` times x, x of three numbers, and whose decoder is the inverse."""
    encoder, decoder = nn.Linear(3, 6), nn.Linear(3, 3)
    with torch.no_grad():
        encoder.weight.copy_(torch.from_numpy(np.vstack([matrix, np.zeros((3, 3))])))
        encoder.bias.copy_(torch.tensor([0.0] * 3 + [-6.0] * 3))
        decoder.weight.copy_(torch.from_numpy(np.linalg.inv(matrix)))
        decoder.bias.zero_()
    return Representation(
        VAE(Networks(encoder, decoder), LatentSpace.parse(3), None, UnitGaussian.read), (3,)
    )


def test_models_that_agree_up_to_order_and_sign_are_central():
    """By half a right angle two latents are mixed alike, so that neither tells which factor was held."""
    half = np.sqrt(0.5)
    turns = [np.eye(3), np.eye(3)]
    turns[0][:2, :2] = turns[1][1:, 1:] = [[half, -half], [half, half]]
    alike = {
        "plain": np.eye(3),
        "swapped": np.eye(3)[[2, 0, 1]],
        "flipped": np.diag([1.0, -2.0, 1.0]),
    }
    models = alike | {"turned": turns[0], "turned otherwise": turns[1]}
    scores = model_centrality({name: linear(matrix) for name, matrix in models.items()})
    assert min(scores[name] for name in alike) > max(scores["turned"], scores["turned otherwise"])
    only = model_centrality({name: linear(matrix) for name, matrix in alike.items()})
    assert only == pytest.approx(dict.fromkeys(alike, 1.0), abs=0.02)


def test_models_without_a_prior_make_images_of_their_codes():
    codes = Codes(np.random.default_rng(0).normal([50, 0, -3], [9, 1, 0.01], (400, 3)))
    images, held = _made(linear(np.eye(3)), 50, 16, (0, 0), codes)
    made = images[:].numpy()
    for column, drawn in zip(codes.means.T, made.T, strict=True):
        assert np.abs(drawn[:, None] - column).min(1).max() < 1e-4
    assert set(held) == {0, 1}, "a latent that hardly moves takes no part"
    assert model_centrality({"a": linear(np.eye(3)), "b": linear(np.eye(3))}, {"a": codes, "b": codes}) == {
        "a": 1.0,
        "b": 1.0,
    }


def test_votes_that_tell_nothing_are_at_chance():
    rng = np.random.default_rng(0)
    codes, held = rng.standard_normal((4000, 8, 3)), rng.integers(0, 4, 4000)
    assert majority(codes, held) == pytest.approx(0.25, abs=0.03)
    assert majority(np.zeros((10, 8, 3)), held[:10]) == 0


def test_one_model_has_nothing_to_agree_with():
    with pytest.raises(DistaffError, match="two or more"):
        model_centrality({"alone": linear(np.eye(3))})


@pytest.mark.parametrize(("metric", "column"), [("mig", "mig"), ("udr", "udr"), ("centrality", "centrality")])
def test_runs_are_ranked_and_say_how_far_behind_they_are(done, metric, column):
    table = studies.select(done, metric, labels=60)
    assert len(table) == 6
    assert (np.diff(table[column]) <= 0).all()
    np.testing.assert_allclose(table["behind"], table[column][0] - table[column])
    assert {"run", "recipe", "beta", "seed"} <= set(table.columns)


def test_few_labels_are_the_same_rows_for_all_runs(done):
    rows = some_rows(256, 60)
    run = done.all_runs[0]
    table = studies.select(done.folder, "mig", labels=60).set_index("run")
    expected = mig(run.codes[rows], run.data.factors[rows]).value
    assert table.loc[run.key, "mig"] == pytest.approx(expected)
    with pytest.raises(DistaffError, match="labels must be 2 to 256"):
        studies.select(done, "mig", labels=1000)


def test_the_best_run_has_the_lowest_score_where_lower_is_better(done):
    table = studies.select(done, "jemmig", labels=60)
    assert table["jemmig"].is_monotonic_increasing
    assert table["jemmig"].nunique() > 1
    assert table["behind"].is_monotonic_increasing
    assert table["behind"][0] == 0


def test_a_study_scores_what_ica_unmixes(tiny, tmp_path, here):
    text = f"""
name: unmixed
data: {tiny}
steps: 3
seeds: 1
ica: true
common: {{batch_size: 16, network: mlp, latents: 3, accelerator: cpu}}
runs: [ae]
metrics: [mig]
"""
    (tmp_path / "unmixed.yaml").write_text(text)
    table = studies.run(tmp_path / "unmixed.yaml", out=tmp_path / "out", progress=False)
    results = studies.Results.read(tmp_path / "out")
    (run,) = results.all_runs
    components = load(run.folder.path, ica=True).encode(run.data.images)
    assert table["mig"][0] == pytest.approx(mig(components, run.data.factors).value, abs=1e-3)
    assert run.state == "finished"
    with pytest.raises(DistaffError, match="ica must be true or false"):
        studies.Study.parse(text.replace("ica: true", "ica: 3"))


def test_runs_that_are_not_ranked_are_named(done, tmp_path):
    shutil.copytree(done.folder, tmp_path / "copy", symlinks=True)
    copy = Results(done.study, tmp_path / "copy")
    unfinished, *others = copy.all_runs
    alone = next(run for run in others if run.settings.get("beta") == unfinished.settings.get("beta"))
    shutil.rmtree(unfinished.folder.path)
    assert studies.select(copy, "mig", labels=60).attrs["left_out"] == [
        f"1 of 6 runs are not ranked, since they are not finished: {unfinished.key}"
    ]
    assert studies.select(copy, "udr").attrs["left_out"] == [
        f"1 of 6 runs are not ranked, since they are not finished: {unfinished.key}",
        f"1 of 6 runs are not ranked, since udr compares seeds, and they have no other: {alone.key}",
    ]
    assert studies.select(done, "mig", labels=60).attrs["left_out"] == []
