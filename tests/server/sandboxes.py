"""Sandboxes of `hotcell serve` through its API: life, limits, faults, and that nothing is left."""
import concurrent.futures
import http.client
import os
import signal
import sqlite3
import subprocess
import threading

from harness import daemon, scene, tap
from harness.daemon import Daemon
from harness.tap import PATIENCE_S, Skip, check, check_equal

CYCLES = int(os.environ.get("FAULTS_ROUNDS", "200"))


def record(d, id):
    """(state, reason, end_us, ended_us) as the database has it."""
    db = sqlite3.connect(os.path.join(d.data, "hotcell.db"))
    try:
        return db.execute("SELECT state, reason, end_us, ended_us FROM sandboxes WHERE id = ?", (id,)).fetchone()
    finally:
        db.close()


def reason(d, id):
    found = record(d, id)
    return found[1] if found else None


def is_gone(d, id):
    return d.request("GET", f"/sandboxes/{id}")[0] == 404


def replace(d, later):
    """`later` runs in the place of d, whose end cleans up."""
    d.child, d.err, d.port = later.child, later.err, later.port


def test_life():
    with Daemon() as d:
        id = d.create(metadata={"a": "b"})
        status, value, unused = d.request("GET", f"/sandboxes/{id}")
        check_equal((status, value["state"], value["metadata"]), (200, "running", {"a": "b"}))
        check_equal([x["sandboxID"] for x in d.request("GET", "/v2/sandboxes")[1]], [id])
        check_equal(d.request("DELETE", f"/sandboxes/{id}")[0], 204)
        check_equal(d.request("DELETE", f"/sandboxes/{id}")[0], 404)
        check(is_gone(d, id), "it is still there")
        check_equal(d.request("GET", "/v2/sandboxes")[1], [])
        check("killed" in reason(d, id), reason(d, id))


def test_without_a_key():
    with Daemon(pool=0) as d:
        for key in ("e2b_0000000000000000000000000000000000000000", "", "x" * 1000):
            check_equal(d.request("POST", "/sandboxes", {"templateID": "base"}, key=key or " ")[0], 401)


def test_keys_work_at_once():
    with Daemon(pool=0) as d:
        made = d.run_key("add", "ci", "--sandboxes", "1")
        check_equal(made.returncode, 0, made.stderr)
        key = made.stdout.strip()
        check_equal(d.request("GET", "/v2/sandboxes", key=key)[0], 200)
        listed = d.run_key("list")
        check("ci" in listed.stdout and "default" in listed.stdout and key not in listed.stdout, listed.stdout)
        again = d.run_key("add", "ci")
        check(again.returncode == 1 and "already" in again.stderr, again.stderr)
        check_equal(d.run_key("revoke", "ci").returncode, 0)
        check_equal(d.request("GET", "/v2/sandboxes", key=key)[0], 401)
        check_equal(d.run_key("revoke", "ci").returncode, 1)
        check_equal(d.run_key("frobnicate").returncode, 2)


def test_limits_of_a_key():
    with Daemon(pool=0) as d:
        key = d.run_key("add", "small", "--sandboxes", "2").stdout.strip()
        body = {"templateID": "base", "timeout": 60}
        ids = [d.request("POST", "/sandboxes", body, key=key)[1]["sandboxID"] for unused in range(2)]
        status, value, headers = d.request("POST", "/sandboxes", body, key=key)
        check_equal(status, 429, value)
        check(int(headers["Retry-After"]) > 0, headers)
        check("small" in value["message"], value)
        d.create()  # another key
        check_equal(d.request("DELETE", f"/sandboxes/{ids[0]}", key=key)[0], 204)
        check_equal(d.request("POST", "/sandboxes", body, key=key)[0], 201)


def test_most_sandboxes():
    with Daemon("--sandboxes-max", "3", pool=0) as d:
        ids = [d.create() for unused in range(3)]
        value, headers = d.create(expect=429)
        check("sandboxes_max" in value["message"], value)
        d.request("DELETE", f"/sandboxes/{ids[0]}")
        d.create()


def test_timeouts():
    """Many at once; each ends when its time is up, in the order of their times, without another request."""
    with Daemon(pool=4) as d:
        ids = [d.create(timeout=1 + i % 3) for i in range(24)]
        scene.until(lambda: all(reason(d, id) for id in ids), "they live on")
        lives = [record(d, id)[1:] for id in ids]
        for why, end_us, ended_us in lives:
            check(why.startswith("timeout of "), why)
            check(ended_us >= end_us, f"{end_us - ended_us} us early")
            for unused, other_end, other_ended in lives:
                check(other_end < end_us + 500000 or other_ended >= ended_us, "an earlier one ended later")
        check_equal(d.request("GET", "/v2/sandboxes")[1], [])


def test_pause_and_resume():
    with Daemon() as d:
        id = d.create()
        check_equal(d.request("POST", f"/sandboxes/{id}/pause", {})[0], 204)
        check_equal(d.request("POST", f"/sandboxes/{id}/pause", {})[0], 409)
        check_equal(d.request("GET", f"/sandboxes/{id}")[1]["state"], "paused")
        check_equal(d.request("POST", f"/sandboxes/{id}/connect", {"timeout": 60})[0], 201)
        check_equal(d.request("GET", f"/sandboxes/{id}")[1]["state"], "running")
        check_equal(d.request("POST", f"/sandboxes/{id}/connect", {"timeout": 60})[0], 200)
        check_equal(d.request("POST", f"/sandboxes/{id}/pause", {})[0], 204)
        check_equal(d.request("DELETE", f"/sandboxes/{id}")[0], 204)
        check(is_gone(d, id), "it is still there")


def test_paused_uses_no_cpu_and_dies():
    with Daemon(pool=0) as d:
        id = d.create(timeout=300)
        launcher = d.launcher()
        check_equal(d.request("POST", f"/sandboxes/{id}/pause", {})[0], 204)
        check_equal(d.stop(), 0)
        d.check_nothing_left(launcher)
        check_equal(reason(d, id), "server stopped")
        replace(d, d.again().start())


def test_killed_server():
    with Daemon(pool=2) as d:
        ids = [d.create() for unused in range(4)]
        d.request("POST", f"/sandboxes/{ids[0]}/pause", {})
        launcher = d.launcher()
        d.child.kill()
        d.child.wait()
        d.check_nothing_left(launcher)
        replace(d, d.again().start())
        for id in ids:
            check(is_gone(d, id), id)
            check_equal(reason(d, id), "server restarted")
        d.create()


def test_killed_launcher():
    with Daemon(pool=2) as d:
        id = d.create()
        os.kill(d.launcher(), signal.SIGKILL)
        check_equal(d.child.wait(PATIENCE_S), 1)
        check_equal(reason(d, id), "hotcell-launcher ended")
        replace(d, d.again().start())
        d.create()


def test_killed_kernel_process():
    with Daemon(pool=0) as d:
        id, other = d.create(), None
        before = set(d.kernels())
        other = d.create()
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        scene.until(lambda: is_gone(d, id), "it is still there")
        check_equal(reason(d, id), "the kernel process was killed by signal 9 (KILL)")
        check_equal(d.request("GET", f"/sandboxes/{other}")[0], 200)


def test_stop_with_sandboxes():
    with Daemon(pool=2) as d:
        ids = [d.create() for unused in range(5)]
        launcher = d.launcher()
        check_equal(d.stop(), 0)
        d.check_nothing_left(launcher)
        check_equal({reason(d, id) for id in ids}, {"server stopped"})


def test_burst():
    """Many creates at the same moment, far more than the pool holds; then as many kills."""
    with Daemon(pool=4) as d:
        d.wait_pool()
        launcher = d.launcher()
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            ids = list(pool.map(lambda unused: d.create(), range(40)))
            check_equal(len(set(ids)), 40)
            check_equal(d.metrics()['hotcell_sandboxes{state="running"}'], 40)
            answers = list(pool.map(lambda id: d.request("DELETE", f"/sandboxes/{id}")[0], ids + ids))
        check_equal((answers.count(204) >= 40, set(answers) <= {204, 404}), (True, True))
        check_equal(d.stop(), 0)
        d.check_nothing_left(launcher)


def test_stop_under_load():
    """SIGTERM while clients create and kill: every answer is a proper one or none, and nothing is left."""
    with Daemon(pool=2) as d:
        launcher = d.launcher()
        bad, stop = [], threading.Event()

        def client():
            while not stop.is_set():
                try:
                    status, value, unused = d.request("POST", "/sandboxes", {"templateID": "base", "timeout": 60})
                    if status == 201:
                        status, value, unused = d.request("DELETE", f"/sandboxes/{value['sandboxID']}")
                    if status not in (201, 204, 404, 500, 503):
                        bad.append((status, value))
                except OSError:
                    pass  # the server is going
                except http.client.HTTPException:
                    pass
        clients = [threading.Thread(target=client) for unused in range(6)]
        for thread in clients:
            thread.start()
        scene.until(lambda: d.metrics()["hotcell_sandboxes_created_total"] > 20, "no creates")
        check_equal(d.stop(), 0)
        stop.set()
        for thread in clients:
            thread.join()
        check_equal(bad, [])
        d.check_nothing_left(launcher)


def test_disk_that_fills():
    if os.geteuid() != 0:
        raise Skip("needs root for a small file system")
    root = Daemon().root
    disk = os.path.join(root, "data")
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=755", "none", disk], check=True)
    d = Daemon(pool=0, root=root)
    try:
        d.start()
        d.create()
        filler = os.path.join(disk, "filler")
        status = 0
        for unused in range(100):  # what the database has already allocated can still be used up
            with open(filler, "ab", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
            status, value, unused = d.request("POST", "/sandboxes", {"templateID": "base", "timeout": 60})
            if status >= 500:
                break
        check(status >= 500, value)
        check("full" in value["message"] or "No space left" in value["message"], value)
        check_equal(d.request("GET", "/v2/sandboxes")[0], 200)
        os.unlink(filler)
        d.create()
        check_equal(d.stop(), 0)
    finally:
        if d.child.poll() is None:
            d.stop()
        daemon.unmount(disk)
        os.rmdir(disk)


def clients(d):
    """Connections of which the server still holds its end (established, or the client has closed)."""
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return [row for row in rows if int(row[1].split(":")[1], 16) == d.port and row[3] in ("01", "08")]


def counts(d, launcher):
    scene.until(lambda: not clients(d), "connections stay open")
    return {"descriptors of the server": daemon.descriptors(d.child.pid),
            "descriptors of the launcher": daemon.descriptors(launcher),
            "kernel processes": len(d.kernels()),
            "control groups": len(scene.groups_of(launcher)),
            "stores": len(os.listdir(os.path.join(d.data, "sandboxes")))}


def settled(d, launcher):
    """The counts when only the pool lives; None while something is still leaving."""
    now = counts(d, launcher)
    groups = now["control groups"]
    rest = now["kernel processes"] == now["stores"] == d.pool and groups % d.pool == 0
    return now if rest and counts(d, launcher) == now else None


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_soak():
    """Some hundred lives, one after the other and at the same time; then everything is as it was."""
    with Daemon(pool=3) as d:
        for unused in range(10):
            d.request("DELETE", f"/sandboxes/{d.create()}")
        d.wait_pool()
        launcher = d.launcher()
        before = scene.until(lambda: settled(d, launcher), "it does not come to rest")
        memory = resident(d.child.pid)
        for i in range(CYCLES // 4):
            ids = [d.create(metadata={"i": str(i)}) for unused in range(4)]
            for id in ids:
                check_equal(d.request("DELETE", f"/sandboxes/{id}")[0], 204)
        d.wait_pool()
        scene.until(lambda: counts(d, launcher) == before, f"{counts(d, launcher)} is not {before}")
        grown = resident(d.child.pid) - memory
        check(tap.sanitized() or grown < 8 << 20, f"the server's memory has grown by {grown >> 10} KiB")
        check_equal(d.metrics()["hotcell_channel_errors_total"], 0)


if __name__ == "__main__":
    tap.run(__import__("__main__"))
