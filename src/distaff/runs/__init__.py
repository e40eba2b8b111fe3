"""Runs: what was asked for, the folder it is kept in, and the model that comes back out of it.

``RunConfig`` is what ``train`` fills, ``run.yaml`` holds, and everything else reads. A new training setting
is one field of ``TrainingSettings`` with its line in the docstring: Python, flags, ``run.yaml`` and studies
follow.
"""
