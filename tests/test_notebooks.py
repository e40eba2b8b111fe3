"""The notebooks run as they stand, in a real kernel, and objects show themselves there."""

import os

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

from tests.processes import ROOT  # noqa: E402

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def outputs(notebook) -> list[dict]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def executed(notebook, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT / "examples")]))
    monkeypatch.setenv("DISTAFF_CACHE", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    folder = {"metadata": {"path": str(tmp_path)}}
    return nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=folder).execute()


def test_there_are_two():
    assert [path.name for path in NOTEBOOKS] == ["codes_from_anywhere.ipynb", "first_model.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs_and_was_executed_as_it_stands(path, tmp_path, monkeypatch):
    kept = nbformat.read(path, as_version=4)
    nbformat.validate(kept)
    assert f"| [{path.name}]({path.name}) |" in (ROOT / "examples" / "README.md").read_text()
    now = executed(nbformat.read(path, as_version=4), tmp_path, monkeypatch)
    assert all(output.output_type != "error" for output in outputs(now))
    # What is kept shows what it would show now: the same kinds of output from the same cells.
    assert [sorted(o.get("data", [])) for o in outputs(kept)] == [
        sorted(o.get("data", [])) for o in outputs(now)
    ]
    assert all({"text/html", "image/png"} & set(o.data) for o in outputs(kept)), "each shows itself"


def test_progress_is_a_bar_that_is_drawn_anew(tmp_path, monkeypatch):
    code = """
    import time
    from distaff.foundation import progress
    progress.SECONDS_BETWEEN_DRAWINGS = 0
    with progress.Progress("training", 40) as bar:
        for step in (10, 20, 40):
            bar.update({"step": step, "loss": 1.5})
    for item in progress.progress([1, 2, 3], "reading"):
        pass
    """
    source = "\n".join(line[4:] for line in code.splitlines())
    cell = nbformat.v4.new_code_cell(source)
    found = outputs(executed(nbformat.v4.new_notebook(cells=[cell]), tmp_path, monkeypatch))
    shown = [output.data["text/html"] for output in found if output.output_type == "display_data"]
    assert len(shown) == 2, "one bar each, and nothing printed beside them"
    assert "40 of 40" in shown[0]
    assert "width:100%" in shown[0]
    assert "loss 1.5" in shown[0]
    assert "3 of 3" in shown[1]
