"""Port 49999: requests, contexts, queues and ends, with drivers that the test writes itself."""
import concurrent.futures
import json

from harness import interpreter, tap
from harness.daemon import Daemon
from harness.interpreter import Interpreter, is_cut, wait_until
from harness.tap import check, check_equal

COUNT = "frame('count', count)\n"
DONE = "frame('done', id)\n"
PLAIN = COUNT + DONE
# Until the file is there; what the test waits for is "running" on standard output.
HOLD = COUNT + "frame('stdout', '-', b'running')\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\n" + DONE


def test_requests():
    with Daemon() as d:
        cell = Interpreter(d)
        check_equal(cell.ask("GET", "/health"), (200, "OK"))
        for body in (b"", b"{", b"[]", b"nonsense", b'{"code":1}', b'{"code":null}', b'{"language":"python"}', b'{"code":"\\u0000"}',
                     b'{"code":"1","code":"2"}', b'{"code":"1","language":3}', b'{"code":"1","context_id":3}',
                     b'{"code":"1","env_vars":[]}', b'{"code":"1","env_vars":{"a":1}}', b'{"code":"1","env_vars":{"":"1"}}',
                     b'{"code":"1","env_vars":{"a=b":"1"}}', b'{"code":"1","env_vars":{"a":"\\u0000"}}',
                     b'{"code":"1","language":"a b"}', b'{"code":"1","language":"/etc"}', b'{"code":"1","language":"-x"}',
                     b'{"code":"1","language":"' + b"x" * 65 + b'"}'):
            status, text = cell.ask("POST", "/execute", body)
            check(status == 400 and isinstance(text, str) and text, f"{body[:60]}: {status} {text}")
        check_equal(cell.ask("POST", "/execute", {"code": "1", "context_id": "x", "language": "python"}),
                    (400, "Only one of context_id or language can be provided"))
        check_equal(cell.ask("POST", "/execute", {"code": "1", "context_id": "x"}), (404, "Context x not found"))
        with cell.raw(b"POST /execute HTTP/1.1\r\nContent-Length: 9000000\r\n\r\n", interpreter.PORT) as s:
            check(s.recv(100).startswith(b"HTTP/1.1 413"), "a body that is too large")
        for method, path in (("GET", "/execute"), ("PUT", "/contexts"), ("GET", "/contexts/x"), ("DELETE", "/contexts/x/restart")):
            check_equal(cell.ask(method, path)[0], 405, path)
        for path in ("/", "/contexts/", "/contexts/x/y", "/contexts/x/restart/y", "/executes"):
            check_equal(cell.ask("POST", path), (404, "Not Found"), path)
        for name in ("x", "%00", "..", "a" * 2000):
            check_equal(cell.ask("POST", f"/contexts/{name}/restart")[0], 404)
            check_equal(cell.ask("DELETE", f"/contexts/{name}")[0], 404)
        nothing = dict.fromkeys(("context_id", "language", "env_vars"))
        check_equal([line["type"] for line in cell.execute(PLAIN, **nothing)], ["number_of_executions", "end_of_execution"])
        check_equal(len(cell.execute(PLAIN, context_id="", language="")), 2)


def test_browsers():
    with Daemon() as d:
        cell = Interpreter(d)
        for method, path, body in (("GET", "/health", None), ("GET", "/contexts", None), ("POST", "/execute", b"{}"),
                                   ("POST", "/execute", json.dumps({"code": PLAIN}).encode()), ("OPTIONS", "/execute", None)):
            status, text, headers = cell.request(method, path, body, port=interpreter.PORT)
            check_equal(headers["Access-Control-Allow-Origin"], "*", path)


def test_access():
    """What needs which token; nothing of it is weaker than another port of the same sandbox."""
    with Daemon() as d:
        cell = Interpreter(d, secure=True, network={"allowPublicTraffic": False})
        status, info, unused = d.request("POST", f"/sandboxes/{cell.id}/connect", {"timeout": 60})
        traffic = {"E2b-Traffic-Access-Token": info["trafficAccessToken"]}
        everything = (("GET", "/health"), ("GET", "/contexts"), ("POST", "/contexts"), ("POST", "/execute"),
                      ("POST", "/contexts/x/restart"), ("DELETE", "/contexts/x"), ("GET", "/nothing"))
        for method, path in everything:
            for token in ({}, {"E2b-Traffic-Access-Token": "x" * 40}, {"E2b-Traffic-Access-Token": ""}):
                check_equal(cell.ask(method, path, b"{}", token)[0], 403, path)
        check_equal(cell.ask("GET", "/health", None, traffic), (200, "OK"))
        good, body = cell.token, json.dumps({"code": PLAIN}).encode()
        for bad in ("", "x" * len(good), good + "x"):
            cell.token = bad
            status, text = cell.ask("POST", "/execute", body, traffic)
            check_equal((status, type(text)), (401, str))
            check_equal(cell.ask("GET", "/contexts", None, traffic)[0], 200)
        cell.token = good
        check_equal(cell.ask("POST", "/execute", body, traffic)[0], 200)


def test_variables():
    with Daemon() as d:
        cell = Interpreter(d, envVars={"OWN": "1", "PATH": "/nowhere", "Ä": "ö"})
        code = COUNT + "frame('stdout', '-', repr((variables, os.environ['OWN'], os.environ['PATH'])).encode())\nvariables.clear()\n" + DONE
        given, own, path = eval(cell.execute(code, env_vars={"A": "b=c\nd", "B": ""}).stdout)
        check_equal(given, [("env", "OWN=1"), ("env", "PATH=/nowhere"), ("env", "Ä=ö"), ("with", "A=b=c\nd"), ("with", "B=")])
        check_equal((own, path.split(":")[0]), ("1", "/usr/local/sbin"))
        check_equal(eval(cell.execute(code).stdout)[0], [])


def test_output():
    """What goes to descriptors 1 and 2 before `done` belongs to the execution, all of it, in lines of ASCII."""
    with Daemon() as d:
        cell = Interpreter(d)
        code = COUNT + """
write("ä\u20ac\U0001f600".encode()[:-1], 1)
write(b"\\xff" + b"e" * 300000, 2)
write("ü".encode(), 1)
""" + DONE
        lines = cell.execute(code).check_ended()
        check_equal(lines.stdout, "ä\u20ac\ufffdü")
        check_equal("".join(x["text"] for x in lines.of("stderr")), "\ufffd" + "e" * 300000)
        lines = cell.execute(COUNT + "frame('result', 'main'); frame('part', 'text/plain', 'ä'.encode()); frame('part', 'image/png', b'QUJD')\n"
                             "frame('part', 'application/json', b'{\"a\":[1]}'); frame('part', 'x/y', b'z'); frame('close')\n"
                             "frame('error'); frame('part', 'name', b'E'); frame('close')\n" + DONE).check_ended()
        check_equal(lines[1], {"type": "result", "is_main_result": True, "text": "ä", "png": "QUJD", "json": {"a": [1]}, "extra": {"x/y": "z"}})
        check_equal(lines[2], {"type": "error", "name": "E", "value": "", "traceback": ""})


def test_contexts():
    with Daemon() as d:
        cell = Interpreter(d)
        first = cell.ask("GET", "/contexts")[1]
        check_equal([(c["language"], c["cwd"]) for c in first], [("python", "/home/user"), ("javascript", "/home/user")])
        check_equal(cell.drivers(), 0)
        where = COUNT + "frame('stdout', '-', os.getcwd().encode())\n" + DONE
        check_equal(cell.execute(where).stdout, "/home/user")
        made = cell.create(language=" Python ", cwd="/tmp")
        check_equal(cell.ask("GET", "/contexts")[1][2:], [{"id": made, "language": "python", "cwd": "/tmp"}])
        check_equal(cell.execute(where, context_id=made).stdout, "/tmp")
        check_equal(cell.execute(where, language="PYTHON").count, 2)
        check_equal(cell.ask("POST", f"/contexts/{made}/restart"), (200, None))
        lines = cell.execute(where, context_id=made)
        check_equal((lines.count, lines.stdout), (1, "/tmp"))
        check_equal(cell.ask("DELETE", f"/contexts/{made}"), (200, None))
        check_equal(cell.ask("GET", "/contexts")[1], first)
        check_equal(cell.ask("DELETE", f"/contexts/{made}"), (404, f"Context {made} not found"))
        check_equal(cell.ask("POST", "/execute", {"code": "", "context_id": made}), (404, f"Context {made} not found"))
        check_equal(cell.ask("DELETE", f"/contexts/{first[0]['id']}"), (200, None))
        check_equal(cell.execute(PLAIN).count, 1)
        check_equal([c["language"] for c in cell.ask("GET", "/contexts")[1]], ["javascript", "python"])


def test_what_cannot_start():
    with Daemon() as d:
        cell = Interpreter(d)
        before = cell.ask("GET", "/contexts")[1]
        status, text = cell.ask("POST", "/contexts", {"cwd": "/no/such"})
        check(status == 500 and "/no/such" in text, text)
        cell.script("frame('failed', '-', b'install more')")
        check_equal(cell.ask("POST", "/contexts", {"language": "some-kernel"}), (500, "install more"))
        lines = cell.execute("1", language="some-kernel").check_ended()
        check_equal((lines.error["name"], lines.error["value"]), ("LanguageNotInstalled", "install more"))
        cell.script("os.write(2, b'what is wrong\\n'); sys.exit(7)")
        error = cell.execute("1").check_ended().error
        check(error["name"] == "ContextNotStarted" and "status 7" in error["value"] and "what is wrong" in error["value"], error)
        cell.as_root("mv /usr/bin/python3 /usr/bin/python3.away; rm /usr/local/sbin/python3")
        error = cell.execute("1").check_ended().error
        check(error["name"] == "LanguageNotInstalled" and "install" in error["value"], error)
        check_equal(cell.ask("GET", "/contexts")[1], before)
        cell.as_root("mv /usr/bin/python3.away /usr/bin/python3")
        cell.script(interpreter.OBEDIENT)
        check_equal(cell.execute(PLAIN).error, None)


def test_queue():
    """One at a time, in the order of arrival, in several contexts at once."""
    with Daemon() as d:
        cell = Interpreter(d)
        other = cell.create()
        with cell.begin(HOLD) as running, cell.begin(HOLD, context_id=other) as beside:
            running.until("stdout")
            beside.until("stdout")
            waiting = [cell.begin(PLAIN) for unused in range(5)]
            gone = cell.begin(PLAIN)
            waiting += [cell.begin(PLAIN) for unused in range(5)]
            gone.close()
            wait_until(lambda: d.metrics()['hotcell_executions_total{language="python",outcome="abandoned"}'] == 1, "the client's leave")
            cell.run("touch /tmp/go")
            check_equal([e.all().check_ended().count for e in waiting], list(range(2, 12)))
            check(running.all().check_ended() and beside.all().check_ended(), "no end")
        for e in waiting:
            e.close()


def test_limits():
    with Daemon() as d:
        cell = Interpreter(d)
        contexts = [cell.create() for unused in range(62)]
        status, text = cell.ask("POST", "/contexts", {})
        check(status == 503 and "64" in text, text)
        status, text = cell.ask("POST", "/execute", {"code": "1", "language": "bash"})
        check(status == 503 and "64" in text, text)
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            for lines in pool.map(lambda c: cell.execute(PLAIN, context_id=c), contexts * 2):
                check_equal(lines.check_ended().error, None)
        with cell.begin(HOLD) as running:
            running.until("stdout")
            waiting = [cell.begin(PLAIN) for unused in range(64)]
            check_equal(cell.ask("POST", "/execute", {"code": PLAIN}), (503, "too many executions wait"))
            check_equal(cell.execute(PLAIN, context_id=contexts[0]).error, None)
            cell.run("touch /tmp/go")
            check_equal(waiting[-1].all().check_ended().count, 65)
            for e in waiting:
                e.close()
        with cell.begin("while True: time.sleep(1)") as running:
            large = [cell.begin("#" * (7 << 20), context_id=c) for c in contexts[:4]]
            check_equal(cell.ask("POST", "/execute", {"code": "#" * (7 << 20)}), (503, "too many executions wait"))
            for e in large:
                e.close()


def test_interrupt():
    """A client that leaves interrupts its execution: softly, then for good."""
    with Daemon() as d:
        cell = Interpreter(d)
        obedient = """
def stop(*unused):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, stop)
try:
    frame('stdout', '-', b'running')
    time.sleep(1000)
except KeyboardInterrupt:
    pass
""" + DONE
        with cell.begin(obedient) as running:
            running.until("stdout")
        check_equal(cell.execute(PLAIN).count, 2)
        twice = """
got = []
signal.signal(signal.SIGINT, lambda *unused: got.append(1))
frame('stdout', '-', b'running')
while len(got) < 2: time.sleep(0.05)
signal.signal(signal.SIGINT, signal.SIG_IGN)
""" + DONE
        counts = []
        while counts[-1:] in ([], [1]) and len(counts) < 5:  # 1: the machine stood still for longer than it is waited for
            with cell.begin(twice) as running:
                running.until("stdout")
            counts.append(cell.execute(PLAIN).count)
        check(counts[-1] > 2, f"{counts}: it was killed")
        deaf = "signal.signal(signal.SIGINT, signal.SIG_IGN)\nos.fork()\nframe('stdout', '-', b'running')\nwhile True: time.sleep(1)"
        with cell.begin(deaf) as running:
            running.until("stdout")
        check_equal(cell.execute(PLAIN).count, 1)
        check_equal(cell.drivers(), 1)


def test_keepalives():
    with Daemon() as d:
        cell = Interpreter(d)
        with cell.begin(HOLD) as running, cell.begin(PLAIN) as waiting:
            running.until("stdout")
            check_equal(waiting.line(), {"type": "keepalive"})
            check_equal(running.line(), {"type": "keepalive"})
            check_equal(waiting.line(), {"type": "keepalive"})
            cell.run("touch /tmp/go")
            running.until("end_of_execution")
            waiting.until("end_of_execution")


def test_restart_and_removal_during_executions():
    with Daemon() as d:
        cell = Interpreter(d)
        for method, rest, name in (("POST", "/restart", "ContextRestarting"), ("DELETE", "", "ExecutionAborted")):
            made = cell.create()
            with cell.begin(HOLD, context_id=made) as running:
                running.until("stdout")
                waiting = [cell.begin(PLAIN, context_id=made) for unused in range(3)]
                check_equal(cell.ask(method, f"/contexts/{made}{rest}"), (200, None))
                for e in (running, *waiting):
                    lines = e.all().check_ended()
                    check_equal([x["name"] for x in lines.of("error")], [name])
                    e.close()
        half = COUNT + "frame('result', 'main')\nwrite(b'part text/plain 1000\\nabc')\ntime.sleep(1000)"
        made = cell.create()
        with cell.begin(half, context_id=made) as running:
            text = b""
            while b"abc" not in text:
                text += running.response.read1(1000)
            check_equal(cell.ask("POST", f"/contexts/{made}/restart"), (200, None))
            lines = [json.loads(line) for line in (text + running.response.read()).splitlines()]
            check_equal([x["type"] for x in lines], ["number_of_executions", "result", "error", "end_of_execution"])
            check_equal((lines[1]["text"], lines[2]["name"]), ("abc", "ContextRestarting"))


def test_ends():
    """However a process ends, the client is told how, and the next execution starts anew."""
    with Daemon("--memory", "256M") as d:
        cell = Interpreter(d)
        for code, name, part in (("os._exit(3)", "UnexpectedEndOfExecution", "status 3"),
                                 ("os.kill(os.getpid(), signal.SIGSEGV)", "UnexpectedEndOfExecution", "SIGSEGV"),
                                 ("os.kill(os.getpid(), signal.SIGKILL)", "UnexpectedEndOfExecution", "SIGKILL"),
                                 ("os.close(4); time.sleep(1000)", "UnexpectedEndOfExecution", "closed"),
                                 ("os.close(4); os._exit(4)", "UnexpectedEndOfExecution", "status 4"),
                                 ("frame('stdout', '-', b'said'); os.fork() or time.sleep(1000); os._exit(5)",
                                  "UnexpectedEndOfExecution", "status 5")):
            lines = cell.execute(COUNT + code).check_ended()
            check_equal(lines.count, 1)
            check(lines.error["name"] == name and part in lines.error["value"], lines)
        cell.run(f"pkill -9 -f {interpreter.PATTERN}")
        tap.skip_if_sanitized("the rest needs a limit of memory that means it")
        with cell.begin(COUNT + "x = bytearray(400 << 20)") as e:
            text = e.cut_or_all()
        if text is None:  # without control groups it is the sandbox that ends
            wait_until(lambda: d.request("GET", f"/sandboxes/{cell.id}")[0] == 404, "the sandbox's end")
            check("memory" in d.request("GET", f"/sandboxes/{cell.id}")[1]["message"], "another reason")
            return
        lines = text.check_ended()
        check(lines.error["name"] in ("OutOfMemory", "UnexpectedEndOfExecution"), lines)
        check("memory" in lines.error["value"], lines)
        check_equal(cell.execute(PLAIN).count, 1)
        check_equal(d.request("GET", f"/sandboxes/{cell.id}")[0], 200)


def test_killed_between_executions():
    with Daemon() as d:
        cell = Interpreter(d)
        for unused in range(5):
            check_equal(cell.execute(PLAIN).count, 1)
            cell.as_root(f"pkill -9 -f {interpreter.PATTERN}")


def test_pause_and_end_of_the_sandbox():
    with Daemon() as d:
        cell = Interpreter(d, autoPause=True, autoResume={"enabled": True})
        made = cell.create()
        check_equal(cell.execute(PLAIN, context_id=made).count, 1)
        with cell.begin(HOLD) as running, cell.begin(PLAIN) as waiting:
            running.until("stdout")
            check_equal(d.request("POST", f"/sandboxes/{cell.id}/pause", {})[0], 204)
            check(is_cut(running) and is_cut(waiting), "an execution went on in a paused sandbox")
        check_equal(cell.execute(PLAIN, context_id=made).count, 2)  # woken by it
        contexts = cell.ask("GET", "/contexts")[1]
        check_equal(d.request("POST", f"/sandboxes/{cell.id}/pause", {"memory": False})[0], 204)
        check_equal(cell.ask("GET", "/contexts"), (200, contexts))
        check_equal(cell.execute(PLAIN, context_id=made).count, 1)
        with cell.begin("frame('stdout', '-', b'running'); time.sleep(1000)") as running, cell.begin(PLAIN) as waiting:
            running.until("stdout")
            check_equal(d.request("DELETE", f"/sandboxes/{cell.id}")[0], 204)
            check(is_cut(running) and is_cut(waiting), "an execution outlived its sandbox")
        check_equal(cell.ask("GET", "/contexts")[0], 502)
        check_equal(d.metrics()["hotcell_contexts"], 0)


def test_woken_by_whom():
    with Daemon() as d:
        cell = Interpreter(d, secure=True, autoResume={"enabled": True}, network={"allowPublicTraffic": False})
        check_equal(d.request("POST", f"/sandboxes/{cell.id}/pause", {})[0], 204)
        for method, path in (("GET", "/health"), ("POST", "/execute"), ("POST", "/contexts")):
            check_equal(cell.ask(method, path, b"{}")[0], 403)
        check_equal(d.request("GET", f"/sandboxes/{cell.id}")[1]["state"], "paused")


def test_metrics():
    with Daemon() as d:
        cell = Interpreter(d)
        cell.execute(PLAIN)
        cell.execute("os._exit(1)")
        cell.script("sys.exit(1)")
        cell.execute("1", language="no-such-kernel")
        m = d.metrics()
        check_equal(m['hotcell_executions_total{language="python",outcome="done"}'], 1)
        check_equal(m['hotcell_executions_total{language="python",outcome="died"}'], 1)
        check_equal(m["hotcell_contexts"], 2)
        check_equal(m["hotcell_execution_first_line_seconds_count"], 3)


if __name__ == "__main__":
    tap.run(__import__("__main__"))
