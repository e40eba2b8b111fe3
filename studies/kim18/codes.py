"""Information of continuous codes about classes: a score for tables of studies (Fig. 27, 28)."""

from dataclasses import dataclass

import numpy as np

from distaff import Codes
from distaff.metrics import Factors, Result, metric, mig


@dataclass(frozen=True)
class Best:
    """No settings: the latent most informative about a factor counts."""


@metric(paper="Kim & Mnih 2018", protocols={"kim18": Best()}, bounds=(0, 1), says="information")
def class_in_real_latents(codes: Codes, factors: Factors, settings: Best) -> Result:
    """I(z_d; y)/H(y) of the real latent most informative about the label: the MIG of that latent alone."""
    alone = [mig(Codes(codes.means[:, [d]]), factors).per_factor or {} for d in range(codes.means.shape[1])]
    best = np.max([list(known.values()) for known in alone], axis=0)
    return Result(float(best.mean()), per_factor=best)
