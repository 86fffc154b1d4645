"""The control channel of a kernel process (src/wire/wire.h), spoken a second time, in Python.

    with Sandbox() as box:
        box.stat("/etc/passwd").size
        done = box.run("echo hello")
"""
import array
import collections
import errno
import os
import select
import socket
import struct
import subprocess
import threading
import time

from .tap import PATIENCE_S

BUILD = os.environ.get("BUILD", "build")

TYPES = dict(CONFIG=1, READY=2, SPAWN=3, SPAWNED=4, INPUT=5, OUTPUT=6, OUTPUT_ACK=7, RESIZE=8, SIGNAL=9,
             EXITED=10, SHUTDOWN=11, DIED=12, STATS=13, STATS_REPLY=14, ERROR=15, LOG=16, DONE=17,
             CANCEL=18, FS_STAT=20, FS_ENTRY=21, FS_LIST=22, FS_ENTRIES=23, FS_MAKE_DIR=24, FS_MOVE=25,
             FS_REMOVE=26, FS_READ=27, FS_WRITE=28, FS_WATCH=29, FS_EVENT=30, DIAL=31, FREEZE=32,
             THAW=33, REBOOT=34, SET_LIMITS=35, SET_HOSTNAME=36, LIST_PROCESSES=37, PROCESS_LIST=38,
             LISTEN=39, KNOCK=40, ACCEPT=41, SAVE=42, LOAD=43)
NAMES = {number: name for name, number in TYPES.items()}
ABOUT = ["request", "program", "user", "cwd", "path"]
EVENTS = [None, "create", "write", "remove", "rename", "chmod"]
LIMITS = ["memory", "pids", "disk", "inodes", "files", "buffers", "cpu", "lifetime", "arena"]
STATS = ["calls_served", "calls_refused", "cpu_user_ns", "cpu_system_ns", "kernel_cpu_ns", "memory",
         "memory_peak", "memory_cache", "memory_limit", "disk_limit", "cpu_count", "arena", "disk",
         "inodes", "disk_refused", "processes", "processes_total", "start_ns"]
TEMPLATE, COW, RO, RW, TMPFS, SYMLINK, ETC, DPKG, STORE = range(1, 10)
TTY, MAIN, LOGIN = 1, 2, 4
ALL = 2**64 - 1

Message = collections.namedtuple("Message", "type request body fds")
Entry = collections.namedtuple("Entry", "type mode target_mode uid gid size mtime_ns name path owner "
                               "group target metadata")
Process = collections.namedtuple("Process", "pid parent uid threads cpu_ns memory started_ms state command")
Event = collections.namedtuple("Event", "event name entry")
Finished = collections.namedtuple("Finished", "pid status out err")


class Refused(Exception):
    """An ERROR message."""

    def __init__(self, code, about, text):
        super().__init__(f"{errno.errorcode.get(code, code)} about {about}: {text}")
        self.code = code
        self.about = about
        self.text = text


class Gone(Exception):
    """The channel ended."""


class Writer:
    def __init__(self):
        self.data = b""

    def u32(self, *values):
        self.data += struct.pack(f"<{len(values)}I", *values)
        return self

    def u64(self, *values):
        self.data += struct.pack(f"<{len(values)}Q", *values)
        return self

    def str(self, *values):
        for value in values:
            raw = value.encode() if isinstance(value, str) else value
            self.data += struct.pack("<I", len(raw)) + raw + b"\0"
        return self

    def pairs(self, pairs):
        self.u32(len(pairs))
        for key, value in pairs.items():
            self.str(key, value)
        return self


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, size):
        assert self.at + size <= len(self.data), "a message is too short"
        self.at += size
        return self.data[self.at - size:self.at]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def u64(self):
        return struct.unpack("<Q", self.take(8))[0]

    def str(self):
        size = self.u32()
        raw = self.take(size + 1)
        assert raw[-1] == 0 and 0 not in raw[:-1], "a string is malformed"
        return os.fsdecode(raw[:-1])

    def entry(self):
        numbers = [self.u32() for _ in range(5)] + [self.u64(), self.u64()]
        numbers[6] -= 2**64 if numbers[6] >= 2**63 else 0
        texts = [self.str() for _ in range(5)]
        metadata = {}
        for _ in range(self.u32()):
            key = self.str()
            metadata[key] = self.str()
        return Entry(*numbers, *texts, metadata)

    def process(self):
        return Process(*[self.u32() for _ in range(4)], *[self.u64() for _ in range(3)], self.str(), self.str())

    def end(self):
        assert self.at == len(self.data), "a message is too long"


class Channel:
    """Framing and who waits for which answer. One thread at a time."""

    def __init__(self, sock):
        self.socket = sock
        self.buffer = b""
        self.fds = []
        self.waiting = []  # messages nobody has asked for yet

    def send(self, type, body=b"", request=0, fds=()):
        header = struct.pack("<4I", TYPES[type], 0, len(body), request)
        if fds:
            socket.send_fds(self.socket, [header], list(fds))
            self.socket.sendall(body)
        else:
            self.socket.sendall(header + body)

    def parse(self):
        if len(self.buffer) < 16:
            return None
        type, flags, length, request = struct.unpack("<4I", self.buffer[:16])
        if len(self.buffer) < 16 + length:
            return None
        body = self.buffer[16:16 + length]
        self.buffer = self.buffer[16 + length:]
        return Message(NAMES[type], request, body, [])

    def read(self, timeout):
        """The next message, or None when the time is up."""
        end = time.monotonic() + timeout
        while True:
            message = self.parse()
            if message:
                return message
            left = end - time.monotonic()
            if left < 0 or not select.select([self.socket], [], [], left)[0]:
                return None
            data = self.socket.recv(1 << 20)
            if not data:
                raise Gone([m.body[8:].split(b"\0")[0] for m in self.waiting if m.type == "DIED"])
            self.buffer += data

    def wait(self, match, timeout=PATIENCE_S):
        """The first message for which match(message); others wait for their turn."""
        for message in self.waiting:
            if match(message):
                self.waiting.remove(message)
                return message
        end = time.monotonic() + timeout
        while True:
            message = self.read(max(0, end - time.monotonic()))
            if message is None:
                raise TimeoutError("no answer")
            if match(message):
                return message
            self.waiting.append(message)


def launch():
    """A kernel process that has not been configured: its channel and the process that holds it."""
    near, far = socket.socketpair()
    keeper = subprocess.Popen([f"{BUILD}/tests/channel/launch-kernel", BUILD], pass_fds=(),
                              preexec_fn=lambda: os.dup2(far.fileno(), 3, inheritable=True),
                              close_fds=False, stdin=subprocess.DEVNULL)
    far.close()
    data, fds, _, _ = socket.recv_fds(near, 4, 1)
    near.close()
    if not fds:
        raise RuntimeError("the kernel process did not start")
    return socket.socket(fileno=fds[0]), keeper, struct.unpack("<I", data)[0]


class Sandbox:
    """A ready sandbox with the host's programs."""

    def __init__(self, limits=None, mounts=(), hostname="box", user="user", uid=1000):
        sock, self.keeper, self.kernel_pid = launch()
        self.channel = Channel(sock)
        self.requests = 0
        self.configure(dict(limits or {}), mounts, hostname, user, uid)
        self.channel.wait(lambda m: m.type == "READY")

    def configure(self, limits, mounts, hostname, user, uid):
        rows, fds = [], []
        for guest, kind in [("/usr", TEMPLATE), ("/etc", ETC), ("/var/lib/dpkg", DPKG)]:
            if os.path.isdir(guest):
                rows.append((kind, guest, "", guest))
        for top in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
            if os.path.islink(top):
                rows.append((SYMLINK, top, os.readlink(top), None))
            elif os.path.isdir(top):
                rows.append((TEMPLATE, top, "", top))
        rows += mounts
        body = Writer().u32(4).str(hostname, user).u32(uid, uid)
        body.u64(*[limits.get(name, 0) for name in LIMITS]).u32(len(rows))
        for kind, guest, target, source in rows:
            body.u32(kind, 1 if source else 0).str(guest, target)
            if source:
                fds.append(os.open(source, os.O_PATH | os.O_CLOEXEC))
        self.channel.send("CONFIG", body.data, 0, fds)
        for fd in fds:
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.channel.socket.close()
        try:
            self.keeper.wait(PATIENCE_S)
        finally:
            self.keeper.kill()
            self.keeper.wait()

    # ---- requests and answers

    def request(self, type, body=b"", fds=()):
        self.requests += 1
        self.channel.send(type, body, self.requests, fds)
        return self.requests

    def next(self, request, timeout=PATIENCE_S):
        """The next message about a request; ERROR is raised."""
        message = self.channel.wait(lambda m: m.request == request, timeout)
        if message.type == "ERROR":
            body = Reader(message.body)
            code, about, text = body.u32(), body.u32(), body.str()
            body.end()
            raise Refused(code, ABOUT[about], text)
        return message

    def expect(self, request, type, timeout=PATIENCE_S):
        message = self.next(request, timeout)
        assert message.type == type, f"{message.type} instead of {type}"
        return Reader(message.body)

    def call(self, type, body=b"", answer="DONE", fds=(), timeout=PATIENCE_S):
        return self.expect(self.request(type, body, fds), answer, timeout)

    def silent(self, request, seconds=0.05):
        """True if nothing more comes about a request (a bound on what a test notices, not a wait)."""
        try:
            self.next(request, seconds)
        except TimeoutError:
            return True
        return False

    # ---- processes

    def spawn(self, argv, env=None, cwd="", user="", flags=LOGIN, fds=(), size=(24, 80), path=None):
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin"} if env is None else env
        strings = [os.fsencode(a) for a in argv] + [os.fsencode(f"{k}={v}") for k, v in env.items()]
        packed = b"".join(s + b"\0" for s in strings)
        body = Writer().u32(flags, *size).str(user, cwd, path or argv[0]).u32(len(argv), len(env), len(packed))
        return self.request("SPAWN", body.data + packed, fds)

    def start(self, argv, **more):
        """A process with pipes: a Running."""
        return Running(self, argv, **more)

    def run(self, command, timeout=PATIENCE_S, **more):
        """A shell command to its end."""
        argv = ["/bin/bash", "-c", command] if isinstance(command, str) else command
        return self.start(argv, **more).finish(timeout)

    # ---- files

    def stat(self, path, user=""):
        return self.call("FS_STAT", Writer().str(user, path).data, "FS_ENTRY").entry()

    def make_dir(self, path, user=""):
        return self.call("FS_MAKE_DIR", Writer().str(user, path).data, "FS_ENTRY").entry()

    def move(self, source, destination, user=""):
        return self.call("FS_MOVE", Writer().str(user, source, destination).data, "FS_ENTRY").entry()

    def remove(self, path, user="", timeout=PATIENCE_S):
        self.call("FS_REMOVE", Writer().str(user, path).data, timeout=timeout)

    def list(self, path, depth=1, user="", timeout=PATIENCE_S):
        request = self.request("FS_LIST", Writer().str(user, path).u32(depth).data)
        entries = []
        while True:
            message = self.next(request, timeout)
            if message.type == "DONE":
                return entries
            body = Reader(message.body)
            entries += [body.entry() for _ in range(body.u32())]
            body.end()

    def read(self, path, offset=0, length=ALL, user="", sink=None):
        """The content; with `sink` given (a function for each piece) only its entry is returned."""
        near, far = socket.socketpair()
        request = self.request("FS_READ", Writer().str(user, path).u64(offset, length).data, [far.fileno()])
        far.close()
        with near:
            entry = self.expect(request, "FS_ENTRY").entry()
            pieces = []
            while data := near.recv(1 << 18):
                (sink or pieces.append)(data)
        self.expect(request, "DONE")
        return entry if sink else b"".join(pieces)

    def write(self, path, content, metadata=None, user="", timeout=PATIENCE_S):
        """`content`: bytes, or an iterable of them."""
        near, far = socket.socketpair()
        body = Writer().str(user, path).pairs(metadata or {}).data
        request = self.request("FS_WRITE", body, [far.fileno()])
        far.close()
        with near:
            try:
                for piece in [content] if isinstance(content, bytes) else content:
                    near.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the answer says why
        return self.expect(request, "FS_ENTRY", timeout).entry()

    def watch(self, path, recursive=False, entry=False, user=""):
        flags = (1 if recursive else 0) | (2 if entry else 0)
        request = self.request("FS_WATCH", Writer().str(user, path).u32(flags).data)
        self.expect(request, "DONE")
        return request

    def event(self, watch, timeout=PATIENCE_S):
        body = self.expect(watch, "FS_EVENT", timeout)
        event, name, has = EVENTS[body.u32()], body.str(), body.u32()
        entry = body.entry() if has else None
        body.end()
        return Event(event, name, entry)

    def cancel(self, request):
        self.channel.send("CANCEL", b"", request)

    # ---- images of all files

    def save(self, timeout=60):
        near, far = socket.socketpair()
        request = self.request("SAVE", b"", [far.fileno()])
        far.close()
        pieces = []
        with near:
            while data := near.recv(1 << 18):
                pieces.append(data)
        self.expect(request, "DONE", timeout)
        return b"".join(pieces)

    def load(self, image, timeout=60):
        near, far = socket.socketpair()
        request = self.request("LOAD", b"", [far.fileno()])
        far.close()
        with near:
            try:
                near.sendall(image)
                near.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the answer says why
            self.expect(request, "DONE", timeout)

    # ---- the rest

    def dial(self, port):
        near, far = socket.socketpair()
        request = self.request("DIAL", Writer().u32(port).data, [far.fileno()])
        far.close()
        try:
            self.expect(request, "DONE")
        except Exception:
            near.close()
            raise
        return near

    def listen(self, port):
        """The listener's request, for accept()."""
        request = self.request("LISTEN", Writer().u32(port).data)
        self.expect(request, "DONE")
        return request

    def accept(self, listener, timeout=PATIENCE_S):
        """The connection of the next guest that knocks."""
        self.expect(listener, "KNOCK", timeout)
        near, far = socket.socketpair()
        request = self.request("ACCEPT", Writer().u32(listener).data, [far.fileno()])
        far.close()
        self.expect(request, "DONE")
        return near

    def processes(self):
        body = self.call("LIST_PROCESSES", answer="PROCESS_LIST")
        found = [body.process() for _ in range(body.u32())]
        body.end()
        return found

    def set_limits(self, **limits):
        self.call("SET_LIMITS", Writer().u64(*[limits.get(name, 0) for name in LIMITS]).data)

    def set_hostname(self, name):
        self.call("SET_HOSTNAME", Writer().str(name).data)

    def stats(self):
        body = self.call("STATS", answer="STATS_REPLY")
        return {name: body.u64() for name in STATS}


class Running:
    """A process with its output being collected."""

    def __init__(self, box, argv, stdin=None, more=(), **options):
        self.box = box
        pipes = [os.pipe() for _ in range(3)]
        self.stdin = pipes[0][1]
        self.request = box.spawn(argv, fds=[pipes[0][0], pipes[1][1], pipes[2][1], *more], **options)
        for fd in (pipes[0][0], pipes[1][1], pipes[2][1]):
            os.close(fd)
        self.streams = {1: pipes[1][0], 2: pipes[2][0]}
        self.output = {1: b"", 2: b""}
        self.threads = [threading.Thread(target=self.collect, args=(n,), daemon=True) for n in (1, 2)]
        for thread in self.threads:
            thread.start()
        if stdin is not None:
            os.write(self.stdin, stdin)
        try:
            self.pid = box.expect(self.request, "SPAWNED").u32()
        except BaseException:
            os.close(self.stdin)
            raise

    def collect(self, number):
        with os.fdopen(self.streams[number], "rb", buffering=0) as stream:
            while data := stream.read(65536):
                self.output[number] += data

    def wait_for(self, text, timeout=PATIENCE_S):
        """Until its standard output has `text`."""
        end = time.monotonic() + timeout
        while text not in self.output[1]:
            if time.monotonic() > end:
                raise TimeoutError(f"{text!r} is not in {self.output}")
            time.sleep(0.002)

    def signal(self, number, group=False):
        self.box.channel.send("SIGNAL", Writer().u32(number, 1 if group else 0).data, self.request)

    def exited(self, timeout=PATIENCE_S):
        """The wait status."""
        return self.box.expect(self.request, "EXITED", timeout).u32()

    def finish(self, timeout=PATIENCE_S):
        os.close(self.stdin)
        status = self.exited(timeout)
        for thread in self.threads:
            thread.join(timeout)
        return Finished(self.pid, status, self.output[1], self.output[2])
