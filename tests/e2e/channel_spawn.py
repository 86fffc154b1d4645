"""Processes over the control channel: who, where, with what, and what a failure is about."""
import errno
import os
import signal
import struct
import sys

from harness.channel import LOGIN, Gone, Refused, Sandbox, Writer
from harness.tap import check, check_equal, run

if not os.access(os.environ["HOTCELL"], os.X_OK):
    sys.exit(77)


def refused(function, code, about):
    try:
        function()
    except Refused as error:
        check_equal((errno.errorcode[error.code], error.about), (errno.errorcode[code], about), error.text)
        return error
    raise AssertionError("was not refused")


def test_output_is_complete_when_the_exit_is_told():
    with Sandbox() as box:
        done = box.run("head -c 300000 /dev/zero | tr '\\0' x; echo err >&2; exit 3")
        check_equal(done.out, b"x" * 300000, "stdout")
        check_equal(done.err, b"err\n", "stderr")
        check_equal(done.status, 3 << 8, "status")


def test_the_pid_is_the_one_inside():
    with Sandbox() as box:
        sleeper = box.start(["sleep", "100"])
        check_equal(box.run(f"kill -0 {sleeper.pid} && ps -o comm= -p {sleeper.pid}").out, b"sleep\n")
        sleeper.signal(signal.SIGKILL)
        check_equal(sleeper.exited(), signal.SIGKILL)
        check(box.run(f"kill -0 {sleeper.pid}").status != 0, "it is still there")


def test_login_variables():
    with Sandbox() as box:
        done = box.run("echo $HOME $USER $LOGNAME $PWD")
        check_equal(done.out, b"/home/user user user /home/user\n")
        done = box.run("echo $HOME $USER $LOGNAME $PWD", user="root")
        check_equal(done.out, b"/root root root /root\n")
        done = box.run("echo $HOME $USER $LOGNAME", env={"PATH": "/bin", "HOME": "/tmp", "USER": "x"})
        check_equal(done.out, b"/tmp x user\n")
        done = box.run(["env"], env={"PATH": "/bin:/usr/bin", "A": "1", "B": "2"})
        check_equal(done.out.splitlines(), [b"HOME=/home/user", b"USER=user", b"LOGNAME=user",
                                            b"PATH=/bin:/usr/bin", b"A=1", b"B=2"])
        check_equal(box.run(["/usr/bin/env"], env={}, flags=0).out, b"")


def test_working_directory():
    with Sandbox() as box:
        box.run("mkdir -p sub/deep /tmp/x")
        for cwd, want in [("", "/home/user"), ("~", "/home/user"), ("~/sub", "/home/user/sub"),
                          ("sub/deep", "/home/user/sub/deep"), ("sub/../sub", "/home/user/sub"),
                          ("/tmp/x", "/tmp/x"), ("/", "/")]:
            check_equal(box.run(["pwd"], cwd=cwd).out.decode(), want + "\n", cwd)


def test_failures_say_what_they_are_about():
    with Sandbox() as box:
        box.run("touch file; chmod 755 file; touch plain; mkdir -m 0 closed")
        refused(lambda: box.run("true", user="nobody-here"), errno.ENOENT, "user")
        refused(lambda: box.run("true", cwd="missing"), errno.ENOENT, "cwd")
        refused(lambda: box.run("true", cwd="file"), errno.ENOTDIR, "cwd")
        refused(lambda: box.run("true", cwd="closed/x"), errno.EACCES, "cwd")
        refused(lambda: box.run("true", cwd="~root"), errno.EINVAL, "cwd")
        refused(lambda: box.run(["no-such-program"]), errno.ENOENT, "program")
        refused(lambda: box.run(["./plain"]), errno.EACCES, "program")
        refused(lambda: box.run(["/home"]), errno.EACCES, "program")
        refused(lambda: box.expect(box.spawn(["true"], fds=[0]), "SPAWNED"), errno.EBADF, "request")
        check_equal(box.run("echo still here").out, b"still here\n")


def test_users_and_groups():
    with Sandbox() as box:
        check_equal(box.run(["id", "-u"]).out, b"1000\n")
        check_equal(sorted(box.run(["id", "-G"]).out.split()), [b"1000", b"27"])
        check_equal(box.run(["id", "-u"], user="0").out, b"0\n")
        check_equal(box.run("id -u; id -g", user="4711:4712").out, b"4711\n4712\n")
        box.run("echo crew:x:5000:user >> /etc/group", user="root")
        check_equal(sorted(box.run(["id", "-G"]).out.split()), [b"1000", b"27", b"5000"])


def test_a_group_signal_reaches_everything():
    with Sandbox() as box:
        # Jobs with groups of their own, grandchildren, and one that the host has not told us about.
        script = "set -m; sleep 100 & (sleep 100 & sleep 100) & sh -c 'sleep 100 & wait' & echo up; wait"
        process = box.start(["/bin/bash", "-c", script])
        process.wait_for(b"up")
        process.signal(signal.SIGKILL, group=True)
        check_equal(process.exited(), signal.SIGKILL)
        left = box.run("for i in $(seq 200); do pgrep -x sleep >/dev/null || break; sleep 0.01; done; pgrep -cx sleep")
        check_equal(left.out, b"0\n")


def test_a_plain_signal_reaches_one():
    with Sandbox() as box:
        process = box.start(["/bin/bash", "-c", "sleep 100 & echo up; wait"])
        process.wait_for(b"up")
        process.signal(signal.SIGTERM)
        check_equal(process.exited(), signal.SIGTERM)
        check_equal(box.run("pgrep -cx sleep; pkill sleep").out, b"1\n")


def test_signals_to_nobody_are_ignored():
    with Sandbox() as box:
        for request in (0, 4711):
            box.channel.send("SIGNAL", Writer().u32(9, 1).data, request)
        process = box.start(["cat"])
        process.signal(0)
        process.signal(65)
        process.signal(2**32 - 1)
        check_equal(process.finish().status, 0)


def malformed(body, type="SPAWN", fds=(), flags=0):
    with Sandbox() as box:
        header = struct.pack("<4I", {"SPAWN": 3, "STATS": 13, "CANCEL": 18, "READY": 2}[type], flags,
                             len(body), 1)
        box.channel.socket.sendall(header + body)
        try:
            died = box.channel.wait(lambda m: m.type == "DIED")
            check(b"malformed" in died.body or b"broke" in died.body, died.body)
        except Gone:
            pass


def test_malformed_requests_end_the_sandbox():
    malformed(b"")
    malformed(b"\xff" * 100)
    malformed(b"x", "CANCEL")
    malformed(b"", "READY")
    malformed(b"", "STATS", flags=1)


def test_cancel_of_nothing_is_nothing():
    with Sandbox() as box:
        box.cancel(99)
        check_equal(box.run("echo fine").out, b"fine\n")


def test_many_at_once():
    with Sandbox() as box:
        running = [box.start(["/bin/sh", "-c", f"read x; echo {i}"], flags=LOGIN) for i in range(40)]
        for i, process in enumerate(running):
            check_equal(process.finish().out, b"%d\n" % i)


run(sys.modules[__name__])
