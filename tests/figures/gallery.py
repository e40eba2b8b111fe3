"""Every figure with made data of realistic size and spread, for tests and for looking at.

``python -m tests.figures.gallery FOLDER`` writes them all as PNG.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import norm
from scipy.stats import t as student_t

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


def critic_accuracy() -> Figure:
    return figures.critic_accuracy(STEPS, {f"seed {i}": decay(0.85, 0.55 + 0.02 * i, 1)[0] for i in range(5)})


def total_correlation() -> Figure:
    true = {g: decay(5, 60 / g / 5) for g in (10, 20, 40, 80)}
    return figures.total_correlation(STEPS, true, {g: runs * 0.2 for g, runs in true.items()})


def information_per_latent() -> Figure:
    ends = [3.1, 2.8, 2.2, 1.9, 1.5, 1.1, 0.6, 0.02, 0.01, 0.0]
    return figures.information_per_latent(
        STEPS, np.stack([decay(1, end, 1)[0].clip(0) for end in ends], axis=1)
    )


def tradeoff() -> Figure:
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
    return figures.tradeoff(runs)


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


def sampled_against_quantized() -> Figure:
    return figures.sampled_against_quantized(points(1, -np.log(0.08)), points(1, 0), bin_width=0.08)


def rmig_against_mig() -> Figure:
    return figures.rmig_against_mig(points(1, 0), points(0.8, 0, 0.3))


def kl_bars() -> Figure:
    return figures.kl_bars(rng().gamma(1, 1, 10))


def informativeness_bars() -> Figure:
    models = {"FactorVAE (TC = 50)": 0.8, "β-VAE (β = 50)": 0.4, "AAE": 0.9}
    return figures.informativeness_bars(
        {name: scale * rng(6).beta(0.6, 0.6, 10) for name, scale in models.items()}
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


def distributions_of_means() -> Figure:
    means = {
        f"D = {d}": np.sign(rng(d).normal(size=4000)) * s + 0.4 * rng(d + 1).normal(size=4000)
        for d, s in ((10, 0.9), (100, 0.2), (200, 0.0))
    }
    return figures.distributions_of_means(means, "z3")


def log_density_histograms() -> Figure:
    estimates = {b: (rng(b).normal(-20, 2, 5000), rng(b + 1).normal(-18 - 6 / b, 3, 5000)) for b in (1, 5, 9)}
    return figures.log_density_histograms(estimates)


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


def grid_density(means: np.ndarray, scale: float, n: int = 80) -> np.ndarray:
    y, x = np.mgrid[-1 : 2 : n * 1j, -1 : 2 : n * 1j]
    return np.mean([norm.pdf(x, a, scale) * norm.pdf(y, b, scale) for a, b in means], axis=0)


def aggregate_posteriors() -> Figure:
    corners = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])
    densities = {
        (alpha, beta): grid_density(
            corners * min(1, 0.3 + alpha / 5) + (0.5 - 0.5 * min(1, 0.3 + alpha / 5)),
            0.05 + 0.08 * np.sqrt(beta),
        )
        for alpha in (0.0, 1.0, 3.0, 5.0)
        for beta in (0.01, 0.5, 1.0, 1.2)
    }
    return figures.aggregate_posteriors(densities, (-1, 2, -1, 2), prior=grid_density(corners, 0.03**0.5))


def prior_densities() -> Figure:
    grid = np.linspace(-4, 4, 100)
    panels = {f"ν = {nu}": np.outer(student_t.pdf(grid, nu), student_t.pdf(grid, nu)) for nu in (3, 5, 100)}
    return figures.prior_densities(panels, (-4, 4, -4, 4))


def plane() -> Figure:
    classes = np.repeat(np.arange(4), 100)
    radius, angle = 1 + 0.3 * rng().normal(size=400), 0.1 * rng(1).normal(size=400)
    angle += classes * np.pi / 2 + 0.25 * np.exp(radius)
    return figures.plane(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), classes)


def sparsity_against_alpha() -> Figure:
    alphas = np.array([0, 200, 400, 600, 800, 1000])
    noise = rng(3).normal(size=(3, 6))
    rise = 1 - np.exp(-alphas / 200)
    names = {"γ = 0, β = 1": 0.05, "γ = 0.9, β = 1": 0.6, "γ = 0, β = 5": 0.04, "γ = 0.9, β = 5": 0.5}
    return figures.sparsity_against_alpha(
        alphas,
        {name: 0.2 + gain * rise + 0.02 * noise for name, gain in names.items()},
        {name: 350 + 30 * gain * rise + 3 * noise for name, gain in names.items()},
        {name: 0.1 + gain * (1 - rise) + 0.01 * noise for name, gain in names.items()},
    )


def removed_combination() -> Figure:
    kept, removed = rng(1).normal(-0.4, 0.8, 5000), rng(2).normal(1.8, 0.4, 600)
    values = {"trained on all": (kept, removed), "trained without thick 7s": (kept, removed - 0.2)}
    return figures.removed_combination(values, blobs(12), blobs(12) * 0.8, feature="z3 (stroke thickness)")


def ablations() -> Figure:
    z, x, data = np.linspace(-3, 3, 200), np.linspace(-4, 4, 200), np.linspace(-2, 2, 7)
    prior, model = norm.pdf(z), np.mean([norm.pdf(x, d, 0.4) for d in data], axis=0)
    widths = {
        "without ①": (0.0, 1.0),
        "without ②": (0.8, 0.05),
        "without ③": (0.6, 0.4),
        "without ④": (1.1, 0.2),
    }
    return figures.ablations(
        {
            title: figures.Toy(
                z, np.stack([norm.pdf(z, shrink * d, width) for d in data]), prior, x, model, data
            )
            for title, (shrink, width) in widths.items()
        }
    )


def image_grid() -> Figure:
    return figures.image_grid(blobs(4, 6, channels=3), row_labels=["a", "b", "c", "d"], title="noise varied")


def samples() -> Figure:
    return figures.samples(blobs(60))


def reconstructions() -> Figure:
    return figures.reconstructions(blobs(16), blobs(16) * 0.7)


def interpolation_planes() -> Figure:
    planes = {(f"z{i}", f"z{j}"): blobs(7, 7) for i, j in ((0, 1), (0, 2), (1, 2))}
    return figures.interpolation_planes(planes, np.linspace(-2, 2, 7))


def traversals() -> Figure:
    kl = [2.9, 2.31, 1.7, 0.8, 0.02]
    labels = [f"z{i} · KL {value:.2f}" for i, value in enumerate(kl)]
    return figures.traversals(blobs(5, 11), labels, np.linspace(-2, 2, 11), blobs(11), blobs(11) * 0.7)


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
