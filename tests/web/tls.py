"""TLS: versions, certificates that change while the server runs, clients that do it wrong."""
import signal
import socket
import ssl
import sys

from harness.tap import check, check_equal, run
from harness.web import HELLO, Client, Server


def name_of(client):
    """The common name of the server's certificate, from its DER: it is short."""
    der = client.socket.getpeercert(binary_form=True)
    return next(name for name in (b"first", b"second") if name in der)


def test_protocols():
    with Server(tls=True) as server:
        for alpn, want in ((("http/1.1",), "http/1.1"), (("h2", "http/1.1"), "h2"), (("http/1.1", "h2"), "h2")):
            with server.connect_tls(alpn) as client:
                check_equal(client.socket.selected_alpn_protocol(), want)
        for alpn in (("http/1.1",), ()):
            with server.connect_tls(alpn or ("http/1.1",)) as client:
                client.send(HELLO)
                check_equal(client.response().body, b"hello\n")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", server.tls_port)) as plain, context.wrap_socket(plain) as s:
            check(s.version() in ("TLSv1.2", "TLSv1.3"), s.version())
            client = Client(s)  # without ALPN
            client.send(HELLO)
            check_equal(client.response().body, b"hello\n")
        context.set_alpn_protocols(["spdy/1"])
        try:
            with socket.create_connection(("127.0.0.1", server.tls_port)) as plain:
                context.wrap_socket(plain).close()
            raise AssertionError("a protocol that nobody speaks")
        except ssl.SSLError:
            pass


def test_reload():
    with Server(tls=True) as server, server.connect_tls() as old:
        check_equal(name_of(old), b"first")
        server.make_certificate("second")
        server.signal(signal.SIGHUP)
        while True:
            with server.connect_tls() as fresh:
                if name_of(fresh) == b"second":
                    break
        old.send(HELLO)
        check_equal(old.response().body, b"hello\n")
        # What is broken changes nothing.
        with open(server.key, "w") as file:
            file.write("no key\n")
        server.signal(signal.SIGHUP)
        server.wait_for("connections", 2)
        with server.connect_tls() as fresh:
            check_equal(name_of(fresh), b"second")


def test_handshakes_that_do_not_end():
    with Server(tls=True, head_timeout_ms=300) as server:
        for start in (b"", b"\x16\x03\x01\x02\x00", HELLO):
            with socket.create_connection(("127.0.0.1", server.tls_port)) as s:
                s.settimeout(20)
                s.sendall(start)
                try:
                    while s.recv(1000):
                        pass
                except ConnectionError:
                    pass
        server.wait_for("connections", 1)


def test_requests_in_odd_records():
    with Server(tls=True) as server, server.connect_tls() as client:
        for i in range(len(HELLO)):
            client.send(HELLO[i:i + 1])
        check_equal(client.response().body, b"hello\n")
        client.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + bytes(1000000))
        check_equal(client.response().body, bytes(1000000))


def test_a_connection_that_just_ends():
    with Server(tls=True) as server:
        client = server.connect_tls()
        client.send(b"GET /stream?open=1 HTTP/1.1\r\nHost: a\r\n\r\n")
        client.head()
        raw = client.socket
        socket.socket(fileno=raw.detach()).close()  # without a close_notify
        server.wait_for("closed", 1)


if __name__ == "__main__":
    run(sys.modules[__name__])
