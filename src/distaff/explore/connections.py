"""Connections that do not wait for ever: a client that is slow with its question is let go."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_FOR_HEADERS = 10.0
"""How long a client may take to say what it wants, since it connected or since a request's first byte."""


class Connection(H11Protocol):
    """uvicorn's connection over HTTP/1.1, closed where a request's headers take too long.

    uvicorn itself limits only the silence between two requests.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take in what a client sent."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Set the clock while headers are awaited, and stop it once they are whole."""
        cycle: Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(SECONDS_FOR_HEADERS, self.transport.close)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
