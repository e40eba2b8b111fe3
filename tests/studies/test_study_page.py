"""A study's page: whole, and in a browser its images load and its tables sort."""

import re
import subprocess
from pathlib import Path

import pytest

from distaff.studies.results import Results
from distaff.studies.study import Study
from distaff.studies.study_page import write_report
from tests.browser import CHROMIUM, needs_chromium


@pytest.fixture(scope="module")
def path(done, tmp_path_factory) -> Path:
    return write_report(done, tmp_path_factory.mktemp("page") / "report.html")


def test_it_shows_settings_runs_drawings_and_how_to_make_it_again(path, done):
    html = path.read_text()
    for content in (
        "Squares somewhere, by three objectives.",
        "6 of 6",
        "Settings compared",
        "Student&#39;s t over seeds",
        "Every run a dot.",
        "Mean MIG",
        "Not drawn: it needs a critic, and no run has one.",
        "Correlation of scores, Spearman&#39;s",
        "Chosen without labels (UDR)",
        "distaff study run",
        "batch_size: 16",
        done.all_runs[0].key,
    ):
        assert content in html, content
    assert len(re.findall(r'src="data:image/(?:png|svg\+xml);base64,', html)) == 2
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', html)


def test_a_trial_and_failures_are_said(done, tmp_path):
    study = Study.parse(done.study.source, scale=0.5)
    results = Results(study, tmp_path)
    failing = results.all_runs[0]
    failing.folder.path.mkdir(parents=True)
    failing.failure_file.write_text('{"error": "the disk is full"}')
    html = write_report(results).read_text()
    assert "every run had 0.5 times the steps" in html
    assert "Runs that failed" in html
    assert "the disk is full" in html
    assert "0 of 6" in html


def test_a_study_of_figures_alone(tmp_path):
    study = Study.parse("name: drawn\nfigures: ['tests.studies.troubles:nothing_to_draw']")
    html = write_report(Results(study, tmp_path)).read_text()
    assert "Not drawn" in html


@needs_chromium
def test_in_a_browser_images_load_and_tables_sort(path, done):
    (path.parent / "driver.html").write_text("""
        <iframe src="report.html"></iframe><pre></pre>
        <script>
          const say = text => document.querySelector("pre").append(text + "\\n");
          document.querySelector("iframe").onload = event => {
            const inner = event.target.contentDocument;
            say([...inner.images].map(image => image.complete && image.naturalWidth > 0));
            const table = inner.querySelector("table");
            const headers = [...table.querySelectorAll("th button")];
            headers.find(one => one.textContent === "beta").click();
            say([...table.querySelectorAll("tbody tr")].map(row => row.cells[1].textContent));
          };
        </script>""")
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
    flags += " --disable-web-security --allow-file-access-from-files --virtual-time-budget=5000 --dump-dom"
    profile = f"--user-data-dir={path.parent / 'profile'}"
    command = [CHROMIUM, *flags.split(), profile, (path.parent / "driver.html").as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    said = re.findall(r"<pre>(.*)</pre>", dom, flags=re.S)[0].splitlines()
    assert said == ["true,true", "8,1,–"]
