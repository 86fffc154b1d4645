"""Frames of the driver protocol (docs/interpreter.md), and the rules a driver has to keep."""

HEADER_MAX = 200
JSON_MAX = 8 << 20
TEXT_TYPES = ("text/plain", "text/html", "text/markdown", "text/latex", "image/svg+xml", "image/png", "image/jpeg",
              "application/pdf", "application/javascript", "name", "value", "traceback")  # the rest is held whole


class BrokenRule(AssertionError):
    """The driver said what it may not say, there."""


class Frame:
    def __init__(self, name, argument, content):
        self.name = name
        self.argument = argument
        self.content = content

    def text(self):
        return self.content.decode("utf-8")  # strict: text is UTF-8

    def __repr__(self):
        return f"<{self.name} {self.argument} {self.content[:60]!r}>"


def encode(name, argument="-", content=b""):
    content = content.encode() if isinstance(content, str) else content
    return b"%s %s %d\n" % (name.encode(), argument.encode(), len(content)) + content


class Parser:
    """Bytes to frames. A header is at most HEADER_MAX bytes of printable ASCII in three words."""

    def __init__(self):
        self.data = bytearray()

    def feed(self, data):
        self.data += data

    def next(self):
        """The next whole frame, or None."""
        end = self.data.find(b"\n", 0, HEADER_MAX + 1)
        if end < 0:
            if len(self.data) > HEADER_MAX:
                raise BrokenRule(f"not a header: {bytes(self.data[:80])!r}")
            return None
        header = bytes(self.data[:end])
        words = header.split(b" ")
        if len(words) != 3 or not all(words) or not words[2].isdigit() or \
                any(byte < 0x20 or byte > 0x7e for byte in header):
            raise BrokenRule(f"not a header: {header!r}")
        size = int(words[2])
        if len(self.data) < end + 1 + size:
            return None
        content = bytes(self.data[end + 1:end + 1 + size])
        del self.data[:end + 1 + size]
        return Frame(words[0].decode(), words[1].decode(), content)


class Rules:
    """What may follow what, a little stricter than the server is. `state` is starting, idle, executing, result or error."""

    EMPTY = ("ready", "count", "result", "error", "close", "done")

    def __init__(self):
        self.state = "starting"
        self.counted = False
        self.counts = 0
        self.id = None
        self.parts = set()
        self.before = None  # the state that a result or error interrupts

    def execute(self, id):
        if self.state != "idle":
            raise AssertionError(f"the test executes while the driver is {self.state}")
        self.state, self.counted, self.id = "executing", False, id

    def check(self, frame):
        check = getattr(self, "on_" + frame.name, None)
        if check is None:
            raise BrokenRule(f"unknown event {frame!r}")
        if frame.name in self.EMPTY and frame.content:
            raise BrokenRule(f"{frame.name} has content")
        if frame.name not in ("count", "result", "part", "done") and frame.argument != "-":
            raise BrokenRule(f"{frame.name} has an argument")
        check(frame)

    def need(self, condition, frame):
        if not condition:
            raise BrokenRule(f"{frame!r} while {self.state} (counted: {self.counted}, parts: {self.parts})")

    def on_ready(self, frame):
        self.need(self.state == "starting", frame)
        self.state = "idle"

    def on_failed(self, frame):
        self.need(self.state == "starting" and frame.text(), frame)
        self.state = "failed"

    def on_count(self, frame):
        self.need(self.state == "executing" and not self.counted, frame)
        self.counts += 1
        self.need(frame.argument == str(self.counts), frame)
        self.counted = True

    def printed(self, frame):
        """Outside of an execution it is what a thread left behind, and dropped."""
        self.need(self.state in ("idle", "executing"), frame)

    def on_stdout(self, frame):
        self.printed(frame)
        self.need(frame.text(), frame)

    on_stderr = on_stdout

    def on_result(self, frame):
        self.printed(frame)
        self.need(frame.argument in ("main", "display"), frame)
        self.state, self.before, self.parts = "result", self.state, set()

    def on_error(self, frame):
        self.printed(frame)
        self.state, self.before, self.parts = "error", self.state, set()

    def on_part(self, frame):
        self.need(self.state in ("result", "error"), frame)
        self.need(frame.argument not in self.parts, frame)
        self.parts.add(frame.argument)
        frame.text()
        if frame.argument not in TEXT_TYPES:
            self.need(len(frame.content) <= JSON_MAX, frame)

    def on_close(self, frame):
        self.need(self.state in ("result", "error"), frame)
        if self.state == "error":
            self.need(self.parts == {"name", "value", "traceback"}, frame)
        self.state = self.before

    def on_done(self, frame):
        self.need(self.state == "executing" and self.counted, frame)
        self.need(frame.argument == str(self.id), frame)
        self.state = "idle"
