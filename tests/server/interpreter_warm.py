"""Python that waits in a pool, or is started with its sandbox: nobody who executes code sees a difference."""
from harness import tap
from harness.daemon import Daemon
from harness.interpreter import Interpreter, wait_until
from harness.tap import check, check_equal

WHERE = "import os, socket; print([os.environ.get(n) for n in ('OWN', 'PATH', 'E2B_SANDBOX_ID', 'E2B_TEMPLATE_ID', 'HOME')], " \
        "os.getcwd(), socket.gethostname())"


def check_place(cell):
    lines = cell.execute(WHERE).check_ended()
    check_equal(lines.error, None)
    variables = ["mine", "/usr/bin:/own", cell.id, "code-interpreter-v1", "/root"]
    check_equal(lines.stdout, f"{variables} /home/user {cell.id}\n")
    check_equal(lines.count, 1)


def code_cell(d):
    return Interpreter(d, driver=None, templateID="code-interpreter-v1", envVars={"OWN": "mine", "PATH": "/usr/bin:/own"})


def test_from_the_pool():
    with Daemon(code_pool=2) as d:
        d.wait_pool()
        for unused in range(2):
            check_place(code_cell(d))
        check_equal([e["from"] for e in d.events("sandbox.created")], ["code-pool"] * 2)
        d.wait_pool()


def test_without_the_pool():
    with Daemon() as d:
        cell = code_cell(d)
        check_place(cell)
        plain = Interpreter(d, driver=None)
        check_equal(plain.execute("1 + 1").of("result")[0]["text"], "2")
        check_equal(plain.execute("_ + 1").of("result")[0]["text"], "3")


def test_started_before_it_is_asked_for():
    with Daemon(code_pool=0) as d:
        cell = code_cell(d)
        found = "pgrep -f '/python/[d]river.py'"
        wait_until(lambda: b"exit status 0" in cell.run(f"/bin/sh -c \"PATH=/usr/bin; {found}\""), "Python was not started")
        plain = Interpreter(d, driver=None)
        check(b"exit status 1" in plain.run(found), "Python was started for nobody")


def test_killed_while_it_waits():
    with Daemon(code_pool=1) as d:
        d.wait_pool()
        cell = code_cell(d)
        cell.as_root("pkill -9 -f '/python/[d]river.py'")
        check_place(cell)
        check_equal(d.request("POST", f"/sandboxes/{cell.id}/pause", {"memory": False})[0], 204)
        check_equal(d.request("POST", f"/sandboxes/{cell.id}/connect", {"timeout": 60})[0], 201)
        check_place(cell)


if __name__ == "__main__":
    tap.run(__import__("__main__"))
