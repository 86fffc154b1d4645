"""The reverse proxy between clients and upstreams that are as hostile as a sandbox may be."""
import base64
import hashlib
import http.server
import os
import socket
import ssl
import sys
import threading

from harness.tap import check, check_equal, run
from harness.web import Client, HELLO, Server, chunked, request, statuses

MIB = 1 << 20


class Upstream:
    """Listens; `accept` gives the connection of the proxy."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(20)
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.listener.close()

    def accept(self):
        return Client(self.listener.accept()[0])


def ask(client, upstream, target="/x", method="GET", body=None, *fields):
    client.send(request(method, f"/proxy/{upstream.port}{target}", body, *fields))


def answered(server, upstream, answer, method="GET"):
    """What a client gets when the upstream says `answer` and closes."""
    with server.connect() as client:
        ask(client, upstream, method=method)
        with upstream.accept() as up:
            up.until(b"\r\n\r\n")
            up.send(answer)
            up.socket.shutdown(socket.SHUT_WR)
            try:
                return client.response(method)
            except EOFError:
                return None


# ---- requests ----

def test_the_request_is_written_anew():
    with Server() as server, Upstream() as upstream, server.connect() as client:
        ask(client, upstream, "/x?a=%20b", "GET", None, "X-One:   1  ", "X-Secret: s", "Connection: keep-alive, y-hop",
            "Y-Hop: 1", "Keep-Alive: 5", "TE: trailers", "Proxy-Authorization: p", "Cookie: c")
        with upstream.accept() as up:
            check_equal(up.until(b"\r\n\r\n"),
                        b"GET /proxy/%d/x?a=%%20b HTTP/1.1\r\nHost: a\r\nX-One: 1\r\nCookie: c\r\n"
                        b"Connection: close\r\n\r\n" % upstream.port)
    with Server() as server, Upstream() as upstream, server.connect() as client:
        ask(client, upstream, "/x?host=inside:80", "POST", b"hello")
        with upstream.accept() as up:
            head = up.until(b"\r\n\r\n")
            check(b"\r\nHost: inside:80\r\n" in head and b"\r\nContent-Length: 5\r\n" in head, head)
            check_equal(up.exactly(5), b"hello")


def test_bodies_go_through():
    class Echo(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            client = Client(self.connection)
            size = self.headers["Content-Length"]
            if size:
                body = self.rfile.read(int(size))
            else:
                body = b""
                while n := int(self.rfile.readline(), 16):
                    body += self.rfile.read(n)
                    self.rfile.readline()
                self.rfile.readline()
            del client
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *unused):
            pass
    echo = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    echo.port = echo.server_port
    threading.Thread(target=echo.serve_forever, daemon=True).start()
    with Server() as server, server.connect() as client:
        for size in (0, 1, 65536, 5 * MIB):
            body = os.urandom(size)
            ask(client, echo, method="POST", body=body)
            check(client.response().body == body, size)
            client.send(chunked("POST", f"/proxy/{echo.port}/x", *[body[i:i + 50000] for i in range(0, size, 50000)]))
            check(client.response().body == body, f"{size}, chunked")
    echo.shutdown()


def test_an_upstream_that_does_not_read_stops_the_client():
    with Server() as server, Upstream() as upstream, server.connect() as client:
        before = server.memory()
        client.send(b"POST /proxy/%d/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n" % upstream.port)
        with upstream.accept() as up:
            client.socket.settimeout(1)
            try:
                for _ in range(1000):
                    client.send(bytes(MIB))
                raise AssertionError("1000 MiB went somewhere")
            except TimeoutError:
                pass
            check(server.memory() - before < 8 * MIB, server.memory() - before)
            up.send(b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n")
            check_equal(client.response().status, 413)


# ---- responses ----

GOOD = [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, b"abc"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2;x=y\r\nbc\r\n0\r\nT: v\r\n\r\n", 200, b"abc"),
    (b"HTTP/1.1 200 OK\r\n\r\nabc", 200, b"abc"),
    (b"HTTP/1.0 200 OK\r\n\r\nabc", 200, b"abc"),
    (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", 404, b""),
    (b"HTTP/1.1 204 None\r\n\r\n", 204, b""),
    (b"HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n", 304, b""),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, b"abc"),
    (b"HTTP/1.1 599\r\nContent-Length: 0\r\n\r\n", 599, b""),
]
BAD_HEADS = [
    b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\n\nabc", b"HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: a\r\n folded\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", b"HTTP/2 200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 99 OK\r\n\r\n", b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 101 + b"\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 40000 + b"\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 3,
]
BAD_BODIES = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
]


def test_proper_answers():
    with Server() as server, Upstream() as upstream:
        for answer, status, body in GOOD:
            response = answered(server, upstream, answer)
            check_equal((response.status, response.body), (status, body), answer)
        check_equal(dict(answered(server, upstream, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "HEAD").fields)["content-length"], "9")


def test_fields_of_the_answer():
    answer = (b"HTTP/1.1 200 OK\r\nDate: x\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nServer: s\r\nConnection: close, y-hop\r\n"
              b"Y-Hop: 1\r\nKeep-Alive: 5\r\nContent-Type: text/x\r\nContent-Length: 0\r\n\r\n")
    with Server() as server, Upstream() as upstream:
        fields = answered(server, upstream, answer).fields
        check_equal([f for f in fields if f[0] != "date"],
                    [("set-cookie", "a"), ("set-cookie", "b"), ("server", "s"), ("content-type", "text/x"), ("content-length", "0")])
        check(("date", "x") not in fields, "somebody else's date")


def test_malformed_answers_are_a_502():
    with Server() as server, Upstream() as upstream:
        for answer in BAD_HEADS:
            check_equal(answered(server, upstream, answer).status, 502, answer[:60])


def test_cut_and_malformed_bodies_are_no_proper_end():
    with Server() as server, Upstream() as upstream:
        for answer in BAD_BODIES:
            check(answered(server, upstream, answer) is None, answer)


def test_an_answer_byte_by_byte():
    answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    with Server() as server, Upstream() as upstream, server.connect() as client:
        ask(client, upstream)
        with upstream.accept() as up:
            up.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for i in range(len(answer)):
                up.send(answer[i:i + 1])
            check_equal(client.response().body, b"abc")
        client.send(HELLO)
        check_equal(client.response().body, b"hello\n")


def test_streams_are_passed_on_at_once():
    with Server() as server, Upstream() as upstream, server.connect() as client:
        ask(client, upstream)
        with upstream.accept() as up:
            up.until(b"\r\n\r\n")
            up.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            check_equal(client.head()[0], 200)
            for word in (b"one", b"two"):
                up.send(word)
                check_equal(client.until(word + b"\r\n"), b"3\r\n" + word + b"\r\n")


def test_a_slow_client_stops_the_upstream():
    with Server() as server, Upstream() as upstream, server.connect() as client:
        before = server.memory()
        ask(client, upstream)
        with upstream.accept() as up:
            up.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            up.socket.settimeout(1)
            sent = 0
            try:
                while sent < 1000 * MIB:
                    sent += up.socket.send(bytes(65536))
                raise AssertionError("1000 MiB went somewhere")
            except TimeoutError:
                pass
            check(server.memory() - before < 8 * MIB, server.memory() - before)
            client.head()
            client.exactly(sent)
            up.send(b"more")
            client.exactly(4)


# ---- ends ----

def test_a_client_that_goes_takes_the_upstream_along():
    with Server() as server, Upstream() as upstream:
        for answer in (b"", b"HTTP/1.1 200 OK\r\n\r\nabc"):
            with server.connect() as client:
                ask(client, upstream)
                with upstream.accept() as up:
                    up.until(b"\r\n\r\n")
                    up.send(answer)
                    client.socket.close()
                    check_equal(up.rest().replace(b"<reset>", b""), b"")
        server.wait_for("tunnels", 2)


def test_time_to_answer():
    with Server() as server, Upstream() as upstream, server.connect() as client:
        ask(client, upstream, "/x?timeout=300")
        with upstream.accept():
            check_equal(client.response().status, 504)
    with Server() as server, Upstream() as upstream, server.connect() as client:
        ask(client, upstream, "/x?timeout=300")
        with upstream.accept() as up:
            up.send(b"HTTP/1.1 200 OK\r\n\r\n")
            check_equal(client.head()[0], 200)
            check(client.silent(1), "a stream ends by itself")


def test_a_port_where_nobody_listens():
    with Server() as server:
        check_equal(statuses(server.ask(request("GET", "/proxy/1/x"))), [502])


# ---- upgrades ----

def websocket_accept(key):
    return base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())


def test_websocket():
    with Server() as server, Upstream() as upstream, server.connect() as client:
        ask(client, upstream, "/x", "GET", None, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: abc",
            "Sec-WebSocket-Version: 13")
        client.send(b"early")
        with upstream.accept() as up:
            head = up.until(b"\r\n\r\n")
            check(b"Connection: Upgrade\r\nUpgrade: websocket\r\n" in head and b"\r\nSec-Websocket-Key: abc\r\n" in head, head)
            up.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    b"Sec-WebSocket-Accept: " + websocket_accept(b"abc") + b"\r\n\r\nfirst")
            status, fields = client.head()
            check_equal((status, dict(fields)["upgrade"], dict(fields)["connection"]), (101, "websocket", "upgrade"))
            check_equal(dict(fields)["sec-websocket-accept"], websocket_accept(b"abc").decode())
            check_equal(client.exactly(5), b"first")
            check_equal(up.exactly(5), b"early")
            data = os.urandom(3 * MIB)
            sender = threading.Thread(target=client.send, args=(data,))
            sender.start()
            check(up.exactly(len(data)) == data, "bytes differ")
            sender.join()
            up.send(b"last")
            check_equal(client.exactly(4), b"last")
            # Each side may end first.
            client.socket.shutdown(socket.SHUT_WR)
            check_equal(up.rest(), b"")
            up.send(b"still")
            up.socket.close()
            check_equal(client.rest(), b"still")


def test_an_upgrade_that_is_declined():
    with Server() as server, Upstream() as upstream, server.connect() as client:
        ask(client, upstream, "/x", "GET", None, "Connection: Upgrade", "Upgrade: websocket")
        with upstream.accept() as up:
            up.until(b"\r\n\r\n")
            up.send(b"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno")
            check_equal(client.response().body, b"no")
        client.send(HELLO)
        check_equal(client.response().body, b"hello\n")


def test_no_upgrade_to_http2_past_the_parser():
    with Server() as server, Upstream() as upstream, server.connect() as client:
        ask(client, upstream, "/x", "GET", None, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
        with upstream.accept() as up:
            head = up.until(b"\r\n\r\n")
            check(b"h2c" not in head and b"http2" not in head, head)


def test_tunnel():
    with Server() as server, Upstream() as upstream, server.connect() as client:
        client.send(request("GET", f"/tunnel/{upstream.port}"))
        upstream.accept().socket.close()
        check_equal(client.response().status, 426)
        client.send(request("POST", f"/tunnel/{upstream.port}", None, "Connection: Upgrade", "Upgrade: test-tunnel") + b"ping")
        with upstream.accept() as up:
            check_equal(client.head()[0], 101)
            check_equal(up.exactly(4), b"ping")
            up.send(b"pong")
            check_equal(client.exactly(4), b"pong")
            up.socket.close()
            check_equal(client.rest(), b"")


# ---- TLS ----

def test_an_upstream_with_tls():
    with Server(tls=True) as server, Upstream() as upstream, server.connect() as client:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(server.certificate, server.key)
        names = []
        context.sni_callback = lambda sock, name, ctx: names.append(name)
        ask(client, upstream, "/x?tls=1&host=inside.example:443", "POST", b"hello")
        with Client(context.wrap_socket(upstream.accept().socket, server_side=True)) as up:
            check(b"\r\nContent-Length: 5\r\n" in up.until(b"\r\n\r\n"), "head")
            check_equal(up.exactly(5), b"hello")
            check_equal(names, ["inside.example"])
            data = os.urandom(2 * MIB)
            up.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
            check(client.response().body == data, "bytes differ")
        # Who does not speak it is no reason to hang.
        ask(client, upstream, "/x?tls=1&timeout=500")
        with upstream.accept() as up:
            up.send(b"hello")
            check(client.response().status in (502, 504), "status")


if __name__ == "__main__":
    run(sys.modules[__name__])
