"""The study's metrics of one run: what is known already is kept, what is missing is added."""

import time

from distaff.analysis.encoding import Encoded, encode_run, trained_steps
from distaff.analysis.evaluate import elbo, varied_factors
from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.metrics import Evaluation, evaluate_scores
from distaff.metrics.scores_file import Scores, Setup
from distaff.studies.study_run import StudyRun


def score(run: StudyRun) -> None:
    """Compute the metrics that ``scores.json`` lacks and write it, with how long they took.

    A metric that a run's codes do not allow is noted as skipped, with the reason: one collapsed model should
    not take the others' scores with it. What no run could have was refused before any was trained.
    """
    began = time.monotonic()
    setup = Setup(run.observations)
    known = Scores.read(run.folder.scores).at(trained_steps(run.folder))
    done = {entry.metric for entry in known.of(setup)}
    missing = [metric for metric in run.metrics if metric not in done]
    encoded = encode_run(run.folder, run.data, progress=False)
    known = known.plus(elbo(encoded), setup)
    if missing:
        known = known.plus(_measured(encoded, run.data, missing), setup)
    known.spent(time.monotonic() - began).write(run.folder.scores)


def _measured(encoded: Encoded, data: Dataset, metrics: list[str]) -> Evaluation:
    try:
        return evaluate_scores(encoded.standard_codes, varied_factors(data), metrics=metrics, strict=False)
    except DistaffError as reason:  # codes that are none at all
        return Evaluation((), dict.fromkeys(metrics, str(reason)))
