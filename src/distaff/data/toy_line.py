"""A few points on the real line, for models whose latent and observed space can both be drawn."""

import numpy as np

from distaff.data.about import About
from distaff.data.dataset import Dataset
from distaff.data.images import FloatImages
from distaff.foundation.errors import DistaffError

ABOUT = About(
    summary="A few evenly spaced points on the real line, generated.",
    source="after Esmaeili et al. (2018), Fig. 3",
    licence="Apache-2.0",
    citation="Esmaeili et al. (2018), Hierarchical disentangled representations",
    count=8,
    shape=(1,),
    factors={"point": 8},
    built_in=True,
)


def load(count: int = 8, end: float = 2.0) -> Dataset:
    """``count`` points from −``end`` to ``end``; the factor is the point's number.

    Args:
        count: number of points.
        end: the last point; the first is its negative.
    """
    if count < 2 or not end > 0:
        raise DistaffError(f"a line of {count} points up to {end:g}: it needs two points and a positive end.")
    points = np.linspace(-end, end, count, dtype=np.float32)[:, None]
    return Dataset(FloatImages(points), np.arange(count)[:, None], ("point",), (count,), name="toy_line")
