"""Which address of the page gives what: answers as JSON, pictures, and the files of the page itself."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from loader_service.catalog.cache.column_files import open_catalog
from loader_service.errors import LoaderError
from loader_service.preview.previewer import Previewer
from loader_service.protocol import wire
from loader_service.protocol.messages import RecentStep, RecentSteps
from loader_service.protocol.option_text import option_text
from loader_service.web.browse import MOST_ENTRIES, Browser
from loader_service.web.service_watch import ServiceWatch
from loader_service.web_options import WebOptions

#: The files of the page, with their kinds: what is not here is not served.
_STATIC = Path(__file__).with_name("static")
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

#: Bytes of a request's body at most.
_MOST_BODY = 4096

#: What a browser may keep of a picture, which never changes under its address.
_PICTURE_HEADERS = {"cache-control": "private, max-age=3600"}

_Handler = Callable[[Request], Awaitable[Response]]


class Refusal(Exception):
    """A request that cannot be answered; its text is for people."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class _Pages:
    """The answers. Used by the loop of the server."""

    def __init__(
        self, watch: ServiceWatch, previewer: Previewer | None, outputs: Previewer | None, browser: Browser | None
    ) -> None:
        self._watch, self._previewer, self._outputs, self._browser = watch, previewer, outputs, browser

    async def now(self, _request: Request) -> Response:
        """Tell how the service is."""
        return Response(self._watch.now, media_type="application/json")

    async def history(self, request: Request) -> Response:
        """Tell of the last minutes, or the last hour."""
        seconds = _number(request, "seconds", 3600, 10, 3600)
        return Response(self._watch.history(seconds, 240), media_type="application/json")

    async def streams(self, _request: Request) -> Response:
        """Tell which step each stream got last."""
        steps = await asyncio.to_thread(self._watch.recent_steps)
        return _json({"streams": [_step_facts(each) for each in steps], "pictures": self._previewer is not None})

    async def samples(self, request: Request) -> Response:
        """Tell of the samples of a step."""
        return _json(await self._asked({"do": "samples", "step": self._step(request)}))

    async def strip(self, request: Request) -> Response:
        """Show frames of one sample, side by side."""
        return await self._picture({"do": "strip", **self._strip(request)})

    async def outputs(self, request: Request) -> Response:
        """Tell what the transform returns for a step."""
        return _json(await self._transformed({"do": "outputs", "step": self._step(request)}))

    async def output_strip(self, request: Request) -> Response:
        """Show pictures that the transform returns for one sample, side by side."""
        return _jpeg(await self._transformed({"do": "output_strip", **self._strip(request)}))

    async def numbers(self, request: Request) -> Response:
        """Tell numbers of one sample."""
        return _json(
            await self._asked(
                {
                    "do": "numbers",
                    "step": self._step(request),
                    "field": request.query_params.get("field", ""),
                    "row": _number(request, "row", 0, 0, 2**16),
                    "frames": 64,
                }
            )
        )

    async def data(self, _request: Request) -> Response:
        """Tell what the files hold."""
        browser = self._catalog()
        return _json(await asyncio.to_thread(lambda: browser.summary))

    async def files(self, request: Request) -> Response:
        """Give a page of files."""
        return _json(await asyncio.to_thread(self._catalog().files, *_page(request)))

    async def videos(self, request: Request) -> Response:
        """Give a page of videos."""
        file, label = (
            _number(request, name, 0, -(2**62), 2**62) if name in request.query_params else None
            for name in ("file", "label")
        )
        return _json(await asyncio.to_thread(self._catalog().videos, *_page(request), file, label))

    async def video(self, request: Request) -> Response:
        """Tell of one video."""
        return _json(await asyncio.to_thread(self._catalog().video, request.path_params["video"]))

    async def frames(self, request: Request) -> Response:
        """Show frames of a video, side by side."""
        first, stride = _number(request, "first", 0, 0, 2**40), _number(request, "stride", 1, 1, 2**30)
        count = _number(request, "count", 8, 1, 64)
        return await self._picture(
            {
                "do": "frames",
                "video": request.path_params["video"],
                "field": request.query_params.get("field", "frames"),
                "numbers": list(range(first, first + count * stride, stride)),
                "side": _number(request, "side", 160, 8, 1024),
            }
        )

    async def plot(self, request: Request) -> Response:
        """Tell numbers of a video along time."""
        field = request.query_params.get("field", "")
        return _json(
            await self._asked({"do": "plot", "video": request.path_params["video"], "field": field, "points": 400})
        )

    async def scale(self, request: Request) -> Response:
        """Change the number of workers."""
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > _MOST_BODY:
                raise Refusal(413, "that is too long")
        try:
            workers = json.loads(body)["workers"]
        except (ValueError, KeyError, TypeError) as error:
            raise Refusal(400, 'give {"workers": N}') from error
        if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= 2**20:
            raise Refusal(400, f"workers={workers!r:.50}; give a whole number from 1 on")
        return _json({"done": await asyncio.to_thread(self._watch.scale, workers)})

    async def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._previewer is None:
            raise Refusal(404, "there are no pictures here; use `loader-service start --web`")
        return await asyncio.wrap_future(self._previewer.ask(request))

    async def _picture(self, request: dict[str, Any]) -> Response:
        return _jpeg(await self._asked(request))

    async def _transformed(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._outputs is None:
            raise Refusal(404, "there is no transform here; use `loader-service start --transform … --web`")
        return await asyncio.wrap_future(self._outputs.ask(request))

    def _strip(self, request: Request) -> dict[str, Any]:
        return {
            "step": self._step(request),
            "field": request.query_params.get("field", "frames"),
            "row": _number(request, "row", 0, 0, 2**16),
            "frames": _number(request, "frames", 8, 1, 64),
            "side": _number(request, "side", 128, 8, 1024),
        }

    def _step(self, request: Request) -> str:
        place = tuple(request.path_params[name] for name in ("stream", "epoch", "step"))
        found = self._watch.step(*place)
        if found is None:
            raise Refusal(404, "this step was too long ago; look at the latest one")
        return base64.b64encode(wire.encode(RecentSteps(0, (found,)))).decode("ascii")

    def _catalog(self) -> Browser:
        if self._browser is None:
            raise Refusal(404, "there is no data here; use `loader-service start --web`")
        return self._browser


def make_application(
    options: WebOptions, watch: ServiceWatch, previewer: Previewer | None, outputs: Previewer | None
) -> Starlette:
    """Return the application; `Gate` is to stand before it.

    Parameters
    ----------
    options
        Says where the catalog is, and whether the page may act.
    watch, previewer, outputs
        Stay the caller's; no previewer where there is no catalog, and none of outputs where there is no transform.
    """
    catalog = open_catalog(options.catalog) if options.catalog else None
    pages = _Pages(watch, previewer, outputs, None if catalog is None else Browser(catalog))
    step = "/api/steps/{stream:int}/{epoch:int}/{step:int}"
    routes: dict[str, _Handler] = {
        "/api/now": pages.now,
        "/api/history": pages.history,
        "/api/streams": pages.streams,
        f"{step}/samples": pages.samples,
        f"{step}/strip.jpg": pages.strip,
        f"{step}/numbers": pages.numbers,
        f"{step}/outputs": pages.outputs,
        f"{step}/outputs.jpg": pages.output_strip,
        "/api/data": pages.data,
        "/api/files": pages.files,
        "/api/videos": pages.videos,
        "/api/videos/{video:int}": pages.video,
        "/api/videos/{video:int}/frames.jpg": pages.frames,
        "/api/videos/{video:int}/plot": pages.plot,
    }
    made = [Route(path, _told(handler), methods=["GET"]) for path, handler in routes.items()]
    if options.control:
        made.append(Route("/api/scale", _told(pages.scale), methods=["POST"]))
    made += [Route("/" if each.name == "index.html" else f"/{each.name}", _file(each)) for each in _static_files()]
    return Starlette(routes=made)


def _static_files() -> list[Path]:
    return sorted(each for each in _STATIC.iterdir() if each.suffix in _KINDS)


def _file(path: Path) -> _Handler:
    async def answer(_request: Request) -> Response:
        return FileResponse(path, media_type=_KINDS[path.suffix])

    return answer


def _told(handler: _Handler) -> _Handler:
    """Return a handler that says in words what cannot be had, and nothing of its inside."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except Refusal as refusal:
            return _json({"error": str(refusal)}, refusal.status)
        except IndexError as error:
            return _json({"error": str(error)}, 404)
        except LoaderError as error:
            return _json({"error": str(error)}, 502)

    return answer


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value), status, media_type="application/json")


def _jpeg(made: dict[str, Any]) -> Response:
    return Response(base64.b64decode(made["jpeg"]), media_type="image/jpeg", headers=_PICTURE_HEADERS)


def _number(request: Request, name: str, default: int, low: int, high: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.removeprefix("-").isdecimal() or len(text) > 20 or not low <= int(text) <= high:
        raise Refusal(400, f"{name}={text!r:.50}; give a whole number from {low} to {high}")
    return int(text)


def _page(request: Request) -> tuple[str, int, int]:
    text = request.query_params.get("q", "")
    return text, _number(request, "after", 0, 0, 2**62), _number(request, "count", 50, 1, MOST_ENTRIES)


def _step_facts(step: RecentStep) -> dict[str, Any]:
    spec = step.spec
    return {
        "stream": step.stream,
        "epoch": step.epoch,
        "step": step.step,
        "rows": step.rows,
        "shown": len(step.samples),
        "transformed": step.transformed,
        "spec": {
            "batch_size": spec.batch_size,
            "clip": option_text(spec.clip),
            "image": option_text(spec.image),
            "seed": spec.seed,
        },
        "fields": [{"name": each.name, "dtype": each.dtype, "shape": list(each.shape)} for each in step.fields],
    }
