"""Hostile clients and guests of `hotcell serve`, above HTTP: each gets a clear answer, and changes nothing."""
import base64
import concurrent.futures
import gzip
import http.client
import json
import os
import select
import socket

from harness import daemon, scene, tap
from harness.cell import Cell, connection_of, envelope
from harness.daemon import Daemon
from harness.tap import PATIENCE_S, check, check_equal

ROOM = 48 << 20  # of memory, for what may wait in queues


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


def check_error(status, text, *wanted):
    """The E2B error shape: {"code", "message"}."""
    check(status in (wanted or (400,)), f"{status} {text[:300]}")
    value = json.loads(text)
    check(value["message"] and "code" in value, value)


def test_envelopes():
    good = json.dumps({"process": {"cmd": "/bin/true"}}).encode()
    with Daemon() as d:
        cell = Cell(d)
        for bad in (b"", b"\0", b"\0\0\0\0", envelope(good, size=len(good) + 1), envelope(good, size=len(good) - 1),
                    envelope(good, size=0xffffffff), envelope(good, flags=1), envelope(good, flags=2),
                    envelope(good, flags=0xff), envelope(good) * 2, envelope(good) + b"x", envelope(b"[]"),
                    envelope(b"nonsense"), envelope(b"{}"), envelope(b"[" * 1000000), good):
            connection, response = cell.stream("process.Process/Start", bad)
            with connection_of(connection):
                text = response.read()
            check_equal(response.status, 200)
            check(b"invalid_argument" in text and b'"start"' not in text, f"{bad[:40]}: {text[:200]}")
        status, text = cell.call("process.Process/Start", good)
        check_error(status, text, 415)
        cell.check_alive()


def test_long_text_in_errors():
    """An error that is cut inside of a character is still an error of its kind."""
    with Daemon() as d:
        cell = Cell(d)
        for shift in range(4):
            name = "/" + "x" * shift + "\u20ac" * 700
            connection, response = cell.stream("process.Process/Start", {"process": {"cmd": name}})
            with connection_of(connection):
                text = response.read()
            check(b"invalid_argument" in text and b"message" in text, text)
            status, text = cell.call("filesystem.Filesystem/Stat", {"path": name})
            check_error(status, text, 404, 400)


BAD_JSON = (b"[" * 500000, b'{"a":' * 400000, b'{"a":[' + b"[]," * 300000 + b"[]]}", b"{", b'{"a":1}x', b"\xff\xfe",
            b'{"templateID":"\xff"}', b'{"templateID":"\\ud800"}', b'{"templateID":"\0"}', b'{"templateID":"base\\u0000"}',
            b'{"templateID":"base","timeout":1e999}', b'{"templateID":"base","timeout":99999999999999999999999999}',
            b'{"templateID":"base","timeout":-1}', b'{"templateID":"base","templateID":"base"}', b'"base"', b"[]", b"null",
            b'{"templateID":["base"]}', b'{"templateID":"base","metadata":{"a":{}}}', b'{"templateID":"base","envVars":[]}')


def test_json():
    with Daemon() as d:
        cell = Cell(d)
        before = resident(d.child.pid)
        for bad in BAD_JSON:
            connection = http.client.HTTPConnection("127.0.0.1", d.port, timeout=PATIENCE_S)
            with connection_of(connection):
                connection.request("POST", "/sandboxes", bad, {"X-API-Key": d.key, "Content-Type": "application/json"})
                response = connection.getresponse()
                check_error(response.status, response.read(), 400, 404, 413)
        for bad in BAD_JSON[:9] + (b"[]", b"null", b"[" + b"[]," * (8 << 20) + b"[]]"):
            check_error(*cell.call("process.Process/List", bad), 400, 413)
        check_equal(len(d.request("GET", "/v2/sandboxes")[1]), 1)
        check(resident(d.child.pid) - before < 2 * ROOM, "the server has grown")
        cell.check_alive()


def part(name, filename, content):
    return (f'--xx\r\nContent-Disposition: form-data; name="{name}"; filename="{filename}"\r\n\r\n').encode() + content + b"\r\n"


def upload(cell, body, headers=None, path=""):
    fields = {"Content-Type": "multipart/form-data; boundary=xx", **(headers or {})}
    return cell.request("POST", f"/files{path}", body, fields)


def test_multipart():
    end = b"--xx--\r\n"
    with Daemon() as d:
        cell = Cell(d)
        for bad in (b"", b"--xx", b"--xx--", end, b"no boundary at all", b"--xx\r\n" + b"a" * 200000,
                    b"--xx\r\n" + b"A: b\r\n" * 20000 + b"\r\n\r\n" + end, part("file", "/tmp/a", b"x"),
                    part("file", "", b"x") + end, part("other", "a", b"x") + end,
                    part("file", "/tmp/same", b"x") * 2 + end, part("file", "/tmp/" + "d" * 5000, b"x") + end,
                    part("other", "a", b"x" * (2 << 20)) + end,
                    b"".join(part("file", f"/tmp/many/{i}", b"") for i in range(1500)) + end):
            status, text, unused = upload(cell, bad)
            check_error(status, text)
        for kind in ("multipart/form-data", "multipart/form-data; boundary=", "text/plain", "multipart/form-data; boundary=" + "b" * 300):
            status, text, unused = upload(cell, b"x", {"Content-Type": kind})
            check_error(status, text)
        cell.check_alive()


def test_names_that_are_no_text():
    with Daemon() as d:
        cell = Cell(d)
        body = b'--xx\r\nContent-Disposition: form-data; name="file"; filename="/tmp/n/\xff\xfe"\r\n\r\nx\r\n--xx--\r\n'
        status, text, unused = upload(cell, body)
        check_equal(status, 200, text)
        check("\ufffd" in json.loads(text)[0]["name"], text)
        status, text = cell.call("filesystem.Filesystem/ListDir", {"path": "/tmp/n"})
        check("\ufffd" in json.loads(text)["entries"][0]["name"], text)
        cell.run("printf x > \"$(printf '/tmp/a\\r\\nSet-Cookie: b=c')\"; printf x > '/tmp/q\"; x'")
        for path in ("/tmp/a%0d%0aSet-Cookie:%20b=c", "/tmp/q%22;%20x"):
            status, text, headers = cell.request("GET", f"/files?path={path}")
            check_equal((status, text, headers.get("Set-Cookie")), (200, b"x", None))
            check_equal(headers["Content-Disposition"], 'inline; filename="file"')


def test_gzip():
    packed = gzip.compress(bytes(256 << 20), 9)
    with Daemon("--disk", "32M") as d:
        cell = Cell(d)
        cell.check_alive()
        before = resident(d.child.pid)
        for body, status in ((packed, 507), (b"no gzip", 400), (packed[:1000], 400), (gzip.compress(b"x") + b"y", 400)):
            got, text, unused = cell.request("POST", "/files?path=/tmp/bomb", body, {
                "Content-Type": "application/octet-stream", "Content-Encoding": "gzip"})
            check_error(got, text, status)
        got, text, unused = upload(cell, gzip.compress(part("other", "a", bytes(256 << 20)) + b"--xx--\r\n"), {"Content-Encoding": "gzip"})
        check_error(got, text)
        check(resident(d.child.pid) - before < ROOM, "the server has grown")
        check_equal(d.request("GET", f"/sandboxes/{cell.id}")[0], 200)


def test_slow_readers():
    """Output that nobody takes stays in the sandbox."""
    tap.skip_if_sanitized("freed memory stays for a while")
    with Daemon() as d:
        cell = Cell(d)
        cell.check_alive()
        before = resident(d.child.pid)
        slow = [cell.start("yes")[0] for unused in range(8)]
        slow += [cell.stream("filesystem.Filesystem/WatchDir", {"path": "/tmp", "includeEntry": True})[0] for unused in range(8)]
        for unused in range(10):
            check(b'"exited":true' in cell.run("for i in $(seq 300); do : > /tmp/f$i; done; rm /tmp/f*"), "no end")
        grown = resident(d.child.pid) - before
        check(grown < 2 * ROOM, f"the server has grown by {grown >> 20} MiB")
        for connection in slow:
            connection.close()
        check(b'"exited":true' in cell.run("pkill yes; true"), "no end")


def test_lists_without_end():
    """A directory whose list would take all memory of the server."""
    with Daemon() as d:
        cell = Cell(d)
        cell.run("""python3 -c '
import os
os.chdir("/tmp")
for i in range(15):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
for i in range(60000): os.close(os.open(str(i), os.O_CREAT))
'""")
        deep = "/tmp/" + "/".join(["d" * 250] * 15)
        before = resident(d.child.pid)
        for _ in range(2):
            status, text = cell.call("filesystem.Filesystem/ListDir", {"path": deep})
            check_equal((status, json.loads(text)["code"]), (429, "resource_exhausted"), text)
        more = resident(d.child.pid) - before
        check(tap.sanitized() or more < 400 << 20, f"{more >> 20} MiB more")  # freed memory stays for a while there
        status, text = cell.call("filesystem.Filesystem/ListDir", {"path": "/usr/bin"})
        check_equal(status, 200)
        cell.check_alive()


def test_input_that_nobody_reads():
    """Each process may have 16 MiB of it waiting, all of them 64 MiB."""
    with Daemon() as d:
        cell = Cell(d)
        waiting, content = {}, base64.b64encode(b"x" * (15 << 20)).decode()
        streams = [cell.stream("process.Process/Start", {"process": {"cmd": "sleep", "args": ["1000"]}, "stdin": True}) for _ in range(6)]
        for unused, response in streams:
            pid = json.loads(response.read(int.from_bytes(response.read(5)[1:], "big")))["event"]["start"]["pid"]
            connection = http.client.HTTPConnection("127.0.0.1", d.port, timeout=PATIENCE_S)
            connection.request("POST", "/process.Process/SendInput", json.dumps({"process": {"pid": pid}, "input": {"stdin": content}}),
                               {**cell.fields(), "Content-Type": "application/json"})
            waiting[connection.sock] = connection
        for _ in range(2):
            ready = select.select(list(waiting), [], [], PATIENCE_S)[0]
            response = waiting.pop(ready[0]).getresponse()
            check_equal((response.status, json.loads(response.read())["code"]), (429, "resource_exhausted"))
        cell.run("pkill sleep")
        for connection in waiting.values():
            check_equal(connection.getresponse().status, 500)


def test_output_that_outlives_its_command():
    with Daemon() as d:
        cell = Cell(d)
        for unused in range(5):
            text = cell.run("yes & echo $! > /tmp/pid; sleep 0.1")
            check(b'"end"' in text, "the stream has no end")
            cell.run("kill $(cat /tmp/pid)")
        cell.check_alive()


def test_idle_streams():
    with Daemon() as d:
        cell = Cell(d)
        before = resident(d.child.pid)
        idle = [cell.stream("filesystem.Filesystem/WatchDir", {"path": "/tmp"}) for unused in range(300)]
        check_equal({response.status for unused, response in idle}, {200})
        check(resident(d.child.pid) - before < ROOM, "idle streams are dear")
        for connection, unused in idle:
            connection.close()
        cell.check_alive()


VANISH = (
    b"POST /files?path=/tmp/half HTTP/1.1\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 70000,
    b"POST /files HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=xx\r\nContent-Length: 9999\r\n\r\n" + part("file", "/tmp/h", b"x"),
    b"GET /files?path=/tmp/big HTTP/1.1\r\n\r\n",
    b"POST /process.Process/Start HTTP/1.1\r\nContent-Type: application/connect+json\r\nContent-Length: 60\r\n\r\n\0\0\0\0",
    b"POST /process.Process/List HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{",
    b"POST /filesystem.Filesystem/CreateWatcher HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"path\":\"/tmp\"}",
)


def test_clients_that_vanish():
    with Daemon(pool=1) as d:
        cell = Cell(d)
        cell.run("head -c 20000000 /dev/zero > /tmp/big")
        start = envelope(json.dumps({"process": {"cmd": "/bin/sh", "args": ["-c", "sleep 1000"]}}).encode())
        run = b"POST /process.Process/Start HTTP/1.1\r\nContent-Type: application/connect+json\r\nContent-Length: %d\r\n\r\n" % len(start) + start
        d.wait_pool()
        before = daemon.descriptors(d.child.pid)
        for unused in range(10):
            for text in VANISH + (run,):
                cell.raw(text).close()
        cell.run("pkill sleep; true")
        body = json.dumps({"templateID": "base", "timeout": 60, "metadata": {"vanish": "yes"}}).encode()
        for unused in range(10):
            s = socket.create_connection(("127.0.0.1", d.port))
            s.sendall(b"POST /sandboxes HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n" % (d.key.encode(), len(body)) + body)
            s.close()

        def settled():
            for x in d.request("GET", "/v2/sandboxes?limit=100")[1]:
                if x["sandboxID"] != cell.id:
                    d.request("DELETE", f"/sandboxes/{x['sandboxID']}")
            cell.run("pkill sleep; true")
            return daemon.descriptors(d.child.pid) <= before + 10  # watchers that lost their client may be there
        scene.until(settled, "descriptors are left")
        cell.check_alive()


def test_flood_of_creates():
    with Daemon("--sandboxes-max", "5", pool=2) as d:
        launcher = d.launcher()
        body = {"templateID": "base", "timeout": 60}
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            answers = list(pool.map(lambda unused: d.request("POST", "/sandboxes", body), range(60)))
        check_equal(sum(status == 201 for status, *unused in answers), 5)
        for status, value, headers in answers:
            check(status in (201, 429, 503) and (status == 201 or value["message"]), value)
        for x in d.request("GET", "/v2/sandboxes")[1]:
            check_equal(d.request("DELETE", f"/sandboxes/{x['sandboxID']}")[0], 204)
        d.wait_pool()
        scene.until(lambda: len(d.kernels()) == 2, "kernel processes are left")
        check_equal(len(os.listdir(os.path.join(d.data, "sandboxes"))), len(d.kernels()))
        check(launcher == d.launcher(), "another launcher")


GUEST = """python3 -u -c "
import socket, threading, sys
s = socket.socket(); s.bind(('127.0.0.1', 8000)); s.listen(50)
def talk(c):
    way = c.recv(65536).split(b' ')[1]
    try:
        if way == b'/garbage': c.sendall(bytes(range(256)) * 10)
        if way == b'/endless':
            c.sendall(b'HTTP/1.1 200 OK\\r\\n')
            while True: c.sendall(b'X-A: b\\r\\n' * 1000)
        if way == b'/line':
            while True: c.sendall(b'H' * 65536)
        if way == b'/split': c.sendall(b'HTTP/1.1 200 OK\\r\\nX-A: b\\nSet-Cookie: c\\r\\nContent-Length: 0\\r\\n\\r\\n')
        if way == b'/two': c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\nab')
        if way == b'/chunk': c.sendall(b'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nzz\\r\\n')
        if way == b'/ok': c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')
    except OSError: pass
    c.close()
while True: threading.Thread(target=talk, args=(s.accept()[0],)).start()
" """


def test_guests_that_answer_nonsense():
    with Daemon() as d:
        cell = Cell(d)
        serving, unused = cell.start(GUEST)
        scene.until(lambda: cell.request("GET", "/ok", port=8000)[0] == 200, "the guest's server")
        for way in ("/garbage", "/endless", "/line", "/split", "/two", "/nothing"):
            status, text, headers = cell.request("GET", way, port=8000)
            check_equal((status, headers.get("Set-Cookie")), (502, None), way)
        try:
            cell.request("GET", "/chunk", port=8000)
            raise AssertionError("a broken body looked whole")
        except http.client.IncompleteRead:
            pass
        check_equal(cell.request("GET", "/ok", port=8000)[1], b"ok")
        serving.close()


def test_ids():
    with Daemon() as d:
        cell = Cell(d)
        for id in ("..", "%2e%2e", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "a" * 3000, "%00", "%ff%fe", "%0d%0aX:%20y", "'%20OR%201=1", "i" * 21):
            for method, rest in (("GET", ""), ("DELETE", ""), ("POST", "/timeout"), ("GET", "/logs"), ("POST", "/pause")):
                status, value, headers = d.request(method, f"/sandboxes/{id}{rest}", {"timeout": 1} if method == "POST" else None)
                check(status in (400, 404, 405) and headers.get("X") is None, f"{id}: {status} {value}")
        for id in ("..", "x" * 2000, "\xe4\xff", "a/b", "%00"):
            headers = {"E2b-Sandbox-Id": id.encode("latin-1"), "E2b-Sandbox-Port": "8000"}
            status, value, unused = d.request("GET", "/", headers=headers)
            check(status in (400, 502) and value["message"], value)
        for alias in ("../../etc", "a\u0000", "x" * 10000, "\u20ac", "a b"):
            check(d.request("POST", "/sandboxes", {"templateID": alias})[0] in (400, 404), alias)
        check_equal(d.request("GET", f"/sandboxes/{cell.id}")[0], 200)


def test_values_in_the_log():
    """What a client or guest wrote is one field of one line, whatever it is."""
    with Daemon() as d:
        cell = Cell(d, metadata={"a\nb": '"}\n{"event":"forged"}'})
        cell.run("printf '{\"event\":\"forged\"}\\n\\033[31m\\r\\0x' >&2")
        status, value, unused = d.request("GET", f"/v2/sandboxes/{cell.id}/logs")
        check_equal(status, 200, value)
        d.request("DELETE", f"/sandboxes/{cell.id}")
        check_equal(d.events("forged"), [])
        check_equal(d.request("GET", "/metrics")[0], 200)


if __name__ == "__main__":
    tap.run(__import__("__main__"))
