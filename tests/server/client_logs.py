"""`hotcell logs`: every line once, in order, of whatever bytes; what the bounded log has dropped is told."""
import json
import re

from harness import client, tap
from harness.client import HOTCELL, Client, Liar, answer
from harness.tap import PATIENCE_S, check, check_equal

KEY = "e2b_" + "0" * 40


def test_all():
    with Client(pool=0) as c:
        id = c.create()
        c.inside(id, "echo one; printf 'a\\033[31mb\\n'; echo two >&2")
        text = c.output("logs", id).decode()
        check(re.search(r"^[\d-]+T[\d:]+  stdout +one$", text, re.M), text)
        check("\x1b" not in text and "a?[31mb" in text, text)
        check(re.search(r"stderr +two$", text, re.M), text)
        entries = [json.loads(line) for line in c.output("logs", "--json", id).splitlines()]
        check("one" in {e["message"] for e in entries}, entries)
        for first in range(1, 3000, 600):
            c.inside(id, f"seq {first} {first + 599}")
        lines = [line.split()[-1] for line in c.output("logs", id[:15]).decode().splitlines()]
        check_equal([n for n in lines if n.isdigit()], [str(n) for n in range(1, 3001)])
        c.inside(id, "seq 4001 6000")  # at once: more of them than a page share a moment
        status, text, err = c.verb("logs", id)
        check_equal((status, err), (0, ""))
        lines = [line.split()[-1] for line in text.splitlines()]
        check_equal([n for n in lines if n.isdigit()], [str(n) for n in (*range(1, 3001), *range(4001, 6001))])
        c.output("kill", id)
        check("one" in c.output("logs", id).decode(), "the log of one that has ended")


def test_of_any_bytes():
    with Client(pool=0) as c:
        id = c.create()
        c.output("exec", id, "printf", r"bad \377 utf\na\000b\nlast\n")
        messages = [json.loads(line)["message"] for line in c.output("logs", "--json", id).splitlines()]
        check_equal(messages[-3:], ["bad \ufffd utf", "a b", "last"])


def test_that_are_not_kept():
    """The log is bounded: the newest entries are there, and how many are not is said."""
    with Client("--log-bytes", "16K", pool=0) as c:
        id = c.create()
        c.inside(id, "seq 1 3000")
        status, text, err = c.verb("logs", "--json", id)
        entries = [json.loads(line) for line in text.splitlines()]
        lost = re.fullmatch(r"hotcell: (\d+) entries that were here are not kept any more\n", err)
        check(status == 0 and lost, err)
        first = entries[0]["sequence"]
        check_equal([e["sequence"] for e in entries], list(range(first, first + len(entries))))
        check_equal(int(lost[1]), first - 1)
        check_equal(first + len(entries) - 1, 3001)  # and "started"
        check_equal([e["message"] for e in entries], [str(n) for n in range(first - 1, 3001)])


def pages(*numbers):
    entry = {"level": "info", "timestamp": "2026-01-01T00:00:00Z", "fields": {}}
    return [answer(json.dumps({"logs": [{**entry, "message": f"no {n}", "sequence": n} for n in page]}))
            for page in numbers]


def test_go_on_behind_the_last():
    """A gap between two pages is told where it is; what is not in order is refused, and not asked for again."""
    def shown(*numbers):
        with Liar(*pages(*numbers)) as liar:
            done = client.run(HOTCELL, "logs", "i" * 21, E2B_API_URL=liar.url, E2B_API_KEY=KEY)
        return done.returncode, re.findall(r"no \d+", done.stdout), done.stderr
    check_equal(shown([1, 2], [3], []), (0, ["no 1", "no 2", "no 3"], ""))
    check_equal(shown([1, 2], [5], []),
                (0, ["no 1", "no 2", "no 5"], "hotcell: 2 entries that were here are not kept any more\n"))
    for wrong in ([[1, 2], [2]], [[2, 1]], [[-1]], [["x"]], [[0]]):
        status, unused, err = shown(*wrong)
        check(status == 1 and "in order" in err, f"{wrong}: {status} {err}")


def test_behind_a_number():
    """The parameter `after` is exact, E2B's cursor a millisecond: only who asks for numbers gets them."""
    with Client(pool=0) as c:
        id = c.create()
        c.inside(id, "seq 1 1500")

        def logs(query):
            status, value, unused = c.request("GET", f"/v2/sandboxes/{id}/logs{query}")
            return value["logs"] if status == 200 else status
        check("sequence" not in logs("")[0], "E2B's form has no numbers")
        check_equal([e["sequence"] for e in logs("?after=0")], list(range(1, 1001)))
        check_equal([e["sequence"] for e in logs("?after=1000&limit=3")], [1001, 1002, 1003])
        check_equal([e["sequence"] for e in logs("?after=3&direction=backward")], [2, 1])
        check_equal(logs("?after=1000000"), [])
        check_equal([logs(f"?after={bad}") for bad in ("-1", "x", "1" * 30)], [400] * 3)


def test_follow():
    with Client(pool=0) as c:
        id = c.create()
        c.inside(id, "echo before")
        with c.open("logs", "-f", id) as child:
            while b"before" not in child.stdout.readline():
                pass
            c.inside(id, "echo after")
            while b"after" not in child.stdout.readline():
                pass
            c.inside(id, "seq 1 2500")
            for n in range(1, 2501):
                check_equal(child.stdout.readline().split()[-1:], [str(n).encode()])
            c.output("kill", id)
            rest, errors = child.communicate(timeout=PATIENCE_S)
            check_equal((child.returncode, errors), (0, b""), "it ends with the sandbox")
            check(rest.endswith(b"sandbox  killed by API\n"), rest)


if __name__ == "__main__":
    import sys
    tap.run(sys.modules[__name__])
