"""Translation of ``run.yaml`` files of the first version."""

from collections.abc import Mapping
from typing import Any

from distaff.models.latents import LatentSpace

FIRST = "0.1.0"
NETWORKS = {
    "kim_mnih_faces": "kim_mnih:hidden=256",
    # Mathieu's Table 1a has no ReLU after FC128, but the runs of the first version did.
    "mathieu_dsprites": "mathieu_dsprites:relu=true",
}
"""Networks of the first version that have another name today, or whose name means another network today."""
DEFAULTS = {"pinwheel": {"radial": 0.1, "tangential": 0.3}}
"""Options of data sets that had other defaults then."""
DATA_SETS = {"line": "toy_line"}
"""Data sets that have another name today."""


def in_todays_words(sections: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Translate the sections of a config that the first version of distaff wrote.

    A run keeps the network, data and anchors that it was trained with, even if their names have changed.
    """
    data, model = sections["data"], sections["model"]
    if isinstance(model.get("network"), str):
        model = {**model, "network": NETWORKS.get(model["network"], model["network"])}
    if isinstance(data.get("options"), Mapping) and isinstance(data.get("spec"), str):
        data = {**data, "options": {**DEFAULTS.get(data["spec"], {}), **data["options"]}}
    recipe = sections["recipe"]
    if recipe.get("name") == "anchor_vae" and isinstance(recipe.get("arguments"), Mapping):
        recipe = {**recipe, "arguments": _by_name(recipe["arguments"], model.get("latents"))}
    return {**sections, "recipe": recipe, "model": model, "data": data}


def _by_name(arguments: Mapping[str, Any], latents: Any) -> Mapping[str, Any]:
    """The arguments of ``anchor_vae`` with anchors by name; their numbers were in the order of z then."""
    anchors = arguments.get("anchors")
    if not isinstance(latents, str) or not isinstance(anchors, list):
        return arguments
    names = dict(enumerate(variable.name for variable in LatentSpace.parse(latents).variables))
    known = (names.get(anchor, anchor) if isinstance(anchor, int) else anchor for anchor in anchors)
    return {**arguments, "anchors": list(known)}


def renamed_data(spec: Any) -> Any:
    """The data set's name today."""
    return DATA_SETS.get(spec, spec) if isinstance(spec, str) else spec


def first_data_name(spec: Any) -> Any:
    """The data set's first name, which the folders of a study's runs keep."""
    return next((former for former, today in DATA_SETS.items() if today == spec), spec)
