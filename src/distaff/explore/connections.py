"""Connections with a time limit: clients that are too slow to send their request are disconnected."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_FOR_HEADERS = 10.0
"""Time limit for a request's headers, from the connection or from the request's first byte."""


class Connection(H11Protocol):
    """uvicorn's HTTP/1.1 connection, closed if a request's headers take too long.

    uvicorn itself limits only the time between two requests.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Handle a new client."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Handle data from a client."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of a connection."""
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the timer while headers are awaited, and stop it once they are complete."""
        cycle: Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(SECONDS_FOR_HEADERS, self.transport.close)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
