"""Scores of a run, or of codes from a file."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from distaff.analysis.encoding import SAMPLE, Encoded, encode, encode_run, sample_size, trained_steps
from distaff.codes import FloatArray
from distaff.data.dataset import Dataset
from distaff.data.pictures import Fit
from distaff.data.splits import some
from distaff.foundation.errors import DistaffError, spoken_to_its_caller
from distaff.foundation.text import named_values
from distaff.metrics import Factors, Score, as_factors
from distaff.metrics.codes_file import evaluate_file
from distaff.metrics.evaluation import Evaluation, evaluate_scores
from distaff.metrics.scores_file import ELBO, Scores, Setup
from distaff.runs.folder import RunFolder, warn
from distaff.runs.load import load, open_data
from distaff.training.validation import parts

AUTOMATIC = "factor_vae_score"
"""What a run is scored by when nothing else is asked for."""


@spoken_to_its_caller
def evaluate_run(
    run: str | Path,
    *,
    data: str | Path | None = None,
    held_out: bool = False,
    fit: Fit | None = None,
    data_options: str | None = None,
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
        run: a run folder; an npz file with means, optional logvars and factors; or an npy file of means.
        data: other data for a run's model, brought in as the run's own were: a folder, an archive, a table or
            a file of arrays; their scores are written only where out says.
        held_out: score the part of the data set that a run was not trained on; see --hold-out of training.
        fit: how other images of another size are brought to the model's: crop, pad or squash.
        data_options: what the reader of other data takes beside, such as labels=new.csv.
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
    folder = RunFolder(Path(run))
    how: dict[str, Any] = {"factor_bins": factor_bins, "bootstrap": bootstrap, "seed": seed}
    if not folder.path.is_dir() and folder.path.suffix.lower() in (".npz", ".npy"):
        chosen = "default" if metrics == "auto" else metrics
        return evaluate_file(folder.path, metrics=chosen, out=out, **how)
    if folder.path.is_file():
        raise DistaffError(f"{run} is neither a run folder nor a file of codes: those end in .npz or .npy.")
    count = sample_size(observations)
    if data is not None or held_out:
        other = _other(folder, data, fit, data_options)
        encoded = encode(load(folder.path), some(other, count, seed), progress)
        found = evaluate_encoded(encoded, some(other, count, seed), metrics, **how)
        place = out if out is not None else folder.path / "held-out-scores.json" if held_out else None
        if place is not None:
            Scores(trained_steps(folder)).plus(found, Setup(count, seed, factor_bins)).write(Path(place))
        return found
    dataset = open_data(folder)
    began = time.monotonic()
    encoded = encode_run(folder, dataset, progress, count, seed)
    evaluation = evaluate_encoded(encoded, dataset, metrics, **how)
    setup = Setup(None if encoded.rows is None else count, seed, factor_bins)
    step = trained_steps(folder)
    known = Scores.read(folder.scores).at(step) if out is None else Scores(step)
    known = known.plus(evaluation, setup).spent(time.monotonic() - began)
    known.write(folder.scores if out is None else Path(out))
    return evaluation


def _other(folder: RunFolder, data: str | Path | None, fit: Fit | None, data_options: str | None) -> Dataset:
    """Other data than a run was trained on: those that are named, or those that it held out."""
    config = folder.read()
    if data is not None:
        told = {} if fit is None else {"fit": fit}
        return config.data.bring_in(data, **named_values(data_options or ""), **told)
    kept = parts(open_data(folder), config.data, config.training)[1]
    if kept is None:
        raise DistaffError(
            f"{folder.path} was trained on all its data: only --hold-out 0.1 keeps some apart."
        )
    return kept


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
