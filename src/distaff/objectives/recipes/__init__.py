"""One function per paper: from its letters to an objective. ``distaff train NAME`` finds them by name.

To add a recipe, write one function in a file of this folder.
"""

from distaff.objectives.recipes.aggregate import *  # noqa: F403
from distaff.objectives.recipes.gans import *  # noqa: F403
from distaff.objectives.recipes.independence import *  # noqa: F403
from distaff.objectives.recipes.per_observation import *  # noqa: F403
