"""Every check on a run that really has the illness, and a healthy run that has none."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from distaff.calls import public_functions
from distaff.doctor import Diagnosis, Severity, checks, diagnose
from distaff.errors import DistaffError
from distaff.objectives.critics import CriticSettings
from distaff.objectives.objective import term
from distaff.objectives.terms import kl, nll
from distaff.training.train import resume, train
from tests import toys
from tests.test_cli import in_process

SETTINGS = {
    "network": "tests.toys:mlp",
    "latents": 2,
    "steps": 300,
    "batch_size": 64,
    "learning_rate": 3e-3,
    "log_every": 20,
    "progress": False,
    "accelerator": "cpu",
}
CRITIC = CriticSettings(hidden=64, layers=2, learning_rate=1e-3)


def write_ring(folder: Path) -> str:
    np.savez(folder / "ring.npz", images=toys.ring().images[:].numpy())
    return str(folder / "ring.npz")


def make_run(folder: Path, recipe="vae", **settings) -> Path:
    train(recipe, write_ring(folder), out=folder / "run", **{**SETTINGS, **settings})
    return folder / "run"


def found(run: Path, *, severity: Severity = Severity.PROBLEM, **arguments) -> str:
    """The one finding of a run, of the severity that it should have, as text."""
    diagnosis = diagnose(run, **arguments)
    assert diagnosis.healthy is (severity is Severity.NOTE)
    (finding,) = diagnosis.findings
    assert finding.severity is severity
    return str(finding)


def change(file: Path, edit) -> None:
    content = yaml.safe_load(file.read_text())
    edit(content)
    file.write_text(yaml.safe_dump(content))


@pytest.fixture(scope="module")
def healthy(tmp_path_factory) -> Path:
    return make_run(tmp_path_factory.mktemp("healthy"), "factor_vae", gamma=5, critic=CRITIC)


def test_a_healthy_run_has_nothing(healthy, capsys):
    diagnosis = diagnose(healthy)
    assert diagnosis.findings == []
    assert set(diagnosis.checked) == set(public_functions(checks))
    code, printed = in_process(capsys, "doctor", healthy)
    assert code == 0
    assert "nothing wrong" in printed


def test_the_exit_codes(tmp_path, capsys):
    run = make_run(tmp_path, "beta_vae", beta=1000)
    code, printed = in_process(capsys, "doctor", run)
    assert code == 1
    assert "1 problem " in printed
    for part in ("problem: ", "\n  why: ", "\n  try: "):
        assert part in printed
    code, printed = in_process(capsys, "doctor", tmp_path / "nowhere")
    assert (code, "not a run folder" in printed) == (2, True)


def test_steps_so_large_that_numbers_overflow(tmp_path):
    with pytest.raises(DistaffError, match="non-finite"):
        make_run(tmp_path, learning_rate=1e6)
    assert "training diverged" in found(tmp_path / "run")
    assert "(it is 1e+06)" in found(tmp_path / "run")


@term
def explodes(s):
    return kl(s) * (float("nan") if s.index == 7 else 1.0)


def exploding():
    return nll + 1.0 * explodes


def test_a_term_that_is_not_a_number_is_named_with_what_is_left(tmp_path):
    with pytest.raises(DistaffError):
        make_run(tmp_path, exploding, steps=20, checkpoint_every=5)
    problems = [str(f) for f in diagnose(tmp_path / "run").findings if f.severity is Severity.PROBLEM]
    assert "the term 'explodes' at step 7" in problems[0]
    assert "the checkpoint of step 5 is good" in problems[0]
    assert not any("unfinished" in text for text in problems)


def test_a_divergence_is_forgotten_when_training_goes_on(tmp_path):
    run = make_run(tmp_path)
    (run / "diverged.json").write_text(json.dumps({"what": "the term 'kl'", "step": 3}))
    assert "the term 'kl' at step 3" in found(run)
    resume(run, steps=301, progress=False, accelerator="cpu")
    assert diagnose(run).findings == []


def test_numbers_in_the_log_that_are_not_finite(tmp_path):
    run = make_run(tmp_path)
    lines = (run / "log.jsonl").read_text().splitlines()
    lines[4] = json.dumps({**json.loads(lines[4]), "kl": float("inf")})
    (run / "log.jsonl").write_text("\n".join(lines) + "\n")
    assert "the term 'kl' at step 100" in found(run)


def test_an_unfinished_run(tmp_path):
    run = make_run(tmp_path)
    change(run / "run.yaml", lambda calls: calls["training"].update(steps=5000))
    assert "unfinished: step 300 of 5,000" in found(run)
    assert f"distaff resume {run}" in found(run)


def test_a_run_that_goes_on_is_no_problem(tmp_path):
    from distaff.training.run import RunFolder

    run = make_run(tmp_path)
    change(run / "run.yaml", lambda calls: calls["training"].update(steps=5000))
    with RunFolder(run).lock():
        assert "another process is training now" in found(run, severity=Severity.NOTE)


def test_a_damaged_checkpoint(tmp_path):
    run = make_run(tmp_path, checkpoint_every=200)
    newest = max((run / "checkpoint").iterdir()) / "model.safetensors"
    newest.write_bytes(newest.read_bytes()[:-4] + b"0000")
    assert "damaged (model.safetensors)" in found(run)
    older = min((run / "checkpoint").iterdir()) / "model.safetensors"
    older.write_bytes(b"")
    assert "every checkpoint" in found(run)


def test_data_that_are_gone_or_others(tmp_path):
    run = make_run(tmp_path)
    np.savez(tmp_path / "ring.npz", images=toys.ring(seed=1).images[:].numpy())
    assert "its content has changed" in found(run)
    (tmp_path / "ring.npz").unlink()
    assert "the data cannot be opened" in found(run)
    assert str(tmp_path / "ring.npz") in found(run)


def test_data_that_were_given_in_python(tmp_path):
    train("vae", toys.ring(), out=tmp_path / "run", **SETTINGS)
    assert "given in Python" in found(tmp_path / "run", severity=Severity.NOTE)
    assert diagnose(tmp_path / "run", toys.ring()).findings == []
    assert "its content has changed" in found(tmp_path / "run", data=toys.ring(seed=1))


def test_a_recipe_that_cannot_be_imported(tmp_path):
    run = make_run(tmp_path)
    change(run / "run.yaml", lambda calls: calls["recipe"].update(name="nowhere:recipe"))
    assert "'nowhere:recipe' cannot be imported" in found(run)


def test_more_latents_than_factors_is_a_note_and_few_that_are_used_a_problem(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    some = make_run(tmp_path / "a", "beta_vae", beta=4, latents=4, steps=600)
    text = found(some, severity=Severity.NOTE)
    assert "of 4 latents are unused" in text
    most = make_run(tmp_path / "b", "beta_vae", beta=4, latents=8, steps=600)
    text = found(most)
    assert "of 8 latents are unused" in text
    assert "--beta linear:0:4:300" in text


def test_a_penalty_that_leaves_nothing(tmp_path):
    text = found(make_run(tmp_path, "beta_vae", beta=1000))
    assert "z says next to nothing" in text
    assert "a smaller beta" in text
    assert "pixels" not in text


def test_training_that_has_not_begun(tmp_path):
    text = found(make_run(tmp_path, learning_rate=1e-7, steps=40))
    assert "has not begun to learn" in text
    assert "(it is 1e-07)" in text


@term
def pixel_mean(s):
    return -s.log_px_z.mean() / s.output.x[0].numel()


@term
def latent_mean(s):
    return s.kl.mean() / s.model.latents.dims


def mean_for_sum_of_pixels(beta: float = 1.0):
    return 1.0 * pixel_mean + beta * kl


def mean_for_sum_of_latents():
    return nll + 1.0 * latent_mean


def test_a_mean_over_pixels_is_recognised(tmp_path):
    texts = list(map(str, diagnose(make_run(tmp_path, mean_for_sum_of_pixels)).findings))
    assert any("'pixel_mean'" in text and "averaged over pixels" in text for text in texts)
    assert any("z says next to nothing" in text and "a mean over pixels" in text for text in texts)


def test_a_mean_over_latents_is_recognised(tmp_path):
    text = found(make_run(tmp_path, mean_for_sum_of_latents, latents=3))
    assert "'latent_mean'" in text
    assert "averaged over latents" in text


def doubled():
    return nll + 2.0 * kl


def test_a_recipe_of_ones_own_that_is_right_has_nothing(tmp_path):
    assert diagnose(make_run(tmp_path, doubled)).findings == []


def test_a_critic_that_is_always_right(tmp_path):
    """Points near 0 against a standard normal in eight dimensions: the densities hardly overlap."""
    run = make_run(tmp_path, "aae", gamma=0, critic=CRITIC, latents="point:8", learning_rate=1e-4)
    assert "critic of marginal_kl is saturated" in found(run)


def test_a_critic_that_never_learns(tmp_path):
    lazy = CriticSettings(hidden=64, layers=2, learning_rate=1e-9)
    text = found(make_run(tmp_path, "factor_vae", gamma=0, critic=lazy, steps=600))
    assert "critic of total_correlation guesses" in text


def test_a_total_correlation_that_cannot_be(tmp_path):
    """FactorVAE's App. D: by an independent batch, q(z) is underestimated and the TC turns negative."""
    run = make_run(
        tmp_path, "batch_tc_vae", density="independent_batch", beta=1, latents=8, batch_size=16, steps=600
    )
    texts = [str(f) for f in diagnose(run).findings if f.severity is Severity.PROBLEM]
    assert any("training sees a total correlation of -" in text for text in texts)
    assert any("never negative" in text and "--density stratified" in text for text in texts)


def test_a_diagnosis_lists_the_worst_first(tmp_path):
    run = make_run(tmp_path, "beta_vae", beta=4, latents=4, steps=600)
    change(run / "run.yaml", lambda calls: calls["training"].update(steps=5000))
    diagnosis = diagnose(run)
    assert isinstance(diagnosis, Diagnosis)
    assert [finding.severity for finding in diagnosis.findings] == [Severity.PROBLEM, Severity.NOTE]
