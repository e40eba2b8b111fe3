"""The command line as a user meets it: real processes, their output and exit codes."""

import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from distaff import cli
from distaff.metrics.catalogue import all_metrics
from tests import toys
from tests.processes import ROOT, distaff

QUICK = ["--steps", "6", "--batch-size", "16", "--log-every", "3", "--accelerator", "cpu"]


def in_process(capsys, *arguments: object) -> tuple[int, str]:
    """The exit code and everything printed, without the cost of a new process."""
    code = 0
    try:
        cli.main([str(argument) for argument in arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out + captured.err


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    factors = np.stack(np.meshgrid(np.arange(16), np.arange(16), indexing="ij"), -1).reshape(-1, 2)
    names = ["row", "column"]
    np.savez(path, images=toys.tiny_images(256).images[:].numpy(), factors=factors, factor_names=names)
    return path


def test_help_and_version_do_not_import_torch():
    program = "import sys; from distaff.cli import main; main(['--help']); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    assert "train" in done.stdout
    assert "resume" in done.stdout


@pytest.mark.parametrize("module", ["distaff", "distaff.cli"])
def test_the_module_is_the_command_by_either_name(module):
    command = [sys.executable, "-m", module, "recipe"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("distaff: unknown command 'recipe': did you mean 'recipes'?")


def test_train_evaluate_traverse(images, tmp_path):
    run_folder = tmp_path / "run"
    command = ["train", "beta_vae", "--data", images, "--beta", 2, "--out", run_folder, *QUICK]
    command = [sys.executable, "-m", "distaff", *map(str, command)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    done = distaff("evaluate", run_folder).end()
    assert done.returncode == 0, done.stderr
    assert "reconstruction_error" in done.stdout
    assert "factor_vae_score" in done.stdout
    done = distaff("traverse", run_folder, "--out", tmp_path / "t.png").end()
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    done = distaff("resume", run_folder, "--steps", 8).end()
    assert done.returncode == 0, done.stderr


def test_real_valued_factors_are_named_and_binned_by_a_flag(tmp_path, capsys):
    rng = np.random.default_rng(0)
    angle = rng.uniform(size=500)
    means = np.stack([angle, rng.normal(size=500)], axis=1)
    np.savez(tmp_path / "codes.npz", means=means, factors=angle[:, None], factor_names=["angle"])
    code, printed = in_process(capsys, "evaluate", tmp_path / "codes.npz", "--metrics", "mig")
    assert code == 2
    assert "'angle' is real-valued: bin it" in printed
    assert "--factor-bins 20" in printed
    flags = ["--metrics", "mig", "--factor-bins", 20]
    code, printed = in_process(capsys, "evaluate", tmp_path / "codes.npz", *flags)
    assert code == 0
    assert "'angle' has 500 values with fractions in 500 rows, taken as numbers" in printed
    assert "'angle' binned into 20 classes (uniform)" in printed
    assert float(printed.split()[1]) > 0.8


def test_recipes_are_listed_with_their_terms(capsys):
    code, printed = in_process(capsys, "recipes")
    assert code == 0
    assert "loss = nll + kl + 35.0 total_correlation" in printed


def test_metrics_are_listed_with_their_summaries_apart_from_long_names(capsys):
    code, printed = in_process(capsys, "metrics")
    assert code == 0
    first = {line.split()[0] for line in printed.splitlines() if line[:1].strip()}
    assert first == set(all_metrics())


def broken_npz(folder: Path, kind: str) -> Path:
    path = folder / f"{kind}.npz"
    good = toys.tiny_images(64).images[:].numpy()
    arrays = {
        "none": {"pictures": good},
        "shape": {"images": good[0, 0, 0]},
        "range": {"images": good * 300 - 20},
        "nan": {"images": np.where(good > 0, np.nan, good)},
        "dtype": {"images": np.full((4, 8, 8), "a")},
        "pickled": {"images": np.array([{}, {}], object)},
    }
    np.savez(path, **arrays.get(kind, {"images": good}))
    if kind == "truncated":
        path.write_bytes(path.read_bytes()[:200])
    if kind == "text":
        path.write_text("not a zip")
    return path


@pytest.mark.parametrize("kind", ["none", "shape", "range", "nan", "dtype", "pickled", "truncated", "text"])
def test_bad_data_files_are_one_sentence_and_exit_code_2(capsys, tmp_path, kind):
    out = tmp_path / "run"
    code, printed = in_process(
        capsys, "train", "vae", "--data", broken_npz(tmp_path, kind), "--out", out, *QUICK
    )
    assert code == 2
    assert printed.startswith("distaff: ")
    assert printed.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "did you mean 'train'"),
        (["train", "factorvae"], "did you mean 'factor_vae'"),
        (["train", "vae", "--data", "dsprite"], "did you mean 'dsprites'"),
        (["train", "vae", "--data", "nowhere.npz"], "nowhere.npz"),
        (["train", "beta_vae", "--bta", "3"], "--beta"),
        (["evaluate", "nowhere"], "not a run folder"),
        (["resume", "nowhere"], "not a run folder"),
    ],
)
def test_unknown_names_get_their_near_misses_and_exit_code_2(capsys, arguments, message):
    code, printed = in_process(capsys, *arguments)
    assert code == 2
    assert message in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("command", ["--help", "recipes"])
def test_a_reader_that_leaves_ends_the_command_quietly(command):
    line = [sys.executable, "-m", "distaff", command]
    process = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    _, said = process.communicate(timeout=300)
    assert (process.returncode, said) == (cli.READER_LEFT, "")


def limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def limit_file_size_further() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))


def test_codes_that_a_full_disk_cannot_hold_are_one_sentence(images, tmp_path):
    """safetensors has an error of its own where a file cannot be written."""
    out = tmp_path / "run"
    assert distaff("train", "beta_vae", "--data", images, "--out", out, *QUICK).end().returncode == 0
    done = distaff("evaluate", out, "--metrics", "wsepin", before=limit_file_size_further).end()
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "codes.safetensors cannot be read or written: File too large: make room, then" in done.stderr
    assert not list(out.glob(".codes*"))
    assert distaff("evaluate", out, "--metrics", "wsepin").end().returncode == 0


def test_a_full_disk_is_one_sentence_and_loses_nothing(images, tmp_path):
    """A limit on file size fails writes as a full disk does, at the first checkpoint after it is set."""
    out = tmp_path / "run"
    arguments = ["train", "beta_vae", "--data", images, "--out", out, *QUICK, "--checkpoint-every", "2"]
    assert distaff(*arguments).end().returncode == 0
    before = sorted(path.name for path in (out / "checkpoint").iterdir())
    done = distaff("resume", out, "--steps", 12, before=limit_file_size).end()
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in (out / "checkpoint").iterdir()) == before
    assert distaff("resume", out).end().returncode == 0


def test_the_line_is_evaluated_and_reported_though_no_metric_fits_it(tmp_path, capsys):
    """Every point has a class of its own, so that the factor cannot be held fixed: that is said, no error."""
    flags = ["--data", "toy_line", "--latents", "1", "--batch-size", "8", "--out", tmp_path / "run"]
    assert in_process(capsys, "train", "vae", *flags, "--steps", "4", "--no-progress")[0] == 0
    code, said = in_process(capsys, "evaluate", tmp_path / "run", "--no-progress")
    assert code == 0
    assert "reconstruction_error" in said
    assert "factor_vae_score: left out, every row has its own value of factor 'point'" in said
    assert in_process(capsys, "report", tmp_path / "run", "--no-progress")[0] == 0
    code, said = in_process(capsys, "evaluate", tmp_path / "run", "--metrics", "factor_vae_score")
    assert code == 2, "what was named is asked for"


@pytest.mark.parametrize(
    "command", ["train factor_vae", *sorted(set(cli.COMMANDS) - {"train", "data", "study"}), "data preview"]
)
def test_help_says_what_a_flag_takes_without_the_noise_of_types(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([*command.split(), "--help"])
    said = capsys.readouterr().out
    assert not stopped.value.code
    assert said.startswith(f"usage: distaff {command}")
    assert not re.search(r"None|STR|PATH|FLOAT|UNION|default: (True|False)", said)
    assert all(len(line) <= 120 for line in said.splitlines())


def test_the_flags_of_training_are_grouped(capsys):
    with pytest.raises(SystemExit):
        cli.main(["train", "factor_vae", "--help"])
    said = capsys.readouterr().out
    topics = re.findall(r"^(\w+):$", said, re.M)
    assert topics == ["factor_vae", "data", "model", "training", "output", "machine"]
    groups = dict(zip(topics, re.split(r"^\w+:$", said, flags=re.M)[1:], strict=True))
    flags = {
        "factor_vae": "--critic.betas NUMBER NUMBER",
        "data": "--resize INT",
        "model": "--latents INT|TEXT",
    }
    flags |= {"training": "--labels INT|all", "output": "--out TEXT", "machine": "--devices INT"}
    for topic, flag in flags.items():
        assert flag in groups[topic], topic
    assert re.search(r"--no-progress +do not show a progress bar", groups["output"])
