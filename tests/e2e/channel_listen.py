"""Ports that are served from outside: LISTEN, KNOCK and ACCEPT of the control channel."""
import errno
import os
import socket
import sys

from harness.channel import Refused, Sandbox, Writer
from harness.tap import check, check_equal, run

if not os.access(os.environ["HOTCELL"], os.X_OK):
    sys.exit(77)

PORT = 49999


def refused(function, code):
    try:
        function()
    except Refused as error:
        check_equal(errno.errorcode[error.code], errno.errorcode[code], error.text)
        return
    raise AssertionError("was not refused")


def guest(box, body, **more):
    """A guest with a function that connects; `body` is what it does."""
    return box.start(["python3", "-c", f"""
import socket, sys, time
def connect(address="127.0.0.1"):
    return socket.create_connection((address, {PORT}), 20)
def say(*words): print(*words, flush=True)
""" + body], **more)


def read_all(sock):
    data = b""
    while piece := sock.recv(1 << 16):
        data += piece
    return data


def test_every_address():
    with Sandbox() as box:
        listener = box.listen(PORT)
        for address in ("127.0.0.1", "127.1.2.3", "0.0.0.0", "::1", "::", "localhost", "::ffff:127.0.0.1", "box"):
            process = guest(box, f"c = connect('{address}'); c.sendall(b'hello'); say(c.recv(9), c.getpeername()[1])")
            with box.accept(listener) as near:
                check_equal(near.recv(5), b"hello", address)
                near.sendall(b"world")
            check_equal(process.finish().out, b"b'world' %d\n" % PORT, address)


def test_nobody_else_gets_the_port():
    with Sandbox() as box:
        box.listen(PORT)
        taken = box.run(["python3", "-c", f"""
import socket
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::1"), (socket.AF_INET6, "::")):
    for option in (None, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        s = socket.socket(family)
        if option: s.setsockopt(socket.SOL_SOCKET, option, 1)
        try: s.bind((address, {PORT})); s.listen(); print("bound", address, option)
        except OSError as e: assert e.errno == 98, e
s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", {PORT}))
print("udp")"""], user="root")
        check_equal(taken.out, b"udp\n", taken.err)


def test_a_guest_was_first():
    with Sandbox() as box:
        process = guest(box, f"s = socket.socket(); s.bind(('127.0.0.1', {PORT})); s.listen(); say('up'); sys.stdin.readline()")
        process.wait_for(b"up")
        refused(lambda: box.listen(PORT), errno.EADDRINUSE)
        process.finish()
        box.listen(PORT)
        refused(lambda: box.listen(PORT), errno.EADDRINUSE)
        for port in (0, 65536, 2**32 - 1):
            refused(lambda: box.listen(port), errno.EINVAL)
        for port in range(1, 8):
            box.listen(port)
        refused(lambda: box.listen(8), errno.EAGAIN)


def test_the_list_of_sockets():
    with Sandbox() as box:
        listener = box.listen(PORT)
        look = "print(*(l.split()[1:4] for l in open('/proc/net/tcp6').readlines()[1:]), sep='\\n', flush=True)"
        process = guest(box, f"{look}\nsay('--'); c = connect('::1'); c.recv(1)\n{look}\nsay('end')")
        near = box.accept(listener)
        near.sendall(b"x")
        process.wait_for(b"end")
        before, after = process.output[1].split(b"--")
        check_equal(before.count(b"C34F"), 1)
        check(b":C34F', '00000000000000000000000000000000:0000', '0A']" in before, before)
        check_equal(after.count(b", '01']"), 2, after)
        near.close()


def test_much_both_ways():
    with Sandbox() as box:
        listener = box.listen(PORT)
        process = guest(box, "c = connect()\nwhile data := c.recv(65536): c.sendall(data)")
        near = box.accept(listener)
        content = os.urandom(1 << 20) * 8
        if os.fork() == 0:
            near.sendall(content)
            near.shutdown(socket.SHUT_WR)
            os._exit(0)
        check(read_all(near) == content, "other bytes came back")
        os.wait()
        check_equal(process.finish().status, 0)


def test_half_close():
    with Sandbox() as box:
        listener = box.listen(PORT)
        process = guest(box, "c = connect(); c.sendall(b'question'); c.shutdown(socket.SHUT_WR)\n"
                             "while d := c.recv(100): say(d)\nsay('end')")
        near = box.accept(listener)
        check_equal(read_all(near), b"question")
        near.sendall(b"answer")
        process.wait_for(b"b'answer'")
        near.shutdown(socket.SHUT_WR)
        process.wait_for(b"end")


def test_who_closes_says_so():
    """A close of the daemon's end is the end for a guest that never closes its own, and what was said before arrives."""
    with Sandbox() as box:
        listener = box.listen(PORT)
        process = guest(box, "c = connect(); c.sendall(b'x' * 100000); sys.stdin.readline()\n"
                             "try:\n  while d := c.recv(1 << 20): say('got', len(d), d[:5])\n"
                             "except ConnectionResetError: say('reset')\nsay('over'); time.sleep(100)")
        near = box.accept(listener)
        near.sendall(b"413 !")
        near.close()
        os.write(process.stdin, b"\n")
        process.wait_for(b"over")
        check(b"got 5 b'413 !'" in process.output[1], process.output)


def test_closed_connections_leave_nothing():
    """The guest keeps every connection open, and goes on getting new ones."""
    with Sandbox() as box:
        listener = box.listen(PORT)
        process = guest(box, "kept = []\nfor i in range(300):\n  c = connect(); kept.append(c); c.recv(1); c.recv(1)\nsay('all')")
        for _ in range(300):
            near = box.accept(listener)
            near.sendall(b"x")
            near.close()
        process.wait_for(b"all")


def test_backlog_and_flood():
    with Sandbox() as box:
        listener = box.listen(PORT)
        process = guest(box, "socks = []\nfor i in range(400):\n  s = socket.socket(); s.setblocking(False)\n"
                             f"  e = s.connect_ex(('127.0.0.1', {PORT})); socks.append((e, s))\n"
                             "import select\nsay('ready', len(select.select([], [s for _, s in socks], [], 0)[1]))\n"
                             "sys.stdin.readline()\nfor _, s in socks: s.close()\nsay('closed')")
        process.wait_for(b"ready")
        check_equal(process.output[1].split()[1], b"129")
        box.expect(listener, "KNOCK")
        check(box.silent(listener), "a second KNOCK")
        check_equal(box.run("echo lives").out, b"lives\n")
        near, far = socket.socketpair()
        box.call("ACCEPT", Writer().u32(listener).data, fds=[far.fileno()])
        os.write(process.stdin, b"\n")
        process.wait_for(b"closed")
        # Those that wait are taken out one by one, closed as they are.
        for _ in range(129):  # one more was let in for the first
            box.expect(listener, "KNOCK")
            box.call("ACCEPT", Writer().u32(listener).data)
        check(box.silent(listener), "more knocks than connections")
        refused(lambda: box.call("ACCEPT", Writer().u32(listener).data, fds=[far.fileno()]), errno.EAGAIN)


def test_as_many_as_there_may_be():
    with Sandbox() as box:
        listener = box.listen(PORT)
        process = guest(box, "kept = [connect() for _ in range(70)]; say('up'); sys.stdin.readline()")
        near = [box.accept(listener) for _ in range(64)]
        process.wait_for(b"up")
        check(box.silent(listener), "a KNOCK without room")
        far = socket.socketpair()[1]
        refused(lambda: box.call("ACCEPT", Writer().u32(listener).data, fds=[far.fileno()]), errno.EAGAIN)
        near.pop().close()
        near.append(box.accept(listener))


def test_turned_away():
    with Sandbox() as box:
        listener = box.listen(PORT)
        for fds in ([], [os.open("/dev/null", os.O_RDWR)]):
            process = guest(box, "try: c = connect(); say(c.recv(1))\nexcept ConnectionResetError: say('reset')")
            box.expect(listener, "KNOCK")
            try:
                box.call("ACCEPT", Writer().u32(listener).data, fds=fds)
                check(not fds, "a file that is no socket")
            except Refused as error:
                check_equal(error.code, errno.EINVAL)
            process.wait_for(b"reset")
        far = socket.socketpair()[1]
        refused(lambda: box.call("ACCEPT", Writer().u32(77).data, fds=[far.fileno()]), errno.ENOENT)


def test_cancel():
    with Sandbox() as box:
        listener = box.listen(PORT)
        process = guest(box, "c = connect()\nd = connect(); say('two')\ntry: d.recv(1)\nexcept ConnectionResetError: say('reset')\n"
                             "try: connect()\nexcept ConnectionRefusedError: say('refused')\nc.sendall(b'on'); c.recv(1)")
        near = box.accept(listener)
        process.wait_for(b"two")
        box.expect(listener, "KNOCK")
        box.cancel(listener)
        process.wait_for(b"refused")
        check(b"reset" in process.output[1], process.output)
        check_equal(near.recv(2), b"on")
        near.close()
        check_equal(process.finish().status, 0)


def test_frozen_and_rebooted():
    with Sandbox() as box:
        listener = box.listen(PORT)
        process = guest(box, "c = connect(); c.sendall(b'early'); say('sent'); say(c.recv(9))")
        process.wait_for(b"sent")
        box.call("FREEZE")
        near = box.accept(listener)
        check_equal(near.recv(5), b"early")
        near.sendall(b"answer")
        box.call("THAW")
        process.wait_for(b"b'answer'")
        late = guest(box, "c = connect(); say('up'); time.sleep(100)")
        near = box.accept(listener)
        late.wait_for(b"up")
        box.call("REBOOT")
        check_equal(near.recv(1), b"")
        again = guest(box, "c = connect(); say(c.recv(1))")
        near = box.accept(listener)
        near.sendall(b"x")
        again.wait_for(b"b'x'")


def test_a_dial_meets_a_listener():
    with Sandbox() as box:
        listener = box.listen(PORT)
        with box.dial(PORT) as client, box.accept(listener) as near:
            client.sendall(b"round")
            check_equal(near.recv(5), b"round")


run(sys.modules[__name__])
