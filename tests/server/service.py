"""The unit of systemd, as far as it goes without systemd: its capabilities and no_new_privs suffice for a sandbox, and
the server tells its manager when it is ready and when it stops."""
import os
import re
import signal
import socket
import struct

from harness import tap
from harness.cell import Cell
from harness.daemon import Daemon
from harness.tap import PATIENCE_S, Skip, check, check_equal

CREDENTIALS = struct.Struct("iII")


def unit():
    """{key: value} of the unit's settings that occur once."""
    with open(os.path.join(os.environ["SOURCE"], "packaging/hotcell.service")) as file:
        return dict(re.findall(r"^(\w+)=(.*)$", file.read(), re.M))


class Manager(Daemon):
    """A server that is started as the unit says; what it tells is heard."""

    def __init__(self, **options):
        super().__init__(**options)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.settimeout(PATIENCE_S)
        self.socket.bind("\0hotcell-manager-%d" % os.getpid())
        self.env["NOTIFY_SOCKET"] = "@hotcell-manager-%d" % os.getpid()

    def command(self, verb="serve", *more):
        capabilities = unit()["CapabilityBoundingSet"].lower().replace("cap_", "+").replace(" ", ",")
        check_equal(unit()["NoNewPrivileges"], "yes")
        restrict = ["setpriv", "--no-new-privs", f"--bounding-set=-all,{capabilities}"] if os.geteuid() == 0 else []
        return [*restrict, *super().command(verb, *more)]

    def hear(self):
        """(what, the pid that says so)."""
        text, control, unused, unused = self.socket.recvmsg(4096, socket.CMSG_SPACE(CREDENTIALS.size))
        sender = next(CREDENTIALS.unpack(data)[0] for unused, kind, data in control if kind == socket.SCM_CREDENTIALS)
        return text.decode(), sender

    def __exit__(self, *unused):
        super().__exit__(*unused)
        self.socket.close()


def test_capabilities_of_the_unit_suffice():
    if os.geteuid() != 0:
        raise Skip("the unit starts as root")
    with Manager() as m:
        with open(f"/proc/{m.launcher()}/status") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        check_equal(status["NoNewPrivs"], "1")
        allowed = bin(int(status["CapBnd"], 16)).count("1")  # the host may have fewer
        check(allowed <= len(unit()["CapabilityBoundingSet"].split()), status["CapBnd"])
        cell = Cell(m)
        check(b'"exited":true' in cell.run("id; sleep 0"), "a command")
        check_equal(m.request("POST", f"/sandboxes/{cell.id}/pause", {})[0], 204)
        check_equal(m.request("POST", f"/sandboxes/{cell.id}/connect", {"timeout": 60})[0], 201)
        check_equal(m.request("DELETE", f"/sandboxes/{cell.id}")[0], 204)


def test_it_tells_its_manager():
    check_equal(unit()["Type"], "notify")
    with Manager(pool=0) as m:
        check_equal(m.hear(), ("READY=1", m.child.pid))  # NotifyAccess=main
        m.child.send_signal(signal.SIGHUP)  # ExecReload
        check_equal(m.request("GET", "/v2/sandboxes")[0], 200)
        m.child.send_signal(signal.SIGTERM)
        check_equal(m.hear(), ("STOPPING=1", m.child.pid))
        check_equal(m.child.wait(PATIENCE_S), 0)


if __name__ == "__main__":
    tap.run(__import__("__main__"))
