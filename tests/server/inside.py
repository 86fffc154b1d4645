"""Programs in a sandbox at the ports of its own services: what is answered, to whom, and what a flood of them costs."""
import base64
import json
import struct

from harness import scene, tap
from harness.cell import Cell, connection_of
from harness.daemon import Daemon, descriptors
from harness.tap import check, check_equal

ENVD, CODE = 49983, 49999
PER_SANDBOX = 32

# What the programs inside begin with.
PRELUDE = """
import errno, http.client, json, os, select, socket, sys, time
def ask(port, method, path, body=None, headers={}, host="127.0.0.1"):
    c = http.client.HTTPConnection(host, port, timeout=60)
    c.request(method, path, body, headers)
    r = c.getresponse()
    return r.status, r.read().decode(errors="replace")
def raw(port, data):
    "All that is answered to these bytes, until the end."
    s = socket.create_connection(("127.0.0.1", port), 60)
    s.sendall(data)
    got = b""
    try:
        while piece := s.recv(65536):
            got += piece
            if b"\\r\\n\\r\\n" in got and b"close" not in got: break
    except ConnectionResetError:
        pass
    return got
def say(*words): print(*words, flush=True)
"""


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


def messages(response):
    """The events of a stream of processes, as they come."""
    while head := response.read(5):
        size = struct.unpack(">BI", head)[1]
        event = json.loads(response.read(size)).get("event")
        if event:
            yield event


class Guest:
    """A Python program inside."""

    def __init__(self, cell, body, user="user"):
        start = {"process": {"cmd": "python3", "args": ["-uc", PRELUDE + body]}, "stdin": True}
        basic = base64.b64encode(f"{user}:".encode()).decode()
        self.cell = cell
        self.connection, response = cell.stream("process.Process/Start", start, {"Authorization": f"Basic {basic}"})
        self.events = messages(response)
        self.pid = next(self.events)["start"]["pid"]
        self.out, self.err, self.end = "", "", None

    def wait_for(self, word):
        while word not in self.out and self.end is None:
            self.step(next(self.events))
        check(word in self.out, f"{self.out} {self.err}")

    def step(self, event):
        data = event.get("data", {})
        self.out += base64.b64decode(data.get("stdout", "")).decode()
        self.err += base64.b64decode(data.get("stderr", "")).decode()
        self.end = event.get("end", self.end)

    def go_on(self):
        check_equal(self.cell.call("process.Process/SendInput", {"process": {"pid": self.pid},
                                                                 "input": {"stdin": "Cg=="}})[0], 200)

    def finish(self):
        with connection_of(self.connection):
            for event in self.events:
                self.step(event)
        check(self.end is not None and not self.end.get("error"), f"{self.end} {self.out} {self.err}")
        return self.out


def inside(cell, body, **more):
    return Guest(cell, body, **more).finish()


def value(cell, expression, **more):
    """What an expression is inside, as JSON."""
    return json.loads(inside(cell, f"say(json.dumps({expression}))", **more))


HEALTHS = f"""
for host in ("localhost", "127.0.0.1", "0.0.0.0", "::1", socket.gethostname()):
    say(host != socket.gethostname() and host or "name", ask({CODE}, "GET", "/health", host=host)[0], ask({ENVD}, "GET", "/health", host=host)[0])
"""
HEALTHY = "".join(f"{host} 200 204\n" for host in ("localhost", "127.0.0.1", "0.0.0.0", "::1", "name"))


def test_from_the_pool_and_cold():
    with Daemon(pool=1) as d:
        d.wait_pool()
        pooled = Cell(d, secure=True)
        check_equal(inside(pooled, HEALTHS), HEALTHY)
        check_equal(d.events("sandbox.created")[0]["from"], "pool")
    with Daemon(pool=0) as d:
        check_equal(inside(Cell(d), HEALTHS, user="root"), HEALTHY)
        check_equal(d.events("sandbox.created")[0]["from"], "cold")


def test_all_of_the_services():
    with Daemon() as d:
        cell = Cell(d, envVars={"OF_ALL": "1"})
        code = json.dumps({"code": "echo $((6 * 7))", "language": "bash"})
        lines = value(cell, f"ask({CODE}, 'POST', '/execute', {code!r})")
        check_equal(lines[0], 200)
        check("42\\n" in lines[1] and lines[1].rstrip().endswith('"end_of_execution"}'), lines)
        check_equal(len(json.loads(value(cell, f"ask({CODE}, 'GET', '/contexts')[1]"))), 3)  # with that of bash
        check_equal(json.loads(value(cell, f"ask({ENVD}, 'GET', '/envs')[1]")), {"OF_ALL": "1"})
        check_equal(value(cell, f"ask({ENVD}, 'POST', '/files?path=/tmp/x', b'own ' * 100000, "
                                "{'Content-Type': 'application/octet-stream'})")[0], 200)
        check_equal(value(cell, f"ask({ENVD}, 'GET', '/files?path=/tmp/x')"), [200, "own " * 100000])
        made = value(cell, f"ask({ENVD}, 'POST', '/filesystem.Filesystem/MakeDir', '{{\"path\": \"/tmp/d\"}}', "
                           "{'Content-Type': 'application/json'})")
        check_equal(made[0], 200)
        check_equal(value(cell, f"ask({CODE}, 'GET', '/other')[0]"), 404)
        # More than one request on a connection.
        check_equal(value(cell, f"""(lambda c: [(c.request('GET', '/health'), c.getresponse().read().decode()) for _ in range(50)])(
            http.client.HTTPConnection('localhost', {CODE})) and 'kept'"""), "kept")


def test_tokens():
    with Daemon() as d:
        cell = Cell(d, secure=True, network={"allowPublicTraffic": False})
        traffic = d.request("POST", f"/sandboxes/{cell.id}/connect", {"timeout": 60})[1]["trafficAccessToken"]
        check_equal(value(cell, f"ask({CODE}, 'GET', '/health')[0]"), 200)
        check_equal(value(cell, f"ask({ENVD}, 'GET', '/health')[0]"), 204)
        for path in ("/envs", "/metrics", "/files?path=/etc/passwd"):
            check_equal(value(cell, f"ask({ENVD}, 'GET', '{path}')[0]"), 401, path)
            check_equal(value(cell, f"ask({ENVD}, 'GET', '{path}', headers={{'X-Access-Token': '{cell.token}'}})[0]"), 200, path)
        for method, path in (("GET", "/contexts"), ("POST", "/execute"), ("POST", "/contexts"), ("DELETE", "/contexts/x")):
            check_equal(value(cell, f"ask({CODE}, '{method}', '{path}', '{{}}')[0]"), 403, path)
        head = f"{{'E2b-Traffic-Access-Token': '{traffic}'}}"
        check_equal(value(cell, f"ask({CODE}, 'GET', '/contexts', headers={head})[0]"), 200)
        check_equal(value(cell, f"ask({CODE}, 'POST', '/execute', '{{\"code\": \"1\"}}', headers={head})[0]"), 401)


def test_nothing_but_this_sandbox():
    """Whatever a request says: it is read by the service of its port, for the sandbox that it comes from."""
    with Daemon("--domain", "example.test") as d:
        other, cell = Cell(d), Cell(d)
        for c, text in ((other, "other's"), (cell, "own")):
            check(b'"exited":true' in c.run(f"printf %s \"{text}\" > /tmp/mark"), text)
        inside(cell, "s = socket.socket(); s.bind(('127.0.0.1', 8000)); s.listen(); say('up')")
        path = "/files?path=/tmp/mark"
        for host in (f"{ENVD}-{other.id}.example.test", f"{CODE}-{other.id}.example.test", f"8000-{cell.id}.example.test",
                     f"127.0.0.1:{d.port}", "api.example.test", "sandbox.example.test", "localhost"):
            head = f"{{'Host': '{host}', 'E2b-Sandbox-Id': '{other.id}', 'E2b-Sandbox-Port': '8000', 'X-API-Key': '{d.key}'}}"
            check_equal(value(cell, f"ask({ENVD}, 'GET', '{path}', headers={head})"), [200, "own"], host)
            for port in (ENVD, CODE):
                for away in ("/sandboxes", f"/sandboxes/{other.id}", "/v2/sandboxes", "/templates", "/teams", "/nodes"):
                    check_equal(value(cell, f"ask({port}, 'GET', '{away}', headers={head})[0]"), 404, away)
                    check(value(cell, f"ask({port}, 'DELETE', '{away}', headers={head})[0]") in (404, 405), away)
            check("hotcell_" not in value(cell, f"ask({ENVD}, 'GET', '/metrics', headers={head})[1]"), "the server's metrics")
        absolute = f"GET http://{ENVD}-{other.id}.example.test{path} HTTP/1.1\r\nHost: {ENVD}-{other.id}.example.test\r\n\r\n"
        answer = value(cell, f"raw({ENVD}, {absolute.encode()!r}).decode()")
        check("other's" not in answer, answer)
        for text in (f"CONNECT {other.id}:80 HTTP/1.1\r\nHost: {other.id}:80\r\n\r\n",
                     f"GET /sandboxes/{other.id}/ports/8000 HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: hotcell-tcp\r\n"
                     f"X-API-Key: {d.key}\r\n\r\n",
                     "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            answer = value(cell, f"raw({CODE}, {text.encode()!r}).decode()")
            check(answer.startswith("HTTP/1.1 4") or answer.startswith("HTTP/1.1 5"), answer[:200])
        check_equal(other.request("GET", path)[1], b"other's")


def test_the_ports_are_taken():
    with Daemon() as d:
        cell = Cell(d)
        check_equal(value(cell, f"[socket.socket().connect_ex(('127.0.0.1', p)) for p in ({ENVD}, {CODE}, 49998)]"), [0, 0, 111])
        for user in ("user", "root"):
            tried = inside(cell, f"""
for port in ({ENVD}, {CODE}):
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, option, 1)
        try: s.bind(("0.0.0.0", port)); s.listen(); say("bound")
        except OSError as e: say(errno.errorcode[e.errno])
say(sum(":C3" in l.split()[1] and l.split()[3] == "0A" for l in open("/proc/net/tcp6")))
""", user=user)
            check_equal(tried, "EADDRINUSE\n" * 4 + "2\n")


def test_everything_inside_is_killed():
    """There is no server inside that could be killed."""
    with Daemon() as d:
        cell = Cell(d)
        for _ in range(3):
            cell.run("sudo kill -9 -1 2>/dev/null || kill -9 -1")
            check_equal(inside(cell, HEALTHS), HEALTHY)


def test_pauses():
    with Daemon() as d:
        cell = Cell(d)
        guest = Guest(cell, f"""
sys.stderr = sys.stdout
c = http.client.HTTPConnection('127.0.0.1', {CODE}); c.request("GET", "/health"); c.getresponse().read()
body = json.dumps({{"code": "sleep 1000", "language": "bash"}})
busy = socket.create_connection(('127.0.0.1', {CODE}))
busy.sendall(b"POST /execute HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body.encode())
with open("/tmp/seen", "w", 1) as seen:
    print(busy.recv(15), file=seen)
    while busy.recv(65536): pass
    print("cut", file=seen)
    print(ask({CODE}, "GET", "/health")[0], file=seen)
""")
        seen = lambda: cell.request("GET", "/files?path=/tmp/seen")[1].decode()
        scene.until(lambda: "200" in seen(), "no response")
        check_equal(d.request("POST", f"/sandboxes/{cell.id}/pause")[0], 204)
        guest.connection.close()
        check_equal(d.metrics()["hotcell_inside_connections"], 0)
        check_equal(d.request("POST", f"/sandboxes/{cell.id}/connect", {"timeout": 60})[0], 201)
        scene.until(lambda: seen() == "b'HTTP/1.1 200 OK'\ncut\n200\n", seen)
        check_equal(d.request("POST", f"/sandboxes/{cell.id}/pause", {"memory": False})[0], 204)
        check_equal(d.request("POST", f"/sandboxes/{cell.id}/connect", {"timeout": 60})[0], 201)
        check_equal(inside(cell, HEALTHS), HEALTHY)


def test_a_flood():
    """A sandbox gets so many connections and no more, whatever it opens; it costs nobody else anything."""
    with Daemon() as d:
        hostile, other = Cell(d), Cell(d)
        check_equal(inside(other, HEALTHS), HEALTHY)
        scene.until(lambda: d.metrics()["hotcell_inside_connections"] == 0, "connections are left")
        before = descriptors(d.child.pid)
        guest = Guest(hostile, f"""
kept = []
for i in range(900):
    s = socket.socket(); s.setblocking(False)
    s.connect_ex(("127.0.0.1", ({ENVD}, {CODE})[i % 2]))
    kept.append(s)
say("open")
sys.stdin.readline()
""")
        guest.wait_for("open")
        scene.until(lambda: d.metrics()["hotcell_inside_connections"] == PER_SANDBOX, "not as many as there may be")
        more = descriptors(d.child.pid) - before
        check(more <= PER_SANDBOX + 12, f"{more} descriptors")
        check_equal(inside(other, HEALTHS), HEALTHY)
        check_equal(hostile.request("GET", "/health")[0], 204)
        guest.go_on()
        guest.finish()
        check_equal(inside(hostile, HEALTHS), HEALTHY)
        scene.until(lambda: d.metrics()["hotcell_inside_connections"] == 0, "connections are left")
        scene.until(lambda: descriptors(d.child.pid) <= before + 4, "descriptors are left")


def test_come_and_go():
    """Connections that are dropped in every state, as fast as it goes."""
    with Daemon() as d:
        cell = Cell(d)
        check_equal(inside(cell, f"""
import random, struct
pieces = [b"", b"G", b"GET /health HTTP/1.1\\r\\nHost: x\\r\\n", b"GET /health HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" * 3,
          b"POST /execute HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 100\\r\\n\\r\\nabc", os.urandom(3000),
          b"POST /files?path=/tmp/y HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nab"]
for i in range(2000):
    s = socket.create_connection(("localhost", random.choice(({ENVD}, {CODE}))), 60)
    try:
        s.sendall(random.choice(pieces))
        if random.random() < 0.2: s.shutdown(socket.SHUT_WR)
        if random.random() < 0.2: s.recv(100)
    except OSError: pass
    if random.random() < 0.5: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
say("done")
""".replace("s.recv(100)", "s.settimeout(0.01); s.recv(100)")), "done\n")
        scene.until(lambda: d.metrics()["hotcell_inside_connections"] == 0, "connections are left")
        check_equal(inside(cell, HEALTHS), HEALTHY)


def test_garbage():
    with Daemon() as d:
        cell = Cell(d)
        for text, status in ((b"\0\1\2\3\r\n\r\n", 400), (b"GET /health HTTP/1.1\r\n\r\n", 400),
                             (b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400), (b"GET /" + b"x" * 40000, 431),
                             (b"POST /execute HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
                             (b"POST /execute HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", 413)):
            answer = value(cell, f"raw({CODE}, {text!r}).decode()")
            check(answer.startswith(f"HTTP/1.1 {status} "), f"{text[:40]}: {answer[:100]}")
        # Answers are not read: the connection ends, and the sandbox with its streams is killed without harm.
        Guest(cell, f"""
s = socket.create_connection(("localhost", {ENVD}), 60)
s.setblocking(False)
try:
    while True: s.send(b"GET /files?path=/usr/bin/python3 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" * 100)
except BlockingIOError: say("full")
time.sleep(1000)
""").wait_for("full")
        check_equal(inside(cell, HEALTHS), HEALTHY)
        check_equal(d.request("DELETE", f"/sandboxes/{cell.id}")[0], 204)
        check_equal(d.metrics()["hotcell_inside_connections"], 0)


def test_what_connections_hold():
    """Bodies that never end, and answers that nobody takes: all connections of a sandbox together hold so much."""
    with Daemon() as d:
        cell = Cell(d)
        check_equal(inside(cell, f"""
def begin(port, path, size):
    s = socket.create_connection(("localhost", port), 60)
    s.sendall(b"POST %s HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % (path, size))
    return s
many = [begin({CODE}, b"/execute", 8 << 20) for _ in range(10)]
for s in many:
    try: s.sendall(b" " * ((8 << 20) - 1))
    except OSError: pass
ready = select.select(many, [], [], 60)[0]
say(ready[0].recv(12).decode())
say(ask({CODE}, "GET", "/health")[0])
say(ask({CODE}, "POST", "/contexts", '{{"language": "bash"}}')[0]) # little counts as nothing
say(begin({CODE}, b"/contexts", 100000).recv(12).decode())
for s in many: s.close()
# What is freed can be used again.
for _ in range(3):
    s = begin({ENVD}, b"/filesystem.Filesystem/Stat", 60 << 20)
    s.sendall(b" " * ((60 << 20) - 2) + b"{{}}")
    say(s.recv(12).decode())
    s.close()
"""), "HTTP/1.1 503\n200\n200\nHTTP/1.1 413\n" + "HTTP/1.1 200\n" * 3)
        check(tap.sanitized() or resident(d.child.pid) < 256 << 20, "memory")  # freed memory stays for a while there


def test_who_is_slow_leaves():
    """As many as there may be, and no request of theirs ever ends: who waits is served when their time is up."""
    with Daemon() as d:
        cell = Cell(d)
        check_equal(inside(cell, f"""
slow = [socket.create_connection(("localhost", {CODE})) for _ in range({PER_SANDBOX + 100})]
for s in slow[:{PER_SANDBOX}]: s.sendall(b"GET /health HTTP/1.1\\r\\nHo")
for s in slow[{PER_SANDBOX}:]: s.close()
say(ask({CODE}, "GET", "/health")[0])
say(sum(s.recv(12) == b"HTTP/1.1 408" for s in slow[:{PER_SANDBOX}]))
"""), f"200\n{PER_SANDBOX}\n")


if __name__ == "__main__":
    tap.run(__import__("__main__"))
