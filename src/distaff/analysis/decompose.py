"""The ELBO of a trained run, decomposed over its data (HFVAE Fig. 2, 4)."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from distaff.analysis.elbo_parts import Decomposition, standard_error
from distaff.analysis.encoding import SAMPLE, sample_size
from distaff.analysis.whole_set import WholeSet
from distaff.codes import FloatArray
from distaff.data.dataset import Dataset
from distaff.data.splits import some
from distaff.foundation.errors import DistaffError, kept_if_allowed, warn
from distaff.foundation.files import write_json
from distaff.foundation.progress import Progress, watched
from distaff.metrics.inputs import IntArray
from distaff.metrics.options import Count, SampleCount, Seed
from distaff.metrics.sampled import Samples
from distaff.models.groups import Posterior
from distaff.models.latents import LatentSpace, codes_of
from distaff.models.representation import Representation, joined
from distaff.models.vae import VAE
from distaff.objectives.critics import DensityRatio
from distaff.objectives.densities import Density
from distaff.objectives.evidence import evidence_bounds
from distaff.objectives.memory import PosteriorMemory
from distaff.objectives.objective import Objective, Term
from distaff.objectives.step import Step
from distaff.objectives.terms import (
    dimension_kl,
    marginal_kl,
    mutual_information,
    tc_between_groups,
    tc_within_groups,
    total_correlation,
)
from distaff.runs.checkpoints import find, fitting
from distaff.runs.folder import RunFolder, run_folder
from distaff.runs.load import load, open_data
from distaff.training.batches import Batches
from distaff.training.learner import more_images

TERMS: Sequence[Term] = (
    mutual_information,
    marginal_kl,
    total_correlation,
    tc_between_groups,
    tc_within_groups,
    dimension_kl,
)
NO_DENSITY = (
    "without noise in the encoder (σ = 0) q(z|x) and q(z) have no density: their KL divergences from p(z) "
    "and the bound on log p(x) have no value; I(x; z) and total correlations are limits for σ → 0."
)


def decompose_run(
    run: str | Path,
    *,
    observations: int | str = SAMPLE,
    samples: SampleCount = 1024,
    particles: Count = 5000,
    bounded: Count = 16,
    seed: Seed = 0,
    progress: bool = True,
) -> Decomposition:
    """Decompose the ELBO of a run over a random sample of its data set and write ``decomposition.json``.

    Args:
        run: the run folder, or zoo:NAME.
        observations: number of observations of the run's data set, chosen at random, or all; a smaller data
            set is used entirely, which makes the terms of q(z) exact.
        samples: number of z over which the terms of q(z) are averaged, each against all these observations.
        particles: number of particles of the importance-weighted bound on log p(x).
        bounded: number of observations over which that bound's distance from the ELBO is averaged.
        seed: seed of the sample and of every draw.
        progress: show a progress bar.
    """
    count = sample_size(observations)
    folder = run_folder(run)
    config = folder.read()
    objective = config.goal()
    if not isinstance(objective, Objective):
        raise DistaffError(f"{run} is a GAN, which has no ELBO to decompose: only VAEs do.")
    data, trained = open_data(folder), load(folder.path)
    ratios = [w.term for w in objective.terms if isinstance(w.term, DensityRatio)]
    found = decompose(
        trained,
        data,
        density=objective.density,
        batch_size=config.training.batch_size,
        critics=_critics(folder, trained.model.latents, ratios),
        observations=count,
        samples=samples,
        particles=particles,
        bounded=bounded,
        seed=seed,
        progress=progress,
    )
    kept = folder.path / "decomposition.json"
    with kept_if_allowed(kept):
        write_json(kept, asdict(found))
    return found


@torch.no_grad()
def decompose(
    trained: Representation,
    data: Dataset,
    *,
    density: Density,
    batch_size: int = 64,
    critics: Mapping[DensityRatio, torch.nn.Module] | None = None,
    observations: int | None = None,
    samples: int = 1024,
    particles: int = 5000,
    bounded: int = 16,
    seed: int = 0,
    progress: bool = True,
) -> Decomposition:
    """Decompose the ELBO of a model over a data set, or over a sample of it; see ``decompose_run``."""
    model, critics = trained.model, critics or {}
    if not isinstance(model, VAE):
        raise DistaffError("a GAN has no ELBO to decompose: only VAEs do.")
    chosen = some(data, observations, seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        with Progress("encoding", len(chosen), visible=progress) as bar:
            everything, measured = _pass(model, trained.batches(chosen), len(chosen), bar)
        drawn = Samples(codes_of(everything), samples, seed)
        images = torch.cat(list(trained.batches(chosen.subset(drawn.rows))))
        networks = {ratio.name: critic for ratio, critic in critics.items()}
        step = WholeSet.of(model, everything, drawn, images, networks, len(data))
        exactly = {term.name: float(term(step)) for term in TERMS}
        minibatch = _minibatch(model, Batches(data, batch_size, seed, trained.device), density, samples)
        to_bound = watched("bounding log p(x)", images[:bounded], len(images[:bounded]), progress)
        gaps = _gaps(model, to_bound, particles)
    deterministic = any(parameter.isneginf().any() for parameter in everything.parameters())
    lost = {"marginal_kl", "dimension_kl"} if deterministic else set()
    nll, kl, elbo = measured["nll"], measured["kl"], -measured["nll"] - measured["kl"]
    if len(chosen) < len(data):
        errors = {"nll": standard_error(nll), "kl": standard_error(kl), "elbo": standard_error(elbo)}
    else:
        again = {"nll": -step.log_px_z, "kl": step.kl, "elbo": step.log_px_z - step.kl}
        first = {"nll": nll, "kl": kl, "elbo": elbo}
        errors = {name: _error_of_draws(first[name], drawn.rows, again[name]) for name in first}
    errors["log_px"] = math.hypot(errors["elbo"], standard_error(gaps))
    kl_per_latent = measured["kl_dims"].mean(0, dtype=np.float64).tolist()
    return Decomposition(
        nll=_mean(nll),
        kl=_finite(_mean(kl)),
        kl_per_latent=dict(zip(trained.names, map(_finite, kl_per_latent), strict=True)),
        exact={name: None if name in lost else _finite(value) for name, value in exactly.items()},
        minibatch={name: None if deterministic else _finite(value) for name, value in minibatch.items()},
        density=density.name,
        log_px=None if deterministic else _finite(_mean(elbo) + _mean(gaps)),
        particles=particles,
        critic={ratio.name: float(ratio(step)) for ratio in critics},
        undefined=NO_DENSITY if deterministic else "",
        observations=len(chosen),
        data_size=len(data),
        samples=samples,
        bounded=len(gaps),
        seed=seed,
        standard_errors={name: error for name, error in errors.items() if 0 < error < math.inf},
    )


def _gaps(model: VAE, images: Iterable[Tensor], particles: int) -> FloatArray:
    """The distance of each observation's importance-weighted bound from its ELBO.

    From observation to observation both vary together by many nats, so that the mean of their distance needs
    far fewer observations than the mean of either.
    """
    bounds = (evidence_bounds(model, x[None], particles) for x in images)
    return np.array([float(iwae - elbo) for iwae, elbo in bounds])


def _mean(values: FloatArray) -> float:
    return float(values.mean(dtype=np.float64))


def _error_of_draws(values: FloatArray, rows: IntArray, again: Tensor) -> float:
    """Of the mean of values (N,) at one z each, over all there are: by their distances from those at other z.

    Two draws of the same observation differ by twice the variance of one; 0 where nothing was drawn.

    Args:
        values: what was found of each observation.
        rows: (M,) observations that another z was drawn for.
        again: (M,) what was found there.
    """
    apart = again.cpu().double().numpy() - values[rows].astype(np.float64)
    error = math.sqrt(float(np.square(apart).mean()) / 2 / len(values))
    rounding = float(np.abs(values).max()) * np.finfo(np.float32).eps
    return 0.0 if error < 16 * rounding else error


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _minibatch(model: VAE, batches: Batches, density: Density, samples: int) -> dict[str, float]:
    """The terms as estimated by batches, averaged over enough batches to hold ``samples`` observations."""
    size = len(batches.data)
    totals = dict.fromkeys((term.name for term in TERMS), 0.0)
    count = max(1, min(samples, size) // batches.size)
    memory = PosteriorMemory(density.memory, model.latents).to(batches.device) if density.memory else None
    for i in range(count):
        images = partial(more_images, batches, i)
        step = Step(model, model(batches(i)), i, size, density=density, images=images, memory=memory)
        for term in TERMS:
            totals[term.name] += float(term(step)) / count
        if memory is not None:
            memory.remember(step.output.posterior)
    return totals


def _pass(
    model: VAE, batches: Iterable[Tensor], size: int, bar: Progress
) -> tuple[Posterior, dict[str, FloatArray]]:
    """The posterior of all observations, and the nll, KL and KL per latent of each."""
    shape: Posterior | None = None

    def blocks() -> Iterator[dict[str, FloatArray]]:
        nonlocal shape
        for x in batches:
            shape, found = model.measure(x)
            tensors = found | {str(i): parameter for i, parameter in enumerate(shape.parameters())}
            yield {name: tensor.cpu().numpy() for name, tensor in tensors.items()}

    whole = joined(blocks(), size, lambda done: bar.update({"step": done}))
    measured = {name: whole.pop(name) for name in ("nll", "kl", "kl_dims")}
    assert shape is not None
    parameters = iter(whole.values())
    return shape.map(lambda old: torch.from_numpy(next(parameters)).to(old.device)), measured


def _critics(
    folder: RunFolder, latents: LatentSpace, ratios: Sequence[DensityRatio]
) -> dict[DensityRatio, torch.nn.Module]:
    newest, _ = find(folder.trained, warn)
    assert newest is not None
    state = newest / "training.safetensors"
    if not ratios or not state.is_file():  # a model of the zoo comes without its critics
        return {}
    critics = {}
    with fitting(state):
        tensors = load_file(state)
        for ratio in ratios:
            prefix = f"critic.{ratio.name}/"
            network = ratio.network(latents)
            network.load_state_dict(
                {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
            )
            critics[ratio] = network
    return critics
