"""Every figure with made data of realistic size and spread, for tests and for looking at.

``python -m tests.figures.gallery FOLDER`` writes them all as PNG.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from distaff import figures

FACTORS = ["shape", "scale", "orientation", "x position", "y position"]
STEPS = np.arange(0, 300_001, 5000)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def blobs(*shape: int, channels: int = 1, side: int = 32) -> np.ndarray:
    """Images of a soft disc whose place drifts along the last axis and whose size changes down the rows."""
    rows, steps = shape if len(shape) == 2 else (1, *shape)
    y, x = np.mgrid[:side, :side] / side
    centre = np.linspace(0.2, 0.8, steps)[None, :, None, None]
    radius = np.linspace(0.08, 0.3, rows)[:, None, None, None]
    discs = 1 / (1 + np.exp(40 * (np.hypot(x - centre, y - 0.5) - radius)))
    colours = rng().random((1, 1, channels, 1, 1)) * 0.7 + 0.3 if channels == 3 else 1.0
    images = discs[:, :, None] * colours * np.ones((1, 1, channels, 1, 1))
    return images if len(shape) == 2 else images[0]


def decay(start: float, end: float, seeds: int = 5, noise: float = 0.03) -> np.ndarray:
    shape = np.exp(-STEPS / 4e4) + noise * rng(1).normal(size=(seeds, len(STEPS)))
    return end + (start - end) * shape


def training_curves() -> Figure:
    terms = {
        "nll": decay(450, 45)[0],
        "kl": decay(0.5, 22)[0],
        "density_ratio_tc": decay(3, 0.3)[0],
        "loss": decay(500, 75)[0],
        "critic_accuracy": decay(0.8, 0.53)[0],
    }
    return figures.training_curves(STEPS, terms, title="factor_vae · γ = 35 · seed 0")


def curves_by_setting() -> Figure:
    errors = {1: decay(300, 30), 4: decay(300, 45), 16: decay(300, 90)}
    scores = {1: decay(0.2, 0.6), 4: decay(0.2, 0.73), 16: decay(0.2, 0.5)}
    other = {10: decay(300, 33), 20: decay(300, 38), 40: decay(300, 45)}
    rows = {10: decay(0.2, 0.7), 20: decay(0.2, 0.78), 40: decay(0.2, 0.82)}
    grid = {
        "reconstruction error (nats)": {"β-VAE": errors, "FactorVAE": other},
        "FactorVAE score": {"β-VAE": scores, "FactorVAE": rows},
    }
    return figures.curves_by_setting(STEPS, grid, setting="β or γ")


def trade_off() -> Figure:
    spread = rng(2)
    runs = {
        name: {
            value: (error + 2 * spread.normal(size=10), score + 0.04 * spread.normal(size=10))
            for value, error, score in points
        }
        for name, points in {
            "β-VAE": [
                (1, 28, 0.61),
                (2, 34, 0.67),
                (4, 45, 0.73),
                (6, 58, 0.7),
                (8, 70, 0.66),
                (16, 92, 0.55),
            ],
            "FactorVAE": [
                (10, 31, 0.7),
                (20, 36, 0.76),
                (30, 40, 0.8),
                (40, 45, 0.82),
                (50, 52, 0.8),
                (100, 66, 0.74),
            ],
        }.items()
    }
    return figures.trade_off(runs)


def scores_by_setting() -> Figure:
    scores = {
        "FactorVAE": {g: rng(g).normal(3, 0.2, 4) for g in (10, 20, 50, 100)},
        "β-VAE": {b: rng(b).normal(2.5 - b / 40, 0.2, 4) for b in (1, 4, 10, 20, 50)},
    }
    return figures.scores_by_setting(
        scores, score="WSEPIN (nats)", setting="weight of the TC (FactorVAE) or β"
    )


def points(slope: float, shift: float, noise: float = 0.1) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    x = rng(4).uniform(0.2, 3, (2, 20))
    y = slope * x + shift + noise * rng(5).normal(size=x.shape)
    return {"FactorVAE": (x[0], y[0]), "β-VAE": (x[1] / 2, y[1] / 2 + shift / 2)}


def agreement() -> Figure:
    return figures.agreement({("DCI disentanglement", "JEMMIG (nats)"): points(-1, 4, 0.6)})


def kl_bars() -> Figure:
    return figures.kl_bars(rng().gamma(1, 1, 10))


def informativeness_bars() -> Figure:
    models = {"FactorVAE (TC = 50)": 0.8, "β-VAE (β = 50)": 0.4, "AAE": 0.9}
    return figures.informativeness_bars(
        {name: scale * rng(6).beta(0.6, 0.6, 10) for name, scale in models.items()}
    )


def scores_and_nulls() -> Figure:
    return figures.scores_and_nulls(
        {"factor_vae_score": 0.82, "mig": 0.31, "dci_disentanglement": 0.55, "sap": 0.08},
        intervals={"factor_vae_score": (0.78, 0.85), "mig": (0.29, 0.34)},
        nulls={"factor_vae_score": (0.24, 0.31), "mig": (0.005, 0.02), "sap": (0.001, 0.01)},
        baselines={"mig": {"untrained": 0.04}, "sap": {"untrained": 0.01}},
    )


def scores_by_factor() -> Figure:
    published = {
        "FactorVAE": [0.2412, 0.7139, 0.0523, 0.7198, 0.7256],
        "β-VAE": [0.0481, 0.1533, 0.0, 0.4127, 0.4193],
        "AAE": [0.0053, 0.0786, 0.0098, 0.3932, 0.4509],
    }
    return figures.scores_by_factor(published, FACTORS, score="RMIG (normalised)")


def marginals() -> Figure:
    scales = np.linspace(0.2, 1.3, 10)
    return figures.marginals({f"γ = {g}": rng(g).normal(size=(5000, 10)) * scales for g in (10, 20, 40, 80)})


def information_matrix() -> Figure:
    matrix = np.abs(rng(7).normal(0, 0.1, (10, 5)))
    matrix[[1, 3, 4, 7, 8], range(5)] = [0.8, 1.5, 0.9, 2.6, 2.5]
    return figures.information_matrix({"from q(z|x)": matrix, "from means": matrix * 1.2}, FACTORS)


def misjed_map() -> Figure:
    models = {}
    for i, name in enumerate(["FactorVAE", "β-VAE", "AAE"]):
        half = rng(i).uniform(0.1, 0.6, (10, 10))
        models[name] = (half + half.T) / 2
    informativeness = {name: rng(9).random(10) for name in models}
    return figures.misjed_map(models, informativeness=informativeness)


def correlation_matrices() -> Figure:
    z = rng(8).normal(size=(200, 10)) @ (np.eye(10) + 0.2 * rng(9).normal(size=(10, 10)))
    return figures.correlation_matrices(
        {"of samples": np.corrcoef((z + rng().normal(size=z.shape)).T), "of means": np.corrcoef(z.T)}
    )


def matched_latents() -> Figure:
    similarity = 0.1 * rng(3).normal(size=(6, 7))
    similarity[range(6), [3, 0, 5, 1, 6, 2]] = [0.95, -0.9, 0.85, 0.8, -0.7, 0.3]
    return figures.matched_latents(similarity, runs=("seed 0", "seed 1"))


def metric_sensitivity() -> Figure:
    x = np.array([100, 200, 400, 800, 1600])
    lines = {
        n: 0.7 + 0.02 * np.log2(n / 50) + 0.3 / np.sqrt(x) * rng(n).normal(size=(10, 5))
        for n in (50, 100, 200, 400)
    }
    return figures.metric_sensitivity(
        x, {"FactorVAE score": lines}, x_label="votes", series="L", logarithmic=True
    )


def metric_sensitivity_panels() -> Figure:
    bins = np.array([50, 100, 200, 500, 1000])
    models = {
        name: shift - 0.02 * np.log(bins)
        for name, shift in (("FactorVAE", 0.6), ("β-VAE", 0.5), ("AAE", 0.4))
    }
    scores = {"RMIG (normalised)": models, "JEMMIG (normalised)": models, "H(z*, y) (nats)": models}
    return figures.metric_sensitivity(bins, scores, x_label="number of bins", series="model")


def plane() -> Figure:
    classes = np.repeat(np.arange(4), 100)
    radius, angle = 1 + 0.3 * rng().normal(size=400), 0.1 * rng(1).normal(size=400)
    angle += classes * np.pi / 2 + 0.25 * np.exp(radius)
    return figures.plane(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), classes)


def image_grid() -> Figure:
    return figures.image_grid(blobs(4, 6, channels=3), row_labels=["a", "b", "c", "d"], title="noise varied")


def samples() -> Figure:
    return figures.samples(blobs(60))


def reconstructions() -> Figure:
    return figures.reconstructions(blobs(16), blobs(16) * 0.7)


def traversals() -> Figure:
    kl = [2.9, 2.31, 1.7, 0.8, 0.02]
    labels = [f"z{i} · KL {value:.2f}" for i, value in enumerate(kl)]
    return figures.traversals(blobs(5, 11), labels, np.linspace(-2, 2, 11), (blobs(11), blobs(11) * 0.7))


def top_latents() -> Figure:
    images = {factor: blobs(3, 11) for factor in FACTORS}
    labels = {factor: ["z3 · 1.21 nats", "z1 · 0.08 nats", "z0 · 0.01 nats"] for factor in FACTORS}
    return figures.top_latents(images, labels, np.linspace(-2, 2, 11))


def side_by_side() -> Figure:
    runs = {name: blobs(6, 7) for name in ("β-VAE", "SVAE", "HFVAE")}
    return figures.side_by_side(runs, [f"digit {i}" for i in range(6)], np.linspace(-3, 3, 7))


GALLERY: dict[str, Callable[[], Figure]] = {
    name: draw
    for name, draw in globals().items()
    if callable(draw) and getattr(draw, "__annotations__", {}) == {"return": Figure}
}


if __name__ == "__main__":
    for name, draw in GALLERY.items():
        print(figures.save(draw(), Path(sys.argv[1]) / f"{name}.png"))
