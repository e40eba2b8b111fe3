"""Shared and joint information of latents: I(z_i; z_≠i), TC and I(x; z) (Do & Tran 2020, A.10).

All are means, over samples of q(z, x), of log-densities under the mixture of all N posteriors.
"""

from dataclasses import dataclass

import numpy as np

from distaff.codes import Codes
from distaff.metrics.metric import metric
from distaff.metrics.options import SampleCount
from distaff.metrics.result import Result
from distaff.metrics.sampled import EACH_LEFT_OUT, samples_of


@dataclass(frozen=True)
class Sampling:
    """Samples of q(z, x).

    Args:
        samples: number of draws.
    """

    samples: SampleCount = 10_000


@metric(
    paper="Do & Tran 2020",
    protocols={"do20": Sampling()},
    direction="lower",
    posterior="yes",
    says="independence",
    widest=EACH_LEFT_OUT,
)
def separability(codes: Codes, settings: Sampling, seed: int) -> Result:
    """Mean over latents of I(z_i; z_≠i), the information a latent shares with all others, in nats.

    I(z_i; z_≠i) = H(z_i) + H(z_≠i) − H(z); 0 for independent latents.

    Args:
        protocol: ``"do20"``: 10,000 samples.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import separability
        >>> mu = np.indices((2, 3)).reshape(2, -1).T  # two independent latents
        >>> abs(round(separability(mu, np.full((6, 2), -10.0), samples=600).value, 2))
        0.0

    See Also:
        ``total_correlation``, for all latents at once; ``misjed``, for pairs; ``sepin``.
    """
    per_latent = samples_of(codes, settings.samples, seed).shared.mean(axis=0)
    return Result(per_latent.mean(), per_latent=per_latent, rows=min(settings.samples, len(codes)))


@metric(
    paper="Watanabe 1960; Chen et al. 2018",
    protocols={"do20": Sampling()},
    direction="lower",
    posterior="yes",
    says="independence",
    widest=(512, "compares samples with all posteriors, latent by latent"),
)
def total_correlation(codes: Codes, settings: Sampling, seed: int) -> Result:
    """TC = KL(q(z) ‖ Π_i q(z_i)), in nats; 0 for independent latents.

    The mean of log q(z) − Σ_i log q(z_i) over samples of q(z). ``details`` has I(x; z) from the same samples.

    Args:
        protocol: ``"do20"``: 10,000 samples.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import total_correlation
        >>> mu = np.array([[-1.0, -1.0], [1.0, 1.0]])  # one bit that two latents share
        >>> round(total_correlation(mu, np.full((2, 2), -10.0), samples=600).value, 2)  # log 2
        0.69

    See Also:
        ``separability``, latent by latent; ``total_information``.
    """
    drawn = samples_of(codes, settings.samples, seed)
    ratios = drawn.log_qz - drawn.log_qz_dims.sum(axis=1)
    information = float((drawn.log_qz_x_dims.sum(axis=1) - drawn.log_qz).mean())
    return Result(
        ratios.mean(), details={"total_information": information}, rows=min(settings.samples, len(codes))
    )


@metric(
    paper="Do & Tran 2020",
    protocols={"do20": Sampling()},
    posterior="yes",
    says="information",
    widest=(1024, "compares samples with all posteriors"),
)
def total_information(codes: Codes, settings: Sampling, seed: int) -> Result:
    """I(x; z), the information all latents together have about x, in nats.

    The mean of log q(z|x) − log q(z) over samples, where q(z) is the mixture of all N posteriors. It cannot
    exceed log N, which it reaches if no two posteriors overlap.

    Args:
        protocol: ``"do20"``: 10,000 samples.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import total_information
        >>> mu = np.arange(8.0)[:, None]  # eight posteriors that do not overlap
        >>> round(total_information(mu, np.full((8, 1), -10.0), samples=800).value, 2)  # log 8
        2.08

    See Also:
        ``informativeness``, latent by latent; ``total_correlation``.
    """
    drawn = samples_of(codes, settings.samples, seed)
    ratios = drawn.log_qz_x_dims.sum(axis=1) - drawn.log_qz
    return Result(
        ratios.mean(), rows=min(settings.samples, len(codes)), bounds=(0.0, float(np.log(len(codes))))
    )
