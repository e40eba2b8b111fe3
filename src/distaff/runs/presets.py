"""Presets: settings that go well together, as data, one YAML file each in the folder ``presets``.

A file says what the preset is for, and lists settings; those behind ``for`` hold for some recipes and data
sets only, and later ones win:

    about: The papers' level in minutes.
    settings:
      - {steps: 6000, learning_rate: "cosine:1e-3:1e-4:6000"}
      - {for: {recipe: factor_vae}, gamma: 10}
      - {for: {recipe: factor_vae, data: shapes3d}, gamma: 6}

To add one, write one file. Whatever the caller says beside a preset wins over it. Asked for with another
number of steps, a preset keeps its shape: its schedules are stretched by as much.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.files import parse_yaml
from distaff.objectives.schedules import Schedule, in_proportion, shortened

CONDITION = "for"


@dataclass(frozen=True)
class Preset:
    """Settings that go well together.

    Args:
        name: what it is asked for by.
        about: what it is for, one sentence or two.
        rules: its settings in order; ``for`` in one of them says for which recipes and data sets it holds.
    """

    name: str
    about: str
    rules: Sequence[Mapping[str, Any]]

    def settings(self, recipe: str, data: str | None = None) -> dict[str, Any]:
        """The settings for a recipe and a data set by their names; later rules win.

        >>> find_preset("kim18").settings("factor_vae", "shapes3d")["latents"]
        6
        """
        found: dict[str, Any] = {}
        for rule in self.rules:
            if _holds(rule.get(CONDITION, {}), {"recipe": recipe, "data": data}):
                found = merged(found, {key: value for key, value in rule.items() if key != CONDITION})
        return found

    def fill(self, given: Mapping[str, Any], recipe: str, data: str | None = None) -> dict[str, Any]:
        """The settings ``given``, and those of the preset for all others, stretched to the steps given."""
        own = self.settings(recipe, data)
        asked, usual = given.get("steps"), own.get("steps")
        if isinstance(asked, int) and asked > 0 and usual is not None:
            own = {name: _stretched(value, asked / usual) for name, value in own.items()}
            own |= {"revive": in_proportion(own["revive"], asked / usual)} if "revive" in own else {}
        return merged(own, given)

    @property
    def recipes(self) -> list[str]:
        """The recipes that it has settings of their own for."""
        named = [name for rule in self.rules for name in _listed(rule.get(CONDITION, {}).get("recipe", []))]
        return list(dict.fromkeys(named))


def find_preset(name: str) -> Preset:
    """The preset of a name."""
    known = presets()
    if name not in known:
        raise unknown("preset", name, known)
    return known[name]


@cache
def presets() -> dict[str, Preset]:
    """Every preset by name."""
    folder = files("distaff.runs") / "presets"
    texts = {path.name: path.read_text("utf-8") for path in folder.iterdir() if path.name.endswith(".yaml")}
    found = {}
    for file, text in sorted(texts.items()):
        content = parse_yaml(text, file)
        name = file.removesuffix(".yaml")
        found[name] = Preset(name, " ".join(content["about"].split()), content["settings"])
    return found


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both together; ``above`` wins, setting by setting within mappings such as that of a critic."""
    result = dict(below)
    for name, value in above.items():
        former = result.get(name)
        if isinstance(former, Mapping) and isinstance(value, Mapping):
            value = merged(former, value)
        result[name] = value
    return result


def _holds(condition: Mapping[str, Any], run: Mapping[str, str | None]) -> bool:
    return all(run[key] in _listed(wanted) for key, wanted in condition.items())


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _stretched(value: Any, ratio: float) -> Any:
    """A schedule over ``ratio`` times as many steps; anything else as it is."""
    if isinstance(value, Mapping):
        return {name: _stretched(item, ratio) for name, item in value.items()}
    if isinstance(value, str):
        try:
            return str(shortened(Schedule.parse(value), ratio))
        except DistaffError:
            return value
    return value
