"""Learners: each owns a model and knows one update; the loop depends on neither models nor objectives."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, cast

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim import Optimizer

from distaff.foundation.errors import DistaffError
from distaff.models.infogan import InfoGAN
from distaff.models.representation import Model
from distaff.models.vae import VAE
from distaff.objectives.critics import DensityRatio
from distaff.objectives.densities import Source
from distaff.objectives.memory import PosteriorMemory
from distaff.objectives.objective import Objective
from distaff.objectives.schedules import Schedule
from distaff.objectives.step import Processes, Step
from distaff.runs.checkpoints import Trained
from distaff.training.batches import Batches
from distaff.training.norms import share_batch_norms
from distaff.training.optimisers import Course, make_adam
from distaff.training.revival import Revival


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
    """A VAE under any objective, with the critics of the terms that have one.

    Args:
        model: the VAE.
        objective: the objective to minimise.
        optimiser: optimiser of ``model.parameters()``.
        data_size: N, number of observations in the data set.
        fabric: devices, precision and processes.
        course: learning rate, temperature, clipping, average and revival.
    """

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
        self.revival = None if course.revive is None else Revival(model)
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
        if self.revival is not None and index == self.course.revive:
            self.revival(batches(index), self.processes.gather, (batches.seed, index))
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

    Args:
        fabric: devices and processes.
        module: module that the loss depends on.
        optimiser: optimiser of the module.
        loss: a scalar.
        clip: largest norm of the gradient of the optimiser's parameters.
    """
    fabric.backward(loss)
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


def gather(fabric: Fabric, x: Tensor) -> Tensor:
    """(B, ...) of each process → (all B, ...) in order of rank, with gradient."""
    if fabric.world_size == 1:
        return x
    shares = fabric.all_gather(x, sync_grads=x.requires_grad)
    assert isinstance(shares, Tensor)
    if shares.requires_grad:
        # In the backward pass, gloo exchanges raw memory: strided gradients would arrive scrambled.
        cast(Any, shares).register_hook(torch.Tensor.contiguous)
    return shares.flatten(0, 1)


def more_images(batches: Batches, index: int, source: Source) -> Tensor:
    """Observations beyond a step's batch: an independent batch, or all of a small data set."""
    return batches.everything() if source is Source.DATA_SET else batches(index, stream=2)


def average_gradients(fabric: Fabric, module: nn.Module) -> None:
    """Average gradients over processes in one message, without wrapping modules."""
    if fabric.world_size == 1:
        return
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    mean = fabric.all_reduce(torch.cat([g.flatten() for g in gradients]), reduce_op="mean")
    assert isinstance(mean, Tensor)
    for gradient, share in zip(gradients, torch.split(mean, [g.numel() for g in gradients]), strict=True):
        gradient.copy_(share.view(gradient.shape))
