"""``explore``: open the page for one run or two, or write it to a file."""

import errno
import os
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path

import uvicorn

from distaff.explore.auth import new_token
from distaff.explore.connections import Connection
from distaff.explore.server import build_app
from distaff.explore.session import Session
from distaff.explore.standalone import export_page
from distaff.foundation.errors import DistaffError
from distaff.runs.zoo import PREFIX, zoo_names

PORT, LAST_PORT = 8300, 65535
TRIED = 20
"""Number of further ports that are tried if the requested one is taken."""


def explore(
    runs: list[str],
    *,
    export: str | None = None,
    host: str = "127.0.0.1",
    port: int = PORT,
    open: bool = True,
) -> Path | None:
    """Move a run's latents with sliders in a web page, until Ctrl-C; two runs are shown side by side.

    Args:
        runs: one or two run folders, or models such as zoo:factor_vae-dsprites; by default the zoo's first.
        export: write the page to this file instead, with precomputed traversals; the file needs no Python.
        host: address to listen on; others than 127.0.0.1 admit other machines, if they know the token.
        port: port to listen on; if it is taken, the next free one.
        open: open the page in a browser, if there is one.
    """
    runs = list(runs) or [_first_of_zoo()]
    if export is not None:
        return export_page(Session.open(runs), Path(export))
    listening = listen(host, port)
    with listening:
        print("reading the run …", file=sys.stderr)
        serve(Session.open(runs), listening, host, open)
    return None


def _first_of_zoo() -> str:
    known = zoo_names()
    if not known:
        raise DistaffError("name a run folder: this installation of distaff came without models of its own.")
    print(f"opening {PREFIX}{known[0]}; distaff explore RUN opens a run of yours", file=sys.stderr)
    return f"{PREFIX}{known[0]}"


def serve(session: Session, listening: socket.socket, host: str, browse: bool) -> None:
    """Serve the page on a bound socket until Ctrl-C."""
    token = new_token()
    address = address_of(listening, host, token)
    app = build_app(session, token, host)
    config = uvicorn.Config(
        app,
        http=Connection,
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    print(f"exploring at {address}\nCtrl-C stops.", file=sys.stderr)
    if browse and _has_screen():
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
    print("\nstopped.", file=sys.stderr)


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to ``host`` and to the first free port from ``port`` on; port 0 means any port."""
    if not 0 <= port <= LAST_PORT:
        raise DistaffError(f"a port is a number from 0 to {LAST_PORT}, not {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, min(port + TRIED, LAST_PORT) + 1):
        # Unless a socket is declared as TCP, asyncio delays each short response by 40 ms.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, candidate))
            listening.listen()
            return listening
        except OSError as problem:
            listening.close()
            if problem.errno != errno.EADDRINUSE:
                raise DistaffError(f"cannot listen at {host}, port {candidate}: {problem}.") from problem
    raise DistaffError(f"the ports {port} … {candidate} are all taken: choose another with --port.")


def address_of(listening: socket.socket, host: str, token: str) -> str:
    """The address of the page."""
    port = listening.getsockname()[1]
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/{token}/"


def _has_screen() -> bool:
    """Whether a browser would get a window; otherwise, some systems start a browser in the terminal."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
