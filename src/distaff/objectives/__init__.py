"""Objectives: weighted sums of shared terms, one recipe per paper.

A *term* is a named function of one training ``Step``; a sum of weighted terms is an ``Objective``; a recipe
is a function from a paper's letters to an objective (or, for GANs, to a ``Game``).

- terms: ``nll``, ``kl``, ``total_correlation`` and the others that recipes share; ``term`` turns a function
  of a ``Step`` into a term;
- weights: numbers, or schedules over the steps (``Linear``, ``Cosine``, ``Exponential``, ``Cyclic``,
  ``Pieces``);
- estimators of q(z), each a ``Density``: ``stratified``, ``weighted``, ``exact`` and others; divergences of
  q(z) from p(z), each a ``Divergence``;
- ``label_loss`` and ``label_distance`` learn from a few ``Labelled`` observations; ``quantization`` and
  ``commitment`` apply to quantised latents; a ``Sharing`` (``averaged``, ``multiplied``) makes an objective
  learn from pairs; ``Usual`` holds an objective's default training settings;
- terms with networks of their own: ``density_ratio_tc`` and similar ones, with ``CriticSettings``;
- ``recipes``: one function per paper; ``Evidence``, ``log_evidence`` and ``iwae_bound``: estimates of
  log p(x).

To add a recipe, write one function in a file of ``recipes``; to add a term, decorate one in ``terms.py`` with
``@term``; to add an estimator of q(z) or a divergence, define it in ``densities.py`` or ``divergences.py``.
A recipe of your own needs no change here: ``distaff train mine:my_recipe`` takes any function.

>>> from distaff.objectives import kl, nll
>>> print(nll + 4.0 * kl)
nll + 4.0 kl
"""

from distaff.objectives import recipes
from distaff.objectives.critics import (
    CriticSettings,
    adversarial_prior,
    density_ratio_groups,
    density_ratio_prior,
    density_ratio_tc,
)
from distaff.objectives.densities import (
    Density,
    batch,
    chen_stratified,
    exact,
    independent_batch,
    remembered,
    stratified,
    weighted,
)
from distaff.objectives.divergences import (
    Divergence,
    exclusive_kl,
    inclusive_kl,
    mmd,
    mmd_joint,
    mmd_printed,
)
from distaff.objectives.evidence import Evidence, iwae_bound, log_evidence
from distaff.objectives.games import DiscriminatorSettings, Game
from distaff.objectives.labels import label_distance, label_loss
from distaff.objectives.moments import (
    of_means,
    of_samples,
    posterior_log_det,
    squared_covariances,
    unit_variances,
)
from distaff.objectives.objective import Objective, Term, term
from distaff.objectives.pairs import Sharing, averaged, multiplied
from distaff.objectives.schedules import (
    Cosine,
    Cyclic,
    Exponential,
    Linear,
    Pieces,
    Schedule,
    Weight,
    weight_at,
)
from distaff.objectives.step import Labelled, Step
from distaff.objectives.terms import (
    AnchoredInformation,
    CapacityGap,
    class_balance,
    commitment,
    dimension_kl,
    discrete_kl,
    kl,
    marginal_kl,
    mutual_information,
    nll,
    quantization,
    real_kl,
    sampled_kl,
    tc_between_groups,
    tc_within_groups,
    total_correlation,
)
from distaff.objectives.usual import Usual

__all__ = [
    "AnchoredInformation",
    "CapacityGap",
    "Cosine",
    "CriticSettings",
    "Cyclic",
    "Density",
    "DiscriminatorSettings",
    "Divergence",
    "Evidence",
    "Exponential",
    "Game",
    "Labelled",
    "Linear",
    "Objective",
    "Pieces",
    "Schedule",
    "Sharing",
    "Step",
    "Term",
    "Usual",
    "Weight",
    "adversarial_prior",
    "averaged",
    "batch",
    "chen_stratified",
    "class_balance",
    "commitment",
    "density_ratio_groups",
    "density_ratio_prior",
    "density_ratio_tc",
    "dimension_kl",
    "discrete_kl",
    "exact",
    "exclusive_kl",
    "inclusive_kl",
    "independent_batch",
    "iwae_bound",
    "kl",
    "label_distance",
    "label_loss",
    "log_evidence",
    "marginal_kl",
    "mmd",
    "mmd_joint",
    "mmd_printed",
    "multiplied",
    "mutual_information",
    "nll",
    "of_means",
    "of_samples",
    "posterior_log_det",
    "quantization",
    "real_kl",
    "recipes",
    "remembered",
    "sampled_kl",
    "squared_covariances",
    "stratified",
    "tc_between_groups",
    "tc_within_groups",
    "term",
    "total_correlation",
    "unit_variances",
    "weight_at",
    "weighted",
]


def __dir__() -> list[str]:
    return __all__
