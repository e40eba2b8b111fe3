"""The few routes of the Hugging Face hub that a push of a model meets, answered on this machine."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class LocalHub:
    """What was sent: repositories with their files, and the tokens that came along."""

    address: str = ""
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)
    refuses: bool = False


@contextmanager
def local_hub() -> Iterator[LocalHub]:
    """A hub at an address of this machine, until the end of the block."""
    hub = LocalHub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(404, {"error": "Repository not found"})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hub.tokens.add(self.headers["Authorization"])
            self.answer(*self.reply(self.path.partition("?")[0], body))

        def reply(self, path: str, body: bytes) -> tuple[int, dict]:
            if hub.refuses:
                return 403, {"error": "You are not allowed to write here"}
            if path == "/api/repos/create":
                asked = json.loads(body)
                name = f"{asked['organization']}/{asked['name']}"
                if name in hub.repositories:
                    return 409, {
                        "error": "You already created this model repo",
                        "url": f"{hub.address}/{name}",
                    }
                hub.repositories[name] = {}
                return 200, {"url": f"{hub.address}/{name}"}
            if path == "/api/validate-yaml":
                return 200, {"errors": [], "warnings": []}
            user, own, action, _ = path.removeprefix("/api/models/").split("/")
            name = f"{user}/{own}"
            if name not in hub.repositories:
                return 404, {"error": "Repository not found"}
            if action == "preupload":
                files = [one["path"] for one in json.loads(body)["files"]]
                mode = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
                return 200, {"files": [{"path": path, **mode} for path in files]}
            assert action == "commit", path
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "header":
                    hub.messages.append(line["value"]["summary"])
                else:
                    assert (line["key"], line["value"]["encoding"]) == ("file", "base64")
                    content = base64.b64decode(line["value"]["content"])
                    hub.repositories[name][line["value"]["path"]] = content
            return 200, {
                "success": True,
                "commitOid": "0" * 40,
                "commitUrl": f"{hub.address}/{name}/commit/0",
            }

        def answer(self, status: int, content: dict) -> None:
            text = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
