"""What every request passes: who may ask for what, and what the answer forbids the browser.

A page on a loopback address can still be reached by a web site whose name is pointed at it
(DNS rebinding): only known Host names are answered. Nothing here changes anything, so only GET
and HEAD are.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_QUERY = 2_000
"""Characters of an address behind its question mark."""
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Checks of the request and headers of the answer, around the application."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower().rstrip(".") for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-cache")
            await send(message)

        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or host_of(hosts[0].decode("latin-1")) not in self._hosts:
            return PlainTextResponse(
                "This host name is not one that the pages are served under. "
                "Behind a proxy name it with --host-name.\n",
                status_code=421,
            )
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse(
                "Nothing here can be changed: GET and HEAD only.\n",
                status_code=405,
                headers={"allow": "GET, HEAD"},
            )
        if len(scope["query_string"]) > MOST_QUERY:
            return PlainTextResponse("The address is too long.\n", status_code=414)
        return None


def host_of(header: str) -> str:
    """The name in a Host header, without its port; empty where it is none."""
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return ""
