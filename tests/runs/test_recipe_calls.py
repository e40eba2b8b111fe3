"""What a run calls its recipe when it is given the function itself: a name that finds it again."""

from importlib import import_module
from pkgutil import iter_modules

import pytest

from distaff.foundation.binding import find_function, public_functions
from distaff.objectives import Objective, kl, nll, recipes
from distaff.runs.calls import RecipeCall


def mine(weight: float = 2.0) -> Objective:
    return nll + weight * kl


@pytest.mark.parametrize("name", public_functions(recipes))
def test_a_recipe_of_the_library_has_one_name_whichever_file_it_is_written_in(name):
    function = getattr(recipes, name)
    call, _ = RecipeCall.of(function, {})
    assert call.name == f"distaff.objectives.recipes:{name}"
    assert find_function("recipe", call.name, recipes) is function
    assert find_function("recipe", name, recipes) is function


def test_a_recipe_from_elsewhere_is_named_by_its_module():
    call, _ = RecipeCall.of(mine, {})
    assert call.name == f"{__name__}:mine"


def test_every_recipe_that_is_written_is_exported():
    files = [import_module(f"{recipes.__name__}.{file.name}") for file in iter_modules(recipes.__path__)]
    written = {name for file in files for name in public_functions(file)}
    assert written == set(public_functions(recipes))
