"""Ways in which a file goes bad: bits, cuts and splices of any bytes; wrong values in JSON and YAML."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import yaml

Path = tuple[str | int, ...]
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 10**9, 10**30, 10**400, -0.5, 1e308, float("nan"), float("inf")),
    *("", " ", "x" * 5000, "2020-13-45", "\u0000", "é", "[", "¹", "0x10", "1e9", "nan", "null"),
    *("os:system", "tests.faults.canary:touch", "z=tests.faults.canary:touch:2", "mlp:hidden=65536"),
    *("gaussian:100000", "z=gaussian:1000000000", "linear:1:0:0", "linear:nan:inf:5", "../../../etc/passwd"),
    *([], {}, [[]], [1, "a"], {"a": {"b": 1}}, {"": None}, ["os:system"], {"kind": "infogan"}),
)
BOMB = b"a: &a [x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (letter, letter, b", ".join([b"*%c" % (letter - 1)] * 9)) for letter in b"bcdefghi"
)
TEXTS = (
    b"[" * 20_000,
    b'{"a":' * 20_000,
    b"\xff\xfe\x00\x80",
    b"2020-13-45",
    b"&a [*a]",
    b"!!python/object/apply:os.system [true]",
    b"<<: *a",
    b"\x00",
    b": : :\n- - -\n",
    b"NaN",
    b"9" * 5000,
    BOMB,
)
"""Texts that break readers, the last one a bomb of aliases."""


def any_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bits or bytes changed, a piece cut out, doubled, overwritten or put elsewhere, or the end cut."""
    changed = bytearray(data)
    kind = rng.integers(6)
    place = int(rng.integers(len(data))) if rng.random() < 0.5 else int(rng.exponential(80)) % len(data)
    place = len(data) - 1 - place if rng.random() < 0.3 else place
    length = int(rng.integers(1, 1 + min(64, len(data))))
    if kind == 0:
        for _ in range(rng.integers(1, 4)):
            changed[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        for offset in range(int(rng.integers(1, 9))):
            changed[(place + offset) % len(data)] = int(rng.choice([0, 255, 127, 128, rng.integers(256)]))
    elif kind == 2:
        del changed[int(rng.integers(len(data))) :]
    elif kind == 3:
        del changed[place : place + length]
    elif kind == 4:
        other = int(rng.integers(len(data)))
        changed[place:place] = data[other : other + length]
    else:
        other = int(rng.integers(len(data)))
        changed[place : place + length] = data[other : other + length]
    return bytes(changed)


def text_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """The same, or one of ``TEXTS`` somewhere."""
    if rng.random() < 0.7:
        return any_bytes(data, rng)
    place = int(rng.integers(len(data)))
    if rng.random() < 0.3:
        place = data.rfind(b" ", 0, place) + 1
    return data[:place] + TEXTS[int(rng.integers(len(TEXTS)))] + data[place:]


def json_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """JSON with other values, keys or types in one or two places, or with other bytes."""
    if rng.random() < 0.4:
        return text_bytes(data, rng)
    return json.dumps(plain_values(json.loads(data), rng)).encode()


def yaml_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """YAML with other values, keys or types in one or two places, or with other bytes."""
    if rng.random() < 0.4:
        return text_bytes(data, rng)
    return yaml.safe_dump(plain_values(yaml.safe_load(data), rng)).encode()


def json_lines(data: bytes, rng: np.random.Generator) -> bytes:
    """Lines of JSON, one of them changed, or other bytes."""
    lines = data.splitlines()
    place = int(rng.integers(len(lines)))
    lines[place] = json_bytes(lines[place], rng)
    return b"\n".join(lines)


def plain_values(value: Any, rng: np.random.Generator) -> Any:
    """Mappings and lists with something replaced, removed, renamed, added or exchanged."""
    value = copy.deepcopy(value)
    for _ in range(rng.integers(1, 3)):
        places = [place for place in _places(value) if place]
        if not places:
            return VALUES[int(rng.integers(len(VALUES)))]
        place = places[int(rng.integers(len(places)))]
        parent, last = _at(value, place[:-1]), place[-1]
        kind, strange = rng.integers(6), copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
        if kind <= 2:
            parent[last] = strange
        elif kind == 3:
            del parent[last]
        elif kind == 4 and isinstance(parent, dict):
            parent[f"{last}x" if rng.random() < 0.5 else str(strange)[:20]] = parent.pop(last)
        else:
            other = _at(value, places[int(rng.integers(len(places)))])
            parent[last] = copy.deepcopy(other)
    return value


def _places(value: Any, above: Path = ()) -> Iterator[Path]:
    yield above
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*above, key))


def _at(value: Any, place: Path) -> Any:
    for key in place:
        value = value[key]
    return value
