from pathlib import Path

import pytest

from distaff import data
from distaff.foundation.errors import DistaffError


def test_data_sets_are_found_by_their_files() -> None:
    assert "dsprites" in data.names()
    assert not {"arrays", "folders", "dataset", "cache"} & set(data.names())


def test_names_and_paths_that_lead_nowhere_are_explained(tmp_path: Path) -> None:
    with pytest.raises(DistaffError, match="unknown data set 'dsprite': did you mean 'dsprites'"):
        data.open_dataset("dsprite")
    with pytest.raises(DistaffError, match="there is no file"):
        data.open_dataset("absent.npz")
    with pytest.raises(DistaffError, match="there is no file or folder"):
        data.open_dataset(str(tmp_path / "absent"))
    (tmp_path / "table.xls").write_text("1")
    with pytest.raises(DistaffError, match="not a kind of file"):
        data.open_dataset(tmp_path / "table.xls")
    with pytest.raises(DistaffError, match="a file goes with a data set known by name"):
        data.open_dataset(tmp_path, file="x.npz")


def test_a_folder_that_is_not_here_has_near_misses_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "photos").mkdir()
    monkeypatch.chdir(tmp_path)
    for wrong in ("photo", "photos2/", str(tmp_path / "fotos")):
        with pytest.raises(DistaffError, match=r"there is no file or folder .*: did you mean .*photos"):
            data.open_dataset(wrong)
    with pytest.raises(DistaffError, match="there is no file or folder elsewhere here, nor a data set"):
        data.open_dataset("elsewhere")
    with pytest.raises(DistaffError, match=r"there is no file or folder elsewhere/\.$"):
        data.open_dataset("elsewhere/")
