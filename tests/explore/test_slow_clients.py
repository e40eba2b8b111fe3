"""Clients that are slow or broken, over real sockets: each is answered or let go, and others are served."""

import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection

import pytest
import uvicorn

from distaff.explore import connections, server
from distaff.explore.connections import Connection
from distaff.explore.serve import listen
from distaff.explore.server import LARGEST_QUESTION, build_app
from tests.explore.conftest import TOKEN

PATIENCE = 60.0
KEEP_ALIVE = 600.0
"""Seconds between requests that the test's server allows, so that it is not what ends a connection."""


@dataclass(frozen=True)
class Server:
    """Where the explorer answers."""

    port: int

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def ask(self, path: str, body: bytes = b"{}", length: int | None = None) -> socket.socket:
        """A connection over which a question was sent, or as much of it as ``body`` holds."""
        lines = [f"POST /{TOKEN}/{path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Connection: close"]
        lines += [f"Content-Length: {len(body) if length is None else length}", "", ""]
        client = self.connect()
        client.sendall("\r\n".join(lines).encode() + body)
        return client

    def answer(self, path: str, body: bytes = b"{}") -> tuple[int, dict[str, object]]:
        with self.ask(path, body) as client:
            head, _, content = everything(client).partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(content)


def everything(client: socket.socket) -> bytes:
    """All that is sent until the connection is closed."""
    content = b""
    while chunk := client.recv(65536):
        content += chunk
    return content


@pytest.fixture
def explorer(session) -> Iterator[Server]:
    listening = listen("127.0.0.1", 0)
    how = {"http": Connection, "log_level": "warning", "lifespan": "off", "timeout_keep_alive": KEEP_ALIVE}
    running = uvicorn.Server(uvicorn.Config(build_app(session, TOKEN), timeout_graceful_shutdown=1, **how))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield Server(listening.getsockname()[1])
    running.should_exit = True
    thread.join(PATIENCE)
    listening.close()


@pytest.mark.parametrize(
    "body", [b"[" * 30_000, b'{"a":' * 10_000, b'{"index":' + b"[" * 20_000, b"\xff", b"3"]
)
def test_a_question_that_is_no_object_is_a_400(explorer, body):
    assert len(body) < LARGEST_QUESTION
    for path in ("api/start", "api/decode", "api/name"):
        assert explorer.answer(path, body) == (400, {"error": "the question is not a JSON object."})
    assert explorer.answer("api/start")[0] == 200


def test_a_dropped_upload_is_one_line(explorer, capfd):
    with explorer.ask("api/upload", b"half of a picture", length=10_000):
        time.sleep(0.2)
    deadline = time.monotonic() + PATIENCE
    said = ""
    while "left" not in said and time.monotonic() < deadline:
        time.sleep(0.05)
        said += capfd.readouterr().err
    assert explorer.answer("api/start")[0] == 200
    said += capfd.readouterr().err
    assert said == "a client left in the middle of its upload, after 17 bytes.\n"


@pytest.mark.parametrize("first", [b"", b"GET /", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: y"])
def test_slow_headers_time_out_while_others_are_served(explorer, monkeypatch, first):
    monkeypatch.setattr(connections, "SECONDS_FOR_HEADERS", 0.5)
    with explorer.connect() as slow:
        slow.sendall(first)
        assert explorer.answer("api/start")[0] == 200
        assert everything(slow) == b""


def test_slow_headers_of_a_second_request_time_out_too(explorer, monkeypatch):
    monkeypatch.setattr(connections, "SECONDS_FOR_HEADERS", 0.5)
    client = HTTPConnection("127.0.0.1", explorer.port, timeout=PATIENCE)
    client.request("POST", f"/{TOKEN}/api/start", b"{}")
    assert client.getresponse().read()
    with client.sock as connection:
        connection.sendall(b"GET /")
        began = time.monotonic()
        assert everything(connection) == b""
    assert time.monotonic() - began < KEEP_ALIVE


def test_a_slow_body_times_out(explorer, monkeypatch):
    monkeypatch.setattr(server, "SECONDS_FOR_A_BODY", 0.3)
    with explorer.ask("api/upload", b"half", length=1000) as slow:
        assert everything(slow).startswith(b"HTTP/1.1 408")


def test_a_fast_client_is_not_cut_off(explorer, monkeypatch):
    monkeypatch.setattr(connections, "SECONDS_FOR_HEADERS", 0.5)
    with explorer.ask("api/start", b"{", length=2) as client:
        time.sleep(1)  # the headers were in time, and a body has a limit of its own
        client.sendall(b"}")
        assert everything(client).startswith(b"HTTP/1.1 200")


def one_request(explorer: Server, number: int) -> tuple[str, int]:
    """A request by its number: of every five, three are honest, one is a stranger's, one is broken off."""
    rng = random.Random(f"explorer {number}")
    if number % 5 == 3:
        path, host, origin = rng.choice(STRANGERS)
        client = HTTPConnection("127.0.0.1", explorer.port, timeout=PATIENCE)
        headers = {"Host": host or f"127.0.0.1:{explorer.port}", **({"Origin": origin} if origin else {})}
        client.request("GET", path, headers=headers)
        status = client.getresponse().status
        client.close()
        return "stranger", status
    if number % 5 == 4:
        with explorer.ask("api/upload", b"\x89PNG" * rng.randrange(9), length=10_000):
            return "broken off", 0
    body = rng.choice([b"{}", b"[" * 3000, b'{"index": 0}', b'{"index": -5}', b"\xff", b'{"index": 1e400}'])
    return "honest", explorer.answer("api/start", body)[0]


STRANGERS = [
    ("/api/session", "", ""),
    ("/wrong/api/session", "", ""),
    (f"/{TOKEN}/api/session", "evil.example", ""),
    (f"/{TOKEN}/api/session", "192.168.0.5", ""),
    (f"/{TOKEN}/api/session", "", "http://evil.example"),
    (f"/{TOKEN}/api/session", "", "null"),
    (f"/{TOKEN[:-1]}/../{TOKEN[:-1]}x/api/session", "", ""),
]
"""Paths, hosts and origins that are none of the page's own."""


@pytest.mark.parametrize(
    "requests", [100, pytest.param(1000, marks=pytest.mark.faults)], ids=["a hundred", "a thousand"]
)
def test_many_requests_at_once_are_answered_and_strangers_refused(explorer, requests):
    with ThreadPoolExecutor(50) as clients:
        found = list(clients.map(partial(one_request, explorer), range(requests)))
    assert {status for kind, status in found if kind == "stranger"} == {403}
    assert {status for kind, status in found if kind == "honest"} == {200, 400, 422}
    assert explorer.answer("api/start", b'{"index": 0}')[0] == 200
