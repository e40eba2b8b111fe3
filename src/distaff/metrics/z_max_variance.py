"""Z-max-variance: which latent varies most when all factors but one are held fixed."""

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.factor_vae import Groups, Voting, by_votes, idle_threshold
from distaff.metrics.inputs import Factors
from distaff.metrics.metric import metric
from distaff.metrics.result import Result


@metric(
    paper="Kim et al. 2019",
    protocols={"kim19": Voting(votes=800, size=200, fresh=800)},
    bounds=(0, 1),
    posterior="used if given",
    idle=idle_threshold,
    says="both",
    widest=(8192, "takes 1,600 variances of all latents"),
)
def z_max_variance(codes: Codes, factors: Factors, settings: Voting, seed: int) -> Result:
    """Accuracy of guessing the only factor that changes from the latent that varies most.

    A vote draws a random factor k, a random row among those that differ from another in k only, and ``size``
    observations that agree with the row in all other factors; each latent's variance is divided by its
    variance over all data, and the argmax j votes for k. The majority C(j) = argmax_k V_jk guesses k on fresh
    votes. Chance is 1/K. The numbers of votes are those of ubisoft's ``z_max_var.py``, which rescales chance
    to 0 and also takes votes from rows in which k does not change. Rows must share combinations of factors,
    as on a grid. Without any active latent the score is 0.

    Args:
        codes: (N, D) means, or ``Codes``; with log-variances, latents collapsed to their prior do not vote.
            Other noise varies as much as the factor's own latent: prune it.
        factors: (N, K) classes, with K of at least 2. Rows that lack any label are dropped, since a vote
            needs rows that agree in all factors but one.
        protocol: ``"kim19"``: 800 votes of 200 observations, tested on 800 fresh votes.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import z_max_variance
        >>> factors = np.indices((4, 5)).reshape(2, -1).T
        >>> z_max_variance(factors, factors).value  # one latent per factor
        1.0

    See Also:
        ``factor_vae_score``, which holds one factor fixed.
    """
    if len(factors.names) < 2:
        raise DistaffError("Z-max-variance tells factors apart, so it needs at least two of them.")
    groups = [_others(factors, k) for k in range(len(factors.names))]
    return by_votes(codes, groups, factors.names, settings, seed, most=True)


def _others(factors: Factors, k: int) -> Groups:
    """The rows grouped by all factors but one; groups in which that one never changes are left out."""
    combination, several = np.zeros(len(factors), np.int64), 1
    for j, size in enumerate(factors.sizes):
        if j != k:
            combination = combination * size + factors.classes[:, j]
            several *= size
            if several > 1 << 31:  # renumber, in the same order, before the numbers get too large
                _, combination = np.unique(combination, return_inverse=True)
                several = int(combination.max()) + 1
    occurring, combination = np.unique(combination, return_inverse=True)
    own, several = factors.classes[:, k], len(occurring)
    lowest, highest = np.full(several, factors.sizes[k]), np.full(several, -1)
    np.minimum.at(lowest, combination, own)
    np.maximum.at(highest, combination, own)
    changes = lowest < highest
    if not changes.any():
        raise DistaffError(
            f"no two rows differ in {factors.names[k]!r} alone, so it can never change alone: give fewer "
            "factors, or more rows."
        )
    return Groups(np.where(changes[combination], combination, -1), several)
