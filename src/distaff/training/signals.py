"""Leaving in good order: the first SIGINT or SIGTERM is a request, the second acts as usual."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopSignal:
    """Remembers which signal asked the run to stop."""

    def __init__(self) -> None:
        self.heard: signal.Signals | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Catch the first signal; only a main thread can, elsewhere nothing changes."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def restore() -> None:
            for number, handler in former.items():
                signal.signal(number, handler)

        def ask_to_stop(number: int, frame: FrameType | None) -> None:
            self.heard = signal.Signals(number)
            restore()

        for number in former:
            signal.signal(number, ask_to_stop)
        try:
            yield
        finally:
            restore()
