"""A study may have nothing to train: it is run and reported like any other."""

from distaff.cli import main

STUDY = """
about: Votes.
figures:
  - drawing: "studies.kim18.sensitivity:factor_vae_sensitivity"
    votes: [20, 40]
    sizes: [10]
    seeds: 2
    observations: 500
"""


def test_a_study_without_runs_is_run_and_reported(tmp_path, capsys):
    (tmp_path / "votes.yaml").write_text(STUDY)
    out = tmp_path / "out"
    main(["study", "run", str(tmp_path / "votes.yaml"), "--out", str(out)])
    assert f"distaff study report {out}" in capsys.readouterr().err
    main(["study", "report", str(out)])
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "data:image/svg+xml;base64," in page
    assert "Not drawn" not in page
