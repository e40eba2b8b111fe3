"""Kinds of models: what differs between VAEs under an objective and GANs in a game; the rest is shared."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lightning_fabric import Fabric
from torch import nn
from torch.optim import Adam

from distaff.data.dataset import Dataset
from distaff.errors import DistaffError
from distaff.models.infogan import InfoGAN
from distaff.models.representation import Model
from distaff.models.vae import VAE
from distaff.objectives.games import Game
from distaff.objectives.objective import Objective
from distaff.objectives.schedules import weight_at
from distaff.training.gan_learner import InfoGANLearner, generator_parameters
from distaff.training.gan_model import build_gan, describe_gan
from distaff.training.learner import Learner, VAELearner, make_adam
from distaff.training.model import ModelOptions, build_model, describe_model, temperature_of

Calls = dict[str, Any]
Goal = Objective | Game
"""What a recipe returns."""
AnyGoal = TypeVar("AnyGoal", bound=Goal)
AnyModel = TypeVar("AnyModel", bound=Model)


@dataclass(frozen=True)
class Kind(Generic[AnyGoal, AnyModel]):
    """A kind of model.

    Args:
        name: in ``run.yaml``, where a model without one is a VAE.
        goal: what its recipes return.
        learning_rate: of its optimiser, unless told.
        betas: Adam's, unless told.
        describe: (goal, data, options) → the model's part of ``run.yaml``.
        build: all of ``run.yaml`` → a new model.
        learner: (goal, model, calls, data, fabric) → what the loop trains.
        set_to: (model, calls, steps) puts in what is no weight but a function of the steps done.
    """

    name: str
    goal: type[AnyGoal]
    learning_rate: float
    betas: tuple[float, float]
    describe: Callable[[AnyGoal, Dataset, ModelOptions], Calls]
    build: Callable[[Calls], AnyModel]
    learner: Callable[[AnyGoal, AnyModel, Calls, Dataset, Fabric], Learner]
    set_to: Callable[[AnyModel, Calls, int], None]


def _teach_vae(objective: Objective, model: VAE, calls: Calls, data: Dataset, fabric: Fabric) -> VAELearner:
    model.prior.start_from(data.images)
    model = model.to(fabric.device)
    adam = _adam(model.parameters(), calls)
    return VAELearner(model, objective, adam, len(data), fabric, temperature_of(calls["model"]))


def _set_temperature(model: VAE, calls: Calls, steps: int) -> None:
    model.temperature = weight_at(temperature_of(calls["model"]), max(steps - 1, 0))


def _teach_gan(game: Game, model: InfoGAN, calls: Calls, data: Dataset, fabric: Fabric) -> InfoGANLearner:
    if calls["training"]["batch_size"] // fabric.world_size < 2:
        raise DistaffError(
            "a GAN normalises over its batch, which needs 2 images a process: raise batch_size."
        )
    model = model.to(fabric.device)
    return InfoGANLearner(model, game, _adam(generator_parameters(model), calls), fabric)


def _adam(parameters: Iterable[nn.Parameter], calls: Calls) -> Adam:
    settings = calls["training"]
    first, second = settings["betas"]
    return make_adam(parameters, settings["learning_rate"], (first, second), settings["amsgrad"])


def _nothing(model: InfoGAN, calls: Calls, steps: int) -> None:
    """Weights are all there is."""


KINDS: tuple[Kind[Any, Any], ...] = (
    Kind(
        name="vae",
        goal=Objective,
        learning_rate=1e-4,
        betas=(0.9, 0.999),
        describe=describe_model,
        build=build_model,
        learner=_teach_vae,
        set_to=_set_temperature,
    ),
    Kind(
        name="infogan",
        goal=Game,
        learning_rate=1e-3,
        betas=(0.5, 0.999),
        describe=describe_gan,
        build=build_gan,
        learner=_teach_gan,
        set_to=_nothing,
    ),
)


def kind_for(goal: Goal) -> Kind[Any, Any]:
    """The kind of model that a recipe's return asks for."""
    return next(kind for kind in KINDS if isinstance(goal, kind.goal))


def kind_of(calls: Calls) -> Kind[Any, Any]:
    """The kind of model that a run's calls describe."""
    return next(kind for kind in KINDS if kind.name == calls["model"].get("kind", "vae"))
