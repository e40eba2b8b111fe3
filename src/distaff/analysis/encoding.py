"""One pass of a model over a data set: codes, and for a VAE the two halves of the ELBO; kept in the run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from distaff.codes import Codes, FloatArray
from distaff.data.dataset import Dataset
from distaff.foundation.files import atomic_file
from distaff.foundation.progress import Progress
from distaff.models.coding import code_tensors, codes_from, joined
from distaff.models.latents import LatentSpace
from distaff.models.representation import Representation
from distaff.runs.checkpoints import find
from distaff.runs.folder import RunFolder, warn
from distaff.runs.load import load


@dataclass(frozen=True)
class Encoded:
    """One pass over a data set: its codes, and for a VAE the two halves of the ELBO per observation.

    Args:
        codes: q(z|x) of all N observations.
        nll: (N,) −log p(x|z) at one sample of q(z|x).
        kl: (N,) KL(q(z|x) ‖ p(z)).
        kl_dims: (N, latents) KL(q(z_d|x) ‖ p(z_d)) of each latent, in the order of ``codes.names``.
        deviations: (D,) of the real latents' usual priors; 1 by default.
    """

    codes: Codes
    nll: FloatArray | None = None
    kl: FloatArray | None = None
    kl_dims: FloatArray | None = None
    deviations: tuple[float, ...] = ()

    @property
    def kl_per_latent(self) -> FloatArray | None:
        """(latents,) the mean of each over the data, if there is a likelihood."""
        return None if self.kl_dims is None else np.asarray(self.kl_dims.mean(0, dtype=np.float64))

    @property
    def standard_codes(self) -> Codes:
        """The codes with real latents over their prior's deviation, as metrics that know N(0, 1) expect."""
        scale = np.array(self.deviations or 1.0, self.codes.means.dtype)
        if self.codes.logvars is None or (scale == 1).all():
            return self.codes
        return replace(
            self.codes, means=self.codes.means / scale, logvars=self.codes.logvars - 2 * np.log(scale)
        )


def encode_run(folder: RunFolder, data: Dataset, progress: bool = True) -> Encoded:
    """Encode a run's data set, or read what an earlier call left for the same checkpoint."""
    known = already_encoded(folder, data.fingerprint)
    if known is not None:
        return known
    model = load(folder.path)
    arrays = _arrays(model, data, progress)
    with atomic_file(folder.codes) as temporary:
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(contiguous, temporary, _key(folder, data.fingerprint))
    return _encoded(arrays, model.model.latents)


def already_encoded(folder: RunFolder, fingerprint: str) -> Encoded | None:
    """What an earlier call left for the same checkpoint and the data of this fingerprint, if anything."""
    arrays = _read_cache(folder.codes, _key(folder, fingerprint))
    return None if arrays is None else _encoded(arrays, folder.read().model.latents)


def encode(model: Representation, data: Dataset, progress: bool = True) -> Encoded:
    """Run every observation through the model once, in blocks."""
    return _encoded(_arrays(model, data, progress), model.model.latents)


def _arrays(model: Representation, data: Dataset, progress: bool) -> dict[str, FloatArray]:
    with Progress("encoding", len(data), visible=progress) as bar, torch.random.fork_rng():
        torch.manual_seed(0)
        return joined(_pass(model, data), len(data), lambda done: bar.update({"step": done}))


def _encoded(arrays: Mapping[str, FloatArray], latents: LatentSpace) -> Encoded:
    nll, kl, kl_dims = (arrays.get(name) for name in ("nll", "kl", "kl_dims"))
    return Encoded(codes_from(arrays), nll, kl, kl_dims, latents.deviations)


def _key(folder: RunFolder, fingerprint: str) -> dict[str, str]:
    return {"step": str(trained_steps(folder)), "data": fingerprint}


def trained_steps(folder: RunFolder) -> int:
    """The step of the run's newest good checkpoint."""
    return find(folder.checkpoints, warn)[1].step


def _read_cache(path: Path, key: Mapping[str, str]) -> dict[str, FloatArray] | None:
    """The arrays that an earlier call left for the same key; None if there are none, or they are damaged."""
    try:
        with safe_open(path, "numpy") as file:
            names = file.keys()
            return {name: file.get_tensor(name) for name in names} if file.metadata() == key else None
    except (FileNotFoundError, SafetensorError):
        return None


@torch.inference_mode()
def _pass(model: Representation, data: Dataset) -> Iterator[dict[str, FloatArray]]:
    for x in model.batches(data.images):
        posterior, measured = model.model.measure(x)
        block = {**code_tensors(posterior), **measured}
        yield {name: values.cpu().numpy() for name, values in block.items()}
