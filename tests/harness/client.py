"""The verbs that talk to a server, against one of tests/harness/daemon.py."""
import os
import socket
import subprocess
import threading

from . import process
from .daemon import Daemon
from .tap import PATIENCE_S


class Client(Daemon):
    """A server, and `hotcell VERB` with its address and key."""

    def environment(self, **changes):
        return {**process.ENVIRONMENT, "E2B_API_URL": self.exports["E2B_API_URL"], "E2B_API_KEY": self.key,
                **changes}

    def __exit__(self, kind, *unused):
        alive = self.child.poll() is None
        super().__exit__(kind, *unused)
        if kind is None and alive and self.child.returncode != 0:
            raise AssertionError(f"the server ended with status {self.child.returncode}")

    def open(self, *arguments, env=None, **options):
        return subprocess.Popen([self.hotcell, *arguments], env=self.environment(**(env or {})),
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                   "stderr": subprocess.PIPE, **options})

    def bytes(self, *arguments, stdin=b"", env=None):
        """(status, output, errors), as bytes."""
        done = subprocess.run([self.hotcell, *arguments], input=stdin, capture_output=True, timeout=PATIENCE_S,
                              env=self.environment(**(env or {})))
        return done.returncode, done.stdout, done.stderr

    def verb(self, *arguments, **options):
        """The same as text."""
        status, out, err = self.bytes(*arguments, **options)
        return status, out.decode(), err.decode()

    def output(self, *arguments, **options):
        """What a verb prints that must succeed."""
        status, out, err = self.bytes(*arguments, **options)
        if status != 0:
            raise AssertionError(f"hotcell {' '.join(arguments)}: {status} {err.decode()}")
        return out

    def inside(self, id, script):
        return self.output("exec", id, "sh", "-c", script).decode()


class Liar:
    """A server on loopback that says what it is told to say, once per connection."""

    def __init__(self, *answers, hold=False):
        """hold: the last connection stays open."""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.answers = list(answers)
        self.hold = hold
        self.held = None
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            for text in self.answers:
                with self.listener.accept()[0] as connection:
                    connection.recv(65536)
                    connection.sendall(text)
                    if self.hold and text is self.answers[-1]:
                        self.held = connection.dup()
        except OSError:
            pass  # nobody asks any more

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.listener.close()
        if self.held:
            self.held.close()


def answer(body, status="200 OK"):
    body = body if isinstance(body, bytes) else body.encode()
    return (f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n").encode() + body


def run(hotcell, *arguments, **environment):
    """A verb without a server."""
    return subprocess.run([hotcell, *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
                          stdin=subprocess.DEVNULL, env={**process.ENVIRONMENT, **environment})


HOTCELL = os.environ.get("HOTCELL")
