"""Only who knows the token, by the printed address, from the explorer's own page, gets an answer."""

import pytest
from starlette.testclient import TestClient

from distaff.explore.auth import HEADERS, Guard, new_token
from distaff.explore.server import ASSETS, build_app
from tests.explore.conftest import TOKEN

ADDRESSES = [*ASSETS, "api/session", "api/factors"]


@pytest.fixture
def stranger(session) -> TestClient:
    return TestClient(build_app(session, TOKEN), base_url="http://127.0.0.1:8300")


@pytest.mark.parametrize("address", ADDRESSES)
def test_everything_needs_the_token(stranger, address):
    for prefix in ("", f"{TOKEN[:-1]}/", f"{TOKEN}x/", "wrong/", f"{TOKEN.upper()}/", "ключ/"):
        answer = stranger.get(f"/{prefix}{address}")
        assert answer.status_code == 403
        assert TOKEN not in answer.text
    assert stranger.get(f"/{TOKEN}/{address}").status_code == 200


def test_the_token_as_a_query_or_a_cookie_does_not_count(stranger):
    assert stranger.get("/api/session", params={"token": TOKEN}).status_code == 403
    assert stranger.get("/api/session", headers={"Cookie": f"token={TOKEN}"}).status_code == 403


def test_writing_needs_the_token(stranger, run):
    question = {"latent": "z0", "title": "mine"}
    assert stranger.post("/api/name", json=question).status_code == 403
    assert not (run / "names.json").exists()


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8300", "127.0.0.1.evil.example", "192.168.0.5", ""]
)
def test_another_host_is_refused(client, host):
    """A site may have its own name lead to 127.0.0.1: its pages then count as ours, but say its name."""
    assert client.get("api/session", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost:8300", "127.0.0.1:9000", "[::1]:8300"])
def test_this_machine_by_any_name_and_through_a_tunnel_is_let_in(client, host):
    assert client.get("api/session", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://127.0.0.1:8301", "null", "http://localhost:8300"]
)
def test_another_origin_is_refused(client, origin):
    answer = client.post("api/start", json={"index": 0}, headers={"Origin": origin})
    assert answer.status_code == 403
    assert client.get("api/session", headers={"Origin": origin}).status_code == 403


def test_the_own_origin_is_let_in(client):
    headers = {"Origin": "http://127.0.0.1:8300"}
    assert client.post("api/start", json={"index": 0}, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("bound", "host", "known"),
    [
        ("0.0.0.0", "192.168.0.5:8300", True),
        ("0.0.0.0", "evil.example", False),
        ("::", "[fe80::1]:8300", True),
        ("192.168.0.5", "192.168.0.5:8300", True),
        ("192.168.0.5", "192.168.0.6:8300", False),
    ],
)
def test_a_wider_host_lets_in_bare_addresses_and_no_names(bound, host, known):
    scope = {"headers": [(b"host", host.encode())], "path": f"/{TOKEN}/"}
    assert (Guard(build_app, TOKEN, bound)._problem(scope) is None) == known


@pytest.mark.parametrize(
    "path",
    ["../run.yaml", "%2e%2e/run.yaml", "..%2frun.yaml", "run.yaml", "assets/index.html",
     "explorer.css/../../x",
     "%2e%2e%2f%2e%2e%2f%2e%2e%2fetc/passwd", "/etc/passwd", "..\\run.yaml", "explorer.css%00"],
)  # fmt: skip
def test_no_address_leads_to_a_file(stranger, path):
    answer = stranger.get(f"/{TOKEN}/{path}")
    assert answer.status_code in (403, 404)
    assert "recipe" not in answer.text


@pytest.mark.parametrize("number", ["../run", "2", "-1", "0x0", ""])
def test_runs_are_known_by_number_alone(client, number):
    answer = client.get("api/factors", params={"run": number})
    assert answer.status_code == 422
    assert "there is no run" in answer.json()["error"]


def test_every_answer_is_hardened(client, stranger):
    answers = [client.get(""), client.get("api/session"), client.get("nowhere"), stranger.get("/")]
    for answer in answers:
        assert HEADERS.items() <= {name: answer.headers[name] for name in HEADERS}.items()
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_tokens_are_long_and_new():
    assert len({new_token() for _ in range(100)}) == 100
    assert len(new_token()) >= 32
