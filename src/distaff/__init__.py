"""distaff: train, measure and explore disentangled representations."""

from distaff._version import __version__
from distaff.codes import Codes
from distaff.errors import DistaffError

__all__ = ["Codes", "DistaffError", "__version__"]
