"""What the means of latents know of factors, latent by latent, in bins: for codes of any width."""

from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from distaff.codes import Codes
from distaff.metrics.blocks import slices
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.labels import Labels, entropy
from distaff.metrics.quantized import index_tables, own_bins
from distaff.metrics.shared import remember


@dataclass(frozen=True)
class Known:
    """What the means of single latents know of factors.

    Args:
        information: (L, K) I(z_i; y_k) in nats.
        entropies: (L,) H(z_i) of the bins in nats.
    """

    information: Float64Array
    entropies: Float64Array


def mean_information(codes: Codes, bins: int, labels: Labels) -> Known:
    """What means know in ``bins`` between each latent's extremes; shared by all metrics of the same codes.

    The edges are those of ``numpy.histogram``, in the precision of the means, as in Locatello et al. 2019.
    A categorical latent stands with its likeliest class. A constant latent lies in one bin and knows nothing.
    Latents are counted some at a time: of wide codes, tables of all at once would fill the memory. Where some
    labels of a factor are missing, the other rows are counted, in bins between their own extremes.
    """
    key = ("means", bins, labels.contents)
    return remember(codes, key, lambda: _mean_information(codes, bins, labels))


def _mean_information(codes: Codes, bins: int, labels: Labels) -> Known:
    if labels.classes is not None and (labels.classes < 0).any():
        return _information_of_known(codes, bins, labels, labels.classes)
    indices = chain(
        (own_bins(np.ascontiguousarray(means), bins) for means in codes.means.T),
        (p.argmax(axis=1) for p in codes.categories.values()),
    )
    sizes = [bins] * codes.means.shape[1] + [p.shape[1] for p in codes.categories.values()]
    information, entropies = [], []
    for some in slices(len(sizes), max(sizes) * sum(labels.sizes)):
        own = sizes[some]
        tables = index_tables(islice(indices, len(own)), len(codes), own, labels)
        information.append(tables.information(labels))
        entropies.append(entropy(tables.masses))
    return Known(np.concatenate(information), np.concatenate(entropies))


def _information_of_known(codes: Codes, bins: int, labels: Labels, classes: IntArray) -> Known:
    """As ``mean_information``, each factor on the rows that have its label; H(z_i) is that of all rows."""
    information = np.empty((len(codes.names), len(labels.names)))
    for k, (name, size) in enumerate(zip(labels.names, labels.sizes, strict=True)):
        there = classes[:, k] >= 0
        own = Labels((name,), (size,), classes[there, k : k + 1])
        information[:, k] = _mean_information(codes[there], bins, own).information[:, 0]
    whole = Labels(("row",), (1,), np.zeros((len(codes), 1), np.int64))
    return Known(information, _mean_information(codes, bins, whole).entropies)
