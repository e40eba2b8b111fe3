"""Codes of a run unmixed by ICA, for ``distaff evaluate RUN --ica``."""

from distaff.analysis.encoding import Encoded
from distaff.foundation.errors import kept_if_allowed
from distaff.models.ica import Unmixing
from distaff.models.ica import ica as ica_of
from distaff.runs.folder import RunFolder


def unmix_run(folder: RunFolder, encoded: Encoded, step: int, seed: int = 0) -> Unmixing:
    """Compute the ICA of a run's codes and save it in the run's folder."""
    found = ica_of(encoded.codes, seed=seed)
    with kept_if_allowed(folder.ica):
        found.write(folder.ica, {"step": str(step), "rows": str(len(encoded.codes)), "seed": str(seed)})
    return found
