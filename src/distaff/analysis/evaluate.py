"""Scores of a run, or of codes from a file."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from distaff.analysis.encoding import SAMPLE, Encoded, encode, encode_run, sample_size, trained_steps
from distaff.codes import FloatArray
from distaff.data.dataset import Dataset
from distaff.data.splits import some
from distaff.foundation.errors import DistaffError
from distaff.metrics import Factors, Score, as_factors
from distaff.metrics.codes_file import evaluate_file
from distaff.metrics.evaluation import Evaluation, evaluate_scores
from distaff.metrics.scores_file import ELBO, Scores, Setup
from distaff.models.ica import Unmixing
from distaff.models.ica import ica as ica_of
from distaff.runs.folder import RunFolder, warn
from distaff.runs.load import load, open_data, open_held_out

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
    ica: bool = False,
    held_out: bool = False,
    out: str | Path | None = None,
    progress: bool = True,
) -> Evaluation:
    """Score a run on a random sample of its data set, or the codes of a file from any framework.

    Args:
        run: a run folder; an npz file with means, optional logvars and factors; or an npy file of means.
        metrics: default, all, or names such as mig,dci; auto is the FactorVAE score of a run and the default
            table of a file.
        observations: how many of a run's data set to score, chosen at random, or all; a smaller set is scored
            whole, as a file always is.
        factor_bins: bin real-valued factors into this many classes, for metrics that need classes.
        bootstrap: halves of the rows to score for intervals: 0 for none, 20 for ten times the work.
        seed: of every draw, and of the sample.
        ica: unmix a run's real latents by ICA first, and keep the mixing matrix in its folder, where
            ``distaff.load(RUN, ica=True)`` finds it.
        held_out: score what the run's ``hold_out`` left out of training, in place of what it was trained on.
        out: where the scores go as JSON; by default scores.json in a run folder, scores-ica.json or
            scores-held-out.json.
        progress: show what is going on.
    """
    folder = RunFolder(Path(run))
    how: dict[str, Any] = {"factor_bins": factor_bins, "bootstrap": bootstrap, "seed": seed}
    if not folder.path.is_dir() and folder.path.suffix.lower() in (".npz", ".npy"):
        if ica or held_out:
            raise DistaffError(f"ica and held_out go with a run folder, not with {run}: leave them out.")
        chosen = "default" if metrics == "auto" else metrics
        return evaluate_file(folder.path, metrics=chosen, out=out, **how)
    if folder.path.is_file():
        raise DistaffError(f"{run} is neither a run folder nor a file of codes: those end in .npz or .npy.")
    if ica and held_out:
        raise DistaffError("ica is fitted to what a run was trained on: leave out ica or held_out.")
    count = sample_size(observations)
    data = open_held_out(folder) if held_out else open_data(folder)
    began = time.monotonic()
    if held_out:  # what is kept of a run's codes is of the data that it was trained on
        encoded = encode(load(folder.path), data := some(data, count, seed), progress)
    else:
        encoded = encode_run(folder, data, progress, count, seed)
    step = trained_steps(folder)
    unmixing = unmix_run(folder, encoded, step, seed) if ica else None
    evaluation = evaluate_encoded(encoded, data, metrics, unmixing=unmixing, **how)
    setup = Setup(None if encoded.rows is None else count, seed, factor_bins)
    kept = folder.ica_scores if ica else folder.held_out_scores if held_out else folder.scores
    known = Scores.read(kept).at(step) if out is None else Scores(step)
    known = known.plus(evaluation, setup).spent(time.monotonic() - began)
    known.write(kept if out is None else Path(out))
    return evaluation


def unmix_run(folder: RunFolder, encoded: Encoded, step: int, seed: int = 0) -> Unmixing:
    """The ICA of a run's codes, which stays in its folder.

    Args:
        folder: the run.
        encoded: its codes.
        step: of its checkpoint.
        seed: of the ICA's start.
    """
    found = ica_of(encoded.codes, seed=seed)
    found.write(folder.ica, {"step": str(step), "rows": str(len(encoded.codes)), "seed": str(seed)})
    return found


def evaluate_encoded(
    encoded: Encoded, data: Dataset, metrics: str = "auto", unmixing: Unmixing | None = None, **how: Any
) -> Evaluation:
    """For a VAE reconstruction error and KL; then metrics, with the factors that vary.

    Args:
        encoded: the codes.
        data: the whole data set that they are of, or are a sample of.
        metrics: as of ``evaluate_run``.
        unmixing: an ICA of the codes, whose components are scored in their place.
        **how: ``factor_bins``, ``bootstrap`` and ``seed``, as of ``evaluate_run``.
    """
    own, auto = elbo(encoded), metrics == "auto"
    chosen, strict = (AUTOMATIC, False) if auto else (metrics, None)
    factors = varied_factors(data if encoded.rows is None else data.subset(encoded.rows))
    codes = encoded.standard_codes if unmixing is None else unmixing(encoded.codes)
    found = evaluate_scores(codes, factors, metrics=chosen, strict=strict, **how)
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
    varied = np.flatnonzero(np.fmax.reduce(data.factors) > np.fmin.reduce(data.factors))
    constant = [name for k, name in enumerate(data.names) if k not in varied]
    if constant:
        warn(f"left out of the scores, since they never vary here: {', '.join(constant)}")
    names = [data.names[k] for k in varied]
    return as_factors(data.factors[:, varied], names=names) if names else None
