"""``Representation``: a trained model for people: images in, codes out, and back."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from distaff.codes import Codes, as_array
from distaff.data.arrays import from_array
from distaff.errors import DistaffError, unknown
from distaff.memory import keep_freed_memory
from distaff.models.layout import channels_last, images_channels_last
from distaff.models.posteriors import GaussianPosterior, Posterior
from distaff.models.vae import VAE

BATCH = 256


class Representation:
    """A trained VAE with plain arrays at its borders.

    Args:
        model: the VAE.
        shape: (C, H, W) of an image.
    """

    def __init__(self, model: VAE, shape: tuple[int, ...]) -> None:
        keep_freed_memory()
        self.model, self.shape = channels_last(model.eval()), tuple(shape)

    @property
    def names(self) -> tuple[str, ...]:
        """One name a latent variable, as in ``Codes.names``."""
        return tuple(f"z{d}" for d in range(self.model.latents.dims))

    def encode(self, images: Any, progress: Callable[[int], None] | None = None) -> Codes:
        """q(z|x) of images (N, C, H, W): an array, a tensor, or anything sliced like ``Dataset.images``.

        Args:
            images: values in [0, 1].
            progress: called with the number of images done, now and then.
        """
        means, logvars, done = [], [], 0
        for x in self.batches(images):
            with torch.inference_mode():
                mu, logvar = gaussian_parameters(self.model.encode(x))
            means.append(mu.cpu().numpy())
            logvars.append(logvar.cpu().numpy())
            done += len(mu)
            if progress is not None:
                progress(done)
        return Codes(np.concatenate(means), np.concatenate(logvars))

    @torch.inference_mode()
    def decode(self, z: Any) -> NDArray[np.float32]:
        """E[x|z] (N, C, H, W) in [0, 1] of latents (N, width)."""
        latents = torch.as_tensor(as_array(z), dtype=torch.float32)
        width = self.model.latents.width
        if latents.ndim != 2 or latents.shape[1] != width:
            raise DistaffError(f"latents to decode must have shape (N, {width}), not {tuple(latents.shape)}.")
        return np.concatenate(
            [
                self.model.decode(part.to(self.device)).mean.cpu().numpy()
                for part in torch.split(latents, BATCH)
            ]
        )

    def reconstruct(self, images: Any) -> NDArray[np.float32]:
        """Decode the means of q(z|x)."""
        return self.decode(self.encode(images).means)

    def traverse(
        self,
        image: Any = None,
        latents: Sequence[int | str] | None = None,
        values: Sequence[float] = tuple(np.linspace(-2, 2, 9)),
    ) -> NDArray[np.float32]:
        """Decode one latent moved at a time, (latents, steps, C, H, W), the others held.

        Args:
            image: (C, H, W) where to start; None starts from the prior's centre, z = 0.
            latents: which ones, by number or name; all by default.
            values: what the latent is set to.
        """
        rows = [self.latent(which) for which in (range(len(self.names)) if latents is None else latents)]
        start = np.zeros(self.model.latents.width, np.float32)
        if image is not None:
            start = self.encode(as_array(image)[None]).means[0]
        z = np.broadcast_to(start, (len(rows), len(values), len(start))).copy()
        for row, latent in enumerate(rows):
            z[row, :, latent] = values
        return self.decode(z.reshape(-1, len(start))).reshape(len(rows), len(values), *self.shape)

    def latent(self, which: int | str) -> int:
        """The number of a latent given by number or name."""
        names = self.names
        if isinstance(which, str) and which in names:
            return names.index(which)
        if isinstance(which, str) and not which.isdigit():
            raise unknown("latent", which, names)
        if not 0 <= int(which) < len(names):
            raise DistaffError(f"there is no latent {which}: the model has {len(names)}, from 0.")
        return int(which)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def batches(self, images: Any) -> Iterator[Tensor]:
        """The images in blocks, as float32 tensors on the model's device, shapes checked."""
        if isinstance(images, np.ndarray | Tensor | list | tuple):
            images = from_array(as_array(images)).images
        if tuple(images.shape) != self.shape:
            raise DistaffError(
                f"images have shape {tuple(images.shape)} but the model was trained on {self.shape}."
            )
        for start in range(0, len(images), BATCH):
            yield images_channels_last(images[start : start + BATCH].to(self.device))


def gaussian_parameters(posterior: Posterior) -> tuple[Tensor, Tensor]:
    """Means and log-variances (B, D) of the Gaussian groups, side by side."""
    parts = [part for part in posterior.parts.values() if isinstance(part, GaussianPosterior)]
    return torch.cat([part.mu for part in parts], 1), torch.cat([part.logvar for part in parts], 1)
