"""Models that come with distaff: hub folders, selected as ``zoo:NAME``.

Beside the weights and ``config.json``, such a folder holds ``zoo.json``, an ``Origin``; ``examples.npz``,
some observations, so that a model can be explored without its data set; and its log and scores.
"""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from distaff._version import __version__
from distaff.data.arrays import load as load_arrays
from distaff.data.dataset import Dataset
from distaff.foundation.binding import bind
from distaff.foundation.errors import DistaffError, unknown, warn
from distaff.foundation.files import atomic_file, atomic_folder, sha256, write_json
from distaff.foundation.places import cache_folder
from distaff.foundation.untrusted_files import read_json
from distaff.runs import hub
from distaff.runs.checkpoints import MANIFEST, Damaged, check_manifest, write_manifest
from distaff.runs.config import RunConfig
from distaff.runs.differences import differences
from distaff.runs.folder import RunFolder
from distaff.runs.sections import ZOO, TrainingSettings

PREFIX = ZOO
SHELF = Path(__file__).parents[1] / "zoo" / "models"
FIRST = "factor_vae-dsprites"
"""The first model in the list, which is opened by default."""
ORIGIN, EXAMPLES = "zoo.json", "examples.npz"
LOG = "log.jsonl"
KEPT = ("scores.json", "names.json")
"""Files that commands change; a run folder begins with the model's, if there are any."""


@dataclass(frozen=True)
class Origin:
    """The origin of a model of the zoo.

    Args:
        spec: name of the data set that it was trained on.
        options: options of the data set's ``load``.
        by: score by which it was chosen.
        chosen: ``median`` or ``best``.
        scores: seed → that score, for every seed of its setting.
        study: study that it comes from; empty if none.
        claims: each claim of that study with its verdict.
        half: whether the weights were rounded to half precision.
        before: settings of the chosen run and of those that followed it, except the last, if it was trained
            further; each began with the weights of the one before.
    """

    spec: str
    options: Mapping[str, Any]
    by: str
    chosen: str
    scores: Mapping[str, float]
    study: str = ""
    claims: Sequence[Mapping[str, str]] = ()
    half: bool = False
    before: Sequence[Mapping[str, Any]] = ()

    @property
    def rule(self) -> str:
        """The rule by which it was chosen."""
        count = len(self.scores)
        return f"the {self.chosen} of {count} seeds by {self.by}" if count > 1 else "the run of a single seed"

    @property
    def history(self) -> str:
        """How it was chosen, and whether it was trained further."""
        return f"{self.rule}, then trained further" if self.before else self.rule

    @property
    def runs_before(self) -> list[RunConfig]:
        """The chosen run and those that followed it, except the last, if it was trained further."""
        return [hub.from_shared(sections, __version__) for sections in self.before]

    def with_data(self, config: RunConfig) -> RunConfig:
        """A run with the data set, of which shared settings have no more than the name."""
        return replace(config, data=replace(config.data, spec=self.spec, options=dict(self.options)))

    def write(self, folder: Path) -> None:
        """Write ``zoo.json`` into a model's folder."""
        write_json(folder / ORIGIN, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> "Origin":
        """The content of a folder's ``zoo.json``."""
        file = folder / ORIGIN
        try:
            content = read_json(file)
            if not isinstance(content, Mapping):
                raise DistaffError(f"{file} is not a mapping.")
            return cls(**bind(cls, content))
        except (OSError, DistaffError) as error:
            raise DistaffError(f"{file} cannot be read: install distaff again.") from error


def zoo_names() -> tuple[str, ...]:
    """The models of this installation, ``FIRST`` first and the others in alphabetical order."""
    found = [path.name for path in SHELF.glob("*") if (path / hub.CONFIG).is_file()]
    return tuple(sorted(found, key=lambda name: (name != FIRST, name)))


def zoo_folder(place: str | Path) -> Path:
    """The hub folder of ``zoo:NAME``."""
    name = str(place).removeprefix(PREFIX)
    if not zoo_names():
        raise DistaffError(f"there is no {place}: this installation of distaff came without models.")
    if name not in zoo_names():
        raise unknown("model of the zoo", name, zoo_names())
    return SHELF / name


def seeds_of(config: RunConfig) -> Origin | None:
    """The origin of a zoo model whose run differs from this one at most in the seed, if there is one."""
    for name in zoo_names():
        origin = Origin.read(SHELF / name)
        chosen = [origin.with_data(run) for run in origin.runs_before]
        if _but_seed(config) == _but_seed((chosen or [model_config(SHELF / name)[0]])[0]):
            return origin
    return None


def _but_seed(config: RunConfig) -> tuple[Any, ...]:
    """A run's settings, except the seed and those that do not affect the result."""
    unsaid = TrainingSettings()
    aside = {name: getattr(unsaid, name) for name in ("seed", "log_every", "checkpoint_every", "snapshots")}
    told = (config.data.spec, dict(config.data.options))
    return told, config.recipe.with_defaults(), config.model, replace(config.training, **aside)


def cached_folder(place: str | Path) -> RunFolder:
    """A run folder of ``zoo:NAME`` in the cache, made on first use.

    Files of it that have been damaged or deleted are written anew; scores, names and codes in it are kept.
    """
    source = zoo_folder(place)
    hashes = {file.name: sha256(file) for file in sorted(source.iterdir()) if file.is_file()}
    folder = RunFolder(cache_folder() / "zoo" / f"{source.name}-{_digest(hashes)}")
    if _damaged(folder, source, hashes):
        folder.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.path.with_name(f".{folder.path.name}.lock")):
            if not folder.path.exists():
                copy_model(source, folder.path, examples=True)
            elif damaged := _damaged(
                folder, source, hashes
            ):  # unless another process has been here meanwhile
                _mend(folder, source)
                warn(f"{folder.path} was damaged ({', '.join(damaged)}): these files are written anew")
    return folder


def copy_model(source: Path, target: Path, examples: bool = False) -> None:
    """Make a run folder from a model; its checkpoint has the weights but no optimiser states.

    With ``examples``, the model's examples come along, which replace the data set in ``explore``.
    """
    with atomic_folder(target) as new:
        _write_run(RunFolder(new), source)
        for name in (*KEPT, LOG, *([EXAMPLES] if examples else [])):
            if (source / name).is_file():
                shutil.copyfile(source / name, new / name)


def _write_run(folder: RunFolder, source: Path) -> None:
    """Write a model's ``run.yaml`` and checkpoint; each file takes the place of a former one at once."""
    config, step, digest = model_config(source)
    if sha256(source / hub.WEIGHTS) != digest:
        raise DistaffError(f"{source / hub.WEIGHTS} is damaged: install distaff again.")
    folder.write(config)
    checkpoint = _checkpoint(folder, step)
    _copy(source / hub.WEIGHTS, checkpoint / hub.WEIGHTS)
    write_manifest(checkpoint / MANIFEST, [checkpoint / hub.WEIGHTS], step=step, seconds=0.0)


def _mend(folder: RunFolder, source: Path) -> None:
    """Write files of a cached folder anew in place; what commands may have changed is copied if absent."""
    _write_run(folder, source)
    for name in (LOG, EXAMPLES, *KEPT):
        if (source / name).is_file() and not (name in KEPT and (folder.path / name).exists()):
            _copy(source / name, folder.path / name)


def _damaged(folder: RunFolder, source: Path, hashes: Mapping[str, str]) -> list[str]:
    """The files of a cached folder that are absent or not as they were written."""
    config, step, _ = model_config(source)
    damaged = []
    try:
        if differences(folder.read(), config):
            damaged.append(folder.config.name)
    except DistaffError:
        damaged.append(folder.config.name)
    checkpoint = _checkpoint(folder, step)
    try:
        manifest = check_manifest(checkpoint / MANIFEST, [checkpoint / hub.WEIGHTS])
        if (manifest.step, manifest.sha256[hub.WEIGHTS]) != (step, hashes[hub.WEIGHTS]):
            damaged.append(MANIFEST)
    except Damaged as problem:
        damaged.append(str(problem))
    return damaged + [name for name in (LOG, EXAMPLES) if hashes.get(name) != _hash(folder.path / name)]


def _checkpoint(folder: RunFolder, step: int) -> Path:
    return folder.checkpoints / f"step-{step:09d}"


def _copy(source: Path, target: Path) -> None:
    with atomic_file(target) as temporary:
        shutil.copyfile(source, temporary)


def _hash(file: Path) -> str | None:
    """A file's SHA-256; None if there is no such file."""
    return sha256(file) if file.is_file() else None


def begin_from(place: str | Path, out: str | Path | None, steps: int | None) -> RunFolder:
    """A run folder that starts from a model of the zoo; if an earlier call made it, that one is returned."""
    source = zoo_folder(place)
    config, step, _ = model_config(source)
    if out is None:
        raise DistaffError(f"{place} is not trained in place: name a run folder, as in --out runs/mine.")
    if steps is None or steps <= step:
        raise DistaffError(f"{place} has had {step:,} steps: give a larger total number of steps.")
    target = RunFolder(Path(out))
    if not target.config.exists():
        if target.path.exists() and any(target.path.iterdir()):
            raise DistaffError(f"{target.path} holds files that are not a run: choose another folder.")
        copy_model(source, target.path)
    held = target.read()
    begun = replace(config, training=replace(config.training, steps=held.training.steps))
    if differing := differences(held, begun):
        raise DistaffError(
            f"{target.path} holds another run ({'; '.join(differing)}): choose another folder."
        )
    return target


def model_config(source: Path) -> tuple[RunConfig, int, str]:
    """The run of a model of the zoo, with its data set; its step; and the hash of its weights."""
    config, step, digest = hub.read_config(source / hub.CONFIG)
    return Origin.read(source).with_data(config), step, digest


def examples_of(folder: RunFolder) -> Dataset | None:
    """The observations that come with a model; None for other runs."""
    file = folder.path / EXAMPLES
    return replace(load_arrays(file), name=folder.read().data.name) if file.is_file() else None


def _digest(hashes: Mapping[str, str]) -> str:
    """The hash of a model's folder: another version of the model is another run."""
    lines = (f"{name} {digest}\n" for name, digest in hashes.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]
