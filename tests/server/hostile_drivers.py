"""Drivers of the code interpreter that do what no driver does: each ends itself only, and costs the server nothing."""
import concurrent.futures
import time

from harness import interpreter, tap
from harness.daemon import Daemon
from harness.interpreter import Interpreter, wait_until
from harness.tap import check, check_equal

COUNT = "frame('count', count)\n"
DONE = "frame('done', id)\n"
PLAIN = COUNT + DONE
ROOM = 48 << 20


def resident(d):
    with open(f"/proc/{d.child.pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


def error_of(cell, code):
    """Of the last error: a half one of the driver's own may come before."""
    lines = cell.execute(code).check_ended()
    check_equal(lines[-2]["type"], "error", code)
    return lines[-2]["name"]


BROKEN = (
    "write(b'x' * 1000)", "write(b'\\n')", "write(b'done 1\\n')", "write(b'  \\n')", "write(bytes(range(256)))",
    "write(b'done - 0\\n')", "write(b'done x 0\\n')", "write(b'done 99 0\\n')", "write(b'done 1 0 \\n')", "write(b'done 1 00\\n')",
    "write(b'done 1 5\\nabcde')", "write(b'done 1 -1\\n')", "write(b'done 1 99999999999999999999999\\n')",
    "write(b'done 18446744073709551617 0\\n')", "write(b'count 1 0\\ncount 2 0\\n')", "write(b'count -1 0\\n')",
    "write(b'count 99999999999999999999 0\\n')", "write(b'ready - 0\\n')", "write(b'failed - 2\\nno')", "write(b'nothing - 0\\n')",
    "write(b'part text/plain 1\\nx')", "write(b'close - 0\\n')", "write(b'result other 0\\n')", "write(b'result main 0\\ndone 1 0\\n')",
    "write(b'result main 0\\nresult main 0\\n')", "write(b'result main 0\\nstdout - 1\\nx')", "write(b'error - 0\\npart text/plain 1\\nx')",
    "write(b'result main 0\\npart text/plain 1\\nxpart text/plain 1\\nx')", "write(b'stdout - 1000\\nabc'); os._exit(0)",
    "write(b'result main 0\\npart image/png 9\\nabc'); os._exit(0)", "write(b'stdout - 1099511627777\\n')", "os.close(4); time.sleep(99)",
    "write(b'\\0' * 70000)", "write(b'a\\xff b 0\\n')", "write(b'env - 0\\n')",
)


def test_broken_frames():
    with Daemon() as d:
        cell = Interpreter(d)
        for code in BROKEN:
            check_equal(error_of(cell, code + "\ntime.sleep(99)"), "UnexpectedEndOfExecution", code)
            check_equal(cell.execute(PLAIN).count, 1)
        # Nobody waits for what comes behind a good end, but it is checked, too.
        for code in ("write(b'nonsense\\n')", "write(b'done 1 0\\n')", "os._exit(0)", "write(b'result main 0\\ndone 1 0\\n')"):
            lines = cell.execute(COUNT + "write(b'done %s 0\\n' % id.encode()); " + code).check_ended()
            check_equal(lines.error, None)
            wait_until(lambda: cell.drivers() == 0, "a driver that must go")
        cell.check_alive()


def test_before_it_is_ready():
    with Daemon() as d:
        cell = Interpreter(d, driver=None)
        for code in ("frame('done', 1)", "frame('count', 1)", "write(b'x' * 300)", "os._exit(0)", "os.kill(os.getpid(), 9)",
                     "frame('ready', '-', b'x')", "frame('result', 'main')", "os.close(4); time.sleep(99)",
                     "frame('failed', '-', b'\\x1b[31m' + b'x' * 100000)", "frame('failed'); frame('ready')"):
            cell.script(code + "\ntime.sleep(99)")
            check(error_of(cell, "1") in ("ContextNotStarted", "LanguageNotInstalled"), code)
            status, text = cell.ask("POST", "/contexts", {})
            check(status == 500 and isinstance(text, str) and text.isprintable() and len(text) < 4000, text)
            check_equal(len(cell.ask("GET", "/contexts")[1]), 2)
        cell.script("frame('stdout', '-', b'early')\nframe('ready')\n" + interpreter.OBEDIENT.replace('frame("ready")', ""))
        check_equal([x["type"] for x in cell.execute(PLAIN)], ["number_of_executions", "end_of_execution"])


def test_between_executions():
    """What is said while nothing executes is nobody's."""
    with Daemon() as d:
        cell = Interpreter(d)
        late = COUNT + DONE + """
if not os.fork():
    for i in range(200):
        frame('stdout', '-', b'late'); write(b'late', 1); write(b'late', 2)
        frame('result', 'display'); frame('part', 'text/plain', b'late'); frame('close')
    os.close(0); os.open('/tmp/over', os.O_CREAT); os._exit(0)
os.wait()
"""
        cell.execute(late)
        wait_until(lambda: b"exit status 0" in cell.run("test -e /tmp/over"), "the child's end")
        check_equal([x["type"] for x in cell.execute(PLAIN)], ["number_of_executions", "end_of_execution"])


def test_children_that_hold_the_pipes():
    with Daemon() as d:
        cell = Interpreter(d)
        keep = "if not os.fork():\n    os.setsid()\n    time.sleep(1000)\n"
        for n in (1, 2, 3):
            check_equal(cell.execute(keep + PLAIN).count, n)
        check_equal(error_of(cell, keep + "os._exit(1)"), "UnexpectedEndOfExecution")
        flood = "if not os.fork():\n    os.setsid()\n    while True: write(b'y' * 65536, 1)\n"
        check_equal(cell.execute(flood + PLAIN).check_ended().error, None)
        check_equal(cell.execute(PLAIN).check_ended().error, None)
        check_equal(error_of(cell, "os._exit(1)"), "UnexpectedEndOfExecution")
        check_equal(cell.execute(PLAIN).count, 1)


FLOODS = {
    "frames": "while True: write(b'stdout - 60000\\n' + b'x' * 60000)",
    "small frames": "data = b'stdout - 1\\nx' * 5000\nwhile True: write(data)",
    "one frame": "write(b'stdout - 1000000000000\\n')\nwhile True: write(b'\\x01' * 65536)",
    "a part": "frame('result', 'main')\nwrite(b'part text/html 1000000000000\\n')\nwhile True: write(b'\\x01' * 65536)",
    "json": "data = b'[' + b'1,' * 4000000 + b'1]'\nwhile True:\n    frame('result', 'display'); frame('part', 'application/json', data); frame('close')",
    "unfinished json": "frame('result', 'display')\nfor i in range(99): write(b'part a/%d 8000000\\n' % i + b'x' * 8000000)\ntime.sleep(99)",
    "extra": "frame('result', 'main')\nfor i in range(1000): frame('part', 'x/%d' % i, b'\\x01' * 1000000)\ntime.sleep(99)",
    "pipe 1": "while True: write(b'\\x01' * 65536, 1)",
    "pipe 2": "while True: write(b'\\xff' * 65536, 2)",
    "all": "for fd in (1, 2):\n    if not os.fork():\n        while True: write(b'y' * 65536, fd)\nwhile True: frame('stderr', '-', b'z' * 65536)",
    "empty results": "data = b'result display 0\\nclose - 0\\n' * 2000\nwhile True: write(data)",
}


def test_floods():
    """A client that does not read: what it is sent waits in the sandbox."""
    with Daemon() as d:
        cell = Interpreter(d)
        cell.execute(PLAIN)
        contexts = {name: cell.create() for name in FLOODS}
        before = resident(d)
        running = [cell.begin(COUNT + code, context_id=contexts[name]) for name, code in FLOODS.items()]
        for e in running:
            e.until("number_of_executions")
        peak = 0
        for unused in range(40):
            cell.check_alive()  # others are served meanwhile
            time.sleep(0.05)
            peak = max(peak, resident(d) - before)
        for e in running:
            e.close()
        for name, context in contexts.items():
            check_equal(cell.execute(PLAIN, context_id=context).check_ended().error, None, name)
        tap.skip_if_sanitized("freed memory stays for a while")
        check(peak < 4 * ROOM, f"the server has grown by {peak >> 20} MiB")
        check(resident(d) - before < 2 * ROOM, "the server does not give memory back")


def test_floods_that_are_read():
    with Daemon() as d:
        cell = Interpreter(d)
        cell.execute(PLAIN)
        before = resident(d)
        for name, code in FLOODS.items():
            with cell.begin(COUNT + code, context_id=cell.create()) as e:
                size = 40 if "unfinished" in name or "extra" in name else 20 << 20
                check_equal(len(e.response.read(size)), size, name)
        tap.skip_if_sanitized("freed memory stays for a while")
        check(resident(d) - before < 4 * ROOM, "the server has grown")


def test_requests_that_are_not_read():
    with Daemon() as d:
        cell = Interpreter(d, driver="""
frame('ready')
for i in range(1, 99):
    while not os.path.exists('/tmp/%d' % i): time.sleep(0.01)
    frame('done', i)
""")
        large, ends = "#" * (7 << 20), []
        for number in range(1, 4):
            with cell.begin(large) as e:
                cell.run(f"touch /tmp/{number}")
                ends.append(e.all().check_ended().error)
        check_equal([bool(e) for e in ends], [False, False, True])
        check("did not read" in ends[2]["value"], ends)
        cell.script("os.close(3); requests = None; frame('ready'); time.sleep(99)")
        made = cell.create()
        for code in ("", "1", large):
            check_equal(cell.execute(code, context_id=made).check_ended().error["name"], "UnexpectedEndOfExecution")


def test_clients_that_vanish():
    """At every point of an execution, and of the start of a context."""
    with Daemon() as d:
        cell = Interpreter(d)
        slow = interpreter.OBEDIENT.replace('frame("ready")', 'time.sleep(0.2); frame("ready")')
        steps = (COUNT, "frame('stdout', '-', b'x' * 1000)\n", "frame('result', 'main')\n", "write(b'part text/html 5\\nab')\n",
                 "write(b'cde')\n", "frame('close')\n", "write(b'out', 1)\n", DONE)
        for number in range(len(steps)):
            code = "signal.signal(2, lambda *a: os._exit(0))\n" + "".join(steps[:number]) + "time.sleep(1000)"
            with cell.begin(code, context_id=cell.create()) as e:
                time.sleep(0.02)
        cell.script(slow)
        for unused in range(5):
            cell.raw(b"POST /contexts HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", interpreter.PORT).close()
            cell.raw(b"POST /execute HTTP/1.1\r\nContent-Length: 12\r\n\r\n{\"code\":\"1\"", interpreter.PORT).close()
            cell.raw(b"POST /execute HTTP/1.1\r\nContent-Length: 30\r\n\r\n{\"code\":\"1\",\"language\":\"r-%d\"}  " % 1, interpreter.PORT).close()
        made = [c for c in cell.ask("GET", "/contexts")[1] if c["language"] == "python"]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for lines in pool.map(lambda c: cell.execute(PLAIN, context_id=c["id"]), made):
                check_equal(lines.check_ended().error, None)


def test_sandbox_killed_during_executions():
    with Daemon() as d:
        cell = Interpreter(d)
        made = [cell.create() for unused in range(16)]
        running = [cell.begin(COUNT + FLOODS["frames"], context_id=c) for c in made]
        waiting = [cell.begin(PLAIN, context_id=c) for c in made]
        starting = cell.raw(b"POST /contexts HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", interpreter.PORT)
        check_equal(d.request("DELETE", f"/sandboxes/{cell.id}")[0], 204)
        for e in running + waiting:
            check(interpreter.is_cut(e), "an execution outlived its sandbox")
            e.close()
        starting.close()
        check_equal(d.metrics()["hotcell_contexts"], 0)


def test_names_of_programs():
    """What a guest makes of its tree: no program, a directory, a loop, a file that is none."""
    with Daemon() as d:
        cell = Interpreter(d, driver=None)
        for make in ("ln -s python3 {}", "printf '\\177ELF' > {}; chmod 755 {}", "printf '#!/nowhere\\n' > {}; chmod 755 {}", "mkdir {}",
                     "mkfifo {}; chmod 755 {}"):
            cell.as_root("rm -rf {0}; ".format(interpreter.PROGRAM) + make.format(*[interpreter.PROGRAM] * 2))
            error = cell.execute("1").check_ended().error
            check(error is None or error["name"] in ("ContextNotStarted", "LanguageNotInstalled"), error)


if __name__ == "__main__":
    tap.run(__import__("__main__"))
