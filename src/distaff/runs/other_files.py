"""Files that a run reads beside its data set: a run that is resumed notices if their content has changed."""

from dataclasses import replace
from pathlib import Path

from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import ending, sha256
from distaff.runs.config import RunConfig
from distaff.runs.sections import TrainingSettings, held_out_share
from distaff.runs.starting import starting_weights

START = "start"


def with_other_files(config: RunConfig, held_out: Dataset | None, begun: bool = False) -> RunConfig:
    """The run, with the fingerprints of its file of pairs, of its starting weights, and of held-out data.

    Args:
        config: the run; fingerprints in it must be those of the files now. Runs of former versions have none.
        held_out: what the run holds out, if anything.
        begun: whether the run has a checkpoint, and so needs no starting weights any more.
    """
    known_before = config.data.others or {}
    found = _fingerprints(config.training, held_out)
    if begun and START in known_before:
        found[START] = known_before[START]
    elif config.training.start is not None:
        found[START] = sha256(starting_weights(str(config.training.start)))
    for name, known in known_before.items():
        if name in found and found[name] != known:
            raise DistaffError(
                f"{getattr(config.training, name)} is not what the run was begun with: its content has "
                "changed; restore it."
            )
    return replace(config, data=replace(config.data, others=found or None))


def _fingerprints(training: TrainingSettings, held_out: Dataset | None) -> dict[str, str]:
    found, pairs = {}, Path(training.pairs or "")
    if ending(pairs) == ".npy" and pairs.is_file():  # whoever reads an absent file says so
        found["pairs"] = sha256(pairs)
    if held_out is not None and held_out_share(training.hold_out) is None:
        found["hold_out"] = held_out.fingerprint
    return found
