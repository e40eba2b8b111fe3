"""Scores of a run, or of codes from a file."""

import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from annotated_types import Ge

from distaff.analysis.elbo_scores import elbo, of_sample
from distaff.analysis.encoding import SAMPLE, Encoded, encode, encode_run, sample_size
from distaff.analysis.other_labels import with_labels
from distaff.analysis.score_table import write_table
from distaff.codes import Codes
from distaff.data.dataset import Dataset
from distaff.data.pictures import Fit
from distaff.data.splits import some
from distaff.foundation.errors import DistaffError, kept_if_allowed, said, spoken_to_its_caller, warn
from distaff.foundation.files import refuse_to_replace
from distaff.foundation.text import told_options
from distaff.metrics import Factors, as_factors
from distaff.metrics.baseline_file import Baseline
from distaff.metrics.code_sources import ENDINGS, named_source, read_source
from distaff.metrics.evaluation import Evaluation, Selection, evaluate_scores, requested
from distaff.metrics.options import BinCount, Seed
from distaff.metrics.row_names import ROWS, NamedRows
from distaff.metrics.scores_file import Scores, Setup
from distaff.models.ica import Unmixing
from distaff.models.ica import ica as ica_of
from distaff.runs.config import RunConfig
from distaff.runs.folder import RunFolder
from distaff.runs.load import TrainedRun, open_left_out, run_folder
from distaff.runs.other_files import with_other_files
from distaff.runs.settings import held_out_share

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
            columns (of obs in an h5ad file). A run's scores by these labels are only written to out.
        latents: names of the columns of a table that are codes, or of the array in obsm of an h5ad file.
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
    if not place.is_dir() and place.suffix.lower() in ENDINGS:
        if ica or held_out or data is not None:
            raise DistaffError(f"--ica, --held-out and --data go with a run folder, not with {run}.")
        if progress and sys.stderr.isatty():
            how |= {"report": _shown, "announce": _too_long}
        codes, labels = read_source(place, factors, latents)
        if other is not None:
            how["baselines"] = {other.name: other.codes_of(named_source(place, codes))}
        evaluation = evaluate_scores(codes, labels, metrics=named, **how)
        if out is not None:
            _write(Path(out), Scores().plus(evaluation, setup), evaluation, place.name, codes, labels)
        return evaluation
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
    dataset = _scored_data(trained, data, held_out, fit, data_options)
    scored = dataset if factors is None else with_labels(dataset, factors)
    if data is None and not held_out and (told := mixed(trained.config)) is not None:
        warn(said(f"{told}; --held-out leaves the others out"))
    began = time.monotonic()
    if data is not None or held_out:  # kept codes are those of the training data
        encoded = encode(trained.model, scored := some(scored, count, seed), progress)
    else:
        encoded = encode_run(trained, dataset, progress, count, seed)
    if other is not None:
        numbered = not held_out and len(scored) == len(dataset)
        how["baselines"] = {other.name: other.codes_of(_named_rows(scored, encoded, place, numbered))}
    unmixing = unmix_run(trained.folder, encoded, trained.step, seed) if ica else None
    evaluation = evaluate_encoded(encoded, scored, metrics, unmixing=unmixing, **how)
    if (data is not None or factors is not None) and out is None:
        return evaluation
    kept = _scores_file(trained.folder, ica, held_out)
    known = Scores.read(kept).at(trained.step) if out is None else Scores(trained.step)
    setup = replace(setup, observations=None if encoded.rows is None else count)
    known = known.plus(evaluation, setup).spent(time.monotonic() - began)
    path = kept if out is None else Path(out)
    labels = varied_factors(scored) if path.suffix.lower() == ".html" else None
    codes = encoded.codes if unmixing is None else unmixing(encoded.codes)
    with kept_if_allowed(path) if out is None else nullcontext():
        _write(path, known, evaluation, place.name, codes, labels)
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


def _scores_file(folder: RunFolder, ica: bool, held_out: bool) -> Path:
    """The file of a run's scores: of its latents, of its ICA's components, or on held-out data."""
    return folder.ica_scores if ica else folder.held_out_scores if held_out else folder.scores


def mixed(config: RunConfig) -> str | None:
    """A note that the run's whole data set includes rows held out of training, if it does."""
    share = held_out_share(config.training.hold_out)
    return None if share is None else f"about {share:.0%} of these observations were held out of training"


def _scored_data(
    run: TrainedRun, data: str | Path | None, held_out: bool, fit: Fit | None, data_options: str | None
) -> Dataset:
    """The data on which a run is scored: its own, its held-out data, or others prepared in the same way."""
    config = run.config
    if data is None and (fit is not None or data_options is not None):
        raise DistaffError("--fit and --data-options are for other data: name those with --data.")
    if data is not None:
        return config.data.bring_in(data, **told_options(data_options, fit=fit))
    if not held_out:
        return config.data.reopen()
    if "leave_out" in config.data.options:
        return open_left_out(run.folder)
    kept = config.parts(config.data.reopen())[1]
    with_other_files(config, kept)  # an error if they have changed
    if kept is None:
        raise DistaffError(
            f"{run.folder.path} was trained on all its data: only --hold-out 0.1 and --leave-out keep some "
            "apart."
        )
    return kept


def _write(
    path: Path, scores: Scores, evaluation: Evaluation, title: str, codes: Codes, factors: Factors | None
) -> None:
    """Write scores as JSON, a table or a page, depending on the file's name."""
    match path.suffix.lower():
        case ".csv":
            write_table(path, evaluation)
        case ".html" | ".htm":
            from distaff.analysis.scores_page import write_page

            write_page(path, f"Scores of {title}", evaluation, codes, factors)
        case _:
            scores.write(path)


def _shown(metric: str) -> None:
    print(f"{metric} …", file=sys.stderr, flush=True)


def _too_long(metric: str, reason: str) -> None:
    print(f"{metric}: left out, {reason}", file=sys.stderr, flush=True)


def unmix_run(folder: RunFolder, encoded: Encoded, step: int, seed: int = 0) -> Unmixing:
    """Compute the ICA of a run's codes and save it in the run's folder.

    Args:
        folder: the run folder.
        encoded: codes of the run.
        step: step of its checkpoint.
        seed: seed of the initial rotation.
    """
    found = ica_of(encoded.codes, seed=seed)
    with kept_if_allowed(folder.ica):
        found.write(folder.ica, {"step": str(step), "rows": str(len(encoded.codes)), "seed": str(seed)})
    return found


def evaluate_encoded(
    encoded: Encoded,
    data: Dataset,
    metrics: Selection | str = "auto",
    unmixing: Unmixing | None = None,
    **how: Any,
) -> Evaluation:
    """Score codes: reconstruction error and KL for a VAE, then metrics, with the factors that vary.

    Args:
        encoded: the codes.
        data: the whole data set, also if the codes are of a sample.
        metrics: metrics, as in ``evaluate_run``.
        unmixing: ICA of the codes; if given, its components are scored instead.
        **how: ``factor_bins``, ``bootstrap``, ``null`` and ``seed``, as in ``evaluate_run``, and
            ``baselines``, as in ``distaff.evaluate``.
    """
    own, auto = elbo(encoded), metrics == "auto"
    chosen, strict = (AUTOMATIC, False) if auto else (metrics, None)
    factors = varied_factors(data if encoded.rows is None else data.subset(encoded.rows))
    codes = encoded.standard_codes if unmixing is None else unmixing(encoded.codes)
    found = evaluate_scores(codes, factors, metrics=chosen, strict=strict, **how)
    found = of_sample(found, encoded)
    return Evaluation(own.scores + found.scores, {**own.skipped, **found.skipped})


def varied_factors(data: Dataset) -> Factors | None:
    """The factors that take more than one value in the data set; a warning names the others."""
    if data.factors is None:
        return None
    varied = np.flatnonzero(np.fmax.reduce(data.factors) > np.fmin.reduce(data.factors))
    constant = [name for k, name in enumerate(data.names) if k not in varied]
    if constant:
        warn(f"left out of the scores, since they never vary here: {', '.join(constant)}")
    names = [data.names[k] for k in varied]
    return as_factors(data.factors[:, varied], names=names) if names else None
