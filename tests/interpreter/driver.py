"""Drives one driver of the code interpreter by its protocol, as the server does, and checks each rule on the way.

    with Driver(["python3", "/opt/hotcell/python/driver.py"]) as driver:      inside a sandbox
        done = driver.execute("x = 1\nx + 1")
        done.text, done.stdout, done.results, done.error, done.count

    Driver(command, inside=False)   natively: /opt/hotcell stands for the build's guest/

INTERPRETER_INSIDE=0 in the environment makes natively the default: the same test file is run both ways.
INTERPRETER_OPTIONS are options of `hotcell run` for all sandboxes of a test file.
Piecewise: start(code), then next_event() or wait_for(condition), interrupt(), finish().
"""
import fcntl
import json
import os
import select
import selectors
import signal
import subprocess
import time

from harness.tap import PATIENCE_S
from interpreter.frames import Parser, Rules, encode

GUEST_DIR = "/opt/hotcell"
# Inside: starts the driver in a process group of its own, to which SIGUSR1 brings SIGINT. From outside SIGINT would not
# do: of too many in a row `hotcell run` thinks that somebody wants to end it. Descriptor 5 tells that it has arrived.
WRAPPER = """
import os, signal, sys
child = 0
def interrupt(*unused):
    os.killpg(child, signal.SIGINT)
    os.write(5, b"!")
os.set_inheritable(5, False)
signal.signal(signal.SIGUSR1, interrupt)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.execvp(sys.argv[1], sys.argv[1:])
os.close(3)
os.close(4)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
os._exit(status if status >= 0 else 128 - status)
"""
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
               "TZ": "UTC"}


class Gone(AssertionError):
    """The driver has ended; `status` as of subprocess."""

    def __init__(self, status, stderr):
        super().__init__(f"the driver has ended with {status}: {stderr[-2000:]}")
        self.status = status


class Failed(Exception):
    """The driver said that it cannot work."""


class Result:
    def __init__(self, kind):
        self.kind = kind
        self.parts = {}

    def __getitem__(self, type):
        return self.parts[type]

    def get(self, type):
        return self.parts.get(type)

    def json(self, type="application/json"):
        return json.loads(self.parts[type])

    def __repr__(self):
        return f"<{self.kind} {({k: v[:80] for k, v in self.parts.items()})}>"


class Execution:
    """What one execution sent. stdout, stderr: text of the frames; out, err: bytes of the pipes 1 and 2."""

    def __init__(self, id):
        self.id = id
        self.count = None
        self.pieces = {"stdout": [], "stderr": []}
        self.out = bytearray()
        self.err = bytearray()
        self.results = []
        self.errors = []
        self.order = []  # names of the events, for tests of what follows what
        self.finished = False
        self.open = None

    @property
    def stdout(self):
        return "".join(self.pieces["stdout"])

    @property
    def stderr(self):
        return "".join(self.pieces["stderr"])

    @property
    def main(self):
        mains = [r for r in self.results if r.kind == "main"]
        return mains[-1] if mains else None

    @property
    def displays(self):
        return [r for r in self.results if r.kind == "display"]

    @property
    def text(self):
        return self.main.get("text/plain") if self.main else None

    @property
    def error(self):
        return self.errors[0] if self.errors else None

    def add(self, frame):
        self.order.append(frame.name)
        if frame.name == "count":
            self.count = int(frame.argument)
        elif frame.name in self.pieces:
            self.pieces[frame.name].append(frame.text())
        elif frame.name == "result":
            self.open = Result(frame.argument)
            self.results.append(self.open)
        elif frame.name == "error":
            self.open = Result("error")
            self.errors.append(self.open)
        elif frame.name == "part":
            self.open.parts[frame.argument] = frame.text()
        elif frame.name == "done":
            self.finished = True

    def __repr__(self):
        return (f"<execution {self.id} count={self.count} stdout={self.stdout[-300:]!r} stderr={self.stderr[-300:]!r} "
                f"out={bytes(self.out[-300:])!r} err={bytes(self.err[-300:])!r} results={self.results} "
                f"errors={self.errors} finished={self.finished}>")


class Driver:
    def __init__(self, command, inside=None, env=None, cwd=None, options=(), start=True):
        self.inside = os.environ.get("INTERPRETER_INSIDE") != "0" if inside is None else inside
        self.rules = Rules()
        self.parser = Parser()
        self.execution = None
        self.next_id = 1
        self.between = []  # events outside of executions
        self.pipes = {"out": bytearray(), "err": bytearray()}
        self.selector = selectors.DefaultSelector()
        self.launch(list(command), dict(ENVIRONMENT, **(env or {})), cwd, list(options))
        if start:
            self.wait_ready()

    # starting and ending

    def launch(self, command, env, cwd, options):
        request_read, self.requests = os.pipe()
        self.events, event_write = os.pipe()
        # Numbers that cannot be 3 or 4 themselves, so that one does not overwrite the other.
        self.arrived, arrived_write = os.pipe()
        source = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in (request_read, event_write, arrived_write)]
        passed = (3, 4, 5) if self.inside else (3, 4)

        def install():
            for fd, number in zip(source, passed):
                os.dup2(fd, number)
        if self.inside:
            home = env.pop("HOME", None)
            env = {k: v for k, v in env.items() if k not in ENVIRONMENT} | ({"HOME": home} if home else {})
            command = [os.environ["HOTCELL"], "run", "-q", "--preserve-fds", "3",
                       *sum((["--env", f"{k}={v}"] for k, v in env.items()), []),
                       *(["--workdir", cwd] if cwd else []), *os.environ.get("INTERPRETER_OPTIONS", "").split(),
                       *options, "--", "/usr/bin/python3", "-SEc", WRAPPER, *command]
            env, cwd = dict(ENVIRONMENT, HOME=os.environ.get("HOME", "/")), None
        else:
            guest = os.path.join(os.environ["BUILD"], "guest")
            command = [word.replace(GUEST_DIR, guest) for word in command]
            env.setdefault("HOME", os.environ.get("HOME", "/"))
        self.child = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, pass_fds=passed, preexec_fn=install,
                                      start_new_session=True)
        for fd in (request_read, event_write, arrived_write, *source):
            os.close(fd)
        for fd, what in ((self.events, "events"), (self.child.stdout.fileno(), "out"), (self.child.stderr.fileno(), "err")):
            os.set_blocking(fd, False)
            self.selector.register(fd, selectors.EVENT_READ, what)

    def wait_ready(self):
        while self.rules.state == "starting":
            frame = self.next_event()
            if frame.name == "failed":
                raise Failed(frame.text())

    def close(self):
        """End of file on 3: the driver exits by itself. Its exit status."""
        if self.requests is not None:
            os.close(self.requests)
            self.requests = None
        deadline = time.monotonic() + PATIENCE_S
        while self.selector.get_map() and time.monotonic() < deadline:
            self.read_once(deadline, parse=False)
        try:
            return self.child.wait(max(0.1, deadline - time.monotonic()))
        finally:
            self.kill()

    def kill(self):
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        for fd in (self.requests, self.events, self.arrived):
            if fd is not None:
                os.close(fd)
        self.requests = self.events = self.arrived = None
        self.child.stdout.close()
        self.child.stderr.close()
        self.selector.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *unused):
        if self.events is not None:
            if kind is None and self.child.poll() is None and self.execution is None:
                self.close()
            else:
                self.kill()

    # requests

    def send(self, name, argument="-", content=b""):
        data = encode(name, argument, content)
        while data:
            data = data[os.write(self.requests, data):]

    def set_env(self, key, value):
        self.send("env", "-", f"{key}={value}")

    def start(self, code, env=None):
        for key, value in (env or {}).items():
            self.send("with", "-", f"{key}={value}")
        id = self.next_id
        self.next_id += 1
        self.rules.execute(id)
        self.execution = Execution(id)
        for what in self.pipes:
            self.pipes[what].clear()
        self.send("execute", str(id), code)
        return self.execution

    def execute(self, code, env=None):
        self.start(code, env)
        return self.finish()

    def interrupt(self):
        """SIGINT to the driver's process group; for an execution that is under way not before it was accepted."""
        if self.execution:
            self.wait_for(lambda execution: execution.count is not None)
        if self.inside:
            os.kill(self.child.pid, signal.SIGUSR1)
            if select.select([self.arrived], [], [], PATIENCE_S)[0]:
                os.read(self.arrived, 1)
        else:
            os.killpg(self.child.pid, signal.SIGINT)

    # events

    def read_once(self, deadline, parse=True):
        ready = self.selector.select(max(0, deadline - time.monotonic()))
        for key, _ in ready:
            try:
                data = os.read(key.fd, 1 << 20)
            except BlockingIOError:
                continue
            if not data:
                self.selector.unregister(key.fd)
            if key.data == "events":
                if parse:
                    self.parser.feed(data)
            else:
                self.pipes[key.data] += data
                if self.execution:
                    getattr(self.execution, key.data).extend(data)
        return bool(ready)

    def is_gone(self):
        return self.events not in self.selector.get_map()

    def next_event(self, timeout=PATIENCE_S):
        """The next event, checked and recorded."""
        deadline = time.monotonic() + timeout
        while True:
            frame = self.parser.next()
            if frame:
                self.rules.check(frame)
                if self.execution and self.rules.state != "starting":
                    self.execution.add(frame)
                else:
                    self.between.append(frame)
                return frame
            if self.is_gone():
                self.drain()
                raise Gone(self.child.wait(PATIENCE_S), bytes(self.pipes["err"]).decode(errors="replace"))
            if time.monotonic() > deadline:
                raise TimeoutError(f"no event in {timeout} s; {self.execution}; {bytes(self.pipes['err'])!r}")
            self.read_once(deadline)

    def wait_for(self, condition, patience=PATIENCE_S):
        """Events until condition(execution) holds; also looks at the pipes."""
        deadline = time.monotonic() + patience
        while not condition(self.execution):
            frame = self.parser.next()
            if frame:
                self.rules.check(frame)
                self.execution.add(frame)
            elif self.is_gone():
                raise Gone(self.child.wait(PATIENCE_S), bytes(self.pipes["err"]).decode(errors="replace"))
            elif time.monotonic() > deadline:
                raise TimeoutError(f"waited in vain; {self.execution}")
            else:
                self.read_once(deadline)

    def drain(self):
        """What is in the pipes now."""
        while self.read_once(time.monotonic()) and self.selector.get_map():
            pass

    def finish(self):
        """The rest of the execution, its `done`, and what was written to the pipes before."""
        self.wait_for(lambda execution: execution.finished)
        self.drain()
        done, self.execution = self.execution, None
        return done
