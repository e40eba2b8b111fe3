"""Code that no mutated file may bring anybody to import."""

IMPORTED = True


def touch(*_: object, **__: object) -> None:
    """Something to be named."""
