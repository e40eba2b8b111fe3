"""Scores of a run, or of codes from a file."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from distaff.analysis.encoding import SAMPLE, Encoded, encode_run, sample_size, trained_steps
from distaff.codes import FloatArray
from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.metrics import Factors, Score, as_factors
from distaff.metrics.codes_file import evaluate_file
from distaff.metrics.evaluation import Evaluation, evaluate_scores
from distaff.metrics.scores_file import ELBO, Scores, Setup
from distaff.runs.folder import warn
from distaff.runs.load import open_data
from distaff.runs.zoo import run_folder

AUTOMATIC = "factor_vae_score"
"""What a run is scored by when nothing else is asked for."""


def evaluate_run(
    run: str | Path,
    *,
    metrics: str = "auto",
    observations: int | str = SAMPLE,
    factor_bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    out: str | Path | None = None,
    progress: bool = True,
) -> Evaluation:
    """Score a run on a random sample of its data set, or the codes of a file from any framework.

    Args:
        run: a run folder or zoo:NAME; an npz file with means, optional logvars and factors; or an npy file
            of means.
        metrics: default, all, or names such as mig,dci; auto is the FactorVAE score of a run and the default
            table of a file.
        observations: how many of a run's data set to score, chosen at random, or all; a smaller set is scored
            whole, as a file always is.
        factor_bins: bin real-valued factors into this many classes, for metrics that need classes.
        bootstrap: halves of the rows to score for intervals: 0 for none, 20 for ten times the work.
        seed: of every draw, and of the sample.
        out: where the scores go as JSON; by default scores.json in a run folder.
        progress: show what is going on.
    """
    folder = run_folder(run)
    how: dict[str, Any] = {"factor_bins": factor_bins, "bootstrap": bootstrap, "seed": seed}
    if not folder.path.is_dir() and folder.path.suffix.lower() in (".npz", ".npy"):
        chosen = "default" if metrics == "auto" else metrics
        return evaluate_file(folder.path, metrics=chosen, out=out, **how)
    if folder.path.is_file():
        raise DistaffError(f"{run} is neither a run folder nor a file of codes: those end in .npz or .npy.")
    count = sample_size(observations)
    data = open_data(folder)
    began = time.monotonic()
    encoded = encode_run(folder, data, progress, count, seed)
    evaluation = evaluate_encoded(encoded, data, metrics, **how)
    setup = Setup(None if encoded.rows is None else count, seed, factor_bins)
    step = trained_steps(folder)
    known = Scores.read(folder.scores).at(step) if out is None else Scores(step)
    known = known.plus(evaluation, setup).spent(time.monotonic() - began)
    known.write(folder.scores if out is None else Path(out))
    return evaluation


def evaluate_encoded(encoded: Encoded, data: Dataset, metrics: str = "auto", **how: Any) -> Evaluation:
    """For a VAE reconstruction error and KL; then metrics, with the factors that vary.

    Args:
        encoded: the codes.
        data: the whole data set that they are of, or are a sample of.
        metrics: as of ``evaluate_run``.
        **how: ``factor_bins``, ``bootstrap`` and ``seed``, as of ``evaluate_run``.
    """
    own, auto = elbo(encoded), metrics == "auto"
    chosen, strict = (AUTOMATIC, False) if auto else (metrics, None)
    factors = varied_factors(data if encoded.rows is None else data.subset(encoded.rows))
    found = evaluate_scores(encoded.standard_codes, factors, metrics=chosen, strict=strict, **how)
    found = of_sample(found, encoded)
    return Evaluation(own.scores + found.scores, {**own.skipped, **found.skipped})


def of_sample(evaluation: Evaluation, encoded: Encoded) -> Evaluation:
    """The same scores, whose settings say on how many observations if these are a sample."""
    if encoded.rows is None:
        return evaluation
    told = {"observations": len(encoded.rows)}
    scores = tuple(replace(score, settings={**score.settings, **told}) for score in evaluation.scores)
    return replace(evaluation, scores=scores)


def elbo(encoded: Encoded) -> Evaluation:
    """Reconstruction error and KL: what any VAE has, with or without labels.

    Those of a sample have their ``standard_error`` among the details: s/√N, of rows and of draws of z.
    """
    if encoded.nll is None or encoded.kl is None or encoded.kl_per_latent is None:
        return Evaluation((), {ELBO: "the model has no likelihood."})
    error, kl = (float(values.mean(dtype=np.float64)) for values in (encoded.nll, encoded.kl))
    per_latent = dict(zip(encoded.codes.names, encoded.kl_per_latent.tolist(), strict=True))
    halves = (encoded.nll, encoded.kl)
    told = [{} if encoded.rows is None else _standard_error(values) for values in halves]
    texts = ("−E log p(x|z), nats", "E KL(q(z|x) ‖ p(z)), nats")
    scores = (
        Score("reconstruction_error", error, texts[0], "lower", details=told[0], metric=ELBO),
        Score("kl", kl, texts[1], "lower", per_latent=per_latent, details=told[1], metric=ELBO),
    )
    return of_sample(Evaluation(scores), encoded)


def _standard_error(values: FloatArray) -> dict[str, float]:
    """Of the values' mean; none where they are infinite, as the KL of a deterministic latent is."""
    if not np.isfinite(values).all():
        return {}
    return {"standard_error": float(values.std(ddof=1, dtype=np.float64) / np.sqrt(len(values)))}


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
