"""Scores of the codes in a file, from any framework: there is no run."""

import sys
from pathlib import Path
from typing import Any

from distaff.analysis.score_table import READABLE, write_readable
from distaff.foundation.errors import DistaffError
from distaff.metrics.baseline_file import Baseline
from distaff.metrics.code_sources import named_source, read_source
from distaff.metrics.evaluation import Evaluation, Selection, evaluate_scores
from distaff.metrics.score import Scores
from distaff.metrics.scores_json import Setup


def evaluate_codes(
    file: Path,
    factors: str | None,
    latents: str | None,
    real: list[str] | None,
    baseline: Baseline | None,
    setup: Setup,
    metrics: Selection,
    out: str | Path | None,
    progress: bool,
    **how: Any,
) -> Evaluation:
    """``distaff.analysis.evaluate_run`` for a file of codes; ``setup`` goes into a file of scores."""
    if progress and sys.stderr.isatty():
        how |= {"report": _shown, "announce": _too_long}
    codes, labels = read_source(file, factors, latents, real)
    if labels is None and real is not None:
        raise DistaffError(f"--real is about labels, and {file} has none: name them with --factors.")
    if baseline is not None:
        how["baselines"] = {baseline.name: baseline.codes_of(named_source(file, codes))}
    evaluation = evaluate_scores(codes, labels, metrics=metrics, **how)
    if out is not None and Path(out).suffix.lower() in READABLE:
        write_readable(Path(out), evaluation, file.name, codes, labels)
    elif out is not None:
        Scores().plus(evaluation, setup).write(Path(out))
    return evaluation


def _shown(metric: str) -> None:
    print(f"{metric} …", file=sys.stderr, flush=True)


def _too_long(metric: str, reason: str) -> None:
    print(f"{metric}: left out, {reason}", file=sys.stderr, flush=True)
