"""Where the explorer listens."""

import socket

import pytest

from distaff.explore.serve import TRIED, _has_screen, address_of, listen
from distaff.foundation.errors import DistaffError


def test_a_taken_port_gives_way_to_the_next():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with listen("127.0.0.1", port) as other:
            assert port < other.getsockname()[1] <= port + TRIED
            assert address_of(other, "127.0.0.1", "token").endswith(f":{other.getsockname()[1]}/token/")


def test_short_answers_are_not_held_back():
    """asyncio sets TCP_NODELAY on connections whose socket says that it is TCP, and on no others."""
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", -1), ("127.0.0.1", 65536), ("203.0.113.9", 0)])
def test_where_nobody_can_listen_is_one_sentence(host, port):
    with pytest.raises(DistaffError, match="port"):
        listen(host, port)


def test_a_browser_is_opened_only_where_it_gets_a_window(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not _has_screen()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert _has_screen()
    monkeypatch.delenv("WAYLAND_DISPLAY")
    monkeypatch.setattr("sys.platform", "darwin")
    assert _has_screen()
