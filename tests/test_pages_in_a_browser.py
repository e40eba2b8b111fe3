"""Every page that is written, on a desktop and on a phone: nothing is cut off, figures follow dark mode."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from distaff.analysis.compare import compare_runs
from distaff.analysis.evaluate import evaluate_run
from distaff.analysis.report import report_run
from distaff.explore.session import Session
from distaff.explore.standalone import export_page
from distaff.studies.study_page import write_report
from tests.browser import chromium, needs_chromium

pytestmark = needs_chromium
WIDTHS = {"desktop": 1280, "phone": 390}
PAGES = ("report", "scores", "compare", "study", "explore")
CUT_OFF = """() => [...document.querySelectorAll("body *")].filter(element => {
    const overflow = getComputedStyle(element).overflowX;
    const scrolls = overflow === "auto" || overflow === "scroll";
    return overflow !== "visible" && element.scrollWidth > element.clientWidth + 1
        && !(scrolls && element.matches(".wide"));
}).map(element => `${element.tagName} ${element.className}: ${element.textContent.trim().slice(0, 60)}`)"""
BEYOND = """() => [...document.querySelectorAll("h1, h2, caption, p, dd, dt, li, th, td")].filter(element => {
    const {left, right, width} = element.getBoundingClientRect();
    return width && (left < -1 || right > innerWidth + 1);
}).map(element => element.textContent.trim().slice(0, 60))"""


@pytest.fixture(scope="module")
def pages(shapes, tmp_path_factory) -> dict[str, Path]:
    """Each kind of page, of a study with a long name and of its runs."""
    folder = tmp_path_factory.mktemp("pages")
    first, second = (run.folder.path for run in (shapes.all_runs[0], shapes.all_runs[-1]))
    evaluate_run(first, metrics="mig,dci,sap", null=3, out=folder / "scores.html", progress=False)
    report_run(first, out=folder / "report.html", progress=False)
    compare_runs([first, second], out=folder / "compare.html", progress=False)
    write_report(shapes, folder / "study.html")
    export_page(Session.open([first, second]), folder / "explore.html")
    return {name: folder / f"{name}.html" for name in PAGES}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def opened(browser: Browser, path: Path, width: int, scheme: str = "light") -> Page:
    page = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme).new_page()
    page.goto(path.as_uri())
    page.wait_for_function("[...document.images].every(image => image.complete)")
    return page


@pytest.mark.parametrize("width", WIDTHS.values(), ids=list(WIDTHS))
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_off(browser, pages, name, width):
    page = opened(browser, pages[name], width)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(CUT_OFF) == []
    assert page.evaluate(BEYOND) == []
    page.context.close()


@pytest.mark.parametrize("name", ["report", "scores", "compare"])
def test_figures_follow_the_colour_scheme(browser, pages, name):
    papers = {}
    for scheme in ("light", "dark"):
        page = opened(browser, pages[name], 1280, scheme)
        shots = [image.screenshot() for image in page.locator("img").all()]
        pixels = [np.asarray(Image.open(io.BytesIO(shot)).convert("L")) for shot in shots]
        papers[scheme] = [np.median(one[:, 12:14]) for one in pixels]
        page.context.close()
    assert papers["light"]
    assert min(papers["light"]) > 240, "paper is white by day"
    assert max(papers["dark"]) < 60, "and dark by night"
