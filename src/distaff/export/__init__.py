"""Export trained runs for other programs: ONNX, ``torch.export``, and the Hugging Face hub.

Exports ``export_run`` and ``Written``, its description of each file. To add another format of graphs, write
one more ``Format`` in ``formats.py`` and add one argument to ``export_run``.
"""

import tempfile
from pathlib import Path

from distaff.export.formats import ONNX, PROGRAM, Written, write_graphs
from distaff.export.publish import write_hub
from distaff.export.push import open_hub, push_folder
from distaff.foundation.errors import DistaffError
from distaff.runs.folder import TrainedRun, run_folder

__all__ = ["Written", "export_run"]


def __dir__() -> list[str]:
    return __all__


def export_run(
    run: str | Path,
    *,
    onnx: str | Path | None = None,
    torch_export: str | Path | None = None,
    hub: str | Path | None = None,
    push: str | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> list[Written]:
    """Write a run's encoder and decoder for other programs; each file is compared with torch first.

    The encoder takes x and returns mean, logvar and the class probabilities of discrete latents; the decoder
    takes z and returns the mean of p(x|z). Batches may have any size.

    Args:
        run: the run folder, or zoo:NAME.
        onnx: folder for encoder.onnx and decoder.onnx, or m.onnx for m.encoder.onnx and m.decoder.onnx.
        torch_export: the same for programs of torch.export, ending in .pt2.
        hub: folder in the Hugging Face layout: model.safetensors, config.json, README.md, traversals.png.
        push: repository of the Hugging Face hub, USER/NAME, to upload that folder to; created if necessary.
        overwrite: replace existing files.
        progress: show a progress bar if the data set has to be encoded first.
    """
    if onnx is None and torch_export is None and hub is None and push is None:
        raise DistaffError(
            "say what to write: --onnx DIR, --torch-export DIR, --hub DIR or --push USER/NAME."
        )
    client = None if push is None else open_hub(push)  # missing requirements are reported before any work
    trained = TrainedRun.open(run_folder(run))
    written = []
    if onnx is not None:
        written += write_graphs(trained.model, onnx, ONNX, overwrite)
    if torch_export is not None:
        written += write_graphs(trained.model, torch_export, PROGRAM, overwrite)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) if hub is None else Path(hub)
        if hub is not None or client is not None:
            described = write_hub(trained, place, overwrite, progress)
            written += [] if hub is None else [described]
        if push is not None and client is not None:
            written.append(push_folder(client, place, push, f"{trained.config.title}, by distaff"))
    return written
