"""`hotcell code` for tests: with the real drivers, or with one that says what the test wants."""
import os
import shutil
import subprocess
import tempfile

from . import process
from .tap import PATIENCE_S
from .terminal import Terminal

HOTCELL = os.environ["HOTCELL"]

# A driver stands in for python3: its body follows. It has requests(), which yields code, and send().
DRIVER = '''#!/usr/bin/python3 -S
import os, signal, sys, time

def send(name, argument="-", data=b""):
    data = data if isinstance(data, bytes) else data.encode()
    raw = b"%s %s %d\\n%s" % (name.encode(), argument.encode(), len(data), data)
    while raw:
        raw = raw[os.write(4, raw):]

def parts(all):
    for type, data in all.items():
        send("part", type, data)
    send("close")

def read(size):
    data = b""
    while len(data) < size:
        data += os.read(3, size - len(data)) or sys.exit(0)
    return data

def requests():
    send("ready")
    number = 0
    while True:
        head = b""
        while not head.endswith(b"\\n"):
            head += read(1)
        name, id, size = head.split()
        code = read(int(size)).decode()
        number += 1
        send("count", str(number))
        yield code
        send("done", id.decode())

'''


class Place:
    """A directory to work in, and another one for what sessions keep."""

    def __init__(self, driver=None):
        """driver: the body of one that is run instead of Python's."""
        self.root = tempfile.mkdtemp(prefix="hotcell-code-")
        self.work = os.path.join(self.root, "work")
        os.mkdir(self.work)
        self.state = os.path.join(self.root, "state")
        self.options = []
        if driver is not None:
            os.chmod(self.root, 0o755)
            self.write("bin/python3", DRIVER + driver, 0o755)
            self.options = ["-e", "PATH=/work/bin:/usr/bin:/bin"]
        self.environment = {**process.ENVIRONMENT, "XDG_STATE_HOME": self.state, "HOME": self.root}

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.root)

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def read(self, name):
        with open(os.path.join(self.work, name), "rb") as file:
            return file.read()

    def command(self, *arguments):
        return [HOTCELL, "code", *self.options, *arguments]

    def bytes(self, *arguments, stdin=b"", **changes):
        """(status, output, errors), as bytes."""
        done = subprocess.run(self.command(*arguments), input=stdin, capture_output=True, timeout=PATIENCE_S,
                              cwd=self.work, env={**self.environment, **changes})
        return done.returncode, done.stdout, done.stderr

    def run(self, *arguments, stdin="", **changes):
        status, out, err = self.bytes(*arguments, stdin=stdin.encode(), **changes)
        return status, out.decode(), err.decode()

    def open(self, *arguments, **options):
        return subprocess.Popen(self.command(*arguments), cwd=self.work, env=self.environment,
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                                   **options})

    def terminal(self, *arguments, **changes):
        return Terminal(self.command(*arguments), {**self.environment, **changes}, self.work)
