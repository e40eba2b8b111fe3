"""MIG: the gap between the two latents that know most of a factor, over the factor's entropy."""

from dataclasses import asdict, dataclass

import numpy as np

from distaff.foundation.errors import DistaffError
from distaff.metrics.binned_means import mean_tables
from distaff.metrics.declare import metric, settle
from distaff.metrics.entropies import highest_two, one_latent_note
from distaff.metrics.inputs import CodesLike, FactorsLike
from distaff.metrics.labels import read_labels
from distaff.metrics.options import BinCount, SampleCount
from distaff.metrics.rmig_jemmig import gap_details, sampled_information
from distaff.metrics.sampled import means_only_note
from distaff.metrics.score import Basis, Score


@dataclass(frozen=True)
class Gap:
    """Means in ``bins`` over each latent's own range, or ``samples`` of q(z|x): one of the two."""

    bins: BinCount | None = None
    samples: SampleCount | None = None


PROTOCOLS = {"locatello19": Gap(bins=20), "chen18": Gap(samples=10_000)}


@metric(
    paper="Chen et al. 2018; Locatello et al. 2019",
    protocols=PROTOCOLS,
    bounds=(0, 1),
    posterior="optional",
    posterior_protocols=("chen18",),
)
def mig(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "locatello19",
    bins: int | None = None,
    samples: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """Mutual information gap: mean over factors of (I* − I°) / H(y_k).

    The two protocols are different numbers: binned means know nothing of the noise of q(z|x), and overrate
    latents that are mostly noise (Do & Tran 2020, A.13).

    Args:
        codes: (N, D) means, or ``Codes``.
        factors: (N, K) classes.
        protocol: ``"locatello19"``: means in 20 bins between each latent's extremes; ``"chen18"``: 10,000
            samples of q(z|x), with q(z_i|y_k) the mixture of the posteriors of that class.
        bins: of ``"locatello19"``.
        samples: of ``"chen18"``.
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the draws.
    """
    settings, protocol = settle(PROTOCOLS, protocol, bins=bins, samples=samples)
    if settings.bins and settings.samples:
        raise DistaffError("mig takes bins with protocol='locatello19' and samples with protocol='chen18'.")
    codes, labels = read_labels(codes, factors, None)
    heights = labels.entropies
    notes = labels.notes + one_latent_note(codes)
    if settings.bins:
        information = mean_tables(codes, settings.bins, labels).information(labels)
    else:
        information = sampled_information(codes, labels, settings.samples or 0, seed).mean(axis=0)
        notes += means_only_note(codes)
    best, second = highest_two(np.clip(information, 0, heights))
    gaps = (best - second) / heights
    return Score(
        name="mig",
        value=float(gaps.mean()),
        protocol=protocol,
        settings={**asdict(settings), "seed": seed},
        per_factor=dict(zip(labels.names, gaps.tolist(), strict=True)),
        details=gap_details(codes, labels, information),
        notes=notes,
        basis=Basis(rows=min(settings.samples or len(codes), len(codes))),
    )
