"""Streams by the thousand: many watch one process that waits; it costs little, and none misses its end."""
import base64
import json
import os
import resource
import select
import socket

from harness import tap
from harness.cell import STREAM, Cell, connection_of, envelope
from harness.daemon import Daemon, descriptors
from harness.tap import PATIENCE_S, Skip, check, check_equal

COUNT = 3000
BYTES_PER_STREAM = 32 << 10  # of the server's memory


def room_for_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = COUNT + 500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise Skip(f"{hard} descriptors are too few")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


def request_of(cell, pid):
    body = envelope(json.dumps({"process": {"pid": pid}}).encode())
    head = {"Host": "localhost", "Content-Type": STREAM, "Content-Length": len(body), **cell.fields()}
    return b"POST /process.Process/Connect HTTP/1.1\r\n" + \
        "".join(f"{name}: {value}\r\n" for name, value in head.items()).encode() + b"\r\n" + body


def read_all(streams, enough):
    """Appends to each of {socket: bytes} until `enough` says so of what it has, or it is at its end."""
    poll = select.epoll()
    by_number = {}
    for s in streams:
        by_number[s.fileno()] = s
        poll.register(s, select.EPOLLIN)
    while by_number:
        for number, unused in poll.poll(PATIENCE_S) or [(None, "nothing comes")]:
            check(number is not None, f"{len(by_number)} streams hear nothing")
            s = by_number[number]
            data = s.recv(1 << 16)
            streams[s] += data
            if not data or enough(streams[s]):
                poll.unregister(s)
                del by_number[number]
    poll.close()


def pid_of(response):
    """From the first message of a stream."""
    size = int.from_bytes(response.read(5)[1:], "big")
    return json.loads(response.read(size))["event"]["start"]["pid"]


def test_thousands_wait_for_one_process():
    room_for_descriptors()
    with Daemon(pool=0) as d:
        cell = Cell(d)
        connection, response = cell.stream("process.Process/Start", {
            "process": {"cmd": "/bin/sh", "args": ["-c", "read x; echo go; exit 5"]}, "stdin": True})
        with connection_of(connection):
            pid = pid_of(response)
            before, number = resident(d.child.pid), descriptors(d.child.pid)
            streams = {socket.create_connection(("127.0.0.1", d.port)): b"" for unused in range(COUNT)}
            request = request_of(cell, pid)
            for s in streams:
                s.sendall(request)
            read_all(streams, lambda heard: b'"start"' in heard)
            check_equal(descriptors(d.child.pid) - number, COUNT, "descriptors")
            grown = resident(d.child.pid) - before
            if not tap.sanitized():
                check(grown < COUNT * BYTES_PER_STREAM, f"{grown >> 20} MiB for {COUNT} streams that wait")
            status, text = cell.call("process.Process/SendInput", {
                "process": {"pid": pid}, "input": {"stdin": base64.b64encode(b"\n").decode()}})
            check_equal(status, 200, text)
            read_all(streams, lambda heard: heard.endswith(b"0\r\n\r\n"))
            output = base64.b64encode(b"go\n")
            for s, heard in streams.items():
                check(output in heard and b'"exitCode":5' in heard and heard.endswith(b"0\r\n\r\n"), heard[-400:])
                s.close()
            check(output in response.read(), "the one that started it")
        cell.check_alive()


if __name__ == "__main__":
    tap.run(__import__("__main__"))
