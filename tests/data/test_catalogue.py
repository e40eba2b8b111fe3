import dataclasses
import functools
import hashlib
import http.server
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest

from distaff import cli, data
from distaff.data import catalogue, fashion_mnist
from distaff.data.about import RemoteFile
from distaff.data.downloads import download
from distaff.foundation.errors import DistaffError

CONTENT = bytes(range(256)) * 9000
MD5 = f"md5:{hashlib.md5(CONTENT).hexdigest()}"


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, with ranges; a path under /breaks/ is cut off half way."""

    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        path = Path(self.directory) / self.path.rpartition("/")[2]
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        rest = content[start:]
        self.wfile.write(rest[: len(rest) // 2] if self.path.startswith("/breaks/") else rest)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "file.bin").write_bytes(CONTENT)
    handler = functools.partial(Server, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    Server.asked.clear()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISTAFF_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_a_download_is_checked_and_kept(site: str, tmp_path: Path) -> None:
    target = tmp_path / "got" / "file.bin"
    for _ in range(2):
        assert download(site + "file.bin", target, MD5).read_bytes() == CONTENT
    assert Server.asked == [None]
    assert not list(target.parent.glob("*.part"))


def test_a_broken_download_goes_on_where_it_stopped(site: str, tmp_path: Path) -> None:
    target = tmp_path / "file.bin"
    with pytest.raises(DistaffError, match="cannot be reached"):
        download(f"{site}breaks/file.bin", target, MD5)
    assert not target.exists()
    half = (tmp_path / "file.bin.part").stat().st_size
    assert 0 < half < len(CONTENT)
    assert download(site + "file.bin", target, MD5).read_bytes() == CONTENT
    assert Server.asked == [None, f"bytes={half}-"]


def test_a_part_that_is_longer_than_the_file_is_started_anew(site: str, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(bytes(len(CONTENT) + 5))
    assert download(site + "file.bin", tmp_path / "file.bin", MD5).read_bytes() == CONTENT


def test_a_file_with_another_hash_is_not_kept(site: str, tmp_path: Path) -> None:
    with pytest.raises(DistaffError, match="not the published file"):
        download(site + "file.bin", tmp_path / "file.bin", f"md5:{'0' * 32}")
    assert not (tmp_path / "file.bin").exists()
    assert not (tmp_path / "file.bin.part").exists()


def test_without_a_network_it_says_where_to_get_and_put_the_file(place: Path) -> None:
    with pytest.raises(
        DistaffError, match=rf"cannot be reached .*: take it from https://.* and put it into {place}/mnist"
    ) as problem:
        catalogue.fetch("mnist", mirror="http://127.0.0.1:9/")
    assert "\n" not in str(problem.value)
    with pytest.raises(
        DistaffError, match=r"must be fetched by hand because of its terms: take it from .*CelebA"
    ):
        catalogue.fetch("celeba")
    with pytest.raises(DistaffError, match="is generated and has no files"):
        catalogue.fetch("pinwheel")
    with pytest.raises(DistaffError, match=r"did you mean 'mpi3d_real\.npz'"):
        catalogue.fetch("mpi3d", ["mpi3d_rael.npz"])


def test_files_are_fetched_and_verified(site: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = (RemoteFile("file.bin", known_hash=MD5), RemoteFile("other.bin", extra=True))
    monkeypatch.setattr(fashion_mnist, "ABOUT", dataclasses.replace(fashion_mnist.ABOUT, files=files))
    assert [state.state for state in catalogue.verify("fashion_mnist")] == ["absent", "absent"]
    [path] = catalogue.fetch("fashion_mnist", mirror=site)
    assert path == place / "fashion-mnist" / "file.bin"
    assert [state.state for state in catalogue.verify("fashion_mnist")] == ["whole", "absent"]
    path.write_bytes(CONTENT[:-1] + b"x")
    (place / "fashion-mnist" / "other.bin").write_bytes(b"")
    assert [state.state for state in catalogue.verify("fashion_mnist")] == ["damaged", "unknown"]
    assert str(catalogue.verify("fashion_mnist")[0]) == f"{path}: damaged"
    assert f"{path}  (here)" in catalogue.info("fashion_mnist")


def test_the_real_files_are_whole(real_data: Path) -> None:
    for name in ("mnist", "fashion_mnist"):
        assert [state.state for state in catalogue.verify(name)] == ["whole"] * 4


@pytest.mark.parametrize("name", data.names())
def test_every_data_set_describes_itself(name: str) -> None:
    facts = catalogue.about(name)
    text = catalogue.info(name)
    for part in (facts.summary, facts.licence, facts.citation, facts.source, f"{facts.count:,}"):
        assert part in text
    assert facts.built_in or facts.files
    assert all(file.known_hash is None or file.known_hash.count(":") == 1 for file in facts.files)
    assert import_module(f"distaff.data.{name}").load.__doc__
    assert catalogue.overview()[name][0] == facts


@pytest.mark.parametrize("name", [name for name in data.names() if catalogue.about(name).built_in])
def test_built_in_sets_are_as_they_are_described(name: str) -> None:
    facts, loaded = catalogue.about(name), data.open_dataset(name)
    assert (len(loaded), loaded.shape) == (facts.count, facts.shape)
    assert dict(zip(loaded.names, loaded.sizes, strict=True)) == dict(facts.factors)
    assert loaded.name == name


def test_a_data_set_in_a_new_file_is_found_by_being_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "stairs.py").write_text(
        "import numpy as np\n"
        "from distaff.data import Dataset, from_array\n"
        "from distaff.data.about import About\n\n"
        "ABOUT = About('Steps.', 'here', 'CC0', 'none', 3, (1,), {}, built_in=True)\n\n"
        "def load(count: int = 3) -> Dataset:\n"
        "    return from_array(np.arange(count)[:, None], name='stairs')\n"
    )
    monkeypatch.setattr(data, "__path__", [*data.__path__, str(tmp_path)])
    try:
        assert "stairs" in data.names()
        assert len(data.open_dataset("stairs", count=5)) == 5
        assert len(data.stairs.load()) == 3
        cli.main(["data", "list"])
        assert "Steps." in capsys.readouterr().out
        with pytest.raises(DistaffError, match="unknown option of stairs 'cuont': did you mean 'count'"):
            data.open_dataset("stairs", cuont=5)
    finally:
        vars(data).pop("stairs", None)
        sys.modules.pop("distaff.data.stairs", None)


def test_unknown_names_get_near_misses() -> None:
    for question in (catalogue.about, catalogue.info, catalogue.fetch, catalogue.verify):
        with pytest.raises(DistaffError, match="did you mean 'shapes3d'"):
            question("shapes_3d")
