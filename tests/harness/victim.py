"""A host that can be hurt: what attacks in tests/escape aim at, and a look afterwards."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile

SECRET = b"the host's secret\n"


class Victim:
    """A secret file, a process of the same user, listeners on loopback and in the abstract
    namespace. hints() tells the attacker where; harm() says what was touched."""

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="hotcell-victim-", dir="/tmp")
        os.chmod(self.directory, 0o777)
        self.secret = os.path.join(self.directory, "secret")
        with open(self.secret, "wb") as file:
            file.write(SECRET)
        os.chmod(self.secret, 0o666)
        self.process = subprocess.Popen(["sleep", "600"], start_new_session=True)
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind("\0hotcell-victim-%d" % os.getpid() + self.directory[-8:])
        self.named = socket.socket(socket.AF_UNIX)
        self.named.bind(os.path.join(self.directory, "socket"))
        os.chmod(os.path.join(self.directory, "socket"), 0o777)
        self.tcp = socket.socket()
        self.tcp.bind(("127.0.0.1", 0))
        for listener in (self.abstract, self.named, self.tcp):
            listener.listen(1)
            listener.setblocking(False)
        return self

    def hints(self):
        return {
            "VICTIM_SECRET": self.secret,
            "VICTIM_PID": str(self.process.pid),
            "VICTIM_ABSTRACT": self.abstract.getsockname()[1:].decode(),
            "VICTIM_SOCKET": os.path.join(self.directory, "socket"),
            "VICTIM_PORT": str(self.tcp.getsockname()[1]),
        }

    def harm(self):
        wrong = []
        with open(self.secret, "rb") as file:
            if file.read() != SECRET:
                wrong.append("the secret file was changed")
        if sorted(os.listdir(self.directory)) != ["secret", "socket"]:
            wrong.append(f"files appeared or went: {os.listdir(self.directory)}")
        if self.process.poll() is not None:
            wrong.append(f"the host's process ended with {self.process.returncode}")
        elif process_state(self.process.pid) in "Tt":
            wrong.append("the host's process was stopped")
        for name in ("abstract", "named", "tcp"):
            try:
                getattr(self, name).accept()
                wrong.append(f"somebody connected to the {name} listener")
            except BlockingIOError:
                pass
        return wrong

    def __exit__(self, *unused):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for listener in (self.abstract, self.named, self.tcp):
            listener.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def process_state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]
