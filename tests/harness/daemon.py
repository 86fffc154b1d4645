"""`hotcell serve` for tests: a data directory of its own, a port that the host chooses.

The test program becomes the reaper of its descendants, so that whatever outlives the server is its child
and can be seen.
"""
import http.client
import json
import os
import pwd
import resource
import shutil
import signal
import subprocess
import tempfile

from . import process, scene
from .tap import PATIENCE_S

ANNOUNCED = ("E2B_API_URL", "E2B_SANDBOX_URL")
NOBODY = 65534


class Daemon:
    def __init__(self, *options, pool=2, code_pool=0, user=None, root=None, descriptors=None, env=None):
        """user: a uid that starts it (from root). root: a directory of an earlier one, kept by the caller.
        descriptors: its limit of them. env: more of its environment."""
        self.hotcell = os.environ["HOTCELL"]
        self.options = list(options)
        self.pool = pool
        self.code_pool = code_pool
        self.descriptors = descriptors
        self.env = env or {}
        self.user = user
        self.own = root is None
        self.root = root or self.make_root()
        self.data = os.path.join(self.root, "data")
        self.exports = {}
        self.key = None

    def make_root(self):
        root = tempfile.mkdtemp(prefix="hotcell-server-")
        os.chmod(root, 0o755)
        if self.user is not None:
            os.chown(root, self.user, self.user)
        return root

    def command(self, verb="serve", *more):
        return [self.hotcell, verb, *more]

    def start(self, wait=True):
        scene.become_reaper()
        self.err = open(os.path.join(self.root, "log"), "ab+")
        as_user = {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}
        if self.descriptors:
            limit = (self.descriptors, self.descriptors)
            as_user["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        self.child = subprocess.Popen(
            self.command("serve", "--data-dir", self.data, "--listen", "127.0.0.1:0",
                         "--pool-size", str(self.pool), "--code-pool", str(self.code_pool), *self.options),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.err, cwd="/",
            env={**process.ENVIRONMENT, "HOME": self.root, **self.env}, **as_user)
        return self.wait_started() if wait else self

    def wait_started(self):
        while not all(name in self.exports for name in ANNOUNCED):
            line = self.child.stdout.readline().decode()
            if not line:
                raise AssertionError(f"it did not start: {self.log()}")
            name, value = line.removeprefix("export ").strip().split("=", 1)
            self.exports[name] = value
        # The key follows when there is one, in the same write.
        os.set_blocking(self.child.stdout.fileno(), False)
        rest = (self.child.stdout.read() or b"").decode()
        os.set_blocking(self.child.stdout.fileno(), True)
        for line in rest.splitlines():
            name, value = line.removeprefix("export ").split("=", 1)
            self.exports[name] = value
        self.key = self.exports.get("E2B_API_KEY", self.key)
        self.port = int(self.exports["E2B_API_URL"].rsplit(":", 1)[1])
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, *unused):
        self.stop()
        if self.own:
            shutil.rmtree(self.root, ignore_errors=True)

    def stop(self, number=signal.SIGTERM):
        if self.child.poll() is None:
            self.child.send_signal(number)
            try:
                self.child.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
                raise
        self.child.stdout.close()
        self.err.close()
        self.exports = {}
        return self.child.returncode

    def again(self, *options):
        """Stopped or killed: a server on the same data."""
        later = Daemon(*(options or self.options), pool=self.pool, code_pool=self.code_pool, user=self.user, root=self.root)
        later.key = self.key
        return later

    def log(self):
        with open(os.path.join(self.root, "log"), errors="replace") as file:
            return file.read()

    def events(self, name):
        found = []
        for line in self.log().splitlines():
            if line.startswith("{"):
                entry = json.loads(line)
                if entry["event"] == name:
                    found.append(entry)
        return found

    # ---- requests ----

    def request(self, method, path, body=None, key=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        fields = {"X-API-Key": key or self.key or "none", **(headers or {})}
        if body is not None:
            body = json.dumps(body)
            fields["Content-Type"] = "application/json"
        try:
            connection.request(method, path, body, fields)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        try:
            value = json.loads(data)
        except ValueError:
            value = data.decode(errors="replace")
        return answer.status, value, answer.headers

    def create(self, expect=201, **body):
        status, value, headers = self.request("POST", "/sandboxes", {"templateID": "base", "timeout": 600, **body})
        if status != expect:
            raise AssertionError(f"create: {status} {value}")
        return value["sandboxID"] if expect == 201 else (value, headers)

    def metrics(self):
        """{"name{labels}": number} of GET /metrics."""
        status, text, unused = self.request("GET", "/metrics")
        if status != 200:
            raise AssertionError(f"metrics: {status}")
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
                for line in text.splitlines() if not line.startswith("#")}

    def wait_pool(self):
        def is_full():
            now = self.metrics()
            return (now['hotcell_pool_ready{pool="plain"}'], now['hotcell_pool_ready{pool="code"}']) == (self.pool, self.code_pool)
        scene.until(is_full, "the pools are not full")

    def run_key(self, *arguments):
        done = subprocess.run([self.hotcell, "key", *arguments, "--data-dir", self.data], capture_output=True,
                              text=True, timeout=PATIENCE_S, env=dict(process.ENVIRONMENT, HOME=self.root),
                              **({} if self.user is None else {"user": self.user, "group": self.user,
                                                               "extra_groups": []}))
        return done

    # ---- what there is on the host ----

    def tls_port(self):
        """The port that the server listens on besides its plain one."""
        mine = set()
        for fd in os.listdir(f"/proc/{self.child.pid}/fd"):
            try:
                mine.add(os.readlink(f"/proc/{self.child.pid}/fd/{fd}"))
            except OSError:
                pass
        with open("/proc/net/tcp") as file:
            for fields in (line.split() for line in file.readlines()[1:]):
                port = int(fields[1].split(":")[1], 16)
                if fields[3] == "0A" and f"socket:[{fields[9]}]" in mine and port != self.port:
                    return port
        raise AssertionError("no TLS port")

    def launcher(self):
        return next(p for p in scene.children(self.child.pid) if scene.comm(p) == "hotcell-launche")

    def kernels(self):
        return [p for p in scene.children(self.launcher()) if scene.comm(p) == "hotcell-kernel"]

    def check_nothing_left(self, launcher):
        """No process, control group or store of a server that is gone, of which the launcher was that pid."""
        scene.until_nobody_is_left()
        scene.until(lambda: not scene.groups_of(launcher), "control groups are left")
        stores = os.path.join(self.data, "sandboxes")
        scene.until(lambda: not os.path.exists(stores) or not os.listdir(stores), "stores are left")


def unmount(path):
    """The launcher of a server that has just ended may still have a foot in it."""
    scene.until(lambda: subprocess.run(["umount", path], stderr=subprocess.DEVNULL).returncode == 0,
                f"{path} is busy")


def plain_user():
    """A uid without rights for a server that root's tests start as somebody else; None for other callers."""
    return NOBODY if os.geteuid() == 0 else None


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def user_name(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
