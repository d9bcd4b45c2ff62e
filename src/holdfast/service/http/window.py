"""The window: the web page at `/`, and the files that it is made of under `/assets/`.

They are built from `window/` by `make window` and hold nobody's data, so they need no key
(guard.py); everything the page shows it asks of the API, with the session of whoever signed in.

The name of an asset holds the digest of its content: a browser keeps it for good. The page itself
is asked for each time, by its ETag.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fastapi import Request, Response
from starlette.routing import Route

from holdfast import sample
from holdfast.service.http.errors import fault
from holdfast.service.http.wire import etag_of, names_etag

FOLDER = Path(__file__).parents[1] / "window"
_PAGE = "index.html"
#: The invented conversation that the page offers to load into a memory that is empty.
_SAMPLE = Path(sample.__file__).with_name("conversation.jsonl")
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".jsonl": "text/plain; charset=utf-8",
}
#: Nothing runs, is shown or is asked but what this service gives; styles are in files, too.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "vary": "accept-encoding",
}
_FOR_GOOD = "public, max-age=31536000, immutable"
_ASK_EACH_TIME = "no-cache"
#: Shorter than this it is not worth packing.
_PACKED_FROM_BYTES = 1024


@dataclass(frozen=True)
class _File:
    content: bytes
    packed: bytes | None
    #: Sent as a weak one: packed or not, it is the same.
    etag: str


def routes() -> list[Route]:
    """The page and its files; for anybody."""
    return [
        Route("/", _page, methods=["GET"], include_in_schema=False),
        Route("/assets/sample.jsonl", _sample, methods=["GET"], include_in_schema=False),
        Route("/assets/{name}", _asset, methods=["GET"], include_in_schema=False),
    ]


def _page(request: Request) -> Response:
    if not (FOLDER / _PAGE).is_file():
        words = "the window was not built: run `make window` in the checkout"
        return fault(404, words, path=request.scope["path"])
    return _answer(request, FOLDER / _PAGE, _ASK_EACH_TIME)


def _sample(request: Request) -> Response:
    return _answer(request, _SAMPLE, _ASK_EACH_TIME)


def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    path = FOLDER / "assets" / name
    # By the list of what is there: no name leads out of the folder, however it is written.
    if name not in _names(path.parent):
        words = (
            "there is no such file: the service was upgraded since the page was loaded, reload it"
        )
        return fault(404, words, path=request.scope["path"])
    return _answer(request, path, _FOR_GOOD)


def _names(folder: Path) -> set[str]:
    if not folder.is_dir():
        return set()
    return {each.name for each in folder.iterdir() if each.suffix in _TYPES and each.is_file()}


def _answer(request: Request, path: Path, caching: str) -> Response:
    file = _read(path, path.stat().st_mtime_ns)
    headers = {**_HEADERS, "cache-control": caching, "etag": f"W/{file.etag}"}
    if names_etag(request.headers.get("if-none-match", ""), file.etag):
        return Response(status_code=304, headers=headers)
    content = file.content
    if file.packed is not None and _takes_gzip(request.headers.get("accept-encoding", "")):
        content = file.packed
        headers["content-encoding"] = "gzip"
    return Response(content, headers=headers, media_type=_TYPES[path.suffix])


@lru_cache(maxsize=128)
def _read(path: Path, changed_ns: int) -> _File:
    """A file, read and packed once; `changed_ns`: again after it was built anew."""
    content = path.read_bytes()
    packed = gzip.compress(content, mtime=0) if len(content) >= _PACKED_FROM_BYTES else None
    return _File(content, packed, etag_of(content))


def _takes_gzip(accepted: str) -> bool:
    for each in accepted.lower().split(","):
        name, _, weight = each.partition(";")
        if name.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
