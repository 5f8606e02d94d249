"""Requests and answers as values, and the parts of HTTP that the sandbox's routes share."""

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import format_datetime
from hashlib import blake2b
from html import escape
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

JSON = "application/json; charset=utf-8"
HTML = "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
MAX_BODY = 1 << 20


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request; ``headers`` by lower-case name, ``parameters`` from query and form."""

    method: str
    target: str
    headers: Mapping[str, str] = {}
    body: bytes = b""

    @property
    def path(self) -> str:
        """The path, percent signs decoded."""
        return unquote(urlsplit(self.target).path)

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters; of a name that comes twice, the last."""
        pairs = parse_qsl(urlsplit(self.target).query, keep_blank_values=True)
        if self.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            pairs += parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True)
        return dict(pairs)


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that fits in memory."""

    status: int = 200
    content_type: str = JSON
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


def json_response(value: object, status: int = 200) -> Response:
    """``value`` as JSON."""
    return Response(status=status, body=msgspec.json.encode(value))


def plain(status: int, text: str, *headers: tuple[str, str]) -> Response:
    """A line of text, for errors mostly."""
    return Response(status=status, content_type=TEXT, body=text.encode() + b"\n", headers=headers)


def not_found(path: str) -> Response:
    """The page that the edge shows for what is not there, the path escaped."""
    body = f"<!DOCTYPE html>\n<title>404</title>\n<p>{escape(path)} was not found.</p>\n"
    return Response(status=404, content_type=HTML, body=body.encode())


_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


def file_response(path: Path, request: Request, modified: datetime) -> Response:
    """A file, or the one range of it that is asked for.

    ``If-Range`` with another ETag gives the whole file: a resumed download must not mix two.
    """
    size = path.stat().st_size
    digest = blake2b(f"{path.name}:{size}:{modified:%Y%m%d}".encode(), digest_size=8)
    etag = f'"{digest.hexdigest()}"'
    headers = (
        ("Accept-Ranges", "bytes"),
        ("ETag", etag),
        ("Last-Modified", format_datetime(modified, usegmt=True)),
    )
    kind = _content_type(path)
    asked = _RANGE.fullmatch(request.headers.get("range", ""))
    if asked is None or request.headers.get("if-range", etag) != etag or asked[0] == "bytes=-":
        return Response(content_type=kind, body=path.read_bytes(), headers=headers)
    first, last = _span(asked, size)
    if first >= size or first > last:
        unmet = (*headers, ("Content-Range", f"bytes */{size}"))
        return Response(status=416, content_type=TEXT, headers=unmet)
    with path.open("rb") as file:
        file.seek(first)
        body = file.read(last - first + 1)
    met = (*headers, ("Content-Range", f"bytes {first}-{last}/{size}"))
    return Response(status=206, content_type=kind, body=body, headers=met)


def _span(asked: re.Match[str], size: int) -> tuple[int, int]:
    """First and last byte, both inclusive."""
    if not asked[1]:
        return max(0, size - int(asked[2])) if int(asked[2]) else size, size - 1
    return int(asked[1]), min(size - 1, int(asked[2])) if asked[2] else size - 1


def _content_type(path: Path) -> str:
    types = {".bz2": "application/octet-stream", ".gz": "application/octet-stream", ".json": JSON}
    return types.get(path.suffix, TEXT)


def listing(title: str, names: list[str]) -> Response:
    """A folder as the dumps site shows it: one link a line."""
    links = "".join(f'<a href="{escape(name)}">{escape(name)}</a>\n' for name in names)
    head = f"<!DOCTYPE html>\n<title>Index of {escape(title)}</title>\n"
    body = f"{head}<h1>Index of {escape(title)}</h1>\n<pre>{links}</pre>\n"
    return Response(content_type=HTML, body=body.encode())
