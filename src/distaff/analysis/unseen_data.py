"""Data that a run was not trained on: its held-out part, or other data, prepared like its own."""

from pathlib import Path

from distaff.data.dataset import Dataset
from distaff.data.pictures import Fit
from distaff.foundation.errors import DistaffError
from distaff.foundation.text import told_options
from distaff.runs.load import TrainedRun, open_left_out
from distaff.runs.other_files import with_other_files


def unseen_data(
    run: TrainedRun, data: str | Path | None, fit: Fit | None, data_options: str | None
) -> Dataset:
    """Other data, prepared in the same way as the run's own; the run's held-out data if ``data`` is None."""
    config = run.config
    if data is not None:
        return config.data.bring_in(data, **told_options(data_options, fit=fit))
    if "leave_out" in config.data.options:
        return open_left_out(run.folder)
    kept = config.parts(config.data.reopen())[1]
    with_other_files(config, kept)  # an error if they have changed
    if kept is None:
        raise DistaffError(
            f"{run.folder.path} was trained on all its data: only --hold-out 0.1 and --leave-out keep some "
            "apart."
        )
    return kept
