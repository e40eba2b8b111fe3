"""The two scores that any VAE has, with or without labels: reconstruction error and KL."""

from dataclasses import replace

import numpy as np

from distaff.analysis.encoding import Encoded
from distaff.codes import FloatArray
from distaff.metrics import Score
from distaff.metrics.evaluation import Evaluation
from distaff.metrics.scores_json import ELBO


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
    told = [{} if encoded.rows is None else _standard_error(values) for values in halves]
    texts = ("−E log p(x|z), nats", "E KL(q(z|x) ‖ p(z)), nats")
    scores = (
        Score("reconstruction_error", error, texts[0], "lower", details=told[0], metric=ELBO),
        Score("kl", kl, texts[1], "lower", per_latent=per_latent, details=told[1], metric=ELBO),
    )
    return of_sample(Evaluation(scores), encoded)


def _standard_error(values: FloatArray) -> dict[str, float]:
    """The standard error of the mean; none for infinite values, such as the KL of a deterministic latent."""
    if not np.isfinite(values).all():
        return {}
    return {"standard_error": float(values.std(ddof=1, dtype=np.float64) / np.sqrt(len(values)))}
