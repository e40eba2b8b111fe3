"""RMIG and JEMMIG by other estimators than the default: scores for tables of studies (Fig. 17, 18, 24)."""

from dataclasses import dataclass

from distaff import Codes
from distaff.metrics import Factors, Result, jemmig, metric, rmig


@dataclass(frozen=True)
class Bins:
    """Settings of the quantized estimate.

    Args:
        bins: number of bins over [−4, 4].
    """

    bins: int = 20


@dataclass(frozen=True)
class Draws:
    """Settings of the sampled estimate.

    Args:
        samples: number of draws of (x, z).
    """

    samples: int = 10_000


FINE, FINER = Bins(200), Bins(500)
FEW = Draws(1000)


@metric(paper="Do & Tran 2020", protocols={"coarse": Bins()}, posterior="yes", says="compactness")
def coarse_rmig(codes: Codes, factors: Factors, settings: Bins) -> Result:
    """RMIG in nats with 20 bins instead of 100."""
    return Result(rmig(codes, factors, bins=settings.bins).value)


@metric(paper="Do & Tran 2020", protocols={"fine": FINE}, posterior="yes", says="compactness")
def fine_rmig(codes: Codes, factors: Factors, settings: Bins) -> Result:
    """RMIG in nats with 200 bins instead of 100."""
    return Result(rmig(codes, factors, bins=settings.bins).value)


@metric(paper="Do & Tran 2020", protocols={"finer": FINER}, posterior="yes", says="compactness")
def finer_rmig(codes: Codes, factors: Factors, settings: Bins) -> Result:
    """RMIG in nats with 500 bins instead of 100."""
    return Result(rmig(codes, factors, bins=settings.bins).value)


@metric(paper="Do & Tran 2020", protocols={"finer": FINER}, posterior="yes", direction="lower", says="both")
def finer_jemmig(codes: Codes, factors: Factors, settings: Bins) -> Result:
    """JEMMIG in nats with 500 bins instead of 100."""
    return Result(jemmig(codes, factors, bins=settings.bins).value)


@metric(paper="Do & Tran 2020", protocols={"sampled": Draws()}, posterior="yes", says="compactness")
def sampled_rmig(codes: Codes, factors: Factors, settings: Draws) -> Result:
    """RMIG in nats from 10,000 samples."""
    return Result(rmig(codes, factors, estimate="sampled", samples=settings.samples).value)


@metric(
    paper="Do & Tran 2020", protocols={"sampled": Draws()}, posterior="yes", direction="lower", says="both"
)
def sampled_jemmig(codes: Codes, factors: Factors, settings: Draws) -> Result:
    """JEMMIG in nats from 10,000 samples."""
    return Result(jemmig(codes, factors, estimate="sampled", samples=settings.samples).value)


@metric(paper="Do & Tran 2020", protocols={"few": FEW}, posterior="yes", direction="lower", says="both")
def jemmig_of_few(codes: Codes, factors: Factors, settings: Draws) -> Result:
    """JEMMIG in nats from 1,000 samples."""
    return Result(jemmig(codes, factors, estimate="sampled", samples=settings.samples).value)
