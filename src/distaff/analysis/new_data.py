"""Encode new data with a trained model, into files that other programs read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd

from distaff.analysis.evaluate import varied_factors
from distaff.codes import Codes
from distaff.data.dataset import Dataset
from distaff.data.pictures import Fit
from distaff.foundation.errors import DistaffError, spoken_to_its_caller
from distaff.foundation.files import atomic_file
from distaff.foundation.progress import Progress
from distaff.foundation.text import told_options
from distaff.metrics.codes_file import write_codes
from distaff.metrics.row_names import FACTOR, ROWS
from distaff.runs.folder import RunFolder, run_folder
from distaff.runs.load import load, open_data

FORMATS = (".npz", ".csv", ".parquet", ".h5ad")


@spoken_to_its_caller
def encode_data(
    run: str | Path,
    *,
    data: str | Path | None = None,
    out: str | Path = "codes.npz",
    fit: Fit | None = None,
    skip_bad: bool = False,
    data_options: str | None = None,
    progress: bool = True,
) -> Path:
    """Encode data with a trained model, prepared in the same way as the run's own, and write codes to a file.

    Args:
        run: the run folder, or zoo:NAME.
        data: folder, archive, photograph, table or file of arrays; by default the run's own data.
        out: file for the codes: .npz holds means, log-variances, classes and factors, as read by distaff
            evaluate; .csv and .parquet hold one row per observation; .h5ad is for scanpy.
        fit: how images of another size are brought to the model's: crop, pad or squash; by default as in
            training.
        skip_bad: leave out images that do not decode, instead of stopping at the first.
        data_options: further options of the data's reader, such as labels=new.csv.
        progress: show a progress bar.

    Returns:
        The path of the file.
    """
    path = Path(out)
    if path.suffix not in FORMATS:
        raise DistaffError(f"codes go to a file that ends in {', '.join(FORMATS)}, not to {path}.")
    folder = run_folder(run)
    dataset = new_data(folder, data, fit, skip_bad, data_options)
    model = load(folder.path)
    with Progress("encoding", len(dataset), visible=progress) as bar:
        codes = model.encode(dataset.images, lambda done: bar.update({"step": done}))
    if path.suffix == ".npz":
        write_codes(path, codes, varied_factors(dataset))
        return path
    titles = _column_names(codes.names, model.titles)
    table = codes_table(codes, dataset, titles)
    with atomic_file(path) as temporary:
        if path.suffix == ".csv":
            table.to_csv(temporary)
        elif path.suffix == ".parquet":
            table.to_parquet(temporary)
        else:
            _write_h5ad(temporary, codes, table, titles)
    return path


def _column_names(latents: Sequence[str], titles: Mapping[str, str]) -> list[str]:
    """Users' names for the latents; a name that several latents have is followed by the latent's own.

    >>> _column_names(["z0", "z1", "z2"], {"z0": "size", "z2": "size"})
    ['size z0', 'z1', 'size z2']
    """
    names = [titles.get(latent, latent) for latent in latents]
    return [
        name if names.count(name) == 1 else f"{name} {latent}"
        for name, latent in zip(names, latents, strict=True)
    ]


def new_data(
    folder: RunFolder,
    data: str | Path | None,
    fit: Fit | None = None,
    skip_bad: bool = False,
    data_options: str | None = None,
) -> Dataset:
    """Data for a run's model, prepared in the same way as its own; by default its own data."""
    if data is None:
        if fit is not None or skip_bad or data_options is not None:
            raise DistaffError(
                "--fit, --skip-bad and --data-options are for new data: name those with --data."
            )
        return open_data(folder)
    return folder.read().data.bring_in(data, **told_options(data_options, fit=fit, skip_bad=skip_bad))


def codes_table(codes: Codes, data: Dataset, titles: list[str] | None = None) -> pd.DataFrame:
    """One row per observation: its latents, the probabilities of its classes, then its factors."""
    names = titles or list(codes.names)
    columns = dict(zip(names, codes.means.T, strict=False))
    for name, probabilities in zip(names[codes.means.shape[1] :], codes.categories.values(), strict=True):
        columns |= {f"{name}_{place}": column for place, column in enumerate(probabilities.T)}
    columns |= {FACTOR.format(name) if name in columns else name: data.labels(name) for name in data.names}
    index = data.row_names if data.row_names is not None else np.arange(len(data))
    return pd.DataFrame(columns, index=pd.Index(index, name=ROWS))


def _write_h5ad(path: Path, codes: Codes, table: pd.DataFrame, titles: list[str]) -> None:
    """Write AnnData's on-disk format, version 0.1.0: X holds the means, obs the rest of the table."""
    latents = titles[: codes.means.shape[1]]
    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        matrix = file.create_dataset("X", data=np.ascontiguousarray(codes.means))
        matrix.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        _write_frame(file, "obs", table.drop(columns=latents))
        _write_frame(file, "var", pd.DataFrame(index=pd.Index(latents)))


def _write_frame(file: h5py.File, name: str, frame: pd.DataFrame) -> None:
    group = file.create_group(name)
    told = {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"}
    group.attrs.update(told)
    group.attrs.create("column-order", list(frame.columns), dtype=h5py.string_dtype())
    rows = group.create_dataset("_index", data=list(map(str, frame.index)), dtype=h5py.string_dtype())
    rows.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
    for heading in frame.columns:
        _write_column(group, str(heading), frame[heading])


def _write_column(group: h5py.Group, heading: str, values: "pd.Series[Any]") -> None:
    """Write numbers unchanged, and texts as a categorical column, where missing values have the code −1."""
    if pd.api.types.is_numeric_dtype(values):
        column = group.create_dataset(heading, data=values.to_numpy())
        column.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        return
    classes, part = pd.Categorical(values), group.create_group(heading)
    part.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False})
    codes = part.create_dataset("codes", data=classes.codes)
    codes.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    texts = list(map(str, classes.categories))
    categories = part.create_dataset("categories", data=texts, dtype=h5py.string_dtype())
    categories.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
