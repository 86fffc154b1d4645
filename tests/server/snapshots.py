"""Snapshots and forks: what is in them, what they are called, who can have them."""
import concurrent.futures
import json
import os

from harness import scene, tap
from harness.cell import connection_of
from harness.daemon import Daemon
from harness.snapshots import Sandbox, check_clean, delete, encoded, files, later, listed
from harness.tap import check, check_equal

tap.TIMEOUT_S = 120


# ---- what is in them ----

def test_files_and_nothing_else():
    with Daemon(pool=1) as d:
        s = Sandbox(d, envVars={"A": "1", "B": "2"})
        connection, response = s.start("sleep 1000")
        with connection_of(connection):
            s.write("/home/user/data", b"\0\1\2" * 100000)
            s.run("mkdir -p /tmp/d && ln -s /etc/passwd /tmp/d/link && echo x > /tmp/d/x && chmod 640 /tmp/d/x; rm ~/.bashrc")
            made = s.snapshot()
            check(made["snapshotID"].endswith(":default") and made["names"] == [], made)
            check_equal(s.output("pgrep -c sleep"), "1\n")  # it runs on
        s.write("/home/user/data", b"later")
        s.kill()
        n = Sandbox(d, made["snapshotID"], envVars={"B": "3"})
        check_equal(n.read("/home/user/data"), b"\0\1\2" * 100000)
        check_equal(n.output("stat -c %a /tmp/d/x; readlink /tmp/d/link; ls ~/.bashrc; echo $A $B; pgrep -c sleep; hostname"),
                    f"640\n/etc/passwd\n1 3\n0\n{n.id}\n")
        check_equal(n.made["templateID"], made["snapshotID"].split(":")[0])
        check_equal(d.request("GET", f"/v2/sandboxes?template={n.made['templateID']}")[1][0]["sandboxID"], n.id)
        # A snapshot of it, in its turn.
        n.write("/home/user/more", b"more")
        second = n.snapshot()["snapshotID"]
        n.kill()
        check_equal(delete(d, made["snapshotID"]), 204)
        m = Sandbox(d, second)
        check_equal((m.read("/home/user/more"), len(m.read("/home/user/data"))), (b"more", 300000))
        check_equal(m.output("echo $A $B"), "1 3\n")
        m.kill()
        check_equal(delete(d, second), 204)
        check_clean(d)


def test_two_from_one_are_two():
    with Daemon(pool=2) as d:
        s = Sandbox(d)
        s.write("/tmp/a", b"common")
        id = s.snapshot()["snapshotID"]
        one, other = Sandbox(d, id), Sandbox(d, id)
        one.write("/tmp/a", b"changed")
        check_equal((one.read("/tmp/a"), other.read("/tmp/a"), s.read("/tmp/a")), (b"changed", b"common", b"common"))


def test_code_interpreter():
    """A snapshot of one still is one: its default context starts by itself."""
    with Daemon(pool=1, code_pool=1) as d:
        s = Sandbox(d, "code-interpreter-v1")
        s.write("/home/user/data.csv", b"a,b\n1,2\n")
        n = Sandbox(d, s.snapshot()["snapshotID"])
        scene.until(lambda: "python" in n.output("ps -eo args"), "no Python")
        fork = Sandbox(d, made=s.fork()[0]["sandbox"])
        for x in (n, fork):
            status, text, unused = x.request("POST", "/execute", json.dumps({"code": "open('data.csv').read()"}).encode(),
                                             {"Content-Type": "application/json"}, port=49999)
            check(status == 200 and b"a,b" in text, text)
        check_equal(fork.made["templateID"], "code-interpreter-v1")


def test_files_in_memory():
    """Where sandboxes write does not matter; a snapshot lies on the disk."""
    with Daemon("--store", "memory", pool=1) as d:
        s = Sandbox(d)
        s.write("/tmp/data", b"x" * 1000000)
        id = s.snapshot()["snapshotID"]
        check_equal(len(Sandbox(d, id).read("/tmp/data")), 1000000)
        check_equal(len(Sandbox(d, made=s.fork()[0]["sandbox"]).read("/tmp/data")), 1000000)
        check_equal(len(files(d)), 1)


def test_while_it_writes():
    """Somebody writes all the time: each file is there whole or as it was at one moment, and he goes on."""
    with Daemon(pool=1) as d:
        s = Sandbox(d)
        connection, unused = s.start("i=0; while :; do i=$((i+1)); echo $i > /tmp/a; echo $i > /tmp/b; done")
        with connection_of(connection):
            scene.until(lambda: s.output("cat /tmp/b"), "it does not write")
            for unused in range(3):
                n = Sandbox(d, s.snapshot()["snapshotID"])
                a, b = (int(n.read(f"/tmp/{name}") or 0) for name in "ab")
                check(a == 0 or b == 0 or a - b in (0, 1), (a, b))
                n.kill()
            before = s.output("cat /tmp/b")
            scene.until(lambda: s.output("cat /tmp/b") != before, "it does not go on")


def test_while_files_come():
    with Daemon(pool=1) as d:
        s = Sandbox(d)
        data = os.urandom(32 << 20)
        upload = later(s.write, "/tmp/up", data)
        while not upload.done():
            check(s.snapshot()["snapshotID"], "no id")
        upload.result()
        check(s.read("/tmp/up") == data, "the upload is another")


def test_several_at_once():
    with Daemon(pool=2) as d:
        s = Sandbox(d)
        s.write("/tmp/data", os.urandom(4 << 20))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            ids = [f.result()["snapshotID"] for f in [pool.submit(s.snapshot) for unused in range(8)]]
        check_equal((len(set(ids)), len(files(d))), (8, 8))
        check_equal(sorted(listed(d)), sorted(ids))


# ---- names ----

def test_names_and_tags():
    with Daemon(pool=2) as d:
        s = Sandbox(d)
        s.write("/tmp/v", b"1")
        first = s.snapshot(name="Mine")
        check_equal(first, {"snapshotID": "default/mine:default", "names": ["default/mine:default"]})
        s.write("/tmp/v", b"2")
        check_equal(s.snapshot(name="default/mine:v2")["snapshotID"], "default/mine:v2")
        check_equal(len(files(d)), 2)
        s.write("/tmp/v", b"3")
        check_equal(s.snapshot(name="mine"), first)  # a new build of the same
        check_equal(len(files(d)), 2)
        for name, content in (("mine", b"3"), ("default/mine", b"3"), ("MINE:default", b"3"), ("mine:v2", b"2")):
            n = Sandbox(d, name)
            check_equal((n.read("/tmp/v"), n.made["alias"]), (content, "mine"), name)
            n.kill()
        template = d.request("GET", "/templates/default%2Fmine")[1]
        check_equal((template["names"], template["aliases"], len(template["builds"])), (["default/mine"], ["mine"], 2))
        check_equal(d.request("GET", "/templates/aliases/mine%3Av2")[1]["templateID"], template["templateID"])
        check_equal(d.request("GET", "/templates/aliases/mine%3Av3")[0], 404)
        check_equal(sorted(t["tag"] for t in d.request("GET", "/templates/mine/tags")[1]), ["default", "v2"])
        # A tag keeps its build, and the build goes with its last tag.
        check_equal(d.request("POST", "/templates/tags", {"target": "mine:v2", "tags": ["old"]})[0], 201)
        check_equal(delete(d, "default/mine:v2"), 204)
        check_equal((delete(d, "default/mine:v2"), len(files(d))), (404, 2))
        check_equal(d.request("DELETE", "/templates/tags", {"name": "mine", "tags": ["old"]})[0], 204)
        check_equal(len(files(d)), 1)
        check(not any("mine" in t["names"] or template["templateID"] == t["templateID"]
                      for t in d.request("GET", "/templates")[1]), "a snapshot among the templates")
        n = Sandbox(d, "mine")
        check_equal(delete(d, "mine"), 400)
        n.kill()
        check_equal((delete(d, "mine"), delete(d, "mine")), (204, 404))
        check_clean(d)


def test_hostile_names():
    with Daemon(pool=1) as d:
        s = Sandbox(d)
        id = s.snapshot()["snapshotID"].split(":")[0]
        for name, status in (("", 400), ("../x", 400), ("a/b/c", 400), ("a b", 400), ("x:", 400), (":x", 400), ("x:y:z", 400),
                             ("é", 400), ("x" * 128, 400), ("x" * 121, 400), ("x" * 5000, 400), ("x:" + "t" * 64, 400), (5, 400),
                             ("other/x", 400), ("a\0b", 400), ("%2e%2e", 400),
                             ("base", 409), ("default/base", 409), ("code-interpreter-v1:v2", 409), (id, 409)):
            check(s.snapshot(status, name=name), name)
        s.snapshot(name="x" * 119)
        s.snapshot(name="..")  # a name like any other: files are not called by it
        check_equal(delete(d, ".."), 204)
        check_equal(len(files(d)), 2)


def test_lists():
    with Daemon(pool=2) as d:
        one, other = Sandbox(d), Sandbox(d)
        ids = [one.snapshot(name="n")["snapshotID"], one.snapshot()["snapshotID"], other.snapshot(name="n:t")["snapshotID"],
               other.snapshot()["snapshotID"]]
        check_equal(listed(d), ids[::-1])
        check_equal(listed(d, f"?sandboxID={one.id}"), [ids[1], ids[0]])
        check_equal(listed(d, f"?sandboxID={one.id}-hotcell"), [ids[1], ids[0]])
        for name, want in (("n", [ids[2], ids[0]]), ("default/n", [ids[2], ids[0]]), ("n%3At", [ids[2]]), ("N%3Adefault", [ids[0]]),
                           (ids[1].split(":")[0], [ids[1]]), (encoded(ids[3]), [ids[3]]), ("nobody", []), ("a%20b", []),
                           ("n%3Aother", [])):
            check_equal(listed(d, f"?name={name}"), want, name)
        check_equal((listed(d, "?sandboxID=" + "i" * 500), listed(d, f"?name=n&sandboxID={other.id}")), ([], [ids[2]]))
        found, token = [], ""
        for unused in range(4):
            status, rows, headers = d.request("GET", f"/snapshots?limit=1&nextToken={token}")
            found += [row["snapshotID"] for row in rows]
            token = headers["X-Next-Token"]
        check_equal((found, token), (ids[::-1], None))
        for query in ("limit=0", "limit=101", "limit=x", "nextToken=eA", "nextToken=e"):
            check_equal(d.request("GET", f"/snapshots?{query}")[0], 400, query)
        check_equal(d.request("GET", "/snapshots", key="e2b_00")[0], 401)


def test_of_which_sandbox():
    with Daemon(pool=1) as d:
        s = Sandbox(d)
        check_equal(d.request("POST", f"/sandboxes/{s.id}/pause", {})[0], 204)
        check("resume it first" in s.snapshot(409), "no advice")
        check("resume it first" in s.fork(409), "no advice")
        check_equal(d.request("POST", f"/sandboxes/{s.id}/connect", {"timeout": 60})[0], 201)
        s.snapshot()
        s.kill()
        check("has ended" in s.snapshot(404), "no reason")
        check("has ended" in s.fork(404), "no reason")
        for path in ("snapshots", "fork"):
            check_equal(d.request("POST", f"/sandboxes/{'i' + '0' * 20}/{path}", {})[0], 404)
            check_equal(d.request("POST", f"/sandboxes/{s.id}/{path}", {}, key="e2b_00")[0], 401)
        check_equal(d.request("POST", "/sandboxes", {"templateID": "n" * 20 + ":default"})[0], 404)


# ---- forks ----

def test_forks():
    with Daemon(pool=2) as d:
        s = Sandbox(d, metadata={"k": "v"}, envVars={"E": "1"}, secure=True, autoPause=True,
                    network={"allowPublicTraffic": False})
        s.write("/tmp/state", b"before")
        forks = [Sandbox(d, made=row["sandbox"]) for row in s.fork(count=3, timeout=60)]
        check_equal(len({x.id for x in forks} | {s.id}), 4)
        check_equal(len({x.token for x in forks} | {s.token}), 4)
        check_equal(len({x.made["trafficAccessToken"] for x in forks} | {s.made["trafficAccessToken"]}), 4)
        info = d.request("GET", f"/sandboxes/{s.id}")[1]
        for x in forks:
            own = d.request("GET", f"/sandboxes/{x.id}")[1]
            for field in ("templateID", "alias", "metadata", "lifecycle", "network", "cpuCount", "memoryMB", "diskSizeMB"):
                check_equal(own[field], info[field], field)
            check_equal((x.read("/tmp/state"), x.output("echo $E")), (b"before", "1\n"))
        forks[0].write("/tmp/state", b"after")
        check_equal((s.read("/tmp/state"), forks[1].read("/tmp/state")), (b"before", b"before"))
        check_equal(len(s.fork()), 1)
        for body in ({"count": 0}, {"count": 101}, {"count": "1"}, {"timeout": -1}, {"timeout": 86400 * 2}, {"timeout": 1.5}):
            s.fork(400, **body)
        check_equal(d.metrics()["hotcell_forks_total"], 4)
        check_clean(d)


def test_forks_beyond_limits():
    """Each is a success or a failure of its own."""
    with Daemon("--sandboxes-max", "4", pool=0) as d:
        s = Sandbox(d)
        rows = s.fork(count=5, timeout=60)
        check_equal(sum("sandbox" in row for row in rows), 3, rows)
        errors = [row["error"] for row in rows if "error" in row]
        check_equal([e["code"] for e in errors], [429, 429])
        check("sandboxes_max" in errors[0]["message"], errors)
        key = d.run_key("add", "small", "--sandboxes", "1").stdout.strip()
        for row in rows:
            if "sandbox" in row:
                check_equal(d.request("DELETE", f"/sandboxes/{row['sandbox']['sandboxID']}")[0], 204)
        status, rows, unused = d.request("POST", f"/sandboxes/{s.id}/fork", {"count": 2}, key=key)
        check_equal((status, [list(row)[0] for row in rows]), (201, ["sandbox", "error"]))
        check("small" in rows[1]["error"]["message"], rows)


def test_a_burst_of_forks():
    with Daemon(pool=2) as d:
        s = Sandbox(d)
        s.write("/tmp/data", os.urandom(1 << 20))
        rows = s.fork(count=20, timeout=60)
        check(all("sandbox" in row for row in rows), rows)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            sizes = list(pool.map(lambda row: len(Sandbox(d, made=row["sandbox"]).read("/tmp/data")), rows))
        check_equal(set(sizes), {1 << 20})


def test_it_is_logged():
    with Daemon(pool=1) as d:
        s = Sandbox(d)
        id = s.snapshot(name="n")["snapshotID"]
        entries = d.request("GET", f"/sandboxes/{s.id}/logs")[1]["logEntries"]
        check_equal([e["fields"].get("snapshot") for e in entries if e["fields"].get("event") == "snapshot"], [id])
        check_equal([(e["snapshot"], e["sandbox"]) for e in d.events("snapshot.created")], [(id, s.id)])
        check_equal(d.metrics()["hotcell_snapshot_seconds_count"], 1)


if __name__ == "__main__":
    tap.run(__import__("__main__"))
