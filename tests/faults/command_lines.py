"""Wrong command lines over every command: made from the commands' own signatures, and some by hand."""

import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from annotated_types import Ge, Gt

from distaff.analysis.compare import compare_runs
from distaff.analysis.decompose import decompose_run
from distaff.analysis.doctor import diagnose
from distaff.analysis.evaluate import evaluate_run
from distaff.analysis.new_data import encode_data
from distaff.analysis.report import report_run
from distaff.analysis.traversals import traverse_run
from distaff.data import catalogue
from distaff.data.preview import draw_preview
from distaff.explore import explore
from distaff.export import export_run
from distaff.foundation.binding import options_of
from distaff.foundation.wrong_flags import strip
from distaff.metrics.catalogue import metrics_table
from distaff.objectives import recipes
from distaff.runs.presets import presets
from distaff.studies import choose, commands
from distaff.studies.choosing import select
from distaff.training.train import resume, train
from distaff.zoo import models

Line = tuple[str, ...]


@dataclass(frozen=True)
class Places:
    """What lies on the disk for command lines to name.

    Args:
        folder: where all of it is.
        data: a small data set.
        run: a small finished run of it.
        study: a study file of it, nothing of which was run.
    """

    folder: Path
    data: Path
    run: Path
    study: Path

    @property
    def wrong(self) -> list[str]:
        """Nothing, a folder without a run, a file that is no run, and no name at all."""
        (self.folder / "empty").mkdir(exist_ok=True)
        (self.folder / "text.txt").write_text("nothing\n")
        return [str(self.folder / name) for name in ("absent", "empty", "text.txt")] + [""]


def wrong_lines(places: Places) -> list[Line]:
    """All of them, each once."""
    made = [line for command in _commands(places) for line in command.wrong_lines()]
    return list(dict.fromkeys([*by_hand(places), *made, *_wrong_places(places)]))


@dataclass(frozen=True)
class Command:
    """A command and what it takes.

    Args:
        right: a command line that is right as far as it goes.
        functions: whose parameters are its flags.
        leave_out: parameters that are none.
    """

    right: Line
    functions: tuple[Callable[..., Any], ...]
    leave_out: tuple[str, ...] = ()

    def wrong_lines(self) -> Iterator[Line]:
        """One mistake each."""
        yield (*self.right, "--nonsense")
        yield (*self.right, "--nonsense=3")
        if self.right[0] != "explore":  # which takes any number of runs
            yield (*self.right, "once", "more")
        for name, hint in self._flags().items():
            flag = f"--{name.replace('_', '-')}"
            yield (*self.right, f"{flag[:-1]}{'x' if flag[-1] != 'x' else 'y'}q", "1")
            if strip(hint) is bool:
                yield (*self.right, f"{flag}=perhaps")
                continue
            yield (*self.right, flag)
            for value in _wrong_values(hint):
                yield (*self.right, flag, value)

    def _flags(self) -> dict[str, Any]:
        found = {}
        for function in self.functions:
            hints = typing.get_type_hints(function, include_extras=True)
            for parameter in inspect.signature(function).parameters.values():
                named = (
                    parameter.default is not parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
                )
                if named and parameter.name not in self.leave_out:
                    found[parameter.name] = hints[parameter.name]
        return found


def _wrong_values(hint: Any) -> list[str]:
    options = options_of(hint)
    if str in options or any(hasattr(option, "parse") for option in options):
        return []
    if any(typing.get_origin(option) is typing.Literal for option in options):
        return ["nonsense", *([] if {int, float} & {*options} else ["1"])]
    if any(typing.get_origin(option) in (tuple, list) for option in options) or not {int, float} & {*options}:
        return []
    bounds = [mark for part in (hint, *typing.get_args(hint)) for mark in getattr(part, "__metadata__", ())]
    negative = ["-1"] if any(isinstance(mark, Ge | Gt) for mark in bounds) else []
    return ["abc", *(["1.5"] if int in options else []), *negative]


def _commands(places: Places) -> list[Command]:
    run, file = str(places.run), str(places.study)
    quick = ("--data", str(places.data), "--out", str(places.folder / "new"), "--steps", "2")
    return [
        *(
            Command(
                ("train", recipe, *quick), (vars(recipes)[recipe], train), ("recipe", "steps", "data", "out")
            )
            for recipe in ("factor_vae", "infogan")
        ),
        Command(("resume", run), (resume,), ("data",)),
        Command(("evaluate", run), (evaluate_run,)),
        Command(("decompose", run), (decompose_run,)),
        Command(("traverse", run), (traverse_run,)),
        Command(("report", run), (report_run,)),
        Command(("explore", run), (explore,)),
        Command(("doctor", run), (diagnose,), ("data",)),
        Command(("export", run), (export_run,)),
        Command(("choose", str(places.data), *quick[2:4]), (choose,), ("data", "out")),
        Command(("encode", run, "--out", str(places.folder / "new.npz")), (encode_data,), ("out",)),
        Command(("compare", run, run, "--out", str(places.folder / "new.html")), (compare_runs,), ("out",)),
        Command(("zoo",), (models,)),
        Command(("recipes",), ()),
        Command(("presets",), (presets,)),
        Command(("metrics",), (metrics_table,)),
        Command(("data", "list"), (catalogue.listing,)),
        Command(("data", "preview", str(places.data)), (draw_preview,)),
        Command(("data", "info", "dsprites"), (catalogue.info,)),
        Command(("data", "verify", "dsprites"), (catalogue.verify,)),
        Command(("study", "run", file), (commands.run,), ("ray",)),  # --ray needs no value
        Command(("study", "status", file), (commands.status,)),
        Command(("study", "table", file), (commands.table,)),
        Command(("study", "claims", file), (commands.check_claims,)),
        Command(("study", "report", file), (commands.write_page,)),
        Command(("study", "select", file), (select,)),
        Command(("study", "keep", file), (commands.keep,)),
    ]


def _wrong_places(places: Places) -> Iterator[Line]:
    for wrong in places.wrong:
        for command in ("resume", "evaluate", "decompose", "traverse", "report", "explore", "doctor"):
            yield (command, wrong)
        yield ("export", wrong, "--hub", str(places.folder / "hub"))
        yield ("train", "vae", "--data", wrong)
        yield ("data", "preview", wrong)
        yield ("encode", wrong)
        yield ("encode", str(places.run), "--data", wrong)
        yield ("compare", str(places.run), wrong)
        yield ("choose", wrong)
        for command in ("run", "status", "table", "claims", "report", "select", "keep"):
            yield ("study", command, wrong)
        for command in ("info", "fetch", "verify"):
            yield ("data", command, wrong)
    for command in ("resume", "evaluate", "decompose", "traverse", "report", "explore", "doctor", "export"):
        if command != "explore":  # which opens the zoo
            yield (command,)
        yield (command, str(places.data.with_suffix(".npy")))


def by_hand(places: Places) -> list[Line]:
    """Mistakes that were made, and their kin."""
    run, data = str(places.run), str(places.data)
    new = ("train", "beta_vae", "--data", data, "--out", str(places.folder / "new"), "--steps", "2")
    file = str(places.folder / "text.txt")
    return [
        ("trian",),
        ("train", "betavae"),
        ("train", "os:system"),
        ("train", "nowhere:recipe"),
        ("train", "--data", data),
        (*new, "--accelerator", "foo"),
        (*new, "--accelerator", "cuda"),
        (*new, "--devices", "0"),
        (*new, "--strategy", "foo"),
        (*new, "--betas", "2", "3"),
        (*new, "--betas", "0.9"),
        (*new, "--resize", "0"),
        (*new, "--resize", "-8"),
        (*new, "--network", "os:getcwd"),
        (*new, "--network", "os:nothing"),
        (*new, "--network", "no_such_network"),
        (*new, "--network", "mlp:hidden=0"),
        (*new, "--latents", "0"),
        (*new, "--latents", "z=nonsense:3"),
        (*new, "--prior", "nonsense"),
        (*new, "--prior", "student_t:x"),
        (*new, "--likelihood", "nonsense"),
        (*new, "--temperature", "0"),
        (*new, "--optimizer", "adma"),
        (*new, "--optimizer", "sgd", "--amsgrad"),
        (*new, "--learning-rate", "-1"),
        (*new, "--learning-rate", "linear:1"),
        (*new, "--beta", "abc"),
        (*new, "--beta", "nan"),
        (*new, "--steps", "abc"),
        (*new, "--steps", "0"),
        (*new, "--batch-size", "100000"),
        (*new, "--preset"),
        (*new, "--preset", "quik"),
        (*new, "--preset", "quick", "--steps", "abc"),
        (*new, "--precision", "16"),
        (*new, "--data-options", "nonsense"),
        (*new, "--data-options", "no_such_option=1"),
        (*new, "--file", str(places.folder / "absent")),
        ("train", "beta_vae", "--data", data, "--out", file, "--steps", "2"),
        ("train", "beta_vae", "--data", data, "--out", str(places.folder), "--steps", "2"),
        ("train", "beta_vae", "--data", data, "--out", run, "--steps", "3"),
        ("train", "infogan", "--data", data, "--steps", "2", "--batch-size", "1"),
        ("train", "hfvae", "--data", data, "--density", "nonsense"),
        *((*new, *flags) for flags in _of_held_out_and_labels(places)),
        *(("train", "ada_gvae", *new[2:], "--pairs", pairs) for pairs in _wrong_pairs(places)),
        (*new, "--pairs", "random"),
        (*new, "--track", "nonsense"),
        (*new, "--track", "nowhere:tracker"),
        (*new, "--track", "os:getcwd"),
        ("resume", run, "--steps", "0"),
        ("resume", "zoo:nonsense"),
        ("resume", run, "--devices", "0"),
        ("evaluate", run, "--seed", "-1"),
        ("evaluate", run, "--metrics", "migg"),
        ("evaluate", run, "--metrics", "mig:nonsense"),
        ("evaluate", run, "--observations", "1"),
        ("evaluate", run, "--observations", "some"),
        ("evaluate", run, "--factor-bins", "1"),
        ("evaluate", run, "--out", str(places.folder / "text.txt" / "scores.json")),
        ("evaluate", run, "--held-out"),
        ("evaluate", run, "--baseline", str(places.folder / "absent.npz")),
        ("evaluate", run, "--null", "-1"),
        ("evaluate", run, "--factors", "row"),
        ("evaluate", run, "--latents", "z0"),
        ("evaluate", run, "--data", data, "--data-options", "nonsense"),
        ("evaluate", run, "--fit", "crop"),
        ("evaluate", data, "--ica"),
        ("evaluate", run, run, "--baseline", "x"),
        ("evaluate", run, str(places.folder / "absent")),
        ("encode", run, "--out", str(places.folder / "codes.nonsense")),
        ("encode", run, "--out", str(places.folder / "text.txt" / "codes.npz")),
        ("encode", run, "--data", data, "--data-options", "nonsense"),
        ("encode", run, "--fit", "crop"),
        ("encode", run, "--skip-bad"),
        ("encode", run, "--data", str(places.folder / "text.txt")),
        ("compare", run),
        ("compare", run, run, "--metrics", "nonsense"),
        ("compare", run, run, "--observations", "1"),
        ("choose", data, "--minutes", "0"),
        ("choose", data, "--minutes", "nan"),
        ("choose", data, "--seeds", "1"),
        ("choose", data, "--recipes", "nonsense"),
        ("choose", data, "--recipes", "beta_vae:x"),
        ("choose", data, "--recipes", "beta_vae.nonsense:1:2"),
        ("choose", data, "--recipes", "os:system:1:2"),
        ("choose", data, "--hold-out", "2"),
        ("choose", data, "--so-far"),
        ("choose", data, "--out", run),
        ("decompose", run, "--samples", "0"),
        ("decompose", run, "--particles", "0"),
        ("traverse", run, "--index", "99999"),
        ("traverse", run, "--index", "-1"),
        ("traverse", run, "--latents", "0"),
        ("traverse", run, "--out", str(places.folder / "picture.nonsense")),
        ("doctor", run, "--observations", "0"),
        ("explore", run, run, run),
        ("explore", run, "--port", "99999"),
        ("explore", run, "--host", "203.0.113.9"),
        ("export", run),
        ("export", run, "--hub", str(places.folder)),
        ("data", "lst"),
        ("data", "fetch", "nowhere"),
        ("data", "preview", data, "--columns", "0"),
        ("data", "preview", data, "--seed", "-1"),
        ("study", "rnu", str(places.study)),
        ("study", "run", str(places.study), "--scale", "0"),
        ("study", "run", str(places.study), "--scale", "-1"),
        ("study", "run", str(places.study), "--scale", "1e308"),
        ("study", "run", str(places.study), "--workers", "0"),
        ("study", "select", str(places.study), "--metric", "nonsense"),
        ("study", "select", str(places.study), "--labels", "0"),
        ("study", "select", str(places.study), "--seed", "-1"),
        ("study", "keep", str(places.study), "--into", file),
        ("study", "table", str(places.study), "--group-by", "nonsense"),
        ("study", "table", str(places.study), "--metric", "nonsense"),
        ("study", "table", str(places.study), "--interval", "nonsense"),
    ]


def _of_held_out_and_labels(places: Places) -> list[Line]:
    return [
        *(("--hold-out", share) for share in ("0", "1", "1.5", "-0.1", "nan", "inf", "0.001")),
        ("--hold-out", str(places.folder / "absent")),
        ("--hold-out", str(places.folder / "text.txt")),
        ("--hold-out-by", "row"),
        ("--hold-out", "0.1", "--hold-out-by", "nonsense"),
        ("--hold-out", str(places.data), "--hold-out-by", "row"),
        ("--patience", "3"),
        ("--labels", "0"),
        ("--labels", "some"),
        ("--labels", "100000"),
        ("--labels", "8", "--label-weight", "nan"),
        ("--labels", "8", "--label-loss", "l3"),
        ("--leave-out", "nonsense"),
        ("--correlate", "nonsense"),
    ]


def _wrong_pairs(places: Places) -> list[str]:
    files = {name: str(places.folder / f"{name}.npy") for name in ("absent", "odd", "far", "real")}
    np.save(files["odd"], np.zeros((3, 5), int))
    np.save(files["far"], np.array([[0, 10**6]]))
    np.save(files["real"], np.array([[0.5, 1.5]]))
    return ["k=0", "k=x", "k=99", "k=", "nonsense", "given", "os:getcwd", "nowhere:pairs", *files.values()]
