"""Every check on a run that really has the illness, and a healthy run that has none."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from safetensors.torch import load_file, save_file

from distaff.analysis.doctor import Severity, checks, diagnose
from distaff.analysis.doctor.checks import UNUSED
from distaff.analysis.doctor.run_evidence import RunEvidence
from distaff.foundation.binding import public_functions
from distaff.foundation.errors import DistaffError
from distaff.objectives.critics import CriticSettings
from distaff.objectives.objective import term
from distaff.objectives.terms import kl, nll
from distaff.runs import trusting
from distaff.runs.checkpoints import write_manifest
from distaff.runs.folder import RunFolder
from distaff.runs.load import load
from distaff.training.train import resume, train
from tests import toys
from tests.test_cli import in_process

SETTINGS = {
    "network": "tests.toys:mlp",
    "latents": 2,
    "steps": 200,
    "batch_size": 64,
    "learning_rate": 3e-3,
    "log_every": 20,
    "checkpoint_every": 150,
    "progress": False,
    "accelerator": "cpu",
}
CRITIC = CriticSettings(hidden=64, layers=2, learning_rate=1e-3)


def write_ring(folder: Path) -> str:
    folder.mkdir(exist_ok=True)
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


@pytest.fixture
def copy(healthy, tmp_path) -> Iterator[Path]:
    """The healthy run with its data in a place of its own, to be made ill."""
    shutil.copytree(healthy, tmp_path / "run")
    data = write_ring(tmp_path)
    change(tmp_path / "run/run.yaml", lambda calls: calls["data"].update(spec=data))
    with trusting("tests,nowhere"):
        yield tmp_path / "run"


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


def test_a_learning_rate_that_is_a_schedule_is_told_as_it_was_written(tmp_path):
    run = make_run(tmp_path, steps=20, checkpoint_every=20, log_every=10, learning_rate="linear:0:1e-5:20")
    (run / "diverged.json").write_text(json.dumps({"what": "the term 'kl'", "step": 30}))
    texts = [str(finding) for finding in diagnose(run).findings]
    assert all("linear:0:1e-05:20" in text for text in texts if "learning rate" in text)
    assert any("training diverged" in text for text in texts)
    assert any("training has not begun to learn" in text for text in texts)


def test_a_divergence_is_forgotten_when_training_goes_on(copy):
    (copy / "diverged.json").write_text(json.dumps({"what": "the term 'kl'", "step": 3}))
    assert "the term 'kl' at step 3" in found(copy)
    resume(copy, steps=SETTINGS["steps"] + 1, progress=False, accelerator="cpu")
    assert diagnose(copy).findings == []


def test_numbers_in_the_log_that_are_not_finite(copy):
    lines = (copy / "log.jsonl").read_text().splitlines()
    lines[4] = json.dumps({**json.loads(lines[4]), "kl": float("inf")})
    (copy / "log.jsonl").write_text("\n".join(lines) + "\n")
    assert "the term 'kl' at step 100" in found(copy)


def test_an_unfinished_run(copy):
    change(copy / "run.yaml", lambda calls: calls["training"].update(steps=5000))
    assert f"unfinished: step {SETTINGS['steps']} of 5,000" in found(copy)
    assert f"distaff resume {copy}" in found(copy)
    shutil.rmtree(copy / "checkpoint")
    assert "unfinished: there is no checkpoint yet" in found(copy)


def test_a_run_that_goes_on_is_no_problem(copy):
    change(copy / "run.yaml", lambda calls: calls["training"].update(steps=5000))
    with RunFolder(copy).lock():
        assert "another process is training now" in found(copy, severity=Severity.NOTE)


def test_a_damaged_checkpoint(copy):
    newest = max((copy / "checkpoint").iterdir()) / "model.safetensors"
    newest.write_bytes(newest.read_bytes()[:-4] + b"0000")
    damage, *others = map(str, diagnose(copy).findings)
    assert "damaged (model.safetensors)" in damage
    assert all("next to nothing" in other for other in others), (
        "of the checkpoint before it, at half the steps"
    )
    older = min((copy / "checkpoint").iterdir()) / "model.safetensors"
    older.write_bytes(b"")
    assert "every checkpoint" in found(copy)


def test_data_that_are_gone_or_others(copy):
    data = copy.parent / "ring.npz"
    np.savez(data, images=toys.ring(seed=1).images[:].numpy())
    assert "its content has changed" in found(copy)
    data.unlink()
    assert "the data cannot be opened" in found(copy)
    assert str(data) in found(copy)


def test_data_that_were_given_in_python(copy):
    change(copy / "run.yaml", lambda calls: calls["data"].update(spec=None))
    assert "given in Python" in found(copy, severity=Severity.NOTE)
    assert diagnose(copy, toys.ring()).findings == []
    assert "its content has changed" in found(copy, data=toys.ring(seed=1))


def test_a_recipe_that_cannot_be_imported(copy):
    change(copy / "run.yaml", lambda calls: calls["recipe"].update(name="nowhere:recipe"))
    assert "'nowhere:recipe' cannot be imported" in found(copy)


def silence(run: Path, keep: int) -> None:
    """Make the posterior of all latents but the ``keep`` most used the prior, in the checkpoint itself."""
    kl = RunEvidence(RunFolder(run)).sample.kl_per_latent
    silent = sorted(range(len(kl)), key=lambda d: kl[f"z{d}"])[: len(kl) - keep]
    folder = max((run / "checkpoint").iterdir())
    weights = load_file(folder / "model.safetensors")
    last = max(name for name in weights if name.startswith("encoder.") and name.endswith("weight"))
    for name in (last, last.replace("weight", "bias")):
        for d in silent:
            weights[name][[d, len(kl) + d]] = 0
    save_file(weights, folder / "model.safetensors")
    facts = json.loads((folder / "checkpoint.json").read_text())
    reached = {"step": facts["step"], "seconds": facts["seconds"]}
    write_manifest(folder / "checkpoint.json", folder.glob("*.safetensors"), **reached)


def test_a_latent_too_many_is_a_note(copy):
    silence(copy, keep=1)
    assert "1 of 2 latents are unused" in found(copy, severity=Severity.NOTE)
    change(copy / "run.yaml", lambda calls: calls["training"].update(steps=5000))
    severities = [finding.severity for finding in diagnose(copy).findings]
    assert severities == [Severity.PROBLEM, Severity.NOTE], "the worst comes first"


def test_few_latents_that_are_used_are_a_problem(tmp_path):
    run = make_run(tmp_path, "beta_vae", beta=1, latents=3, learning_rate=1e-2)
    silence(run, keep=1)
    text = found(run)
    assert "2 of 3 latents are unused" in text
    assert "--beta linear:0:1:100" in text


@pytest.mark.parametrize("prior", ["student_t:5", "sparse:0.5:0.05"])
def test_latents_are_unused_under_priors_that_no_gaussian_matches(tmp_path, prior):
    """Their KL to such a prior never falls to 0, though they say nothing about x."""
    run = make_run(tmp_path, "beta_vae", beta=1, latents=3, learning_rate=1e-2, prior=prior)
    silence(run, keep=1)
    assert min(RunEvidence(RunFolder(run)).sample.kl_per_latent.values()) > UNUSED
    assert "2 of 3 latents are unused" in found(run)
    assert "z says next to nothing" in found(make_run(tmp_path / "none", "beta_vae", beta=1000, prior=prior))


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


@term
def own_kl(s):
    return s.kl.mean()


def own_elbo():
    return nll + 1.0 * own_kl


def test_a_sum_of_ones_own_is_not_taken_for_a_mean(tmp_path):
    run = make_run(tmp_path, own_elbo, latents=3)
    assert checks.mean_for_sum(RunEvidence(RunFolder(run))) is None


def test_a_critic_that_is_always_right(tmp_path):
    """Points near 0 against a standard normal in eight dimensions: the densities hardly overlap."""
    run = make_run(tmp_path, "aae", gamma=0, critic=CRITIC, latents="point:8", learning_rate=1e-4)
    assert "critic of marginal_kl is saturated" in found(run)


def test_a_critic_that_never_learns(tmp_path):
    lazy = CriticSettings(hidden=64, layers=2, learning_rate=1e-9)
    run = make_run(tmp_path, "factor_vae", gamma=0, critic=lazy, latents=8, learning_rate=1e-2, steps=300)
    problems = [str(f) for f in diagnose(run).findings if f.severity is Severity.PROBLEM]
    assert len([text for text in problems if "total_correlation" in text]) == 1, "one illness, one finding"
    assert any("critic of total_correlation guesses: it is right 50%" in text for text in problems)


@pytest.mark.parametrize(("estimator", "logged"), [("critic", 9.0), ("minibatch", -3.0)])
def test_a_total_correlation_that_cannot_be(copy, estimator, logged):
    lines = [json.loads(line) for line in (copy / "log.jsonl").read_text().splitlines()]
    for line in lines:
        line["total_correlation"] = logged
        if estimator == "minibatch":
            del line["total_correlation.critic_loss"], line["total_correlation.critic_accuracy"]
    (copy / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = found(copy)
    assert f"training sees a total correlation of {logged:.2f} nats" in text
    assert f"the {estimator}" in text
    assert ("never negative" in text) is (logged < 0)


def test_the_bounds_hold_the_exact_total_correlation(copy):
    """Over some of the data they lie on its two sides; over all of them they are it."""
    exact = toys.exact_tc(load(copy).encode(toys.ring().images))
    low, high = RunEvidence(RunFolder(copy), observations=200).sample.bounds("total_correlation")
    assert low - 0.1 < exact < high + 0.1
    low, high = RunEvidence(RunFolder(copy)).sample.bounds("total_correlation")
    assert low == pytest.approx(high, abs=1e-4)
    assert low == pytest.approx(exact, abs=0.1)
