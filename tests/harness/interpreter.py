"""Port 49999 of a sandbox without an SDK, and drivers that a test writes itself.

A driver is a program inside: who is root there may replace it. `script(cell, text)` puts a Python program where
python3 is looked for, with the helpers of PRELUDE: frame(), request(), and so on.
"""
import base64
import http.client
import json
import re
import time

from .cell import Cell, connection_of
from .tap import PATIENCE_S, check, check_equal

PORT = 49999
PROGRAM = "/usr/local/sbin/python3"  # before all others in PATH
PATTERN = PROGRAM[:-1] + "[3]"  # of its processes, and not of who looks for them
REAL = "/usr/bin/python3"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

PRELUDE = f"""#!{REAL} -Su
import os, signal, sys, time
requests, events = os.fdopen(3, "rb", 0), 4

def write(data, fd=events):
    while data:
        data = data[os.write(fd, data):]

def frame(name, argument="-", content=b""):
    write(b"%s %s %d\\n" % (name.encode(), str(argument).encode(), len(content)) + content)

def exactly(size):
    data = b""
    while len(data) < size:
        more = requests.read(size - len(data))
        if not more:
            sys.exit(0)
        data += more
    return data

def request():
    "(name, argument, content) of the next one."
    head = b""
    while not head.endswith(b"\\n"):
        head += exactly(1)
    name, argument, size = head.decode().split()
    return name, argument, exactly(int(size))

def next_execution():
    "(id, code) of the next one; variables are collected in `variables`."
    while True:
        name, argument, content = request()
        if name == "execute":
            return argument, content.decode()
        variables.append((name, content.decode()))

variables = []
"""

# Says "ready", then executes the code of each execution as Python, with id and count at hand.
OBEDIENT = """
frame("ready")
count = 0
while True:
    id, code = next_execution()
    count += 1
    exec(code, globals())
"""


class Interpreter(Cell):
    def __init__(self, d, driver=OBEDIENT, **body):
        super().__init__(d, **body)
        if driver is not None:
            self.script(driver)

    def as_root(self, command):
        root = {"Authorization": "Basic " + base64.b64encode(b"root:").decode()}
        connection, response = self.stream("process.Process/Start", {
            "process": {"cmd": "/bin/sh", "args": ["-c", command], "envs": {"PATH": PATH}}}, root)
        with connection_of(connection):
            text = response.read()
        check(b'"status":"exit status 0"' in text, text)

    def script(self, text, program=PROGRAM):
        """From now on drivers are this program."""
        data = base64.b64encode((PRELUDE + text).encode()).decode()
        self.as_root(f"mkdir -p $(dirname {program}); echo {data} | base64 -d > {program}; chmod 755 {program}")

    def drivers(self):
        """How many processes of that program there are."""
        connection, response = self.start(f"pgrep -fc {PATTERN}")
        with connection_of(connection):
            for word in re.findall(rb'"stdout":"([^"]*)"', response.read()):
                return int(base64.b64decode(word))

    # ---- requests ----

    def send(self, method, path, body=None, headers=None):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        return self.open(method, path, data, {"Content-Type": "application/json", **(headers or {})}, port=PORT)

    def ask(self, method, path, body=None, headers=None):
        """(status, text or value)"""
        connection, response = self.send(method, path, body, headers)
        with connection_of(connection):
            text = response.read().decode()
        kind = response.headers.get("Content-Type", "")
        return response.status, json.loads(text) if kind.startswith("application/json") else text

    def begin(self, code, **body):
        """An Execution under way."""
        return Execution(self, {"code": code, **body})

    def execute(self, code, **body):
        with self.begin(code, **body) as execution:
            return execution.all()

    def create(self, **body):
        status, value = self.ask("POST", "/contexts", body)
        check_equal(status, 200, value)
        return value["id"]


class Execution:
    """A response of /execute that is being read."""

    def __init__(self, cell, body):
        self.connection, self.response = cell.send("POST", "/execute", body)
        check_equal(self.response.status, 200, self.response.status != 200 and self.response.read())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.response.close()
        self.connection.close()

    def line(self):
        """The next line; None at the end."""
        text = self.response.readline()
        if not text:
            return None
        check(text.endswith(b"\n") and text.isascii(), f"not a line: {text[:200]}")
        return json.loads(text)

    def until(self, type):
        while True:
            line = self.line()
            check(line is not None, f"no {type}")
            if line["type"] == type:
                return line

    def all(self):
        return Lines(iter(self.line, None))

    def cut_or_all(self):
        """All lines, or None if the response was cut."""
        try:
            text = self.response.read()
        except (http.client.IncompleteRead, ConnectionError):
            return None
        return Lines(json.loads(line) for line in text.splitlines())


class Lines(list):
    def of(self, type):
        return [line for line in self if line["type"] == type]

    @property
    def error(self):
        errors = self.of("error")
        return errors[0] if errors else None

    @property
    def count(self):
        return self.of("number_of_executions")[0]["execution_count"]

    @property
    def stdout(self):
        return "".join(line["text"] for line in self.of("stdout"))

    def check_ended(self):
        check(self and self[-1] == {"type": "end_of_execution"}, f"no end: {self[-3:]}")
        check_equal(len(self.of("end_of_execution")), 1)
        return self


def is_cut(execution):
    """The response ends without its end."""
    try:
        execution.response.read()  # unlike readline(), it tells
    except (http.client.IncompleteRead, ConnectionError):
        return True
    return False


def wait_until(condition, what, seconds=PATIENCE_S):
    deadline = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < deadline, f"{what}: not within {seconds} s")
        time.sleep(0.02)
