"""The settings that ``distaff choose`` compares: recipes and weights, from a text or by default."""

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.text import read_items
from distaff.objectives.games import Game
from distaff.objectives.objective import Objective
from distaff.runs.calls import RecipeCall, find_recipe

Entry = Mapping[str, Any]
"""A recipe with a list of weights, as an entry of a study's ``runs``."""
AROUND = (0.25, 1.0, 4.0)
"""Factors of a recipe's default weight, if no weights are given."""
WEIGHTS_OF_IMAGES = (1.0, 2.0, 6.0, 16.0)
"""Weights of the KL term for grey images of 64×64 pixels; larger for larger images, whose error is a larger
sum."""
PIXELS = 64 * 64
WEIGHTS_OF_ROWS = (0.1, 0.3, 1.0, 3.0)
"""Weights for the rows of a table and for signals, whose error is a sum of few terms."""
STRONG_WEIGHTS_OF_ROWS = (3.0, 10.0)
"""Weights of a β-TCVAE for rows and signals; at 1 it would be a plain VAE."""


def usual_grid(shape: Sequence[int]) -> list[Entry]:
    """β-VAEs with weak to strong bottlenecks, and two β-TCVAEs, for observations of a shape.

    >>> usual_grid((1, 64, 64))[0]
    {'recipe': 'beta_vae', 'beta': [1.0, 2.0, 6.0, 16.0]}
    """
    if len(shape) != 3:
        weights, strong = list(WEIGHTS_OF_ROWS), list(STRONG_WEIGHTS_OF_ROWS)
    else:
        size = max(1.0, math.prod(shape) / PIXELS)
        weights = [WEIGHTS_OF_IMAGES[0], *(float(round(size * weight)) for weight in WEIGHTS_OF_IMAGES[1:])]
        strong = weights[2:]
    return [{"recipe": "beta_vae", "beta": weights}, {"recipe": "beta_tcvae", "beta": strong}]


def read_grid(text: str) -> list[Entry]:
    """The recipes that a text names, each with the weights after it.

    The weights are values of the recipe's first argument, or of the argument after a dot; by default, a
    quarter of the default weight, the default itself and four times as much.

    >>> read_grid("beta_vae:1:4,hfvae.beta:2,vae")
    [{'recipe': 'beta_vae', 'beta': [1.0, 4.0]}, {'recipe': 'hfvae', 'beta': [2.0]}, {'recipe': 'vae'}]
    """
    return [_entry(item.value) for item in read_items(text)]


def _entry(text: str) -> Entry:
    parts = text.split(":")
    weights: list[float] = []
    while len(parts) > 1 and (weight := _number(parts[-1])) is not None:
        weights.insert(0, weight)
        parts.pop()
    name, argument = ":".join(parts), ""
    if "." in parts[-1]:
        name, _, argument = name.rpartition(".")
    recipe = find_recipe(name)
    known = inspect.signature(recipe).parameters
    if argument and argument not in known:
        raise unknown(f"argument of {name}", argument, known)
    _, goal = RecipeCall.of(name, {})
    if isinstance(goal, Game) or not isinstance(goal, Objective):
        raise DistaffError(f"{name} has no held-out error to compare: choose among recipes of VAEs.")
    if goal.sharing is not None:
        raise DistaffError(f"{name} learns from pairs, which choose does not have: leave it out.")
    argument = argument or next(iter(known), "")
    usual = known[argument].default if argument else None
    if not isinstance(usual, int | float) or isinstance(usual, bool):
        if weights:
            raise DistaffError(
                f"{name} has no weight {argument or 'at all'} that is a number: write it alone, or name "
                f"another argument, as in hfvae.beta:1:4."
            )
        return {"recipe": name}
    return {"recipe": name, argument: weights or [factor * usual for factor in AROUND]}


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
