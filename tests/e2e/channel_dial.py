"""Connections to guest ports over the control channel."""
import errno
import os
import select
import socket
import sys
import threading

from harness.channel import Refused, Sandbox, Writer
from harness.tap import check, check_equal, run

if not os.access(os.environ["HOTCELL"], os.X_OK):
    sys.exit(77)


def refused(function, code, about="request"):
    try:
        function()
    except Refused as error:
        check_equal((errno.errorcode[error.code], error.about), (errno.errorcode[code], about), error.text)
        return error
    raise AssertionError("was not refused")


def server(box, body, address="127.0.0.1", port=8000, backlog=8):
    """A guest that listens and then runs `body`; `s` is the listening socket."""
    family = "AF_INET6" if ":" in address else "AF_INET"
    process = box.start(["python3", "-c", f"import socket, sys, time\ns = socket.socket(socket.{family})\n"
                         f"s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
                         f"s.bind(('{address}', {port})); s.listen({backlog}); print('up', flush=True)\n" + body])
    process.wait_for(b"up")
    return process


def read_all(sock):
    data = b""
    while piece := sock.recv(1 << 16):
        data += piece
    return data


ECHO = """
c, peer = s.accept()
while data := c.recv(65536): c.sendall(data)
c.close()
print(peer[0])
"""


def test_every_address():
    for address in ("127.0.0.1", "0.0.0.0", "::1", "::"):
        with Sandbox() as box:
            process = server(box, ECHO, address)
            with box.dial(8000) as client:
                client.sendall(b"hello")
                check_equal(client.recv(5), b"hello", address)
                client.shutdown(socket.SHUT_WR)
                check_equal(client.recv(5), b"", address)
            check_equal(process.finish().status, 0, address)


def test_nobody_listens():
    with Sandbox() as box:
        refused(lambda: box.dial(8000), errno.ECONNREFUSED)
        for port in (0, 65536, 2**32 - 1):
            refused(lambda: box.dial(port), errno.EINVAL)
        # Ephemeral ports, too: a connection must not find itself.
        for port in range(32768, 32868):
            refused(lambda: box.dial(port), errno.ECONNREFUSED)
        request = box.request("DIAL", Writer().u32(80).data, [os.open("/dev/null", os.O_RDWR)])
        refused(lambda: box.next(request), errno.EINVAL)


def test_much_both_ways():
    with Sandbox() as box:
        process = server(box, ECHO)
        client = box.dial(8000)
        content = os.urandom(1 << 20) * 16
        thread = threading.Thread(target=lambda: (client.sendall(content), client.shutdown(socket.SHUT_WR)))
        thread.start()
        check(read_all(client) == content, "other bytes came back")
        thread.join()
        check_equal(process.finish().status, 0)


def test_half_close_of_the_guest():
    with Sandbox() as box:
        process = server(box, "c, _ = s.accept(); c.sendall(b'bye'); c.shutdown(socket.SHUT_WR)\n"
                         "print(c.recv(100), flush=True)")
        client = box.dial(8000)
        check_equal(read_all(client), b"bye")
        client.sendall(b"still here")
        client.close()
        check(b"still here" in process.finish().out, process.output)


def test_a_client_that_goes_away_resets():
    with Sandbox() as box:
        process = server(box, "c, _ = s.accept()\ntry:\n  while True: c.sendall(b'x' * 65536)\n"
                         "except (ConnectionResetError, BrokenPipeError) as e: print('reset', flush=True)")
        client = box.dial(8000)
        client.recv(10)
        client.close()
        process.wait_for(b"reset")


def test_a_guest_that_resets():
    with Sandbox() as box:
        server(box, "import struct\nc, _ = s.accept(); c.recv(1)\n"
               "c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); c.close()")
        client = box.dial(8000)
        client.sendall(b"abc")
        check_equal(read_all(client), b"")


def test_back_pressure():
    with Sandbox() as box:
        process = server(box, "c, _ = s.accept(); sys.stdin.readline()\ntotal = 0\n"
                         "while d := c.recv(65536): total += len(d)\nprint('got', total, flush=True)")
        client = box.dial(8000)
        client.setblocking(False)
        sent = 0
        while select.select([], [client], [], 0.3)[1]:
            sent += client.send(b"x" * 65536)
        check(sent < 32 << 20, f"{sent} bytes were taken for a guest that reads nothing")
        os.write(process.stdin, b"\n")
        client.setblocking(True)
        client.sendall(b"y" * 1000)
        client.shutdown(socket.SHUT_WR)
        process.wait_for(b"got %d\n" % (sent + 1000))
        client.close()


def test_a_full_backlog_waits():
    with Sandbox() as box:
        process = server(box, "sys.stdin.readline()\nfor _ in range(4):\n c, _ = s.accept(); c.sendall(b'hi'); c.close()", backlog=1)
        near = []
        for _ in range(4):
            a, b = socket.socketpair()
            near.append((a, box.request("DIAL", Writer().u32(8000).data, [b.fileno()])))
            b.close()
        check(box.silent(near[3][1]), "connected beyond the backlog")
        os.write(process.stdin, b"\n")
        for sock, request in near:
            box.expect(request, "DONE")
            check_equal(read_all(sock), b"hi")


def test_the_listener_goes_while_one_waits():
    with Sandbox() as box:
        process = server(box, "sys.stdin.readline()", backlog=0)
        requests = []
        for _ in range(3):
            a, b = socket.socketpair()
            requests.append((a, box.request("DIAL", Writer().u32(8000).data, [b.fileno()])))
            b.close()
        check(box.silent(requests[2][1]), "connected beyond the backlog")
        process.finish()
        try:
            box.next(requests[2][1])
            raise AssertionError("connected to nobody")
        except Refused as error:
            check(error.code in (errno.ECONNREFUSED, errno.ECONNRESET), error)


def test_cancel():
    with Sandbox() as box:
        process = server(box, "c, _ = s.accept()\ntry:\n  print(c.recv(10), flush=True)\nexcept ConnectionResetError: print('reset', flush=True)")
        near, far = socket.socketpair()
        request = box.request("DIAL", Writer().u32(8000).data, [far.fileno()])
        far.close()
        box.expect(request, "DONE")
        box.cancel(request)
        check_equal(near.recv(10), b"")
        process.wait_for(b"reset")


def test_many_and_a_limit():
    with Sandbox() as box:
        server(box, "import threading\n"
               "def serve(c):\n while d := c.recv(100): c.sendall(d)\n"
               "while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()", backlog=128)
        clients = [box.dial(8000) for _ in range(256)]
        refused(lambda: box.dial(8000), errno.EAGAIN)
        for i, client in enumerate(clients):
            client.sendall(b"%d" % i)
        for i, client in enumerate(clients):
            check_equal(client.recv(10), b"%d" % i)
            client.close()


def test_the_sandbox_ends_with_open_connections():
    with Sandbox() as box:
        server(box, "c = s.accept(); time.sleep(100)")
        client = box.dial(8000)
        box.channel.send("SHUTDOWN", Writer().str("enough").data)
        check_equal(client.recv(10), b"")


run(sys.modules[__name__])
