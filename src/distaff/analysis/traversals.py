"""A figure of a run's latent traversals."""

from pathlib import Path

from distaff import figures
from distaff.analysis.encoding import any_codes, encode
from distaff.foundation.errors import DistaffError
from distaff.runs.folder import TrainedRun, run_folder
from distaff.runs.latent_names import read_names
from distaff.runs.pictures import traversals
from distaff.runs.sections import AtLeastOne, FromZero
from distaff.runs.zoo import examples_of


def traverse_run(
    run: str | Path,
    *,
    out: str | Path | None = None,
    index: FromZero | None = None,
    latents: AtLeastOne | None = None,
) -> Path:
    """Draw a run's latent traversals; for a VAE sorted by KL, most informative first.

    Args:
        run: the run folder, or zoo:NAME.
        out: file of the figure, .png, .pdf or .svg; by default figures/traversals.png in the run folder.
        index: number of the observation to start from (for models of the zoo, one of their examples); by
            default a typical one, whose code is near the mean of all.
        latents: largest number of rows; by default all.
    """
    folder = run_folder(run)
    trained, examples = TrainedRun.open(folder), examples_of(folder)
    data = trained.config.data.reopen() if examples is None else examples
    if index is not None and not 0 <= index < len(data):
        raise DistaffError(
            f"there is no observation {index} of {data.name}: --index runs from 0 to {len(data) - 1}."
        )
    path = Path(out) if out is not None else folder.figures / "traversals.png"
    encoded = (
        any_codes(trained, data) if examples is None else encode(trained.model, examples, progress=False)
    )
    start = encoded.typical if index is None else index
    figure = traversals(trained.model, data, encoded.kl_per_latent, start, latents, read_names(folder))
    return figures.save(figure, path)
