"""Learners: each owns a model and its optimiser, and knows one update; the loop knows neither."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from distaff.foundation.errors import DistaffError, unknown
from distaff.models.infogan import InfoGAN
from distaff.models.relaxed import TEMPERATURE
from distaff.models.representation import Model
from distaff.models.vae import VAE
from distaff.objectives.critics import DensityRatio
from distaff.objectives.densities import Source
from distaff.objectives.memory import PosteriorMemory
from distaff.objectives.objective import Objective
from distaff.objectives.schedules import Schedule, Weight
from distaff.objectives.step import Processes, Step
from distaff.runs.checkpoints import PLACES, Trained
from distaff.runs.openings import Revive
from distaff.runs.sections import TrainingSettings
from distaff.training.average import Average
from distaff.training.batches import Batches
from distaff.training.opening import Opener
from distaff.training.several_processes import average_gradients, gather, share_batch_norms


@dataclass(frozen=True)
class Course:
    """Settings that apply to every step of a model's optimiser.

    Args:
        learning_rate: learning rate; a schedule is evaluated at every step, None keeps the optimiser's own.
        temperature: temperature of relaxed latents.
        clip: largest norm of a gradient.
        average: average of the weights, if one is kept.
        revive: step before which closed latents are reinitialised, or openings by turns.
    """

    learning_rate: Weight | None = None
    temperature: Weight = TEMPERATURE
    clip: float | None = None
    average: "Average | None" = None
    revive: Revive | None = None

    def begin(self, optimiser: Optimizer, index: int) -> dict[str, Tensor]:
        """Set the learning rate of a step; a scheduled one is returned for the log."""
        if not isinstance(self.learning_rate, Schedule):
            return {}
        rate = self.learning_rate(index)
        for group in optimiser.param_groups:
            group["lr"] = rate
        return {"learning_rate": torch.tensor(rate)}

    def end(self, module: nn.Module, index: int) -> None:
        """Update the average with the weights after a step."""
        if self.average is not None:
            self.average.update(module, index)


class Learner(Trained, Protocol):
    """The object that the loop trains and a checkpoint holds."""

    @property
    def model(self) -> Model:
        """The model that users get."""

    def update(self, batches: Batches, index: int) -> dict[str, Tensor]:
        """Take step ``index`` and return its values, detached scalars on the device."""

    def measure(self, batches: Batches, number: int, index: int) -> dict[str, Tensor]:
        """The values of a batch that is not trained on, by the trained model after step ``index``."""


class VAELearner:
    """A VAE under any objective, with the critics of the terms that have one."""

    def __init__(
        self,
        model: VAE,
        objective: Objective,
        optimiser: Optimizer,
        data_size: int,
        fabric: Fabric,
        course: Course = Course(),
    ) -> None:
        self.course = course
        if not isinstance(course.temperature, Schedule):
            model.temperature = course.temperature
        self.model, self.objective, self.data_size, self.fabric = model, objective, data_size, fabric
        self.processes = Processes(fabric.global_rank, partial(gather, fabric))
        if fabric.world_size > 1:
            share_batch_norms(model, self.processes.gather)
        self.opener = None if course.revive is None else Opener(model, course.revive)
        memory = objective.density.memory
        self.memory = PosteriorMemory(memory, model.latents).to(fabric.device) if memory else None
        self.ratios = [w.term for w in objective.terms if isinstance(w.term, DensityRatio)]
        self.critics = {ratio.name: fabric.to_device(ratio.network(model.latents)) for ratio in self.ratios}
        self.modules: Mapping[str, nn.Module] = {
            "model": model,
            **({"average": course.average.module} if course.average else {}),
            **({"memory": self.memory} if self.memory is not None else {}),
            **{f"critic.{name}": m for name, m in self.critics.items()},
        }
        self.optimisers: dict[str, Optimizer] = {"model": optimiser}
        for ratio in self.ratios:
            settings = ratio.settings
            critic = self.critics[ratio.name]
            adam = make_adam(critic.parameters(), settings.learning_rate, settings.betas)
            self.optimisers[f"critic.{ratio.name}"] = adam
            critic.requires_grad_(False)

    def update(self, batches: Batches, index: int) -> dict[str, Tensor]:
        """FactorVAE's Algorithm 2; without critics, the plain VAE step."""
        if isinstance(self.course.temperature, Schedule):
            self.model.temperature = self.course.temperature(index)
        if self.opener is not None and self.opener(batches, index, self.processes.gather):
            self.optimisers["model"].state.clear()
        rate = self.course.begin(self.optimisers["model"], index)
        with self.fabric.autocast():
            values = self.objective(step := self._step(batches, index))
        if not values["loss"].requires_grad:
            raise DistaffError(f"nothing in {self.objective} depends on the model, which cannot learn.")
        descend(self.fabric, self.model, self.optimisers["model"], values["loss"], self.course.clip)
        self.course.end(self.model, index)
        if self.memory is not None:
            self.memory.remember(step.output.posterior.map(self.processes.gather))
        for ratio in self.ratios:
            values |= self._teach(ratio, step.z.detach(), batches(index, stream=1))
        return {name: value.detach() for name, value in (values | rate).items()}

    @torch.no_grad()
    def measure(self, batches: Batches, number: int, index: int) -> dict[str, Tensor]:
        """The loss, its terms and the ELBO of batch ``number``, by the trained model (average or weights)."""
        model = self.course.average.module if self.course.average else self.model
        assert isinstance(model, VAE)
        model.temperature = self.model.temperature
        model.eval()
        try:
            with self.fabric.autocast():
                step = self._step(batches, number, index, model)
                values = self.objective(step)
            output = step.output
            kl = output.prior.kl(output.posterior, output.u)
            return {**values, "elbo": (output.likelihood.log_prob(output.x) - kl).mean()}
        finally:
            model.train()

    def _step(
        self, batches: Batches, number: int, index: int | None = None, model: VAE | None = None
    ) -> Step:
        """Pass batch ``number`` through the model, or another one, for the objective at step ``index``."""
        model, index = model or self.model, number if index is None else index
        sharing = self.objective.sharing
        x, same = (batches(number), None) if sharing is None else batches.pairs(number, sharing.known)
        return Step(
            model,
            self.objective.output(model, x, same),
            index,
            self.data_size,
            self.critics,
            self.objective.density,
            self.processes,
            partial(more_images, batches, number),
            self.memory,
            lambda: batches.labelled(number),
        )

    def _teach(self, ratio: DensityRatio, z: Tensor, second_batch: Tensor) -> dict[str, Tensor]:
        """One step of a critic: z of the first batch against a reference made from a second one."""
        critic = self.critics[ratio.name]
        with trainable(critic):
            with self.fabric.autocast():
                with torch.no_grad():
                    reference = ratio.reference(self.model, second_batch)
                loss, accuracy = ratio.critic_loss(critic, z, reference)
            descend(self.fabric, critic, self.optimisers[f"critic.{ratio.name}"], loss)
        return {f"{ratio.name}.critic_loss": loss, f"{ratio.name}.critic_accuracy": accuracy}


def trained_model(learner: Learner) -> Model:
    """The model that users get: the average of the weights, if there is one."""
    average = learner.modules.get("average")
    if isinstance(average, VAE) and isinstance(learner.model, VAE):
        average.temperature = learner.model.temperature
    return average if isinstance(average, VAE | InfoGAN) else learner.model


def descend(
    fabric: Fabric, module: nn.Module, optimiser: Optimizer, loss: Tensor, clip: float | None = None
) -> None:
    """One optimiser step along the gradient of ``loss`` in ``module``, averaged over processes.

    All gradients in the module are then cleared, including those of weights of other optimisers.
    """
    fabric.backward(loss)
    if fabric.world_size > 1:
        average_gradients(fabric, module)
    if clip is not None:
        nn.utils.clip_grad_norm_([p for group in optimiser.param_groups for p in group["params"]], clip)
    optimiser.step()
    module.zero_grad()


@contextmanager
def trainable(module: nn.Module) -> Iterator[None]:
    """A context in which a critic's weights have gradients; elsewhere they are constants in other losses."""
    module.requires_grad_(True)
    try:
        yield
    finally:
        module.requires_grad_(False)


def more_images(batches: Batches, index: int, source: Source) -> Tensor:
    """Observations beyond a step's batch: an independent batch, or all of a small data set."""
    return batches.everything() if source is Source.DATA_SET else batches(index, stream=2)


def make_optimiser(
    parameters: Iterable[nn.Parameter], settings: TrainingSettings, undecayed: Sequence[nn.Parameter] = ()
) -> Optimizer:
    """The optimiser of a run, with a fused kernel if there is one.

    Weights do not decay if they are ``undecayed`` or have one axis, as biases and gains do, as in Hsu et
    al.'s code.
    """
    known, name = optimisers(), settings.optimizer or "adam"
    if name not in known:
        raise unknown("optimizer", name, known)
    kind: Any = known[name]
    takes = inspect.signature(kind).parameters
    if settings.amsgrad and "amsgrad" not in takes:
        raise DistaffError(f"amsgrad goes with adam and adamw, not with {name}.")
    possible = {"betas": settings.betas, "amsgrad": settings.amsgrad, "fused": True}
    given = {name: value for name, value in possible.items() if name in takes and value is not None}
    assert settings.learning_rate is not None
    rate = settings.learning_rate
    rate = rate(0) if isinstance(rate, Schedule) else rate
    moved: Any = list(parameters)
    if settings.weight_decay:
        free = set(map(id, undecayed)) | {id(p) for p in moved if p.ndim < 2}
        decayed = [place for place, p in enumerate(moved) if id(p) not in free]
        spared = [place for place, p in enumerate(moved) if id(p) in free]
        moved = [
            {"params": [moved[place] for place in decayed], PLACES: decayed},
            {"params": [moved[place] for place in spared], PLACES: spared, "weight_decay": 0.0},
        ]
    made: Optimizer = kind(moved, lr=rate, weight_decay=settings.weight_decay or 0.0, **given)
    return made


def optimisers() -> dict[str, type[Optimizer]]:
    """torch's optimisers that train any weights by their gradients, by their names in lower case."""
    found = (getattr(torch.optim, name, None) for name in torch.optim.__all__)
    classes = [c for c in found if inspect.isclass(c) and issubclass(c, Optimizer)]
    suited = [c for c in classes if "weight_decay" in inspect.signature(c).parameters]
    return {c.__name__.lower(): c for c in suited if c.__name__ != "Muon"}  # Muon trains matrices only


def make_adam(parameters: Iterable[nn.Parameter], learning_rate: float, betas: tuple[float, float]) -> Adam:
    """Adam with a fused kernel, which takes 2 ms instead of 11 for a critic of five million weights."""
    return Adam(parameters, learning_rate, betas, fused=True)
