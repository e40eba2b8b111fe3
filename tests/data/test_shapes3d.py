from pathlib import Path

import h5py
import numpy as np
import pytest

from distaff.data import Dataset, open_dataset, shapes3d
from distaff.data import shapes3d_renderer as scene
from distaff.foundation.errors import DistaffError

SMALL = (1, 2, 2, 1, 2, 3)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return shapes3d.load()


def test_the_grid_is_the_official_one(data: Dataset) -> None:
    assert len(data) == 480_000
    assert data.shape == (3, 64, 64)
    assert data.names == ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
    assert data.is_grid
    values = data.values
    assert values is not None
    assert values[0] == pytest.approx([0, 0, 0, 0.75, 0, -30])
    assert values[-1] == pytest.approx([0.9, 0.9, 0.9, 1.25, 3, 30])


def test_images_are_light_in_range_and_never_alike(data: Dataset) -> None:
    rows = np.random.default_rng(0).integers(0, 480_000, 300)
    images = data.images[rows]
    assert images.min() >= 0
    assert images.max() <= 1
    scenes = data.images[np.arange(480)].flatten(1)
    assert len(np.unique(scenes.numpy().round(6), axis=0)) == 480
    assert data.images[5].equal(data.images[[5]][0])


def test_each_hue_colours_its_own_part(data: Dataset) -> None:
    """Turning one hue from red (0) to cyan (5) moves that part alone, and together all but the sky."""
    start = np.array([0, 0, 0, 4, 2, 7])
    changed = []
    for factor in range(3):
        other = start.copy()
        other[factor] = 5
        rows = [np.ravel_multi_index(tuple(row), data.sizes) for row in (start, other)]
        before, after = data.images[rows]
        changed.append(((before - after).abs().sum(0) > 0.05).numpy())
    floor, wall, item = changed
    assert item[34, 32]
    assert not item[60].any()
    assert floor[60].all()
    assert wall[12].all()
    # Parts meet only in the pixels along their outlines.
    overlap = floor.astype(int) + wall + item
    assert (overlap > 1).mean() < 0.05
    assert (overlap[20:] >= 1).all()
    assert (overlap[:4] == 0).all()


def test_larger_scales_cover_more_and_opposite_views_mirror_the_room() -> None:
    covered = [
        [scene.Room(0.0, 64).layers(shape, s)[scene.OBJECT].sum() for s in (0.75, 1.0, 1.25)]
        for shape in range(4)
    ]
    assert (np.diff(covered, axis=1) > 0).all()
    left, right = (scene.Room(angle, 64).layers(scene.SPHERE, 1.0) > 0 for angle in (-30.0, 30.0))
    for part in (scene.FLOOR, scene.WALL, scene.OBJECT):
        assert (left[part] == right[part][:, ::-1]).mean() > 0.99


@pytest.mark.parametrize("shape", range(4))
def test_rays_meet_the_surface_and_normals_stand_on_it(shape: int) -> None:
    """Hit points satisfy the shape's own equation; normals have length one and face the ray."""
    rng = np.random.default_rng(shape)
    origin = np.array([0.5, -7.0, 3.0], np.float32)
    half, radius = scene.HALF_HEIGHT[shape], scene.RADIUS[shape]
    rays = np.array([0, 0, half]) + rng.normal(0, 0.8, (4000, 3)) - origin
    rays = (rays / np.linalg.norm(rays, axis=1, keepdims=True)).astype(np.float32)
    distance, normal = scene.hit(shape, 1.0, np.broadcast_to(origin, rays.shape), rays)
    met = np.isfinite(distance)
    assert 0.3 < met.mean() < 1.0
    x, y, z = (origin + distance[met, None] * rays[met] - [0, 0, half]).T
    around = np.hypot(x, y)
    surface = {
        scene.CUBE: np.maximum.reduce([abs(x), abs(y), abs(z)]) - radius,
        scene.CYLINDER: np.maximum(around - radius, abs(z) - half),
        scene.SPHERE: np.sqrt(x**2 + y**2 + z**2) - radius,
        scene.CAPSULE: np.hypot(around, np.maximum(abs(z) - (half - radius), 0)) - radius,
    }[shape]
    assert np.abs(surface).max() < 1e-4
    assert np.linalg.norm(normal[met], axis=1) == pytest.approx(1, abs=1e-4)
    assert ((normal[met] * rays[met]).sum(1) < 1e-4).all()


def official(path: Path, **changes: object) -> Path:
    values = [table[:n] for table, n in zip(shapes3d.VALUES, SMALL, strict=True)]
    labels = np.stack([v[k] for v, k in zip(values, np.indices(SMALL).reshape(6, -1), strict=True)], axis=1)
    images = np.random.default_rng(0).integers(0, 256, (len(labels), 64, 64, 3), dtype=np.uint8)
    with h5py.File(path, "w") as file:
        for key, value in ({"images": images, "labels": labels} | changes).items():
            if value is not None:
                file.create_dataset(key, data=value, compression="gzip")
    return path


@pytest.fixture
def small_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes3d, "SIZES", SMALL)
    monkeypatch.setattr(shapes3d, "VALUES", tuple(v[:n] for v, n in zip(shapes3d.VALUES, SMALL, strict=True)))


@pytest.mark.usefixtures("small_grid")
def test_the_official_file_is_read(tmp_path: Path) -> None:
    file = official(tmp_path / "3dshapes.h5")
    data = open_dataset("shapes3d", file)
    assert data.is_grid
    with h5py.File(file) as parts:
        expected = np.moveaxis(parts["images"][:], 3, 1) / 255
    np.testing.assert_allclose(data.images[:].numpy(), expected, atol=1e-6)


@pytest.mark.usefixtures("small_grid")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": None}, "has no array 'images'"),
        ({"images": np.zeros((23, 64, 64, 3), np.uint8)}, "its images are"),
        ({"images": np.zeros((24, 64, 64, 3))}, "its images are float64"),
        ({"labels": np.zeros((24, 6))}, "not the full grid"),
        ({"labels": np.zeros((24, 5))}, "not the full grid"),
    ],
)
def test_a_file_that_is_not_the_official_one_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(DistaffError, match=message):
        shapes3d.load(official(tmp_path / "3dshapes.h5", **changes))


def test_damaged_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DistaffError, match="cannot be read"):
        shapes3d.load(tmp_path / "absent.h5")
    (tmp_path / "not.h5").write_text("no HDF5")
    with pytest.raises(DistaffError, match="not a whole HDF5 file"):
        shapes3d.load(tmp_path / "not.h5")
