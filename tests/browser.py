"""A real browser for tests of pages: Chromium, where it is installed."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

if CHROMIUM is None and os.environ.get("DISTAFF_NEEDS_CHROMIUM"):
    raise RuntimeError("Chromium was installed for these tests, and cannot be found.")

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium (on Debian: apt install chromium)"
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
