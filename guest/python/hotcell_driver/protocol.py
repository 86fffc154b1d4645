"""Frames to and from the server (docs/interpreter.md): requests on one descriptor, events on another.

Theory of operation. Any thread sends events, and so do signal handlers and finalizers, which run in the middle of
anything and may raise there. Hence an event, or a group of events that must stay together, is one entry of a queue:
appending it is atomic, and whoever comes next writes what is left. How much of an entry is written is recorded by the
same C call that writes it (`counts.extend(map(write, ...))`): there is no moment at which Python code could be
interrupted between the two. So nothing that user code does to this thread can break a frame in two.

The descriptors are moved away from 3 and 4, above what programs use, and are close-on-exec. In a forked child the
channel is dead: what a child prints goes to the real descriptors 1 and 2.
"""
__builtins__ = dict(vars(__import__("builtins")))  # what the user does to builtins stays out of here

import fcntl
import os
import threading
from collections import deque
from errno import EBADF, EPIPE
from select import poll, POLLIN

HIGH = (200, 60, 10)  # numbers that programs which count on small ones do not meet; the first that the limit allows
READ_SIZE = 1 << 16
WRITE_SIZE = 1 << 16
TEXT_PIECE = 1 << 18  # characters
HEADER_MAX = 200

_read, _write, _exit, _close, _getpid = os.read, os.write, os._exit, os.close, os.getpid


def encode(name, argument="-", content=b""):
    return b"%s %s %d\n%s" % (name.encode(), argument.encode(), len(content), content)


def utf8(text):
    """A str as UTF-8, whatever is in it: lone surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace")


def moved(fd):
    """The descriptor out of the user's way, close-on-exec."""
    for number in HIGH:
        try:
            high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, number)
        except OSError:
            continue
        _close(fd)
        return high
    os.set_inheritable(fd, False)
    return fd


def _end_if_closed(error):
    """Nobody listens any more, or the user closed everything. What a signal's handler raised is another thing."""
    if error.errno in (EBADF, EPIPE):
        _exit(1)
    raise error


class Events:
    """The way out. Entries are [bytes, counts of what write() took]."""

    def __init__(self, fd):
        self.fd = moved(fd)
        self.lock = threading.RLock()
        self.queue = deque()
        self.pumping = False
        self.dead = False

    def send(self, data):
        """`data`: one or more whole frames. Returns when they are written, or being written further up the stack."""
        if self.dead:
            return
        self.queue.append((data, []))
        self.pump()

    def pump(self):
        with self.lock:
            if self.pumping:  # we interrupted ourselves: the outer one goes on
                return
            self.pumping = True
            try:
                while self.queue and not self.dead:
                    self._write_some(*self.queue[0])
            finally:
                self.pumping = False

    def _write_some(self, data, counts):
        start = sum(counts)
        if start >= len(data):
            self.queue.popleft()
            return
        view = memoryview(data)[start:start + WRITE_SIZE]
        try:
            counts.extend(map(_write, (self.fd,), (view,)))
        except OSError as error:
            _end_if_closed(error)

    def complete(self):
        """What an exception kept from being written."""
        if self.queue:
            self.pump()

    def forget(self):
        """In a forked child."""
        self.dead = True
        self.queue.clear()
        self.lock = threading.RLock()
        try:
            _close(self.fd)
        except OSError:
            pass


class Requests:
    """The way in. Bytes are collected by the call that reads them, for the reasons above."""

    def __init__(self, fd):
        self.fd = moved(fd)
        self.chunks = []
        self.data = b""
        self.wanted = 1  # bytes before it is worth while to look again

    def wait(self):
        """Blocks until there is more, and takes it. False: end of file."""
        try:
            self.chunks.extend(map(_read, (self.fd,), (READ_SIZE,)))
        except OSError as error:
            _end_if_closed(error)
        return bool(self.chunks[-1])

    def next(self):
        """(name, argument, content), or None when more must be read first."""
        if len(self.data) + sum(map(len, self.chunks)) < self.wanted:
            return None
        self.data, self.chunks = b"".join([self.data, *self.chunks]), []
        self.wanted = len(self.data) + 1
        end = self.data.find(b"\n", 0, HEADER_MAX + 1)
        if end < 0:
            if len(self.data) > HEADER_MAX:
                _exit(1)
            return None
        name, argument, size = self.data[:end].split(b" ")
        size = int(size)
        after = end + 1 + size
        if len(self.data) < after:
            self.wanted = after
            return None
        content = self.data[end + 1:after]
        self.data, self.wanted = self.data[after:], 1
        return name.decode(), argument.decode(), content.decode("utf-8", "replace")

    def pending(self, timeout_ms=0):
        """True when something has come that was not taken yet."""
        if self.data or self.chunks:
            return True
        poller = poll()
        poller.register(self.fd, POLLIN)
        return bool(poller.poll(timeout_ms))

    def forget(self):
        try:
            _close(self.fd)
        except OSError:
            pass


class Channel:
    """Both ways, and what events look like."""

    def __init__(self, request_fd=3, event_fd=4):
        self.requests = Requests(request_fd)
        self.events = Events(event_fd)
        self.pid = _getpid()
        self.executing = False
        os.register_at_fork(after_in_child=self.forget)

    def forget(self):
        self.events.forget()
        self.requests.forget()

    @property
    def in_child(self):
        """True in a process that user code forked."""
        return self.events.dead

    def ready(self):
        self.events.send(encode("ready"))

    def failed(self, text):
        self.events.send(encode("failed", "-", utf8(text)))

    def begin(self, number):
        self.events.send(encode("count", str(number)))
        self.executing = True

    def done(self, id):
        self.executing = False
        self.events.send(encode("done", id))

    def put_text(self, name, text):
        """Queues it, for events.complete() to write; `name` is stdout or stderr. False: it is too long for that."""
        if len(text) > TEXT_PIECE or self.in_child:
            return False
        if self.executing:  # what is printed in between, by a thread that was left behind, goes nowhere
            self.events.queue.append((encode(name, "-", utf8(text)), []))
        return True

    def text(self, name, text):
        """In pieces: it streams, and is not held twice."""
        for start in range(0, len(text) if self.executing else 0, TEXT_PIECE):
            self.events.send(encode(name, "-", utf8(text[start:start + TEXT_PIECE])))

    def result(self, kind, parts):
        self._group(encode("result", kind), parts)

    def error(self, name, value, traceback):
        self._group(encode("error"), {"name": utf8(name), "value": utf8(value), "traceback": utf8(traceback)})

    def _group(self, head, parts):
        if self.executing:
            frames = [head, *(encode("part", type, content) for type, content in parts.items()), encode("close")]
            self.events.send(b"".join(frames))
