"""The command line: thin, each command calls one public function; torch is imported where it is needed."""

import inspect
import itertools
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from distaff._version import __version__
from distaff.foundation.errors import DistaffError, speaking_in_flags, unknown
from distaff.foundation.memory import keep_freed_memory

SOMETHING_WRONG, BAD_INPUT = 1, 2

keep_freed_memory()  # before torch is imported, as in distaff.training


def train(arguments: Sequence[str]) -> None:
    """Train a recipe: distaff train factor_vae --data dsprites --gamma 35 --out runs/f35."""
    from distaff.foundation.binding import find_function
    from distaff.objectives import recipes
    from distaff.training import train as training

    name = next(iter(arguments), "--help")
    if name in ("-h", "--help"):
        print("Usage: distaff train RECIPE [flags]. Recipes, each with flags of its own (add --help):\n")
        return _list_recipes()
    recipe = find_function("recipe", name, recipes)
    defaults = _of_preset(name, arguments[1:])
    call = _flags(
        f"train {name}", arguments[1:], recipe, training.train, leave_out=["recipe"], defaults=defaults
    )
    out = call.pop("out") or f"runs/{name.replace(':', '.')}-{Path(call['data']).stem}-{call['seed']}"
    training.train(name, out=out, **call)
    _say(f"trained: {out}\nscore it with: distaff evaluate {out}")
    return None


def resume(arguments: Sequence[str]) -> None:
    """Resume an interrupted run, exactly where it stopped: distaff resume RUN."""
    from distaff.training.train import resume as function

    call = _flags("resume", arguments, function, leave_out=["data"])
    function(**call)
    _say(f"trained: {call['folder']}")


def evaluate(arguments: Sequence[str]) -> None:
    """Score a run on a sample of its data set, or codes from anywhere: distaff evaluate RUN or codes.npz."""
    from distaff.analysis.evaluate import evaluate_run

    runs, flags = _several(arguments)
    if len(runs) > 1:
        for run in runs:
            print(f"{run}:")
            evaluate([run, *flags])
        return
    evaluation = evaluate_run(**_flags("evaluate", arguments, evaluate_run))
    for score in evaluation.scores:
        print(score)
    for name, reason in evaluation.skipped.items():
        print(f"{name}: left out, {reason}")


def encode(arguments: Sequence[str]) -> None:
    """Encode new data with a run's model: distaff encode RUN --data photos/ --out codes.csv."""
    from distaff.analysis.new_data import encode_data

    _say(f"written: {encode_data(**_flags('encode', arguments, encode_data))}")


def decompose(arguments: Sequence[str]) -> None:
    """Print the ELBO's decomposition over the data set: distaff decompose RUN."""
    from distaff.analysis.decompose import decompose_run

    print(decompose_run(**_flags("decompose", arguments, decompose_run)))


def traverse(arguments: Sequence[str]) -> None:
    """Draw latent traversals: distaff traverse RUN --out t.png."""
    from distaff.analysis.traversals import traverse_run

    _say(f"drawn: {traverse_run(**_flags('traverse', arguments, traverse_run))}")


def report(arguments: Sequence[str]) -> None:
    """Write a page about a run, in one file that needs no network: distaff report RUN; of several: A B C."""
    from distaff.analysis.report import report_run

    if len(_several(arguments)[0]) > 1:
        return compare(arguments)
    return _say(f"written: {report_run(**_flags('report', arguments, report_run))}")


def compare(arguments: Sequence[str]) -> None:
    """Compare finished runs on one page, latents matched: distaff compare A B --out compare.html."""
    from distaff.analysis.compare import compare_runs

    _say(f"written: {compare_runs(**_flags('compare', arguments, compare_runs))}")


def explore(arguments: Sequence[str]) -> None:
    """Move a run's latents with sliders in a web page: distaff explore RUN, or two runs side by side."""
    from distaff.explore import explore as function

    written = function(**_flags("explore", arguments, function, pairs=True))
    if written is not None:
        _say(f"written: {written} ({written.stat().st_size / 1e6:.1f} MB)")


def doctor(arguments: Sequence[str]) -> None:
    """Say what is wrong with a run and what to try; exit code 1 if anything is: distaff doctor RUN."""
    from distaff.analysis.doctor import diagnose

    diagnosis = diagnose(**_flags("doctor", arguments, diagnose, leave_out=["data"]))
    print(diagnosis)
    if not diagnosis.healthy:
        sys.exit(SOMETHING_WRONG)


def export(arguments: Sequence[str]) -> None:
    """Write a run for other programs: distaff export RUN --onnx DIR, --torch-export DIR or --hub DIR."""
    from distaff.export import export_run

    for written in export_run(**_flags("export", arguments, export_run)):
        print(written)


def metrics(arguments: Sequence[str]) -> None:
    """List the metrics: what each needs, its range, which way is better, its paper."""
    from distaff.metrics.catalogue import metrics_table

    _flags("metrics", arguments, metrics_table)
    for row in metrics_table().to_dict("records"):
        print(f"{row['metric']:22}{row['summary']}")
        needs = f"needs labels: {row['needs labels']}; q(z|x): {row['needs q(z|x)']}"
        print(
            f"{'':22}{row['range']}, {row['better']} is better; {needs}; {row['protocols']}; {row['paper']}\n"
        )


def data(arguments: Sequence[str]) -> None:
    """Data sets: distaff data list, info NAME, fetch NAME, verify NAME, preview NAME --out sheet.png."""
    from distaff.data import catalogue

    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help"):
        return print(inspect.getdoc(data))
    actions: dict[str, Callable[..., Any]] = {"list": list_data, "preview": preview_data}
    actions |= {"info": catalogue.info, "fetch": catalogue.fetch, "verify": catalogue.verify}
    if name not in actions:
        raise unknown("data command", name, actions)
    found = actions[name](**_flags(f"data {name}", rest, actions[name]))
    for line in [found] if isinstance(found, str | Path) else found:
        print(line)
    return None


def study(arguments: Sequence[str]) -> None:
    """Many runs from one file: distaff study run FILE [--scale 0.05]; status, table, claims, report."""
    from distaff.studies.console import main as console

    console(arguments, _say)


def presets(arguments: Sequence[str]) -> None:
    """List the presets: settings that go well together, for distaff train RECIPE --preset NAME."""
    from distaff.runs.presets import presets as known

    _flags("presets", arguments, known)
    for preset in known().values():
        print(f"{preset.name:14}{preset.about}\n{'':14}for {', '.join(preset.recipes)}\n")


def recipes(arguments: Sequence[str]) -> None:
    """List the recipes with their terms."""
    _flags("recipes", arguments, _list_recipes)
    _list_recipes()


COMMANDS: dict[str, Callable[[Sequence[str]], None]] = {
    command.__name__: command
    for group in (
        (train, resume, encode, evaluate, decompose, traverse, report, compare, explore),
        (study, doctor, export, recipes, presets, metrics, data),
    )
    for command in group
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; bad input is one sentence and exit code 2."""
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("-h", "--help"):
        return print(_help())
    if name == "--version":
        return print(f"distaff {__version__}")
    warnings.showwarning = _show_warning
    sys.path.insert(0, "")  # so that module:function finds a user's own file in the folder she works in
    try:
        if name not in COMMANDS:
            raise unknown("command", name, COMMANDS)
        with speaking_in_flags():
            return COMMANDS[name](rest)
    except (DistaffError, OSError) as error:
        _say(f"distaff: {error}")
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt as stop:
        _say(f"distaff: {str(stop) or 'interrupted'}")
        sys.exit(128 + getattr(stop, "signal_number", 2))


def _flags(
    command: str, arguments: Sequence[str], *functions: Callable[..., Any], **how: Any
) -> dict[str, Any]:
    """What was typed after a command, as keyword arguments of the functions; see ``parse_flags``."""
    from distaff.foundation.binding import parse_flags

    return parse_flags(f"distaff {command}", arguments, *functions, **how)


def _several(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The runs that stand before the first flag, and all the rest."""
    runs = list(itertools.takewhile(lambda argument: not argument.startswith("-"), arguments))
    return runs, list(arguments[len(runs) :])


def _of_preset(recipe: str, arguments: Sequence[str]) -> dict[str, Any]:
    """The settings of the preset that is among a recipe's flags, if any: what the other flags default to."""
    from argparse import ArgumentParser

    from distaff.runs.presets import find_preset

    flags = ArgumentParser(add_help=False, allow_abbrev=False)
    for name in ("--preset", "--data", "--steps"):
        flags.add_argument(name)
    asked, _ = flags.parse_known_args(list(arguments))
    if asked.preset is None:
        return {}
    steps = {"steps": int(asked.steps)} if str(asked.steps).isdecimal() else {}
    return find_preset(asked.preset).fill(steps, recipe, asked.data or "dsprites")


def _help() -> str:
    lines = [
        f"distaff {__version__}: train, measure and explore disentangled representations.",
        "",
        "usage: distaff COMMAND [flags]; distaff COMMAND --help says more.",
        "",
        *(f"  {name:11}{inspect.getdoc(command)}" for name, command in COMMANDS.items()),
    ]
    return "\n".join(lines)


def list_data() -> list[str]:
    """Every data set known by name, and whether it is here."""
    from distaff.data.catalogue import overview

    return [f"{name:16}{about.summary}  [{place}]" for name, (about, place) in overview().items()]


def preview_data(name: str, *, out: str = "preview.png", columns: int = 10, seed: int = 0) -> Path:
    """Draw a contact sheet of a data set: one row for each factor, varied while the others stay.

    Args:
        name: a data set's name, a file or a folder.
        out: the picture.
        columns: images per row.
        seed: which observations.
    """
    from distaff.data import open_dataset
    from distaff.data.preview import save_preview

    return save_preview(open_dataset(name), out, columns, seed)


def _list_recipes() -> None:
    """List the recipes with their terms."""
    from distaff.foundation.binding import public_functions
    from distaff.objectives import recipes as module

    for name, recipe in public_functions(module).items():
        print(f"{name:22}{(inspect.getdoc(recipe) or '').splitlines()[0]}")
        print(f"{'':22}loss = {recipe()}\n")


def _say(message: str) -> None:
    if os.environ.get("LOCAL_RANK", "0") == "0":
        print(message, file=sys.stderr)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"distaff: {message}")
