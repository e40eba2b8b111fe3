"""The study's metrics of one run: what is known already is kept, what is missing is added."""

import json
import time
from typing import Any

from distaff.errors import DistaffError
from distaff.evaluation import Encoded, elbo_scores, encode_run, trained_steps, varied_factors
from distaff.files import write_json
from distaff.metrics import Factors
from distaff.metrics.evaluation import evaluate_scores
from distaff.studies.study_run import StudyRun


def score(run: StudyRun) -> None:
    """Compute the metrics that ``scores.json`` lacks and write it, with how long they took.

    A metric that a run's codes do not allow is noted as skipped, with the reason: one collapsed model should
    not take the others' scores with it. What no run could have was refused before any was trained.
    """
    began = time.monotonic()
    content = _held(run)
    asked = [metric for metric in run.metrics if metric not in content["asked"]]
    encoded = encode_run(run.folder, run.data, progress=False)
    factors = varied_factors(run.data) if asked else None
    content["scores"] = [
        *(one.to_dict() for one in elbo_scores(encoded)),
        *(entry for entry in content["scores"] if "metric" in entry),
    ]
    for metric in asked:
        try:
            content["scores"] += _measured(metric, encoded, factors)
        except DistaffError as reason:
            content["skipped"][metric] = str(reason)
        content["asked"].append(metric)
    content["seconds"] = round(content["seconds"] + time.monotonic() - began, 2)
    write_json(run.folder.scores, content)


def _held(run: StudyRun) -> dict[str, Any]:
    """What earlier scoring of the same weights left."""
    step = trained_steps(run.folder)
    start: dict[str, Any] = {"step": step, "observations": run.observations}
    start |= {"asked": [], "seconds": 0.0, "scores": [], "skipped": {}}
    try:
        held = json.loads(run.folder.scores.read_text(encoding="utf-8"))
        if held["step"] == step and held.get("observations") == run.observations:
            return {**start, **{key: held[key] for key in ("asked", "seconds", "scores", "skipped")}}
    except (OSError, ValueError, KeyError, TypeError):
        pass  # absent, or not a study's: measured anew
    return start


def _measured(metric: str, encoded: Encoded, factors: Factors | None) -> list[dict[str, Any]]:
    found = evaluate_scores(encoded.standard_codes, factors, metrics=[metric]).scores
    return [{"metric": metric, **one.to_dict()} for one in found]
