from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from distaff.cli import main
from distaff.data import Dataset, from_array, open_dataset
from distaff.data.dataset import grid
from distaff.data.preview import preview, save_preview
from distaff.data.tables import from_frame
from distaff.foundation.errors import DistaffError

IMAGES = np.random.default_rng(0).random((24, 3, 8, 8))


def shown(data: Dataset, columns: int = 10) -> list[list[np.ndarray]]:
    figure = preview(data, columns)
    rows = len(figure.axes) // columns
    pictures = [axes.images[0].get_array().data if axes.images else None for axes in figure.axes]
    return [[p for p in pictures[r * columns : (r + 1) * columns] if p is not None] for r in range(rows)]


def test_each_row_varies_its_own_factor(tmp_path: Path) -> None:
    """Images that are their own factors: within a row one channel moves and the others stay."""
    classes = grid((2, 3, 4))
    images = np.broadcast_to(classes[:, :, None, None] / 4, (24, 3, 8, 8))
    rows = shown(from_array(images, classes, ["a", "b", "c"]))
    assert [len(row) for row in rows] == [2, 3, 4]
    for factor, row in enumerate(rows):
        values = np.array([picture[0, 0] for picture in row])
        assert (np.diff(values[:, factor]) > 0).all()
        assert np.ptp(np.delete(values, factor, axis=1), axis=0).max() == 0


def test_sets_off_the_grid_show_each_class_and_sets_without_factors_random_images() -> None:
    labels = np.arange(24) % 3
    images = np.broadcast_to(labels[:, None, None] / 3, (24, 8, 8))
    [row] = shown(from_array(images, labels))
    assert [picture[0, 0] for picture in row] == pytest.approx([0, 1 / 3, 2 / 3])
    assert [len(row) for row in shown(from_array(IMAGES))] == [10] * 5


def test_sheets_are_drawn_for_images_and_vectors(tmp_path: Path) -> None:
    for data in (open_dataset("pinwheel"), from_array(IMAGES)):
        with Image.open(save_preview(data, tmp_path / "new" / "sheet.png")) as sheet:
            assert min(sheet.size) > 300
            assert len(set(sheet.convert("L").tobytes())) > 10
    with pytest.raises(DistaffError, match=r"give the name of a \.png"):
        save_preview(from_array(IMAGES), tmp_path / "sheet.xyz")
    with pytest.raises(DistaffError, match="one dimension"):
        preview(from_array(np.zeros((5, 1))))


def test_photographs_of_different_sizes_are_shown_with_resize(tmp_path: Path, capsys) -> None:
    for number, size in enumerate([(20, 30), (30, 20), (25, 25)]):
        Image.fromarray(np.full((*size, 3), 80 * number, np.uint8)).save(tmp_path / f"{number}.png")
    with pytest.raises(SystemExit):
        main(["data", "preview", str(tmp_path), "--out", str(tmp_path / "sheet.png")])
    assert "--resize 64" in capsys.readouterr().err
    main(
        [
            "data",
            "preview",
            str(tmp_path),
            "--out",
            str(tmp_path / "out/sheet.png"),
            "--resize",
            "16",
            "--fit",
            "crop",
        ]
    )
    assert (tmp_path / "out/sheet.png").is_file()


def test_a_notebook_shows_a_table_by_its_own_names_and_units() -> None:
    frame = pd.DataFrame({"price": [9000.0, 9200.0, 8800.0, None], "kind": ["new", "used", "new", "new"]})
    text = from_frame(frame)._repr_html_()
    assert all(heading in text for heading in ("price", "kind = new", "kind = used"))
    assert all(f">{number}<" in text for number in ("9000", "8800", "9200", "0.75"))


@pytest.mark.parametrize("channels", [2, 4, 5])
def test_images_of_other_channels_than_a_screen_has_are_drawn(channels: int) -> None:
    images = np.random.default_rng(0).random((12, channels, 8, 8))
    pictures = [one for row in shown(from_array(images, channels="first")) for one in row]
    assert {picture.shape for picture in pictures} == {(8, 8, 3) if channels == 4 else (8, 8)}


def test_what_messages_propose_is_a_flag_of_preview(tmp_path: Path) -> None:
    """Damaged files and values out of range are told of with the flags that help."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(3):
        pixels = np.full((16, 16), 3.0 * number, np.float32)
        Image.fromarray(pixels).save(folder / f"{number}.tif")
    (folder / "bad.tif").write_bytes(b"no")
    main(
        ["data", "preview", str(folder), "--skip-bad", "--range", "min-max", "--out", str(tmp_path / "a.png")]
    )
    assert (tmp_path / "a.png").stat().st_size > 0


def test_signals_are_drawn_as_curves(tmp_path: Path) -> None:
    np.save(tmp_path / "waves.npy", np.sin(np.linspace(0, 9, 40) * np.arange(1, 7)[:, None]))
    data = open_dataset(tmp_path / "waves.npy", signals=True)
    (axes, *_) = preview(data).axes
    assert [len(line.get_xdata()) for line in axes.lines] == [40]
