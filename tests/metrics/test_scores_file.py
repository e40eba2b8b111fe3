"""``scores.json``: one shape for ``evaluate`` of runs and of codes, and for studies."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from distaff.foundation.files import read_json, write_json
from distaff.metrics import Evaluation, Score, write_scores
from distaff.metrics.score import Scores
from distaff.metrics.scores_json import ELBO, Setup

KL = Score("kl", math.inf, "nats", "lower", per_latent={"z0": 1.0}, metric=ELBO)
MIG = Score("mig", 0.25, "chen18", interval=(0.1, 0.4), notes=("a note",), metric="mig:chen18")
FIRST = Path(__file__).parent.parent / "fixtures/first_edition/study/runs/hfvae-seed0-201e1a5bfd/scores.json"


def test_what_is_written_is_read(tmp_path):
    evaluation = Evaluation((KL, MIG), {"sap": "it needs factors."})
    Scores(7).plus(evaluation, Setup(50)).spent(1.5).write(tmp_path / "s.json")
    found = Scores.read(tmp_path / "s.json")
    assert (found.step, found.seconds) == (7, 1.5)
    kl, mig, sap = found.of(Setup(50))
    assert (kl.score, kl.value) == (KL, math.inf), "JSON has no infinity"
    assert mig.score == MIG
    assert (sap.metric, sap.reason) == ("sap", "it needs factors.")


def test_an_infinite_number_is_told_from_one_that_is_not_known(tmp_path):
    score = Score(
        "tc",
        math.inf,
        "Infinity",
        settings={"factor": "Infinity", "bins": None},
        per_latent={"a": -math.inf, "b": math.nan, "c": 1.0},
        interval=(0.5, math.inf),
        details={"pairs": [[math.inf, 0.0]], "standard_error": math.inf},
        metric="tc",
    )
    write_scores(tmp_path / "s.json", Evaluation((score,)))
    (held,) = json.loads((tmp_path / "s.json").read_text(), parse_constant=pytest.fail)["scores"]
    assert held["value"] == "Infinity"
    assert held["per_latent"] == {"a": "-Infinity", "b": None, "c": 1.0}
    (entry,) = Scores.read(tmp_path / "s.json").entries
    assert math.isnan(entry.score.per_latent["b"])
    assert replace(entry.score, per_latent=None) == replace(score, per_latent=None)


def test_scores_of_other_metrics_observations_and_seeds_stand_side_by_side():
    def value(v, metric="mig"):
        return Evaluation((Score("mig", v, "p", metric=metric),))

    known = Scores(7).plus(value(0.1)).plus(value(0.2), Setup(50)).plus(value(0.3), Setup(seed=1))
    known = known.plus(value(0.4, "mig:chen18")).plus(value(0.5))
    assert [e.score.value for e in known.of(Setup())] == [0.4, 0.5]
    assert [e.score.value for e in known.of(Setup(), ["mig"])] == [0.5]
    assert [e.score.value for e in known.of(Setup(50))] == [0.2]
    assert [e.score.value for e in known.of(Setup(seed=1))] == [0.3]
    assert known.at(7) is known
    assert known.at(8) == Scores(8)


def test_a_score_takes_the_place_of_a_reason_and_the_other_way_round():
    mended = Scores(7).plus(Evaluation((), {"mig:chen18": "no."})).plus(Evaluation((MIG,)))
    assert [e.score for e in mended.entries] == [MIG]
    broken = mended.plus(Evaluation((), {"mig:chen18": "no."}))
    assert [e.reason for e in broken.entries] == ["no."]


def test_codes_from_elsewhere_have_the_same_shape(tmp_path):
    write_scores(tmp_path / "s.json", Evaluation((MIG,), {"sap": "no."}), Setup(seed=3, factor_bins=5))
    content = json.loads((tmp_path / "s.json").read_text())
    assert content["step"] is None
    (score,), (skipped,) = content["scores"], content["skipped"]
    assert (score["metric"], score["seed"], score["value"]) == ("mig:chen18", 3, 0.25)
    assert skipped == {"metric": "sap", "observations": None, "seed": 3, "factor_bins": 5, "reason": "no."}


def test_scores_of_the_first_version_are_read():
    found = Scores.read(FIRST)
    assert found.step == 30
    assert {entry.metric for entry in found.of(Setup())} == {ELBO, "mig", "dci"}
    assert next(entry.score for entry in found.of(Setup(), ["mig"])).per_factor.keys() == {"point"}


def test_those_that_evaluate_wrote_then_count_for_no_metric(tmp_path):
    """They did not say which one they are of."""
    scores = [
        {"name": "kl", "value": 1.0, "protocol": "nats"},
        {"name": "mig", "value": 0.5, "protocol": "p"},
    ]
    (tmp_path / "s.json").write_text(json.dumps({"step": 9, "scores": scores, "skipped": {"sap": "no."}}))
    found = Scores.read(tmp_path / "s.json")
    assert [(entry.metric, entry.score.value) for entry in found.of(Setup())] == [(ELBO, 1.0), ("", 0.5)]


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "3", "{}"),
        '{"scores": 3, "skipped": []}',
        '{"scores": [{}], "skipped": []}',
        '{"step": "x", "scores": [], "skipped": []}',
        '{"scores": [4], "skipped": {}}',
        '{"scores": [{"name": "mig", "value": "high", "protocol": "p"}], "skipped": {}}',
        '{"scores": [{"name": "mig", "value": ["Infinity"], "protocol": "p"}], "skipped": {}}',
    ],
)
def test_a_damaged_file_holds_nothing(tmp_path, text):
    (tmp_path / "s.json").write_text(text)
    assert Scores.read(tmp_path / "s.json") == Scores()


@pytest.mark.parametrize("null", [[], {}, 3, "a", {"shuffled": 3}, {"shuffled": [], "other": 1}])
def test_a_null_that_is_none_is_not_read(tmp_path, null):
    write_scores(tmp_path / "s.json", Evaluation((Score("mig", 0.3, "a"),), {}))
    content = read_json(tmp_path / "s.json")
    content["scores"][0]["null"] = {"shuffled": [0.1, None], "baselines": {"noise": 0.2}, "best": None}
    write_json(tmp_path / "s.json", content)
    assert Scores.read(tmp_path / "s.json").entries[0].score.null.baselines == {"noise": 0.2}
    content["scores"][0]["null"] = null
    write_json(tmp_path / "s.json", content)
    assert Scores.read(tmp_path / "s.json") == Scores()
