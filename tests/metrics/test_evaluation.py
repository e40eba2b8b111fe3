import json

import numpy as np
import pytest

from distaff import Codes, DistaffError
from distaff.metrics import (
    as_factors,
    evaluate,
    evaluate_file,
    evaluate_scores,
    factor_vae_score,
    metrics_table,
    mig,
    read_codes,
    write_codes,
)
from tests.metrics.toys import grid, perfect_codes, sharp

CLASSES = grid((3, 4, 5), repeats=4)
CODES = sharp(perfect_codes(CLASSES, 4))
FEW = ["mig", "factor_vae_score", "hoyer"]


def test_the_table_holds_what_the_metrics_return():
    table = evaluate(CODES, CLASSES, metrics=FEW, bootstrap=10)
    assert list(table.columns) == ["metric", "value", "protocol", "interval", "direction", "notes"]
    assert table["metric"].tolist() == FEW
    assert table["value"][0] == pytest.approx(mig(CODES, CLASSES).value)
    assert table["value"][1] == factor_vae_score(CODES, CLASSES).value
    low, high = table["interval"][0]
    assert low <= table["value"][0] <= high


def test_a_metric_of_three_scores_gives_three_rows():
    assert evaluate(CODES, CLASSES, metrics=["dci"])["metric"].tolist() == [
        "dci_disentanglement",
        "dci_completeness",
        "dci_informativeness",
    ]


def test_protocols_are_chosen_by_name():
    table = evaluate(CODES, CLASSES, metrics=["mig", "mig:chen18"])
    assert table["protocol"].tolist() == ["locatello19", "chen18"]
    assert table["value"].nunique() == 2


def test_metrics_that_the_data_do_not_allow_are_left_out_with_the_reason():
    bare = evaluate(CODES.means, CLASSES)
    assert "mig" in set(bare["metric"])
    assert "wsepin" not in set(bare["metric"])
    assert bare.attrs["skipped"]["wsepin"] == "it needs log-variances."
    unlabelled = evaluate(CODES)
    assert "wsepin" in set(unlabelled["metric"])
    assert unlabelled.attrs["skipped"]["mig"] == "it needs factors."
    real = evaluate(CODES.means, np.random.default_rng(0).normal(size=len(CLASSES)))
    assert "quantize_factors" in real.attrs["skipped"]["mig"]
    assert "sap" in set(real["metric"])


def test_a_metric_that_was_named_raises_instead():
    with pytest.raises(DistaffError, match="mig needs factors"):
        evaluate(CODES, metrics=["mig"])
    with pytest.raises(DistaffError, match="did you mean 'mig'"):
        evaluate(CODES, CLASSES, metrics=["migg"])
    with pytest.raises(DistaffError, match="did you mean 'chen18'"):
        evaluate(CODES, CLASSES, metrics=["mig:chen19"])
    with pytest.raises(DistaffError, match="rows of codes"):
        evaluate(CODES, CLASSES[:-1])


@pytest.mark.parametrize("metrics", ["default,mig", ["all"], ["mig", "default"]])
def test_what_stands_for_many_metrics_stands_by_itself(metrics):
    with pytest.raises(DistaffError, match="cannot be combined: ask for it alone"):
        evaluate(CODES, CLASSES, metrics=metrics)


def test_dropped_rows_are_noted():
    values = CLASSES.astype(float)
    values[3, 1] = np.nan
    table = evaluate(CODES, values, metrics=["mig", "z_max_variance"])
    assert table["notes"][0] == "factor 'factor1': 1 of 240 rows dropped, the label is missing"
    assert table["notes"][1] == "1 of 240 rows dropped: a label is missing"


def test_codes_and_scores_go_to_disk_and_back(tmp_path):
    codes = Codes(CODES.means, CODES.logvars, {"c": np.eye(3)[CLASSES[:, 0]]})
    factors = as_factors(CLASSES, names=["shape", "size", "hue"])
    write_codes(tmp_path / "codes.npz", codes, factors)
    back, labels = read_codes(tmp_path / "codes.npz")
    assert back.names == codes.names
    assert labels is not None
    assert labels.names == factors.names
    names = []
    found = evaluate_file(tmp_path / "codes.npz", metrics=FEW, out=tmp_path / "s.json", report=names.append)
    assert names == FEW
    assert found.table().equals(evaluate_scores(codes, factors, metrics=FEW).table())
    written = json.loads((tmp_path / "s.json").read_text())["scores"]
    assert [score["name"] for score in written] == FEW
    assert written[1]["per_factor"]["shape"] == 1.0


def test_files_that_are_not_codes_are_named(tmp_path):
    with pytest.raises(DistaffError, match="does not exist"):
        read_codes(tmp_path / "absent.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(DistaffError, match="not a readable npz"):
        read_codes(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", images=np.zeros(3))
    with pytest.raises(DistaffError, match="no array named means"):
        read_codes(tmp_path / "other.npz")
    np.savez(tmp_path / "pickled.npz", means=np.array([{}], dtype=object))
    with pytest.raises(DistaffError, match="plain arrays"):
        read_codes(tmp_path / "pickled.npz")


def test_arrays_that_are_not_read_are_named(tmp_path):
    np.savez(tmp_path / "codes.npz", z=np.eye(4), y=np.arange(4))
    with pytest.warns(UserWarning, match="not read: y"):
        codes, factors = read_codes(tmp_path / "codes.npz")
    assert (len(codes), factors) == (4, None)


def test_the_catalogue_describes_every_metric():
    table = metrics_table().set_index("metric")
    assert table.loc["mig", "needs labels"] == "yes"
    assert table.loc["wsepin", "needs q(z|x)"] == "yes"
    assert table.loc["mig", "needs q(z|x)"] == "for chen18"
    assert table.loc["factor_vae_score", "needs q(z|x)"] == "used if given"
    assert table.loc["hoyer", "needs q(z|x)"] == "no"
    assert table.loc["jemmig", "better"] == "lower"
    assert table.loc["factor_vae_score", "paper"] == "Kim & Mnih 2018"
    assert (table["summary"].str.len() > 20).all()


def test_all_means_every_protocol_under_its_own_name():
    found = evaluate_scores(CODES, CLASSES, metrics="all")
    assert not found.skipped
    labels = [(score.name, score.protocol) for score in found.scores]
    assert len(set(labels)) == len(labels)
    assert {("mig", "chen18"), ("dci_completeness", "locatello19"), ("z_diff", "kim18")} <= set(labels)


def test_what_takes_too_long_for_wide_codes_says_so_before_it_starts():
    wide = np.random.default_rng(0).normal(size=(40, 300))
    told = []
    found = evaluate_scores(wide, CLASSES[:40], metrics=["dci", "mig"], strict=False, report=told.append)
    assert told == ["mig"]
    assert found.skipped["dci"].startswith("it grows trees over all latents, which takes too long for 300")
    assert "the limit is 256): name it" in found.skipped["dci"]


def test_names_in_one_string_are_split_at_commas():
    assert evaluate(CODES, CLASSES, metrics="mig, hoyer")["metric"].tolist() == ["mig", "hoyer"]
    with pytest.raises(DistaffError, match="needs factors"):
        evaluate(CODES, metrics="mig,hoyer")
