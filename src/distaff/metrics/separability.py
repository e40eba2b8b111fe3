"""What latents share and what they know together: I(z_i; z_≠i), TC and I(x; z) (Do & Tran 2020, A.10).

All are means over samples of q(z, x) of log-densities under the mixture of all N posteriors.
"""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from distaff.metrics.declare import metric, settle
from distaff.metrics.inputs import CodesLike, as_codes
from distaff.metrics.options import SampleCount
from distaff.metrics.sampled import means_only_note, samples_of
from distaff.metrics.score import Basis, Score


@dataclass(frozen=True)
class Sampling:
    """``samples`` of q(z, x)."""

    samples: SampleCount = 10_000


PROTOCOLS = {"do20": Sampling()}


@metric(paper="Do & Tran 2020", protocols=PROTOCOLS, direction="lower", inputs="codes", posterior="yes")
def separability(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """Mean over latents of I(z_i; z_≠i), what a latent shares with all others, in nats.

    I(z_i; z_≠i) = H(z_i) + H(z_≠i) − H(z); 0 for independent latents.

    Args:
        codes: (N, D) means, or ``Codes``.
        logvar: (N, D) log-variances; −inf is a deterministic latent.
        protocol: ``"do20"``: 10,000 samples.
        samples: number of draws.
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the draws.
    """
    settings, protocol = settle(PROTOCOLS, protocol, samples=samples)
    codes = as_codes(codes, logvar)
    shared = samples_of(codes, settings.samples, seed).shared
    per_latent = shared.mean(axis=0)
    return Score(
        name="separability",
        value=float(per_latent.mean()),
        protocol=protocol,
        direction="lower",
        settings={**asdict(settings), "seed": seed},
        per_latent=dict(zip(codes.names, per_latent.tolist(), strict=True)),
        notes=means_only_note(codes),
        basis=Basis(rows=min(settings.samples, len(codes))),
    )


@metric(
    paper="Watanabe 1960; Chen et al. 2018",
    protocols=PROTOCOLS,
    direction="lower",
    inputs="codes",
    posterior="yes",
)
def total_correlation(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """TC = KL(q(z) ‖ Π_i q(z_i)), in nats; 0 for independent latents.

    The mean of log q(z) − Σ_i log q(z_i) over samples of q(z). ``details`` hold I(x; z) of the same samples.

    Args:
        codes: (N, D) means, or ``Codes``.
        logvar: (N, D) log-variances; −inf is a deterministic latent.
        protocol: ``"do20"``: 10,000 samples.
        samples: number of draws.
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the draws.
    """
    settings, protocol = settle(PROTOCOLS, protocol, samples=samples)
    codes = as_codes(codes, logvar)
    drawn = samples_of(codes, settings.samples, seed)
    ratios = drawn.log_qz - drawn.log_qz_dims.sum(axis=1)
    information = float((drawn.log_qz_x_dims.sum(axis=1) - drawn.log_qz).mean())
    return Score(
        name="total_correlation",
        value=float(ratios.mean()),
        protocol=protocol,
        direction="lower",
        settings={**asdict(settings), "seed": seed},
        details={"total_information": information},
        notes=means_only_note(codes),
        basis=Basis(rows=min(settings.samples, len(codes))),
    )


@metric(paper="Do & Tran 2020", protocols=PROTOCOLS, inputs="codes", posterior="yes")
def total_information(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """I(x; z), the information all latents together have about x, in nats.

    The mean of log q(z|x) − log q(z) over samples, q(z) being the mixture of all N posteriors. It cannot
    exceed log N, which it reaches when no two posteriors overlap.

    Args:
        codes: (N, D) means, or ``Codes``.
        logvar: (N, D) log-variances; −inf is a deterministic latent.
        protocol: ``"do20"``: 10,000 samples.
        samples: number of draws.
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the draws.
    """
    settings, protocol = settle(PROTOCOLS, protocol, samples=samples)
    codes = as_codes(codes, logvar)
    drawn = samples_of(codes, settings.samples, seed)
    ratios = drawn.log_qz_x_dims.sum(axis=1) - drawn.log_qz
    return Score(
        name="total_information",
        value=float(ratios.mean()),
        protocol=protocol,
        settings={**asdict(settings), "seed": seed},
        notes=means_only_note(codes),
        basis=Basis(rows=min(settings.samples, len(codes)), bounds=(0.0, float(np.log(len(codes))))),
    )
