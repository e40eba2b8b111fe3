"""A summary of each latent: its information, its range, and q(z_j) beside the prior."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from distaff.codes import Codes, FloatArray
from distaff.metrics import Factors
from distaff.metrics.binned_means import Bins
from distaff.metrics.factor_bins import quantize_factors
from distaff.metrics.inputs import Float64Array
from distaff.metrics.labels import entropy, read_labels
from distaff.metrics.quantized import posterior_tables
from distaff.models.latents import Variable
from distaff.models.representation import Representation

BINS = Bins(96, -4 / 3, 4 / 3)
SHOWN = slice(12, 84)
"""Bins of a latent divided by its reach that are drawn: those in [−1, 1], two to a bar."""

UNUSED = 0.1
"""I(x; z_j) in nats below which a latent is hidden at first."""

DRAWS = 2**18
TAIL = 0.005


@dataclass(frozen=True)
class Latent:
    """One latent variable.

    Args:
        variable: name, columns and classes of the latent.
        information: I(x; z_j) in nats, over bins of q(z_j|x) for a real latent.
        reach: limit of a real latent's slider, which goes from −reach to reach.
        posterior: q(z_j) of each bar of the histogram, or of each class.
        prior: p(z_j) of the same bars or classes.
    """

    variable: Variable
    information: float
    reach: float
    posterior: Float64Array
    prior: Float64Array

    def steps(self, count: int) -> Float64Array:
        """Values of the latent in a traversal: ``count`` values over two thirds of its reach, or classes."""
        if self.variable.classes:
            return np.arange(self.variable.classes, dtype=np.float64)
        return np.linspace(-2 / 3, 2 / 3, count) * self.reach


def latent_summaries(model: Representation, codes: Codes) -> tuple[Latent, ...]:
    """Summaries of the latents in the order of ``Codes.names``, from the codes of some observations."""
    variables = model.model.latents.coded
    draws = _prior_draws(model)
    reaches = np.array([_reach(v, draws, codes) for v in variables])
    tables = posterior_tables(scaled(codes, reaches), BINS)
    masses, conditional = tables.masses, tables.conditional
    information = np.maximum(entropy(masses) - conditional, 0)
    return tuple(
        Latent(
            variable,
            float(information[j]),
            float(reaches[j]),
            masses[j, : variable.classes] if variable.classes else _bars(masses[j]),
            _shares(variable, draws)
            if variable.classes
            else _bars(_prior_masses(variable, draws, reaches[j])),
        )
        for j, variable in enumerate(variables)
    )


def factor_information(
    codes: Codes, latents: Sequence[Latent], factors: Factors
) -> tuple[Float64Array, Float64Array, tuple[str, ...]]:
    """I(z_j; y_k) (latents, K) in nats, H(y_k) (K,), and notes; real-valued factors are binned."""
    reaches = np.array([latent.reach for latent in latents])
    kept, labels = read_labels(scaled(codes, reaches), quantize_factors(factors), None)
    information = posterior_tables(kept, BINS, labels).information(labels)
    return information, labels.entropies, labels.notes


def scaled(codes: Codes, reaches: Float64Array) -> Codes:
    """The real latents divided by their reaches, so that one set of bins serves all."""
    width = reaches[: codes.means.shape[1]]
    logvars = None if codes.logvars is None else codes.logvars - 2 * np.log(width)
    return Codes(codes.means / width, logvars, codes.categories)


def _prior_draws(model: Representation) -> FloatArray:
    """(DRAWS, width) draws of the prior, always the same, with discrete latents at a class."""
    with torch.random.fork_rng(), torch.inference_mode():
        torch.manual_seed(0)
        drawn: FloatArray = model.model.draw_latents(DRAWS).cpu().numpy()
    return drawn


def _reach(variable: Variable, draws: FloatArray, codes: Codes) -> float:
    """The range of the prior and of the data's means without their tails, rounded up to a half."""
    if variable.classes:
        return 1.0
    both = draws[:, variable.columns], codes.means[:, codes.names.index(variable.name)]
    furthest = max(float(np.abs(np.quantile(values, [TAIL, 1 - TAIL])).max()) for values in both)
    return max(math.ceil(2 * furthest) / 2, 0.5)


def _prior_masses(variable: Variable, draws: FloatArray, reach: float) -> Float64Array:
    """(bins,) frequency of each bin in the prior's draws of a real latent."""
    counts, _ = np.histogram(draws[:, variable.columns] / reach, BINS.edges)
    return counts / len(draws)


def _bars(masses: Float64Array) -> Float64Array:
    return np.asarray(masses[SHOWN].reshape(-1, 2).sum(axis=1))


def _shares(variable: Variable, draws: FloatArray) -> Float64Array:
    """The frequency of each class in the prior's draws."""
    columns = draws[:, variable.columns]
    classes = columns.argmax(axis=1) if columns.shape[1] > 1 else columns[:, 0].astype(np.int64)
    return np.bincount(classes, minlength=variable.classes) / len(draws)
