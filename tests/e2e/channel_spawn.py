"""Processes over the control channel: who, where, with what, and what a failure is about."""
import errno
import os
import signal
import socket
import struct
import sys

from harness.channel import LOGIN, TTY, Gone, Refused, Sandbox, Writer
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
        left = box.run("for i in $(seq 6000); do pgrep -x sleep >/dev/null || break; sleep 0.01; done; pgrep -cx sleep")
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


def test_more_descriptors_than_the_standard_ones():
    with Sandbox() as box:
        pipes = [os.pipe() for _ in range(16)]
        script = "for i in $(seq 2 15); do eval \"echo $i >&$i\"; done; ls /proc/$$/fd | sort -n | paste -sd,; exit 3"
        request = box.spawn(["/bin/bash", "-c", script], fds=[pipes[0][0]] + [w for _, w in pipes[1:]])
        for _, writer in pipes:
            os.close(writer)
        box.expect(request, "SPAWNED")
        check_equal(box.expect(request, "EXITED").u32(), 3 << 8)
        check_equal(os.read(pipes[1][0], 1000), b",".join(b"%d" % i for i in range(16)) + b"\n")
        for i in range(2, 16):
            check_equal(os.read(pipes[i][0], 100), b"%d\n" % i)
            check_equal(os.read(pipes[i][0], 100), b"", "somebody has it still")
        for reader, _ in pipes:
            os.close(reader)


def test_more_descriptors_are_shared_with_children_and_both_ways():
    with Sandbox() as box:
        near, far = socket.socketpair()
        process = box.start(["/bin/bash", "-c", "read -u 3 line; echo got $line | cat >&3"], more=[far.fileno()])
        far.close()
        near.sendall(b"a line\n")
        check_equal(near.recv(100), b"got a line\n")
        check_equal(near.recv(100), b"")
        check_equal(process.finish().status, 0)
        near.close()


def test_a_terminal_stands_for_the_standard_ones():
    with Sandbox() as box:
        reader, writer = os.pipe()
        request = box.spawn(["/bin/sh", "-c", "test -t 0 -a -t 1 -a -t 2 && echo three >&3"], flags=LOGIN | TTY, fds=[writer])
        os.close(writer)
        box.expect(request, "SPAWNED")
        check_equal(box.expect(request, "EXITED").u32(), 0)
        check_equal((os.read(reader, 100), os.read(reader, 100)), (b"three\n", b""))
        os.close(reader)


def count_refused(count, flags):
    """Every descriptor is let go of, and the sandbox goes on."""
    with Sandbox() as box:
        pipes = [os.pipe() for _ in range(count)]
        request = box.spawn(["true"], flags=flags, fds=[w for _, w in pipes])
        for _, writer in pipes:
            os.close(writer)
        refused(lambda: box.expect(request, "SPAWNED"), errno.EBADF, "request")
        for reader, _ in pipes:
            check_equal(os.read(reader, 1), b"")
            os.close(reader)
        check_equal(box.run("echo still here").out, b"still here\n")


def test_wrong_numbers_of_descriptors():
    for count in (0, 1, 2):
        count_refused(count, LOGIN)
    for count in (14, 15, 16):
        count_refused(count, LOGIN | TTY)


def test_more_descriptors_than_a_spawn_can_have_end_the_sandbox():
    for count in (17, 32, 33, 250):
        with Sandbox() as box:
            reader, writer = os.pipe()
            try:
                request = box.spawn(["true"], fds=[writer] * count)
                os.close(writer)
                died = box.channel.wait(lambda m: m.type == "DIED")
                check(b"malformed" in died.body or b"broke" in died.body, died.body)
            except (Gone, BrokenPipeError, ConnectionResetError):
                check(count > 32, f"{count}: it ended without a word")
            check_equal(os.read(reader, 1), b"")
            os.close(reader)


def test_descriptors_that_are_none_for_a_process():
    """Directories cannot be passed; what came with them is let go of."""
    with Sandbox() as box:
        directory = os.open("/tmp", os.O_RDONLY)
        reader, writer = os.pipe()
        null = os.open("/dev/null", os.O_RDWR)
        request = box.spawn(["true"], fds=[null, null, null, writer, directory, writer])
        os.close(writer)
        refused(lambda: box.expect(request, "SPAWNED"), errno.ENFILE, "request")
        check_equal(os.read(reader, 1), b"")
        for fd in (directory, reader, null):
            os.close(fd)
        check_equal(box.run("echo still here").out, b"still here\n")


def test_descriptors_of_a_program_that_is_not_there():
    with Sandbox() as box:
        null = os.open("/dev/null", os.O_RDWR)
        reader, writer = os.pipe()
        request = box.spawn(["no-such-program"], fds=[null] * 15 + [writer])
        os.close(writer)
        refused(lambda: box.expect(request, "SPAWNED"), errno.ENOENT, "program")
        check_equal(os.read(reader, 1), b"")
        os.close(reader)
        os.close(null)


def test_many_at_once():
    with Sandbox() as box:
        running = [box.start(["/bin/sh", "-c", f"read x; echo {i}"], flags=LOGIN) for i in range(40)]
        for i, process in enumerate(running):
            check_equal(process.finish().out, b"%d\n" % i)


run(sys.modules[__name__])
