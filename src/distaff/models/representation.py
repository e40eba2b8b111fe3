"""``Representation``: a trained model that maps arrays of images to codes and back."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from distaff.codes import Codes, FloatArray, as_array
from distaff.data.arrangements import Arrangement, Table
from distaff.data.bringing_in import bring_in, is_given
from distaff.data.dataset import Dataset
from distaff.data.signals import Signals
from distaff.foundation.errors import DistaffError
from distaff.foundation.parallel import side_by_side
from distaff.foundation.process import keep_freed_memory
from distaff.models.ica import Unmixing
from distaff.models.infogan import InfoGAN
from distaff.models.latents import code_tensors, codes_from, to_z
from distaff.models.networks.halving import channels_last, images_channels_last
from distaff.models.vae import VAE

BATCH = 256
Model = VAE | InfoGAN


class Representation:
    """A trained model that takes and returns plain arrays.

    Args:
        model: the VAE, or the GAN whose Q encodes and whose generator decodes.
        shape: (C, H, W) of an image, or (D,) of a vector.
        arrangement: how the training data were prepared; new data are prepared in the same way.
        titles: users' names for latents, which can be used in place of ``z0``, ``z1``, ….
        unmixing: an ICA of the model's real latents (``distaff.ica``); if given, its components take their
            place in codes.
    """

    def __init__(
        self,
        model: Model,
        shape: tuple[int, ...],
        arrangement: Arrangement | None = None,
        titles: Mapping[str, str] | None = None,
        unmixing: Unmixing | None = None,
    ) -> None:
        keep_freed_memory()
        self.model: Model = channels_last(model.eval())
        self.shape = tuple(shape)
        self.arrangement, self.titles, self.unmixing = arrangement, dict(titles or {}), unmixing

    def unmixed(self, unmixing: Unmixing | None) -> "Representation":
        """The same model with an ICA of its codes; None removes it."""
        return Representation(self.model, self.shape, self.arrangement, self.titles, unmixing)

    @property
    def names(self) -> tuple[str, ...]:
        """One name per latent variable, as in ``Codes.names``: the real ones, then the discrete ones."""
        return tuple(variable.name for variable in self.model.latents.coded)

    def encode(self, images: Any, progress: Callable[[int], None] | None = None) -> Codes:
        """q(z|x) of new data, prepared in the same way as the training data.

        Args:
            images: path of a folder, an archive, a photograph, a table or a file of arrays; a PIL image, a
                data frame, a ``Dataset``; an array or tensor of one observation or of many, such as
                (N, C, H, W); or any object that can be sliced like ``Dataset.images``.
            progress: function that is called now and then with the number of images done.
        """
        images = self._checked(images)

        @torch.inference_mode()
        def of_block(start: int) -> dict[str, NDArray[np.float32]]:
            tensors = code_tensors(self.model.encode(self._block(images, start)))
            return {name: tensor.cpu().numpy() for name, tensor in tensors.items()}

        blocks = side_by_side(of_block, range(0, len(images), BATCH))
        codes = codes_from(joined(blocks, len(images), progress))
        return codes if self.unmixing is None else self.unmixing(codes)

    def to_z(self, codes: Codes) -> NDArray[np.float32]:
        """z (N, width) of codes: the means, and the most likely class of each discrete variable, one-hot."""
        return to_z(codes, self.model.latents)

    @torch.inference_mode()
    def decode(self, z: Any) -> NDArray[np.float32]:
        """E[x|z] (N, C, H, W) of latents z (N, width), see ``to_z``.

        A generator uses the same noise for all images, unless each row has its own after the codes:
        z (N, width + noise).
        """
        latents = torch.tensor(as_array(z), dtype=self.dtype)
        width, noise = self.model.latents.width, self.model.latents.noise
        if latents.ndim != 2 or latents.shape[1] not in (width, width + noise):
            wanted = f"(N, {width})" + (f" or (N, {width + noise})" if noise else "")
            raise DistaffError(f"latents to decode must have shape {wanted}, not {tuple(latents.shape)}.")
        if self.unmixing is not None:
            real = [v.columns.start for v in self.model.latents.coded if not v.classes]
            latents[:, real] = torch.as_tensor(self.unmixing.mix(latents[:, real].numpy()), dtype=self.dtype)
        parts = torch.split(latents, BATCH)
        return np.concatenate([self.model.decode(part.to(self.device)).mean.cpu().numpy() for part in parts])

    def reconstruct(self, images: Any) -> Any:
        """Decode the means of q(z|x) and the most likely classes: (N, C, H, W), or the rows of a table.

        Rows are returned in the user's columns and units, as a data frame if the input had headings. Missing
        values are filled in; all other values are the model's reconstructions too.
        """
        return self._given_back(self.decode(self.to_z(self.encode(images))))

    def sample(self, count: int = 10, seed: int = 0) -> Any:
        """E[x|z] of ``count`` latents drawn from the prior, in the form that ``reconstruct`` returns.

        >>> import distaff
        >>> model = distaff.train("vae", "pinwheel", steps=2, batch_size=8, progress=False)
        >>> model.sample(3).shape
        (3, 2)
        """
        if not isinstance(count, int | np.integer) or count < 1:
            raise DistaffError(f"the number to draw must be a whole number of at least 1, not {count!r}.")
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return self._given_back(self.model.draw(count).cpu().numpy())

    def interpolate(self, first: Any, second: Any, steps: int = 9) -> Any:
        """Decode points on the straight line in z from one observation to another, both ends included.

        Args:
            first: one observation, as ``encode`` takes it.
            second: another observation.
            steps: number of points.

        Returns:
            (steps, C, H, W), or rows of a table.
        """
        if not isinstance(steps, int | np.integer) or steps < 2:
            raise DistaffError(f"steps must be a number of points, 2 or more, not {steps!r}.")
        start, end = (self._one(observation) for observation in (first, second))
        share = np.linspace(0, 1, steps, dtype=np.float32)[:, None]
        return self._given_back(self.decode((1 - share) * start + share * end))

    def set_latents(self, images: Any, values: Mapping[int | str, float]) -> Any:
        """Decode observations with some latents set to other values and the others unchanged.

        Args:
            images: observations, as ``encode`` takes them.
            values: value of each latent to set, by its number, its name (``"z3"``) or a user's name for it
                (``"size"``); for a discrete latent, the number of the class.

        Returns:
            (N, C, H, W), or rows of a table.
        """
        if not isinstance(values, Mapping):
            raise DistaffError(f'values are given by latent, as in {{"{self.names[0]}": 1.5}}.')
        for which, value in values.items():
            if not isinstance(value, int | float | np.number) or not np.isfinite(value):
                raise DistaffError(f"the value of {which!r} must be a number, not {value!r}.")
        z = self.to_z(self.encode(images))
        for which, value in values.items():
            variable = self.model.latents.coded[self.latent(which)]
            if variable.classes and value not in range(variable.classes):
                raise DistaffError(f"{which!r} has the classes 0 … {variable.classes - 1}, not {value}.")
            z[:, variable.columns] = variable.corners[int(value)] if variable.classes else value
        return self._given_back(self.decode(z))

    def _one(self, observation: Any) -> NDArray[np.float32]:
        codes = self.encode(observation)
        if len(codes) != 1:
            raise DistaffError(f"one observation is needed, but {len(codes)} were given.")
        z: NDArray[np.float32] = self.to_z(codes)[0]
        return z

    def _given_back(self, observations: NDArray[np.float32]) -> Any:
        how = self.arrangement
        return how.back(observations) if isinstance(how, Table | Signals) else observations

    def vary_noise(self, images: Any, count: int = 10, seed: int = 0) -> NDArray[np.float32]:
        """Keep the codes of each image and draw new noise, (N, count, C, H, W) (FactorVAE Fig. 26).

        The images show what the codes do not determine.
        """
        noise = self.model.latents.noise
        if not noise:
            raise DistaffError("a VAE has no noise beside its latents to vary: only GANs do.")
        z = np.repeat(self.to_z(self.encode(images)), count, axis=0)
        draws = np.random.default_rng(seed).standard_normal((len(z), noise), np.float32)
        return self.decode(np.concatenate([z, draws], axis=1)).reshape(-1, count, *self.shape)

    def traverse(
        self,
        image: Any = None,
        latents: int | str | Sequence[int | str] | None = None,
        values: Sequence[float] | None = None,
    ) -> NDArray[np.float32]:
        """Decode one latent at a time over a range of values, the others fixed: (latents, steps, C, H, W).

        A discrete latent goes through its classes. A row with fewer steps than the longest ends in NaN.

        Args:
            image: starting point, one observation as ``encode`` takes it; by default z = 0 and the first
                class of discrete latents.
            latents: one or several latents, by number or name; all by default.
            values: values of a real latent; by default nine from −2 to 2, or from −1 to 1 for U[−1, 1].
        """
        space = self.model.latents
        values = np.linspace(-space.reach, space.reach, 9).tolist() if values is None else values
        latents = range(len(self.names)) if latents is None else latents
        which = [latents] if isinstance(latents, int | str) else latents
        variables = [space.coded[self.latent(one)] for one in which]
        start = self._centre() if image is None else self._one(image)
        rows = []
        for variable in variables:
            settings = variable.corners if variable.classes else np.asarray(values, np.float32)[:, None]
            z = np.repeat(start[None], len(settings), axis=0)
            z[:, variable.columns] = settings
            rows.append(z)
        decoded = self.decode(np.concatenate(rows))
        images = np.full((len(rows), max(map(len, rows)), *self.shape), np.nan, np.float32)
        ends = np.cumsum([len(row) for row in rows])
        for grid, row, end in zip(images, rows, ends, strict=True):
            grid[: len(row)] = decoded[end - len(row) : end]
        return images

    def __repr__(self) -> str:
        return f"Representation({self._about})"

    @property
    def _about(self) -> str:
        return f"{type(self.model).__name__} with {len(self.names)} latents, of observations {self.shape}"

    def _repr_html_(self) -> str:
        """The notebook view: a small traversal from z = 0, first of the latents that change images most."""
        from distaff.models.traversal_sheet import traversal_sheet

        return traversal_sheet(self, self._about)

    def latent(self, which: int | str) -> int:
        """The number of a latent given by its number, its name or a user's name for it."""
        own = {title: name for name, title in self.titles.items()}
        return self.model.latents.number(own.get(which, which) if isinstance(which, str) else which)

    def _centre(self) -> NDArray[np.float32]:
        z = np.zeros(self.model.latents.width, np.float32)
        for variable in self.model.latents.variables:
            if variable.classes:
                z[variable.columns] = variable.corners[0]
        return z

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """The model's precision."""
        return next(self.model.parameters()).dtype

    def batches(self, images: Any) -> Iterator[Tensor]:
        """Images, or those of a data set, in blocks with the model's device and precision."""
        images = self._checked(images)
        return (self._block(images, start) for start in range(0, len(images), BATCH))

    def _checked(self, images: Any) -> Any:
        """Images that can be sliced like ``Dataset.images`` and have the model's shape."""
        if isinstance(images, Dataset):
            images = images.images
        elif not hasattr(images, "shape") or not hasattr(images, "__len__") or is_given(images):
            images = bring_in(images, self.shape, self.arrangement).images
        if tuple(images.shape) != self.shape:
            raise DistaffError(
                f"images have shape {tuple(images.shape)} but the model was trained on {self.shape}."
            )
        return images

    def _block(self, images: Any, start: int) -> Tensor:
        return images_channels_last(images[start : start + BATCH].to(self.device, self.dtype))


def joined(
    blocks: Iterable[Mapping[str, FloatArray]], count: int, progress: Callable[[int], None] | None = None
) -> dict[str, FloatArray]:
    """Arrays of ``count`` rows from blocks of rows, each copied into its place as it arrives.

    If the blocks' small arrays were kept until the end, they would lie between the large ones that a network
    frees at every block, and the heap would grow by one such hole per block.
    """
    whole: dict[str, FloatArray] = {}
    done = 0
    for block in blocks:
        for name, values in block.items():
            if name not in whole:
                whole[name] = np.empty((count, *values.shape[1:]), values.dtype)
            whole[name][done : done + len(values)] = values
        done += len(values)
        if progress is not None:
            progress(done)
    return whole
