"""How the processes of a sandbox look from the host, and that one sandbox cannot take from another what the
host counts per user. Prints TAP."""
import os
import resource
import subprocess
import sys

from harness.tap import PATIENCE_S, Skip, run

HOTCELL = os.environ["HOTCELL"]
NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
LIMITED = {"Max processes": None, "Max pending signals": None, "Max locked memory": 64 << 20, "Max msgqueue size": 0,
           "Max nice priority": 0, "Max realtime priority": 0}


def start(script, *options):
    """A sandbox that runs `script` and then waits for its standard input to end."""
    process = subprocess.Popen([HOTCELL, "run", "-q", *options, "--", "python3", "-c", script + "\nprint('ready', flush=True)\ninput()"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    line = process.stdout.readline()
    if line != b"ready\n":
        process.kill()
        raise AssertionError(f"{line}{process.stderr.read()[-500:]}")
    return process


def end(process):
    process.communicate(b"\n", timeout=PATIENCE_S)
    assert process.returncode == 0, f"status {process.returncode}"


def status_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)


def descendants(pid):
    """By parent, from the whole list: /proc/PID/task/TID/children is not everywhere."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = int(status_of(name)["PPid"])
            except (OSError, KeyError):
                pass
    found, grew = [pid], True
    while grew:
        more = [p for p, parent in parents.items() if parent in found and p not in found]
        found += more
        grew = bool(more)
    return found[1:]


def members(process):
    """(the kernel process, the guests)"""
    below = descendants(process.pid)
    kernel = [pid for pid in below if status_of(pid)["Name"] == "hotcell-kernel"]
    assert len(kernel) == 1, f"{len(kernel)} kernel processes"
    guests = descendants(kernel[0])
    assert len(guests) >= 2, guests
    return kernel[0], guests


def test_no_privileges_and_a_filter():
    process = start("")
    kernel, guests = members(process)
    for pid in [kernel, *guests]:
        status = status_of(pid)
        for capabilities in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(status[capabilities], 16) == 0, (pid, capabilities, status[capabilities])
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status
        assert len(set(status["Uid"].split())) == 1 and len(set(status["Gid"].split())) == 1, status
        if os.geteuid() == 0:
            assert status["Uid"].split()[0] != "0" and status["Gid"].split()[0] != "0", status
            assert not status["Groups"].strip(), status["Groups"]
    end(process)


def test_namespaces_of_their_own():
    if os.geteuid() != 0:
        raise Skip("reading the links of another user namespace takes a privilege")
    process, other = start(""), start("")
    kernel, guests = members(process)
    kernel2, _ = members(other)
    for name in NAMESPACES:
        ours = os.readlink(f"/proc/self/ns/{name}")
        assert os.readlink(f"/proc/{kernel}/ns/{name}") not in (ours, os.readlink(f"/proc/{kernel2}/ns/{name}")), name
        for pid in guests:
            assert os.readlink(f"/proc/{pid}/ns/{name}") != ours, name
    assert status_of(kernel)["Uid"] != status_of(kernel2)["Uid"], "two sandboxes of one user outside"
    end(process)
    end(other)


def test_guests_hold_nothing_of_the_host():
    if os.geteuid() != 0:
        raise Skip("looking into another user namespace takes a privilege")
    process = start("")
    kernel, guests = members(process)
    for pid in guests:
        assert sorted(os.listdir(f"/proc/{pid}/root")) == ["x", "y"], os.listdir(f"/proc/{pid}/root")
        assert os.readlink(f"/proc/{pid}/exe") in ("/x", "/y")
        assert os.listdir(f"/proc/{pid}/fd") == [], pid
    assert sorted(os.listdir(f"/proc/{kernel}/root")) == ["x", "y"]
    end(process)


def test_limits_on_what_the_host_counts():
    process = start("")
    kernel, guests = members(process)
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    for pid in [kernel, *guests]:
        with open(f"/proc/{pid}/limits") as file:
            limits = {line[:26].strip(): line[26:].split()[1] for line in file.read().splitlines()[1:]}
        # 1 and not 0: a core_pattern that is a pipe does not look at 0.
        assert limits["Max core file size"] == ("0" if hard == 0 else "1"), limits
        if pid == kernel:
            continue
        for name, most in LIMITED.items():
            assert limits[name] != "unlimited", name
            assert most is None or int(limits[name]) <= most, (name, limits[name])
    end(process)


EXHAUST = """
import ctypes, mmap, os, signal, time
libc = ctypes.CDLL(None, use_errno=True)
timers = processes = 0
event = (ctypes.c_int * 16)(0, 0, 10, 0)
while libc.syscall(222, 1, ctypes.byref(event), ctypes.byref((ctypes.c_int * 4)())) == 0:
    timers += 1
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
queued = 0
while queued < 100000 and libc.sigqueue(os.getpid(), 40, ctypes.c_void_p(1)) == 0:
    queued += 1
try:
    while True:
        if os.fork() == 0:
            time.sleep(100)
            os._exit(0)
        processes += 1
except OSError:
    pass
m = mmap.mmap(-1, 1 << 27)
address = ctypes.addressof(ctypes.c_char.from_buffer(m))
locked = libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(1 << 27))
assert locked == -1, locked
assert timers and processes and timers < 100000 and processes < 100000, (timers, processes)
"""

WORK = """
import ctypes, os, signal, subprocess, threading
assert subprocess.run(["sh", "-c", "echo a | cat | grep -q a"]).returncode == 0
threads = [threading.Thread(target=lambda: None) for i in range(20)]
[t.start() for t in threads]
[t.join() for t in threads]
libc = ctypes.CDLL(None, use_errno=True)
event = (ctypes.c_int * 16)(0, 0, 10, 0)
for i in range(100):
    assert libc.syscall(222, 1, ctypes.byref(event), ctypes.byref((ctypes.c_int * 4)())) == 0
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
for i in range(100):
    assert libc.sigqueue(os.getpid(), 40, ctypes.c_void_p(1)) == 0
"""


def test_a_greedy_sandbox_beside_another():
    greedy = start(EXHAUST, "--pids", "64")
    end(start(WORK))
    subprocess.run(["true"], check=True)
    end(greedy)


run(sys.modules[__name__])
