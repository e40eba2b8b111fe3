"""Scores for people: on a terminal, as CSV, as a page."""

import io
import os

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from distaff import DistaffError
from distaff.analysis import evaluate_run
from distaff.analysis.evaluate import print_scores
from distaff.metrics import Evaluation, Score, evaluate_scores
from tests.metrics.toys import grid, perfect_codes

CLASSES = grid((3, 4), repeats=10)
MEANS = perfect_codes(CLASSES, 3)
QUICK = ["mig", "mig_sup", "modularity", "med", "hoyer"]


def files(folder):
    pd.DataFrame(MEANS, columns=["one", "two", "three"]).to_csv(folder / "codes.csv", index=False)
    pd.DataFrame(CLASSES, columns=["shape", "size"]).to_csv(folder / "labels.csv", index=False)
    return {"run": folder / "codes.csv", "factors": str(folder / "labels.csv")}


def test_a_terminal_shows_groups_nulls_and_reasons():
    evaluation = evaluate_scores(
        MEANS, CLASSES, metrics=QUICK, null=2, bootstrap=10, baselines={"untrained": MEANS[:, ::-1]}
    )
    screen = Console(file=io.StringIO(), force_terminal=True, width=140, color_system=None)
    print_scores(evaluation, screen)
    text = screen.file.getvalue()
    rows = [line.split() for line in text.splitlines()]
    for heading in ("95% interval", "shuffled", "untrained", "of the gap", "better", "protocol"):
        assert heading in text
    assert text.index("one latent for each factor") < text.index("one factor for each latent")
    (mig,) = (row for row in rows if row[:1] == ["mig"])
    assert mig[1] == f"{evaluation.scores[0].value:.3f}"
    assert f"{evaluation.scores[0].gap:.0%}" in mig


def test_a_csv_file_has_a_row_per_score_and_part(tmp_path):
    found = evaluate_run(**files(tmp_path), metrics="mig,modularity", null=2, out=tmp_path / "scores.csv")
    table = pd.read_csv(tmp_path / "scores.csv", keep_default_na=False).set_index(["metric", "part"])
    assert float(table.loc[("mig", ""), "value"]) == found.scores[0].value
    assert float(table.loc[("mig", ""), "gap"]) == found.scores[0].gap
    assert float(table.loc[("mig", "size"), "value"]) == found.scores[0].per_factor["size"]
    assert float(table.loc[("modularity", "two"), "value"]) == found.scores[1].per_latent["two"]


def test_unknown_metrics_are_refused_before_anything_is_opened(tmp_path):
    with pytest.raises(DistaffError, match="did you mean 'mig'"):
        evaluate_run(tmp_path / "no_such_run", metrics="migg")


def test_a_page_has_tables_matrices_and_bars(tmp_path):
    evaluate_run(**files(tmp_path), metrics=",".join(QUICK), null=2, out=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    for title in (
        "Scores of codes.csv",
        "One latent for each factor",
        "Mutual information of latents and factors",
        "Importance of latents for predicting factors",
        "Scores and nulls",
        "Scores by factor",
    ):
        assert title in page
    assert "share of the gap" in page
    assert page.count("<img") == 4


def test_scores_are_not_written_to_a_file_of_another_kind(tmp_path):
    with pytest.raises(DistaffError, match=r"scores\.pdf: scores are written to \.json, \.csv or \.html"):
        evaluate_run(**files(tmp_path), metrics=QUICK, out=tmp_path / "scores.pdf")
    assert not (tmp_path / "scores.pdf").exists()


def test_one_metric_by_two_protocols_has_two_rows():
    evaluation = evaluate_scores(MEANS, CLASSES, metrics=["sap", "sap:locatello19"])
    screen = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    print_scores(evaluation, screen)
    rows = [line.split() for line in screen.file.getvalue().splitlines() if line.split()[:1] == ["sap"]]
    assert [row[-1] for row in rows] == ["kumar18", "locatello19"]


def test_where_every_metric_was_left_out_the_reasons_are_printed():
    screen = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    print_scores(Evaluation((), {"mig": "it needs factors"}), screen)
    assert "mig: left out, it needs factors" in screen.file.getvalue()


def test_a_narrow_terminal_breaks_no_word():
    evaluation = evaluate_scores(MEANS, CLASSES, metrics=[*QUICK, "mcc", "dci"], null=2)
    screen = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    print_scores(evaluation, screen)
    text = screen.file.getvalue()
    for score in evaluation.scores:
        (line,) = (line for line in text.splitlines() if line.split()[:1] == [score.name])
        assert line.split()[-1] == score.protocol
    assert max(map(len, text.splitlines())) <= 80


def test_scores_take_the_place_of_no_folder_and_no_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, what in (("folder", "a folder"), ("pipe", "a device or a pipe")):
        with pytest.raises(DistaffError, match=f"{name} is {what}, in whose place no file can be written"):
            evaluate_run(**files(tmp_path), metrics=QUICK, out=tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()


def test_a_note_names_the_first_of_the_scores_that_it_is_about():
    scores = tuple(Score(f"score{i}", 0.5, "own", notes=("few rows",)) for i in range(5))
    screen = Console(file=io.StringIO(), force_terminal=True, width=140, color_system=None)
    print_scores(Evaluation(scores), screen)
    assert "note (score0, score1, score2 and 2 more): few rows" in screen.file.getvalue()


def test_a_terminal_hears_which_metric_is_computed_and_which_takes_too_long(tmp_path, monkeypatch, capsys):
    wide = np.random.default_rng(0).normal(size=(30, 5000))
    np.savez(tmp_path / "wide.npz", means=wide, factors=CLASSES[:30])
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    told = evaluate_run(tmp_path / "wide.npz", metrics="default")
    heard = capsys.readouterr().err
    assert all(f"{score.metric} …" in heard for score in told.scores)
    late = [name for name, reason in told.skipped.items() if "takes too long" in reason]
    assert late
    assert all(f"{name}: left out" in heard for name in late)
