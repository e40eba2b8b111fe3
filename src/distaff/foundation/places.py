"""Folders outside of runs: caches, official data, and what distaff must remember about its user."""

import os
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """The folder for generated data: ``$DISTAFF_CACHE``, or the user's cache folder."""
    return Path(os.environ.get("DISTAFF_CACHE") or platformdirs.user_cache_dir("distaff"))


def data_folder() -> Path:
    """The folder for official data files: ``$DISTAFF_DATA``, or the user's data folder."""
    return Path(os.environ.get("DISTAFF_DATA") or platformdirs.user_data_dir("distaff"))


def state_folder() -> Path:
    """The folder for what distaff must remember about its user: ``$DISTAFF_STATE``, or the state folder."""
    return Path(os.environ.get("DISTAFF_STATE") or platformdirs.user_state_dir("distaff"))
