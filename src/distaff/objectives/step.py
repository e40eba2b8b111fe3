"""``Step``: one training batch and everything a term may ask of it, computed when first asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from torch import Tensor, nn

from distaff.models.vae import Output


@dataclass(frozen=True)
class Step:
    """One batch through the model at one moment of training.

    Args:
        output: the model's distributions for the batch.
        index: the number of the step, from 0.
        data_size: N, the number of observations in the data set.
        networks: the networks of terms that own one, by term name.
    """

    output: Output
    index: int
    data_size: int
    networks: Mapping[str, nn.Module] = field(default_factory=dict)

    @property
    def z(self) -> Tensor:
        """(B, width) the sampled latents."""
        return self.output.z

    @cached_property
    def log_px_z(self) -> Tensor:
        """log p(x|z) (B,)."""
        return self.output.likelihood.log_prob(self.output.x)

    @cached_property
    def kl_dims(self) -> Tensor:
        """KL(q(z_d|x) ‖ p(z_d)) (B, D) of the marginals, in closed form where one exists."""
        return self.output.prior.kl_dims(self.output.posterior, self.z)

    @cached_property
    def kl(self) -> Tensor:
        """KL(q(z|x) ‖ p(z)) (B,), in closed form where one exists."""
        return self.output.prior.kl(self.output.posterior, self.z)

    @cached_property
    def log_qz_x(self) -> Tensor:
        """log q(z|x) (B,) at the sample."""
        return self.output.posterior.log_prob(self.z)

    @cached_property
    def log_pz(self) -> Tensor:
        """log p(z) (B,) at the sample."""
        return self.output.prior.log_prob(self.z)
