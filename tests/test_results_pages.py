"""What pages say of results is what is kept: the models of the zoo, and verdicts on the papers' claims."""

import importlib.util
from pathlib import Path

import pytest

from distaff.studies import Study
from distaff.studies.kept import claims_by_paper, kept_studies

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("results_pages", ROOT / "docs/hooks/results.py")
assert spec is not None
assert spec.loader is not None
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)

CLAIMING = {
    study.name: study for path in (ROOT / "studies").rglob("*.yaml") if (study := Study.read(path)).claims
}


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_pages_are_fresh(page):
    text = page.read_text("utf-8")
    assert text == pages.filled(text), "write it with python docs/hooks/results.py"
    assert "<!-- written: " in text


def test_every_part_is_on_a_page_and_stale_numbers_would_be_seen():
    text = "".join(page.read_text("utf-8") for page in pages.PAGES)
    assert all(text.count(f"<!-- written: {name} -->") == 1 for name in pages.PARTS)
    stale = text.replace("| all | ", "| all | 1")
    assert pages.filled(stale) == text


def test_every_study_that_makes_claims_is_kept_with_the_claims_of_its_file():
    kept = {study.name: study for study in kept_studies(pages.RESULTS)}
    for name, study in CLAIMING.items():
        assert name in kept, f"keep it with distaff study keep ({name})"
        assert [claim["says"] for claim in kept[name].claims] == [claim.says for claim in study.claims]
    assert not {name for name, study in kept.items() if study.claims} - CLAIMING.keys()


def test_the_page_opens_with_the_count_of_each_paper():
    counts = claims_by_paper(kept_studies(pages.RESULTS))
    assert set(counts["paper"]) == {*pages.PAPERS}
    opening = (ROOT / "docs/reproduction.md").read_text("utf-8").partition("\n## ")[0]
    for row in counts.itertuples(index=False):
        assert f"| {pages.PAPERS[row[0]]} | {' | '.join(map(str, row[1:]))} |" in opening
    assert (counts.iloc[:-1, 1:].sum() == counts.iloc[-1, 1:]).all()


def test_bars_within_cells_do_not_break_a_table():
    assert pages.table(["a"], [["E[x|z]"]]).splitlines()[-1] == "| E[x\\|z] |"
