"""The readers of official files, each on small made files of the same form."""

import gzip
import io
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from distaff.data import cars3d, celeba, mpi3d, open_dataset, smallnorb
from distaff.foundation.errors import DistaffError

RNG = np.random.default_rng(0)


def png(colour: tuple[int, int, int], size: tuple[int, int] = (178, 218), kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, kind)
    return buffer.getvalue()


ATTRIBUTES = [f"Attribute_{k}" for k in range(40)]
VALUES = np.where(RNG.random((6, 40)) < 0.5, 1, -1)
COLOURS = [(40 * k, 255 - 40 * k, 7 * k) for k in range(6)]


def attribute_file(values: np.ndarray = VALUES, names: list[str] = ATTRIBUTES, count: int = 6) -> str:
    rows = [f"{k + 1:06d}.jpg  {'  '.join(map(str, row))}" for k, row in enumerate(values)]
    return "\n".join([str(count), " ".join(names), *rows]) + "\n"


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    (tmp_path / "img_align_celeba").mkdir()
    for k, colour in enumerate(COLOURS):
        (tmp_path / "img_align_celeba" / f"{k + 1:06d}.jpg").write_bytes(png(colour))
    (tmp_path / "list_attr_celeba.txt").write_text(attribute_file())
    parts = "".join(f"{k + 1:06d}.jpg {part}\n" for k, part in enumerate([0, 0, 1, 2, 0, 2]))
    (tmp_path / "list_eval_partition.txt").write_text(parts)
    (tmp_path / "identity_CelebA.txt").write_text(
        "".join(f"{k + 1:06d}.jpg {50 - k // 2}\n" for k in range(6))
    )
    return tmp_path


def test_celeba_has_its_images_attributes_and_partition(faces: Path) -> None:
    data = open_dataset("celeba", faces)
    assert (len(data), data.shape) == (6, (3, 64, 64))
    assert data.names == tuple(ATTRIBUTES)
    np.testing.assert_array_equal(data.factors, VALUES > 0)
    np.testing.assert_allclose(data.images[:].mean((2, 3)).numpy() * 255, COLOURS, atol=0.5)
    assert [len(open_dataset("celeba", faces, part=part)) for part in ("train", "valid", "test")] == [3, 1, 2]
    np.testing.assert_array_equal(celeba.load(faces, part="test").factors, VALUES[[3, 5]] > 0)
    people = celeba.load(faces, identity=True)
    np.testing.assert_array_equal(people.column("identity"), [2, 2, 1, 1, 0, 0])


def test_celeba_images_are_cut_from_the_middle(faces: Path) -> None:
    image = np.zeros((218, 178, 3), np.uint8)
    image[35:183, 15:163] = 255
    Image.fromarray(image).save(faces / "img_align_celeba" / "000001.jpg", "PNG")
    assert celeba.load(faces).images[0].min() == 1
    assert celeba.load(faces, crop=178).images[0].min() == 0


def test_celeba_comes_in_a_zip_too(faces: Path) -> None:
    with zipfile.ZipFile(faces / "img_align_celeba.zip", "w") as archive:
        for file in sorted((faces / "img_align_celeba").iterdir()):
            archive.write(file, f"img_align_celeba/{file.name}")
            file.unlink()
    (faces / "img_align_celeba").rmdir()
    data = celeba.load(faces)
    np.testing.assert_allclose(data.images[:].mean((2, 3)).numpy() * 255, COLOURS, atol=0.5)


def test_celeba_files_that_are_not_right_are_one_sentence(faces: Path) -> None:
    attributes, partition = faces / "list_attr_celeba.txt", faces / "list_eval_partition.txt"
    for text, message in [
        (attribute_file(VALUES[:, :39], ATTRIBUTES[:39]), "names 39 attributes"),
        (attribute_file(VALUES[:, :39]), "has 39 values for 000001.jpg"),
        (attribute_file(VALUES * 2), "40 values of 1 or -1"),
        (attribute_file(count=7), "announces '7' images but lists 6"),
        ("", "names 0 attributes"),
        ("6\n\xff", "names 1 attributes|cannot be read as text"),
    ]:
        attributes.write_text(text)
        with pytest.raises(DistaffError, match=message):
            celeba.load(faces)
    attributes.write_text(attribute_file())
    partition.write_text(partition.read_text().replace("000004.jpg 2\n", ""))
    with pytest.raises(DistaffError, match=r"no number for 000004\.jpg"):
        celeba.load(faces)
    with pytest.raises(DistaffError, match="unknown part of celeba 'tests': did you mean 'test'"):
        celeba.load(faces, part="tests")  # type: ignore[arg-type]


def test_celeba_bad_images_are_named_or_skipped(faces: Path) -> None:
    (faces / "img_align_celeba" / "000003.jpg").write_bytes(png(COLOURS[2])[:300])
    with pytest.raises(DistaffError, match=r"000003\.jpg does not decode .*--skip-bad"):
        celeba.load(faces)
    for _ in range(2):
        data = celeba.load(faces, skip_bad=True)
        assert len(data) == 5
        np.testing.assert_array_equal(data.factors, np.delete(VALUES, 2, axis=0) > 0)
    (faces / "img_align_celeba" / "000003.jpg").unlink()
    with pytest.raises(DistaffError, match=r"lacks 000003\.jpg and 0 other"):
        celeba.load(faces)


def chairs(place: Path) -> list[tuple[str, bytes]]:
    """Two chairs, two elevations, three azimuths: the colour says which."""
    return [
        (
            f"rendered_chairs/{chair}/renders/image_{k:03d}_p0{p}_t{t:03d}_r096.png",
            png((100 * c, p, t // 2), (60, 60)),
        )
        for c, chair in enumerate(["aaa", "bbb"])
        for k, (p, t) in enumerate((p, t) for t in (11, 348, 0) for p in (30, 20))
    ]


def test_chairs_are_a_grid_from_the_tree_or_the_tar(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "rendered_chairs.tar", "w") as archive:
        for name, image in [("rendered_chairs/all_chair_names.mat", b"x"), *chairs(tmp_path)]:
            info = tarfile.TarInfo(name)
            info.size = len(image)
            archive.addfile(info, io.BytesIO(image))
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(image)
    for place in (tmp_path / "rendered_chairs.tar", tmp_path / "rendered_chairs"):
        data = open_dataset("chairs3d", place)
        assert data.is_grid
        assert (data.names, data.sizes) == (("chair", "elevation", "azimuth"), (2, 2, 3))
        colours = (data.images[:].mean((2, 3)) * 255).round().numpy()
        np.testing.assert_array_equal(colours[:, 0], 100 * data.values[:, 0])
        np.testing.assert_array_equal(colours[:, 1], data.values[:, 1])
        np.testing.assert_array_equal(colours[:, 2], data.values[:, 2] // 2)
    (tmp_path / "other").mkdir()
    with pytest.raises(DistaffError, match="holds no renderings"):
        open_dataset("chairs3d", tmp_path / "other")


RENDERS = RNG.integers(0, 256, (3, 2, 2, 4, 16, 16), dtype=np.uint8)


def test_faces_are_a_grid_from_a_tensor_or_an_npz(tmp_path: Path) -> None:
    torch.save(torch.from_numpy(RENDERS), tmp_path / "basel_face_renders.pth")
    np.savez(tmp_path / "faces.npz", images=RENDERS)
    for file in ("basel_face_renders.pth", "faces.npz"):
        data = open_dataset("faces3d", tmp_path / file)
        assert data.names == ("identity", "azimuth", "elevation", "lighting")
        assert data.is_grid
        np.testing.assert_allclose(data.images[17].numpy()[0], RENDERS[1, 0, 0, 1] / 255, atol=1e-6)
    np.savez(tmp_path / "flat.npz", images=RENDERS.reshape(-1, 16, 16))
    assert len(open_dataset("faces3d", tmp_path / "flat.npz")) == 48


def test_faces_are_read_from_a_folder_of_images(tmp_path: Path) -> None:
    for k in range(3):
        Image.fromarray(RENDERS[k, 0, 0, 0]).save(tmp_path / f"{k}.png")
    assert open_dataset("faces3d", tmp_path).shape == (1, 64, 64)


class Nasty:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("this must never run",)


def test_faces_files_that_are_not_right_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.pth"
    for content, message in [
        (Nasty(), "not a whole saved tensor"),
        ([1, 2], "holds a list"),
        (torch.zeros(3, 4), r"holds float32 \(3, 4\)"),
    ]:
        torch.save(content, file)
        with pytest.raises(DistaffError, match=message):
            open_dataset("faces3d", file)
    file.write_bytes(b"junk")
    with pytest.raises(DistaffError, match="not a whole saved tensor"):
        open_dataset("faces3d", file)
    assert "never run" not in capsys.readouterr().out


def mesh(car: int) -> np.ndarray:
    """(128, 128, 3, 24, 4): red says the car, green the azimuth, blue the elevation."""
    image = np.zeros((128, 128, 3, 24, 4), np.uint8)
    image[:, :, 0] = 50 * car
    image[:, :, 1] = np.arange(24)[:, None]
    image[:, :, 2] = 40 * np.arange(4)
    return image


@pytest.fixture
def two_cars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(cars3d, "CARS", 2)
    for car in range(2):
        folder = tmp_path / "data" / "cars"
        folder.mkdir(parents=True, exist_ok=True)
        savemat(folder / f"car_00{car + 1}_mesh.mat", {"im": mesh(car)}, do_compression=True)
    return tmp_path


def test_cars_are_a_grid_from_the_folder_or_the_tar(two_cars: Path) -> None:
    with tarfile.open(two_cars / "nips2015-analogy-data.tar.gz", "w:gz") as archive:
        archive.add(two_cars / "data", "data")
    for place in (two_cars / "data", two_cars / "nips2015-analogy-data.tar.gz"):
        data = open_dataset("cars3d", place)
        assert (data.names, data.sizes, data.is_grid) == (("elevation", "azimuth", "car"), (4, 24, 2), True)
        colours = (data.images[:].mean((2, 3)) * 255).round().numpy()
        np.testing.assert_array_equal(colours, data.factors[:, ::-1] * [50, 1, 40])


def test_cars_that_are_not_right_are_one_sentence(two_cars: Path) -> None:
    second = two_cars / "data" / "cars" / "car_002_mesh.mat"
    savemat(second, {"im": mesh(1)[:64]})
    with pytest.raises(DistaffError, match="no array 'im' of bytes"):
        cars3d.load(two_cars)
    second.write_bytes(b"junk" * 100)
    with pytest.raises(DistaffError, match="not a whole MATLAB file"):
        cars3d.load(two_cars)
    second.unlink()
    with pytest.raises(DistaffError, match=r"holds 1 files car_NNN_mesh\.mat, not 2"):
        cars3d.load(two_cars)
    (two_cars / "not.tar.gz").write_bytes(b"junk")
    with pytest.raises(DistaffError, match="not a whole tar"):
        cars3d.load(two_cars / "not.tar.gz")


def norb(magic: int, array: np.ndarray) -> bytes:
    shape = (*array.shape, 1, 1)[: max(3, array.ndim)]
    return struct.pack(f"<ii{len(shape)}i", magic, array.ndim, *shape) + array.tobytes()


@pytest.fixture
def toys(tmp_path: Path) -> Path:
    """Two of the five kinds, one toy a part, all elevations at one azimuth and light: grey says which."""
    for part, instance in ((smallnorb.TRAIN, 4), (smallnorb.TEST, 0)):
        categories = np.repeat(np.array([1, 0], "<i4"), 9)
        details = np.array([[instance, e, 34, 5] for _ in range(2) for e in range(9)], "<i4")
        grey = (100 * categories + 5 * details[:, 1] + instance).astype(np.uint8)
        photographs = np.zeros((18, 2, 96, 96), np.uint8)
        photographs[:, 0] = grey[:, None, None]
        (tmp_path / f"{part}-dat.mat.gz").write_bytes(gzip.compress(norb(0x1E3D4C55, photographs), 1))
        (tmp_path / f"{part}-cat.mat").write_bytes(norb(0x1E3D4C54, categories))
        (tmp_path / f"{part}-info.mat.gz").write_bytes(gzip.compress(norb(0x1E3D4C54, details), 1))
    return tmp_path


def test_norb_photographs_stay_with_their_labels_in_order(toys: Path) -> None:
    data = open_dataset("smallnorb", toys)
    assert (len(data), data.shape) == (36, (1, 64, 64))
    assert data.factors is not None
    rows = [tuple(row) for row in data.factors]
    assert rows == sorted(rows)
    assert set(data.column("azimuth")) == {17}
    grey = (data.images[:].mean((1, 2, 3)) * 255).round().numpy()
    category, instance, elevation = data.factors.T[:3]
    np.testing.assert_array_equal(grey, 100 * category + 5 * elevation + instance)


def test_norb_files_that_are_not_right_are_one_sentence(toys: Path) -> None:
    category = toys / f"{smallnorb.TRAIN}-cat.mat"
    photographs = toys / f"{smallnorb.TEST}-dat.mat.gz"
    whole, pictures = category.read_bytes(), photographs.read_bytes()
    for data, message in [
        (b"\0" + whole[1:], "header is unknown"),
        (whole[:6], "header is unknown"),
        (whole[:10], "shorter than its header"),
        (whole[:9], "shorter than its header"),
        (whole[:8] + bytes(12), "claims the shape"),
        (whole[:-4], "shorter than its header"),
        (norb(0x1E3D4C54, np.zeros(7, "<i4")), "do not belong together"),
        (norb(0x1E3D4C54, np.full(18, 5, "<i4")), "out of range"),
    ]:
        category.write_bytes(data)
        with pytest.raises(DistaffError, match=message):
            smallnorb.load(toys)
    category.write_bytes(whole)
    for data, message in [
        (pictures[:-100], "not a whole smallNORB file"),
        (gzip.compress(norb(0x1E3D4C55, np.zeros((17, 2, 96, 96), np.uint8))), "ends after 35 of 36"),
        (
            gzip.compress(norb(0x1E3D4C55, np.zeros((19, 2, 96, 96), np.uint8))),
            "more images than there are labels",
        ),
        (gzip.compress(norb(0x1E3D4C55, np.zeros((18, 96, 96), np.uint8))), "not pairs"),
    ]:
        photographs.write_bytes(data)
        with pytest.raises(DistaffError, match=message):
            smallnorb.load(toys)


@pytest.fixture
def small_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi3d, "SIZES", (2, 1, 2, 1, 3, 2, 1))
    monkeypatch.setattr(mpi3d, "COUNT", 24)


@pytest.mark.usefixtures("small_arm")
def test_mpi3d_is_a_grid(tmp_path: Path) -> None:
    images = RNG.integers(0, 256, (24, 64, 64, 3), dtype=np.uint8)
    np.savez_compressed(tmp_path / "mpi3d_real.npz", images=images)
    data = open_dataset("mpi3d", tmp_path, variant="real")
    assert data.is_grid
    np.testing.assert_allclose(data.images[7].numpy(), np.moveaxis(images[7], 2, 0) / 255, atol=1e-6)
    with pytest.raises(DistaffError, match=r"mpi3d_toy\.npz is not in"):
        open_dataset("mpi3d", tmp_path)
    with pytest.raises(DistaffError, match="did you mean 'realistic'"):
        open_dataset("mpi3d", tmp_path, variant="realstic")
    np.savez_compressed(tmp_path / "mpi3d_toy.npz", images=images[:23])
    with pytest.raises(DistaffError, match="not an official MPI3D file: its images are"):
        open_dataset("mpi3d", tmp_path)
    np.savez_compressed(tmp_path / "mpi3d_toy.npz", images=images / 255)
    with pytest.raises(DistaffError, match="its images are float64"):
        open_dataset("mpi3d", tmp_path)


@pytest.mark.parametrize("name", ["celeba", "chairs3d", "faces3d", "cars3d", "smallnorb", "mpi3d"])
def test_files_that_are_not_here_say_where_to_get_and_put_them(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISTAFF_DATA", str(tmp_path))
    with pytest.raises(
        DistaffError, match=rf"is not in {tmp_path}/{name}: .*take it from http.* and put it there"
    ):
        open_dataset(name)
    with pytest.raises(DistaffError, match=r"there is no (file or folder|folder or archive)"):
        open_dataset(name, tmp_path / "absent")
