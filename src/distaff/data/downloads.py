"""Downloads that are verified, and that resume after an interruption."""

from pathlib import Path
from typing import Any

from distaff.foundation.errors import DistaffError
from distaff.foundation.progress import progress

CHUNK = 1 << 20


def download(url: str, target: Path, known_hash: str | None) -> Path:
    """Download ``url`` to ``target``; a complete file that is already there is kept.

    Args:
        url: the URL.
        target: the destination; a partial download is next to it as ``.part``.
        known_hash: ``md5:…`` or ``sha256:…``; a file with another hash is not kept.
    """
    import pooch
    import requests

    part = target.with_name(f"{target.name}.part")

    def fetch(address: str, output: str, _: Any) -> None:
        _resume(address, part)
        part.replace(output)

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        pooch.get_logger().setLevel("WARNING")
        pooch.retrieve(url, known_hash, target.name, target.parent, downloader=fetch)
    except requests.RequestException as problem:
        raise DistaffError(f"{url} cannot be reached ({type(problem).__name__}).") from problem
    except ValueError as problem:
        raise DistaffError(f"what {url} sent is not the published file (its hash differs).") from problem
    except OSError as problem:
        raise DistaffError(f"{target} cannot be written ({problem.strerror or problem}).") from problem
    return target


def _resume(url: str, part: Path) -> None:
    """Download what ``part`` lacks, or start over if the server does not support partial requests."""
    import requests

    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    with requests.get(url, headers=headers, stream=True, timeout=30) as answer:
        if have and answer.status_code == requests.codes.requested_range_not_satisfiable:
            part.unlink()
            return _resume(url, part)
        answer.raise_for_status()
        resumed = answer.status_code == requests.codes.partial_content
        length = int(answer.headers.get("Content-Length", 0))
        chunks = answer.iter_content(CHUNK)
        with part.open("ab" if resumed else "wb") as file:
            for chunk in progress(chunks, f"fetching {part.stem}", length // CHUNK + 1):
                file.write(chunk)
    if length and part.stat().st_size != length + (have if resumed else 0):
        raise requests.ConnectionError("the connection broke off")
    return None
