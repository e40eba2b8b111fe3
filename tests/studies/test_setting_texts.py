"""Pages of studies write scheduled weights in short wherever settings stay apart by that."""

import re

import pandas as pd
import pytest

from distaff.figures.html import Facts, Short, Table, page
from distaff.studies.results import Results
from distaff.studies.setting_texts import SettingTexts
from distaff.studies.study import Study
from distaff.studies.study_page import write_report
from distaff.studies.worker_task import attempt

OPENING = "exponential:60:8:12,exponential:8:4:2"
SCHEDULED = """
name: scheduled
data: {data}
steps: 20
seeds: 2
common: {{batch_size: 16, network: mlp, latents: 3, accelerator: cpu}}
runs:
  - {{recipe: beta_vae, beta: ["linear:0:3:10", "exponential:60:8:12,exponential:8:4:2", "linear:1:4:10", 6]}}
metrics: [mig]
"""


def texts(*betas: object, steps: int = 20, **others: object) -> SettingTexts:
    table = pd.DataFrame({"recipe": "beta_vae", "beta": betas, "steps": steps, **others})
    return SettingTexts(table, ["recipe", "beta", *others])


def beta(of: SettingTexts, value: object, **others: object) -> object:
    return of.cells({"recipe": "beta_vae", "beta": value, **others})[1]


def test_a_schedule_is_the_value_that_it_ends_with():
    of = texts("linear:0:3:10", OPENING, "6.0", None)
    assert beta(of, "linear:0:3:10") == Short("→ 3", "linear:0:3:10")
    assert beta(of, OPENING) == Short("→ 4", OPENING)
    assert beta(of, "6.0") == "6.0"
    assert beta(of, float("nan")) is None
    assert beta(texts("linear:0:3:30", steps=10), "linear:0:3:30") == Short("→ 1", "linear:0:3:30")


def test_settings_that_would_look_alike_have_their_full_texts_and_others_not():
    of = texts("linear:0:4:10", OPENING, "linear:0:3:10")
    assert beta(of, "linear:0:4:10") == "linear:0:4:10"
    assert beta(of, OPENING) == OPENING
    assert beta(of, "linear:0:3:10") == Short("→ 3", "linear:0:3:10")


def test_only_columns_in_which_they_differ_are_full():
    of = texts("linear:0:4:10", "linear:0:4:10", gamma=["linear:0:1:5", "linear:0:1:6"])
    row = {"recipe": "beta_vae", "beta": "linear:0:4:10", "gamma": "linear:0:1:5"}
    assert of.cells(row) == ("beta_vae", Short("→ 4", "linear:0:4:10"), "linear:0:1:5")
    apart = texts("linear:0:4:10", OPENING, gamma=[1, 2])
    assert beta(apart, OPENING, gamma=2) == Short("→ 4", OPENING), "another setting tells them apart"


def test_a_setting_in_words_has_the_full_text_beside_it():
    of = texts("linear:0:3:10", None, latents=[3, 4])
    said = of.sentence({"recipe": "beta_vae", "beta": "linear:0:3:10", "latents": 3.0})
    assert said == Short("beta_vae, beta → 3, latents 3", "beta_vae, beta linear:0:3:10, latents 3")
    assert of.sentence({"recipe": "beta_vae", "beta": None, "latents": 4}) == "beta_vae, latents 4"


@pytest.mark.parametrize(
    "value", ["digit=concrete:10,gaussian:6", "mixture:0.03", "mine:net", "a:b:c:d", "::", "1:2"]
)
def test_texts_that_are_no_schedules_stay(value):
    assert beta(texts(value), value) == value


def test_a_cell_in_short_has_its_full_text_as_a_title():
    html = page("p", [Facts({"by": Short("β → 3", "<long>" * 9)}), Table(["a"], [[Short("→ 3", "x")]])])
    full = "&lt;long&gt;" * 9
    assert f'<dd><abbr title="{full}">β → 3</abbr></dd>' in html, "the tile is not one of a long text"
    assert 'data-sort="→ 3"><abbr title="x">→ 3</abbr></td>' in html


def test_the_page_of_a_study(tiny, tmp_path):
    results = Results(Study.parse(SCHEDULED.format(data=tiny)), tmp_path)
    for run in results.all_runs:
        assert attempt(run).error is None
    html = write_report(results).read_text().rpartition("The study (study.yaml)")[0]
    shown = re.sub(r"<[^>]*>", " ", html[html.index("<main>") :])
    assert "→ 3" in shown
    assert "linear:0:3:10" not in shown
    assert html.count('title="linear:0:3:10"') >= 5, "settings, two runs and their UDR"
    assert "→ 4" not in shown, "two schedules end there"
    assert "linear:1:4:10" in shown
    assert OPENING in shown
    best = re.search(r"<dt>by</dt><dd[^>]*>(.*?)</dd>", html)
    assert best is not None
    assert "beta_vae, beta " in best[1]
