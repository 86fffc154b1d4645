"""The sandbox as a whole over the control channel: processes, limits, host name, statistics."""
import errno
import os
import sys

from harness.channel import Refused, Sandbox, Writer
from harness.tap import check, check_equal, run

if not os.access(os.environ["HOTCELL"], os.X_OK):
    sys.exit(77)

MIB = 1 << 20


def refused(function, code, about="request"):
    try:
        function()
    except Refused as error:
        check_equal((errno.errorcode[error.code], error.about), (errno.errorcode[code], about), error.text)
        return error
    raise AssertionError("was not refused")


def test_processes():
    with Sandbox() as box:
        shell = box.start(["/bin/sh", "-c", "echo up; sleep 100; true"])
        busy = box.start(["python3", "-c", "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()\n"
                          "x = b'x' * 30000000\nprint('up', flush=True)\nt = time.process_time()\nwhile time.process_time() < t + 0.1: pass\n"
                          "print('done', flush=True)\ntime.sleep(99)", "argument"], user="root")
        shell.wait_for(b"up")
        busy.wait_for(b"done")
        box.run("echo '#!/bin/cat' > script; chmod 755 script")
        script = box.start(["./script", "-", "x" * 400], env={"PATH": "/bin"})
        found = {p.pid: p for p in box.processes()}
        check_equal(list(found), sorted(found))
        check_equal((found[1].parent, found[shell.pid].parent), (0, 1))
        sleep = [p for p in found.values() if p.parent == shell.pid][0]
        check_equal((sleep.command, sleep.uid, sleep.threads, sleep.state), ("sleep 100", 1000, 1, "S"))
        p = found[busy.pid]
        check_equal((p.uid, p.threads), (0, 2))
        check(p.command.startswith("python3 -c import threading") and len(p.command) <= 256, p.command)
        check(p.cpu_ns >= 50_000_000 and p.memory > 30_000_000, p)
        check(p.started_ms >= found[shell.pid].started_ms, p)
        check(found[script.pid].command.startswith("/bin/cat ./script - xxx"), found[script.pid].command)
        check_equal(len(found[script.pid].command), 256)


def test_very_many_processes():
    with Sandbox() as box:
        shell = box.start(["/bin/bash", "-c", "for i in $(seq 300); do sleep 100 & done; echo up; wait"])
        shell.wait_for(b"up")
        while sum(p.command == "sleep 100" for p in box.processes()) != 300:
            pass  # not all of them are programs yet


def test_limits():
    with Sandbox(limits={"disk": 64 * MIB, "pids": 100}) as box:
        box.set_limits(disk=4 * MIB, pids=20, memory=512 * MIB, cpu=1000)
        check_equal((box.stats()["disk_limit"], box.stats()["memory_limit"], box.stats()["cpu_count"]), (4 * MIB, 512 * MIB, 1))
        try:
            box.write("f", b"x" * 5 * MIB)
            raise AssertionError("more than the limit was written")
        except Refused as error:
            check_equal(error.code, errno.ENOSPC)
        check(b"fork" in box.run("for i in $(seq 30); do sleep 5 & done; pkill sleep").err, "no limit of processes")
        box.set_limits(disk=64 * MIB)
        check_equal(box.write("g", b"x" * 5 * MIB).size, 5 * MIB)
        refused(lambda: box.set_limits(disk=65 * MIB), errno.ERANGE)
        refused(lambda: box.set_limits(pids=101, memory=MIB), errno.ERANGE)
        refused(lambda: box.set_limits(arena=2**40), errno.ERANGE)
        check_equal(box.stats()["memory_limit"], 512 * MIB)
        box.set_limits()


def test_hostname():
    with Sandbox() as box:
        box.set_hostname("sandbox-4711")
        done = box.run("hostname; cat /etc/hostname /proc/sys/kernel/hostname; uname -n; getent hosts sandbox-4711")
        check_equal(done.out.split(), [b"sandbox-4711"] * 4 + [b"127.0.1.1", b"sandbox-4711"])
        for name in ("", "-x", ".x", "a b", "a" * 65, "a\n", "ü"):
            refused(lambda: box.set_hostname(name), errno.EINVAL)
        check_equal(box.run("hostname").out, b"sandbox-4711\n")


def test_statistics():
    with Sandbox(limits={"disk": 64 * MIB, "memory": 256 * MIB}) as box:
        before = box.stats()
        check_equal((before["disk_limit"], before["memory_limit"]), (64 * MIB, 256 * MIB))
        box.write("f", b"x" * 8 * MIB)
        process = box.start(["python3", "-c", "import time\nx = b'x' * 50000000\nt = time.process_time()\n"
                             "while time.process_time() < t + 0.2: pass\nprint('up', flush=True); time.sleep(99)"])
        process.wait_for(b"up")
        after = box.stats()
        check_equal(after["disk"] - before["disk"], 8 * MIB)
        check(after["memory"] > 50_000_000, after)
        check(after["cpu_user_ns"] + after["cpu_system_ns"] >= 100_000_000, after)
        check_equal(after["processes"] - before["processes"], 1)
        check(after["cpu_count"] >= 1 and after["calls_served"] > before["calls_served"], after)


def test_an_idle_sandbox_does_nothing():
    """A member of a pool: no turn of its loop, little memory."""
    with Sandbox() as box:
        def switches():
            with open(f"/proc/{box.kernel_pid}/status") as file:
                return [int(line.split()[1]) for line in file if "ctxt_switches" in line]
        with open(f"/proc/{box.kernel_pid}/smaps_rollup") as file:
            pss = [int(line.split()[1]) for line in file if line.startswith("Pss:")][0]
        for _ in range(5):  # what it has to do after the start is over some time
            before = switches()
            with Sandbox() as other:
                other.run("true")
            if switches() == before:
                break
        check_equal(switches(), before)
        check(pss < 4096 or "asan" in os.environ["BUILD"], f"{pss} KiB")


run(sys.modules[__name__])
