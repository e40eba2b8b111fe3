"""The explorer's web application: the page, and endpoints for its models."""

import asyncio
import json
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.resources import files
from typing import Any, TypeVar

import torch
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from distaff.explore.auth import Guard
from distaff.explore.loaded_run import LoadedRun
from distaff.explore.session import STEPS, Json, Session
from distaff.explore.uploads import LARGEST_UPLOAD
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import json_text

ASSETS = {
    "": ("index.html", "text/html"),
    "explorer.css": ("explorer.css", "text/css"),
    "charts.js": ("charts.js", "text/javascript"),
    "live.js": ("live.js", "text/javascript"),
    "explorer.js": ("explorer.js", "text/javascript"),
}
"""All files that are served, by address; no address leads to any other file."""

LARGEST_QUESTION = 1 << 16
SECONDS_FOR_A_BODY = 60.0
Result = TypeVar("Result")


class Answer(JSONResponse):
    """A JSON response, written like all JSON of the library."""

    def render(self, content: Any) -> bytes:
        """The bytes of the body."""
        return json_text(content).encode()


def build_app(session: Session, token: str, host: str = "127.0.0.1") -> Starlette:
    """The application for a session, for requests with the token and for this host."""
    answers = Answers(session)
    routes = [
        *(Route(f"/{address}", _file(*asset)) for address, asset in ASSETS.items()),
        Route("/api/session", answers.session),
        Route("/api/start", answers.start, methods=["POST"]),
        Route("/api/upload", answers.upload, methods=["POST"]),
        Route("/api/decode", answers.decode, methods=["POST"]),
        Route("/api/traverse", answers.traverse, methods=["POST"]),
        Route("/api/name", answers.name, methods=["POST"]),
        Route("/api/factors", answers.factors),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, token=token, host=host)],
        exception_handlers={DistaffError: _sentence, HTTPException: _sentence, OSError: _sentence},
    )


class Answers:
    """Endpoints. Work on a model or the run folder happens on one thread, one task at a time."""

    def __init__(self, session: Session) -> None:
        # One core decodes a single picture fastest: several would wait for each other at every layer.
        self._thread = ThreadPoolExecutor(1, "model", initializer=torch.set_num_threads, initargs=(1,))
        self._show(session)

    def _show(self, session: Session) -> None:
        self._session = session
        background = ThreadPoolExecutor(1, "factors")
        self._factors: list[Future[Json]] = [background.submit(run.factors) for run in session.runs]
        background.shutdown(wait=False)

    async def session(self, _: Request) -> Response:
        """Everything that the page needs to draw itself; runs in training are reloaded first."""
        newest = await self._do(self._session.renewed)
        if newest is not self._session:
            self._show(newest)
        return Answer(await self._do(self._session.describe))

    async def start(self, request: Request) -> Response:
        """{"index": i} starts from an observation, {} from the prior's centre."""
        index = (await _question(request)).get("index")
        if index is None:
            return Answer(await self._do(self._session.start_at_centre))
        if not isinstance(index, int) or isinstance(index, bool):
            raise DistaffError("an observation is chosen by its number, from 0.")
        return Answer(await self._do(lambda: self._session.start_at(index)))

    async def upload(self, request: Request) -> Response:
        """The body is an image file to start from."""
        content = await _body(request, LARGEST_UPLOAD)
        return Answer(await self._do(lambda: self._session.start_from_file(content)))

    async def decode(self, request: Request) -> Response:
        """{"values": [...]} → the bytes of one picture, row by row."""
        run, values = await self._values(request)
        pixels = await self._do(lambda: run.decode([values]))
        return Response(pixels.tobytes(), media_type="application/octet-stream")

    async def traverse(self, request: Request) -> Response:
        """{"values": [...]} → the pictures of every latent's steps, one after another."""
        run, values = await self._values(request)
        pixels = await self._do(lambda: run.traverse(values, STEPS))
        return Response(pixels.tobytes(), media_type="application/octet-stream")

    async def name(self, request: Request) -> Response:
        """{"latent": "z0", "title": "x position"} → all names of the run."""
        run, question = self._run(request), await _question(request)
        latent, title = question.get("latent"), question.get("title")
        if not isinstance(latent, str) or not isinstance(title, str):
            raise DistaffError("a name is given as a latent and a title, both texts.")
        return Answer(await self._do(lambda: run.rename(latent, title)))

    async def factors(self, request: Request) -> Response:
        """I(z_j; y_k), as soon as it is computed."""
        future = self._factors[self._session.runs.index(self._run(request))]
        return Answer(await asyncio.wrap_future(future))

    def _run(self, request: Request) -> LoadedRun:
        runs = {str(i): run for i, run in enumerate(self._session.runs)}
        number = request.query_params.get("run", "0")
        if number not in runs:
            raise DistaffError(f"there is no run {number}.")
        return runs[number]

    async def _values(self, request: Request) -> tuple[LoadedRun, list[float]]:
        run, question = self._run(request), await _question(request)
        return run, run.check(question.get("values"))

    async def _do(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def asset(name: str) -> str:
    """The text of one of the page's files."""
    return (files("distaff.explore") / "assets" / name).read_text("utf-8")


def _file(name: str, media: str) -> Callable[[Request], Response]:
    content = asset(name)

    def answer(_: Request) -> Response:
        return Response(content, media_type=media)

    return answer


async def _body(request: Request, limit: int) -> bytes:
    """The request's body, or an error if it is longer than ``limit`` bytes."""
    content = bytearray()
    try:
        async with asyncio.timeout(SECONDS_FOR_A_BODY):
            async for chunk in request.stream():
                content += chunk
                if len(content) > limit:
                    megabytes = f"{limit / (1 << 20):g} MB"
                    raise HTTPException(413, f"that is more than the {megabytes} that are accepted.")
    except ClientDisconnect:
        print(f"a client left in the middle of its upload, after {len(content):,} bytes.", file=sys.stderr)
        raise HTTPException(400, "the request was cut short.") from None
    except TimeoutError:
        raise HTTPException(408, f"that took more than {SECONDS_FOR_A_BODY:g} seconds to arrive.") from None
    return bytes(content)


async def _question(request: Request) -> dict[str, Any]:
    try:
        question = json.loads(await _body(request, LARGEST_QUESTION))
    except (ValueError, RecursionError):  # RecursionError: JSON that is nested too deeply
        question = None
    if not isinstance(question, dict):
        raise HTTPException(400, "the question is not a JSON object.")
    return question


def _sentence(_: Request, error: Exception) -> Response:
    """An error as one sentence, for the page to show."""
    if isinstance(error, HTTPException):
        return Answer({"error": error.detail}, error.status_code)
    return Answer({"error": str(error)}, 422)
