"""Presets: settings that go well together, one YAML file each in the folder ``presets``.

A file says what the preset is for, and lists settings. Settings with ``for`` apply to some recipes and data
sets only; later ones win:

    about: The papers' level in minutes.
    settings:
      - {steps: 6000, learning_rate: "cosine:1e-3:1e-4:6000"}
      - {for: {recipe: factor_vae}, gamma: 10}
      - {for: {recipe: factor_vae, data: shapes3d}, gamma: 6}

To add a preset, write one file. Settings that the caller gives override those of the preset. If the caller
gives another number of steps, the preset's schedules are stretched in proportion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from distaff.foundation.binding import to_plain
from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.untrusted_files import parse_yaml
from distaff.objectives.schedules import Schedule, shortened
from distaff.runs.openings import Openings, sooner

CONDITION = "for"


@dataclass(frozen=True)
class Preset:
    """Settings that go well together.

    Args:
        name: name of the preset.
        about: purpose of the preset, in one or two sentences.
        rules: settings in order; ``for`` in one of them says to which recipes and data sets it applies.
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
        """The settings ``given``, completed by those of the preset, stretched to the given ``steps``."""
        own = self.settings(recipe, data)
        asked, usual = given.get("steps"), own.get("steps")
        if isinstance(asked, int) and asked > 0 and usual is not None:
            own = {name: _stretched(value, asked / usual) for name, value in own.items()}
            if "revive" in own:
                own["revive"] = to_plain(sooner(Openings.parse(str(own["revive"])), asked / usual))
        return merged(own, given)

    @property
    def recipes(self) -> list[str]:
        """The recipes for which the preset has specific settings."""
        named = [name for rule in self.rules for name in _listed(rule.get(CONDITION, {}).get("recipe", []))]
        return list(dict.fromkeys(named))


def find_preset(name: str) -> Preset:
    """The preset with that name."""
    known = presets()
    if name not in known:
        raise unknown("preset", name, known)
    return known[name]


@cache
def presets() -> dict[str, Preset]:
    """All presets by name."""
    folder = files("distaff.runs") / "presets"
    texts = {path.name: path.read_text("utf-8") for path in folder.iterdir() if path.name.endswith(".yaml")}
    found = {}
    for file, text in sorted(texts.items()):
        content = parse_yaml(text, file)
        name = file.removesuffix(".yaml")
        found[name] = Preset(name, " ".join(content["about"].split()), content["settings"])
    return found


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both mappings merged; ``above`` wins, also within nested mappings such as the critic's settings."""
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
    """A schedule over ``ratio`` times as many steps; any other value unchanged."""
    if isinstance(value, Mapping):
        return {name: _stretched(item, ratio) for name, item in value.items()}
    if isinstance(value, str):
        try:
            return str(shortened(Schedule.parse(value), ratio))
        except DistaffError:
            return value
    return value
