"""The YAML loader: dates are texts, keys are unique, and merged mappings cannot grow without limit."""

import yaml

from distaff.foundation.errors import shown

MOST_NODES = 200_000
"""Maximum number of values in YAML, with aliases expanded."""


class Refused(Exception):
    """Valid YAML that we do not accept; the message lacks the name of the text as its subject."""


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # with libyaml if there
    """A loader that refuses duplicate keys, of which PyYAML's loader silently keeps the last."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.merged = 0
        self.checked: set[int] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Insert merged mappings (``<<``) into ``node``, whose own keys must differ."""
        if id(node) not in self.checked:  # on a repetition by alias, merged keys are already among its own
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
