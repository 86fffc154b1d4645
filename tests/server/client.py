"""`hotcell ps`, `top`, `kill`, `forward`, `cert` and what all verbs have in common."""
import json
import os
import re
import signal
import socket
import stat
import subprocess
import threading

from harness import client, process, scene, tap
from harness.client import HOTCELL, Client, Liar, answer
from harness.tap import PATIENCE_S, check, check_equal

VERBS = ("ps", "top", "logs", "exec", "cp", "forward", "snapshot", "fork", "kill", "cert")
KEY = "e2b_" + "0" * 40


def refused(done, *parts, status=1):
    check_equal(done.returncode, status, done.stderr)
    for part in parts:
        check(part in done.stderr, f"'{part}' is not in: {done.stderr}")


# ---- all verbs ----

def test_help():
    whole = client.run(HOTCELL, "help").stdout
    for verb in VERBS:
        check(re.search(rf"^  {verb} +\w", whole, re.M), f"{verb} is not in the help")
        first, second = client.run(HOTCELL, "help", verb), client.run(HOTCELL, verb, "--help")
        check_equal((first.returncode, second.returncode), (0, 0), verb)
        check_equal(first.stdout, second.stdout)
        check(first.stdout.startswith(f"Usage: hotcell {verb} "), first.stdout)
        check_equal(first.stdout.count("Options:"), 1, verb)


def test_usage():
    for verb in ("exec", "cp", "forward", "kill", "logs", "snapshot", "fork"):
        done = client.run(HOTCELL, verb)
        refused(done, f"Usage: hotcell {verb}", "--help", status=2)
    refused(client.run(HOTCELL, "ps", "--frobnicate"), "frobnicate", status=2)


def test_without_a_server():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))  # not listening: connections are refused
        url = f"http://127.0.0.1:{s.getsockname()[1]}"
        refused(client.run(HOTCELL, "ps", "--url", url, "--key", KEY), "onnection refused", "hotcell serve")
    refused(client.run(HOTCELL, "ps"), "E2B_API_KEY", "--key")
    for url in ("ftp://x", "http://", "nothing", "http://a:b:c/", "http://a b/", "http://x\r\ny/"):
        check_equal(client.run(HOTCELL, "ps", "--url", url, "--key", KEY).returncode, 1, url)
    refused(client.run(HOTCELL, "ps", "--key", "a\r\nb"), "line end")


def test_wrong_key():
    with Client(pool=0) as c:
        for verb in (["ps"], ["top"], ["kill", "i" * 21], ["exec", "i" * 21, "true"], ["logs", "i" * 21],
                     ["cp", "i" * 21 + ":x", "-"], ["forward", "i" * 21, "0:80"]):
            status, out, err = c.verb(*verb, env={"E2B_API_KEY": KEY})
            check_equal((status, out), (1, ""), verb)
            check("key is not valid" in err and "hotcell key" in err, err)


def test_ids():
    with Client(pool=0) as c:
        ids = [c.create(), c.create()]
        check_equal(c.output("exec", ids[0][:12], "echo", "x"), b"x\n")
        status, out, err = c.verb("exec", "i", "true")
        check(status == 1 and "more than one" in err, err)
        for bad in ("zzz", "i" * 21, "../x", "", "I" * 21, "i" * 22):
            for verb in (["exec", bad, "true"], ["logs", bad], ["kill", bad], ["forward", bad, "0:80"]):
                status, out, err = c.verb(*verb)
                if verb == ["logs", "i" * 21]:
                    continue
                check(status == 1 and err.startswith("hotcell: "), f"{verb}: {status} {err}")


def test_answers_that_lie():
    """Whatever answers is not trusted: no crash, no endless wait, no controls on the terminal."""
    for text in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n[]", b"SSH-2.0-x\r\n\r\n", answer("{]"),
                 answer("[1, null, {}]"), answer('{"a": 1}'), answer("x" * 70000), b"HTTP/1.1 " + b"x" * 70000,
                 b"HTTP/1.1 100 Continue\r\n\r\n" * 100, answer("", "204 No Content"),
                 b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"):
        for verb in (["ps"], ["top"], ["kill", "i" * 21], ["logs", "i" * 21], ["exec", "i" * 21, "true"]):
            with Liar(text, text, text) as liar:
                done = client.run(HOTCELL, *verb, E2B_API_URL=liar.url, E2B_API_KEY=KEY)
                check(0 <= done.returncode <= 1, f"{verb} {text[:40]}: {done.returncode} {done.stderr}")


def test_controls_are_not_obeyed():
    rows = [{"sandboxID": "i\u001b[2Jx", "templateID": "\u009b31m\u202e\u007f" + "ü" * 200, "state": "running",
             "alias": "a\nb\u2066"}]
    for verb in ("ps", "top"):
        more = [answer('{"sandboxes": {}}')]
        with Liar(answer(json.dumps(rows)), *more) as liar:
            done = client.run(HOTCELL, verb, "--url", liar.url, "--key", KEY)
        check_equal(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        check_equal(len(lines), 2, done.stdout)
        for bad in "\u001b\u009b\u202e\u007f\u2066":
            check(bad not in done.stdout, ascii(done.stdout))
    with Liar(answer('{"message": "no\\u001b[31m \\u009b1m"}', "400 Bad Request")) as liar:
        done = client.run(HOTCELL, "ps", "--url", liar.url, "--key", KEY)
    check("\x1b" not in done.stderr and "\u009b" not in done.stderr, ascii(done.stderr))


# ---- ps, top, kill ----

def test_ps():
    with Client() as c:
        check_equal(c.output("ps").decode().split(),
                    ["SANDBOX", "TEMPLATE", "STATE", "AGE", "LEFT", "CPUS", "MEMORY"])
        ids = [c.create(timeout=600), c.create(timeout=600)]
        check_equal(c.request("POST", f"/sandboxes/{ids[1]}/pause", {})[0], 204)
        lines = c.output("ps").decode().splitlines()
        rows = {line.split()[0]: line for line in lines[1:]}
        check_equal(sorted(rows), sorted(ids))
        check(re.fullmatch(r"\S+ +base +running +\d+s +(10m 0|9m \d+)s +\d+ +[\d.]+[MG]", rows[ids[0]]), rows[ids[0]])
        check(re.fullmatch(r"\S+ +base +paused +\d+s +- +\d+ +[\d.]+[MG]", rows[ids[1]]), rows[ids[1]])
        column = lines[0].index("STATE")
        check_equal({line[column:].split()[0] for line in lines[1:]}, {"running", "paused"})
        check_equal(sorted(s["sandboxID"] for s in json.loads(c.output("ps", "--json"))), sorted(ids))
        check_equal(c.output("kill", ids[0]).decode(), ids[0] + "\n")
        check_equal(json.loads(c.output("kill", "--json", ids[1])), [ids[1]])
        check_equal(len(c.output("ps").decode().splitlines()), 1)
        rows = c.output("ps", "-a").decode().splitlines()
        check(rows[0].endswith("REASON") and len(rows) == 3, rows)
        check(all("ended" in row and "killed" in row for row in rows[1:]), rows)
        status, out, err = c.verb("kill", ids[0])
        check(status == 1 and ids[0] in err, err)


def test_kill_some():
    """One that is not there does not keep the others alive."""
    with Client(pool=0) as c:
        id = c.create()
        status, out, err = c.verb("kill", "zzz", id)
        check_equal((status, out), (1, id + "\n"), err)
        check("zzz" in err, err)


def test_many():
    """More than a page of the server."""
    with Client("--keep-ended", "1h", pool=8) as c:
        ids = [c.create(timeout=300) for unused in range(120)]
        check_equal(sorted(s["sandboxID"] for s in json.loads(c.output("ps", "--json"))), sorted(ids))
        check_equal(len(c.output("top").decode().splitlines()), 121)
        check_equal(c.output("exec", ids[0][:14], "echo", "found"), b"found\n")


def test_top_once():
    with Client(pool=0) as c:
        id = c.create()
        lines = c.output("top").decode().splitlines()
        check_equal(lines[0].split(), ["SANDBOX", "TEMPLATE", "CPU", "MEMORY", "DISK"])
        check(lines[1].startswith(id) and "\x1b" not in lines[1], lines)
        check(isinstance(json.loads(c.output("top", "--json")), dict), "JSON")


# ---- forward ----

SERVER = """
import socket, threading
s = socket.create_server(("127.0.0.1", 8000))
print("ready", flush=True)
def serve(c):
    data = b""
    while True:
        piece = c.recv(65536)
        if not piece:
            break
        data += piece
    c.sendall(data[::-1])   # only after the client's end: half closed connections work
    c.close()
while True:
    threading.Thread(target=serve, args=(s.accept()[0],)).start()
"""


class Forward:
    def __init__(self, c, id, *options, port=8000):
        self.child = c.open("forward", *options, id, f"0:{port}")
        line = self.child.stdout.readline().decode()
        check(re.fullmatch(rf"127\.0\.0\.1:\d+ -> port {port} of \w+\n", line), line)
        self.port = int(line.split()[0].split(":")[1])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)

    def exchange(self, data):
        with self.connect() as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            return read_all(s)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.child.kill()
        self.child.communicate()


def read_all(s):
    data = b""
    while piece := s.recv(65536):
        data += piece
    return data


def start_server(c, id):
    child = c.open("exec", id, "python3", "-c", SERVER)
    check_equal(child.stdout.readline(), b"ready\n")
    return child


def exchanges(f):
    wrong = []

    def one(i):
        data = os.urandom(200000 + i)
        if f.exchange(data) != data[::-1]:
            wrong.append(i)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check_equal(wrong, [])


def test_forward():
    with Client(pool=0) as c:
        id = c.create()
        with start_server(c, id) as server, Forward(c, id) as f:
            exchanges(f)
            before = len(os.listdir(f"/proc/{f.child.pid}/fd"))
            with f.connect() as s:  # one that says nothing holds up nobody
                check_equal(f.exchange(b"abc"), b"cba")
            scene.until(lambda: len(os.listdir(f"/proc/{f.child.pid}/fd")) <= before, "descriptors are left")
            c.output("kill", id)
            server.communicate(timeout=PATIENCE_S)
            with f.connect() as s:
                check_equal(read_all(s), b"")
            check_equal(f.child.wait(PATIENCE_S), 1, "it ends when the sandbox is gone")
            check("not found" in f.child.stderr.read().decode(), "it says why")


def test_forward_closed_port():
    with Client(pool=0) as c:
        id = c.create()
        with Forward(c, id, port=9) as f:
            with f.connect() as s:
                check_equal(read_all(s), b"")
            said = f.child.stderr.readline().decode()
            check("port" in said, said)
            check(f.child.poll() is None, "it goes on")


def test_forward_arguments():
    with Client(pool=0) as c:
        id = c.create()
        for ports in ("0", "65536", "x", "1:2:3", "1:", ":", "", "80x", "65536:1"):
            status, out, err = c.verb("forward", id, ports)
            check(status == 1 and "LOCAL:PORT" in err, f"{ports}: {status} {err}")
        status, out, err = c.verb("forward", "--listen", "nowhere", id, "0:80")
        check(status == 1 and "--listen" in err, err)
        with socket.create_server(("127.0.0.1", 0)) as busy:
            status, out, err = c.verb("forward", id, f"{busy.getsockname()[1]}:80")
            check(status == 1 and "in use" in err, err)


# ---- https ----

def test_cert_and_https():
    with process.CleanDirectory() as folder:
        tls = os.path.join(folder, "tls")
        made = client.run(HOTCELL, "cert", "--dir", tls, "box.localhost")
        check_equal(made.returncode, 0, made.stderr)
        ca, cert, key = (os.path.join(tls, n) for n in ("ca.pem", "cert.pem", "key.pem"))
        check_equal(stat.S_IMODE(os.stat(key).st_mode), 0o600)
        for name in ("box.localhost", "80-abc.box.localhost", "localhost"):
            done = subprocess.run(["openssl", "verify", "-CAfile", ca, "-verify_hostname", name, cert],
                                  capture_output=True, text=True)
            check_equal(done.returncode, 0, done.stderr + done.stdout)
        before = open(key).read()
        for missing in (None, ca, cert):
            if missing:
                os.rename(missing, missing + ".old")
            again = client.run(HOTCELL, "cert", "--dir", tls)
            refused(again, "exists", "remove it")
            check_equal(open(key).read(), before)
            check(not missing or not os.path.exists(missing), "half a pair was made")
            if missing:
                os.rename(missing + ".old", missing)
        for bad in ("", "A.example", "a,DNS:b", "a b", "x" * 300):
            check_equal(client.run(HOTCELL, "cert", "--dir", folder, bad).returncode, 1, bad)
        os.chmod(folder, 0o755)
        with Client("--listen-tls", "127.0.0.1:0", "--tls-certificate", cert, "--tls-key", key, pool=0) as c:
            check_https(c, ca)


def check_https(c, ca):
    port = c.tls_port()
    url = f"https://127.0.0.1:{port}"
    status, out, err = c.verb("ps", "--url", url)
    check(status == 1 and "--ca" in err, err)
    id = c.create()
    https = {"E2B_API_URL": url}
    check(id in c.output("ps", "--ca", ca, env=https).decode(), "ps")
    named = {"E2B_API_URL": f"https://box.localhost:{port}", "SSL_CERT_FILE": ca}
    check(id in c.output("ps", env=named).decode(), "a name below localhost, and an authority of the environment")
    status, out, err = c.verb("ps", "--ca", ca, "--url", f"https://other.localhost:{port}")
    check(status == 1 and "ostname mismatch" in err, err)
    check_equal(c.output("exec", "--ca", ca, id, "cat", stdin=b"over tls" * 10000, env=https), b"over tls" * 10000)
    status, out, err = c.verb("ps", "--ca", "/nonexistent", env=https)
    check(status == 1 and "/nonexistent" in err, err)
    child = c.open("exec", id, "python3", "-c", SERVER)
    with child, Forward(c, id, "--url", url, "--ca", ca) as f:
        check_equal(child.stdout.readline(), b"ready\n")
        exchanges(f)
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=PATIENCE_S)


if __name__ == "__main__":
    import sys
    tap.run(sys.modules[__name__])
