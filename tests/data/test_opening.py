import shutil
from pathlib import Path

import pytest

from distaff import data
from distaff.cli import main
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
    with pytest.raises(DistaffError, match="not a supported kind of file"):
        data.open_dataset(tmp_path / "table.xls")
    with pytest.raises(DistaffError, match="file is for a data set known by name"):
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


def test_functions_of_ones_own_are_data_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own_discs.py").write_text(
        "import numpy as np\n"
        "import distaff\n"
        "def discs(count: int = 30):\n"
        "    return np.linspace(0, 1, count)[:, None, None] * np.ones((16, 16))\n"
        "def labelled(count: int = 30):\n"
        "    return distaff.data.from_array(discs(count), np.arange(count) % 3, ['kind'])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = data.open_dataset("own_discs:discs", count="20", resize=32)
    assert (found.name, len(found), found.shape) == ("discs", 20, (1, 32, 32))
    assert data.open_dataset("own_discs:labelled").names == ("kind",)
    with pytest.raises(DistaffError, match="unknown option of own_discs:discs 'cout': did you mean 'count'"):
        data.open_dataset("own_discs:discs", cout=3)
    with pytest.raises(DistaffError, match="'own_discs:disks' cannot be imported"):
        data.open_dataset("own_discs:disks")
    quick = ["--steps", "2", "--batch-size", "8", "--network", "mlp", "--no-progress"]
    main(
        ["train", "vae", "--data", "own_discs:labelled", "--data-options", "count=24", *quick, "--out", "run"]
    )
    main(["evaluate", "run", "--metrics", "mig", "--no-progress"])
    assert "mig" in capsys.readouterr().out
    # Of a folder that someone else made, the function is imported only where its user trusts it.
    shutil.copytree("run", "elsewhere")
    with pytest.raises(SystemExit):
        main(["evaluate", "elsewhere", "--no-progress"])
    assert "names the data set 'own_discs:labelled'" in capsys.readouterr().err
    main(["evaluate", "elsewhere", "--trust", "own_discs", "--no-progress"])


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("resize=big", "resize must be a whole number"),
        ("resize=16,colours=blue", "unknown colours of photos 'blue': Known: auto, grey, rgb, rgba"),
        ("colours=blue", "unknown colours of photos 'blue'"),
        ("resize=16,folder=elsewhere", "unknown option of photos 'folder': Known: colours, fit, labels"),
        ("resize=16,spec=elsewhere", "unknown option of photos 'spec'"),
        ("resize=16,file=elsewhere", "unknown option of photos 'file'"),
        ("resize=16,like=1", "unknown option of photos 'like'"),
    ],
)
def test_options_of_a_folder_are_checked_before_it_is_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], told: str, said: str
) -> None:
    (tmp_path / "photos").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["train", "vae", "--data", "photos", "--data-options", told, "--out", "run"])
    assert end.value.code == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_no_flag_wins_over_an_option_of_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (["train", "vae", "--data", "photos"], ["data", "preview", "photos"]):
        with pytest.raises(SystemExit):
            main([*command, "--resize", "32", "--data-options", "resize=16"])
        assert "--resize is given, and resize among --data-options: keep one" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["train", "vae", "--data", "pinwheel", "--fit", "crop"])
    assert "--fit is for scaling images: give --resize 64" in capsys.readouterr().err
