"""A program on a terminal of its own; the test is the user who reads and types."""
import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import time

from .tap import PATIENCE_S


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

    def read(self, timeout=0.02):
        """What has come; false when nothing does in that time."""
        if not select.select([self.master], [], [], timeout)[0]:
            return False
        self.seen += os.read(self.master, 65536)
        return True

    def expect(self, text):
        """What came up to there, without it."""
        wanted, end = text.encode(), time.monotonic() + PATIENCE_S
        while wanted not in self.seen:
            left = end - time.monotonic()
            if left < 0 or not self.read(left):
                raise AssertionError(f"{text!r} does not come; seen {self.seen[-1000:]!r}")
        before, self.seen = self.seen.split(wanted, 1)
        return before.decode(errors="replace")

    def end(self):
        """The exit status. The terminal must be what it was."""
        end = time.monotonic() + PATIENCE_S
        while self.child.poll() is None:
            if time.monotonic() > end:
                raise AssertionError(f"does not end; seen {self.seen[-1000:]!r}")
            self.read()
        while self.read(0):
            pass
        self.check_restored()
        return self.child.returncode

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & (termios.ECHO | termios.ICANON)

    def check_restored(self):
        if termios.tcgetattr(self.slave) != self.before:
            raise AssertionError("the terminal is not what it was")

    def signal(self, number):
        self.child.send_signal(number)
