"""The web page with sliders: ``distaff explore RUN``."""

from distaff.explore.serve import explore

__all__ = ["explore"]
