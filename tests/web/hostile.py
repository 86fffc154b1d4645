"""Requests and frames garbled at random, sent in pieces, cut anywhere: the server goes on and keeps nothing."""
import os
import random
import socket
import struct
import sys
import threading

from harness.tap import check, run
from harness.web import HELLO, Server, chunked, request
from http2 import DATA, END_HEADERS, GET, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE, block

CONNECTIONS = 4000
MIB = 1 << 20
BITS = [b"\r\n", b"\n", b"\r", b"\0", b" ", b"0\r\n\r\n", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n"]
ANSWERS = [b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
           b"HTTP/1.1 200 OK\r\n\r\n" + bytes(300000), b"HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: test-tunnel\r\n\r\nhi",
           b"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 204 x\r\n\r\n"]
below = random.Random(4711).randrange
choice = random.Random(4712).choice


def garbled(data):
    data = bytearray(data)
    for _ in range(below(4)):
        at, kind = below(len(data) + 1), below(5)
        if kind == 0:
            data[at:at + 1] = bytes([below(256)])
        elif kind == 1:
            del data[at:at + below(20)]
        elif kind == 2:
            data[at:at] = os.urandom(below(5))
        elif kind == 3:
            data[at:at] = choice(BITS)
        else:
            del data[at:]
    return bytes(data)


def one_request(upstream):
    upgrade = ["Connection: Upgrade", "Upgrade: test-tunnel"] if below(2) else []
    return choice([
        lambda: HELLO,
        lambda: request("POST", f"/echo?max={below(3000)}", bytes(below(3000))),
        lambda: chunked("POST", f"/count?credit={1 + below(999)}", *[bytes(1 + below(500)) for _ in range(below(5))]),
        lambda: request("GET", f"/stream?size={below(300000)}&piece={1 + below(9999)}"),
        lambda: request("POST", "/hello", bytes(below(70000))),
        lambda: request("GET", f"/abort?start={below(2)}"),
        lambda: chunked("POST", "/duplex", *[bytes(1 + below(50)) for _ in range(below(6))]),
        lambda: request("GET", f"/proxy/{upstream}/x", None, *upgrade),
        lambda: request("GET", f"/tunnel/{upstream}", None, *upgrade),
    ])()


def frame(kind, flags, stream, data=b""):
    return struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data


def frames():
    data, stream = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0), 1
    for _ in range(below(12)):
        kind, last = below(8), max(1, stream - 2)
        if kind < 3:
            path = choice(["/hello", f"/stream?size={below(100000)}", "/never", "/echo", "/abort?start=1", "/show"])
            data += frame(HEADERS, END_HEADERS | below(2), stream, block((*GET, (":path", path))))
        elif kind == 3:
            post = ((":method", "POST"), *GET[1:], (":path", f"/count?credit={below(99)}"))
            data += frame(HEADERS, END_HEADERS, stream, block(post)) + frame(DATA, below(2), stream, bytes(below(2000)))
        elif kind == 4:
            data += frame(RST_STREAM, 0, last, bytes(4))
        elif kind == 5:
            data += frame(WINDOW_UPDATE, 0, choice([0, last]), struct.pack(">I", 1 + below(99999)))
        elif kind == 6:
            data += frame(below(12), below(256), below(stream + 2), os.urandom(below(30)))
        else:
            data += frame(PING, 0, 0, bytes(8))
        stream += 2 if kind < 4 else 0
    return data


def answer(listener):
    """An upstream that says anything, at once, and goes."""
    while True:
        try:
            connection = listener.accept()[0]
        except OSError:
            return
        with connection:
            connection.setblocking(False)
            try:
                connection.send(garbled(choice(ANSWERS)))
            except OSError:
                pass


def attack(port, upstream):
    """A few connections at once, each with its bytes in pieces; some are reset, some half-closed."""
    open_ones = []
    for _ in range(1 + below(6)):
        data = frames() if below(3) == 0 else b"".join(one_request(upstream) for _ in range(1 + below(5)))
        sock = socket.create_connection(("127.0.0.1", port))
        sock.setblocking(False)
        open_ones.append([sock, garbled(data) if below(3) else data])
    for _ in range(below(12)):
        one = choice(open_ones)
        try:
            one[1] = one[1][one[0].send(one[1][:1 + below(len(one[1]) + 1)] or b"x"):]
            if below(3) == 0:
                one[0].recv(below(100000) + 1)
            if below(10) == 0:
                one[0].shutdown(socket.SHUT_WR)
        except OSError:
            pass
    for sock, data in open_ones:
        try:
            if below(2):
                sock.send(data)
            if below(4) == 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
        sock.close()
    return len(open_ones)


def test_garbled_clients_and_upstreams():
    limits = {"stall_timeout_ms": 1000, "head_timeout_ms": 1000, "idle_timeout_ms": 1000}
    with Server(**limits) as server, socket.create_server(("127.0.0.1", 0), backlog=1000) as listener:
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        upstream, done = listener.getsockname()[1], 0
        while done < CONNECTIONS:
            done += attack(server.port, upstream)
        server.wait_for("connections", 1)
        check(server.memory() < 300 * MIB, server.memory())
        listener.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    run(sys.modules[__name__])
