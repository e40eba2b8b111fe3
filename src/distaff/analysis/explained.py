"""The fraction of the data's variance that a model's reconstructions explain, whatever its likelihood."""

import numpy as np

from distaff.data.dataset import Dataset
from distaff.models.representation import Representation


def explained_variance(model: Representation, data: Dataset) -> float:
    """The fraction of the observations' variance that reconstructions from the means of q(z|x) explain.

    R² = 1 − Σ (x − x̂)² / Σ (x − x̄)², summed over observations and values, with x̄ the mean of each value:
    1 for perfect reconstructions, 0 for a decoder that always returns the mean of all observations, and less
    than 0 for a worse one. Missing values are left out; data that never vary give 0.

    >>> import distaff
    >>> model = distaff.train("vae", "pinwheel", steps=2, batch_size=8, progress=False)
    >>> explained_variance(model, distaff.data.pinwheel.load(count=80)) < 0.9
    True
    """
    seen = data.images[:].numpy().astype(np.float64)
    errors = seen - model.decode(model.to_z(model.encode(data.images)))
    total = float(np.nansum((seen - np.nanmean(seen, axis=0)) ** 2))
    return 1 - float(np.nansum(errors**2)) / total if total > 0 else 0.0
