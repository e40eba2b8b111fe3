"""Scores of a run, or of codes from a file."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from annotated_types import Ge
from rich.console import Console

from distaff.analysis.elbo_parts import standard_error
from distaff.analysis.encoding import SAMPLE, Encoded, encode, encode_run, sample_size
from distaff.analysis.other_labels import with_labels
from distaff.analysis.score_table import READABLE, terminal_table, write_readable
from distaff.analysis.unmixed_codes import unmix_run
from distaff.analysis.unseen_data import unseen_data
from distaff.analysis.without_run import evaluate_codes
from distaff.data.dataset import Dataset
from distaff.data.pictures import Fit
from distaff.data.splits import some
from distaff.foundation.errors import (
    DistaffError,
    kept_if_allowed,
    said,
    spoken_to_its_caller,
    unknown,
    warn,
)
from distaff.foundation.files import ending, refuse_to_replace
from distaff.metrics import Factors, as_factors
from distaff.metrics.baseline_file import Baseline
from distaff.metrics.code_sources import ENDINGS
from distaff.metrics.evaluation import Evaluation, Selection, evaluate_scores, requested
from distaff.metrics.options import BinCount, Seed
from distaff.metrics.row_names import ROWS, NamedRows
from distaff.metrics.score import Score, Scores
from distaff.metrics.scores_json import ELBO, Setup
from distaff.models.ica import Unmixing
from distaff.runs.config import RunConfig
from distaff.runs.folder import RunFolder, TrainedRun, run_folder
from distaff.runs.sections import held_out_share

AUTOMATIC = "factor_vae_score"
"""The default metric for a run."""


@spoken_to_its_caller
def evaluate_run(
    run: str | Path,
    *,
    metrics: Selection | str = "auto",
    data: str | Path | None = None,
    held_out: bool = False,
    fit: Fit | None = None,
    data_options: str | None = None,
    factors: str | None = None,
    latents: str | None = None,
    real: str | None = None,
    observations: int | str = SAMPLE,
    factor_bins: BinCount | None = None,
    bootstrap: Annotated[int, Ge(0)] = 0,
    null: Annotated[int, Ge(0)] = 0,
    baseline: str | None = None,
    seed: Seed = 0,
    ica: bool = False,
    out: str | Path | None = None,
    progress: bool = True,
) -> Evaluation:
    """Score a run on a random sample of its data set, or the codes of a file from any framework.

    Args:
        run: run folder or zoo:NAME; or a file of codes: an npz file with means, optional logvars and factors;
            an npy file of means; a csv, tsv or parquet table, whose columns of numbers are latents; an h5ad
            file.
        metrics: default, all, or names such as mig,dci and module:function for functions of your own; auto is
            the FactorVAE score for a run and the default table for a file.
        data: other data for a run's model, prepared in the same way as the run's own: a folder, an archive, a
            table or a file of arrays; their scores are only written to out.
        held_out: score data that a run was not trained on; see --hold-out and --leave-out of training.
        fit: how images in other data are brought to the model's size: crop, pad or squash.
        data_options: further options of the reader of other data, such as labels=new.csv.
        factors: labels in a file of their own (csv, tsv, parquet, npy, npz), one row per observation, in the
            same order or with a column that names the observations; for a file of codes also names of its own
            columns or arrays (in h5ad files those of obs). A run's scores by these are only written to out.
        latents: names of the columns of a table that are codes, or of the array of an npz file, or in obsm of
            an h5ad file.
        real: names of factors that are measured numbers, such as age,weight; all others are then classes. A
            run's scores by these are only written to out.
        observations: number of observations of a run's data set to score, chosen at random, or all; a smaller
            data set is scored entirely, as a file always is.
        factor_bins: bin real-valued factors into this many classes, for metrics that need classes.
        bootstrap: number of random halves of the rows to score for intervals: 0 for none, 20 for ten times
            the work.
        null: number of times to score against shuffled factors, to show chance level: 0 for none, 20 for
            twenty times the work.
        baseline: file of other codes of the same rows to score beside these, such as those of an untrained
            encoder; rows are matched by name if both name them, otherwise by position.
        seed: seed of every draw, and of the sample.
        ica: unmix a run's real latents by ICA first, and keep the mixing matrix in its folder for
            ``distaff.load(RUN, ica=True)``.
        out: file for the scores: JSON, or a table or a page if the name ends in .csv or .html; by default
            scores.json, scores-ica.json or scores-held-out.json in the run folder.
        progress: show progress.
    """
    place = run_folder(run).path
    if out is not None and Path(out).suffix.lower() not in ("", ".json", ".csv", ".html", ".htm"):
        raise DistaffError(f"{out}: scores are written to .json, .csv or .html files.")
    if out is not None:
        refuse_to_replace(Path(out))
    named = "default" if metrics == "auto" else metrics
    requested(named, factor_bins, bootstrap, seed, null)
    how: dict[str, Any] = {"factor_bins": factor_bins, "bootstrap": bootstrap, "null": null, "seed": seed}
    other = None if baseline is None else Baseline.read(baseline, factors, latents)
    setup = Setup(seed=seed, factor_bins=factor_bins)
    numbers = None if real is None else [name.strip() for name in real.split(",")]
    if not place.is_dir() and ending(place) in ENDINGS:
        if ica or held_out or data is not None:
            raise DistaffError(f"--ica, --held-out and --data go with a run folder, not with {run}.")
        return evaluate_codes(place, factors, latents, numbers, other, setup, named, out, progress, **how)
    if place.is_file():
        raise DistaffError(
            f"{run} is neither a run folder nor a file of codes: those end in {', '.join(ENDINGS)}."
        )
    if latents is not None:
        raise DistaffError(f"{run} is a run, which has latents of its own: --latents is for files of codes.")
    if ica and (held_out or data is not None):
        raise DistaffError("ICA is fitted to a run's training data: --ica cannot be used with other data.")
    if held_out and data is not None:
        raise DistaffError(
            "give --held-out, which asks for a part of the run's own data, or --data, not both."
        )
    if held_out and factors is not None:
        raise DistaffError("--factors labels all of a run's data, of which --held-out asks for a part.")
    count = sample_size(observations)
    trained = TrainedRun.open(RunFolder(place))
    unseen = data is not None or held_out
    if data is None and (fit is not None or data_options is not None):
        raise DistaffError("--fit and --data-options are for other data: name those with --data.")
    config = trained.config
    dataset = unseen_data(trained, data, fit, data_options) if unseen else config.data.reopen()
    scored = dataset if factors is None else with_labels(dataset, factors, numbers)
    if not unseen and (told := mixed(config)) is not None:
        warn(said(f"{told}; --held-out leaves the others out"))
    began = time.monotonic()
    if unseen:  # kept codes are those of the training data
        encoded = encode(trained.model, scored := some(scored, count, seed), progress)
    else:
        encoded = encode_run(trained, dataset, progress, count, seed)
    if other is not None:
        numbered = not held_out and len(scored) == len(dataset)
        how["baselines"] = {other.name: other.codes_of(_named_rows(scored, encoded, place, numbered))}
    unmixing = unmix_run(trained.folder, encoded, trained.step, seed) if ica else None
    evaluation = evaluate_encoded(encoded, scored, metrics, unmixing=unmixing, real=numbers, **how)
    if (data is not None or factors is not None or real is not None) and out is None:
        return evaluation
    folder = trained.folder
    kept = folder.ica_scores if ica else folder.held_out_scores if held_out else folder.scores
    known = Scores.read(kept).at(trained.step) if out is None else Scores(trained.step)
    setup = replace(setup, observations=None if encoded.rows is None else count)
    known = known.plus(evaluation, setup).spent(time.monotonic() - began)
    if out is None:
        with kept_if_allowed(kept):
            known.write(kept)
    elif Path(out).suffix.lower() in READABLE:
        labels = None if Path(out).suffix.lower() == ".csv" else varied_factors(scored, numbers)
        codes = encoded.codes if unmixing is None else unmixing(encoded.codes)
        write_readable(Path(out), evaluation, place.name, codes, labels)
    else:
        known.write(Path(out))
    return evaluation


def _named_rows(data: Dataset, encoded: Encoded, run: Path, numbered: bool) -> NamedRows:
    """The observations that were encoded, with their names, if they have any.

    Args:
        data: the data, also if the codes are of a sample.
        encoded: the codes.
        run: the run's folder.
        numbered: whether observations without names are known by their numbers in the data, as in files of
            ``distaff encode``.
    """
    names = np.arange(len(data)) if data.row_names is None and numbered else data.row_names
    if names is None:
        rows = pd.DataFrame(index=range(len(encoded.codes)))
    else:
        chosen = names if encoded.rows is None else names[encoded.rows]
        rows = pd.DataFrame(index=pd.Index(chosen, name=ROWS))
    return NamedRows(str(run), rows, labels=tuple(data.names))


def mixed(config: RunConfig) -> str | None:
    """A note that the run's whole data set includes rows held out of training, if it does."""
    share = held_out_share(config.training.hold_out)
    return None if share is None else f"about {share:.0%} of these observations were held out of training"


def evaluate_encoded(
    encoded: Encoded,
    data: Dataset,
    metrics: Selection | str = "auto",
    unmixing: Unmixing | None = None,
    real: Sequence[str] | None = None,
    **how: Any,
) -> Evaluation:
    """Score codes: reconstruction error and KL for a VAE, then metrics, with the factors that vary.

    Args:
        encoded: the codes.
        data: the whole data set, also if the codes are of a sample.
        metrics: metrics, as in ``evaluate_run``.
        unmixing: ICA of the codes; if given, its components are scored instead.
        real: names of the real-valued factors, as in ``distaff.metrics.as_factors``.
        **how: ``factor_bins``, ``bootstrap``, ``null`` and ``seed``, as in ``evaluate_run``, and
            ``baselines``, as in ``distaff.evaluate``.
    """
    own, auto = elbo(encoded), metrics == "auto"
    chosen, strict = (AUTOMATIC, False) if auto else (metrics, None)
    factors = varied_factors(data if encoded.rows is None else data.subset(encoded.rows), real)
    codes = encoded.standard_codes if unmixing is None else unmixing(encoded.codes)
    found = evaluate_scores(codes, factors, metrics=chosen, strict=strict, **how)
    found = of_sample(found, encoded)
    return Evaluation(own.scores + found.scores, {**own.skipped, **found.skipped})


def varied_factors(data: Dataset, real: Sequence[str] | None = None) -> Factors | None:
    """The factors that take more than one value in the data set; a warning names the others.

    Args:
        data: the data set.
        real: names of the real-valued ones, as in ``as_factors``.
    """
    for name in real or ():
        if name not in data.names:
            raise unknown("factor", name, data.names)
    if data.factors is None:
        return None
    varied = np.flatnonzero(np.fmax.reduce(data.factors) > np.fmin.reduce(data.factors))
    constant = [name for k, name in enumerate(data.names) if k not in varied]
    if constant:
        warn(f"left out of the scores, since they never vary here: {', '.join(constant)}")
    names = [data.names[k] for k in varied]
    numbers = None if real is None else [name for name in real if name in names]
    return as_factors(data.factors[:, varied], names=names, real=numbers) if names else None


def of_sample(evaluation: Evaluation, encoded: Encoded) -> Evaluation:
    """The same scores; if they are of a sample, their settings include its number of observations."""
    if encoded.rows is None:
        return evaluation
    told = {"observations": len(encoded.rows)}
    scores = tuple(replace(score, settings={**score.settings, **told}) for score in evaluation.scores)
    return replace(evaluation, scores=scores)


def elbo(encoded: Encoded) -> Evaluation:
    """Reconstruction error and KL, which any VAE has, with or without labels.

    On a sample, the details include the ``standard_error`` s/√N, due to the choice of rows and draws of z.
    """
    if encoded.nll is None or encoded.kl is None or encoded.kl_per_latent is None:
        return Evaluation((), {ELBO: "the model has no likelihood."})
    error, kl = (float(values.mean(dtype=np.float64)) for values in (encoded.nll, encoded.kl))
    per_latent = dict(zip(encoded.codes.names, encoded.kl_per_latent.tolist(), strict=True))
    halves = (encoded.nll, encoded.kl)
    errors = [math.nan if encoded.rows is None else standard_error(values) for values in halves]
    told = [{} if math.isnan(error) else {"standard_error": error} for error in errors]
    texts = ("−E log p(x|z), nats", "E KL(q(z|x) ‖ p(z)), nats")
    scores = (
        Score("reconstruction_error", error, texts[0], "lower", details=told[0], metric=ELBO),
        Score("kl", kl, texts[1], "lower", per_latent=per_latent, details=told[1], metric=ELBO),
    )
    return of_sample(Evaluation(scores), encoded)


def print_scores(evaluation: Evaluation, console: Console | None = None) -> None:
    """Print scores: on a terminal, a table grouped by topic; elsewhere, one or two lines per score."""
    console = console or Console()
    if console.is_terminal:
        return console.print(terminal_table(evaluation))
    for score in evaluation.scores:
        print(score)
    for name, reason in evaluation.skipped.items():
        print(f"{name}: left out, {reason}")
    return None
