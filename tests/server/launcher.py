"""hotcell-launcher alone, asked by a server that the test plays: a good one, a bad one, one that dies."""
import array
import os
import signal
import socket
import struct
import subprocess
import tempfile

from harness import scene, tap
from harness.tap import PATIENCE_S, check, check_equal

LAUNCHER = os.path.join(os.environ["BUILD"], "hotcell-launcher")
SIZE = 280
LIMITS = 9
LAUNCH, KILL, FREEZE, THAW, USAGE = range(1, 6)
HELLO, LAUNCHED, FAILED, DONE, USED, EXITED = range(16, 22)
HOST = 1
MEMORY, PIDS, DISK = 256 << 20, 256, 64 << 20


class Launcher:
    def __init__(self, store=True):
        self.root = tempfile.TemporaryDirectory(prefix="hotcell-launcher-")
        self.options = ["--store", self.root.name] if store else []

    def __enter__(self):
        scene.become_reaper()
        self.socket, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE_S)

        def take_place():
            os.dup2(far.fileno(), 3)
            os.set_inheritable(3, True)
        self.child = subprocess.Popen([LAUNCHER, *self.options], stdin=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, close_fds=False, preexec_fn=take_place)
        far.close()
        kind, id, body, fds = self.hear()
        check_equal(kind, HELLO)
        return self

    def say(self, kind, id=1, body=b"", size=SIZE, reserved=0, fds=()):
        packet = struct.pack("<IIQ", kind, reserved, id) + body
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([packet.ljust(size, b"\0")[:size]], control)

    def launch(self, id=1, memory=MEMORY, pids=PIDS, cpu=1000, template=HOST, hostname=b"box"):
        limits = [memory, pids, DISK, 0, 0, 0, cpu, 0, 0]
        self.say(LAUNCH, id, struct.pack(f"<{LIMITS}QI", *limits, template) + hostname.ljust(65, b"\0"))

    def hear(self):
        data, control, flags, unused = self.socket.recvmsg(SIZE + 1, socket.CMSG_SPACE(4 * 4))
        if not data:
            return None, 0, b"", []
        check_equal(len(data), SIZE, "size of a packet")
        fds = array.array("i")
        for level, kind, value in control:
            fds.frombytes(value)
        kind, unused, id = struct.unpack_from("<IIQ", data)
        return kind, id, data[16:], list(fds)

    def expect(self, wanted, wanted_id=1):
        kind, id, body, fds = self.hear()
        text = body[4:].split(b"\0")[0] if kind == FAILED else b""
        check_equal((kind, id), (wanted, wanted_id), text)
        return fds[0] if fds else body

    def started(self, id=1, **options):
        self.launch(id, **options)
        return self.expect(LAUNCHED, id)

    def refused(self, part, id=1, **options):
        self.launch(id, **options)
        body = self.expect(FAILED, id)
        check(part in body[4:].split(b"\0")[0].decode(), body)

    def check_gone(self):
        """It ended, with everything."""
        check_equal(self.child.wait(PATIENCE_S), 0)
        scene.until_nobody_is_left()
        check_equal(scene.groups_of(self.child.pid), [], "control groups")
        check_equal(os.listdir(self.root.name), [], "stores")

    def __exit__(self, *unused):
        self.socket.close()
        self.child.wait(PATIENCE_S)
        self.child.stderr.close()
        self.root.cleanup()


def test_launch_and_kill():
    with Launcher() as l:
        control = l.started()
        check_equal(len(os.listdir(l.root.name)), 1)
        l.say(USAGE)
        l.expect(USED)
        l.say(KILL)
        body = l.expect(EXITED)
        check_equal(struct.unpack_from("<I", body)[0], signal.SIGKILL, "status")
        os.close(control)
        l.socket.close()
        l.check_gone()


def test_numbers_can_be_used_again():
    with Launcher(store=False) as l:
        for unused in range(3):
            os.close(l.started(7))  # a kernel process whose channel closes ends by itself
            l.expect(EXITED, 7)


def test_freeze():
    with Launcher() as l:
        control = l.started()
        l.say(FREEZE)
        kind, id, body, fds = l.hear()
        if kind == FAILED:
            raise tap.Skip("no freezer on this host")
        check_equal(kind, DONE)
        l.say(THAW)
        l.expect(DONE)
        l.say(FREEZE)
        l.expect(DONE)
        l.say(KILL)  # also frozen
        l.expect(EXITED)
        os.close(control)


def test_requests_that_are_refused():
    with Launcher() as l:
        l.refused("template", template=2)
        l.refused("memory", memory=0)
        l.refused("memory", memory=1 << 63)
        l.refused("processes", pids=0)
        l.refused("CPU", cpu=1 << 40)
        for name in (b"", b"-x", b"a b", b"a/b", b"\xff", b"x\ny"):
            l.refused("host name", hostname=name)
        l.refused("number", id=0)
        control = l.started()
        l.refused("number")
        for kind in (FREEZE, THAW, USAGE):
            l.say(kind, 99)
            l.expect(FAILED, 99)
        l.say(KILL, 99)  # nobody: no answer
        l.say(KILL)
        l.expect(EXITED)
        os.close(control)


def test_packets_of_no_server():
    """It ends: who sends this is not the server that started it."""
    for bad in [dict(kind=0), dict(kind=99), dict(kind=HELLO), dict(kind=EXITED), dict(kind=USAGE, size=SIZE - 1),
                dict(kind=USAGE, size=SIZE + 1), dict(kind=USAGE, size=1), dict(kind=USAGE, reserved=1),
                dict(kind=USAGE, fds=[0]), dict(kind=LAUNCH, body=b"\xff" * (SIZE - 16))]:
        with Launcher() as l:
            control = l.started()
            l.say(**bad)
            l.check_gone()
            os.close(control)


def test_the_server_dies():
    with Launcher() as l:
        controls = [l.started(id) for id in range(1, 6)]
        l.socket.close()
        l.check_gone()
        for control in controls:
            os.close(control)


def test_signals_do_not_reach_it():
    with Launcher() as l:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            l.child.send_signal(number)
        control = l.started()
        os.close(control)
        l.expect(EXITED)


def test_it_is_killed():
    with Launcher() as l:
        controls = [l.started(id) for id in range(1, 6)]
        l.child.kill()
        l.child.wait()
        scene.until_nobody_is_left()
        for control in controls:
            os.close(control)
        with Launcher() as later:  # sweeps what is left of the first one
            scene.until(lambda: not scene.groups_of(l.child.pid), "control groups are left")


def test_by_hand():
    done = subprocess.run([LAUNCHER], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
    check_equal(done.returncode, 1)
    check("started by hotcell-server" in done.stderr, done.stderr)


def test_it_is_killed_when_a_kernel_process_has_just_begun():
    """On one processor that has got no further, mostly, when we hear of it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [min(before)])
    try:
        for unused in range(15):
            with Launcher(store=False) as l:
                control = l.started()
                l.child.kill()
                l.child.wait()
                scene.until_nobody_is_left()
                os.close(control)
    finally:
        os.sched_setaffinity(0, before)


if __name__ == "__main__":
    tap.run(__import__("__main__"))
