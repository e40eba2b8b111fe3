"""Access to the explorer: only with the token in its address, and only from its own page."""

import ipaddress
import secrets
import socket

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
LOCAL = ("127.0.0.1", "localhost", "::1")


def new_token() -> str:
    """A secret for the address of one session."""
    return secrets.token_urlsafe(24)


class Guard:
    """Rejects requests without the token, for another host or from another page; hardens every response.

    The token is the first part of the path, so the page's own relative addresses include it.
    """

    def __init__(self, app: ASGIApp, token: str, host: str) -> None:
        self.app, self.token, self.host = app, token, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        problem = self._problem(scope)
        app = self.app if problem is None else PlainTextResponse(f"{problem}\n", 403)

        async def hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await app({**scope, "root_path": f"/{self.token}"}, receive, hardened)

    def _problem(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if not _known(_name(host), self.host):
            return "Open the explorer by the address that it printed."
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return "Only the explorer's own page may ask."
        given = scope["path"].removeprefix("/").partition("/")[0]
        # Compared in constant time: the time of a rejection reveals nothing about the token.
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return "The address lacks its token: open the one that the explorer printed."
        return None


def _name(host: str) -> str:
    """The host without its port: ``[::1]:8300`` → ``::1``."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _known(name: str, bound: str) -> bool:
    """Whether a request for this host is meant for us: another site's name may be made to resolve here.

    If the server listens on every address, any numeric address and this machine's own name are accepted.
    """
    if name.lower() in (bound.lower(), *LOCAL):
        return True
    if bound not in ("0.0.0.0", "::"):
        return False
    if name.lower() in (socket.gethostname().lower(), socket.getfqdn().lower()):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
