"""pythae's models and trainers with Kim & Mnih's networks on dSprites, as a user would write them.

Batches have 64 images; pythae splits a FactorVAE's batch into the two of Algorithm 2, so it gets 128.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from pythae.data.datasets import DatasetOutput
from pythae.models import BetaTCVAE, BetaTCVAEConfig, BetaVAE, BetaVAEConfig, FactorVAE, FactorVAEConfig
from pythae.models.base.base_utils import ModelOutput
from pythae.models.nn import BaseDecoder, BaseEncoder
from pythae.pipelines import TrainingPipeline
from pythae.trainers import AdversarialTrainerConfig, BaseTrainerConfig
from pythae.trainers.training_callbacks import TrainingCallback

from benchmarks.handwritten import plain_networks
from distaff.data.dataset import Dataset

BATCH = {"beta_vae": 64, "beta_tcvae": 64, "factor_vae": 128}
SHAPE: dict[str, Any] = {"input_dim": (1, 64, 64), "latent_dim": 10, "reconstruction_loss": "bce"}


class Encoder(BaseEncoder):
    """Images → means and log-variances."""

    def __init__(self) -> None:
        super().__init__()
        self.net = plain_networks().encoder

    def forward(self, x: torch.Tensor) -> ModelOutput:
        mu, logvar = self.net(x).chunk(2, dim=1)
        return ModelOutput(embedding=mu, log_covariance=logvar)


class Decoder(BaseDecoder):
    """Latents → probabilities of pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.net = plain_networks().decoder

    def forward(self, z: torch.Tensor) -> ModelOutput:
        return ModelOutput(reconstruction=self.net(z).sigmoid())


class Images(torch.utils.data.Dataset):
    """All images, one at a time, as pythae's loader requests them; as floats they would take 12 GB."""

    def __init__(self, data: Dataset) -> None:
        self.images = data.images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> DatasetOutput:
        return DatasetOutput(data=self.images[index], labels=torch.zeros(1))


def model(recipe: str) -> BetaVAE | BetaTCVAE | FactorVAE:
    """A model with the weights of its paper: β = 4, β = 6, γ = 35."""
    if recipe == "factor_vae":
        return FactorVAE(FactorVAEConfig(**SHAPE, gamma=35.0), Encoder(), Decoder())
    if recipe == "beta_tcvae":
        return BetaTCVAE(BetaTCVAEConfig(**SHAPE, beta=6.0), Encoder(), Decoder())
    return BetaVAE(BetaVAEConfig(**SHAPE, beta=4.0), Encoder(), Decoder())


def train(
    made: BetaVAE | BetaTCVAE | FactorVAE,
    recipe: str,
    images: Any,
    folder: Path,
    callbacks: Sequence[TrainingCallback],
    *,
    rate: float = 1e-4,
    seed: int = 0,
    epochs: int = 1,
) -> None:
    """Train with pythae's own pipeline and Adam; a critic's Adam has the betas of Kim & Mnih.

    Args:
        made: the model.
        recipe: name of the recipe in distaff.
        images: array (N, 1, 64, 64), or a data set in pythae's form.
        folder: folder for the trainer's output.
        callbacks: callbacks of the trainer.
        rate: learning rate of Adam, and of the critic's Adam if there is a critic.
        seed: seed of batches and samples.
        epochs: number of passes over all images.
    """
    shared: dict[str, Any] = {
        "output_dir": str(folder),
        "num_epochs": epochs,
        "per_device_train_batch_size": BATCH[recipe],
        "seed": seed,
    }
    if recipe == "factor_vae":
        rates = {"autoencoder_learning_rate": rate, "discriminator_learning_rate": rate}
        betas = {"discriminator_optimizer_params": {"betas": (0.5, 0.9)}}
        config: BaseTrainerConfig = AdversarialTrainerConfig(**shared, **rates, **betas)
    else:
        config = BaseTrainerConfig(**shared, learning_rate=rate)
    pipeline = TrainingPipeline(training_config=config, model=made)
    pipeline(train_data=images, callbacks=list(callbacks))
