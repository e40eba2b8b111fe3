"""Entropies, mutual informations and gaps of tables of probabilities."""

import numpy as np

from distaff.codes import Codes, FloatArray
from distaff.metrics.inputs import Float64Array


def entropy(probabilities: FloatArray, axes: int = 1) -> Float64Array:
    """−Σ p log p over the last ``axes`` axes, in nats, with 0 log 0 = 0."""
    terms = probabilities * np.log(np.where(probabilities > 0, probabilities, 1))
    return np.asarray(-terms.sum(axis=tuple(range(-axes, 0)), dtype=np.float64))


def mutual_information(joint: FloatArray) -> Float64Array:
    """I(a; b) of joint tables (..., A, B); never below 0, as rounding would have it.

    A table made in float32 sums to 1 but for its rounding, which would look like information.
    """
    joint = joint / joint.sum(axis=(-2, -1), keepdims=True)
    separate = entropy(joint.sum(axis=-1)) + entropy(joint.sum(axis=-2))
    return np.maximum(separate - entropy(joint, axes=2), 0)


def highest_two(information: Float64Array) -> tuple[Float64Array, Float64Array]:
    """The highest I* and second highest I° of (..., latents, K) over latents: two arrays (..., K).

    With one latent there is no second one and I° is 0.
    """
    ordered: Float64Array = np.sort(information, axis=-2)
    best = ordered[..., -1, :]
    second = ordered[..., -2, :] if information.shape[-2] > 1 else np.zeros_like(best)
    return best, second


def one_latent_note(codes: Codes) -> tuple[str, ...]:
    """The note that explains a gap over a single latent."""
    return ("there is one latent: the second highest information counts as 0",) * (len(codes.names) == 1)
