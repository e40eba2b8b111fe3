"""Pinwheel: points of the plane in a few spiral arms."""

import numpy as np

from distaff.data.about import About
from distaff.data.dataset import Dataset
from distaff.data.images import FloatImages
from distaff.foundation.errors import DistaffError

ABOUT = About(
    summary="Points of the plane in four spiral arms, made here.",
    source="Johnson et al. (2016), §6; the settings are those of Mathieu et al. (2019), App. B",
    licence="Apache-2.0",
    citation="Johnson, Duvenaud, Wiltschko, Datta & Adams (2016), Composing graphical models with networks",
    count=400,
    shape=(2,),
    factors={"arm": 4},
    built_in=True,
)


def load(
    count: int = 400,
    arms: int = 4,
    radial: float = 0.3,
    tangential: float = 0.1,
    rate: float = 0.25,
    seed: int = 0,
) -> Dataset:
    """``count`` points of which equally many lie in each arm, in random order; the factor is the arm.

    A point starts as (1 + radial·ε₁, tangential·ε₂) and is turned by its arm's angle plus rate·exp(x₁). The
    defaults are the points of Mathieu et al. as their code makes them: App. B prints a radial spread of 0.1
    and a tangential one of 0.3, but the generator it passes them to gives the 0.3 to x₁. The printed reading
    is ``radial=0.1, tangential=0.3``.

    Args:
        count: how many points.
        arms: how many spirals.
        radial: the spread along an arm.
        tangential: the spread across it.
        rate: how strongly arms bend.
        seed: of the random numbers.
    """
    if arms < 1 or count < arms or count % arms:
        raise DistaffError(f"{count} points cannot be shared out evenly among {arms} arms.")
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 2)) * (radial, tangential) + (1, 0)
    arm = rng.permutation(np.arange(count) % arms)
    turn = 2 * np.pi * arm / arms + rate * np.exp(points[:, 0])
    x, y = points.T
    turned = np.stack([x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)], axis=1)
    return Dataset(FloatImages(turned.astype(np.float32)), arm[:, None], ("arm",), (arms,), name="pinwheel")
