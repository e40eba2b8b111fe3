"""What the terms say after training: the ELBO decomposed over a run's whole data set (HFVAE Fig. 2, 4)."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from operator import itemgetter
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from distaff.codes import FloatArray
from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import write_json
from distaff.foundation.progress import Progress, watched
from distaff.metrics.options import Count, SampleCount, Seed
from distaff.metrics.sampled import Samples
from distaff.mixtures.gaussians import Mixture, blur
from distaff.models.coding import code_tensors, codes_from, joined
from distaff.models.latents import LatentSpace
from distaff.models.posteriors import GaussianPosterior, GroupPosterior, Posterior
from distaff.models.representation import Representation
from distaff.models.vae import VAE
from distaff.objectives.critics import DensityRatio
from distaff.objectives.densities import Density, exact
from distaff.objectives.evidence import iwae_bound
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
from distaff.runs.checkpoints import find
from distaff.runs.folder import RunFolder, warn
from distaff.runs.load import load, open_data
from distaff.runs.zoo import run_folder
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


@dataclass(frozen=True)
class Decomposition:
    """The terms of the ELBO over a data set, in nats.

    What has no value is None, and ``undefined`` says why: without noise in the encoder (σ = 0, ``point``
    latents) q(z|x) has no density. I(x; z) and total correlations are then limits for σ → 0, as in metrics.

    Args:
        nll: −E log p(x|z).
        kl: E KL(q(z|x) ‖ p(z)).
        kl_per_latent: its share of each latent.
        exact: terms with q(z) summed over all observations. ``mutual_information`` and ``total_correlation``
            of Gaussian latents are the numbers of ``metrics.total_information`` and
            ``metrics.total_correlation`` for as many samples and the same seed; discrete latents are relaxed
            here and at a class there.
        minibatch: the same terms as the run's batches estimate them; ``density`` says how.
        critic: the same terms by the run's own critics.
        density: the estimator of the minibatch column.
        log_px: the importance-weighted bound on E log p(x).
        particles: of that bound.
        undefined: why some values are None; empty where none is.
    """

    nll: float
    kl: float | None
    kl_per_latent: Mapping[str, float | None]
    exact: Mapping[str, float | None]
    minibatch: Mapping[str, float | None]
    density: str
    log_px: float | None
    particles: int
    critic: Mapping[str, float] = field(default_factory=dict)
    undefined: str = ""

    def __str__(self) -> str:
        by_batch, by_critic = f"by {self.density}", "by critic" if self.critic else ""
        lines = [f"{'term (nats)':24}{'exact':>10}{by_batch:>22}{by_critic:>12}"]
        lines += [f"{'nll':24}{_number(self.nll)}", f"{'kl':24}{_number(self.kl)}"]
        for name, value in self.exact.items():
            critic = _number(self.critic[name], 12) if name in self.critic else ""
            lines.append(f"{name:24}{_number(value)}{_number(self.minibatch[name], 22)}{critic}")
        lines += [f"{f'kl of {name}':24}{_number(value)}" for name, value in self.kl_per_latent.items()]
        lines.append(f"{'ELBO':24}{_number(None if self.kl is None else -self.nll - self.kl)}")
        lines.append(f"{f'log p(x) ≥, IWAE {self.particles}':24}{_number(self.log_px)}")
        return "\n".join([*lines, *([f"–: {self.undefined}"] if self.undefined else [])])


def _number(value: float | None, width: int = 10) -> str:
    return f"{'–':>{width}}" if value is None else f"{value:{width}.3f}"


def decompose_run(
    run: str | Path,
    *,
    samples: SampleCount = 1024,
    particles: Count = 5000,
    observations: Count = 64,
    seed: Seed = 0,
    progress: bool = True,
) -> Decomposition:
    """Decompose the ELBO of a run over its whole data set and write ``decomposition.json``.

    Args:
        run: the run folder, or zoo:NAME.
        samples: how many z the exact terms are averaged over, each against all observations.
        particles: of the importance-weighted bound on log p(x).
        observations: how many images that bound is averaged over.
        seed: of the samples.
        progress: show a progress bar.
    """
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
        samples=samples,
        particles=particles,
        observations=observations,
        seed=seed,
        progress=progress,
    )
    write_json(folder.path / "decomposition.json", asdict(found))
    return found


@torch.no_grad()
def decompose(
    trained: Representation,
    data: Dataset,
    *,
    density: Density,
    batch_size: int = 64,
    critics: Mapping[DensityRatio, torch.nn.Module] | None = None,
    samples: int = 1024,
    particles: int = 5000,
    observations: int = 64,
    seed: int = 0,
    progress: bool = True,
) -> Decomposition:
    """Decompose the ELBO of a model over a data set; see ``decompose_run``."""
    model, critics = trained.model, critics or {}
    if not isinstance(model, VAE):
        raise DistaffError("a GAN has no ELBO to decompose: only VAEs do.")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        with Progress("encoding", len(data), visible=progress) as bar:
            everything, nll, kl, kl_dims = _pass(model, trained.batches(data), len(data), bar)
        codes = codes_from({name: t.cpu().numpy() for name, t in code_tensors(everything).items()})
        drawn = Samples(codes, samples, seed)
        images = torch.cat(list(trained.batches(data.subset(drawn.rows))))
        networks = {ratio.name: critic for ratio, critic in critics.items()}
        step = WholeSet.of(model, everything, drawn, images, networks)
        exactly = {term.name: float(term(step)) for term in TERMS}
        minibatch = _minibatch(model, Batches(data, batch_size, seed, trained.device), density, samples)
        some = watched("bounding log p(x)", list(images[:observations]), progress)
        evidence = torch.cat([iwae_bound(model, x[None], particles) for x in some])
    deterministic = any(parameter.isneginf().any() for parameter in everything.parameters())
    lost = {"marginal_kl", "dimension_kl"} if deterministic else set()
    return Decomposition(
        nll=nll,
        kl=_finite(kl),
        kl_per_latent=dict(zip(trained.names, map(_finite, kl_dims), strict=True)),
        exact={name: None if name in lost else _finite(value) for name, value in exactly.items()},
        minibatch={name: None if deterministic else _finite(value) for name, value in minibatch.items()},
        density=density.name,
        log_px=None if deterministic else _finite(float(evidence.mean())),
        particles=particles,
        critic={ratio.name: float(ratio(step)) for ratio in critics},
        undefined=NO_DENSITY if deterministic else "",
    )


@dataclass(frozen=True, kw_only=True)
class WholeSet(Step):
    """A step of samples from the whole data set, whose q(z) is the mixture of all posteriors, in float64."""

    everything: Posterior

    @classmethod
    def of(
        cls,
        model: VAE,
        everything: Posterior,
        drawn: Samples,
        images: Tensor,
        networks: Mapping[str, torch.nn.Module],
    ) -> "WholeSet":
        """The step of samples drawn as metrics draw them.

        Args:
            model: the VAE.
            everything: q(z|x) of all N observations.
            drawn: M samples of their Gaussian latents; the others are drawn here.
            images: (M, ...) the observations that the samples come from.
            networks: the critics, by the names of their terms.
        """
        wide = Posterior({name: _wide(part) for name, part in everything.parts.items()})
        own = wide.map(itemgetter(torch.from_numpy(drawn.rows)))
        u = own.rsample()
        real = [variable.columns for variable in model.latents.coded if not variable.classes]
        for columns, z in zip(real, drawn.z.T, strict=True):
            u[:, columns] = z[:, None].to(u.device)
        output = replace(model.output(images, own, u.to(images.dtype)), u=u)
        return cls(model, output, 0, len(drawn.codes), networks, exact, everything=wide)

    @cached_property
    def log_qz(self) -> Tensor:
        """log q(z) (B,)."""
        return self._mixture.log_density(*self._values)

    @cached_property
    def log_qz_groups(self) -> Tensor:
        """log q(z_g) (B, G)."""
        latents = self.model.latents
        numbers = {variable.place: number for number, variable in enumerate(latents.coded)}
        groups = [[numbers[d] for d in range(dims.start, dims.stop)] for dims in latents.group_dims.values()]
        return torch.stack([self._mixture.log_density(*self._values, keep) for keep in groups], 1)

    @cached_property
    def log_qz_dims(self) -> Tensor:
        """log q(z_d) (B, D)."""
        places = torch.tensor([variable.place for variable in self.model.latents.coded])
        return self._mixture.log_density_of_each(*self._values)[:, places.argsort()]

    @cached_property
    def _mixture(self) -> Mixture:
        """All posteriors, their latents in the order of ``latents.coded``: the Gaussian ones first."""
        parts = self.everything.parts.values()
        gaussians = [part for part in parts if isinstance(part, GaussianPosterior)]
        nothing = next(iter(parts)).mode()[:, :0]
        return Mixture(
            torch.cat([nothing, *(part.mu for part in gaussians)], 1),
            torch.cat([nothing, *(part.logvar for part in gaussians)], 1),
            [part for part in parts if not isinstance(part, GaussianPosterior)],
        )

    @cached_property
    def _values(self) -> tuple[Tensor, list[Tensor]]:
        """The samples of the Gaussian latents (B, D), and those of each other group."""
        columns = self.everything.paired_with(self.u)
        gaussian = [u for part, u in columns if isinstance(part, GaussianPosterior)]
        others = [u for part, u in columns if not isinstance(part, GaussianPosterior)]
        return torch.cat([self.u[:, :0], *gaussian], 1), others


def _wide(part: GroupPosterior) -> GroupPosterior:
    """The posterior in float64, with a width in place of σ = 0."""
    if isinstance(part, GaussianPosterior):
        part = GaussianPosterior(part.mu, blur(part.mu, part.logvar))
    return part.map(torch.Tensor.double)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _minibatch(model: VAE, batches: Batches, density: Density, samples: int) -> dict[str, float]:
    """The terms as batches estimate them, averaged over as many batches as hold ``samples``."""
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
) -> tuple[Posterior, float, float, list[float]]:
    """The posterior of all observations, and the means of nll, KL and the latents' KLs."""
    shape: Posterior | None = None

    def blocks() -> Iterator[dict[str, FloatArray]]:
        nonlocal shape
        for x in batches:
            shape, found = model.measure(x)
            tensors = found | {str(i): parameter for i, parameter in enumerate(shape.parameters())}
            yield {name: tensor.cpu().numpy() for name, tensor in tensors.items()}

    whole = joined(blocks(), size, lambda done: bar.update({"step": done}))
    nll, kl, kl_dims = (whole.pop(name).mean(0, dtype=np.float64) for name in ("nll", "kl", "kl_dims"))
    assert shape is not None
    parameters = iter(whole.values())
    everything = shape.map(lambda old: torch.from_numpy(next(parameters)).to(old.device))
    return everything, float(nll), float(kl), kl_dims.tolist()


def _critics(
    folder: RunFolder, latents: LatentSpace, ratios: Sequence[DensityRatio]
) -> dict[DensityRatio, torch.nn.Module]:
    newest, _ = find(folder.checkpoints, warn)
    assert newest is not None
    state = newest / "training.safetensors"
    if not ratios or not state.is_file():  # a model of the zoo comes without its critics
        return {}
    tensors = load_file(state)
    critics = {}
    for ratio in ratios:
        prefix = f"critic.{ratio.name}/"
        network = ratio.network(latents)
        network.load_state_dict(
            {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
        )
        critics[ratio] = network
    return critics
