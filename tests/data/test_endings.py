"""Names of files that end in capitals, and compressed texts: both are read as any other."""

import bz2
import gzip
import lzma

import h5py
import numpy as np
import pandas as pd
import pytest

from distaff import DistaffError, evaluate_run, train
from distaff.data import open_dataset, pairs
from distaff.foundation import table_files
from distaff.foundation.files import sha256
from distaff.metrics.baseline_file import Baseline
from distaff.metrics.code_sources import named_source, read_source
from distaff.runs import RunFolder
from tests import toys

RANDOM = np.random.default_rng(0)
TABLE = pd.DataFrame(RANDOM.normal(size=(40, 3)), columns=["a", "b", "c"])
KINDS = pd.DataFrame({"kind": RANDOM.integers(0, 2, 40)})
PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def packed(frame, path, comma=","):
    path.write_bytes(PACKED[path.suffix](frame.to_csv(index=False, sep=comma).encode()))
    return path


@pytest.mark.parametrize("packing", PACKED)
def test_compressed_tables_are_codes_labels_and_baselines(tmp_path, packing):
    codes = packed(TABLE, tmp_path / f"codes.csv{packing}", ";")
    labels = packed(KINDS, tmp_path / f"labels.TSV{packing}", "\t")
    read, factors = read_source(codes, labels)
    np.testing.assert_allclose(read.means, TABLE)
    assert factors.names == ("kind",)
    assert np.array_equal(Baseline.read(codes).codes_of(named_source(codes, read)).means, read.means)
    (score,) = evaluate_run(codes, factors=str(labels), metrics=["mig"], progress=False).scores
    assert 0 <= score.value <= 1


def test_a_compressed_table_is_trained_on_and_standardised(tmp_path):
    plain, small = tmp_path / "table.csv", packed(TABLE * 100, tmp_path / "table.csv.gz")
    (TABLE * 100).to_csv(plain, index=False)
    assert open_dataset(small).fingerprint == open_dataset(plain).fingerprint
    settings = {"latents": 2, "steps": 2, "batch_size": 8, "progress": False}
    models = [train("vae", str(path), out=tmp_path / path.name[5:], **settings) for path in (plain, small)]
    first, second = (model.encode(TABLE).means for model in models)
    assert np.array_equal(first, second)
    assert np.array_equal(models[1].encode(small).means, models[1].encode(plain).means)


def test_what_unpacks_to_more_than_it_should_is_refused(tmp_path, monkeypatch):
    table = packed(TABLE, tmp_path / "table.csv.xz")
    monkeypatch.setattr(table_files, "MOST_UNPACKED", 100)
    monkeypatch.setattr(table_files, "PER_PACKED", 0)
    for read in (read_source, open_dataset):
        with pytest.raises(DistaffError, match="unpacks to more than 100 bytes"):
            read(table)


def test_what_is_not_compressed_as_its_name_says_is_one_sentence(tmp_path):
    good = packed(TABLE, tmp_path / "good.csv.gz").read_bytes()
    for name, content in {"plain": TABLE.to_csv().encode(), "cut": good[:-20], "empty": b""}.items():
        (tmp_path / f"{name}.csv.gz").write_bytes(content)
        for read in (read_source, open_dataset):
            with pytest.raises(DistaffError, match=rf"{name}\.csv\.gz") as said:
                read(tmp_path / f"{name}.csv.gz")
            assert "\n" not in str(said.value)


def test_capitals_change_nothing(tmp_path):
    images = RANDOM.random((10, 1, 8, 8), dtype=np.float32)
    TABLE.to_csv(tmp_path / "x.CSV", index=False)
    TABLE.to_parquet(tmp_path / "x.PARQUET")
    np.savez(tmp_path / "x.npz", images=images)
    (tmp_path / "x.npz").rename(tmp_path / "x.NPZ")
    np.save(tmp_path / "x.npy", images)
    (tmp_path / "x.npy").rename(tmp_path / "x.NPY")
    with h5py.File(tmp_path / "x.H5", "w") as file:
        file["images"] = images
    TABLE.to_csv(tmp_path / "plain.csv", index=False)
    for name in ("x.CSV", "x.PARQUET"):
        assert open_dataset(tmp_path / name).fingerprint == open_dataset(tmp_path / "plain.csv").fingerprint
    for name in ("x.NPZ", "x.NPY", "x.H5"):
        np.testing.assert_array_equal(open_dataset(tmp_path / name).images[:], images)


def test_pairs_in_a_file_whose_name_ends_in_capitals_are_read_and_known_again(tmp_path):
    np.save(tmp_path / "p.npy", [[0, 1], [2, 3]])
    file = (tmp_path / "p.npy").rename(tmp_path / "P.NPY")
    data = toys.tiny_images()
    assert pairs.listed(str(file), data).pairs.tolist() == [[0, 1], [2, 3]]
    how = {"pairs": str(file), "batch_size": 4, "steps": 1, "progress": False, "out": tmp_path / "run"}
    train("ada_gvae", data, **how)
    assert RunFolder(tmp_path / "run").read().data.others == {"pairs": sha256(file)}
