"""`hotcell snapshot` and `hotcell fork`."""
import json

from harness import tap
from harness.client import Client
from harness.snapshots import Sandbox
from harness.tap import check, check_equal

tap.TIMEOUT_S = 60


def test_snapshot():
    with Client(pool=1) as c:
        s = Sandbox(c)
        s.write("/tmp/a", b"content")
        first = c.output("snapshot", "create", s.id).decode().strip()
        named = c.output("snapshot", "create", "--name", "mine:v1", s.id[:8]).decode().strip()
        check_equal(named, "default/mine:v1")
        check_equal(json.loads(c.output("snapshot", "--json", "create", s.id))["names"], [])
        again = c.output("snapshot", "create", s.id, "--name", "mine:v1").decode().strip()  # options anywhere
        check_equal(again, named)
        lines = c.output("snapshot", "list").decode().splitlines()
        check(lines[0].split() == ["SNAPSHOT", "AGE", "SIZE", "SANDBOX"] and len(lines) == 4, lines)
        check(lines[-1].startswith(first) and s.id in lines[-1], lines)
        rows = json.loads(c.output("snapshot", "list", "--json", s.id))
        check_equal((len(rows), rows[0]["snapshotID"]), (3, named))
        check_equal(Sandbox(c, named).read("/tmp/a"), b"content")
        status, out, err = c.verb("snapshot", "delete", first, named, first)
        check_equal((status, out), (1, f"{first}\n"))
        check("sandboxes use it" in err and "not found" in err, err)


def test_fork():
    with Client("--sandboxes-max", "3", pool=1) as c:
        s = Sandbox(c)
        s.write("/tmp/a", b"content")
        ids = c.output("fork", "--count", "2", s.id, "--timeout", "60s").decode().split()
        check_equal([Sandbox(c, made={"sandboxID": id}).read("/tmp/a") for id in ids], [b"content"] * 2)
        status, out, err = c.verb("fork", s.id)
        check_equal((status, out), (1, ""))
        check("sandboxes_max" in err, err)
        check_equal(json.loads(c.verb("fork", "--json", s.id)[1])[0]["error"]["code"], 429)


def test_usage():
    with Client(pool=0) as c:
        for arguments in (["snapshot"], ["snapshot", "frobnicate"], ["snapshot", "create"], ["snapshot", "delete"],
                          ["snapshot", "list", "a", "b"], ["fork"], ["fork", "--count", "0", "i"], ["snapshot", "list", "--bad"]):
            check_equal(c.verb(*arguments)[0], 2, arguments)
        check("Options:" in c.output("snapshot", "create", "--help").decode(), "help behind a word")
        check("unknown" not in c.verb("kill", "--", "--help")[2], "an argument behind --")
        for arguments in (["snapshot", "create", "i" * 21], ["snapshot", "create", "../x"], ["snapshot", "delete", ""],
                          ["snapshot", "delete", "x" * 300], ["snapshot", "delete", "base"], ["fork", "i" * 21]):
            status, out, err = c.verb(*arguments)
            check_equal((status, out), (1, ""), err)


if __name__ == "__main__":
    tap.run(__import__("__main__"))
