"""Frames of the driver protocol (docs/interpreter.md), for the bridge."""
import os


class Failed(Exception):
    """The driver cannot work; the text tells people what to do."""


class Reader:
    def __init__(self, fd):
        os.set_inheritable(fd, False)
        self.file = os.fdopen(fd, "rb")

    def next(self):
        """(name, argument, content), or None at the end."""
        header = self.file.readline(201).split()
        if len(header) != 3:
            return None
        size = int(header[2])
        content = self.file.read(size)
        return (header[0].decode(), header[1].decode(), content) if len(content) == size else None


class Events:
    def __init__(self, fd):
        os.set_inheritable(fd, False)
        self.fd = fd

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.fd, view):]

    def frame(self, name, argument="-", text=""):
        content = text.encode("utf-8", "replace")
        return f"{name} {argument} {len(content)}\n".encode() + content

    def send(self, *frame):
        self.write(self.frame(*frame))

    def text(self, name, text):
        if text:
            self.send(name, "-", text)

    def result(self, kind, parts):
        self.write(b"".join([self.frame("result", kind), *(self.frame("part", *part) for part in parts),
                             self.frame("close")]))

    def error(self, name, value, traceback):
        self.write(b"".join([self.frame("error"), self.frame("part", "name", name), self.frame("part", "value", value),
                             self.frame("part", "traceback", traceback), self.frame("close")]))
