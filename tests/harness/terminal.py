"""A program on a terminal of its own; the test is the user who reads and types."""
import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import time

PATIENCE_S = 20


class Terminal:
    def __init__(self, command, env, cwd=None, size=(30, 100)):
        self.master, self.slave = os.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.child = subprocess.Popen(command, stdin=self.slave, stdout=self.slave, stderr=self.slave, env=env,
                                      cwd=cwd, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        os.close(self.master)
        os.close(self.slave)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, text):
        """What came up to there, without it."""
        wanted, end = text.encode(), time.monotonic() + PATIENCE_S
        while wanted not in self.seen:
            left = end - time.monotonic()
            if left < 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f"{text!r} does not come; seen {self.seen[-1000:]!r}")
            self.seen += os.read(self.master, 65536)
        before, self.seen = self.seen.split(wanted, 1)
        return before.decode(errors="replace")

    def end(self):
        """The exit status. The terminal must be what it was."""
        end = time.monotonic() + PATIENCE_S
        while self.child.poll() is None:
            if time.monotonic() > end:
                raise AssertionError(f"does not end; seen {self.seen[-1000:]!r}")
            if select.select([self.master], [], [], 0.02)[0]:
                self.seen += os.read(self.master, 65536)
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 65536)
        if termios.tcgetattr(self.slave) != self.before:
            raise AssertionError("the terminal is not what it was")
        return self.child.returncode

    def signal(self, number=signal.SIGINT):
        self.child.send_signal(number)
