"""Messages name what the user gave, and what she would type."""

import math
import sys
import types
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from torch import nn

import distaff
from distaff import DistaffError
from distaff.cli import main
from distaff.foundation import errors
from distaff.foundation.errors import said
from distaff.foundation.flags import parse_flags
from distaff.models import Networks
from distaff.objectives import kl, nll
from distaff.objectives.recipes import vae

TINY = {"latents": 2, "network": "mlp:hidden=8,layers=1", "steps": 2, "progress": False, "accelerator": "cpu"}


def test_flags_become_arguments_in_python_and_stay_at_a_command_line(monkeypatch):
    text = "scale them with --resize 64, or use --network mlp; --skip-bad leaves some out; --range=0:4095."
    assert said(text) == (
        "scale them with resize=64, or use network='mlp'; skip_bad leaves some out; range='0:4095'."
    )
    monkeypatch.setattr(errors._Speaker, "on_command_line", True)
    assert said(text) == text


def test_other_libraries_words_are_understood():
    with pytest.raises(DistaffError, match="'lr': it is called learning_rate here"):
        distaff.train("vae", np.zeros((20, 4)), lr=3)
    with pytest.raises(DistaffError, match="did you mean 'learning_rate'"):
        distaff.train("vae", np.zeros((20, 4)), learning_rte=3)


def test_twenty_images_train_with_a_batch_that_fits():
    images = np.random.default_rng(0).random((20, 16, 16))
    with pytest.warns(UserWarning, match="20 observations to train on, so batches hold 20"):
        distaff.train("vae", images, **TINY)
    with pytest.raises(DistaffError, match="a batch of 32 does not fit a data set of 20: lower batch_size"):
        distaff.train("vae", images, batch_size=32, **TINY)


def test_codes_that_are_no_array_are_named():
    class AnnData:
        obsm: ClassVar[dict] = {}

    with pytest.raises(DistaffError, match=r"'codes\.csv' is a text: distaff\.evaluate_run scores"):
        distaff.evaluate("codes.csv")
    with pytest.raises(DistaffError, match=r'as in distaff\.evaluate\(adata\.obsm\["X_pca"\]'):
        distaff.evaluate(AnnData())


def test_what_was_given_is_named():
    with pytest.raises(DistaffError, match="the generator gives its items once"):
        distaff.train("vae", (row for row in np.zeros((3, 4))), **TINY)


def test_help_says_what_a_switch_does_and_which_kind_of_value_a_flag_takes(capsys):
    def function(*, out: str | None = None, count: int | None = 3, progress: bool = True) -> None:
        """Do it.

        Args:
            out: where.
            count: how many.
            progress: show a progress bar.
        """

    with pytest.raises(SystemExit):
        parse_flags("distaff it", ["--help"], function)
    text = capsys.readouterr().out
    assert "None}" not in text
    assert "--out TEXT" in text
    assert "--count INT" in text
    assert "do not show a progress bar" in " ".join(text.replace("│", " ").split())


def test_lazy_layers_take_their_sizes_from_the_data(monkeypatch):
    def lazy(shape, parameters, width, outputs=None):
        outputs = outputs or shape
        encoder = nn.Sequential(nn.Flatten(), nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(parameters))
        decoder = nn.Sequential(nn.LazyLinear(math.prod(outputs)), nn.Unflatten(1, outputs))
        return Networks(encoder, decoder)

    module = types.ModuleType("mine")
    vars(module)["lazy"] = lazy
    monkeypatch.setitem(sys.modules, "mine", module)
    images = np.random.default_rng(0).random((20, 16, 16))
    model = distaff.train("vae", images, batch_size=10, **{**TINY, "network": "mine:lazy"})
    assert model.encode(images).means.shape == (20, 2)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--lr", "3"), "--learning-rate here"),
        (("--epochs", "3"), "--steps, which counts batches, here"),
        (("--val-split", "0.1"), "--hold-out here"),
        (("--hold-out", "10"), "--hold-out is a share"),
        (("--patience", "3"), "--patience needs data to look at: give --hold-out 0.1"),
        (("--learning-rate", "-1"), "--learning-rate must be positive"),
        (("--likelihood", "gauss"), "did you mean 'gaussian'"),
        (("--latents", "zero"), "name=kind:size"),
    ],
)
def test_at_a_command_line_flags_are_named_before_any_image_is_decoded(
    tmp_path, capsys, flags, words, monkeypatch
):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "1.png").write_bytes(b"no image")
    monkeypatch.setenv("DISTAFF_CACHE", str(tmp_path / "cache"))
    with pytest.raises(SystemExit):
        main(["train", "beta_vae", "--data", str(tmp_path / "photos"), "--resize", "64", *flags])
    said_of_it = capsys.readouterr().err
    assert words in said_of_it
    assert "decode" not in said_of_it


def test_the_same_in_python():
    for settings, words in (
        ({"hold_out": 10}, "^hold_out is a share"),
        ({"patience": 3}, "^patience needs data to look at: give hold_out=0.1"),
        ({"learning_rate": -1}, "^learning_rate must be positive"),
    ):
        with pytest.raises(DistaffError, match=words):
            distaff.train("vae", np.zeros((20, 4)), **TINY, **settings)
    with pytest.raises(DistaffError, match=r"signals over time .* data_options=.?signals=true"):
        distaff.train("vae", 5 + np.random.default_rng(0).random((20, 3, 40)), **TINY)


def test_arguments_of_one_name_are_not_both_taken():
    with pytest.raises(DistaffError, match="arguments have the name 'hidden' twice: keep one of them"):
        distaff.train("vae", np.zeros((20, 4)), **{**TINY, "network": "mlp:hidden=8,layers=1,hidden=4"})
    with pytest.raises(DistaffError, match="arguments have the name 'count' twice"):
        distaff.train("vae", "pinwheel", data_options="count=80,count=90", **TINY)


def test_a_bound_that_is_crossed_is_named_where_words_would_do_too():
    with pytest.raises(DistaffError, match="labels must be at least 1, not 0"):
        distaff.train("vae", np.zeros((20, 4)), labels=0, **TINY)


def test_a_recipe_comes_first_and_a_file_is_no_run_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("kept")
    for line, message in (
        ("train --data pinwheel", "name a recipe before --data: distaff train RECIPE --data"),
        ("train vae --data pinwheel --out notes.txt", "notes.txt is a file, and a run is a folder: choose"),
        (
            "train vae --data pinwheel --out notes.txt/run",
            "notes.txt is a file, and a run is a folder: choose",
        ),
        ("train vae --data pinwheel --out /proc/no/run", "/proc/no cannot be read or written: No such file"),
    ):
        with pytest.raises(SystemExit) as end:
            main(line.split())
        assert end.value.code == 2
        printed = capsys.readouterr().err
        assert message in printed
        assert printed.count("\n") == 1
        assert "Errno" not in printed
    assert (tmp_path / "notes.txt").read_text() == "kept"


def test_a_recipe_that_is_neither_a_name_nor_a_function_is_said_to_be_so():
    for recipe, what in (
        (3, "3"),
        (nll + 2.0 * kl, r"the objective nll \+ 2.0 kl"),
        (partial(vae), "functools"),
    ):
        with pytest.raises(DistaffError, match=f"or a function that returns an objective, not {what}"):
            distaff.train(recipe, np.zeros((20, 4)), **TINY)


def test_observations_of_several_shapes_are_said_to_be_so():
    with pytest.raises(
        DistaffError, match=r"a list cannot be read as an array: its parts are of different shapes\."
    ):
        distaff.train("vae", [np.zeros((8, 8)), np.zeros((8, 9))], **TINY)


def test_a_batch_too_small_for_densities_is_raised_by_its_flag():
    with pytest.raises(DistaffError, match="raise batch_size"):
        distaff.train("beta_tcvae", np.eye(20), batch_size=1, **TINY)
    with errors.speaking_in_flags(), pytest.raises(DistaffError, match="raise --batch-size"):
        distaff.train("beta_tcvae", np.eye(20), batch_size=1, **TINY)
