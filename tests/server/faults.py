"""Kernel processes and guests that are killed under load; and lives that are used, without end."""
import http.client
import json
import os
import signal
import threading

from harness import daemon, scene, tap
from harness.cell import Cell, connection_of
from harness.daemon import Daemon
from harness.tap import PATIENCE_S, check, check_equal

CYCLES = int(os.environ.get("FAULTS_ROUNDS", "60"))
tap.TIMEOUT_S = max(tap.TIMEOUT_S, 2 * CYCLES)


def work(cell, kind, ended):
    """One client that asks until its sandbox is gone; `ended` gets how its last request went."""
    asks = {
        "command": lambda: cell.run("i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); done"),
        "endless": lambda: cell.run("yes | head -c 100000000"),
        "upload": lambda: cell.request("POST", "/files?path=/tmp/up", bytes(4 << 20), {"Content-Type": "application/octet-stream"}),
        "download": lambda: cell.request("GET", "/files?path=/bin/sh"),
        "watch": lambda: cell_watch(cell),
        "list": lambda: cell.request("POST", "/process.Process/List", b"{}", {"Content-Type": "application/json"}),
    }
    try:
        while True:
            answer = asks[kind]()
            if isinstance(answer, tuple) and answer[0] == 502:
                ended.append((kind, answer[0], json.loads(answer[1])))
                return
            if isinstance(answer, bytes) and b"sandboxId" in answer:
                ended.append((kind, 502, json.loads(answer)))
                return
    except (http.client.HTTPException, ConnectionError) as cut:
        ended.append((kind, "cut", type(cut).__name__))


def cell_watch(cell):
    connection, response = cell.stream("filesystem.Filesystem/WatchDir", {"path": "/tmp"})
    with connection_of(connection):
        return response.read()


KINDS = ("command", "endless", "upload", "download", "watch", "list")


def counts(d, launcher):
    return {"descriptors": daemon.descriptors(d.child.pid), "of the launcher": daemon.descriptors(launcher),
            "kernel processes": len(d.kernels()), "groups": len(scene.groups_of(launcher)),
            "stores": len(os.listdir(os.path.join(d.data, "sandboxes")))}


def check_settled(d, launcher, before):
    """No more than before; a connection that just ended may have been counted then."""
    scene.until(lambda: all(n <= before[k] for k, n in counts(d, launcher).items()), f"more is left than {before}")


def test_killed_kernel_processes_under_load():
    with Daemon(pool=0) as d:
        other = Cell(d)
        other.check_alive()
        launcher = d.launcher()
        before, keep = counts(d, launcher), set(d.kernels())
        for unused in range(5):
            cell, ended = Cell(d), []
            clients = [threading.Thread(target=work, args=(cell, kind, ended)) for kind in KINDS]
            for client in clients:
                client.start()
            cell.run("echo busy")
            for pid in set(d.kernels()) - keep:
                os.kill(pid, signal.SIGKILL)
            for client in clients:
                client.join(PATIENCE_S)
                check(not client.is_alive(), f"clients wait for a sandbox that is gone: {ended}")
            check_equal(len(ended), len(KINDS), ended)
            scene.until(lambda c=cell: d.request("GET", f"/sandboxes/{c.id}")[0] == 404, "it is still there")
            other.check_alive()
        check(d.child.poll() is None and d.launcher() == launcher, "the server or its launcher is another")
        check_settled(d, launcher, before)


def running(cell, command):
    """A stream of a command that has begun: one that is killed before could not be started."""
    connection, response = cell.start(command)
    begun = b""
    while b'"start"' not in begun:
        more = response.read1(4096)
        check(more, f"it did not start: {begun!r}")
        begun += more
    return connection, response


def test_killed_guests_under_load():
    """A guest that kills all it can reach ends its commands, not its sandbox."""
    with Daemon(pool=0) as d:
        cell = Cell(d)
        for unused in range(5):
            streams = [running(cell, "sleep 1000") for unused in range(10)]
            check(b'"end"' in cell.run("kill -9 -1"), "no end")
            for connection, response in streams:
                with connection_of(connection):
                    told = response.read()
                    check(b"signal: killed" in told, f"the stream tells something else: {told!r}")
            cell.check_alive()


def use(d, i):
    """What a client does in the life of one sandbox, and how it leaves."""
    cell = Cell(d, metadata={"i": str(i)})
    data = os.urandom(100000)
    fields = {"Content-Type": "application/octet-stream"}
    check_equal(cell.request("POST", "/files?path=/tmp/data", data, fields)[0], 200)
    check_equal(cell.request("GET", "/files?path=/tmp/data")[1], data)
    check(b'"exited":true' in cell.run("wc -c < /tmp/data"), "no end")
    check_equal(cell.call("filesystem.Filesystem/CreateWatcher", {"path": "/tmp"})[0], 200)
    left = [cell.start("sleep 1000"), cell.stream("filesystem.Filesystem/WatchDir", {"path": "/tmp"})]
    if i % 3 == 0:
        check_equal(d.request("POST", f"/sandboxes/{cell.id}/pause", {})[0], 204)
    if i % 2:
        for connection, unused in left:
            connection.close()
    check_equal(d.request("DELETE", f"/sandboxes/{cell.id}")[0], 204)
    for connection, unused in left:
        connection.close()


def test_soak_of_use():
    with Daemon(pool=2) as d:
        for i in range(6):
            use(d, i)
        d.wait_pool()
        launcher = d.launcher()
        scene.until(lambda: counts(d, launcher)["kernel processes"] == 2, "the pool")
        before = counts(d, launcher)
        for i in range(CYCLES):
            use(d, i)
        d.wait_pool()
        check_settled(d, launcher, before)
        check_equal(d.metrics()["hotcell_channel_errors_total"], 0)


if __name__ == "__main__":
    tap.run(__import__("__main__"))
