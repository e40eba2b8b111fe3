"""Train a model of 2D Shapes further on what it draws worst, until hearts are hearts: 20 minutes of one core.

    python -m studies.zoo.hearts zoo:beta_vae-dsprites --beta 2 --out runs/hearts
    python -m studies.zoo.hearts zoo:factor_vae-dsprites --recipe factor_vae --settle 3000 --out runs/round

Four runs, each with the weights that the one before ended with:

1. ``settled``: all images, until squares and ellipses are sharp; only with ``--settle``;
2. ``worst-drawn``: the tenth of the images that the model draws worst, nearly all of them large hearts;
3. ``half-worst``: these, and as many others;
4. ``all-images``: the model's own recipe.

The weight of the KL is 0.05 in the first three and for 1,500 steps of the fourth, then grows to its value
within 1,500 more; the learning rate of the fourth falls from 1e-3 to 1e-4. None of them uses labels, though
``notches``, which measures the result, does. Why models need this: docs/quick-training-trials.md. The same
command resumes. ``python -m zoo.shelve runs/hearts/all-images --further NAME`` replaces the zoo's model.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, Delaunay

import distaff
from distaff.data import Dataset, dsprites
from distaff.models import Representation

HEART, SIZES = 2, 6
"""The heart among the shapes, and the number of sizes."""
SAMPLE, SHARE = 200_000, 0.1
"""How many random images are looked at, and the share of them that counts as drawn worst."""
WARM, FALLING = "linear:0:1e-3:200", "cosine:1e-3:1e-4:5500"
CRITIC = {"hidden": 500, "layers": 4, "learning_rate": 1e-3}


def opening(end: float) -> str:
    """A weight that is small for 1,500 steps and grows to its value in 1,500 more."""
    return f"linear:0.05:0.05:1500,exponential:0.05:{end:g}:1500"


def own_weights(recipe: str, beta: float) -> dict[str, Any]:
    """The weights of the last run."""
    if recipe == "factor_vae":
        gamma = "linear:0:0:1500,linear:0:10:1500"
        return {"bottleneck": opening(1), "gamma": gamma, "density": "remembered", "critic": CRITIC}
    if recipe == "beta_tcvae":
        return {"alpha": opening(1), "gamma": opening(1), "beta": opening(beta), "density": "remembered"}
    return {"beta": opening(beta)}


def worst_drawn(
    model: Representation, data: Dataset, count: int = SAMPLE, seed: int = 0
) -> NDArray[np.int64]:
    """The rows with the largest reconstruction errors among ``count`` random ones, in increasing order."""
    rows = np.random.default_rng(seed).choice(len(data), count, replace=False)
    errors = np.concatenate(
        [_errors(model, data.images[some]) for some in np.array_split(rows, -(-count // 500))]
    )
    return np.sort(rows[np.argsort(errors)[-round(SHARE * count) :]])


def _errors(model: Representation, x: torch.Tensor) -> NDArray[np.float32]:
    drawn = torch.as_tensor(model.decode(model.encode(x).means)).clamp(1e-6, 1 - 1e-6)
    return -(x * drawn.log() + (1 - x) * (1 - drawn).log()).flatten(1).sum(1).numpy()


def notches(model: Any, data: Dataset, count: int = 60) -> dict[int, float]:
    """Size → share of the pixels between a heart and its convex hull that are drawn dark."""
    assert data.factors is not None
    shape, size = (data.factors[:, data.names.index(name)] for name in ("shape", "scale"))
    found = {}
    for s in range(1, SIZES):  # the smallest hearts have too few of such pixels
        hearts = np.flatnonzero((shape == HEART) & (size == s))
        x = data.images[np.random.default_rng(0).choice(hearts, count, replace=False)]
        drawn = np.asarray(model.decode(model.encode(x).means))[:, 0]
        between = [hull(heart) & ~heart for heart in x[:, 0].numpy() > 0.5]
        shares = [(p[n] < 0.5).mean() for p, n in zip(drawn, between, strict=True) if n.any()]
        found[s] = round(float(np.mean(shares)), 2)
    return found


def hull(image: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(H, W) whether a pixel lies within the convex hull of the white ones."""
    white = np.argwhere(image)
    inside = Delaunay(white[ConvexHull(white).vertices]).find_simplex(np.argwhere(np.ones_like(image))) >= 0
    return np.asarray(inside.reshape(image.shape))


def main(model: str, recipe: str, beta: float, settle: int, seed: int, out: Path) -> None:
    """Train a model further in four runs, in folders below ``out``."""
    data, trained, start = dsprites.load(), distaff.load(model), model
    print(f"notch by size before: {notches(trained, data)}")
    low: dict[str, Any] = {"beta": 0.05, "learning_rate": WARM, "seed": seed}
    settled, worst, half, whole = (
        out / name for name in ("settled", "worst-drawn", "half-worst", "all-images")
    )
    if settle:
        trained = distaff.train(
            "beta_vae", "dsprites", start=start, steps=settle, revive=1, out=settled, **low
        )
        start = str(settled)
    rows = worst_drawn(trained, data, seed=seed)
    some = replace(data.subset(rows), name="dsprites, drawn worst")
    revive = None if settle else 1
    distaff.train("beta_vae", some, start=start, steps=1500, revive=revive, out=worst, **low)
    others = np.random.default_rng(seed).permutation(len(data))[: len(rows)]
    mixed = replace(data.subset(np.concatenate([rows, others])), name="dsprites, half drawn worst")
    distaff.train("beta_vae", mixed, start=worst, steps=1000, out=half, **low)
    ends = {**own_weights(recipe, beta), "learning_rate": FALLING, "seed": seed}
    trained = distaff.train(recipe, "dsprites", start=half, steps=5500, out=whole, **ends)
    print(f"notch by size after: {notches(trained, data)}")


if __name__ == "__main__":
    flags = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    flags.add_argument("model", help="a model of 2D Shapes: zoo:NAME or a run folder")
    flags.add_argument("--recipe", choices=["beta_vae", "factor_vae", "beta_tcvae"], default="beta_vae")
    flags.add_argument("--beta", type=float, default=1.0, help="of a β-VAE or β-TCVAE")
    flags.add_argument("--settle", type=int, default=0, help="steps on all images at first")
    flags.add_argument("--seed", type=int, default=0)
    flags.add_argument("--out", type=Path, required=True)
    main(**vars(flags.parse_args()))
