"""The web page with sliders: ``distaff explore RUN``.

Exports ``explore``, which serves the page for a run, or writes it as one file that needs no server. To add
pictures for observations of another shape, write one more ``Renderer`` in ``render.py``.
"""

from distaff.explore.serve import explore

__all__ = ["explore"]


def __dir__() -> list[str]:
    return __all__
