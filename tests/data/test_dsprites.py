import zipfile
from pathlib import Path

import numpy as np
import pytest

from distaff.data import Dataset, dsprites, open_dataset
from distaff.foundation.errors import DistaffError

ANGLES = 2 * np.pi * np.arange(40) / 39


def pixels(rows: np.ndarray) -> np.ndarray:
    """(…, 64) rows of 64 bits -> (…, 64, 64) zeros and ones."""
    return np.unpackbits(rows.astype(">u8").view(np.uint8), axis=-1).reshape(*rows.shape, 64)


def inside(vertices: list[tuple[int, int]], x: int, y: int) -> bool:
    """Even-odd rule for one point in integers, by hand: the ray to the left, half-open in both directions."""
    odd = False
    for (x0, y0), (x1, y1) in zip(vertices, vertices[1:] + vertices[:1], strict=True):
        if (y0 < y) != (y1 < y):
            side = (x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)
            odd ^= side >= 0 if y1 > y0 else side <= 0
    return odd


@pytest.mark.parametrize("shape", range(3))
def test_every_pixel_follows_the_point_in_polygon_rule(shape: int) -> None:
    rng = np.random.default_rng(shape)
    outline = dsprites.outlines()[shape]
    for scale, angle, x, y in zip(*(rng.integers(0, n, 4) for n in (6, 40, 32, 32)), strict=True):
        s, o, cx, cy = 0.5 + 0.1 * scale, ANGLES[angle], 16 + 32 * x / 31, 16 + 32 * y / 31
        vertices = [
            (
                int(np.floor(256 * (cx + s * (np.cos(o) * u + np.sin(o) * w)) + 0.5)),
                int(np.floor(256 * (cy + s * (-np.sin(o) * u + np.cos(o) * w)) + 0.5)),
            )
            for u, w in outline
        ]
        drawn = pixels(dsprites.draw(outline, s, ANGLES[angle : angle + 1])[0, x, y])
        expected = [[inside(vertices, 256 * j + 128, 256 * i + 128) for j in range(64)] for i in range(64)]
        np.testing.assert_array_equal(drawn, expected)


def test_edges_through_pixel_centres_are_inside_on_the_left_and_bottom() -> None:
    square = 9.5 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    for outline in (square, square[::-1]):
        image = pixels(dsprites.draw(outline, 1.0, np.zeros(1))[0, 0, 0])
        rows, columns = np.nonzero(image)
        assert (columns.min(), columns.max()) == (6, 24)
        assert (rows.min(), rows.max()) == (7, 25)
        assert image.sum() == 19 * 19


def test_areas_and_centres_are_those_of_the_outlines(dsprites: Dataset) -> None:
    """Mean white area over positions is the polygon's area; its centroid is the shape's place."""
    for shape, area in ((0, 19.2**2), (1, np.pi * 9.6**2)):
        for scale in (0, 5):
            rows = dsprites.sample(200, np.random.default_rng(0), {"shape": shape, "scale": scale})
            images = dsprites.images[rows][:, 0].numpy()
            expected = area * (0.5 + 0.1 * scale) ** 2
            assert images.sum((1, 2)).mean() == pytest.approx(expected, rel=0.01)
            centre = (images.sum(1) * (np.arange(64) + 0.5)).sum(1) / images.sum((1, 2))
            place = 16 + 32 * dsprites.column("posX")[rows] / 31
            assert np.abs(centre - place).max() < 0.4


def test_the_grid_is_the_official_one(dsprites: Dataset) -> None:
    assert len(dsprites) == 737_280
    assert dsprites.shape == (1, 64, 64)
    assert dsprites.names == ("shape", "scale", "orientation", "posX", "posY")
    assert dsprites.sizes == (3, 6, 40, 32, 32)
    assert dsprites.is_grid


def test_real_images_come_out_bit_for_bit(dsprites: Dataset, real_data: Path) -> None:
    with np.load(real_data / "dsprites" / "dsprites_subset.npz", allow_pickle=False) as real:
        rows, images = real["original_dataset_indices"], real["imgs"]
        classes, values = real["latents_classes"], real["latents_values"]
    assert dsprites.factors is not None
    np.testing.assert_array_equal(dsprites.factors[rows], classes)
    np.testing.assert_array_equal(dsprites.values[rows], values)
    same = (dsprites.images[rows][:, 0].numpy() == images).all((1, 2))
    for shape in range(3):
        assert same[classes[:, 0] == shape].mean() >= 0.999


@pytest.fixture
def small_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same code on a grid of 24 images, so that an official-looking file can be written in a moment."""
    monkeypatch.setattr(dsprites, "SIZES", (3, 1, 2, 2, 2))
    monkeypatch.setattr(dsprites, "COUNT", 24)
    monkeypatch.setattr(
        dsprites, "VALUES", tuple(v[:n] for v, n in zip(dsprites.VALUES, (3, 1, 2, 2, 2), strict=True))
    )


def official(path: Path, **changes: object) -> Path:
    rng = np.random.default_rng(0)
    parts = {
        "imgs": rng.integers(0, 2, (24, 64, 64), dtype=np.uint8),
        "latents_classes": np.indices((1, 3, 1, 2, 2, 2)).reshape(6, -1).T,
        "latents_values": np.zeros((24, 6)),
        "metadata": np.array({"title": "pickled"}, dtype=object),
    } | changes
    np.savez_compressed(path, **{key: value for key, value in parts.items() if value is not None})
    return path


@pytest.mark.usefixtures("small_grid")
def test_the_official_file_is_read_without_unpickling(tmp_path: Path) -> None:
    file = official(tmp_path / "d.npz")
    data = open_dataset("dsprites", file)
    with np.load(file) as parts:
        np.testing.assert_array_equal(data.images[:][:, 0].numpy(), parts["imgs"])
    assert data.names == dsprites.NAMES
    assert data.is_grid


@pytest.mark.usefixtures("small_grid")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"imgs": None}, "has no array 'imgs'"),
        ({"imgs": np.zeros((23, 64, 64), np.uint8)}, "its images are"),
        ({"imgs": np.full((24, 64, 64), 2, np.uint8)}, "neither 0 nor 1"),
        ({"imgs": np.zeros((24, 64, 64))}, "neither 0 nor 1"),
        ({"imgs": np.array([None] * 24)}, "pickled objects"),
        ({"latents_classes": None}, "has no array 'latents_classes'"),
        ({"latents_classes": np.zeros((24, 6), int)}, "full grid"),
        ({"latents_classes": np.zeros((24, 5), int)}, "full grid"),
    ],
)
def test_a_file_that_is_not_the_official_one_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(DistaffError, match=message):
        dsprites.load(official(tmp_path / "d.npz", **changes))


def test_damaged_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DistaffError, match="cannot be read"):
        dsprites.load(tmp_path / "absent.npz")
    file = official(tmp_path / "d.npz")
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(DistaffError, match=r"not a whole \.npz"):
        dsprites.load(file)
    file.write_text("no zip at all")
    with pytest.raises(DistaffError, match=r"not a whole \.npz"):
        dsprites.load(file)


@pytest.mark.slow
def test_the_full_official_layout_reads_back_as_it_was_drawn(dsprites: Dataset, tmp_path: Path) -> None:
    """Our own images written as the authors wrote theirs: 3 GB of pixels, streamed both ways."""
    file = tmp_path / "official.npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("imgs.npy", "w", force_zip64=True) as member:
            header = {"descr": "|u1", "fortran_order": False, "shape": (737_280, 64, 64)}
            np.lib.format.write_array_header_1_0(member, header)
            for start in range(0, 737_280, 8192):
                member.write(dsprites.images[start : start + 8192].byte().numpy().tobytes())
        with archive.open("latents_classes.npy", "w") as member:
            np.lib.format.write_array(member, np.indices((1, *dsprites.sizes)).reshape(6, -1).T)
    assert open_dataset("dsprites", file).fingerprint == dsprites.fingerprint
