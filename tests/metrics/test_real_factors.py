"""``--real``: labels in files that are measured numbers."""

import numpy as np
import pandas as pd
import pytest

from distaff import Codes, DistaffError, evaluate_run
from distaff.metrics import write_codes
from distaff.metrics.code_sources import read_source
from distaff.training.train import train
from tests import toys

ROWS = 120
RANDOM = np.random.default_rng(0)
DEGREES = RANDOM.integers(-1, 9, ROWS)
"""Whole numbers, among which −1 is one and not a missing label."""
SERIAL = RANDOM.permutation(1000)[:ROWS]
"""Another number in every row."""
KIND = RANDOM.integers(0, 2, ROWS)
LABELS = pd.DataFrame({"degrees": DEGREES, "serial": SERIAL, "kind": KIND})
CODES = pd.DataFrame({"a": DEGREES + RANDOM.normal(size=ROWS), "b": SERIAL / 100 + RANDOM.normal(size=ROWS)})
REAL = ["degrees", "serial"]


def test_labels_of_every_kind_of_file_are_read_as_numbers(tmp_path):
    CODES.to_csv(tmp_path / "codes.csv", index=False)
    LABELS.to_csv(tmp_path / "labels.csv", index=False)
    pd.concat([CODES, LABELS], axis=1).to_csv(tmp_path / "both.csv", index=False)
    arrays = {"means": CODES.to_numpy(), "factors": LABELS.to_numpy(), "factor_names": list(LABELS)}
    np.savez(tmp_path / "codes.npz", **arrays)
    np.savez(tmp_path / "named.npz", means=CODES.to_numpy(), **{name: LABELS[name] for name in LABELS})
    for codes, factors in [
        ("codes.csv", tmp_path / "labels.csv"),
        ("codes.csv", tmp_path / "codes.npz"),
        ("both.csv", ",".join(LABELS)),
        ("codes.npz", None),
        ("codes.npz", tmp_path / "labels.csv"),
        ("codes.npz", tmp_path / "codes.npz"),
        ("named.npz", ",".join(LABELS)),
    ]:
        _, read = read_source(tmp_path / codes, factors, real=REAL)
        assert read.sizes == (0, 0, 2), (codes, factors)
        assert np.array_equal(read.values, LABELS), (codes, factors)


def test_a_file_scored_by_numbers_has_the_scores_of_as_factors(tmp_path):
    CODES.to_csv(tmp_path / "codes.csv", index=False)
    LABELS.to_csv(tmp_path / "labels.csv", index=False)
    given = {"factors": str(tmp_path / "labels.csv"), "metrics": ["r2"], "progress": False}
    (score,) = evaluate_run(tmp_path / "codes.csv", real="degrees, serial", **given).scores
    assert set(score.per_factor) == {"degrees", "serial", "kind"}
    assert score.per_factor["serial"] > 0.5
    (guessed,) = evaluate_run(tmp_path / "codes.csv", **given).scores
    assert set(guessed.per_factor) == {"degrees", "kind"}, "a serial number is a name"
    with pytest.raises(DistaffError, match="unknown factor 'serials': did you mean 'serial'"):
        evaluate_run(tmp_path / "codes.csv", real="serials", **given)
    write_codes(tmp_path / "bare.npz", Codes(CODES.to_numpy()))
    with pytest.raises(DistaffError, match=r"bare.npz has none: name them with"):
        evaluate_run(tmp_path / "bare.npz", real="serial", progress=False)


def test_a_run_scored_by_numbers_keeps_the_scores_it_has(tmp_path):
    images = toys.tiny_images(ROWS).images[:].numpy()
    np.savez(tmp_path / "data.npz", images=images, factors=LABELS, factor_names=list(LABELS))
    train("vae", str(tmp_path / "data.npz"), network="mlp", steps=2, out=tmp_path / "run", progress=False)
    LABELS.rename(columns=str.upper).to_csv(tmp_path / "labels.csv", index=False)
    given = {"metrics": ["r2"], "progress": False}
    own = evaluate_run(tmp_path / "run", real="degrees,serial", **given)
    other = evaluate_run(
        tmp_path / "run", factors=str(tmp_path / "labels.csv"), real="DEGREES,SERIAL", **given
    )
    parts = [found.scores[-1].per_factor for found in (own, other)]
    assert [*parts[0]] == ["degrees", "serial", "kind"]
    assert [*parts[0].values()] == [*parts[1].values()]
    assert not (tmp_path / "run" / "scores.json").exists()
    with pytest.raises(DistaffError, match="unknown factor 'degree': did you mean 'degrees'"):
        evaluate_run(tmp_path / "run", real="degree", **given)
