"""`hotcell code --sandbox`: code in a sandbox of a server, and servers that lie."""
import json
import os
import signal
import subprocess
import sys

from harness import process, tap
from harness.client import HOTCELL, Client, Liar, run
from harness.tap import PATIENCE_S, check, check_equal
from harness.terminal import Terminal


class Code(Client):
    def code(self, id, *arguments, stdin="", **env):
        status, out, err = self.bytes("code", "--sandbox", id, *arguments, stdin=stdin.encode(), env=env)
        return status, out.decode(), err.decode()

    def contexts(self, id):
        return self.request("GET", "/contexts", headers={"E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49999"})[1]


def check_failed(done, *words):
    status, out, err = done
    check(status == 125 and out == "" and err.startswith("hotcell: ") and err.count("\n") == 1, done)
    for word in words:
        check(word in err, f"no {word!r} in {err}")


def test_state_and_results():
    with Code(pool=0) as c:
        id = c.create()
        check_equal(c.code(id, stdin="import os, sys; x = 41; print(os.getcwd()); print('e', file=sys.stderr)"),
                    (0, "/home/user\n", "e\n"))
        check_equal(c.code(id, stdin="x + 1"), (0, "42\n", ""))
        check_equal(c.code(id[:8], "-", stdin="x + 1"), (0, "42\n", ""), "the beginning of an id")
        status, out, err = c.code(id, stdin="1/0")
        check(status == 1 and out == "" and "ZeroDivisionError" in err, (status, out, err))
        check_equal(c.code(id, "-e", "A=1", "-e", "B", stdin="os.environ['A'], os.environ['B']", B="2")[1], "('1', '2')\n")
        check_equal(c.code(id, stdin="'A' in os.environ")[1], "False\n")
        out = c.code(id, "--json", stdin="x")[1]
        check_equal([json.loads(line)["type"] for line in out.splitlines()],
                    ["number_of_executions", "result", "end_of_execution"])
        check_equal(len(c.code(id, stdin="print('x' * 3000000)")[1]), 3000001)


def test_contexts():
    with Code(pool=0) as c:
        id = c.create()
        check_equal(c.code(id, "--workdir", "/tmp", stdin="import os; os.getcwd()")[1], "/tmp\n")
        before = c.contexts(id)
        check_equal([o for o in before if o["cwd"] == "/tmp"], [], "the context stays")
        context = c.request("POST", "/contexts", {"language": "python", "cwd": "/usr"},
                            headers={"E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49999"})[1]["id"]
        check_equal(c.code(id, "--context", context, stdin="import os; y = 1; os.getcwd()")[1], "/usr\n")
        check_equal(c.code(id, "--context", context, stdin="y")[1], "1\n")
        check_failed(c.code(id, "--context", "none", stdin="1"), "none", "not found")
        check_failed(c.code(id, "--context", "a b", stdin="1"), "a b")
        check_failed(c.code(id, "--context", context, "--workdir", "/", stdin="1"), "--workdir")
        check_failed(c.code(id, "--memory", "1G", stdin="1"), "--memory")


def test_languages_and_failures():
    with Code(pool=0) as c:
        id = c.create()
        status, out, err = c.code(id, "--lang", "no-such-kernel", stdin="1")
        check(status in (1, 125) and out == "" and "no-such-kernel" in err, (status, out, err))
        check_failed(c.code("a" * 21, stdin="1"), "a" * 21)
        c.request("POST", f"/sandboxes/{id}/pause", {})
        check_failed(c.code(id, stdin="1"), "paused")
    done = run(HOTCELL, "code", "--sandbox", "x", E2B_API_KEY="k", E2B_API_URL="http://127.0.0.1:1")
    check_failed((done.returncode, done.stdout, done.stderr), "is `hotcell serve` running?")
    done = run(HOTCELL, "code", "--sandbox", "x")
    check_failed((done.returncode, done.stdout, done.stderr), "no API key")


def test_interrupt():
    """The server is told by the end of the connection; the next execution does not wait."""
    with Code(pool=0) as c:
        id = c.create()
        with c.open("code", "--sandbox", id, stdin=subprocess.PIPE) as child:
            child.stdin.write(b"import time\nprint('ready')\ntime.sleep(1000)")
            child.stdin.close()
            check_equal(child.stdout.readline(), b"ready\n")
            child.send_signal(signal.SIGINT)
            check_equal(child.wait(PATIENCE_S), 130)
        check_equal(c.code(id, stdin="1 + 1"), (0, "2\n", ""))
        for number in (signal.SIGTERM, signal.SIGHUP):
            with c.open("code", "--sandbox", id, stdin=subprocess.PIPE) as child:
                child.stdin.write(b"print('ready')\ntime.sleep(1000)")
                child.stdin.close()
                check_equal(child.stdout.readline(), b"ready\n")
                child.send_signal(number)
                check_equal(child.wait(PATIENCE_S), 128 + number)


def test_cut():
    with Code(pool=0) as c:
        id = c.create()
        with c.open("code", "--sandbox", id, stdin=subprocess.PIPE) as child:
            child.stdin.write(b"import time\nprint('ready')\ntime.sleep(1000)")
            child.stdin.close()
            check_equal(child.stdout.readline(), b"ready\n")
            c.output("kill", id)
            status, err = child.wait(PATIENCE_S), child.stderr.read().decode()
            check(status in (1, 125) and err.count("hotcell: ") <= 1 and err, (status, err))
        other = c.create()
        with c.open("code", "--sandbox", other, stdin=subprocess.PIPE) as child:
            child.stdin.write(b"import time\nprint('ready')\ntime.sleep(1000)")
            child.stdin.close()
            check_equal(child.stdout.readline(), b"ready\n")
            c.child.kill()
            c.child.wait()
            check_equal(child.wait(PATIENCE_S), 125)
            check("cut" in child.stderr.read().decode(), "it does not say why")


def test_session():
    with Code(pool=0) as c:
        id = c.create()
        env = c.environment(XDG_STATE_HOME=c.root + "/state")
        with Terminal([c.hotcell, "code", "--sandbox", id], env) as t:
            t.expect(f"Python in sandbox {id}")
            t.expect("In [1]: ")
            t.type("x = 41\r")
            t.expect("In [2]: ")
            t.type("x + 1\r")
            t.expect("Out[2]: 42\r\n")
            t.expect("In [3]: ")
            t.type("import time; print('sle' + 'eps'); time.sleep(1000)\r")
            t.expect("sleeps\r\n")
            t.type("\x03")
            t.expect("interrupted\r\n")
            t.expect("In [4]: ")
            t.type("x\r")
            t.expect("Out[4]: 41\r\n")
            t.expect("In [5]: ")
            t.type(":restart\r")
            t.expect("default context")
            t.expect("In [5]: ")
            t.type("\x04")
            check_equal(t.end(), 0)
        with Terminal([c.hotcell, "code", "--sandbox", id, "-w", "/tmp"], env) as t:
            t.expect("In [1]: ")
            t.type("y = 1\r")
            t.expect("In [2]: ")
            t.type(":restart\r")
            t.expect("In [1]: ")
            t.type("y\r")
            t.expect("NameError")
            t.expect("In [2]: ")
            c.output("kill", id)
            t.type("1\r")
            t.expect("hotcell: ")
            t.expect("]: ")
            t.type("\x04")
            check_equal(t.end(), 0)


# ---- servers that lie ----

ID = "a" * 21
DETAIL = json.dumps({"sandboxID": ID, "state": "running", "envdAccessToken": None}).encode()


def answer(body, head="HTTP/1.1 200 OK\r\n", length=True):
    size = f"Content-Length: {len(body)}\r\n" if length else ""
    return f"{head}{size}Connection: close\r\n\r\n".encode() + body


def ask(*lines, head="HTTP/1.1 200 OK\r\n", options=()):
    body = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    with Liar(answer(DETAIL), answer(body, head, False)) as liar:
        done = subprocess.run([HOTCELL, "code", "--sandbox", ID, "--url", liar.url, "--key", "k", *options, "-"],
                              input=b"1", capture_output=True, timeout=PATIENCE_S, env=process.ENVIRONMENT)
        return done.returncode, done.stdout.decode(), done.stderr.decode()


END = {"type": "end_of_execution"}


def test_hostile_lines():
    hostile = "a\x1b[2J\x9b\r\u202e"
    for line in ({"type": "result", "text": hostile}, {"type": "result", "markdown": hostile},
                 {"type": "result", "chart": {"type": hostile, "title": hostile}}, {"type": "result", "extra": {hostile: 1}},
                 {"type": "error", "name": hostile, "value": hostile, "traceback": hostile},
                 {"type": "error", "name": hostile, "value": hostile}, {"type": hostile}, {hostile: 1}, [], 1,
                 {"type": "result", "text": 1, "png": [], "chart": 3, "extra": []}, {"type": "stdout"}, {"type": "stderr", "text": 5},
                 {"type": "error"}, {"type": "number_of_executions", "execution_count": "x"},
                 b"\xff\x1b[1m\n", b"\n", b"{\n", b'{"type":"result","json":' + b"[" * 5000 + b"\n"):
        status, out, err = ask(line, END)
        check(status in (0, 1) and "\x1b" not in out + err and "\r" not in out + err and "\x9b" not in out + err,
              (line, status, out, err))
        status, out, err = ask(line, END, options=["--json"])
        check(status in (0, 1) and out.isascii() and "\x1b" not in out, (line, status, out, err))


def test_an_end_is_enough():
    """Nobody waits for a server that has said all."""
    body = json.dumps(END).encode() + b"\n"
    late = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + body
    with Liar(answer(DETAIL), late, hold=True) as liar:
        done = run(HOTCELL, "code", "--sandbox", ID, "--url", liar.url, "--key", "k")
        check_equal((done.returncode, done.stdout, done.stderr), (0, "", ""))


def test_ends_that_are_none():
    check_failed(ask({"type": "keepalive"}), "cut")
    check_failed(ask(), "cut")
    check_failed(ask(b'{"type":"end_of_execution"}'), "cut")
    check_failed(ask(b"Context \x1b[1m not found", head="HTTP/1.1 404 Not Found\r\n"), "404")
    check_failed(ask(b"Context x not found", head="HTTP/1.1 404 Not Found\r\n"), "Context x not found")
    check_failed(ask(b"{}", head="HTTP/1.1 500 Oh\r\n"), "500")
    check_failed(ask(b"", head="rubbish\r\n"), "not HTTP")


if __name__ == "__main__":
    if not os.access(HOTCELL, os.X_OK):
        sys.exit(77)
    tap.run(sys.modules[__name__])
