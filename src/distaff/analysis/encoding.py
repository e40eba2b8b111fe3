"""One pass of a model over a data set or a sample: codes and the two parts of the ELBO, kept in the run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from distaff.codes import Codes, FloatArray
from distaff.data.dataset import Dataset
from distaff.data.images import IntArray
from distaff.data.splits import some_rows
from distaff.foundation.errors import DistaffError, kept_if_allowed, warn
from distaff.foundation.files import atomic_file, regular
from distaff.foundation.progress import Progress
from distaff.models.latents import LatentSpace, code_tensors, codes_from
from distaff.models.representation import Representation, joined
from distaff.runs.checkpoints import Damaged, check_manifest, find, write_manifest
from distaff.runs.folder import RunFolder, TrainedRun
from distaff.runs.pictures import typical

SAMPLE = 100_000
"""Default number of observations on which a run is scored."""
KEPT_SAMPLE = ("observations", "seed")
"""Metadata in the file of codes of a sample; a file of the whole data set has neither."""


@dataclass(frozen=True)
class Encoded:
    """One pass over a data set: its codes, and for a VAE the two parts of each observation's ELBO.

    Args:
        codes: q(z|x) of N observations.
        nll: (N,) −log p(x|z) at one sample of q(z|x).
        kl: (N,) KL(q(z|x) ‖ p(z)).
        kl_dims: (N, latents) KL(q(z_d|x) ‖ p(z_d)) of each latent, in the order of ``codes.names``.
        deviations: (D,) standard deviations of the real latents' default priors; 1 by default.
        rows: (N,) numbers of the observations in the data set, if they are a sample; None if they are all.
    """

    codes: Codes
    nll: FloatArray | None = None
    kl: FloatArray | None = None
    kl_dims: FloatArray | None = None
    deviations: tuple[float, ...] = ()
    rows: IntArray | None = None

    @property
    def typical(self) -> int:
        """The number of a typical observation in the data set, see ``runs.pictures.typical``."""
        place = typical(self.codes)
        return place if self.rows is None else int(self.rows[place])

    @property
    def kl_per_latent(self) -> FloatArray | None:
        """(latents,) the mean KL of each latent over the data, if there is a likelihood."""
        return None if self.kl_dims is None else np.asarray(self.kl_dims.mean(0, dtype=np.float64))

    @property
    def standard_codes(self) -> Codes:
        """The codes with real latents divided by their prior's deviation, for metrics that assume N(0, 1)."""
        scale = np.array(self.deviations or 1.0, self.codes.means.dtype)
        if self.codes.logvars is None or (scale == 1).all():
            return self.codes
        return replace(
            self.codes, means=self.codes.means / scale, logvars=self.codes.logvars - 2 * np.log(scale)
        )


def sample_size(observations: int | str) -> int | None:
    """The number of observations from a flag: 2 or more, or None for ``all``."""
    if observations == "all":
        return None
    try:
        count = int(observations)
    except ValueError:
        count = 0
    if count < 2:
        raise DistaffError(f"--observations is how many to take, 2 or more, or all, not {observations!r}.")
    return count


def encode_run(
    run: TrainedRun, data: Dataset, progress: bool = True, observations: int | None = None, seed: int = 0
) -> Encoded:
    """Encode a run's data set or a sample of it, or read the codes that an earlier call wrote.

    Args:
        run: the run.
        data: the run's whole data set.
        progress: show a progress bar.
        observations: number of observations, chosen at random by ``distaff.data.some_rows``; all if None or
            if there are no more.
        seed: seed of that choice.
    """
    sampled = observations is not None and observations < len(data)
    sample = {"observations": str(observations), "seed": str(seed)} if sampled else {}
    known = already_encoded(run, data.fingerprint, sample)
    if known is not None:
        return known
    folder, rows = run.folder, _rows(len(data), sample)
    arrays = _arrays(run.model, data if rows is None else data.subset(rows), progress)
    with kept_if_allowed(folder.codes):
        with atomic_file(folder.codes) as temporary:
            contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
            save_file(contiguous, temporary, {**_key(run.step, data.fingerprint), **sample})
        write_manifest(folder.codes_manifest, [folder.codes], step=run.step)
    return _encoded(arrays, run.config.model.latents, rows)


def any_codes(run: TrainedRun, data: Dataset, progress: bool = True) -> Encoded:
    """The kept codes of a run's checkpoint, of any sample; if there are none, encode a default sample."""
    known = already_encoded(run, data.fingerprint)
    return encode_run(run, data, progress, SAMPLE) if known is None else known


def already_encoded(
    run: TrainedRun, fingerprint: str, sample: Mapping[str, str] | None = None
) -> Encoded | None:
    """The codes that an earlier call wrote for the same checkpoint, if any.

    ``sample`` holds the ``observations`` and ``seed`` that are asked for: empty for the whole data set, None
    for any sample.
    """
    try:
        with safe_open(regular(run.folder.codes), "numpy") as file:
            metadata = file.metadata() or {}
            kept = {name: metadata[name] for name in KEPT_SAMPLE if metadata.get(name, "").isdecimal()}
            if metadata != {**_key(run.step, fingerprint), **kept} or sample not in (None, kept):
                return None
            arrays = _checked_arrays(run.folder, file)
    except (OSError, SafetensorError):
        return None
    if arrays is None:
        return None
    return _encoded(arrays, run.config.model.latents, _rows(run.config.data.size, kept))


def kept_codes(folder: RunFolder, step: int, rows: int) -> Codes | None:
    """The kept codes for the weights after a step, of ``rows`` observations drawn with seed 0."""
    try:
        with safe_open(regular(folder.codes), "numpy") as file:
            key = file.metadata() or {}
            ours = key.get("step") == str(step) and key.get("seed", "0") == "0"
            if not ours or file.get_slice("means").get_shape()[0] != rows:
                return None
            arrays = _checked_arrays(folder, file)
    except (OSError, SafetensorError):
        return None
    return None if arrays is None else codes_from(arrays)


def _checked_arrays(folder: RunFolder, file: Any) -> dict[str, FloatArray] | None:
    """The arrays of an open file of codes; None, with a warning, if they are damaged."""
    try:
        if folder.codes_manifest.exists():
            check_manifest(folder.codes_manifest, [folder.codes])
    except Damaged as damaged:
        warn(f"the codes in {folder.path} are damaged ({damaged}): encoding again")
        return None
    arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    whole = {"means", "logvars"} <= arrays.keys() and len({len(a) for a in arrays.values() if a.ndim}) == 1
    return arrays if whole else None


def encode(model: Representation, data: Dataset, progress: bool = True) -> Encoded:
    """Encode every observation of a data set, in blocks."""
    return _encoded(_arrays(model, data, progress), model.model.latents)


def _arrays(model: Representation, data: Dataset, progress: bool) -> dict[str, FloatArray]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if not progress:
            return joined(_pass(model, data), len(data))
        with Progress("encoding", len(data)) as bar:
            return joined(_pass(model, data), len(data), lambda done: bar.update({"step": done}))


def _rows(size: int, sample: Mapping[str, str]) -> IntArray | None:
    return some_rows(size, int(sample["observations"]), int(sample["seed"])) if sample else None


def _encoded(arrays: Mapping[str, FloatArray], latents: LatentSpace, rows: IntArray | None = None) -> Encoded:
    nll, kl, kl_dims = (arrays.get(name) for name in ("nll", "kl", "kl_dims"))
    return Encoded(codes_from(arrays), nll, kl, kl_dims, latents.deviations, rows)


def _key(step: int, fingerprint: str) -> dict[str, str]:
    return {"step": str(step), "data": fingerprint}


def trained_steps(folder: RunFolder) -> int:
    """The step of the run's trained model: of the best checkpoint if kept, else of the newest good one."""
    return find(folder.trained, warn)[1].step


@torch.inference_mode()
def _pass(model: Representation, data: Dataset) -> Iterator[dict[str, FloatArray]]:
    for x in model.batches(data):
        posterior, measured = model.model.measure(x)
        block = {**code_tensors(posterior), **measured}
        yield {name: values.cpu().numpy() for name, values in block.items()}
