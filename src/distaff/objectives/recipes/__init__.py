"""Recipes: one function per paper, from its symbols to an objective. ``distaff train NAME`` finds them.

To add a recipe, write one function in a file of this folder.
"""

from distaff.objectives.recipes.aggregate import *  # noqa: F403
from distaff.objectives.recipes.gans import *  # noqa: F403
from distaff.objectives.recipes.independence import *  # noqa: F403
from distaff.objectives.recipes.per_observation import *  # noqa: F403
