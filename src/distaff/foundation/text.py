"""The common grammar of short texts: ``name=head:argument:argument`` items, separated by commas."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from distaff.foundation.errors import DistaffError
from distaff.foundation.untrusted_files import parse_yaml


@dataclass(frozen=True)
class Item:
    """One item, such as ``style=gaussian:10``, ``linear:1:0.5:10000`` or ``part=test``.

    Args:
        name: the text before the equals sign; empty if there is none.
        value: the rest.
    """

    name: str
    value: str

    @property
    def head(self) -> str:
        """The part of the value before the first colon."""
        return self.value.partition(":")[0].strip()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The parts after it, between colons."""
        return tuple(part.strip() for part in self.value.split(":")[1:])


def read_items(text: str) -> Iterator[Item]:
    """Parse the items of a text.

    >>> [(item.name, item.head, item.arguments) for item in read_items("a=gaussian:10, noise:62")]
    [('a', 'gaussian', ('10',)), ('', 'noise', ('62',))]
    """
    for part in text.split(","):
        name, _, value = part.rpartition("=")
        yield Item(name.strip(), value.strip())


def named_values(text: str) -> dict[str, Any]:
    """Parse ``part=test,count=400`` into a mapping, with values read as YAML.

    >>> named_values("part=test,count=400")
    {'part': 'test', 'count': 400}
    """
    values = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if name.strip() in values:
            raise DistaffError(f"arguments have the name {name.strip()!r} twice: keep one of them.")
        try:
            values[name.strip()] = parse_yaml(value)
        except DistaffError:
            equals = ""
        if not equals or not name.strip():
            raise DistaffError(f"arguments read name=value,name=value, so {part!r} is not one.")
    return values


def told_options(options: str | Mapping[str, Any] | None, **flags: Any) -> dict[str, Any]:
    """Merge the options of data with the flags that are set; an option given in both ways is an error.

    >>> told_options("part=test", resize=64, fit=None)
    {'part': 'test', 'resize': 64}
    """
    told = named_values(options) if isinstance(options, str) else dict(options or {})
    given = {name: value for name, value in flags.items() if value is not None and value is not False}
    for name in given:
        if name in told:
            flag = name.replace("_", "-")
            raise DistaffError(f"--{flag} is given, and {name} among --data-options: keep one of them.")
    return told | given
