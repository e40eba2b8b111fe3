"""The command line: each command calls one public function; torch is imported only if needed."""

import inspect
import itertools
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from distaff._version import __version__
from distaff.foundation.errors import DistaffError, of_system, speaking_in_flags, unknown
from distaff.foundation.process import prepare_process

SOMETHING_WRONG, BAD_INPUT = 1, 2
READER_LEFT = 128 + 13
"""Exit code of a program that was ended by SIGPIPE."""

DATA = (
    *("data", "file", "resize", "fit", "range", "skip_bad", "correlate", "leave_out", "data_options"),
    *("hold_out", "hold_out_by", "held_out", "factors", "factor_bins", "observations"),
)
OUTPUT = ("out", "log_every", "checkpoint_every", "snapshots", "track", "progress", "export", "open")
"""Flags that ``--help`` shows together."""

prepare_process()  # before torch is imported, as in distaff.training


def train(arguments: Sequence[str]) -> None:
    """Train a recipe: distaff train factor_vae --data dsprites --gamma 35 --out runs/f35."""
    from distaff.runs.calls import find_recipe
    from distaff.runs.settings import ModelSettings
    from distaff.training import train as training

    name = next(iter(arguments), "--help")
    if name in ("-h", "--help"):
        print("Usage: distaff train RECIPE [flags]. Recipes, each with flags of its own (add --help):\n")
        return recipes(())
    if name.startswith("-"):
        raise DistaffError(
            f"name a recipe before {name}: distaff train RECIPE {name} …; distaff recipes lists them."
        )
    recipe, flags = find_recipe(name), arguments[1:]
    topics = {name: list(inspect.signature(recipe).parameters), "data": DATA}
    topics |= {"model": list(ModelSettings.__dataclass_fields__), "training": (), "output": OUTPUT}
    topics["machine"] = ("accelerator", "devices", "strategy")
    told: dict[str, Any] = {"leave_out": ["recipe"], "defaults": _of_preset(name, flags), "topics": topics}
    call = _flags(f"train {name}", flags, recipe, training.train, **told)
    out = call.pop("out") or f"runs/{name.replace(':', '.')}-{Path(call['data']).stem}-{call['seed']}"
    training.train(name, out=out, **call)
    return _say(f"trained: {out}\nscore it with: distaff evaluate {shlex.quote(str(out))}")


def resume(arguments: Sequence[str]) -> None:
    """Resume an interrupted run exactly where it stopped: distaff resume RUN; or train zoo:NAME further."""
    from distaff.training.train import resume as function

    call = _flags("resume", arguments, function, leave_out=["data"])
    function(**call)
    _say(f"trained: {call['out'] or call['folder']}")


def evaluate(arguments: Sequence[str]) -> None:
    """Score a run on a sample of its data set, or codes from anywhere: distaff evaluate RUN or codes.npz."""
    from distaff.analysis.evaluate import evaluate_run, print_scores
    from distaff.analysis.several import evaluate_runs, print_several
    from distaff.foundation.trust import trusted_modules, trusting

    runs, flags = _several(arguments)
    if len(runs) < 2:
        return print_scores(_of_run("evaluate", arguments, evaluate_run))
    call = _flags("evaluate", [runs[0], *flags], evaluate_run, trusted_modules)
    with trusting(call.pop("trust")):
        return print_several(evaluate_runs([call.pop("run"), *runs[1:]], **call))


def choose(arguments: Sequence[str]) -> None:
    """Find a recipe and a weight for data without labels: distaff choose photos/ --resize 64 --minutes 20."""
    from distaff.studies import choose as function

    print(_of_run("choose", arguments, function))


def encode(arguments: Sequence[str]) -> None:
    """Encode new data with a run's model: distaff encode RUN --data photos/ --out codes.csv."""
    from distaff.analysis.new_data import encode_data

    _say(f"written: {_of_run('encode', arguments, encode_data)}")


def decompose(arguments: Sequence[str]) -> None:
    """Print the parts of the ELBO over a random sample of the data: distaff decompose RUN."""
    from distaff.analysis.decompose import decompose_run

    print(_of_run("decompose", arguments, decompose_run))


def traverse(arguments: Sequence[str]) -> None:
    """Draw latent traversals: distaff traverse RUN --out t.png."""
    from distaff.analysis.traversals import traverse_run

    _say(f"drawn: {_of_run('traverse', arguments, traverse_run)}")


def report(arguments: Sequence[str]) -> None:
    """Write a page about a run, in one file that needs no network: distaff report RUN; or several: A B C."""
    from distaff.analysis.report import report_run

    if len(_several(arguments)[0]) > 1:
        return compare(arguments)
    return _say(f"written: {_of_run('report', arguments, report_run)}")


def compare(arguments: Sequence[str]) -> None:
    """Compare finished runs on one page, with matched latents: distaff compare A B --out compare.html."""
    from distaff.analysis.compare import compare_runs

    _say(f"written: {_of_run('compare', arguments, compare_runs)}")


def explore(arguments: Sequence[str]) -> None:
    """Move latents with sliders in a web page: distaff explore RUN, two runs, or none for the zoo's first."""
    from distaff.explore import explore as function

    written = _of_run("explore", arguments, function, pairs=True)
    if written is not None:
        _say(f"written: {written} ({written.stat().st_size / 1e6:.1f} MB)")


def doctor(arguments: Sequence[str]) -> None:
    """Say what is wrong with a run and what to try: distaff doctor RUN; exit code 1 if anything is wrong."""
    from distaff.analysis.doctor import diagnose

    diagnosis = _of_run("doctor", arguments, diagnose, leave_out=["data"])
    print(diagnosis)
    if not diagnosis.healthy:
        sys.exit(SOMETHING_WRONG)


def export(arguments: Sequence[str]) -> None:
    """Write a run for other programs: distaff export RUN --onnx DIR, --torch-export, --hub or --push."""
    from distaff.export import export_run

    for written in _of_run("export", arguments, export_run):
        print(written)


def metrics(arguments: Sequence[str]) -> None:
    """List the metrics: what each needs, its range, whether higher is better, its paper."""
    from distaff.metrics.catalogue import in_words, metrics_table

    _flags("metrics", arguments, metrics_table)
    print(in_words(metrics_table()))


def data(arguments: Sequence[str]) -> None:
    """Data sets: distaff data list, info NAME, fetch NAME, verify NAME, preview NAME --out sheet.png."""
    from distaff.data import catalogue
    from distaff.data.preview import draw_preview

    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help"):
        return print(inspect.getdoc(data))
    actions: dict[str, Callable[..., Any]] = {"list": catalogue.listing, "preview": draw_preview}
    actions |= {"info": catalogue.info, "fetch": catalogue.fetch, "verify": catalogue.verify}
    if name not in actions:
        raise unknown("data command", name, actions)
    found = actions[name](**_flags(f"data {name}", rest, actions[name]))
    for line in [found] if isinstance(found, str | Path) else found:
        print(line)
    return None


def study(arguments: Sequence[str]) -> None:
    """Many runs from one file: distaff study run FILE [--scale 0.05]; status, table, claims, keep, report."""
    from distaff.studies.console import main as console

    console(arguments, _say)


def presets(arguments: Sequence[str]) -> None:
    """List the presets: settings that go well together, for distaff train RECIPE --preset NAME."""
    from distaff.runs.presets import presets as known

    _flags("presets", arguments, known)
    for preset in known().values():
        print(f"{preset.name:13} {preset.about}\n{'':14}for {', '.join(preset.recipes)}\n")


def zoo(arguments: Sequence[str]) -> None:
    """List the models that come with distaff, for load, explore, evaluate and others: zoo:NAME."""
    from distaff.zoo import models

    _flags("zoo", arguments, models)
    print("\n\n".join(map(str, models().values())) or "this installation of distaff came without models.")


def recipes(arguments: Sequence[str]) -> None:
    """List the recipes with their terms."""
    from distaff.foundation.binding import public_functions
    from distaff.objectives import recipes as module

    _flags("recipes", arguments, recipes, leave_out=["arguments"])
    for name, recipe in public_functions(module).items():
        print(f"{name:21} {(inspect.getdoc(recipe) or '').splitlines()[0]}")
        print(f"{'':22}loss = {recipe()}\n")


COMMANDS: dict[str, Callable[[Sequence[str]], None]] = {
    command.__name__: command
    for command in (
        *(train, choose, resume, encode, evaluate, decompose, traverse, report, compare, explore),
        *(study, zoo, doctor, export, recipes, presets, metrics, data),
    )
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; bad input gives a message of one sentence and exit code 2."""
    warnings.showwarning = lambda message, *_, **__: _say(f"distaff: {message}")
    sys.path.insert(0, "")  # so that module:function finds a user's own file in the working directory
    try:
        try:
            with speaking_in_flags():
                _do(*((sys.argv[1:] if arguments is None else arguments) or ["--help"]))
        finally:
            sys.stdout.flush()  # here, where a BrokenPipeError is handled
    except BrokenPipeError:
        # Exit like a program whose reader has left, as in distaff recipes | head; discard what is unwritten.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(READER_LEFT)
    except (DistaffError, OSError) as error:
        _say(f"distaff: {of_system(error) if isinstance(error, OSError) else error}")
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt as stop:
        _say(f"distaff: {str(stop) or 'interrupted'}")
        sys.exit(128 + getattr(stop, "signal_number", 2))


def _do(name: str, *rest: str) -> None:
    if name in ("-h", "--help"):
        commands = (f"  {name:11}{inspect.getdoc(command)}" for name, command in COMMANDS.items())
        title = f"distaff {__version__}: train, measure and explore disentangled representations."
        usage = "usage: distaff COMMAND [flags]; distaff COMMAND --help says more."
        print(title, "", usage, "", *commands, sep="\n")
    elif name == "--version":
        print(f"distaff {__version__}")
    elif name in COMMANDS:
        COMMANDS[name](rest)
    else:
        raise unknown("command", name, COMMANDS)


def _flags(command: str, arguments: Sequence[str], *of: Callable[..., Any], **how: Any) -> dict[str, Any]:
    """The flags after a command, as keyword arguments of the functions ``of``; see ``parse_flags``."""
    from distaff.foundation.flags import parse_flags

    how = {"topics": {"flags": (), "data": DATA, "output": OUTPUT}} | how
    return parse_flags(f"distaff {command}", arguments, *of, **how)


def _of_run(command: str, arguments: Sequence[str], function: Callable[..., Any], **how: Any) -> Any:
    """Call a function of a run folder with the given flags; code that the folder names must be trusted."""
    from distaff.foundation.trust import trusted_modules, trusting

    call = _flags(command, arguments, function, trusted_modules, **how)
    trust = call.pop("trust")
    with trusting(trust) if trust else nullcontext():
        return function(**call)


def _several(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The runs before the first flag, and the other arguments."""
    runs = list(itertools.takewhile(lambda argument: not argument.startswith("-"), arguments))
    return runs, list(arguments[len(runs) :])


def _of_preset(recipe: str, arguments: Sequence[str]) -> dict[str, Any]:
    """The settings of the preset among a recipe's flags, if any: the defaults of the other flags."""
    from distaff.foundation.flags import typed
    from distaff.runs.presets import find_preset

    preset, data, steps = (typed(flag, arguments) for flag in ("--preset", "--data", "--steps"))
    if preset is None:
        return {}
    given = {"steps": int(steps)} if steps is not None and steps.isdecimal() and len(steps) < 19 else {}
    return find_preset(preset).fill(given, recipe, data or "dsprites")


def _say(message: str) -> None:
    if os.environ.get("LOCAL_RANK", "0") == "0":
        print(message, file=sys.stderr)


if __name__ == "__main__":
    main()
