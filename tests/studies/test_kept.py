"""Results that are kept: written from a study, read again, and counted paper by paper."""

import errno
import json
import tempfile
from pathlib import Path

import pandas as pd
import pytest

from distaff import DistaffError, studies
from distaff.studies.commands import write_page
from distaff.studies.kept import claims_by_paper, holds_kept, kept_studies
from distaff.studies.results import Results
from distaff.studies.study import Study
from tests.test_cli import in_process

STUDY = """
name: small-kim18-toy
data: pinwheel
steps: 5
seeds: 2
common: {batch_size: 80, network: mlp, latents: 2, likelihood: gaussian}
runs: [{recipe: beta_vae, beta: [1, 4]}]
claims:
  - says: Higher β reconstructs worse (Kim & Mnih 2018, Fig. 4)
    trend: {metric: reconstruction_error, over: beta, direction: rising}
  - says: The KL is positive (Fig. 5)
    within: {metric: kl, range: [0, 1000]}
"""


def kept_file(folder, study: str, **verdicts: str) -> None:
    (folder / study).mkdir(parents=True)
    claims = [{"says": says, "verdict": verdict} for says, verdict in verdicts.items()]
    (folder / study / "claims.json").write_text(json.dumps({"study": study, "scale": 1, "claims": claims}))


def test_a_study_is_kept_before_and_after_its_runs_and_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.yaml").write_text(STUDY)
    code, printed = in_process(capsys, "study", "keep", "toy.yaml")
    assert code == 0, printed
    (before,) = kept_studies("docs/results")
    assert (before.name, before.paper, before.table, before.runs) == (
        "small-kim18-toy",
        "kim18",
        None,
        (0, 0),
    )
    assert [claim["verdict"] for claim in before.claims] == ["not run", "not run"]
    code, printed = in_process(capsys, "study", "run", "toy.yaml", "--workers", 1)
    assert code == 0, printed
    code, printed = in_process(capsys, "study", "keep", "runs/small-kim18-toy", "--into", "docs/results")
    assert code == 0, printed
    (after,) = kept_studies("docs/results")
    assert after.runs == (4, 4)
    assert after.settings == ["beta"]
    assert {"reconstruction", "kl"} <= set(after.scores)
    assert [claim["verdict"] for claim in after.claims] == ["undecided", "undecided"], (
        "two seeds decide nothing"
    )
    own = Results(Study.parse(STUDY), "runs/small-kim18-toy").table
    for column in ("run", "beta", "seed", "reconstruction", "kl"):
        assert after.table[column].tolist() == own[column].tolist()
    table = tmp_path / "docs/results/small-kim18-toy/study.parquet"
    written = table.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(pd.DataFrame, "to_parquet", lambda *_, **__: (_ for _ in ()).throw(OSError("full")))
        code, printed = in_process(capsys, "study", "keep", "runs/small-kim18-toy")
    assert code == 2, printed
    assert table.read_bytes() == written, "what is kept is replaced, never removed first"
    assert holds_kept(tmp_path / "docs/results")
    assert holds_kept(tmp_path / "runs"), "a folder of studies counts as well"
    assert not holds_kept(tmp_path / "runs/small-kim18-toy")
    code, printed = in_process(capsys, "study", "claims", "docs/results")
    assert code == 0
    assert [line.split() for line in printed.splitlines()[1:]] == [
        ["kim18", "2", "0", "0", "2", "0"],
        ["all", "2", "0", "0", "2", "0"],
    ]


def test_seeds_of_two_machines_are_joined_and_judged_as_those_of_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    logged = "  - says: so\n    within: {metric: log.nll, range: [0, 1000]}\n"
    for name, seeds in {"all": "[0, 1, 2]", "first": "[0, 1]", "second": "[2]"}.items():
        (tmp_path / f"{name}.yaml").write_text(STUDY.replace("seeds: 2", f"seeds: {seeds}") + logged)
    for name in ("all", "first", "second"):
        code, printed = in_process(capsys, "study", "run", f"{name}.yaml", "--out", name, "--workers", 1)
        assert code == 0, printed
    for name, into in (("all", "whole"), ("first", "parts"), ("second", "parts")):
        keep = ("study", "keep", "all.yaml", "--out", name, "--into", into, "--join")
        code, printed = in_process(capsys, *keep)
        assert code == 0, printed
    (whole,), (joined,) = kept_studies("whole"), kept_studies("parts")
    assert joined.runs == whole.runs == (6, 6)
    assert joined.claims == whole.claims
    assert {claim["seeds"] for claim in joined.claims} == {3}
    assert list(joined.table.columns) == list(whole.table.columns)
    scores = ["run", "state", "error", "beta", "seed", "reconstruction", "kl", "log.nll"]
    pd.testing.assert_frame_equal(joined.table[scores], whole.table[scores])
    (tmp_path / "fewer.yaml").write_text((tmp_path / "all.yaml").read_text() + "observations: 50\n")
    code, printed = in_process(
        capsys, "study", "keep", "fewer.yaml", "--out", "x", "--into", "parts", "--join"
    )
    assert code == 2
    assert "parts/small-kim18-toy holds runs with observations all, and these have 50" in printed
    assert kept_studies("parts")[0].runs == (6, 6)


def test_nothing_that_is_kept_is_lost_to_a_study_that_was_not_begun_or_has_fewer_runs(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.yaml").write_text(STUDY)
    (tmp_path / "other.yaml").write_text(STUDY.replace("seeds: 2", "seeds: [2]"))
    for file in ("toy", "other"):
        code, printed = in_process(capsys, "study", "run", f"{file}.yaml", "--out", file, "--workers", 1)
        assert code == 0, printed
    keep = ("study", "keep", "--into", "kept")
    assert in_process(capsys, *keep, "toy")[0] == 0
    before = {file: file.read_bytes() for file in (tmp_path / "kept").rglob("*.*")}
    code, printed = in_process(capsys, *keep, "toy.yaml", "--out", "elsewhere")
    assert (code, "study.parquet would be lost" in printed) == (2, True), printed
    code, printed = in_process(capsys, *keep, "other", "--join")
    assert (code, "holds 4 finished runs that are not of this study" in printed) == (2, True), printed
    assert {file: file.read_bytes() for file in (tmp_path / "kept").rglob("*.*")} == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: pd.concat([table, table]),
        lambda table: table.assign(reconstruction="much"),
        lambda table: table.assign(run=None),
        lambda table: table.assign(state=1),
    ],
)
def test_a_kept_table_that_is_no_study_s_is_not_joined(tmp_path, damage):
    table = Results(Study.parse(STUDY), tmp_path / "none").table
    place = tmp_path / "kept" / "small-kim18-toy"
    place.mkdir(parents=True)
    table.to_parquet(place / "study.parquet", index=False)
    assert kept_studies(tmp_path / "kept")[0].runs == (0, 4)
    damage(table).to_parquet(place / "study.parquet", index=False)
    with pytest.raises(DistaffError, match="cannot be read as results of a study"):
        kept_studies(tmp_path / "kept")


def test_a_claim_of_several_studies_counts_once_by_the_first_that_was_run(tmp_path):
    kept_file(
        tmp_path,
        "kim18-fig4",
        **{
            "A is higher (Kim & Mnih 2018, Fig. 4)": "not run",
            "B (Fig. 5)": "does not hold",
            "C (Fig. 6)": "not run",
        },
    )
    kept_file(tmp_path, "small-kim18-fig4", **{"A is higher (Fig. 4)": "holds", "B (Fig. 5)": "holds"})
    kept_file(tmp_path, "do20-tables", **{"A is higher (Fig. 4)": "undecided"})
    counts = claims_by_paper(kept_studies(tmp_path)).set_index("paper")
    assert counts.loc["kim18"].to_dict() == {
        "claims": 3,
        "holds": 1,
        "does not hold": 1,
        "undecided": 0,
        "not run": 1,
    }
    assert counts.loc["do20", "undecided"] == 1
    assert counts.loc["all", "claims"] == 4


@pytest.mark.filterwarnings("ignore:.* is not kept. its folder is read-only")
def test_a_study_that_may_only_be_read_is_judged_and_shown(tmp_path, monkeypatch):
    """A root user may write anywhere, so the refusal is made up."""
    Results(Study.parse(STUDY), tmp_path / "study").write()
    before = sorted((tmp_path / "study").iterdir())
    made = tempfile.mkstemp

    def refuse(*, prefix, dir):
        if Path(dir) == tmp_path / "study":
            raise OSError(errno.EROFS, "Read-only file system", f"{dir}/{prefix}x1y2")
        return made(prefix=prefix, dir=dir)

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.warns(UserWarning, match=r"claims\.json is not kept: its folder is read-only"):
        verdicts = studies.check_claims(tmp_path / "study")
    assert [verdict.outcome for verdict in verdicts] == ["not run", "not run"]
    page = write_page(tmp_path / "study", page=tmp_path / "page.html")
    assert "Higher β reconstructs worse" in page.read_text()
    assert sorted((tmp_path / "study").iterdir()) == before


def test_what_cannot_be_kept_or_read_is_one_sentence(tmp_path, capsys):
    (tmp_path / "empty.yaml").write_text("{data: pinwheel, steps: 5, runs: [vae]}")
    code, printed = in_process(capsys, "study", "keep", tmp_path / "empty.yaml", "--out", tmp_path / "none")
    assert (code, "makes no claims: there is nothing to keep" in printed) == (2, True), printed
    kept_file(tmp_path / "results", "kim18-x", says="holds")
    (tmp_path / "results/kim18-x/claims.json").write_text('{"claims": [{"says": "x"}]}')
    with pytest.raises(DistaffError, match="cannot be read as results of a study: keep them again"):
        kept_studies(tmp_path / "results")
