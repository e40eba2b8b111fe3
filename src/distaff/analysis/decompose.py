"""What the terms say after training: the ELBO decomposed over a run's whole data set (HFVAE Fig. 2, 4)."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
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
from distaff.models.coding import joined
from distaff.models.latents import LatentSpace
from distaff.models.posteriors import Posterior
from distaff.models.representation import BATCH, Representation
from distaff.models.vae import VAE
from distaff.objectives.critics import DensityRatio
from distaff.objectives.densities import Density, exact
from distaff.objectives.evidence import iwae_bound
from distaff.objectives.mixtures import log_pairs, log_sum_exp
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


@dataclass(frozen=True)
class Decomposition:
    """The terms of the ELBO over a data set, in nats.

    Args:
        nll: −E log p(x|z).
        kl: E KL(q(z|x) ‖ p(z)).
        kl_per_latent: its share of each latent.
        exact: terms with q(z) summed over all observations.
        minibatch: the same terms as the run's batches estimate them; ``density`` says how.
        critic: the same terms by the run's own critics.
        density: the estimator of the minibatch column.
        log_px: the importance-weighted bound on E log p(x).
        particles: of that bound.
    """

    nll: float
    kl: float
    kl_per_latent: Mapping[str, float]
    exact: Mapping[str, float]
    minibatch: Mapping[str, float]
    density: str
    log_px: float
    particles: int
    critic: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        by_batch, by_critic = f"by {self.density}", "by critic" if self.critic else ""
        lines = [f"{'term (nats)':24}{'exact':>10}{by_batch:>22}{by_critic:>12}"]
        lines += [f"{'nll':24}{self.nll:10.3f}", f"{'kl':24}{self.kl:10.3f}"]
        for name, value in self.exact.items():
            critic = f"{self.critic[name]:12.3f}" if name in self.critic else ""
            lines.append(f"{name:24}{value:10.3f}{self.minibatch[name]:22.3f}{critic}")
        lines += [f"{f'kl of {name}':24}{value:10.3f}" for name, value in self.kl_per_latent.items()]
        elbo = f"{'ELBO':24}{-self.nll - self.kl:10.3f}"
        return "\n".join([*lines, elbo, f"{f'log p(x) ≥, IWAE {self.particles}':24}{self.log_px:10.3f}"])


def decompose_run(
    run: str | Path,
    *,
    samples: int = 1024,
    particles: int = 5000,
    observations: int = 64,
    seed: int = 0,
    progress: bool = True,
) -> Decomposition:
    """Decompose the ELBO of a run over its whole data set and write ``decomposition.json``.

    Args:
        run: the run folder.
        samples: how many z the exact terms are averaged over, each against all observations.
        particles: of the importance-weighted bound on log p(x).
        observations: how many images that bound is averaged over.
        seed: of the samples.
        progress: show a progress bar.
    """
    folder = RunFolder(Path(run))
    config = folder.read()
    objective = config.recipe.goal()
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
            posteriors, nll, kl, kl_dims = _pass(model, trained.batches(data.images), len(data), bar)
        rows = torch.randperm(len(data))[:samples].sort().values
        images = torch.cat(list(trained.batches(data.subset(rows.numpy()).images)))
        networks = {ratio.name: critic for ratio, critic in critics.items()}
        everything = watched("summing q(z)", posteriors, progress)
        step = WholeSet(model, model(images), 0, len(data), networks, exact, everything=everything)
        terms = {term.name: float(term(step)) for term in TERMS}
        minibatch = _minibatch(model, Batches(data, batch_size, seed, trained.device), density, samples)
        some = watched("bounding log p(x)", list(images[:observations]), progress)
        evidence = [iwae_bound(model, x[None], particles) for x in some]
    return Decomposition(
        nll=nll,
        kl=kl,
        kl_per_latent=dict(zip(trained.names, kl_dims, strict=True)),
        exact=terms,
        minibatch=minibatch,
        density=density.name,
        log_px=float(torch.cat(evidence).mean()),
        particles=particles,
        critic={ratio.name: float(ratio(step)) for ratio in critics},
    )


@dataclass(frozen=True)
class WholeSet(Step):
    """A step whose q(z) is summed over the posteriors of the whole data set, a block at a time."""

    everything: Iterable[Posterior] = ()

    @cached_property
    def log_qz(self) -> Tensor:
        """log q(z) (B,)."""
        return self._marginals[0]

    @cached_property
    def log_qz_groups(self) -> Tensor:
        """log q(z_g) (B, G)."""
        return torch.stack(self._marginals[1 : 1 + len(self.model.latents.groups)], 1)

    @cached_property
    def log_qz_dims(self) -> Tensor:
        """log q(z_d) (B, D)."""
        return torch.stack(self._marginals[1 + len(self.model.latents.groups) :], 1)

    @cached_property
    def _marginals(self) -> list[Tensor]:
        """log q (B,) of the joint, each group and each variable."""
        total = torch.full((), -math.inf)
        none = torch.zeros(1, 1, device=self.z.device)
        groups = self.model.latents.group_dims.values()
        for posterior in self.everything:
            log_q = log_pairs(posterior, self.u)
            parts = [log_q.sum(0)[None], *(log_q[dims].sum(0)[None] for dims in groups), log_q]
            block = torch.cat([log_sum_exp(part, none) for part in parts])
            total = torch.logaddexp(total.to(block.device, torch.float64), block.double())
        return list((total - math.log(self.data_size)).to(self.z.dtype))


def _minibatch(model: VAE, batches: Batches, density: Density, samples: int) -> dict[str, float]:
    """The terms as batches estimate them, averaged over as many batches as hold ``samples``."""
    size = len(batches.data)
    totals = dict.fromkeys((term.name for term in TERMS), 0.0)
    count = max(1, min(samples, size) // batches.size)
    for i in range(count):
        images = partial(more_images, batches, i)
        step = Step(model, model(batches(i)), i, size, density=density, images=images)
        for term in TERMS:
            totals[term.name] += float(term(step)) / count
    return totals


def _pass(
    model: VAE, batches: Iterable[Tensor], size: int, bar: Progress
) -> tuple[list[Posterior], float, float, list[float]]:
    """All posteriors, a block each, and the means of nll, KL and the latents' KLs."""
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
    posteriors = [everything.map(itemgetter(slice(i, i + BATCH))) for i in range(0, size, BATCH)]
    return posteriors, float(nll), float(kl), kl_dims.tolist()


def _critics(
    folder: RunFolder, latents: LatentSpace, ratios: Sequence[DensityRatio]
) -> dict[DensityRatio, torch.nn.Module]:
    newest, _ = find(folder.checkpoints, warn)
    assert newest is not None
    tensors = load_file(newest / "training.safetensors") if ratios else {}
    critics = {}
    for ratio in ratios:
        prefix = f"critic.{ratio.name}/"
        network = ratio.network(latents)
        network.load_state_dict(
            {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
        )
        critics[ratio] = network
    return critics
