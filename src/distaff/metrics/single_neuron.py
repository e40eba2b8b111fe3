"""Single-neuron classification: how well the latent matched to a factor separates its classes."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from distaff.codes import Codes
from distaff.metrics.inputs import Factors
from distaff.metrics.metric import metric
from distaff.metrics.neuron_matching import Shares, counted, matching
from distaff.metrics.options import Count
from distaff.metrics.result import Result


@dataclass(frozen=True)
class OneNeuron:
    """The numbers of rows.

    Args:
        train: number of rows for matching latents with factors, and bins with classes; two thirds of the rows
            if there are fewer.
        test: number of test rows.
    """

    train: Count = 10_000
    test: Count = 5_000


@metric(
    paper="Mahon et al. 2023",
    protocols={"mahon23": OneNeuron()},
    bounds=(0, 1),
    by_factor="within",
    says="both",
    widest=(8192, "counts every latent with every factor"),
)
def single_neuron(codes: Codes, factors: Factors, settings: OneNeuron, seed: int) -> Result:
    """SNC: mean over factors of the accuracy of one latent, cut into as many bins as there are classes.

    For a factor k with C classes, a latent is cut into C bins with equally many training rows. Latents and
    factors are matched one to one by the largest sum of mutual information, and a latent's bins and the
    factor's classes by the largest number of training rows; the score is the accuracy on other rows. It uses
    only the order of one latent: a factor that is spread over two latents is lost. If there are fewer latents
    than factors, an unmatched factor counts 0. As in the authors' public ``snc_nk.py``.

    Args:
        codes: (N, D) means, or ``Codes``; the bins of a categorical latent are its most likely classes.
        factors: (N, K) classes; for each factor, the rows that have its label are split.
        protocol: ``"mahon23"``: two thirds of the rows, at most 10,000, are training rows, and others, at
            most 5,000, are test rows.
        seed: random seed for the split.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import single_neuron
        >>> y = np.random.default_rng(0).integers(0, 4, (2000, 2))
        >>> z = y + 0.4 * np.random.default_rng(1).uniform(size=y.shape)
        >>> single_neuron(z, y).value > 0.9, single_neuron(z @ [[1, 1], [1, -1]], y).value < 0.6
        (True, True)

    See Also:
        ``knock_out``, what is lost without that latent; ``sap``, over all latents; ``mcc``, for numbers.
    """
    found = matching(codes, factors, settings.train, settings.test, seed)
    accuracies = np.zeros(len(factors.names))
    for k, i in found.latent_of.items():
        (train, test), latent, size = found.rows[k], found.latents[i], factors.sizes[k]
        shares = Shares.of(np.sort(latent[train]), size)
        counts = counted(shares.places(latent[train]), factors.classes[train, k], size)
        means = np.full(len(counts), -1)
        places, labels = linear_sum_assignment(counts, maximize=True)
        means[places] = labels
        guessed = means[np.minimum(shares.places(latent[test]), len(means) - 1)]
        accuracies[k] = (guessed == factors.classes[test, k]).mean()
    pairs = {factors.names[k]: codes.names[i] for k, i in found.latent_of.items()}
    return Result(
        accuracies.mean(),
        per_factor=accuracies,
        details={"matched_latent": pairs, "mutual_information": found.information},
        rows=found.tested,
        trials=found.tested * len(accuracies),
    )
