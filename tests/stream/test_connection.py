"""The HTTP side against a real server on loopback: framing, compression, silence."""

import threading
import zlib
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from stream_fakes import framed, recent_change

from stream.api import RequestsTransport
from stream.connection import Cut, connector
from stream.settings import StreamConfig
from stream.sse import frames


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        self.server.script.pop(0)(self)

    def log_message(self, *_):
        pass

    def start(self, status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


@contextmanager
def serving(*script):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients that leave are what is tested
    server.script, server.asked = list(script), []
    server.go = threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield server
    finally:
        server.go.set()
        server.shutdown()
        thread.join()
        server.server_close()


def sse(handler, **headers):
    handler.start(Content_Type="text/event-stream", Transfer_Encoding="chunked", **headers)


def opened(server, **config):
    settings = StreamConfig(**({"read_seconds": 5.0} | config))
    return connector(settings)(server.url, {}, {"Accept-Encoding": "gzip"})


def read(connection):
    while data := connection.read():
        yield data


def found(connection):
    return [frame.data for frame in frames(read(connection), max_bytes=1 << 20, head_bytes=99)]


def test_a_small_event_is_delivered_at_once_while_the_socket_stays_open():
    def script(handler):
        sse(handler)
        handler.chunk(framed(b"first"))
        handler.server.go.wait(5)
        handler.chunk(framed(b"second"))
        handler.chunk(b"")

    with serving(script) as server:
        got = frames(read(opened(server)), max_bytes=1 << 20, head_bytes=99)
        assert next(got).data == b"first"
        server.go.set()
        assert next(got).data == b"second"
        assert list(got) == []


def test_gzip_in_chunks_is_delivered_event_by_event():
    def script(handler):
        sse(handler, Content_Encoding="gzip")
        pack = zlib.compressobj(wbits=31)
        for data in (b"first", "Å\u2028".encode()):
            handler.chunk(pack.compress(framed(data)) + pack.flush(zlib.Z_SYNC_FLUSH))
            if data == b"first":
                handler.server.go.wait(5)
        handler.chunk(pack.flush())
        handler.chunk(b"")

    with serving(script) as server:
        got = frames(read(opened(server)), max_bytes=1 << 20, head_bytes=99)
        assert next(got).data == b"first"
        server.go.set()
        assert next(got).data.decode() == "Å\u2028"


def test_a_body_that_ends_with_the_connection_is_read_as_it_comes():
    def script(handler):
        handler.start(Content_Type="text/event-stream", Connection="close")
        handler.wfile.write(framed(b"first"))
        handler.wfile.flush()
        handler.server.go.wait(5)
        handler.wfile.write(framed(b"second") + b"data: partial")
        handler.close_connection = True

    with serving(script) as server:
        got = frames(read(opened(server)), max_bytes=1 << 20, head_bytes=99)
        assert next(got).data == b"first"
        server.go.set()
        assert [frame.data for frame in got] == [b"second"]


def test_a_socket_closed_in_mid_chunk_is_a_cut_and_what_was_whole_is_kept():
    def script(handler):
        sse(handler)
        handler.chunk(framed(b"first"))
        handler.wfile.write(b"400\r\ndata: half")
        handler.wfile.flush()
        handler.close_connection = True

    with serving(script) as server:
        got = []
        with pytest.raises(Cut) as cut:
            got += list(
                map(got.append, frames(read(opened(server)), max_bytes=1 << 20, head_bytes=99))
            )
        assert [frame.data for frame in got] == [b"first"]
        assert cut.value.cause == "broken"


def test_a30_a_mute_socket_is_a_cut_after_the_read_time_out():
    def script(handler):
        sse(handler)
        handler.chunk(framed(b"first"))
        handler.server.go.wait(5)

    with serving(script) as server:
        connection = opened(server, read_seconds=0.1)
        assert connection.read()
        with pytest.raises(Cut) as cut:
            connection.read()
        assert cut.value.cause == "timeout"
        connection.close()


def test_an_interrupt_ends_a_read_that_waits():
    def script(handler):
        sse(handler)
        handler.chunk(framed(b"first"))
        handler.server.go.wait(5)

    with serving(script) as server:
        connection = opened(server)
        assert connection.read()
        waker = threading.Timer(0.05, connection.interrupt)
        waker.start()
        with suppress(Cut):
            assert connection.read() == b""
        waker.join()
        connection.close()
        connection.interrupt()


def test_nobody_listening_is_a_cut():
    with serving() as server:
        url = server.url
    with pytest.raises(Cut) as cut:
        connector(StreamConfig())(url, {}, {})
    assert cut.value.cause == "unreachable"


def test_statuses_and_headers_come_through():
    with serving(lambda h: h.start(429, Retry_After="7", Content_Length="0")) as server:
        connection = opened(server)
        assert (connection.status, connection.headers["retry-after"]) == (429, "7")
        connection.close()


def test_an_event_of_five_megabytes_comes_through():
    data = recent_change(1, 11, parsedcomment="å" * (5 << 19))

    def script(handler):
        sse(handler)
        for at in range(0, len(data) + 30, 100_000):
            handler.chunk(framed(data)[at : at + 100_000])
        handler.chunk(b"")

    with serving(script) as server:
        got = list(frames(read(opened(server)), max_bytes=8 << 20, head_bytes=99))
        assert [frame.data for frame in got] == [data]


# --- the API's transport --------------------------------------------------------------------


def answering(body, status=200, **headers):
    def script(handler):
        handler.start(status, Content_Length=str(len(body)), **headers)
        handler.wfile.write(body)

    return script


def test_the_transport_reads_compressed_answers_and_says_who_asks():
    pack = zlib.compressobj(wbits=31)
    body = pack.compress(b'{"query":{}}') + pack.flush()
    with serving(answering(body, Content_Encoding="gzip", X_Thing="1")) as server:
        transport = RequestsTransport(StreamConfig(contact="ops@example.org", token="s"))
        reply = transport(server.url + "/w/api.php", {"a": "b c"})
        transport.close()
        assert (reply.status, reply.body, reply.headers["X-Thing"]) == (200, b'{"query":{}}', "1")
        path, headers = server.asked[0]
        assert path == "/w/api.php?a=b+c"
        assert "ops@example.org" in headers["User-Agent"]
        assert headers["Authorization"] == "Bearer s"
        assert headers["Accept-Encoding"] == "gzip"


def test_an_answer_above_the_limit_is_refused():
    with serving(answering(b"x" * 300_000)) as server:
        transport = RequestsTransport(StreamConfig(max_answer_bytes=100_000))
        with pytest.raises(OSError, match="above 100000 bytes"):
            transport(server.url, {})
        transport.close()


def test_a_broken_body_is_an_oserror():
    def script(handler):
        handler.start(Content_Length="100")
        handler.wfile.write(b"half")
        handler.close_connection = True

    with serving(script) as server:
        transport = RequestsTransport(StreamConfig())
        with pytest.raises(OSError, match="http://"):
            transport(server.url, {})
        transport.close()
