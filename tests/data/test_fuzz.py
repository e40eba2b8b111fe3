"""Bytes flipped in every format: only our own error comes out, or data that can be used."""

import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from distaff.data import arrays, cars3d, celeba, chairs3d, faces3d, folders, idx, smallnorb, tables
from distaff.foundation.errors import DistaffError
from distaff.metrics.code_sources import read_source

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (4, 8, 8), dtype=np.uint8)
TRIES = int(os.environ.get("DISTAFF_FUZZ", "60"))
"""Damaged files a format in the quick run; the slow run makes 3,000."""
STARTING = dict.fromkeys(("hdf5", "compressed hdf5", "h5ad", "h5ad of counts", "h5ad of codes"), 5)
"""Formats whose every file starts a process have so many times fewer."""


def npz(compressed: bool) -> bytes:
    buffer = io.BytesIO()
    save = np.savez_compressed if compressed else np.savez
    save(buffer, images=PIXELS, factors=np.arange(4), factor_names=np.array(["side"]))
    return buffer.getvalue()


def npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, PIXELS)
    return buffer.getvalue()


def hdf5(compressed: bool) -> bytes:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.create_dataset("images", data=PIXELS, compression="gzip" if compressed else None)
        file["factors"] = np.arange(4)
        file["factor_names"] = ["side"]
    return buffer.getvalue()


def h5ad(compressed: bool) -> bytes:
    """As AnnData writes it, with a sparse layer."""
    buffer, texts = io.BytesIO(), h5py.string_dtype()
    with h5py.File(buffer, "w") as file:
        for name, index in (("obs", list("abcd")), ("var", ["x", "y"])):
            file.create_dataset(f"{name}/_index", data=index, dtype=texts)
            file[name].attrs["_index"] = "_index"
        file["obs"].attrs["column-order"] = np.array(["kind"], dtype=texts)
        file.create_dataset("obs/kind/categories", data=["B", "T"], dtype=texts)
        file.create_dataset("obs/kind/codes", data=np.array([0, 1, 1, 0], np.int8))
        packing = "gzip" if compressed else None
        file.create_dataset("X", data=PIXELS[:, 0, :2].astype(np.float32), compression=packing)
        layer = file.create_group("layers/counts")
        layer.attrs.update({"encoding-type": "csr_matrix", "shape": (4, 2)})
        layer["data"], layer["indices"], layer["indptr"] = np.ones(3), [0, 1, 0], [0, 1, 2, 2, 3]
        file["obsm/codes"] = PIXELS[:, 1, :2].astype(np.float32)
    return buffer.getvalue()


def image(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(PIXELS[0]).save(buffer, kind)
    return buffer.getvalue()


def archive_of_images(kind: str) -> bytes:
    buffer = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for k in range(3):
                archive.writestr(f"a/{k}.png", image("PNG"))
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz" if kind == "tgz" else "w") as bundle:
            for k in range(3):
                info = tarfile.TarInfo(f"c{k}/renders/image_000_p020_t011_r096.png")
                info.size = len(image("PNG"))
                bundle.addfile(info, io.BytesIO(image("PNG")))
    return buffer.getvalue()


def idx_bytes() -> bytes:
    return b"\0\0\x08\x03" + np.array(PIXELS.shape, ">u4").tobytes() + PIXELS.tobytes()


def norb_bytes() -> bytes:
    labels = np.arange(4, dtype="<i4")
    return np.array([0x1E3D4C54, 1, 4, 1, 1], "<i4").tobytes() + labels.tobytes()


def mat() -> bytes:
    buffer = io.BytesIO()
    savemat(buffer, {"im": np.zeros(cars3d.MESH, np.uint8)}, do_compression=True)
    return buffer.getvalue()


def tensor() -> bytes:
    buffer = io.BytesIO()
    torch.save(torch.zeros((2, 1, 1, 2, 8, 8), dtype=torch.uint8), buffer)
    return buffer.getvalue()


def attributes() -> bytes:
    names = " ".join(f"A{k}" for k in range(40))
    return f"2\n{names}\n000001.jpg {'1 ' * 40}\n000002.jpg {'-1 ' * 40}\n".encode()


FORMATS: dict[str, tuple[str, bytes, Callable[[Path], object]]] = {
    "npz": ("x.npz", npz(False), arrays.load),
    "compressed npz": ("x.npz", npz(True), arrays.load),
    "npy": ("x.npy", npy(), arrays.load),
    "hdf5": ("x.h5", hdf5(False), arrays.load),
    "compressed hdf5": ("x.h5", hdf5(True), arrays.load),
    "h5ad": ("x.h5ad", h5ad(True), lambda path: tables.load(path, factors="kind")),
    "h5ad of counts": ("x.h5ad", h5ad(False), lambda path: tables.load(path, matrix="counts")),
    "h5ad of codes": ("x.h5ad", h5ad(False), read_source),
    "idx": ("x", idx_bytes(), idx.read_idx),
    "zipped idx": ("x.gz", gzip.compress(idx_bytes()), idx.read_idx),
    "norb": ("x.mat", norb_bytes(), smallnorb._matrix),
    "zipped norb": ("x.mat.gz", gzip.compress(norb_bytes()), smallnorb._matrix),
    "matlab": ("car_001_mesh.mat", mat(), lambda path: cars3d._views("x", path.read_bytes())),
    "tensor": ("x.pth", tensor(), faces3d.load),
    "attributes": ("list_attr_celeba.txt", attributes(), celeba._attributes),
    "zip of images": ("x.zip", archive_of_images("zip"), folders.load),
    "tar of images": ("x.tar", archive_of_images("tar"), chairs3d.load),
    "zipped tar of images": ("x.tgz", archive_of_images("tgz"), chairs3d.load),
    **{
        kind: (f"x.{kind.lower()}", image(kind), lambda path: folders.load(path.parent))
        for kind in ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
    },
}


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes changed, mostly near the ends where headers are; sometimes the file is cut short."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        place = rng.integers(0, len(data)) if rng.random() < 0.4 else int(rng.exponential(60)) % len(data)
        place = len(data) - 1 - place if rng.random() < 0.3 else place
        changed[place] = rng.integers(0, 256)
    return bytes(changed[: rng.integers(0, len(data))]) if rng.random() < 0.1 else bytes(changed)


def run(kind: str, tries: int, folder: Path) -> int:
    name, whole, read = FORMATS[kind]
    path = folder / name
    path.write_bytes(whole)
    read(path)
    rng = np.random.default_rng(len(kind))
    refused = 0
    for number in range(tries):
        path.write_bytes(damaged(whole, rng))
        os.utime(path, ns=(number, number))
        try:
            read(path)
        except DistaffError:
            refused += 1
    return refused


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_are_refused_or_read_but_never_crash(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISTAFF_CACHE", str(tmp_path / "cache"))
    (tmp_path / "files").mkdir()
    assert run(kind, TRIES // STARTING.get(kind, 1), tmp_path / "files") > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", FORMATS)
def test_thousands_of_damaged_files(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISTAFF_CACHE", str(tmp_path / "cache"))
    (tmp_path / "files").mkdir()
    assert run(kind, 3000 // STARTING.get(kind, 1), tmp_path / "files") > 0
