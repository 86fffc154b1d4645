"""sys.stdout and sys.stderr: text streams whose output becomes frames.

What is written is collected. It leaves at once at the end of a line when nothing left shortly before, so that a line
now and then is seen when it is printed and print(1) is one frame; else when there is much, when flush() asks, at the
end of the execution, and at the latest FLUSH_S later by a thread that starts when it is first needed. A loop of prints
costs a frame per FLUSH_S, not one per line.

fileno() is the real descriptor, for subprocesses. A forked child prints to that, too, line by line.
"""
__builtins__ = dict(vars(__import__("builtins")))  # what the user does to builtins stays out of here

import codecs
import io
import os
import threading
from _thread import start_new_thread
from signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask, valid_signals
from time import monotonic, sleep

FLUSH_S = 0.02
FLUSH_CHARACTERS = 1 << 15
ALL_SIGNALS = valid_signals()

_write = os.write


class Bytes(io.BufferedIOBase):
    """sys.stdout.buffer: bytes, which are taken as UTF-8."""

    def __init__(self, stream):
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data):
        data = bytes(data)
        with self._stream._lock:
            now = self._stream._collect(self._decoder.decode(data))
        if now:
            self._stream.flush()
        return len(data)

    def flush(self):
        self._stream.flush()

    def finish(self):
        """The execution ends: what is cut off now stays so."""
        self._stream._collect(self._decoder.decode(b"", True))

    def close(self):
        self.flush()

    def writable(self):
        return True

    def fileno(self):
        return self._stream.fileno()

    def isatty(self):
        return False

    @property
    def name(self):
        return self._stream.name

    @property
    def raw(self):
        return self

    mode = "wb"


class Stream(io.TextIOBase):
    encoding = "utf-8"
    errors = "backslashreplace"
    newlines = None
    line_buffering = False
    write_through = False
    mode = "w"

    def __init__(self, name, fd, channel, flusher):
        self.name = f"<{name}>"
        self._event = name
        self._fd = fd
        self._channel = channel
        self._flusher = flusher
        self._lock = threading.RLock()
        self._parts = []
        self._size = 0
        self._left_at = 0.0  # when something left for the last time
        self._seen = False  # by the flusher
        self.buffer = Bytes(self)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        with self._lock:
            now = self._collect(text)
        if now:
            self.flush()
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def _collect(self, text):
        """True when it must leave now."""
        if not text:
            return False
        self._parts.append(text)
        self._size += len(text)
        in_child = self._channel.in_child
        if self._size >= FLUSH_CHARACTERS or \
                text.endswith("\n") and (in_child or monotonic() - self._left_at > FLUSH_S):
            return True
        if not self._flusher.awake and not in_child:
            self._flusher.wake()
        return False

    def flush(self):
        """Writes without the lock: a handler of a signal may print while this thread writes, and must not wait for a
        thread that waits for this one. The order of frames is that of the queue."""
        with self._lock:
            if not self._parts:
                return
            parts, self._parts, self._size = self._parts, [], 0
            self._left_at, self._seen = monotonic(), False
            text = "".join(parts)
            queued = self._channel.put_text(self._event, text)
        if self._channel.in_child:
            self._print(text)
        elif queued:
            self._channel.events.complete()
        else:
            self._channel.text(self._event, text)

    @property
    def waiting(self):
        return bool(self._parts)

    def flush_old(self):
        """For the flusher: lets go of what has waited. True when something is left waiting. A part of a line leaves when
        it is seen the second time: print() writes the text and then the end of the line, and the thread may have come in
        between."""
        parts = self._parts  # another thread may take them meanwhile
        if parts and (self._seen or parts[-1].endswith("\n")):
            self.flush()
        self._seen = bool(self._parts)
        return self._seen

    def finish(self):
        with self._lock:
            self.buffer.finish()
        self.flush()

    def _print(self, text):
        data = text.encode("utf-8", "backslashreplace")
        while data:
            data = data[_write(self._fd, data):]

    def forget(self):
        """In a forked child: the parent prints what was there before."""
        self._lock = threading.RLock()
        self._parts, self._size = [], 0

    def reconfigure(self, **unused):
        self.flush()

    def close(self):
        """The context's streams stay open."""
        self.flush()

    def detach(self):
        raise io.UnsupportedOperation("detach")

    def writable(self):
        return True

    def fileno(self):
        return self._fd

    def isatty(self):
        return False


class Flusher:
    """The thread that lets go of what was printed and neither flushed nor followed by more."""

    def __init__(self):
        self.streams = []
        self.reset()

    def reset(self):
        self.awake = False
        self._started = False
        self._wanted = threading.Lock()
        self._wanted.acquire()

    def wake(self):
        """Called when something begins to wait."""
        self.awake = True
        try:
            if self._started:
                self._wanted.release()
            else:
                self._started = True
                self._start()
        except RuntimeError:  # released by two threads, or there may be no more threads
            pass

    def _start(self):
        """Unseen by threading.enumerate(), which is the user's, and by signals: one that the thread took would not end
        what the main thread waits for."""
        before = pthread_sigmask(SIG_BLOCK, ALL_SIGNALS)
        try:
            start_new_thread(self._run, ())
        finally:
            pthread_sigmask(SIG_SETMASK, before)

    def _run(self):
        while True:
            waiting = True
            while waiting:
                sleep(FLUSH_S)
                waiting = any([stream.flush_old() for stream in self.streams])
            self.awake = False
            if not any(stream.waiting for stream in self.streams):  # else: something came in between
                self._wanted.acquire()
            self.awake = True


def install(channel):
    """Returns (stdout, stderr), and sets those of sys."""
    import sys
    flusher = Flusher()
    flusher.streams = [Stream("stdout", 1, channel, flusher), Stream("stderr", 2, channel, flusher)]
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = flusher.streams

    def forget():
        flusher.reset()
        for stream in flusher.streams:
            stream.forget()
    os.register_at_fork(after_in_child=forget)
    return flusher.streams
