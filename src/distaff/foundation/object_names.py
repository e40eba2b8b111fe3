"""The names of functions and objects: the text by which a run finds them again."""

import sys

from distaff.foundation.binding import names_code
from distaff.foundation.errors import DistaffError, is_ours, shown


def name_of(kind: str, given: object) -> str:
    """The text by which ``find_function`` finds a function or object again; texts are returned unchanged.

    >>> from distaff.foundation.text import named_values
    >>> name_of("network", named_values)
    'distaff.foundation.text:named_values'
    """
    if isinstance(given, str):
        return given
    place, name = getattr(given, "__module__", None), getattr(given, "__qualname__", None)
    if name is None:  # not a function or class: an object has a name if a variable of a module holds it
        place, name = _variable(given)
    if place is None or name is None or getattr(sys.modules.get(place), name, None) is not given:
        function = hasattr(given, "__qualname__") or not callable(given)
        what = " ".join(shown(given).split()) if function else f"a nameless {type(given).__name__}"
        raise DistaffError(
            f"a run has to find its {kind} again: give a text, or a function, class or variable at the top "
            f"of a module, as in mine = ..., {kind}=mine; not {what}."
        )
    package = place.rpartition(".")[0]
    if is_ours(given) and getattr(sys.modules.get(package), name, None) is given:
        place = package  # the library's functions have one name, in whichever file they are written
    return f"{place}:{name}"


def _variable(given: object) -> tuple[str | None, str | None]:
    """The module and variable that hold an object; an imported object belongs to its own module."""
    places = sorted(sys.modules, key="__main__".__eq__)
    for place in places:
        for name, value in list(getattr(sys.modules[place], "__dict__", {}).items()):
            if value is given and names_code(f"{place}:{name}") and name[:1] != "_":
                return place, name
    return None, None
