"""The results of ``benchmarks.score_by_minute``: what is compared, the table of all runs, and its figure."""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pandas as pd

from distaff.figures import save, style
from distaff.figures.style import label, panels

LEVELS = (0.6, 0.7, 0.75, 0.8)
PAPER = {"factor_vae_score": 0.82, "reconstruction": 45.0}
TITLES = {"factor_vae_score": "FactorVAE score", "mig": "MIG", "reconstruction": "reconstruction (nats)"}
NAMES = {"factor_vae": "FactorVAE", "beta_tcvae": "β-TCVAE"}


@dataclass(frozen=True)
class Way:
    """A library, a recipe, a learning rate (0 for the preset's) and the largest number of minutes."""

    library: str
    recipe: str
    rate: float = 0.0
    until: float = float("inf")

    @property
    def title(self) -> str:
        return self.library if not self.rate else f"{self.library}, rate {self.rate:g}"


WAYS = (
    Way("distaff", "factor_vae"),
    Way("pythae", "factor_vae", 1e-3, 15),
    Way("distaff", "beta_tcvae"),
    Way("pythae", "beta_tcvae", 1e-3, 6),
    Way("pythae", "factor_vae", 1e-4, 5),
    Way("pythae", "beta_tcvae", 1e-4, 4),
)


@dataclass(frozen=True)
class Moment:
    """A run after some minutes of processor time.

    Args:
        library: library that trained the run.
        recipe: name of the recipe in distaff.
        rate: learning rate; 0 for that of the preset.
        seed: seed of the run.
        minute: nominal number of minutes.
        cpu_minutes: actual minutes of processor time; for ours, those of the last snapshot before the mark.
        step: number of steps by then.
        factor_vae_score: FactorVAE score, mean over draws of the votes.
        mig: mutual information gap.
        reconstruction: reconstruction error of images from samples of q(z|x), in nats.
    """

    library: str
    recipe: str
    rate: float
    seed: int
    minute: float
    cpu_minutes: float
    step: int
    factor_vae_score: float
    mig: float
    reconstruction: float


def kept(path: Path) -> pd.DataFrame:
    """The results so far."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=[f.name for f in fields(Moment)])


def by_mark(table: pd.DataFrame) -> pd.DataFrame:
    """The same table with the ends of our runs, which differ by seconds between seeds, at their mean."""
    table = table.copy()
    for way in WAYS:
        rows = of(table, way)
        if way.library == "distaff" and len(rows):
            ends = rows.index[rows["step"] == rows["step"].max()]
            table.loc[ends, "minute"] = round(float(rows.loc[ends, "minute"].mean()), 1)
            rows = of(table, way)
            seeds = rows.groupby("minute")["seed"].transform("size")
            table = table.drop(rows.index[seeds < seeds.max()])  # marks that a run's end came before
    return table


def of(table: pd.DataFrame, way: Way) -> pd.DataFrame:
    """The rows of a way."""
    same = (table["library"] == way.library) & (table["recipe"] == way.recipe) & (table["rate"] == way.rate)
    return table[same]


def reached(rows: pd.DataFrame, level: float) -> float:
    """Minutes until the mean score over all seeds reaches ``level``; infinite if it never does."""
    means = rows.groupby("minute").agg(score=("factor_vae_score", "mean"), seeds=("seed", "nunique"))
    means = means[means["seeds"] == rows["seed"].nunique()]
    found = means.index[means["score"] >= level]
    return float(found[0]) if len(found) else float("inf")


def scores(table: pd.DataFrame) -> list[list[str]]:
    """One row per way and minute: recipe, way, minutes, steps, the score by seed and its mean, MIG, nats."""
    found = []
    for way in sorted(WAYS, key=lambda way: (way.recipe != "factor_vae", way.library)):
        for minute, part in of(by_mark(table), way).groupby("minute"):
            part = part.sort_values("seed")
            each = ", ".join(f"{score:.3f}" for score in part["factor_vae_score"])
            mean = part[["factor_vae_score", "mig", "reconstruction", "step"]].mean()
            numbers = [f"{mean.iloc[0]:.3f}", f"{mean.iloc[1]:.3f}", f"{mean.iloc[2]:.1f}"]
            found.append(
                [NAMES[way.recipe], way.title, f"{minute:g}", f"{mean.iloc[3]:,.0f}", each, *numbers]
            )
    return found


def ratios(table: pd.DataFrame) -> list[list[str]]:
    """One row per recipe, score and way of pythae: minutes of ours, minutes of theirs, and their ratio."""
    found, table = [], by_mark(table)
    for way in (way for way in WAYS if way.library == "pythae"):
        mine, rows = of(table, Way("distaff", way.recipe)), of(table, way)
        for level in LEVELS if len(mine) and len(rows) else ():
            own, other, last = reached(mine, level), reached(rows, level), rows["minute"].max()
            theirs = f"{other:g}" if np.isfinite(other) else f"not within {last:g}"
            if not np.isfinite(own):
                ours, ratio = f"not within {mine['minute'].max():g}", "–"
            else:
                ours = f"{own:g}"
                ratio = f"{other / own:.1f}" if np.isfinite(other) else f"over {last / own:.1f}"
            found.append([NAMES[way.recipe], f"{level:g}", ours, way.title, theirs, ratio])
    return found


def tell(table: pd.DataFrame) -> None:
    """Print scores and ratios."""
    for rows in (scores(table), ratios(table)):
        for row in rows:
            print("  ".join(row))


def draw(table: pd.DataFrame, path: Path) -> None:
    """Draw one row per recipe with three panels over minutes: means as lines, seeds as points."""
    table = by_mark(table)
    figure, axes = panels(2, 3, width=style.PAGE, height=2.0, share_x=True)
    for row, recipe in zip(axes, NAMES, strict=True):
        for one, (quantity, title) in zip(row, TITLES.items(), strict=True):
            ways = sorted((way for way in WAYS if way.recipe == recipe), key=lambda way: way.library)
            for i, way in enumerate(ways):
                part = of(table, way)
                if part.empty:
                    continue
                means = part.groupby("minute")[quantity].mean()
                settings = {"color": style.PALETTE[i], "marker": style.MARKERS[i]}
                one.plot(means.index, means, markersize=3, linewidth=1.4, label=way.title, **settings)
                one.scatter(part["minute"], part[quantity], s=5, alpha=0.35, linewidths=0, **settings)
            if quantity in PAPER and recipe == "factor_vae":
                one.axhline(PAPER[quantity], color=style.MUTED, linestyle=":", linewidth=0.8)
            label(one, title=f"{NAMES[recipe]}: {title}" if one is row[0] else title)
    for one in axes[-1]:
        label(one, x="minutes of one thread")
    style.legend_beside(figure, axes[0][0], columns=3)
    save(figure, path)
