"""Train a model of 2D Shapes further until it draws hearts as hearts: 20 minutes of one core.

    python -m studies.zoo.hearts zoo:beta_vae-dsprites --out runs/hearts
    python -m studies.zoo.hearts zoo:factor_vae-dsprites --recipe factor_vae --out runs/factor-hearts

Three runs, each with the weights that the one before ended with: 1,500 steps on large hearts alone, 1,000
on batches that are half large hearts, 5,500 on all images with the model's own recipe. The weight of the KL
is 0.05 in the first two and for 1,500 steps of the third, then grows to its value within 1,500 more; the
learning rate of the third falls from 1e-3 to 1e-4. Why models need this: docs/quick-training.md.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, Delaunay

import distaff
from distaff.data import Dataset, dsprites

HEART, LARGE, SIZES = 2, 3, 6
"""The heart among the shapes, the first size that counts as large, and the number of sizes."""
WARM, FALLING = "linear:0:1e-3:200", "cosine:1e-3:1e-4:5500"
CRITIC = {"hidden": 500, "layers": 4, "learning_rate": 1e-3}


def opening(end: float) -> str:
    """A weight that is small for 1,500 steps and grows to its value in 1,500 more."""
    return f"linear:0.05:0.05:1500,exponential:0.05:{end:g}:1500"


def own_weights(recipe: str, beta: float) -> dict[str, Any]:
    """The weights of the third run."""
    if recipe == "factor_vae":
        gamma = "linear:0:0:1500,linear:0:10:1500"
        return {"bottleneck": opening(1), "gamma": gamma, "density": "remembered", "critic": CRITIC}
    if recipe == "beta_tcvae":
        return {"alpha": opening(1), "gamma": opening(1), "beta": opening(beta), "density": "remembered"}
    return {"beta": opening(beta)}


def hearts(data: Dataset, sizes: range) -> NDArray[np.int64]:
    """The rows of hearts of some sizes."""
    assert data.factors is not None
    shape, size = (data.factors[:, data.names.index(name)] for name in ("shape", "scale"))
    return np.flatnonzero((shape == HEART) & np.isin(size, list(sizes)))


def notches(model: Any, data: Dataset, count: int = 60) -> dict[int, float]:
    """Size → share of the pixels between a heart and its convex hull that are drawn dark."""
    found = {}
    for size in range(1, SIZES):  # the smallest hearts have too few of such pixels
        rows = np.random.default_rng(0).choice(hearts(data, range(size, size + 1)), count, replace=False)
        x = data.images[rows]
        drawn = np.asarray(model.decode(model.encode(x).means))[:, 0]
        between = [hull(heart) & ~heart for heart in x[:, 0].numpy() > 0.5]
        shares = [(p[n] < 0.5).mean() for p, n in zip(drawn, between, strict=True) if n.any()]
        found[size] = round(float(np.mean(shares)), 2)
    return found


def hull(image: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(H, W) whether a pixel lies within the convex hull of the white ones."""
    white = np.argwhere(image)
    inside = Delaunay(white[ConvexHull(white).vertices]).find_simplex(np.argwhere(np.ones_like(image))) >= 0
    return np.asarray(inside.reshape(image.shape))


def main(model: str, recipe: str, beta: float, seed: int, out: Path) -> None:
    """Train a model further in three runs, in folders below ``out``."""
    data = dsprites.load()
    large = hearts(data, range(LARGE, SIZES))
    others = np.random.default_rng(seed).permutation(len(data))[: len(large)]
    print(f"notch by size before: {notches(distaff.load(model), data)}")
    alone, half, whole = (out / name for name in ("large-hearts", "half-hearts", "all-images"))
    common: dict[str, Any] = {"beta": 0.05, "learning_rate": WARM, "seed": seed}
    distaff.train("beta_vae", data.subset(large), start=model, steps=1500, revive=1, out=alone, **common)
    mixed = data.subset(np.concatenate([large, others]))
    distaff.train("beta_vae", mixed, start=alone, steps=1000, out=half, **common)
    ends = {**own_weights(recipe, beta), "learning_rate": FALLING, "seed": seed}
    trained = distaff.train(recipe, "dsprites", start=half, steps=5500, out=whole, **ends)
    print(f"notch by size after: {notches(trained, data)}")


if __name__ == "__main__":
    flags = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    flags.add_argument("model", help="a model of 2D Shapes: zoo:NAME or a run folder")
    flags.add_argument("--recipe", choices=["beta_vae", "factor_vae", "beta_tcvae"], default="beta_vae")
    flags.add_argument("--beta", type=float, default=2.0, help="of a β-VAE or β-TCVAE")
    flags.add_argument("--seed", type=int, default=0)
    flags.add_argument("--out", type=Path, required=True)
    main(**vars(flags.parse_args()))
