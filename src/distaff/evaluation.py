"""What a run has learnt: its codes over the whole data set, its scores, its traversals."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from distaff import figures
from distaff.codes import Codes, FloatArray
from distaff.data.dataset import Dataset
from distaff.errors import DistaffError
from distaff.files import atomic_file
from distaff.metrics import Factors, Score, as_factors
from distaff.metrics.codes_file import evaluate_file
from distaff.metrics.evaluation import Evaluation, evaluate_scores
from distaff.metrics.scores_file import ELBO, Scores, Setup
from distaff.models.coding import code_tensors, codes_from, joined
from distaff.models.latents import LatentSpace
from distaff.models.representation import Representation
from distaff.runs.checkpoints import find
from distaff.runs.folder import RunFolder, warn
from distaff.runs.latent_names import read_names, titled
from distaff.runs.load import load, open_data
from distaff.training.progress import Progress

AUTOMATIC = "factor_vae_score"
"""What a run is scored by when nothing else is asked for."""


@dataclass(frozen=True)
class Encoded:
    """One pass over a data set: its codes, and for a VAE the two halves of the ELBO an observation.

    Args:
        codes: q(z|x) of all N observations.
        nll: (N,) −log p(x|z) at one sample of q(z|x).
        kl: (N,) KL(q(z|x) ‖ p(z)).
        kl_dims: (N, latents) KL(q(z_d|x) ‖ p(z_d)) of each latent, in the order of ``codes.names``.
        deviations: (D,) of the real latents' usual priors; 1 unless told.
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


def evaluate_path(
    path: str | Path,
    *,
    metrics: str = "auto",
    factor_bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    out: str | Path | None = None,
    progress: bool = True,
) -> Evaluation:
    """Score a run over its whole data set, or the codes of a file from any framework.

    Args:
        path: a run folder; an npz file with means, optional logvars and factors; or an npy file of means.
        metrics: default, all, or names such as mig,dci; auto is the FactorVAE score of a run and the default
            table of a file.
        factor_bins: bin real-valued factors into this many classes, for metrics that need classes.
        bootstrap: halves of the rows to score for intervals: 0 for none, 20 for ten times the work.
        seed: of every draw.
        out: where the scores go as JSON; by default scores.json in a run folder.
        progress: show what is going on.
    """
    is_codes = Path(path).suffix.lower() in (".npz", ".npy")
    if Path(path).is_file() and not is_codes:
        raise DistaffError(f"{path} is neither a run folder nor a file of codes: those end in .npz or .npy.")
    if is_codes and not Path(path).is_dir():
        chosen = "default" if metrics == "auto" else metrics
        return evaluate_file(
            path, metrics=chosen, factor_bins=factor_bins, bootstrap=bootstrap, seed=seed, out=out
        )
    return evaluate_run(
        path,
        metrics=metrics,
        factor_bins=factor_bins,
        bootstrap=bootstrap,
        seed=seed,
        out=out,
        progress=progress,
    )


def evaluate_run(
    run: str | Path,
    *,
    metrics: str = "auto",
    factor_bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    out: str | Path | None = None,
    progress: bool = True,
) -> Evaluation:
    """Score a run over its whole data set and write ``scores.json``; arguments as of ``evaluate_path``."""
    folder = RunFolder(Path(run))
    data = open_data(folder)
    began = time.monotonic()
    encoded = encode_run(folder, data, progress)
    evaluation = evaluate_encoded(encoded, data, metrics, factor_bins, bootstrap, seed)
    step = trained_steps(folder)
    known = Scores.read(folder.scores).at(step) if out is None else Scores(step)
    known = known.plus(evaluation, Setup(seed=seed, factor_bins=factor_bins)).spent(time.monotonic() - began)
    known.write(folder.scores if out is None else Path(out))
    return evaluation


def evaluate_encoded(
    encoded: Encoded,
    data: Dataset,
    metrics: str = "auto",
    factor_bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Evaluation:
    """For a VAE reconstruction error and KL over the whole set; then metrics, with the factors that vary."""
    own, auto = elbo(encoded), metrics == "auto"
    found = evaluate_scores(
        encoded.standard_codes,
        varied_factors(data),
        metrics=AUTOMATIC if auto else metrics,
        factor_bins=factor_bins,
        bootstrap=bootstrap,
        seed=seed,
        strict=False if auto else None,
    )
    return Evaluation(own.scores + found.scores, {**own.skipped, **found.skipped})


def elbo(encoded: Encoded) -> Evaluation:
    """Reconstruction error and KL over the whole set: what any VAE has, with or without labels."""
    if encoded.nll is None or encoded.kl is None or encoded.kl_per_latent is None:
        return Evaluation((), {ELBO: "the model has no likelihood."})
    error, kl = (float(values.mean(dtype=np.float64)) for values in (encoded.nll, encoded.kl))
    per_latent = dict(zip(encoded.codes.names, encoded.kl_per_latent.tolist(), strict=True))
    return Evaluation(
        (
            Score("reconstruction_error", error, "−E log p(x|z), nats", "lower", metric=ELBO),
            Score("kl", kl, "E KL(q(z|x) ‖ p(z)), nats", "lower", per_latent=per_latent, metric=ELBO),
        )
    )


def varied_factors(data: Dataset) -> Factors | None:
    """The factors that take more than one value in the data set; the others are named in a warning."""
    if data.factors is None:
        return None
    varied = np.flatnonzero((data.factors != data.factors[0]).any(0))
    constant = [name for k, name in enumerate(data.names) if k not in varied]
    if constant:
        warn(f"left out of the scores, since they never vary here: {', '.join(constant)}")
    names = [data.names[k] for k in varied]
    return as_factors(data.factors[:, varied], names=names) if names else None


def encode_run(folder: RunFolder, data: Dataset, progress: bool = True) -> Encoded:
    """Encode a run's data set, or read what an earlier call left for the same checkpoint."""
    known = already_encoded(folder, data.fingerprint)
    if known is not None:
        return known
    arrays = _arrays(load(folder.path), data, progress)
    with atomic_file(folder.codes) as temporary:
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(contiguous, temporary, _key(folder, data.fingerprint))
    return _encoded(arrays, _latents(folder))


def already_encoded(folder: RunFolder, fingerprint: str) -> Encoded | None:
    """What an earlier call left for the same checkpoint and the data of this fingerprint, if anything."""
    arrays = _read_cache(folder.codes, _key(folder, fingerprint))
    return None if arrays is None else _encoded(arrays, _latents(folder))


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


def _latents(folder: RunFolder) -> LatentSpace:
    return folder.read().model.latents


def _key(folder: RunFolder, fingerprint: str) -> dict[str, str]:
    return {"step": str(trained_steps(folder)), "data": fingerprint}


def trained_steps(folder: RunFolder) -> int:
    """The step of the run's newest good checkpoint."""
    return int(find(folder.checkpoints, warn)[1].get("step", 0))


def traverse_run(
    run: str | Path, *, out: str | Path | None = None, index: int | None = None, latents: int | None = None
) -> Path:
    """Draw a run's latent traversals; those of a VAE by their KL, most informative first.

    Args:
        run: the run folder.
        out: the picture, .png, .pdf or .svg; by default figures/traversals.png in the run folder.
        index: the observation to start from; by default the middle of the data set.
        latents: how many rows, at most; by default all.
    """
    folder = RunFolder(Path(run))
    data = open_data(folder)
    model = load(folder.path)
    path = Path(out) if out is not None else folder.figures / "traversals.png"
    kl = encode_run(folder, data).kl_per_latent
    return figures.save(traversals(model, data, kl, index, latents, read_names(folder)), path)


def traversals(
    model: Representation,
    data: Dataset,
    kl: FloatArray | None,
    index: int | None = None,
    top: int | None = None,
    names: Mapping[str, str] | None = None,
) -> Figure:
    """One row a latent, sorted by KL if there is one, with some originals and reconstructions on top.

    ``names`` are those that people gave to latents.

    A discrete latent's row shows its classes, and what is left of it stays white.
    """
    if len(data.shape) != 3:
        raise DistaffError(f"traversals are drawn of images, and {data.name} holds vectors.")
    start = data.images[len(data) // 2 if index is None else index]
    space = model.model.latents
    variables = space.coded
    steps = max(9, *(variable.classes for variable in variables))
    values = np.linspace(-space.reach, space.reach, steps).tolist()
    some = data.images[np.linspace(0, len(data) - 1, len(values)).astype(np.int64)].numpy()
    titles = titled((variable.name for variable in variables), names or {})
    kinds = [f"{t} ({v.classes} classes)" if v.classes else t for t, v in zip(titles, variables, strict=True)]
    if kl is not None:
        kinds = [f"{kind} · KL {value:.2f}" for kind, value in zip(kinds, kl, strict=True)]
    return figures.traversals(
        drawable(model.traverse(start.numpy(), values=values)),
        kinds,
        values,
        originals=some,
        reconstructions=drawable(model.reconstruct(some)),
        sort_by=kl,
        top=top,
    )


def _read_cache(path: Path, key: Mapping[str, str]) -> dict[str, FloatArray] | None:
    """The arrays that an earlier call left for the same key; None if there are none, or they are damaged."""
    try:
        with safe_open(path, "numpy") as file:
            names = file.keys()
            return {name: file.get_tensor(name) for name in names} if file.metadata() == key else None
    except (FileNotFoundError, SafetensorError):
        return None


def drawable(images: FloatArray) -> FloatArray:
    """Images within [0, 1], where a Gaussian likelihood's means may leave it; white where there is none."""
    return np.nan_to_num(images, nan=1.0).clip(0, 1)


@torch.inference_mode()
def _pass(model: Representation, data: Dataset) -> Iterator[dict[str, FloatArray]]:
    for x in model.batches(data.images):
        posterior, measured = model.model.measure(x)
        block = {**code_tensors(posterior), **measured}
        yield {name: values.cpu().numpy() for name, values in block.items()}
