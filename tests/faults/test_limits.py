"""Small files that ask for much: refused from their headers, before the time or the memory is spent."""

import io
import shutil
import struct
import tarfile
import time
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

from distaff.data import arrays, folders, open_dataset, tables
from distaff.data.pairs import listed
from distaff.explore.uploads import read_upload
from distaff.foundation import h5ad, table_files
from distaff.foundation.errors import DistaffError
from distaff.foundation.hdf5 import member, open_hdf5
from distaff.foundation.table_files import read_parquet
from distaff.foundation.untrusted_files import parse_json, parse_yaml, read_json
from distaff.metrics import read_codes
from distaff.metrics.code_sources import read_source
from distaff.models import LatentSpace
from distaff.models.by_name import find_network
from distaff.runs import TrainingSettings
from distaff.runs.calls import DataCall
from distaff.studies import Study
from tests import toys
from tests.faults.mutations import BOMB

ENDLESS = Path(__file__).parent.parent / "fixtures/endless.h5"
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{chr(n)}: &{chr(n)} {{<<: [{', '.join([f'*{chr(n - 1)}'] * 10)}]}}\n" for n in range(98, 107)
)


def test_an_hdf5_file_that_never_ends_is_given_up():
    began = time.monotonic()
    with pytest.raises(DistaffError, match=r"endless\.h5 is not a whole HDF5 file \(its reader"):
        arrays.load(ENDLESS, seconds=1)
    assert time.monotonic() - began < 60


def test_an_h5ad_file_is_read_to_its_end_elsewhere_first(tmp_path, monkeypatch):
    """As a table and as codes: what has no end, lies elsewhere or claims too much is never read here."""
    monkeypatch.setattr(h5ad, "SECONDS", 1.0)
    shutil.copyfile(ENDLESS, tmp_path / "endless.h5ad")
    with pytest.raises(DistaffError, match=r"endless\.h5ad is not a whole HDF5 file \(its reader"):
        tables.load(tmp_path / "endless.h5ad", matrix="factor_names")
    with h5py.File(tmp_path / "large.h5ad", "w") as file:
        file.create_dataset("obs/_index", shape=(1 << 40,), dtype=np.float32, chunks=(1024,))
    with pytest.raises(DistaffError, match="more than its bytes can hold"):
        read_source(tmp_path / "large.h5ad")
    with h5py.File(tmp_path / "elsewhere.h5ad", "w") as file:
        file["obs/_index"] = h5py.ExternalLink("large.h5ad", "obs/_index")
    with pytest.raises(DistaffError, match="is in another file"):
        read_source(tmp_path / "elsewhere.h5ad")
    with h5py.File(tmp_path / "round.h5ad", "w") as file:
        file["obs/again"] = file.create_group("obs")
    with pytest.raises(DistaffError, match="nested more than 8 times"):
        read_source(tmp_path / "round.h5ad")


@pytest.mark.parametrize("shape", [(4, 1 << 40), (1 << 40, 2), (4, 2, 1)])
def test_sparse_matrices_are_no_larger_than_their_rows(tmp_path, shape):
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        file.create_dataset("obs/_index", data=list("abcd"), dtype=h5py.string_dtype())
        file["obs"].attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
        codes = file.create_group("obsm/codes")
        codes.attrs.update({"encoding-type": "csr_matrix", "shape": shape})
        codes["data"], codes["indices"], codes["indptr"] = np.ones(3), [0, 1, 0], [0, 1, 2, 2, 3]
    with pytest.raises(DistaffError, match=r"claims the shape .* for 4 rows"):
        read_source(tmp_path / "x.h5ad")


def test_parquet_files_do_not_stand_for_more_than_they_should(tmp_path, monkeypatch):
    pd.DataFrame({"a": np.zeros(50), "b": np.ones(50)}).to_parquet(tmp_path / "x.parquet")
    assert len(read_parquet(tmp_path / "x.parquet")) == 50
    monkeypatch.setattr(table_files, "MOST_CELLS", 10)
    monkeypatch.setattr(table_files, "PER_BYTE", 0)
    for read in (read_source, tables.load):
        with pytest.raises(DistaffError, match="claims 50 rows of 2 columns"):
            read(tmp_path / "x.parquet")


def test_an_hdf5_file_is_read_as_it_was_written(tmp_path):
    rng = np.random.default_rng(0)
    pixels, factors = rng.integers(0, 256, (5000, 4, 4), dtype=np.uint8), np.arange(5000) % 7
    for name, packing in (("plain", None), ("packed", "gzip")):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file.create_dataset("images", data=pixels, compression=packing)
            file["factors"], file["factor_names"] = factors, ["side"]
        data = arrays.load(tmp_path / f"{name}.h5")
        np.testing.assert_array_equal(data.images[:].numpy(), pixels[:, None].astype(np.float32) / 255)
        assert data.names == ("side",)
        np.testing.assert_array_equal(data.factors[:, 0], factors)


def test_an_hdf5_file_has_its_share_of_memory(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("images", data=np.zeros((2, 1 << 27), np.uint8), chunks=True, compression="gzip")
    with open_hdf5(tmp_path / "x.h5", memory=1 << 26) as file:
        images = member(file, "images")
        with pytest.raises(DistaffError, match="not a whole HDF5 file"):
            images[:]


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_that_are_packed_otherwise_are_refused(tmp_path, packing):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((1000, 1000)))
    for name in ("x.npz", "x.zip", "factors.npz"):
        with zipfile.ZipFile(tmp_path / name, "w", packing) as archive:
            archive.writestr("images.npy", buffer.getvalue())
            archive.writestr("factors.npy", buffer.getvalue())
            archive.writestr("a.png", buffer.getvalue())
    for read in (lambda: arrays.load(tmp_path / "x.npz"), lambda: folders.load(tmp_path / "x.zip")):
        with pytest.raises(DistaffError, match="is neither stored nor deflated"):
            read()
    np.save(tmp_path / "x.npy", np.zeros((4, 2)))
    for read in (
        lambda: read_codes(tmp_path / "x.npz"),
        lambda: read_source(tmp_path / "x.npy", tmp_path / "factors.npz"),
    ):
        with pytest.raises(DistaffError, match="is neither stored nor deflated"):
            read()


def test_tars_are_plain_or_gzipped(tmp_path):
    with tarfile.open(tmp_path / "x.tar", "w:bz2") as bundle:
        bundle.addfile(tarfile.TarInfo("a.png"))
    with pytest.raises(DistaffError, match="cannot be read as a folder, zip or tar of images"):
        folders.load(tmp_path / "x.tar")


def test_arrays_that_claim_more_than_there_is_take_no_memory(tmp_path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (128000000, 1000), }"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header + b"\n"
    (tmp_path / "x.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("means.npy", content)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(DistaffError, match="not as long as its header says"):
            read_codes(tmp_path / name)


def test_codes_have_a_limit_that_can_be_moved(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", means=np.zeros((1000, 10)))
    np.save(tmp_path / "x.npy", np.zeros((1000, 10)))
    for name in ("x.npz", "x.npy"):
        assert len(read_codes(tmp_path / name)[0]) == 1000
        with pytest.raises(DistaffError, match=r"80,000 bytes, more than .*1,000"):
            read_codes(tmp_path / name, largest=1000)


def png(width: int, height: int) -> bytes:
    """A black image, a bit per pixel, packed as tightly as can be."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = zlib.compress(bytes((1 + width // 8) * height), 9)
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def test_uploads_are_measured_before_they_are_decoded():
    assert read_upload(png(80, 80), (1, 8, 8)).shape == (1, 8, 8)
    with pytest.raises(DistaffError, match="8000×4000 pixels, too many"):
        read_upload(png(8000, 4000), (1, 8, 8))
    with pytest.raises(DistaffError, match="80×80 pixels, too many"):
        read_upload(png(80, 80), (1, 8, 8), largest=1000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB.decode(), "too large"),
        (MERGES, "merges"),
        ("&a [*a]", "nested more than 64"),
        ("[" * 20_000, "nested more than 64"),
        ("a: !!timestamp x", "not readable YAML"),
        ("a: !!binary aGk=", "holds a bytes"),
        ("1: 2", "keys must be texts"),
        ("claims: [1]\nruns: []\nclaims: [2]", "it has the key 'claims' twice, in lines 1 and 3: keep one"),
        ("a:\n  - {b: 1, c: 2, b: 1}", "it has the key 'b' twice, in line 2"),
        ("a: &x {b: 1}\nc: {<<: *x, b: 2, 'b': 3}", "it has the key 'b' twice, in line 2"),
        ("a: !!python/object/apply:os.system [true]", "not readable YAML"),
    ],
)
def test_yaml_is_bounded(text, message):
    with pytest.raises(DistaffError, match=message):
        parse_yaml(text)


def test_yaml_keeps_what_people_write():
    assert parse_yaml("a: &x [1, 2]\nb: *x\nday: 2020-13-45\nc: {<<: {d: 1}, e: 2}") == {
        "a": [1, 2],
        "b": [1, 2],
        "day": "2020-13-45",
        "c": {"d": 1, "e": 2},
    }
    assert parse_yaml("a: &a {k: 1, l: 1}\nb: &b {<<: *a, k: 2}\nc: {<<: *b, k: 3}\nd: *b") == {
        "a": {"k": 1, "l": 1},
        "b": {"k": 2, "l": 1},
        "c": {"k": 3, "l": 1},
        "d": {"k": 2, "l": 1},
    }, "a key beside a merged mapping wins over its own there"


@pytest.mark.parametrize(
    "given",
    [
        lambda name: open_dataset(name),
        lambda name: open_dataset(f"{name}.csv"),
        lambda name: open_dataset("mnist", file=name),
        lambda name: DataCall(name, None, {}).open(),
        lambda name: DataCall(name, None, {}).shape(),
        lambda name: TrainingSettings(hold_out=name),
        lambda name: listed(f"{name}.npy", toys.ring(4)),
    ],
)
def test_names_too_long_for_any_file_are_one_sentence(given):
    with pytest.raises(
        DistaffError, match=r"'\[\[.{,600} cannot be the name of a file \(File name too long\)"
    ):
        given("[" * 20_000)


def test_json_is_bounded(tmp_path):
    for text in ("[" * 20_000, "[" * 100 + "]" * 100):
        with pytest.raises(DistaffError, match="nested"):
            parse_json(text)
    (tmp_path / "x.json").write_bytes(b'"\xff"')
    with pytest.raises(DistaffError, match="not text in UTF-8"):
        read_json(tmp_path / "x.json")
    with pytest.raises(DistaffError, match="3 bytes, more than the 2 allowed"):
        read_json(tmp_path / "x.json", largest=2)


@pytest.mark.parametrize(
    "text",
    [
        "data: pinwheel\nseeds: 1000000000\nruns: [vae]",
        "data: pinwheel\nruns: [{recipe: vae, seeds: 1000000000}]",
        "data: pinwheel\nruns: [{recipe: factor_vae, "
        + ", ".join(
            f"{name}: [{', '.join(map(str, range(1, 101)))}]" for name in ("gamma", "steps", "batch_size")
        )
        + "}]",
    ],
)
def test_studies_are_bounded(text):
    with pytest.raises(DistaffError, match=r"runs .*than the 100,000 that a study may have"):
        Study.parse(text)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("scale: 1.0e+308", "steps are more than can be counted"),
        (f"steps: 1{'0' * 400}", "it holds a whole number of over 300 digits"),
    ],
)
def test_steps_that_cannot_be_counted_are_one_sentence(wrong, said):
    with pytest.raises(DistaffError, match=said):
        Study.parse(f"data: pinwheel\nruns: [vae]\n{wrong}")


def test_models_are_bounded():
    with pytest.raises(DistaffError, match="at most 100,000"):
        LatentSpace.parse("z=gaussian:1000000000")
    assert LatentSpace.parse("gaussian:20000").dims == 20_000
    with pytest.raises(DistaffError, match=r"above 0 \(at most 65,536\)"):
        find_network("mlp:layers=1000000000")
