"""The kernel process's end of the control channel against a peer that sends anything."""
import os
import random
import socket
import struct
import sys

from harness.channel import ALL, LIMITS, NAMES, TYPES, Gone, Refused, Sandbox, Writer, launch
from harness.tap import PATIENCE_S, check, check_equal, run

if not os.access(os.environ["HOTCELL"], os.X_OK):
    sys.exit(77)

REQUESTS = ["FS_STAT", "FS_LIST", "FS_MAKE_DIR", "FS_MOVE", "FS_REMOVE", "FS_READ", "FS_WRITE", "FS_WATCH", "DIAL",
            "LISTEN", "ACCEPT", "FREEZE", "THAW", "REBOOT", "SET_LIMITS", "SET_HOSTNAME", "LIST_PROCESSES", "CANCEL", "STATS", "SPAWN",
            "SIGNAL", "RESIZE", "INPUT", "OUTPUT_ACK"]
PATHS = ["", "~", "~/a", "/", "/tmp/a", "/tmp/a/b", "a/b/c", "/proc", "/proc/self", "/dev", "/etc/passwd", "/sys", "..",
         "~x", "x" * 300, "/" * 100, "/usr/bin", "/dev/shm/x", "/proc/1/fd", "/proc/1/root"]


def body(chance, type):
    path = lambda: Writer().str(chance.choice(["", "", "", "root", "nobody", "0", "1:2", "x"]), chance.choice(PATHS))
    number = lambda: chance.choice([0, 1, 2, 3, 9, 80, 2**31, 2**32 - 1])
    if type in ("FS_STAT", "FS_MAKE_DIR", "FS_REMOVE"):
        return path().data
    if type == "FS_MOVE":
        return path().str(chance.choice(PATHS)).data
    if type in ("FS_LIST", "FS_WATCH"):
        return path().u32(chance.choice([0, 1, 2, 3])).data
    if type == "FS_READ":
        return path().u64(chance.choice([0, 1, 2**63, ALL]), chance.choice([0, 5, ALL])).data
    if type == "FS_WRITE":
        return path().pairs(chance.choice([{}, {"a": "b"}, {"": ""}, {"k" * 300: "v"}])).data
    if type == "LISTEN":
        return Writer().u32(chance.choice([0, 80, 81, 2**16, 2**32 - 1])).data
    if type in ("DIAL", "OUTPUT_ACK", "ACCEPT"):
        return Writer().u32(number()).data
    if type in ("SIGNAL", "RESIZE"):
        return Writer().u32(number(), number()).data
    if type == "SET_LIMITS":
        return Writer().u64(*[chance.choice([0, 0, 0, 1 << 20, 1 << 30, ALL]) for _ in LIMITS]).data
    if type == "SET_HOSTNAME":
        return Writer().str(chance.choice(["a", "", "b" * 100])).data
    if type == "SPAWN":
        return Writer().u32(chance.choice([0, 1, 4, 5]), number(), number()).str("", chance.choice(PATHS), "/bin/true") \
            .u32(1, 0, 5).data + b"true\0"
    return b""


def descriptor(chance):
    kind = chance.randrange(5)
    if kind == 0:
        return os.open("/dev/null", os.O_RDWR)
    if kind == 1:
        return os.open("/tmp", os.O_RDONLY)
    if kind == 2:
        read, write = os.pipe()
        os.close(chance.choice([read, write]))
        return next(fd for fd in (read, write) if is_open(fd))
    near, far = socket.socketpair(socket.AF_UNIX, chance.choice([socket.SOCK_STREAM, socket.SOCK_DGRAM]))
    if chance.randrange(2):
        near.send(b"some bytes")
    near.close()
    return far.detach()


def is_open(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False


def how_many(chance, type):
    if type == "SPAWN":
        return chance.choice([0, 1, 2, 3, 3, 3, 4, 5, 13, 16])
    if type == "ACCEPT":
        return chance.randrange(2)
    return 1 if type in ("FS_READ", "FS_WRITE", "DIAL") else 0


def test_valid_requests_in_any_order():
    """Whatever is asked for, in whatever state: every request is answered or refused, and nothing breaks."""
    for seed in range(6):
        chance = random.Random(seed)
        with Sandbox(limits={"disk": 64 << 20, "pids": 200}) as box:
            for _ in range(400):
                type = chance.choice(REQUESTS)
                fds = [descriptor(chance) for _ in range(how_many(chance, type))]
                request = chance.randrange(1, 40) if type == "CANCEL" or not chance.randrange(4) else None
                if request is None:
                    box.requests += 1
                    request = box.requests
                box.channel.send(type, body(chance, type), request, fds)
                for fd in fds:
                    os.close(fd)
                while message := box.channel.read(0):
                    check(message.type != "DIED", f"seed {seed}: {message}")
            box.requests += 100000
            box.call("THAW")
            check_equal(box.stat("/", user="0").path, "/", seed)


def test_garbled_bodies():
    """A body that does not parse ends the sandbox in order: never by a fault of the kernel process."""
    for seed in range(12):
        chance = random.Random(seed)
        with Sandbox() as box:
            try:
                for _ in range(200):
                    type = chance.choice(REQUESTS)
                    data = bytearray(body(chance, type))
                    for _ in range(chance.randrange(3)):
                        if data:
                            data[chance.randrange(len(data))] = chance.randrange(256)
                    if not chance.randrange(3):
                        data = data[:chance.randrange(len(data) + 1)]
                    fds = [descriptor(chance) for _ in range(how_many(chance, type))]
                    box.requests += 1
                    box.channel.send(type, bytes(data), box.requests, fds)
                    for fd in fds:
                        os.close(fd)
            except (BrokenPipeError, ConnectionResetError):
                pass
            try:
                last = box.request("THAW")  # answered in its turn, or never
            except (BrokenPipeError, ConnectionResetError):
                last = None
            try:
                died = box.channel.wait(lambda m: m.type == "DIED" or m.request == last)
            except Gone:
                raise AssertionError(f"seed {seed}: it ended without a word")
            if died.type == "DONE":
                continue
            ended = struct.unpack("<I", died.body[:4])[0] == 0  # a SPAWN that became the main program
            check(ended or b"malformed message" in died.body, f"seed {seed}: {died.body[:200]}")


def test_descriptors_nobody_asked_for():
    for type in ("STATS", "FS_STAT", "FREEZE", "CANCEL", "SIGNAL", "LISTEN"):
        with Sandbox() as box:
            try:
                box.request(type, body(random.Random(1), type), [0])
            except BrokenPipeError:
                pass  # the head was enough
            died = box.channel.wait(lambda m: m.type == "DIED")
            check(b"malformed" in died.body, died.body)
    for type in ("FS_READ", "FS_WRITE", "DIAL"):
        with Sandbox() as box:
            box.request(type, body(random.Random(1), type))
            died = box.channel.wait(lambda m: m.type == "DIED")
            check(b"malformed" in died.body, died.body)


def test_a_peer_that_does_not_read():
    """It is not read either: its requests stay in the socket, the sandbox goes on."""
    with Sandbox() as box:
        process = box.start(["/bin/sh", "-c", "for i in 1 2 3; do read x; echo $x; done"])
        box.channel.socket.settimeout(1)
        message = struct.pack("<4I", TYPES["STATS"], 0, 0, 7)
        sent = 0
        try:
            while sent < 64 << 20:
                sent += box.channel.socket.send(message * 4096)
        except TimeoutError:
            pass
        check(sent < 64 << 20, "64 MiB of requests were taken")
        os.write(process.stdin, b"a\nb\nc\n")
        process.wait_for(b"a\nb\nc\n")


def test_the_channel_closes():
    with Sandbox() as box:
        box.start(["sleep", "100"])
        box.channel.socket.close()
        box.keeper.wait(PATIENCE_S)


run(sys.modules[__name__])
