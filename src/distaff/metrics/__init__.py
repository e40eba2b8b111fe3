"""Metrics: arrays in, a ``Score`` out; nothing here needs a model or a framework."""

from distaff.metrics.dci import DCI, dci
from distaff.metrics.dci_es import DCIES, dci_es
from distaff.metrics.explicitness import explicitness
from distaff.metrics.factor_vae import factor_vae_score
from distaff.metrics.hoyer import hoyer
from distaff.metrics.infomec import InfoMEC, infomec
from distaff.metrics.inputs import Factors, as_factors, quantize_factors
from distaff.metrics.irs import irs
from distaff.metrics.sap import sap
from distaff.metrics.score import Score
from distaff.metrics.udr import udr
from distaff.metrics.z_diff import z_diff

__all__ = [
    "DCI",
    "DCIES",
    "Factors",
    "InfoMEC",
    "Score",
    "as_factors",
    "dci",
    "dci_es",
    "explicitness",
    "factor_vae_score",
    "hoyer",
    "infomec",
    "irs",
    "quantize_factors",
    "sap",
    "udr",
    "z_diff",
]
