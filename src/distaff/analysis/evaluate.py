"""Scores of a run, or of codes from a file."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from distaff.analysis.encoding import Encoded, encode_run, trained_steps
from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.metrics import Factors, Score, as_factors
from distaff.metrics.codes_file import evaluate_file
from distaff.metrics.evaluation import Evaluation, evaluate_scores
from distaff.metrics.scores_file import ELBO, Scores, Setup
from distaff.runs.folder import RunFolder, warn
from distaff.runs.load import open_data

AUTOMATIC = "factor_vae_score"
"""What a run is scored by when nothing else is asked for."""


def evaluate_run(
    run: str | Path,
    *,
    metrics: str = "auto",
    factor_bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    out: str | Path | None = None,
    progress: bool = True,
) -> Evaluation:
    """Score a run over its whole data set, or the codes of a file from any framework.

    Args:
        run: a run folder; an npz file with means, optional logvars and factors; or an npy file of means.
        metrics: default, all, or names such as mig,dci; auto is the FactorVAE score of a run and the default
            table of a file.
        factor_bins: bin real-valued factors into this many classes, for metrics that need classes.
        bootstrap: halves of the rows to score for intervals: 0 for none, 20 for ten times the work.
        seed: of every draw.
        out: where the scores go as JSON; by default scores.json in a run folder.
        progress: show what is going on.
    """
    folder = RunFolder(Path(run))
    how: dict[str, Any] = {"factor_bins": factor_bins, "bootstrap": bootstrap, "seed": seed}
    if not folder.path.is_dir() and folder.path.suffix.lower() in (".npz", ".npy"):
        chosen = "default" if metrics == "auto" else metrics
        return evaluate_file(folder.path, metrics=chosen, out=out, **how)
    if folder.path.is_file():
        raise DistaffError(f"{run} is neither a run folder nor a file of codes: those end in .npz or .npy.")
    data = open_data(folder)
    began = time.monotonic()
    evaluation = evaluate_encoded(encode_run(folder, data, progress), data, metrics, **how)
    step = trained_steps(folder)
    known = Scores.read(folder.scores).at(step) if out is None else Scores(step)
    known = known.plus(evaluation, Setup(seed=seed, factor_bins=factor_bins)).spent(time.monotonic() - began)
    known.write(folder.scores if out is None else Path(out))
    return evaluation


def evaluate_encoded(encoded: Encoded, data: Dataset, metrics: str = "auto", **how: Any) -> Evaluation:
    """For a VAE reconstruction error and KL over the whole set; then metrics, with the factors that vary.

    Args:
        encoded: the codes.
        data: what they are of.
        metrics: as of ``evaluate_run``.
        **how: ``factor_bins``, ``bootstrap`` and ``seed``, as of ``evaluate_run``.
    """
    own, auto = elbo(encoded), metrics == "auto"
    chosen, strict = (AUTOMATIC, False) if auto else (metrics, None)
    factors = varied_factors(data)
    found = evaluate_scores(encoded.standard_codes, factors, metrics=chosen, strict=strict, **how)
    return Evaluation(own.scores + found.scores, {**own.skipped, **found.skipped})


def elbo(encoded: Encoded) -> Evaluation:
    """Reconstruction error and KL over the whole set: what any VAE has, with or without labels."""
    if encoded.nll is None or encoded.kl is None or encoded.kl_per_latent is None:
        return Evaluation((), {ELBO: "the model has no likelihood."})
    error, kl = (float(values.mean(dtype=np.float64)) for values in (encoded.nll, encoded.kl))
    per_latent = dict(zip(encoded.codes.names, encoded.kl_per_latent.tolist(), strict=True))
    return Evaluation(
        (
            Score("reconstruction_error", error, "−E log p(x|z), nats", "lower", metric=ELBO),
            Score("kl", kl, "E KL(q(z|x) ‖ p(z)), nats", "lower", per_latent=per_latent, metric=ELBO),
        )
    )


def varied_factors(data: Dataset) -> Factors | None:
    """The factors that take more than one value in the data set; the others are named in a warning."""
    if data.factors is None:
        return None
    varied = np.flatnonzero((data.factors != data.factors[0]).any(0))
    constant = [name for k, name in enumerate(data.names) if k not in varied]
    if constant:
        warn(f"left out of the scores, since they never vary here: {', '.join(constant)}")
    names = [data.names[k] for k in varied]
    return as_factors(data.factors[:, varied], names=names) if names else None
