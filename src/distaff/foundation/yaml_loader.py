"""How YAML is read: dates are texts, keys stand once, and merged mappings cannot grow without end."""

import yaml

from distaff.foundation.errors import shown

MOST_NODES = 200_000
"""How many values YAML may hold, aliases followed."""


class Refused(Exception):
    """What a text does that YAML allows and we do not: a sentence that lacks what the text is called."""


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # with libyaml if there
    """PyYAML's own keeps the last of two equal keys, and says nothing."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.merged = 0
        self.checked: set[int] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put merged mappings (``<<``) into ``node``, whose own keys must differ."""
        if id(node) not in self.checked:  # what an alias repeats has its merged keys beside its own by then
            self.checked.add(id(node))
            _check_keys(node)
        super().flatten_mapping(node)
        self.merged += len(node.value)
        if self.merged > MOST_NODES:
            raise Refused("merges mappings into too many values.")


Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in Loader.yaml_implicit_resolvers.items()
}


def _check_keys(node: yaml.MappingNode) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        name, line = (key.tag, key.value), key.start_mark.line + 1
        if name in lines:
            where = f"in line {line}" if lines[name] == line else f"in lines {lines[name]} and {line}"
            raise Refused(f"has the key {shown(key.value)} twice, {where}: keep one of them.")
        lines[name] = line
