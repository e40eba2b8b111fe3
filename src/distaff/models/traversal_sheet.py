"""What a notebook shows of a trained model: a small traversal, one row per latent."""

import numpy as np

from distaff.foundation.snippets import Cell, Curve, Strip, snippet
from distaff.models.representation import Representation

SHOWN = 10
"""Number of latents that a notebook shows."""


def traversal_sheet(model: Representation, about: str) -> str:
    """A small traversal from z = 0 as HTML, starting with the latents that change images most."""
    titles = [model.titles.get(name, name) for name in model.names]
    if len(model.shape) == 1 or not titles:
        return snippet("Representation", about, headers=["latent"], rows=[(title,) for title in titles])
    reach = model.model.latents.reach
    moved = model.traverse(values=np.linspace(-reach, reach, 7).tolist())
    change = np.nanstd(moved, axis=1).reshape(len(moved), -1).mean(1)
    rows: list[tuple[Cell, ...]] = []
    for latent in np.argsort(-change, kind="stable"):
        images = moved[latent]
        drawn = [Strip(images)] if images.ndim == 4 else [Curve(signal[0]) for signal in images[::3]]
        rows.append((titles[latent], *drawn))
    notes = ["Each row moves one latent from z = 0."]
    return snippet("Representation", about, rows=rows[:SHOWN], notes=notes)
