"""The code of a user's own that a run names: ``module:function`` in its recipe and its model."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from distaff.foundation.binding import CODE
from distaff.foundation.text import split_call
from distaff.models.priors.grammar import kinds_named
from distaff.runs.model_config import GANConfig, ModelConfig
from distaff.runs.settings import ModelSettings

if TYPE_CHECKING:
    from distaff.runs.config import RecipeCall


def named_code(recipe: "RecipeCall", model: ModelConfig | ModelSettings) -> dict[str, str]:
    """Every name that making the run would import, and what it is the name of.

    A recipe's arguments are read by the recipe, which may look up any text among them: each that could be a
    name counts as one.

    Args:
        recipe: the recipe and its arguments.
        model: the model, as it is asked for or with every choice made.

    >>> from distaff.runs.config import RecipeCall
    >>> named_code(RecipeCall("vae", {}), ModelSettings(network="mine:net:depth=2", prior="mine:laplace:0.7"))
    {'mine:net': 'network', 'mine:laplace': 'prior'}
    """
    texts = [("recipe", recipe.name)]
    texts += [("argument of the recipe", found) for text in _texts(recipe.arguments) for found in _in(text)]
    texts += [("kind of latent", found) for found in _in(str(model.latents))]
    texts.append(("network", split_call(model.network)[0]))
    if not isinstance(model, GANConfig):
        texts += [("prior", name) for name in kinds_named(model.prior)]
        texts.append(("likelihood", model.likelihood))
    return {text: kind for kind, text in texts if ":" in text}


def _in(text: str) -> list[str]:
    return CODE.findall(text)


def _texts(value: Any) -> Iterator[str]:
    """Every text within mappings and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
