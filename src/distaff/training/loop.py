"""The training loop, which is independent of models and objectives."""

from distaff.training.batches import Batches, seed_step
from distaff.training.learner import Learner
from distaff.training.recorder import Recorder


def fit(learner: Learner, batches: Batches, start: int, steps: int, recorder: Recorder) -> None:
    """Train from step ``start`` up to ``steps``; whatever happens, the last checkpoint is good.

    The noise of a step is a function of the seed, the step and the process, so that a run killed at any point
    and resumed from its checkpoint ends with exactly the weights of an uninterrupted run.
    """
    for index in range(start, steps):
        if recorder.patience_is_over():
            return recorder.checkpoint(learner, index)
        seed_step(batches.seed, index, batches.share.start)
        values = learner.update(batches, index)
        recorder.validate(learner, index + 1)
        recorder.add(index, values)
        recorder.snapshot(learner, index + 1)
        stop = recorder.asked_to_stop(index + 1)
        if stop or recorder.checkpoint_due(index + 1):
            recorder.checkpoint(learner, index + 1)
        if stop:
            return None
    return recorder.checkpoint(learner, max(start, steps))
