"""The evidence that checks use: every part of it is read or computed on first use."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from distaff.analysis.decompose import TERMS
from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.foundation.untrusted_files import read_json
from distaff.metrics.active_latents import kl_to_nearest_prior
from distaff.models.latents import codes_of
from distaff.models.vae import VAE, Output
from distaff.objectives.densities import batch, stratified
from distaff.objectives.step import Step
from distaff.runs import checkpoints
from distaff.runs.calls import Data, Goal
from distaff.runs.config import RunConfig
from distaff.runs.folder import RunFolder
from distaff.runs.load import load, open_data
from distaff.runs.log import read_log

RECENT = 0.1
"""Fraction of the log, at its end, that describes the current state of the run."""


@dataclass(frozen=True)
class Sample:
    """The trained model's output for some observations."""

    model: VAE
    shape: tuple[int, ...]
    output: Output
    data_size: int

    @cached_property
    def nll(self) -> float:
        """−E log p(x|z), summed over pixels."""
        return -float(self.output.likelihood.log_prob(self.output.x).mean())

    @cached_property
    def kl_per_latent(self) -> dict[str, float]:
        """E KL(q(z_d|x) ‖ p(z_d)) by the latents' names; infinite for deterministic ones."""
        values = self.output.prior.kl_dims(self.output.posterior, self.output.u).mean(0)
        return {v.name: float(values[v.place]) for v in self.model.latents.coded}

    @property
    def kl(self) -> float:
        """E KL(q(z|x) ‖ p(z)), the sum over latents."""
        return sum(self.kl_per_latent.values())

    @cached_property
    def information(self) -> dict[str, float]:
        """A bound on I(x; z_d) by the latents' names, whatever the prior: see ``kl_to_nearest_prior``."""
        codes = codes_of(self.output.posterior)
        real = [v.name for v in self.model.latents.coded if not v.classes]
        return dict(zip([*real, *codes.categories], kl_to_nearest_prior(codes).tolist(), strict=True))

    def bounds(self, name: str) -> tuple[float, float] | None:
        """Bounds on a term of q(z); None for other terms and for deterministic latents.

        Stratified weights estimate q(z) without bias, so that the mean of its logarithm is too low. The plain
        mixture of the sample gives the own posterior of every z too much weight, so that it is too high.
        """
        term = next((term for term in TERMS if term.name == name), None)
        if term is None:
            return None
        steps = [
            Step(self.model, self.output, 0, self.data_size, density=density)
            for density in (stratified, batch)
        ]
        low, high = sorted(float(term(step)) for step in steps)
        return (low, high) if math.isfinite(low + high) else None


@dataclass(frozen=True)
class RunEvidence:
    """A run folder under examination."""

    folder: RunFolder
    given: Data | None = None
    observations: int = 1024
    seed: int = 0

    @cached_property
    def config(self) -> RunConfig:
        """The content of ``run.yaml``."""
        return self.folder.read()

    @cached_property
    def log(self) -> Sequence[dict[str, Any]]:
        """The lines of ``log.jsonl``."""
        return read_log(self.folder.log)

    def recent(self, name: str) -> float | None:
        """The mean of a logged value over the last tenth of the log; None if it is never finite."""
        values = [line[name] for line in self.log if math.isfinite(line.get(name, math.nan))]
        return float(np.mean(values[-max(1, round(RECENT * len(values))) :])) if values else None

    def logged(self, ending: str) -> dict[str, float]:
        """The recent means of all values whose names have an ending, by their names without it."""
        names = [name for name in (self.log[-1] if self.log else {}) if name.endswith(ending)]
        return {name.removesuffix(ending): self.recent(name) or 0.0 for name in names}

    @cached_property
    def divergence(self) -> str | None:
        """What became non-finite, and when, if training stopped because of it."""
        if self.folder.diverged.is_file():
            facts = read_json(self.folder.diverged)
            known = isinstance(facts, dict) and {"what", "step"} <= facts.keys()
            return f"{facts['what']} at step {facts['step']}" if known else "something, at an unknown step"
        for line in self.log:
            for name, value in line.items():
                if not math.isfinite(value) and self._takes_part(name, line["step"] - 1):
                    return f"the term {name!r} at step {line['step']}"
        return None

    def _takes_part(self, name: str, index: int) -> bool:
        return isinstance(self.goal, DistaffError) or self.goal.takes_part(name, index)

    @cached_property
    def being_trained(self) -> bool:
        """Whether another process is training in the folder."""
        return self.folder.being_trained

    @cached_property
    def step(self) -> int:
        """The step of the newest good checkpoint; 0 if there is none."""
        return self._checkpoint[0].step

    @property
    def damages(self) -> Sequence[str]:
        """Warnings about damaged checkpoints."""
        return self._checkpoint[1]

    @cached_property
    def _checkpoint(self) -> tuple[checkpoints.Reached, list[str]]:
        damages: list[str] = []
        try:
            return checkpoints.find(self.folder.checkpoints, damages.append)[1], damages
        except DistaffError as error:
            return checkpoints.Reached(), [*damages, str(error)]

    @cached_property
    def goal(self) -> Goal | DistaffError:
        """The run's objective or game, or the error that prevents making it."""
        try:
            return self.config.goal()
        except DistaffError as error:
            return error

    @cached_property
    def data(self) -> Dataset | DistaffError:
        """The run's data, or the error that prevents opening them."""
        try:
            return open_data(self.folder, self.given)
        except (DistaffError, OSError) as error:
            return DistaffError(str(error))

    @cached_property
    def sample(self) -> Sample | None:
        """The VAE's output for some observations; None without a checkpoint or data, or for a GAN."""
        if not self.step or not isinstance(self.data, Dataset):
            return None
        rows = np.random.default_rng(self.seed).permutation(len(self.data))[: self.observations]
        trained = load(self.folder.path)
        if not isinstance(trained.model, VAE):
            return None
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(self.seed)
            images = torch.cat(list(trained.batches(self.data.subset(np.sort(rows)))))
            return Sample(trained.model, trained.shape, trained.model(images), len(self.data))
