"""Drawings of a user's own, as ``module:function`` in the folder she works in."""

import sys
from pathlib import Path

import pytest

from distaff.cli import main

DRAWING = """
from distaff.figures import kl_bars


def bars(results, height=1.0):
    return kl_bars([height, 2.0])
"""
STUDY = "figures: [{drawing: 'own.drawings:bars', height: 3.0}]"


@pytest.fixture
def work(tmp_path, monkeypatch) -> Path:
    """A folder with a study and the drawing it names."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "drawings.py").write_text(DRAWING)
    (tmp_path / "bars.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    forget()


def forget() -> None:
    """As a new process would: the modules are not known yet."""
    for name in ("own", "own.drawings"):
        sys.modules.pop(name, None)


def test_a_study_and_its_folder_find_the_drawing_in_the_folder_they_are_run_from(work):
    main(["study", "run", "bars.yaml"])
    forget()
    main(["study", "report", "runs/bars"])
    page = (work / "runs" / "bars" / "report.html").read_text()
    assert "data:image/svg+xml;base64," in page
    assert "Not drawn" not in page


def test_from_another_folder_its_state_is_known_and_its_page_stays(
    work, tmp_path_factory, monkeypatch, capsys
):
    main(["study", "run", "bars.yaml"])
    main(["study", "report", "runs/bars"])
    page = work / "runs" / "bars" / "report.html"
    before = page.stat().st_mtime_ns
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    forget()
    main(["study", "status", str(page.parent)])
    for command in (["report", str(page.parent)], ["run", str(work / "bars.yaml")]):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main(["study", *command])
        assert stopped.value.code == 2
        said = capsys.readouterr().err
        assert "run from the folder that holds 'own'" in said
    assert page.stat().st_mtime_ns == before


def test_what_the_drawing_itself_cannot_import_is_not_blamed_on_the_folder(work, capsys):
    (work / "own" / "drawings.py").write_text("import no_such_library")
    with pytest.raises(SystemExit):
        main(["study", "run", "bars.yaml"])
    said = capsys.readouterr().err
    assert "No module named 'no_such_library'." in said
    assert "folder" not in said
