"""Functions of one's own as metrics of a study: measured like others, and imported only where trusted."""

import importlib
import sys

import numpy as np
import pytest

from distaff import cli, studies
from distaff.foundation.errors import DistaffError
from distaff.foundation.trust import trusting

STUDY = """
data: {data}
steps: 4
seeds: 2
common: {{batch_size: 16, network: mlp, latents: 3, accelerator: cpu}}
runs: [vae]
metrics: ["my_scores:spread", "my_scores:rows", mig]
claims:
  - says: Codes spread at all
    within: {{metric: "my_scores:spread", range: [0, 1000]}}
"""
MINE = """
import numpy as np

def spread(codes):
    return codes.std()

def rows(codes, factors):
    return float(np.corrcoef(codes[:, 0], factors[:, 0])[0, 1] ** 2)
"""
PARTS = """
import numpy as np
from distaff import Codes
from distaff.metrics import Factors, Result, metric
from dataclasses import dataclass

@dataclass(frozen=True)
class Nothing:
    pass

@metric(paper="mine", protocols={"mine": Nothing()}, says="information")
def parts(codes: Codes, factors: Factors, settings: Nothing) -> Result:
    return Result(0.5, per_factor=np.arange(len(factors.names), dtype=float))
"""
CLAIMS = """
metrics: ["{column}"]
claims:
  - {{says: nothing of the first, within: {{metric: "{column}.row", range: [0, 1]}}}}
  - {{says: one of the second, within: {{metric: "{column}.column", range: [0, 1]}}}}
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of the user's, which is forgotten afterwards."""
    (tmp_path / "my_scores.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("my_scores", None)


def test_a_study_is_scored_by_functions_of_ones_own(mine, tiny, tmp_path, here):
    (tmp_path / "own.yaml").write_text(STUDY.format(data=tiny))
    table = studies.run(tmp_path / "own.yaml", out=tmp_path / "out", progress=False)
    assert table["state"].eq("finished").all(), table["error"].tolist()
    for run in studies.Results.read(tmp_path / "out").all_runs:
        row = table.set_index("run").loc[run.key]
        codes, factors = run.codes.means, run.data.factors
        assert row["my_scores:spread"] == pytest.approx(codes.std(), rel=1e-5)
        expected = np.corrcoef(codes[:, 0], factors[:, 0])[0, 1] ** 2
        assert row["my_scores:rows"] == pytest.approx(expected, rel=1e-5)
    grouped = studies.table(tmp_path / "out", metric="my_scores:spread")
    assert grouped["n"].tolist() == [2]
    (verdict,) = studies.check_claims(tmp_path / "out")
    assert verdict.ours
    assert "my_scores:spread" in studies.write_report(studies.Results.read(tmp_path / "out")).read_text()
    again = studies.run(tmp_path / "out", progress=False)
    assert again["state"].eq("finished").all()


def test_a_function_that_failed_is_said_and_tried_again_once_it_is_corrected(
    mine, tiny, tmp_path, here, capsys
):
    file, module, out = tmp_path / "own.yaml", tmp_path / "my_scores.py", tmp_path / "out"
    file.write_text(STUDY.format(data=tiny))
    module.write_text(MINE.replace("codes.std()", "1 / 0"))
    cli.main(["study", "run", str(file), "--out", str(out)])
    said = (
        f"no my_scores:spread of 2 of 2 runs: the metric my_scores:spread failed at {module}:5: ZeroDivision"
    )
    assert said in capsys.readouterr().err
    before = {file: file.stat().st_mtime_ns for file in out.rglob("checkpoint/*/*")}
    assert before
    module.write_text(MINE)
    sys.modules.pop("my_scores")
    importlib.invalidate_caches()
    table = studies.run(file, out=out, progress=False)
    assert table["my_scores:spread"].notna().all()
    assert {file: file.stat().st_mtime_ns for file in out.rglob("checkpoint/*/*")} == before


def test_a_folder_from_elsewhere_imports_no_metric_that_is_not_trusted(mine, tiny, tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "study.yaml").write_text(STUDY.format(data=tiny))
    with pytest.raises(DistaffError, match=r"names the metric 'my_scores:spread'.*--trust my_scores"):
        studies.Results.read(folder)
    assert "my_scores" not in sys.modules
    (folder / "study.yaml").write_text("{data: pinwheel, steps: 2, runs: [vae], metrics: ['mi:score']}")
    with pytest.raises(DistaffError, match="--trust mi"):  # and not that mig may have been meant
        studies.Results.read(folder)
    (folder / "study.yaml").write_text(STUDY.format(data=tiny))
    with trusting("my_scores"):
        assert studies.Results.read(folder).study.code["my_scores:rows"] == "metric"


def test_metrics_that_need_labels_are_refused_for_data_without(mine, tmp_path, here):
    np.save(tmp_path / "plain.npy", np.random.default_rng(0).random((32, 16, 16)))
    (tmp_path / "own.yaml").write_text(STUDY.format(data=tmp_path / "plain.npy"))
    with pytest.raises(DistaffError, match="no labels, which my_scores:rows, mig need"):
        studies.run(tmp_path / "own.yaml", out=tmp_path / "out", progress=False)


def test_a_factors_part_of_a_score_of_ones_own_is_claimed_by_a_name_with_dots(
    tiny, tmp_path, monkeypatch, here
):
    package = tmp_path / "my" / "papers"
    package.mkdir(parents=True)
    (package / "scores.py").write_text(PARTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    column = "my.papers.scores:parts"
    text = STUDY.partition("metrics:")[0].format(data=tiny) + CLAIMS.format(column=column)
    (tmp_path / "own.yaml").write_text(text)
    studies.run(tmp_path / "own.yaml", out=tmp_path / "out", progress=False)
    first, second = studies.check_claims(tmp_path / "out")
    assert (first.ours, second.ours) == ((0.0,), (1.0,))
    for name in ("my", "my.papers", "my.papers.scores"):
        sys.modules.pop(name, None)
