"""The test server of tests/web (http-server), and raw clients for it."""
import json
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import tempfile

from .tap import PATIENCE_S

PROGRAM = os.path.join(os.environ.get("BUILD", "build"), "tests/web/http-server")
HELLO = b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"


class Server:
    """A running server; options are its limits, tls=True makes a certificate."""

    def __init__(self, tls=False, unix=None, **options):
        arguments = [f"{name}={value}" for name, value in options.items()]
        self.folder = tempfile.TemporaryDirectory()
        self.certificate = f"{self.folder.name}/cert.pem"
        self.key = f"{self.folder.name}/key.pem"
        if tls:
            self.make_certificate("first")
            arguments.append(f"tls={self.certificate},{self.key}")
        if unix:
            arguments.append(f"unix={unix}")
        self.process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        ports = self.process.stdout.readline().split()
        self.port, self.tls_port = int(ports[0]), int(ports[1])

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        self.folder.cleanup()

    def make_certificate(self, name):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-keyout", self.key, "-out", self.certificate, "-days", "30",
                        "-subj", f"/CN={name}"], check=True, stderr=subprocess.DEVNULL)

    def signal(self, number):
        self.process.send_signal(number)

    def connect(self):
        return Client(socket.create_connection(("127.0.0.1", self.port)))

    def connect_tls(self, alpn=("http/1.1",)):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(list(alpn))
        plain = socket.create_connection(("127.0.0.1", self.tls_port))
        return Client(context.wrap_socket(plain))

    def ask(self, request):
        """One connection, everything that comes until the server closes it; the client closes its side."""
        with self.connect() as client:
            client.send(request)
            client.socket.shutdown(socket.SHUT_WR)
            return client.rest()

    def statistics(self):
        with self.connect() as client:
            client.send(b"GET /statistics HTTP/1.1\r\nHost: a\r\n\r\n")
            return json.loads(client.response().body)

    def wait_for(self, name, value):
        """Until that statistic has that value; the runner's time limit ends a wait in vain."""
        while self.statistics()[name] != value:
            pass

    def memory(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * 4096


class Response:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body


class Client:
    """A connection that reads responses exactly."""

    def __init__(self, sock):
        self.socket = sock
        self.socket.settimeout(PATIENCE_S)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        data = self.socket.recv(1 << 18)
        self.buffer += data
        return len(data)

    def exactly(self, size):
        while len(self.buffer) < size:
            if not self.more():
                raise EOFError(f"{len(self.buffer)} of {size} bytes")
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def until(self, mark):
        while mark not in self.buffer:
            if not self.more():
                raise EOFError(f"no {mark!r} in {self.buffer!r}")
        return self.exactly(self.buffer.index(mark) + len(mark))

    def rest(self):
        try:
            while self.more():
                pass
        except ConnectionResetError:
            self.buffer += b"<reset>"
        data, self.buffer = self.buffer, b""
        return data

    def closed(self):
        """The server sends no more."""
        return self.rest() == b""

    def silent(self, seconds=0.2):
        """Nothing comes now."""
        return not self.buffer and not select.select([self.socket], [], [], seconds)[0]

    def head(self):
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        status = re.fullmatch(r"HTTP/1\.1 (\d{3}) .*", lines[0])
        assert status, lines[0]
        fields = [tuple(line.split(": ", 1)) for line in lines[1:-2]]
        return int(status[1]), fields

    def chunks(self):
        body = b""
        while size := int(self.until(b"\r\n"), 16):
            body += self.exactly(size)
            assert self.exactly(2) == b"\r\n"
        assert self.exactly(2) == b"\r\n"
        return body

    def response(self, method="GET"):
        status, fields = self.head()
        names = dict(fields)
        if method == "HEAD" or status in (101, 204, 304):
            body = b""
        elif names.get("transfer-encoding") == "chunked":
            body = self.chunks()
        elif "content-length" in names:
            body = self.exactly(int(names["content-length"]))
        else:
            body = self.rest()
        return Response(status, fields, body)


def request(method, target, body=None, *fields):
    lines = [f"{method} {target} HTTP/1.1", "Host: a", *fields]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b"")


def chunked(method, target, *pieces):
    head = f"{method} {target} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


def statuses(data):
    return [int(s) for s in re.findall(rb"HTTP/1\.1 (\d{3}) ", data)]
