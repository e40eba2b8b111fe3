"""Named combinations of factors to leave out of training, to test how a model generalises to them.

Montero et al. 2021 leave out one combination of all factors (``recombination_to_element``) or one class of a
factor with a range of another (``recombination_to_range``), by the conditions of their code. Schott et al.
2022 leave out pairs of values (``composition``), values in the middle (``interpolation``) or at the end
(``extrapolation``) of a factor's range; they provide fixed files of rows, while here a rule applies to any
factors, such as ``extrapolation:posX,posY``.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError, unknown

Conditions = Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.bool_]]]
ELEMENTS: dict[str, Conditions] = {
    "dsprites": {
        "shape": lambda v: v == 2,
        "scale": lambda v: v > 0.6,
        "orientation": lambda v: (v > 2 * np.pi / 3) & (v < 4 * np.pi / 3),
        "posX": lambda v: v > 0.66,
        "posY": lambda v: v > 0.66,
    },
    "shapes3d": {
        "floor_hue": lambda v: v >= 0.8,
        "wall_hue": lambda v: v >= 0.8,
        "object_hue": lambda v: v >= 0.8,
        "scale": lambda v: v >= 1.1,
        "shape": lambda v: v == 1,
        "orientation": lambda v: v > 20,
    },
}
"""One combination of all factors, by their values: an ellipse (dSprites), a cylinder (3D Shapes)."""
RANGES: dict[str, Conditions] = {
    "dsprites": {"shape": lambda v: v == 1, "posX": lambda v: v > 0.5},
    "shapes3d": {"shape": lambda v: v == 3, "object_hue": lambda v: v >= 0.5},
}
"""One class with half the range of another factor: squares on the right; pills with half of the hues."""


def recombination_to_element(data: Dataset, factors: tuple[str, ...]) -> NDArray[np.bool_]:
    """(N,) mask of one combination of all factors of dSprites or 3D Shapes (Montero et al. 2021)."""
    return _conditions(data, ELEMENTS, factors)


def recombination_to_range(data: Dataset, factors: tuple[str, ...]) -> NDArray[np.bool_]:
    """(N,) mask of one shape of dSprites or 3D Shapes with half of another factor (Montero et al. 2021)."""
    return _conditions(data, RANGES, factors)


def composition(data: Dataset, factors: tuple[str, ...]) -> NDArray[np.bool_]:
    """(N,) mask of rows with all factors in their upper halves: each value is seen, but not together."""
    places = _places(data, factors)
    if len(places) < 2:
        raise DistaffError(f"composition holds out values together: it needs two factors of {data.name}.")
    return np.asarray(np.all([place >= 0.5 for place in places], axis=0))


def interpolation(data: Dataset, factors: tuple[str, ...]) -> NDArray[np.bool_]:
    """(N,) mask of rows with any of the factors in the middle fifth of its range."""
    return np.asarray(np.any([np.abs(place - 0.5) < 0.1 for place in _places(data, factors)], axis=0))


def extrapolation(data: Dataset, factors: tuple[str, ...]) -> NDArray[np.bool_]:
    """(N,) mask of rows with any of the factors in the last sixth of its range."""
    return np.asarray(np.any([place > 5 / 6 for place in _places(data, factors)], axis=0))


NAMES = (recombination_to_element, recombination_to_range, composition, interpolation, extrapolation)


def leave_out(data: Dataset, which: str) -> tuple[Dataset, Dataset]:
    """Split a data set into training rows and held-out combinations of factors.

    Args:
        data: rows with known factors.
        which: ``recombination_to_element``, ``recombination_to_range``, ``composition``, ``interpolation`` or
            ``extrapolation``; the last three use the two factors with the most classes, or those named after
            a colon, as in ``extrapolation:posX,posY``.

    Returns:
        The rows that are kept and those that are held out, each in the order of ``data``.

    >>> from distaff.data import from_array
    >>> square = from_array(np.zeros((36, 2)), np.indices((6, 6)).reshape(2, -1).T, ["row", "column"])
    >>> [len(part) for part in leave_out(square, "composition")]
    [27, 9]
    """
    name, _, listed = which.partition(":")
    known = {function.__name__: function for function in NAMES}
    if name.strip() not in known:
        raise unknown("held-out combination", name.strip(), known)
    factors = tuple(part.strip() for part in listed.split(",") if part.strip())
    held = known[name.strip()](data, factors)
    if held.all() or not held.any():
        raise DistaffError(f"{which} holds out {'every' if held.all() else 'no'} row of {data.name}.")
    return data.subset(~held, f"{data.name}-kept"), data.subset(held, f"{data.name}-held-out")


def _conditions(
    data: Dataset, known: Mapping[str, Conditions], factors: tuple[str, ...]
) -> NDArray[np.bool_]:
    name = data.name.removesuffix("-joint")  # a data set with correlated factors has the same factors
    if name not in known or factors:
        raise DistaffError(
            f"recombinations are defined for {' and '.join(known)} unmodified, not for {data.name}"
            f"{':' if factors else ''}{','.join(factors)}: use composition, interpolation or extrapolation."
        )
    values = data.values
    assert values is not None
    columns = dict(zip(data.names, values.T, strict=True))
    return np.asarray(np.all([holds(columns[name]) for name, holds in known[name].items()], axis=0))


def _places(data: Dataset, factors: tuple[str, ...]) -> list[NDArray[np.float64]]:
    """The position of each row in the range of each factor, from 0 to 1: (class + ½)/classes."""
    if data.factors is None:
        raise DistaffError(f"{data.name} has no factors whose combinations could be held out.")
    ordered = sorted(data.names, key=lambda name: -data.sizes[data.names.index(name)])
    places = []
    for name in factors or ordered[:2]:
        size = data.sizes[data.names.index(name)] if name in data.names else 0
        column = data.column(name)
        if size < 2:
            raise DistaffError(
                f"combinations are held out by factors with two or more classes, not by {name!r}."
            )
        places.append((column + 0.5) / size)
    return places
