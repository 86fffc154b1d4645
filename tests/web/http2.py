"""HTTP/2: with curl as the proper client, and frames by hand for the others."""
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

from harness.tap import Skip, check, check_equal, run
from harness.web import Client, Server

MIB = 1 << 20
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS = 1, 4
PROTOCOL_ERROR, FLOW_CONTROL_ERROR, REFUSED_STREAM = 1, 3, 7
GET = ((":method", "GET"), (":scheme", "http"), (":authority", "a"))


def string(text):
    data = text.encode("latin-1")
    if len(data) < 127:
        return bytes([len(data)]) + data
    rest, size = len(data) - 127, bytes([127])
    while rest >= 128:
        size += bytes([rest % 128 + 128])
        rest //= 128
    return size + bytes([rest]) + data


def block(fields):
    """HPACK without its tables: every field literal, never indexed."""
    return b"".join(b"\x10" + string(name) + string(value) for name, value in fields)


class Peer:
    """A connection of frames, over plain TCP with prior knowledge."""

    def __init__(self, server, window=65535):
        self.socket = socket.create_connection(("127.0.0.1", server.port))
        self.socket.settimeout(20)
        self.buffer = b""
        self.sent = 0
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.frame(SETTINGS, 0, 0, struct.pack(">HI", 4, window))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.socket.close()

    def frame(self, kind, flags, stream, data=b""):
        self.socket.sendall(struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data)

    def get(self, stream, path, *more, flags=END_HEADERS | END_STREAM):
        self.frame(HEADERS, flags, stream, block((*GET, (":path", path), *more)))

    def exactly(self, size):
        while len(self.buffer) < size:
            data = self.socket.recv(1 << 18)
            if not data:
                raise EOFError()
            self.buffer += data
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def next(self):
        head = self.exactly(9)
        size = int.from_bytes(head[:3], "big")
        return head[3], head[4], int.from_bytes(head[5:], "big") & 0x7fffffff, self.exactly(size)

    def wait(self, kind, stream=None):
        """The next frame of that kind; settings are acknowledged."""
        while True:
            got, flags, id, data = self.next()
            if got == SETTINGS and not flags & 1:
                self.frame(SETTINGS, 1, 0)
            if got == kind and (stream is None or id == stream):
                return flags, id, data

    def wait_any(self, *kinds):
        """The error code of the next frame of those kinds."""
        while True:
            kind, _, _, data = self.next()
            if kind in kinds:
                return int.from_bytes(data[-4:], "big")

    def status(self, stream):
        first = self.wait(HEADERS, stream)[2]
        known = {0x88: 200, 0x89: 204, 0x8a: 206, 0x8b: 304, 0x8c: 400, 0x8d: 404, 0x8e: 500}
        if first[0] in known:
            return known[first[0]]
        return first  # a literal: the caller looks for it

    def ends(self):
        """GOAWAY's error code, or None if the connection just ends."""
        try:
            return int.from_bytes(self.wait(GOAWAY)[2][4:8], "big")
        except (EOFError, ConnectionError):
            return None


def curl(server, path, *options, body=None, version="--http2"):
    if not shutil.which("curl"):
        raise Skip("no curl")
    done = subprocess.run(["curl", "-sk", version, "-m", "20", *options, "-w", "\n%{http_code} %{http_version}",
                           f"https://127.0.0.1:{server.tls_port}{path}"], input=body, capture_output=True)
    text, _, last = done.stdout.rpartition(b"\n")
    status, used = last.decode().split()
    return int(status), used, text, done.returncode


# ---- proper clients ----

def test_curl():
    with Server(tls=True) as server:
        check_equal(curl(server, "/hello")[:3], (200, "2", b"hello\n"))
        check_equal(curl(server, "/hello", version="--http1.1")[:3], (200, "1.1", b"hello\n"))
        seen = json.loads(curl(server, "/show/a%20b?name=x", "-H", "X-One: 1")[2])
        check_equal((seen["id"], seen["name"], seen["tls"], seen["host"]), ("a b", "x", True, f"127.0.0.1:{server.tls_port}"))
        check(["x-one", "1"] in seen["fields"], seen)
        check_equal(curl(server, "/nothing")[0], 404)
        check_equal(curl(server, "/hello", "-X", "DELETE")[0], 405)
        check_equal(curl(server, "/status?code=204")[:3], (204, "2", b""))
        check_equal(curl(server, "/hello", "-I")[0], 200)


def test_curl_with_bodies():
    with Server(tls=True) as server:
        for size in (1, 16384, 16385, 65535, 3 * MIB):
            body = os.urandom(size)
            for version in ("--http2", "--http1.1"):
                status, _, text, _ = curl(server, "/echo", "--data-binary", "@-", body=body, version=version)
                check(status == 200 and text == body, (version, size, status, len(text)))
        check_equal(curl(server, "/count?credit=100", "--data-binary", "@-", body=bytes(200000))[2], b"200000")
        check_equal(len(curl(server, "/stream?size=20000000&piece=100000")[2]), 20000000)
        check_equal(curl(server, "/echo?max=10", "--data-binary", "@-", body=bytes(100000))[0], 413)
        check(curl(server, "/abort?start=1")[3] != 0, "an abort looks like an end")


def test_many_streams_at_once():
    with Server() as server, Peer(server) as peer:
        for i in range(100):
            peer.get(1 + 2 * i, f"/show/{i}")
        seen = {}
        while len(seen) < 100:
            kind, _, id, data = peer.next()
            if kind == DATA:
                seen[id] = json.loads(data)["id"]
        check_equal(seen, {1 + 2 * i: str(i) for i in range(100)})


def test_cookies_are_joined():
    with Server() as server, Peer(server) as peer:
        peer.get(1, "/show", ("cookie", "a=1"), ("x", "y"), ("cookie", "b=2"))
        fields = json.loads(peer.wait(DATA, 1)[2])["fields"]
        check_equal(fields, [["cookie", "a=1; b=2"], ["x", "y"]])


def test_body_in_many_frames():
    with Server() as server, Peer(server) as peer:
        peer.frame(HEADERS, END_HEADERS, 1, block(((":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/echo"))))
        for i in range(10):
            peer.frame(DATA, 0, 1, b"%d" % i)
        peer.frame(DATA, END_STREAM, 1)
        check_equal(peer.wait(DATA, 1)[2], b"0123456789")


def test_reset_by_the_client_is_noticed():
    with Server() as server, Peer(server) as peer:
        peer.get(1, "/stream?open=1")
        check_equal(peer.status(1), 200)
        peer.get(3, "/stream?open=1&size=0")
        check_equal(peer.status(3), 200)
        peer.frame(RST_STREAM, 0, 1, struct.pack(">I", 8))
        peer.frame(RST_STREAM, 0, 3, struct.pack(">I", 8))
        server.wait_for("closed", 2)
        peer.get(5, "/hello")
        check_equal(peer.status(5), 200)


# ---- others ----

BAD_HEADS = {
    "a user": ((":method", "GET"), (":scheme", "http"), (":authority", "u@a"), (":path", "/hello")),
    "another host": (*GET, (":path", "/hello"), ("host", "b")),
    "a fragment": (*GET, (":path", "/hello#x")),
}
PROTOCOL_ERRORS = {
    "no authority": ((":method", "GET"), (":scheme", "http"), (":path", "/hello")),
    "a relative path": (*GET, (":path", "hello")),
    "a space": (*GET, (":path", "/hel lo")),
    "an upper-case name": (*GET, (":path", "/hello"), ("X-One", "1")),
    "a bare CR": (*GET, (":path", "/hello"), ("x", "a\rb")),
    "a line end": (*GET, (":path", "/hello"), ("x", "a\r\nb: c")),
    "transfer-encoding": (*GET, (":path", "/hello"), ("transfer-encoding", "chunked")),
    "connection": (*GET, (":path", "/hello"), ("connection", "close")),
    "no path": GET,
    "two paths": (*GET, (":path", "/hello"), (":path", "/x")),
    "a late pseudo-field": (*GET, ("x", "y"), (":path", "/hello")),
    "an unknown pseudo-field": (*GET, (":path", "/hello"), (":x", "y")),
}


def test_malformed_heads():
    with Server() as server:
        for name, fields in BAD_HEADS.items():
            with Peer(server) as peer:
                peer.frame(HEADERS, END_HEADERS | END_STREAM, 1, block(fields))
                check_equal(peer.status(1), 400, name)
        for name, fields in PROTOCOL_ERRORS.items():
            with Peer(server) as peer:
                peer.frame(HEADERS, END_HEADERS | END_STREAM, 1, block(fields))
                check_equal(peer.wait_any(RST_STREAM, GOAWAY), PROTOCOL_ERROR, name)
        with Peer(server) as peer:
            peer.frame(HEADERS, END_HEADERS, 1, block(((":method", "CONNECT"), (":authority", "a:1"))))
            check(b"\x82\x6c\x01" in peer.status(1), "CONNECT")  # 501, in Huffman code


def test_a_length_that_is_not_the_body():
    with Server() as server, Peer(server) as peer:
        fields = ((":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/echo"), ("content-length", "3"))
        peer.frame(HEADERS, END_HEADERS, 1, block(fields))
        peer.frame(DATA, END_STREAM, 1, b"four")
        peer.wait(RST_STREAM, 1)


def test_heads_that_are_too_large():
    with Server() as server, Peer(server) as peer:
        peer.get(1, "/hello", *[(f"x{i}", "y") for i in range(101)])
        check(b"431" in peer.status(1), "fields")
    with Server() as server, Peer(server) as peer:
        for i in range(3):  # a head of 40 KiB
            part = block((*GET, (":path", "/hello"))) if i == 0 else block([(f"x{i}", "y" * 14000)])
            peer.frame(HEADERS if i == 0 else CONTINUATION, END_STREAM if i == 0 else 0, 3, part)
        peer.frame(CONTINUATION, END_HEADERS, 3, block([("z", "y" * 12000)]))
        check(b"431" in peer.status(3), "bytes")
        peer.get(5, "/hello")
        check_equal(peer.status(5), 200)


def test_reset_flood():
    with Server() as server, Peer(server) as peer:
        try:
            for i in range(5000):
                peer.get(1 + 2 * i, "/never")
                peer.frame(RST_STREAM, 0, 1 + 2 * i, struct.pack(">I", 8))
        except ConnectionError:
            pass
        peer.ends()
        server.wait_for("connections", 1)
        check(server.statistics()["closed"] < 1000, server.statistics())


def test_continuation_flood():
    with Server() as server, Peer(server) as peer:
        before = server.memory()
        peer.frame(HEADERS, END_STREAM, 1, block((*GET, (":path", "/hello"))))
        try:
            for i in range(2000):
                peer.frame(CONTINUATION, 0, 1, block([("x", "y" * 10000)]))
        except ConnectionError:
            pass
        peer.ends()
        server.wait_for("connections", 1)
        check(server.memory() - before < 8 * MIB, "memory")


def test_floods_of_frames_that_want_answers():
    for kind, data in ((PING, bytes(8)), (SETTINGS, struct.pack(">HI", 4, 65535))):
        with Server() as server, Peer(server) as peer:
            before = server.memory()
            peer.socket.settimeout(2)
            try:
                for i in range(1000):
                    peer.socket.sendall((struct.pack(">I", len(data))[1:] + bytes([kind, 0]) + bytes(4) + data) * 1000)
            except (ConnectionError, TimeoutError):
                pass
            check(server.memory() - before < 8 * MIB, (kind, server.memory() - before))
            check_equal(server.statistics()["refused"], 0)


def test_too_many_streams_are_refused():
    with Server(streams_per_connection=5) as server, Peer(server) as peer:
        for i in range(6):
            peer.get(1 + 2 * i, "/never")
        check_equal(struct.unpack(">I", peer.wait(RST_STREAM, 11)[2])[0], REFUSED_STREAM)


def test_uploads_are_bounded_by_the_window():
    with Server() as server, Peer(server) as peer:
        fields = ((":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/never"))
        peer.frame(HEADERS, END_HEADERS, 1, block(fields))
        for _ in range(17):
            peer.frame(DATA, 0, 1, bytes(16384))
        check_equal(peer.wait_any(RST_STREAM, GOAWAY), FLOW_CONTROL_ERROR)


def test_stalled_streams_are_reset():
    with Server(stall_timeout_ms=400) as server, Peer(server, window=100) as peer:
        peer.get(1, "/stream?size=9000000")  # its window never opens
        peer.frame(HEADERS, END_HEADERS, 3, block(((":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/echo"))))
        peer.get(5, "/stream?size=3&open=1")  # idle, which is fine
        reset = {peer.wait(RST_STREAM)[1] for _ in range(2)}
        check_equal(reset, {1, 3})
        server.wait_for("closed", 1)
        peer.frame(RST_STREAM, 0, 5, struct.pack(">I", 8))
        server.wait_for("closed", 2)


def test_idle_connections_end():
    with Server(idle_timeout_ms=400) as server, Peer(server) as peer:
        peer.get(1, "/hello")
        check_equal(peer.status(1), 200)
        check_equal(peer.ends(), 0)


def test_a_head_that_never_ends():
    with Server(head_timeout_ms=400) as server, Peer(server) as peer:
        peer.frame(HEADERS, END_STREAM, 1, block((*GET, (":path", "/hello"))))
        peer.ends()
        server.wait_for("connections", 1)


def test_slow_reading_of_a_large_response():
    with Server() as server, Peer(server) as peer:
        before = server.memory()
        peer.frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fff0000))
        peer.get(1, "/stream?size=100000000&piece=262144")
        size = 0
        while size < 20 * MIB:
            kind, _, _, data = peer.next()
            if kind == DATA:
                size += len(data)
                peer.frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", len(data)))
        check(server.memory() - before < 64 * MIB, server.memory() - before)


def test_websocket_over_http2():
    fields = ((":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":authority", "a"))
    with Server() as server, Peer(server) as peer, socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        peer.frame(HEADERS, END_HEADERS, 1, block((*fields, (":path", f"/proxy/{port}/chat"), ("sec-websocket-version", "13"))))
        peer.frame(DATA, 0, 1, b"early")
        with Client(listener.accept()[0]) as up:
            head = up.until(b"\r\n\r\n")
            check(head.startswith(b"GET /proxy/%d/chat HTTP/1.1\r\n" % port), head)
            lower = head.lower()
            check(b"\r\nsec-websocket-key: " in lower and b"\r\nupgrade: websocket\r\n" in lower, head)
            up.send(b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nfirst")
            check_equal(peer.status(1), 200)
            check_equal(peer.wait(DATA, 1)[2], b"first")
            check_equal(up.exactly(5), b"early")
            peer.frame(DATA, 0, 1, b"more")
            check_equal(up.exactly(4), b"more")
            peer.frame(DATA, END_STREAM, 1)
            check_equal(up.rest(), b"")
            up.send(b"last")
            check_equal(peer.wait(DATA, 1)[2], b"last")
            up.socket.close()
            check(peer.wait(DATA, 1)[0] & END_STREAM, "no end")


def test_garbage():
    with Server(tls=True, head_timeout_ms=500) as server:
        for port in (server.port, server.tls_port):
            for garbage in (b"\x16\x03\x01\x00\x05hello", b"\0" * 100, os.urandom(1000), b"PRI * HTTP/2.0\r\n\r\n",
                            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(200)):
                with socket.create_connection(("127.0.0.1", port)) as s:
                    s.settimeout(20)
                    s.sendall(garbage)
                    try:
                        while s.recv(65536):
                            pass
                    except ConnectionError:
                        pass
        server.wait_for("connections", 1)


if __name__ == "__main__":
    run(sys.modules[__name__])
