"""Public names that are imported on first use, so that ``import distaff`` stays fast."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose names are imported on first use (PEP 562).

    Args:
        package: its ``__name__``.
        homes: public name → the full name of the module that defines it, or of the module itself if the
            module is public. No function may have the same name as a module of its own package, since Python
            sets the module as that attribute.

    >>> from distaff.foundation.lazy import lazy_getattr
    >>> get = lazy_getattr("os", {"sqrt": "math", "path": "os.path"})
    >>> get("sqrt")(9.0), get("path").join("runs", "a")
    (3.0, 'runs/a')
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(homes[name])
        return module if homes[name] == f"{package}.{name}" else getattr(module, name)

    return get
