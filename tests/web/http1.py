"""HTTP/1.1 as clients see it, the patient and the hostile."""
import json
import os
import select
import signal
import socket
import sys

from harness.tap import check, check_equal, run, sanitized
from harness.web import HELLO, Server, chunked, request, statuses

MIB = 1 << 20


# ---- requests ----

def test_requests_follow_each_other():
    with Server() as server, server.connect() as client:
        for _ in range(3):
            client.send(HELLO)
            check_equal(client.response().body, b"hello\n")


def test_pipelined_requests_are_answered_in_order():
    with Server() as server, server.connect() as client:
        client.send(b"".join(request("GET", f"/show/{i}") for i in range(300)))
        for i in range(300):
            check_equal(json.loads(client.response().body)["id"], str(i))


def test_answers_that_nobody_takes():
    """Requests are no longer read then, and go on when the client reads."""
    with Server() as server, server.connect() as client:
        client.socket.setblocking(False)
        piece, sent = HELLO * 500, 0
        while select.select([], [client.socket], [], 0.5)[1]:
            sent += client.socket.send(piece[sent % len(piece):])
            check(sent < 64 * MIB, "64 MiB of requests were taken, and their answers were not")
        check(sanitized() or server.memory() < 32 * MIB, f"{server.memory()} bytes of memory")
        with server.connect() as other:
            other.send(HELLO)
            check_equal(other.response().body, b"hello\n")
        client.socket.setblocking(True)
        for _ in range(sent // len(HELLO)):
            check_equal(client.response().body, b"hello\n")


def test_who_sends_much_waits_for_others():
    with Server() as server, server.connect() as client, server.connect() as other:
        client.send(HELLO * 3000)
        for _ in range(3000):
            check_equal(client.response().body, b"hello\n")
        client.send(HELLO * 200 + HELLO[:10])
        for _ in range(200):
            check_equal(client.response().body, b"hello\n")
        client.send(HELLO[10:])
        check_equal(client.response().body, b"hello\n")
        # The end of the client's sending behind many requests: they are answered all the same.
        other.send(HELLO * 1000)
        other.socket.shutdown(socket.SHUT_WR)
        for _ in range(1000):
            check_equal(other.response().body, b"hello\n")


def test_pipelined_bodies():
    with Server() as server, server.connect() as client:
        client.send(b"".join(request("POST", "/echo", b"%d" % i) + chunked("POST", "/echo", b"a", b"%d" % i)
                             for i in range(100)))
        for i in range(100):
            check_equal(client.response().body, b"%d" % i)
            check_equal(client.response().body, b"a%d" % i)


def test_a_request_arrives_byte_by_byte():
    whole = chunked("POST", "/echo", b"hello", b" you") + HELLO
    with Server() as server, server.connect() as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(whole)):
            client.send(whole[i:i + 1])
        check_equal(client.response().body, b"hello you")
        check_equal(client.response().body, b"hello\n")


def test_what_a_handler_sees():
    with Server() as server, server.connect() as client:
        client.send(b"GET /show/a%20b%2Fc/rest/x/y%2fz?name=v+w%21&name=2 HTTP/1.1\r\nHost: EXAMPLE.org:80\r\n"
                    b"X-One:  1 \r\nConnection: x-unknown, keep-alive\r\nKeep-Alive: 5\r\nTE: trailers\r\n\r\n")
        response = client.response()
        seen = json.loads(response.body)
        check_equal((seen["id"], seen["rest"], seen["name"]), ("a b/c", "x/y/z", "v w!"))
        check_equal((seen["host"], seen["path"]), ("example.org:80", "/show/a%20b%2Fc/rest/x/y%2fz"))
        check_equal(seen["fields"], [["host", "example.org:80"], ["x-one", "1"]])
        check(("x-split", "a  b: c") in response.fields, response.fields)


def test_routes():
    cases = [("GET", "/nothing", 404), ("GET", "/hello/", 404), ("GET", "//hello", 404), ("DELETE", "/hello", 405),
             ("GET", "/show/", 404), ("GET", "/show/%zz", 400), ("GET", "/show/%00", 400),
             ("GET", "/show/x/rest/", 200), ("HEAD", "/hello", 200), ("OPTIONS", "*", 404)]
    with Server() as server, server.connect() as client:
        for method, target, status in cases:
            client.send(request(method, target))
            response = client.response(method)
            check_equal(response.status, status, f"{method} {target}")
            if status >= 400:
                check_equal(json.loads(response.body)["code"], status)
            if status == 405:
                check_equal(dict(response.fields)["allow"], "GET")


def test_responses_without_a_body():
    with Server() as server, server.connect() as client:
        for status, length in ((200, "0"), (204, None), (304, None), (404, "0")):
            client.send(request("GET", f"/status?code={status}"))
            fields = dict(client.response().fields)
            check_equal((fields.get("content-length"), fields.get("transfer-encoding")), (length, None))


def test_head_has_the_length_and_no_body():
    with Server() as server, server.connect() as client:
        client.send(request("HEAD", "/hello") + request("HEAD", "/stream") + request("HEAD", "/stream?length=100") + HELLO)
        check_equal(dict(client.response("HEAD").fields)["content-length"], "6")
        client.response("HEAD")
        check_equal(dict(client.response("HEAD").fields)["content-length"], "100")
        check_equal(client.response().body, b"hello\n")


def test_http_1_0_ends_with_the_connection():
    with Server() as server, server.connect() as client:
        client.send(b"GET /stream?size=1000 HTTP/1.0\r\n\r\n")
        status, fields = client.head()
        check_equal((status, dict(fields)["connection"]), (200, "close"))
        check("transfer-encoding" not in dict(fields), fields)
        check_equal(len(client.rest()), 1000)


def test_connection_close_is_obeyed():
    with Server() as server, server.connect() as client:
        client.send(request("GET", "/hello", None, "Connection: close") + HELLO)
        check_equal(dict(client.response().fields)["connection"], "close")
        check(client.closed(), "a second response")


def test_a_unix_socket():
    with Server() as other:
        path = f"{other.folder.name}/socket"
        with Server(unix=path) as server:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(path)
                s.sendall(HELLO)
                check(s.recv(1000).startswith(b"HTTP/1.1 200 "), "no answer")
        check(os.path.exists(path), "gone")  # it was ended without a word
        with Server(unix=path) as server:
            server.signal(signal.SIGTERM)
            server.process.wait()
            check(not os.path.exists(path), "still there")


# ---- what a smuggler tries ----

SMUGGLED = b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"

SMUGGLING = {
    "length and chunked": b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked and length": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 33\r\n\r\n",
    "a list of lengths": b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0, 0\r\n\r\n",
    "a signed length": b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +0\r\n\r\n",
    "a space before the colon": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "a folded field": b"POST /echo HTTP/1.1\r\nHost: a\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n",
    "a bare CR": b"POST /echo HTTP/1.1\r\nHost: a\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n",
    "a bare LF": b"POST /echo HTTP/1.1\r\nHost: a\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n",
    "a NUL": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\0\r\n\r\n",
    "a vertical tab": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n",
    "chunked with 1.0": b"POST /echo HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two hosts": b"GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "target and host differ": b"GET http://b/hello HTTP/1.1\r\nHost: a\r\n\r\n",
    "an absolute user": b"GET http://a@b/hello HTTP/1.1\r\nHost: a@b\r\n\r\n",
}
OTHER_CODINGS = [b"identity", b"gzip, chunked", b"chunked, chunked", b"xchunked", b"chunked;q=1", b"\"chunked\""]


def test_smuggling_is_refused_and_the_connection_closed():
    with Server() as server:
        for name, head in SMUGGLING.items():
            check_equal(statuses(server.ask(head + SMUGGLED)), [400], name)
        for coding in OTHER_CODINGS:
            head = b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + coding + b"\r\n\r\n0\r\n\r\n"
            check_equal(statuses(server.ask(head + SMUGGLED)), [501], coding)


def test_errors_are_json():
    with Server() as server, server.connect() as client:
        client.send(b"GET / HTTP/1.1\nHost: a\r\n")
        response = client.response()
        check_equal(json.loads(response.body)["code"], 400)
        check_equal(dict(response.fields)["connection"], "close")
        check(client.closed(), "still open")


# ---- bodies ----

def test_bodies_of_all_sizes():
    with Server() as server, server.connect() as client:
        for size in (0, 1, 2, 4095, 65535, 65536, 65537, 131072, 3 * MIB):
            body = os.urandom(size)
            client.send(request("POST", "/echo", body))
            check(client.response().body == body, size)
            client.send(chunked("POST", "/echo", *[body[i:i + 7777] for i in range(0, size, 7777)]))
            check(client.response().body == body, f"{size}, chunked")


def test_bodies_against_little_credit():
    with Server() as server, server.connect() as client:
        for credit in (1, 7, 1000):
            client.send(request("POST", f"/count?credit={credit}", bytes(20000)) +
                        chunked("POST", f"/count?credit={credit}", bytes(10000), bytes(1)))
            check_equal(client.response().body, b"20000")
            check_equal(client.response().body, b"10001")


BAD_CHUNKS = [b"g\r\n", b"5\nhello\r\n", b"5\r\nhelloX\r\n", b"-1\r\n", b"+5\r\nhello\r\n", b" 5\r\nhello\r\n",
              b"5 ;x\r\nhello\r\n", b"5;\nx\r\nhello\r\n", b"FFFFFFFFFFFFFFFF\r\n", b"\r\n", b"0\r\nbad trailer\r\n\r\n",
              b"0\r\nX: y\n\r\n", b"3\r\nabc\n0\r\n\r\n", b"3\r\nabcd\r\n0\r\n\r\n"]


def test_malformed_chunks_are_refused():
    head = b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    with Server() as server:
        for bad in BAD_CHUNKS:
            check_equal(statuses(server.ask(head + bad + SMUGGLED)), [400], bad)


def test_bodies_that_are_too_large():
    with Server() as server:
        for whole in (request("POST", "/echo?max=10", b"x" * 11), chunked("POST", "/echo?max=10", b"x" * 11),
                      b"POST /echo?max=10 HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000000000000000\r\n\r\n"):
            check_equal(statuses(server.ask(whole)), [413])
        check_equal(statuses(server.ask(request("POST", "/echo?max=10", b"x" * 10))), [200])


def test_a_body_that_nobody_reads():
    with Server() as server, server.connect() as client:
        client.send(request("POST", "/hello", b"x" * 1000) + HELLO)
        check_equal(client.response().status, 405)
        check_equal(client.response().body, b"hello\n")
        client.send(chunked("POST", "/hello", b"x" * 100000) + HELLO)
        check_equal(client.response().status, 405)
        check_equal(client.response().body, b"hello\n")
        # Too much to throw away: said before, and not reset under the client's hands.
        client.send(request("POST", "/hello", b"x" * 900000))
        check_equal(dict(client.response().fields)["connection"], "close")
        check(client.closed(), "goes on")


def test_expect_100_continue():
    head = b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
    with Server() as server:
        with server.connect() as client:
            client.send(head % b"/echo")
            check_equal(client.until(b"\r\n\r\n"), b"HTTP/1.1 100 Continue\r\n\r\n")
            client.send(b"hello" + HELLO)
            check_equal(client.response().body, b"hello")
            check_equal(client.response().body, b"hello\n")
        with server.connect() as client:
            client.send(head % b"/echo?max=1")
            check_equal(client.response().status, 413)
            check(client.closed(), "nobody can know what follows")
        with server.connect() as client:
            client.send(head % b"/echo" + b"hello")
            check_equal(client.response().body, b"hello")
        check_equal(statuses(server.ask(b"POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 200\r\n\r\n")), [417])


def test_both_ways_at_once():
    with Server() as server, server.connect() as client:
        client.send(b"POST /duplex HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        check_equal(client.head()[0], 200)
        for word in (b"one", b"two", b"three"):
            client.send(b"%x\r\n%s\r\n" % (len(word), word))
            check_equal(client.until(word + b"\r\n"), b"%x\r\n%s\r\n" % (len(word), word))
        client.send(b"0\r\n\r\n")
        check_equal(client.until(b"\r\n\r\n"), b"0\r\n\r\n")


# ---- ends ----

def test_a_client_that_sends_no_more_gets_its_answer():
    with Server() as server:
        check_equal(statuses(server.ask(HELLO * 3)), [200] * 3)
        check_equal(len(server.ask(request("GET", "/stream?size=3000000&length=3000000"))) > 3000000, True)
        check_equal(statuses(server.ask(HELLO[:-2])), [])
        check_equal(statuses(server.ask(request("POST", "/echo", b"hello")[:-1])), [400])
        check_equal(statuses(server.ask(chunked("POST", "/echo", b"hello")[:-1])), [400])
        check_equal(server.ask(b""), b"")


def test_a_client_that_goes_away_is_noticed():
    with Server(stall_timeout_ms=500) as server:
        for number, target in enumerate(("/never", "/stream?open=1", "/stream?size=100000000"), 1):
            with server.connect() as client:
                client.send(request("GET", target))
                if "stream" in target:
                    client.head()
            server.wait_for("closed", number)
        # Half a connection is enough for a stream without an end.
        with server.connect() as client:
            client.send(request("GET", "/stream?open=1"))
            client.head()
            client.socket.shutdown(socket.SHUT_WR)
            server.wait_for("closed", 4)


def test_an_abort_is_no_proper_end():
    with Server() as server:
        data = server.ask(request("GET", "/abort?start=1"))
        check(data.startswith(b"HTTP/1.1 200 ") and b"0\r\n\r\n" not in data, data)
        check_equal(server.ask(request("GET", "/abort")), b"")
        data = server.ask(request("GET", "/stream?size=50&length=100"))
        check_equal(len(data.split(b"\r\n\r\n")[1]), 50)


# ---- limits ----

def test_heads_that_are_too_large():
    with Server() as server:
        for head in (b"GET /" + b"a" * 40000, b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 40000,
                     b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 8000,
                     b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 100 + b"\r\n"):
            check_equal(statuses(server.ask(head)), [431], head[:30])
        check_equal(statuses(server.ask(b"GET /hello HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 30000 + b"\r\n\r\n")), [200])


def test_slow_heads_and_idle_connections_end():
    with Server(head_timeout_ms=300, idle_timeout_ms=600) as server:
        with server.connect() as client:
            client.send(b"GET /hello HTTP/1.1\r\nHo")
            check_equal(client.response().status, 408)
            check(client.closed(), "goes on")
        with server.connect() as client:
            check(client.closed(), "goes on")
        with server.connect() as client:
            client.send(HELLO)
            client.response()
            check(client.closed(), "goes on")


def test_bodies_that_stall_end():
    with Server(stall_timeout_ms=300) as server:
        with server.connect() as client:
            client.send(request("POST", "/echo", b"hello")[:-1])
            check_equal(client.response().status, 408)
        # The handler that does not read is not the client's fault.
        with server.connect() as client:
            client.send(request("POST", "/never", b"hello")[:-1])
            check(client.silent(1), "an answer")
        with server.connect() as client:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            closed = server.statistics()["closed"]
            client.send(request("GET", "/stream?size=1000000000"))
            server.wait_for("closed", closed + 1)


def test_streams_may_be_idle():
    with Server(stall_timeout_ms=300, head_timeout_ms=300, idle_timeout_ms=300) as server, server.connect() as client:
        client.send(request("GET", "/stream?size=5&open=1"))
        client.head()
        check_equal(client.until(b"\r\n"), b"5\r\n")
        client.exactly(7)
        check(client.silent(1.2), "something came")


def test_too_many_connections_are_told_so():
    with Server(connections=3) as server:
        clients = [server.connect() for _ in range(3)]
        for client in clients:
            client.send(HELLO)
            client.response()
        with server.connect() as one_more:
            check_equal(statuses(one_more.rest()), [503])
        clients.pop().__exit__()
        while statuses(server.ask(HELLO)) != [200]:
            pass
    with Server(connections_per_address=2) as server:
        clients = [server.connect() for _ in range(2)]
        for client in clients:
            client.send(HELLO)
            client.response()
        with server.connect() as one_more:
            check_equal(statuses(one_more.rest()), [503])


def test_two_thousand_idle_streams():
    with Server() as server:
        clients = [server.connect() for _ in range(2000)]
        for client in clients:
            client.send(request("GET", "/stream?size=1&open=1"))
        for client in clients:
            check_equal(client.head()[0], 200)
        check_equal(statuses(server.ask(HELLO)), [200])
        check(server.memory() < 100 * MIB, f"{server.memory()} bytes")
        for client in clients:
            client.socket.close()
        server.wait_for("closed", 2000)


def test_memory_does_not_grow_with_what_clients_send():
    with Server() as server:
        before = server.memory()
        clients = [server.connect() for _ in range(20)]
        for number, client in enumerate(clients):
            client.socket.setblocking(False)
            first = request("POST", "/never", b"x")[:-1].replace(b"Content-Length: 1", b"Content-Length: 100000000") \
                if number % 2 else request("GET", "/never")
            try:
                client.socket.send(first)
                for _ in range(1000):
                    client.socket.send(HELLO * 3000)
            except BlockingIOError:
                pass
        check_equal(statuses(server.ask(HELLO)), [200])
        check(server.memory() - before < 16 * MIB, f"{server.memory() - before} bytes")
        for client in clients:
            client.socket.close()


def test_a_slow_reader_costs_little():
    with Server() as server, server.connect() as client:
        before = server.memory()
        client.send(request("GET", "/stream?size=300000000&piece=262144"))
        client.head()
        size = 0
        while size < 100 * MIB:
            size += len(client.socket.recv(65536))
        check(server.memory() - before < 64 * MIB, f"{server.memory() - before} bytes")


# ---- the server's end ----

def test_drain():
    with Server() as server, server.connect() as busy, server.connect() as idle:
        busy.send(b"POST /duplex HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        check_equal(busy.head()[0], 200)
        idle.send(HELLO)
        idle.response()
        server.signal(signal.SIGTERM)
        check(idle.closed(), "the idle one stays")
        try:
            server.connect()
            raise AssertionError("a new connection")
        except ConnectionRefusedError:
            pass
        busy.send(b"1\r\nb\r\n0\r\n\r\n" + HELLO)
        data = busy.rest()
        check(data.endswith(b"1\r\nb\r\n0\r\n\r\n"), data)
        busy.socket.close()
        check_equal(server.process.wait(), 0)


if __name__ == "__main__":
    run(sys.modules[__name__])
