"""Sandboxes, their snapshots and forks, as a client of the API has them; and what lies on the server's disk."""
import base64
import concurrent.futures
import json
import os
import signal
import threading

from . import scene
from .cell import Cell
from .tap import check_equal

OCTETS = {"Content-Type": "application/octet-stream"}


class Sandbox(Cell):
    """A sandbox of any template, or one that exists."""

    def __init__(self, d, template="base", made=None, **body):
        self.d = d
        if not made:
            status, made, unused = d.request("POST", "/sandboxes", {"templateID": template, "timeout": 120, **body})
            check_equal(status, 201, made)
        self.made, self.id, self.token = made, made["sandboxID"], made.get("envdAccessToken", "")

    def write(self, path, data):
        check_equal(self.request("POST", f"/files?path={path}", data, OCTETS)[0], 200)

    def read(self, path):
        status, data, unused = self.request("GET", f"/files?path={path}")
        return data if status == 200 else status

    def output(self, command):
        """What a command printed."""
        text, data = self.run(command), b""
        while text:
            size = int.from_bytes(text[1:5], "big")
            event = json.loads(text[5:5 + size]).get("event", {})
            data += base64.b64decode(event.get("data", {}).get("stdout", ""))
            text = text[5 + size:]
        return data.decode()

    def snapshot(self, expect=201, **body):
        status, value, unused = self.d.request("POST", f"/sandboxes/{self.id}/snapshots", body)
        check_equal(status, expect, value)
        return value if expect == 201 else value["message"]

    def fork(self, expect=201, **body):
        status, value, unused = self.d.request("POST", f"/sandboxes/{self.id}/fork", body)
        check_equal(status, expect, value)
        return value if expect == 201 else value["message"]

    def kill(self):
        check_equal(self.d.request("DELETE", f"/sandboxes/{self.id}")[0], 204)


def encoded(id):
    return id.replace("/", "%2F").replace(":", "%3A")


def delete(d, id):
    return d.request("DELETE", f"/templates/{encoded(id)}")[0]


def files(d):
    return sorted(os.listdir(os.path.join(d.data, "snapshots")))


def listed(d, query=""):
    status, rows, unused = d.request("GET", f"/snapshots{query}")
    check_equal(status, 200, rows)
    return [row["snapshotID"] for row in rows]


def check_clean(d):
    """No snapshot, no file, no byte that is counted."""
    check_equal((listed(d), files(d)), ([], []))
    scene.until(lambda: d.metrics()["hotcell_snapshot_bytes"] == 0, "bytes are counted that nobody has")
    check_equal(d.metrics()["hotcell_snapshots"], 0)


def later(function, *arguments, **more):
    """Runs in a thread; .result() gives what it returned."""
    done = concurrent.futures.Future()

    def work():
        try:
            done.set_result(function(*arguments, **more))
        except BaseException as error:
            done.set_exception(error)
    threading.Thread(target=work, daemon=True).start()
    return done


def take_later(d, id, **body):
    return later(lambda: d.request("POST", f"/sandboxes/{id}/snapshots", body))


def again(d, *options):
    """The server that follows a killed or stopped one, in its place."""
    after = d.again(*options).start()
    d.child, d.err, d.port = after.child, after.err, after.port


class stopped_kernel:
    """The one kernel process of a sandbox stands still, so that what is asked of it is under way."""

    def __init__(self, d, before):
        (self.pid,) = set(d.kernels()) - set(before)

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)
        return self.pid

    def __exit__(self, *unused):
        try:
            os.kill(self.pid, signal.SIGCONT)
        except ProcessLookupError:
            pass


def begun(d, count=1):
    scene.until(lambda: len(files(d)) == count, "no snapshot begins")
