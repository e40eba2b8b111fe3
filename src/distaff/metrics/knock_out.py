"""Neuron knock-out: how much worse a factor is predicted without the latent that is matched to it."""

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from distaff.codes import Codes
from distaff.foundation.parallel import side_by_side
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.metric import metric
from distaff.metrics.neuron_matching import matching
from distaff.metrics.options import Count
from distaff.metrics.result import Result
from distaff.metrics.train_test import columns

_LEARNT = 0.99


@dataclass(frozen=True)
class Networks:
    """Networks that predict a factor from all latents, and from all but the one matched to it.

    Args:
        units: number of hidden units (ReLU).
        epochs: maximum number of epochs; training stops after an epoch with 99% of its rows correct.
        batches: number of batches per epoch.
        train: number of rows for matching and training; two thirds of the rows if there are fewer.
        test: number of test rows.
    """

    units: Count = 256
    epochs: Count = 10
    batches: Count = 40
    train: Count = 10_000
    test: Count = 5_000


@metric(
    paper="Mahon et al. 2023",
    protocols={"mahon23": Networks()},
    bounds=(-1, 1),
    by_factor="within",
    says="compactness",
    usual=False,
    widest=(512, "trains two neural networks on all latents for every factor"),
)
def knock_out(codes: Codes, factors: Factors, settings: Networks, seed: int) -> Result:
    """NK: mean over factors of the accuracy from all latents, minus that without the factor's own latent.

    Latents and factors are matched as for ``single_neuron``. Both accuracies are those of networks with one
    hidden layer on held-out rows; the second is retrained without the latent, so information that other
    latents have too is not lost. If there are fewer latents than factors, an unmatched factor counts 0. As in
    the authors' public ``snc_nk.py``: Adam with rate 0.01, multiplied by 0.65 after 1, 2, 4, 8, … epochs, and
    the predictions of the epoch with the most training rows correct. Their code uses batches of 4,096 from
    far more rows, leaves the number of epochs to the caller, and does not standardise the latents.

    Args:
        codes: (N, D) means, or ``Codes``; a categorical latent enters as its class probabilities.
        factors: (N, K) classes; for each factor, the rows that have its label are split.
        protocol: ``"mahon23"``: two thirds of the rows, at most 10,000, are training rows, and others, at
            most 5,000, are test rows.
        seed: random seed for the split and the networks.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import knock_out
        >>> y = np.random.default_rng(0).integers(0, 2, (500, 2))
        >>> knock_out(y, y).value > 0.3, abs(knock_out(np.hstack([y, y]), y).value) < 0.1
        (True, True)

    See Also:
        ``single_neuron``, the accuracy of that latent only; ``sap``, the gap between two latents.
    """
    found = matching(codes, factors, settings.train, settings.test, seed)

    def accuracies(k: int) -> list[float]:
        rows = np.concatenate(found.rows[k])
        (x, owners), y, train = columns(codes[rows]), factors.classes[rows, k], len(found.rows[k][0])
        inputs = [x] if k not in found.latent_of else [x, x[:, owners != found.latent_of[k]]]
        tried = [_accuracy(some, y, train, settings, seed) for some in inputs]
        return [tried[0], tried[-1]]

    whole, without = np.array(list(side_by_side(accuracies, range(len(factors.names))))).T
    pairs = {factors.names[k]: codes.names[i] for k, i in found.latent_of.items()}
    return Result(
        (whole - without).mean(),
        per_factor=whole - without,
        details={"matched_latent": pairs, "accuracies": whole, "accuracies_without": without},
        rows=found.tested,
    )


def _accuracy(x: Float64Array, classes: IntArray, train: int, settings: Networks, seed: int) -> float:
    """Accuracy on the rows after the first ``train``, at the epoch with most of those first rows correct."""
    generator = torch.Generator().manual_seed(seed)
    z, y = torch.from_numpy(x.astype(np.float32)), torch.from_numpy(classes)

    def uniform(inputs: int, *shape: int) -> torch.Tensor:
        """Weights uniform within 1/√inputs of 0, PyTorch's default."""
        drawn = torch.rand(shape, generator=generator).mul_(2).sub_(1)
        return drawn.div_(max(inputs, 1) ** 0.5).requires_grad_()

    width, units, size = z.shape[1], settings.units, int(classes.max()) + 1
    first, offset = uniform(width, width, units), uniform(width, units)
    last, height = uniform(units, units, size), uniform(units, size)

    def guesses(some: torch.Tensor) -> torch.Tensor:
        return torch.addmm(height, torch.addmm(offset, some, first).relu(), last)

    adam = torch.optim.Adam([first, offset, last, height], lr=0.01, fused=True)
    best, accuracy = -1, 0.0
    for epoch in range(settings.epochs):
        if epoch and not epoch & (epoch - 1):
            adam.param_groups[0]["lr"] *= 0.65
        right = 0
        for rows in torch.randperm(train, generator=generator).tensor_split(min(settings.batches, train)):
            logits = guesses(z[rows])
            adam.zero_grad()
            torch.autograd.backward(cross_entropy(logits, y[rows]))
            adam.step()
            right += int((logits.argmax(dim=1) == y[rows]).sum())
        if right > best:
            best = right
            with torch.no_grad():
                accuracy = float((guesses(z[train:]).argmax(dim=1) == y[train:]).double().mean())
        if best > _LEARNT * train:
            break
    return accuracy
