"""The web page with sliders: ``distaff explore RUN``.

Exports ``explore``, which serves the page for a run, or writes it as one file that needs no server. What is
drawn of an observation of another shape is one more ``Painter`` in ``render.py``.
"""

from distaff.explore.serve import explore

__all__ = ["explore"]


def __dir__() -> list[str]:
    return __all__
