"""Shared by all tests: one thread a process, so that two test workers use two cores."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest_plugins = ["tests.small_studies"]
