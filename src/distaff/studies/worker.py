"""A worker process: reads runs from standard input, one per line, and writes outcomes to standard output.

When standard input ends, the study has no more work or its process has ended: a current run is then asked to
stop and writes a checkpoint, and the worker exits.
"""

import json
import os
import queue
import signal
import sys
import threading
from dataclasses import asdict
from typing import TextIO

from distaff.studies.worker_task import attempt, from_message


def main() -> None:
    """Do runs until there are no more."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as replies:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # output of libraries goes to the worker's log
        sys.path.insert(0, "")  # so that module:function is found as on the command line
        try:
            _serve(sys.stdin, replies)
        except KeyboardInterrupt as stop:
            sys.exit(128 + getattr(stop, "signal_number", signal.SIGINT))


def _serve(requests: TextIO, replies: TextIO) -> None:
    waiting: queue.Queue[str | None] = queue.Queue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(requests, waiting, busy), daemon=True).start()
    while (message := waiting.get()) is not None:
        busy.set()
        outcome = attempt(from_message(message))
        busy.clear()
        print(json.dumps(asdict(outcome)), file=replies, flush=True)


def _listen(requests: TextIO, waiting: "queue.Queue[str | None]", busy: threading.Event) -> None:
    for message in requests:
        waiting.put(message)
    waiting.put(None)
    if busy.is_set():
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
