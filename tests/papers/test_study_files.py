"""The papers' experiments: every study file can be read and built, and its figures ask for what it has."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from distaff.data.arrays import from_array
from distaff.data.catalogue import about
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.own_functions import metric_of
from distaff.runs.model_choice import describe
from distaff.runs.request import RunRequest
from distaff.studies.own_metrics import column_of
from distaff.studies.study import Drawing, Study

FOLDER = Path(__file__).parents[2] / "studies"
FILES = {"-".join(path.relative_to(FOLDER).with_suffix("").parts): path for path in FOLDER.rglob("*.yaml")}
"""Every study file by the name that its place gives it: studies/kim18/fig7.yaml is kim18-fig7."""

ASKED = {
    "kim18": ["fig4-5", "fig7", "fig16-17", "3dshapes", "fig23", "fig18", "unlabelled"],
    "kim18-infogan": ["dsprites", "mnist"],
    "esmaeili18": ["fig3", "table2", "mnist", "fashion-mnist", "celeba", "zero-shot"],
    "do20": ["fig2-8", "tables8-9", "ablations", "ablations-synthetic", "consistency", "celeba"],
    "mathieu19": ["fig2-anisotropic", "fig2-student", "fig3-pinwheel", "fig4-sparsity"],
    "locatello20": ["shapes3d", "dsprites", "few-labels"],
    "hsu23": ["shapes3d", "dsprites", "ica-shapes3d", "ica-dsprites"],
}
AT_HAND = ("kim18", "esmaeili18", "do20", "mathieu19")
"""Papers whose sections and figures could be looked up; claims of others name the paper alone."""


@pytest.fixture(scope="module", params=sorted(FILES))
def study(request) -> Study:
    return Study.read(FILES[request.param])


def test_every_experiment_of_the_papers_has_a_file():
    asked = {f"{paper}-{part}" for paper, parts in ASKED.items() for part in parts}
    assert asked <= set(FILES)


def test_a_study_is_called_by_its_place_and_says_what_it_shows(study, request):
    assert study.name == request.node.callspec.params["study"]
    assert len(study.about) > 40
    assert study.figures
    assert study.scale == 1


def test_the_page_of_reproductions_has_a_section_and_a_command_for_every_study():
    page = (FOLDER.parent / "docs" / "reproduction.md").read_text("utf-8")
    shown = set(re.findall(r"distaff study run studies/(\S+)\.yaml", page))
    assert {name.replace("/", "-") for name in shown} == set(FILES)
    headings = " ".join(re.findall(r"^## (.+)$", page, re.M)).split()
    assert set(FILES) - set(headings) == {"do20-ablations-synthetic"}, (
        "which is spoken of under do20-ablations"
    )


def test_every_model_and_objective_can_be_made(study):
    for run in distinct(study.runs):
        spec = about(run.data.spec)
        stand_in = from_array(np.zeros((4, *spec.shape), np.float32))
        model = describe(run.model, stand_in, run.recipe.goal())
        with torch.device("meta"):
            assert sum(weight.numel() for weight in model.build(spec.shape).parameters()) > 0


def test_figures_ask_for_runs_that_the_study_has(study):
    for drawing in study.figures:
        where = drawing.arguments.get("where", {})
        assert not where or list(matching(study.runs, where)), f"{drawing.name}: no run with {where}"
        if not study.runs:
            assert drawing.name.endswith("sensitivity"), "only these do without runs"


def test_figures_ask_for_scores_that_the_study_measures(study):
    columns = {"reconstruction", "kl"}
    for metric in study.metrics:
        columns |= {column_of(metric, name) for name in metric_of(metric).card.score_names}
    for drawing in study.figures:
        assert scores_in(drawing) <= columns, drawing.name


def test_claims_say_where_the_paper_makes_them_and_which_data_are_lacking(study):
    at_hand = any(paper in study.name for paper in AT_HAND)
    for claim in study.claims:
        assert re.search(r"Fig\.|Table|§|App\." if at_hand else r"et al\. \d{4}", claim.says), claim.says
    lacking = {"celeba", "chairs3d", "faces3d"}
    if study.runs and {run.data.spec for run in study.runs} <= lacking:
        assert all(set(claim.needs) & lacking for claim in study.claims)


def test_every_paper_makes_claims():
    counts = {
        paper: sum(len(Study.read(path).claims) for name, path in FILES.items() if name.startswith(paper))
        for paper in AT_HAND
    }
    assert all(count >= 10 for count in counts.values()), counts
    assert sum(counts.values()) >= 90


def test_scores_through_training_have_snapshots_to_be_read_from(study):
    for drawing in study.figures:
        quantities = drawing.arguments.get("quantities", ())
        metrics = [name for name in quantities if name.partition(":")[0] in all_metrics()]
        if metrics or drawing.name.endswith((":critic_tc", ":information_through_training")):
            runs = list(matching(study.runs, drawing.arguments.get("where", {})))
            assert all((run.training.snapshots or 0) >= 8 for run in runs), drawing.name


def distinct(runs: tuple[RunRequest, ...]) -> list[RunRequest]:
    """One run for each model and objective."""
    found = {}
    for run in runs:
        found.setdefault((str(run.recipe), run.data.spec, str(run.model)), run)
    return list(found.values())


def matching(runs: tuple[RunRequest, ...], where: Mapping[str, Any]) -> Iterator[RunRequest]:
    for run in runs:
        wanted = {name: value if isinstance(value, list) else [value] for name, value in where.items()}
        if all(run.settings.get(name) in values for name, values in wanted.items()):
            yield run


def scores_in(drawing: Drawing) -> set[str]:
    """Every score that a drawing's arguments name and the table must hold."""
    given = drawing.arguments
    found = {given[name] for name in ("x", "y") if name in given}
    if drawing.name != "scores_by_factor" and "score" in given:
        found.add(given["score"])
    found |= {score for pair in given.get("pairs", ()) for score in pair}
    return found | set(given.get("scores", ()))


def test_the_small_study_of_do_and_tran_scores_runs_of_kim_and_mnihs():
    scored, trained = (Study.read(FOLDER / "small" / f"{name}-dsprites.yaml") for name in ("do20", "kim18"))
    assert {run.key for run in scored.runs} <= {run.key for run in trained.runs}
