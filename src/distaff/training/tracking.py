"""Passes a run's log to trackers, which begin and resume with the run and never stop it."""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

from distaff.foundation.binding import find_function
from distaff.foundation.errors import DistaffError, reason, warn
from distaff.foundation.files import write_json
from distaff.foundation.untrusted_files import read_json
from distaff.runs.config import RunConfig
from distaff.runs.folder import RunFolder
from distaff.runs.settings import names_of_trackers
from distaff.training import trackers
from distaff.training.trackers import TrackedRun, Tracker

NONE = "none"
"""The value of --track that resumes a run without its trackers."""
OURS = (trackers.comet, trackers.mlflow, trackers.wandb)
HIDDEN = ("step", "seconds")


class Tracking:
    """The trackers of one run; a tracker that fails is left out from then on."""

    def __init__(self, found: Mapping[str, Tracker]) -> None:
        self.found = dict(found)

    def log(self, line: Mapping[str, Any]) -> None:
        """Pass on a line of the log: its finite numbers, by name."""
        values = {name: float(value) for name, value in line.items() if name not in HIDDEN}
        values = {name: value for name, value in values.items() if math.isfinite(value)}
        for name, tracker in list(self.found.items()):
            self._try(name, partial(tracker.log, int(line["step"]), values))

    def close(self, finished: bool) -> None:
        """Close all trackers, once."""
        ended, self.found = self.found, {}
        for name, tracker in ended.items():
            self._try(name, partial(tracker.close, finished))

    def _try(self, name: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as problem:  # a lost server or a full disk is no reason to stop training
            self.found.pop(name, None)
            why = reason(problem).rstrip(".")
            warn(f"{name} no longer tracks the run: {why}; the run's own log continues.")


def chosen_trackers(track: str | None, folder: RunFolder | None = None) -> dict[str, Callable[..., Tracker]]:
    """The functions of the trackers in ``track``; by default those of the library that already track the run.

    Missing packages are reported here, before training.
    """
    if track == NONE:
        return {}
    if track is None:
        before = {} if folder is None else _remembered(folder)
        names = [name for name in before if ":" not in name]
    else:
        names = names_of_trackers(track)
    found: dict[str, Callable[..., Tracker]] = {
        name: find_function("tracker", name, {f.__name__: f for f in OURS}) for name in names
    }
    for name, function in found.items():
        _check_call(name, function)
        package = getattr(function, "package", None)
        if package is not None and find_spec(package) is None:
            otherwise = "" if track else ", or leave it out by --track none"
            raise DistaffError(
                f"--track {name} needs a package that is not installed: "
                f"pip install 'distaff[{name}]'{otherwise}."
            )
    return found


def _check_call(name: str, function: Callable[..., Tracker]) -> None:
    """Raise an error if a tracker cannot be called, before anything is written."""
    try:
        inspect.signature(function).bind(None)
    except (TypeError, ValueError) as problem:
        raise DistaffError(
            f"the tracker {name!r} cannot be called with a TrackedRun alone ({problem})."
        ) from problem


@contextmanager
def tracking(
    track: str | None, config: RunConfig, folder: RunFolder | None, resumed: bool
) -> Iterator[Tracking]:
    """The trackers of a run while it trains; their identifiers of the run are kept in its folder.

    Unless the run was ``resumed`` after some steps, it is a new run for trackers too.
    """
    before = {} if folder is None or not resumed else _remembered(folder)
    place = None if folder is None else folder.path
    name = config.title if place is None else place.name
    settings = _flat(config.to_plain())
    found = {}
    for kind, function in chosen_trackers(track, folder).items():
        try:
            found[kind] = function(TrackedRun(name, settings, place, before.get(kind)))
        except DistaffError:
            raise
        except Exception as problem:  # trackers raise errors of their own kinds
            raise DistaffError(f"{kind} cannot track the run: {reason(problem).rstrip('.')}.") from problem
    if folder is not None and found:
        write_json(folder.trackers, {**before, **{kind: one.key for kind, one in found.items()}})
    trackers_of_run = Tracking(found)
    try:
        yield trackers_of_run
    finally:
        trackers_of_run.close(finished=False)  # no effect if the run ended normally and closed them itself


def _remembered(folder: RunFolder) -> dict[str, str]:
    try:
        content = read_json(folder.trackers)
    except FileNotFoundError:
        return {}
    except DistaffError as problem:
        warn(f"{problem} Trackers start new runs.")
        return {}
    return {str(k): str(v) for k, v in content.items()} if isinstance(content, dict) else {}


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        inner = isinstance(value, Mapping) and value
        flat |= _flat(value, f"{prefix}{name}.") if inner else {f"{prefix}{name}": value}
    return flat
