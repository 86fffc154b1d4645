"""Snapshots and forks: their limits, and what becomes of them when something goes wrong in the middle."""
import http.client
import os
import signal
import socket
import sqlite3
import struct
import subprocess

from harness import daemon, scene, tap
from harness.daemon import Daemon
from harness.snapshots import (Sandbox, again, begun, check_clean, delete, encoded, files, later, listed, stopped_kernel,
                               take_later)
from harness.tap import Skip, check, check_equal

tap.TIMEOUT_S = 120


# ---- limits ----

def test_limits():
    with Daemon("--snapshots-max", "2", "--snapshots-bytes", "2M", pool=1) as d:
        s = Sandbox(d)
        ids = [s.snapshot()["snapshotID"] for unused in range(2)]
        check("snapshots_max" in s.snapshot(429), "the option is not named")
        check_equal(delete(d, ids[0]), 204)
        s.write("/tmp/large", os.urandom(3 << 20))
        check("snapshots_bytes" in s.snapshot(507), "the option is not named")
        check("snapshots_bytes" in s.fork(507), "the option is not named")
        check_equal(files(d), files(d)[:1])
        s.run("rm /tmp/large")
        ids[0] = s.snapshot()["snapshotID"]
        for id in ids:
            check_equal(delete(d, id), 204)
        check_clean(d)
        s.check_alive()


def test_limits_are_loaded_again():
    root = Daemon().root
    path = os.path.join(root, "conf")
    with open(path, "w") as file:
        file.write("snapshots_max = 1\n")
    with Daemon("--config", path, pool=1, root=root) as d:
        s = Sandbox(d)
        s.snapshot()
        s.snapshot(429)
        with open(path, "w") as file:
            file.write("snapshots_max = 2\n")
        d.child.send_signal(signal.SIGHUP)
        scene.until(lambda: d.events("config.loaded"), "it does not load")
        s.snapshot()
        s.snapshot(429)


def test_a_disk_that_is_full():
    if os.geteuid() != 0:
        raise Skip("needs root for a small file system")
    root = Daemon().root
    disk = os.path.join(root, "data", "snapshots")
    os.makedirs(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "none", disk], check=True)
    d = Daemon(pool=1, root=root)
    try:
        d.start()
        s = Sandbox(d)
        s.write("/tmp/large", os.urandom(4 << 20))
        for unused in range(3):
            check("disk is full" in s.snapshot(507), "no reason")
            check("disk is full" in s.fork(507), "no reason")
        s.check_alive()
        check_clean(d)
        s.run("rm /tmp/large")
        s.snapshot()
        check_equal(d.stop(), 0)
    finally:
        if d.child.poll() is None:
            d.stop()
        daemon.unmount(disk)


def test_a_disk_limit_that_is_smaller():
    """The size of a snapshot is its source's, whatever the server gives now."""
    with Daemon("--disk", "64M", pool=1) as d:
        s = Sandbox(d)
        s.write("/tmp/large", os.urandom(32 << 20))
        id = s.snapshot()["snapshotID"]
        d.stop()
        again(d, "--disk", "8M")
        check_equal(d.request("GET", f"/templates/{encoded(id)}")[1]["builds"][0]["diskSizeMB"], 64)
        check_equal(len(Sandbox(d, id).read("/tmp/large")), 32 << 20)


# ---- what goes wrong ----

def test_killed_meanwhile():
    with Daemon(pool=0) as d:
        s = Sandbox(d)
        with stopped_kernel(d, []):
            takes = [take_later(d, s.id) for unused in range(3)]
            fork = later(lambda: d.request("POST", f"/sandboxes/{s.id}/fork", {}))
            begun(d, 3)
            s.kill()
            for take in [*takes, fork]:
                status, value, unused = take.result(20)
                check((status, "ended" in value["message"]) == (404, True), value)
        check_clean(d)


def test_a_kernel_process_that_dies_meanwhile():
    with Daemon(pool=0) as d:
        s = Sandbox(d)
        with stopped_kernel(d, []) as pid:
            take = take_later(d, s.id)
            begun(d)
            os.kill(pid, signal.SIGKILL)
            check_equal(take.result(20)[0], 404)
        check_clean(d)


def test_paused_meanwhile():
    """The pause waits; what is asked for after it is refused."""
    with Daemon(pool=0) as d:
        s = Sandbox(d)
        with stopped_kernel(d, []):
            take = take_later(d, s.id)
            begun(d)
            pause = later(lambda: d.request("POST", f"/sandboxes/{s.id}/pause", {}))
            scene.until(lambda: d.metrics()['hotcell_sandboxes{state="pausing"}'] == 1, "no pause")
            s.snapshot(409)
        check_equal((take.result(20)[0], pause.result(20)[0]), (201, 204))
        check_equal(d.request("POST", f"/sandboxes/{s.id}/connect", {"timeout": 60})[0], 201)
        s.snapshot()


def test_a_timeout_meanwhile():
    with Daemon(pool=0) as d:
        s = Sandbox(d, timeout=3)
        with stopped_kernel(d, []):
            status, value, unused = take_later(d, s.id).result(20)
            check((status, "timeout" in value["message"]) == (404, True), value)
        check_clean(d)


def test_a_client_that_leaves():
    with Daemon(pool=0) as d:
        s = Sandbox(d)
        with stopped_kernel(d, []):
            for path in ("snapshots", "fork"):
                connection = http.client.HTTPConnection("127.0.0.1", d.port)
                connection.request("POST", f"/sandboxes/{s.id}/{path}", "{}", {"X-API-Key": d.key})
                begun(d)
                scene.until(lambda: d.metrics()['hotcell_connections'] == 2, "it is not there")
                connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
                scene.until(lambda: d.metrics()["hotcell_connections"] == 1, "it is not seen")
        scene.until(lambda: d.events("snapshot.failed"), "it is not said")
        scene.until(lambda: d.metrics()["hotcell_snapshot_bytes"] == 0, "bytes are left")
        check_clean(d)
        check_equal(len(d.request("GET", "/v2/sandboxes")[1]), 1)
        s.check_alive()


def test_a_stop_meanwhile():
    with Daemon(pool=0) as d:
        s = Sandbox(d)
        launcher = d.launcher()
        with stopped_kernel(d, []):
            take = take_later(d, s.id)
            begun(d)
            check_equal(d.stop(), 0)
            status, value, unused = take.result(20)
            check((status, "server stopped" in value["message"]) == (404, True), value)
        d.check_nothing_left(launcher)
        check_equal(files(d), [])
        again(d)
        check_clean(d)


def test_a_crash_meanwhile():
    with Daemon(pool=0) as d:
        s = Sandbox(d)
        s.write("/tmp/kept", b"kept")
        id = s.snapshot()["snapshotID"]
        with stopped_kernel(d, []):
            take = take_later(d, s.id)
            begun(d, 2)
            d.child.kill()
            d.child.wait()
            check(take.exception(20), "an answer of a server that is dead")
        scene.until_nobody_is_left()
        check_equal(len(files(d)), 2)
        again(d)
        check_equal((listed(d), len(files(d))), ([id], 1))
        check_equal(len(d.events("snapshots.swept")), 1)
        check_equal(Sandbox(d, id).read("/tmp/kept"), b"kept")


def test_files_that_are_lost():
    with Daemon(pool=1) as d:
        s = Sandbox(d)
        ids = [s.snapshot(name=f"n{i}")["snapshotID"] for i in range(3)]
        folder = os.path.join(d.data, "snapshots")
        db = sqlite3.connect(os.path.join(d.data, "hotcell.db"))
        by_age = [row[0] for row in db.execute("SELECT build_id FROM snapshots ORDER BY created_us")]
        db.close()
        check_equal({os.stat(os.path.join(folder, n)).st_mode & 0o777 for n in by_age}, {0o600})
        check_equal(os.stat(folder).st_mode & 0o777, 0o700)
        # While it runs: a create says what is wrong, others go on.
        os.unlink(os.path.join(folder, by_age[0]))
        status, value, unused = d.request("POST", "/sandboxes", {"templateID": ids[0]})
        check((status, "snapshot" in value["message"]) == (404, True), value)
        d.stop()
        os.truncate(os.path.join(folder, by_age[1]), 10)
        again(d)
        check_equal((listed(d), len(d.events("snapshot.lost"))), ([ids[2]], 2))
        check_equal(files(d), [by_age[2]])
        Sandbox(d, ids[2])


def test_a_damaged_file():
    with Daemon(pool=1) as d:
        s = Sandbox(d)
        s.write("/tmp/data", b"x" * 100000)
        id = s.snapshot()["snapshotID"]
        path = os.path.join(d.data, "snapshots", files(d)[0])
        data = bytearray(open(path, "rb").read())
        for change in (lambda b: b[:len(b) // 2], lambda b: b"\xff" * len(b), lambda b: b + b"more", lambda b: b""):
            with open(path, "wb") as file:
                file.write(bytes(change(data)))
            status, value, unused = d.request("POST", "/sandboxes", {"templateID": id, "timeout": 60})
            check((status, "snapshot" in value["message"]) == (500, True), (status, value))
        with open(path, "wb") as file:
            file.write(bytes(data))
        check_equal(len(Sandbox(d, id).read("/tmp/data")), 100000)
        check_equal(len(d.request("GET", "/v2/sandboxes")[1]), 2)


def test_a_cell_that_dies_while_it_loads():
    """The next one is a cold start, with the same files."""
    with Daemon(pool=1) as d:
        d.wait_pool()
        (own,) = d.kernels()
        s = Sandbox(d)
        s.write("/tmp/data", b"data")
        id = s.snapshot()["snapshotID"]
        d.wait_pool()
        for way in (signal.SIGKILL, None):
            scene.until(lambda: len(d.kernels()) == 2, "one more than the pool's")
            (pooled,) = set(d.kernels()) - {own}
            os.kill(pooled, signal.SIGSTOP)
            create = later(Sandbox, d, id)
            scene.until(lambda: d.metrics()['hotcell_sandboxes{state="starting"}'] == 1, "no create")
            os.kill(pooled, way or signal.SIGCONT)
            n = create.result(30)
            check_equal(n.read("/tmp/data"), b"data")
            n.kill()
            d.wait_pool()


def test_a_stop_while_it_loads():
    with Daemon(pool=1) as d:
        s = Sandbox(d)
        id = s.snapshot()["snapshotID"]
        d.wait_pool()
        launcher = d.launcher()
        for pid in d.kernels():
            os.kill(pid, signal.SIGSTOP)
        create = later(lambda: d.request("POST", "/sandboxes", {"templateID": id}))
        scene.until(lambda: d.metrics()['hotcell_sandboxes{state="starting"}'] == 1, "no create")
        check_equal(d.stop(), 0)
        check(create.result(20)[0] >= 400, create.result())
        d.check_nothing_left(launcher)
        again(d)
        Sandbox(d, id)


def test_nothing_is_left():
    """Some lives of snapshots and forks, and descriptors, files and memory are as they were."""
    with Daemon(pool=1) as d:
        s = Sandbox(d)
        s.write("/tmp/data", os.urandom(1 << 20))

        def turn():
            id = s.snapshot(name="again")["snapshotID"]
            Sandbox(d, id).kill()
            for row in s.fork(count=2, timeout=60):
                Sandbox(d, made=row["sandbox"]).kill()
        turn()
        d.wait_pool()
        before = scene.until(lambda: daemon.descriptors(d.child.pid), "no descriptors")
        for unused in range(10):
            turn()
        d.wait_pool()
        scene.until(lambda: daemon.descriptors(d.child.pid) <= before, f"more descriptors than {before}")
        check_equal(len(files(d)), 1)
        check_equal(d.metrics()["hotcell_snapshot_bytes"], os.stat(os.path.join(d.data, "snapshots", files(d)[0])).st_size)
        check_equal(d.metrics()["hotcell_channel_errors_total"], 0)


def test_turns():
    """Three copies at a time: what waits for its turn may die, and is served when one is over."""
    with Daemon(pool=0) as d:
        source = Sandbox(d)
        source.write("/tmp/data", b"data")
        id = source.snapshot()["snapshotID"]
        own = set(d.kernels())
        slow = [Sandbox(d) for unused in range(3)]
        pids = set(d.kernels()) - own
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        takes = [take_later(d, s.id) for s in slow]
        begun(d, 4)
        create, fork = later(Sandbox, d, id), later(source.fork)
        scene.until(lambda: len(d.kernels()) == 5, "no cell")
        scene.until(lambda: d.metrics()['hotcell_sandboxes{state="starting"}'] == 1, "no create")
        (waiting,) = set(d.kernels()) - own - pids
        os.kill(waiting, signal.SIGKILL)
        check("killed by signal 9" in str(create.exception(20)), create.exception())
        create = later(Sandbox, d, id)
        check(not fork.done(), "it had no turn")
        slow[0].kill()
        check_equal(takes[0].result(20)[0], 404)
        check_equal(create.result(20).read("/tmp/data"), b"data")
        check("sandbox" in fork.result(20)[0], fork.result())
        for pid in pids:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        check_equal([take.result(20)[0] for take in takes[1:]], [201, 201])


if __name__ == "__main__":
    tap.run(__import__("__main__"))
