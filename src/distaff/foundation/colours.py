"""Convert images with any number of channels to the one or three that a screen shows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def on_a_screen(images: NDArray[Any]) -> NDArray[Any]:
    """Images (…, C, H, W) with 1 or 3 channels: RGBA on white, the mean of other numbers of channels.

    >>> clear, solid = np.array([0.2, 0.4, 0.6, 0.0]), np.array([0.2, 0.4, 0.6, 1.0])
    >>> on_a_screen(np.stack([clear, solid])[:, :, None, None]).reshape(2, 3).tolist()
    [[1.0, 1.0, 1.0], [0.2, 0.4, 0.6]]
    """
    channels = images.shape[-3]
    if channels in (1, 3):
        return images
    if channels != 4:
        return np.asarray(images.mean(-3, keepdims=True))
    colours, solid = images[..., :3, :, :], images[..., 3:, :, :].clip(0, 1)
    return np.asarray(colours * solid + (1 - solid))
