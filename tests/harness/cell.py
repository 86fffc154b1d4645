"""One sandbox of a daemon, and what its services are asked without an SDK."""
import http.client
import json
import socket
import struct

from .tap import PATIENCE_S, check, check_equal

STREAM = "application/connect+json"


class Cell:
    """A sandbox of a daemon, and requests to its services."""

    def __init__(self, d, **body):
        self.d = d
        status, made, unused = d.request("POST", "/sandboxes", {"templateID": "base", "timeout": 600, **body})
        check_equal(status, 201, made)
        self.id, self.token = made["sandboxID"], made.get("envdAccessToken", "")

    def fields(self, port=49983):
        return {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": str(port), "X-Access-Token": self.token}

    def open(self, method, path, body=None, headers=None, port=49983):
        """(connection, response), the body unread."""
        connection = http.client.HTTPConnection("127.0.0.1", self.d.port, timeout=PATIENCE_S)
        connection.request(method, path, body, {**self.fields(port), **(headers or {})})
        return connection, connection.getresponse()

    def request(self, *arguments, **more):
        connection, response = self.open(*arguments, **more)
        try:
            return response.status, response.read(), response.headers
        finally:
            connection.close()

    def call(self, method, body, kind="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, text, unused = self.request("POST", f"/{method}", data, {"Content-Type": kind})
        return status, text

    def stream(self, method, message, headers=None):
        data = message if isinstance(message, bytes) else envelope(json.dumps(message).encode())
        return self.open("POST", f"/{method}", data, {"Content-Type": STREAM, **(headers or {})})

    def start(self, command):
        return self.stream("process.Process/Start", {"process": {"cmd": "/bin/sh", "args": ["-c", command]}})

    def run(self, command):
        """Everything that its stream had."""
        connection, response = self.start(command)
        with connection_of(connection):
            return response.read()

    def raw(self, text, port=49983):
        """A socket to which a head, given in part, was sent."""
        s = socket.create_connection(("127.0.0.1", self.d.port), timeout=PATIENCE_S)
        fields = "".join(f"{k}: {v}\r\n" for k, v in self.fields(port).items())
        head, rest = text.split(b"\r\n", 1)
        s.sendall(head + b"\r\nHost: localhost\r\n" + fields.encode() + rest)
        return s

    def check_alive(self):
        check(b'"exited":true' in self.run("true"), "it runs nothing any more")
        status, text = self.call("process.Process/List", {})
        check_equal((status, json.loads(text)), (200, {"processes": []}))


class connection_of:
    def __init__(self, connection):
        self.connection = connection

    def __enter__(self):
        return self.connection

    def __exit__(self, *unused):
        self.connection.close()


def envelope(payload, flags=0, size=None):
    return struct.pack(">BI", flags, len(payload) if size is None else size) + payload
