"""What ``run.yaml`` of former versions means today."""

from collections.abc import Mapping
from typing import Any

from distaff.models.latents import LatentSpace

FIRST = "0.1.0"
NETWORKS = {
    "kim_mnih_faces": "kim_mnih:hidden=256",
    # Mathieu's Table 1a has no ReLU after FC128, but the runs of the first version did.
    "mathieu_dsprites": "mathieu_dsprites:relu=true",
}
"""The networks that the first version had under other names, or other ones under the same name."""
DATA_SETS = {"line": "toy_line"}
"""Data sets that have another name today."""
DEFAULTS = {"pinwheel": {"radial": 0.1, "tangential": 0.3}}
"""The options of data sets that had other defaults then."""


def in_todays_words(sections: Mapping[str, Mapping[str, Any]], made_by: Any) -> dict[str, Any]:
    """The sections of a config that another version of distaff wrote, in the words of this one.

    A run keeps the network, the data and the anchors that it was trained with, however they are read today.
    """
    data = sections["data"]
    data = {**data, **{key: renamed_data(data[key]) for key in ("spec", "name") if key in data}}
    if made_by != FIRST:
        return {**sections, "data": data}
    model = sections["model"]
    if isinstance(model.get("network"), str):
        model = {**model, "network": NETWORKS.get(model["network"], model["network"])}
    if isinstance(data.get("options"), Mapping) and isinstance(data.get("spec"), str):
        data = {**data, "options": {**DEFAULTS.get(data["spec"], {}), **data["options"]}}
    recipe = sections["recipe"]
    if recipe.get("name") == "anchor_vae" and isinstance(recipe.get("arguments"), Mapping):
        recipe = {**recipe, "arguments": _by_name(recipe["arguments"], model.get("latents"))}
    return {**sections, "recipe": recipe, "model": model, "data": data}


def renamed_data(spec: Any) -> Any:
    """What a data set is called today."""
    return DATA_SETS.get(spec, spec) if isinstance(spec, str) else spec


def first_data_name(spec: Any) -> Any:
    """What a data set was called first: the folders of a study's runs keep their names."""
    return next((former for former, today in DATA_SETS.items() if today == spec), spec)


def _by_name(arguments: Mapping[str, Any], latents: Any) -> Mapping[str, Any]:
    """The arguments of ``anchor_vae``, whose anchors were numbered in the order of z then."""
    anchors = arguments.get("anchors")
    if not isinstance(latents, str) or not isinstance(anchors, list):
        return arguments
    names = dict(enumerate(variable.name for variable in LatentSpace.parse(latents).variables))
    known = (names.get(anchor, anchor) if isinstance(anchor, int) else anchor for anchor in anchors)
    return {**arguments, "anchors": list(known)}
