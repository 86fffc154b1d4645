"""Attacks on limits: each takes as much of one thing as it gets. The sandbox gets the errno that Linux gives or dies with
its reason; another sandbox and the host notice nothing; what was taken comes back."""
import errno
import json
import os
import pty
import re
import resource
import subprocess
import sys
import tempfile
import time

from harness import scene
from harness.tap import PATIENCE_S

HOTCELL = os.environ["HOTCELL"]
BUILD = os.environ["BUILD"]
ERRORS = {getattr(errno, name) for name in ("ENOMEM", "ENOSPC", "EMFILE", "ENFILE", "EAGAIN", "ENOBUFS", "EDQUOT", "ENOLCK", "ETOOMANYREFS",
                                            "ENAMETOOLONG")}

# kind: options, at least, at most, errnos or None for any of ERRORS. A most of None: bounded by the maximum given to the
# bomb, which it may reach: the kernel forgets or keeps within its memory.
BOMBS = {
    "fork": (["--pids", "50"], 30, 50, {errno.EAGAIN}, 0),
    "zombie": (["--pids", "50"], 30, 70, {errno.EAGAIN}, 0),
    "thread": (["--pids", "50"], 30, 50, {errno.EAGAIN}, 0),
    "vfork": (["--pids", "50"], 10, 50, {errno.EAGAIN}, 0),
    "memfd": (["--disk", "8M"], 100, 130, {errno.ENOSPC}, 0),
    "devshm": (["--disk", "8M"], 100, 130, {errno.ENOSPC}, 0),
    "disk": (["--disk", "8M"], 100, 130, {errno.ENOSPC}, 0),
    "open": (["--files", "500"], 300, 500, {errno.ENFILE, errno.EMFILE}, 0),
    "dup": ([], 500, 1100000, {errno.EMFILE}, 0),
    "inode": ([], 1000, None, None, 300000),
    "symlink": ([], 1000, None, None, 300000),
    "deep": ([], 1000, None, None, 20000),
    "lookup": ([], 100000, None, None, 300000),
    "xattr": ([], 1000, None, None, 100000),
    "pipe": ([], 10, 30000, None, 0),
    "socket": ([], 10, 30000, None, 0),
    "listener": ([], 10, 65536, None, 0),
    "inflight": ([], 3, None, None, 20000),
    "epoll": (["--files", "10000"], 100, 10000, None, 0),
    "inotify": ([], 500, None, None, 100000),
    "lock": ([], 500, None, None, 10000),
    "timer": ([], 10, 65536, None, 0),
    "mapping": ([], 1000, 80000, {errno.ENOMEM}, 0),
    "terminal": ([], 4, None, None, 200),
    "queue": ([], 4, 200000, None, 0),
    "shm": (["--disk", "8M"], 6, 8, {errno.ENOMEM, errno.ENOSPC}, 0),
    "mlock": ([], 4, 64, {errno.ENOMEM, errno.EAGAIN}, 0),
    "signal": (["--pids", "50"], 100, 4096, {errno.EAGAIN}, 0),
    "posixtimer": (["--pids", "50"], 100, 4096, {errno.EAGAIN}, 0),
    "tcp": ([], 10, 1000, {errno.ENOBUFS}, 0),
    "udp": ([], 5, 1000, {errno.ENOBUFS}, 0),
    "message": ([], 1000, None, None, 30000),
    "event": ([], 20000, None, None, 20000),
    "path": ([], 10000, None, None, 10000),
    "sparse": (["--disk", "8M"], 1900, 2048, {errno.ENOSPC}, 0),
    "argument": ([], 10, 20, {errno.E2BIG}, 0),
    # In memory: a file may take three quarters of it, and an errno comes before the host's killer.
    "layer": (["--memory", "64M"], 600, 768, {errno.ENOSPC}, 0),
}


BOMB_S = 3 * PATIENCE_S


def bomb(kind, *options, maximum=0, launchers=None):
    """launchers: a list that gets the pid of ours."""
    with tempfile.TemporaryDirectory(prefix="hotcell-bomb-", dir="/tmp") as directory:
        os.chmod(directory, 0o755)
        command = [HOTCELL, "run", *options, "--ro", BUILD + "/tests:/t", "--", "/t/escape/helper_bomb", kind,
                   *([str(maximum)] if maximum else [])]
        with subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as child:
            try:
                if launchers is not None:
                    launchers.append(child.pid)
                out, err = child.communicate(timeout=BOMB_S)
            finally:
                child.kill()
        return subprocess.CompletedProcess(command, child.returncode, out, err)


def check_bomb(kind):
    options, least, most, errors, maximum = BOMBS[kind]
    done = bomb(kind, *options, maximum=maximum)
    found = re.match(rb"(\d+) (\d+)\n", done.stdout)
    if done.returncode == 137 and done.stderr.startswith(b"hotcell: killed: ") and not found and most is None:
        return  # ended with its reason
    if not found:
        raise AssertionError(f"status {done.returncode}: {done.stdout!r} {done.stderr[-300:]!r}")
    count, error = int(found[1]), int(found[2])
    name = errno.errorcode.get(error, "no error")
    if count < least or most is not None and count > most:
        raise AssertionError(f"got {count} ({name}), want {least} to {most}")
    if error not in (errors or ERRORS) and not (most is None and error == 0):
        raise AssertionError(f"{count}, then {name}")


def killed(done, part):
    if done.returncode != 137 or part not in done.stderr:
        raise AssertionError(f"status {done.returncode}: {done.stdout[-100:]!r} {done.stderr[-300:]!r}")


def memory_bomb():
    killed(bomb("memory", "--memory", "100M"), b"--memory")


def page_table_bomb():
    """Reads of untouched memory take nothing but page tables."""
    killed(bomb("pagetables", "--memory", "100M"), b"--memory")


def memory_bomb_of_many():
    """Each process is below the limit, together they are above it. A control group's killer takes some of them, the kernel
    process, which cannot choose a moment, ends the sandbox; a line says so in either case."""
    script = "for i in 1 2 3 4 5 6; do /t/escape/helper_bomb held 30 & done; wait"
    done = subprocess.run([HOTCELL, "run", "--memory", "100M", "--timeout", "100s", "--ro", BUILD + "/tests:/t", "--", "sh", "-c", script], cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=90)
    if b"--memory" not in done.stderr or done.stdout.count(b"\n") > 5:
        raise AssertionError(f"status {done.returncode}: {done.stdout!r} {done.stderr[-300:]!r}")


def mapped_file_bomb():
    """Dirty pages of a mapped file: an errno, SIGBUS, or a kill for memory; the host's disk stays as it is."""
    before = os.statvfs("/tmp").f_bavail
    done = bomb("mapped", "--disk", "20M", "--memory", "200M", maximum=2000)
    found = re.match(rb"(\d+) (\d+)\n", done.stdout)
    if found and int(found[1]) > 30:
        raise AssertionError(f"{done.stdout!r}: more than the disk limit")
    if not found and done.returncode not in (137, 128 + 7):
        raise AssertionError(f"status {done.returncode} {done.stderr!r}")
    after = os.statvfs("/tmp")
    if (before - after.f_bavail) * after.f_frsize > 1500 << 20:
        raise AssertionError("the host's disk was filled")


MANY_PROCESSES = """
import os, signal
for round in range(3):
    end, other = os.pipe()
    pids = []
    try:
        while len(pids) < 300:
            pids.append(os.fork())
            if pids[-1] == 0:
                os.close(end)
                signal.pause()
    except BlockingIOError:
        pass
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)
    os.close(other)
    print(len(pids), os.read(end, 1), flush=True)
"""


def few_descriptors_for_many_processes():
    """Each process takes a descriptor of the kernel process: there are as many as it has, and their ends are noticed."""
    done = subprocess.run([HOTCELL, "run", "--timeout", "100s", "--", "python3", "-c", MANY_PROCESSES], cwd="/", stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=PATIENCE_S, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)))
    found = re.findall(rb"^(\d+) b''$", done.stdout, re.M)
    if len(found) != 3 or not all(50 < int(n) < 200 for n in found):
        raise AssertionError(f"status {done.returncode}: {done.stdout!r} {done.stderr[-300:]!r}")


def endless_output():
    child = subprocess.Popen([HOTCELL, "run", "--timeout", "2s", "--", "yes"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
    killed(subprocess.CompletedProcess([], child.wait(PATIENCE_S), b"", child.stderr.read()), b"--timeout")


def output_nobody_reads():
    """The program stands still, the kernel process neither grows nor spins, and the end comes when it is due."""
    child = subprocess.Popen([HOTCELL, "run", "--", "yes"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        child.stdout.read(1)
        time.sleep(0.3)
        kernel = kernel_of(child.pid)
        before, begun = cpu_ticks(kernel), time.monotonic()
        time.sleep(1)
        if cpu_ticks(kernel) - before > 30 * max(1, time.monotonic() - begun):
            raise AssertionError("the kernel process spins")
        if resident(kernel) > 40 << 20:
            raise AssertionError(f"{resident(kernel) >> 20} MiB are resident")
    finally:
        child.kill()
        child.wait()
    child = subprocess.Popen([HOTCELL, "run", "--timeout", "1s", "--", "yes"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    try:
        killed(subprocess.CompletedProcess([], child.wait(PATIENCE_S), b"", child.stderr.read()), b"--timeout")
    finally:
        child.kill()
        child.wait()


def terminal_nobody_reads():
    """The same on a terminal of the caller."""
    master, slave = pty.openpty()
    child = subprocess.Popen([HOTCELL, "run", "--tty", "--timeout", "4s", "--", "yes"], stdin=slave, stdout=slave, stderr=subprocess.PIPE,
                             start_new_session=True)
    os.close(slave)
    try:
        os.read(master, 1)
        largest = 0
        while kernel := running_kernel_of(child.pid):  # until its time is up
            largest = max(largest, resident(kernel))
            time.sleep(0.05)
        if largest > 40 << 20:
            raise AssertionError(f"{largest >> 20} MiB are resident")
        while child.poll() is None:  # what is left is for the terminal
            try:
                os.read(master, 65536)
            except OSError:  # nobody has the other end any more
                break
        killed(subprocess.CompletedProcess([], child.wait(PATIENCE_S), b"", child.stderr.read()), b"--timeout")
    finally:
        child.kill()
        child.wait()
        os.close(master)


def many_mounts():
    """More mounts than there may be: an error that says so, before anything starts."""
    options = sum([["--ro", f"/usr:/mnt/{i}"] for i in range(500)], [])
    done = subprocess.run([HOTCELL, "run", *options, "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S)
    if done.returncode != 125 or done.stderr.count(b"\n") > 2 or not done.stderr.startswith(b"hotcell:"):
        raise AssertionError(f"status {done.returncode}: {done.stderr!r}")


def the_summary_says_who_counts():
    """Where no control group counts memory the kernel process does, and what is missing is named."""
    done = subprocess.run([HOTCELL, "run", "--json", "-", "--memory", "64M", "--", "/bin/true"], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=PATIENCE_S)
    said = json.loads(done.stdout)
    counted = "memory" in said["cgroup"]["controllers"]
    source = "cgroup" if counted else "application kernel"
    if said["memory"]["source"] != source or counted == bool(said["cgroup"]["missing"].get("memory")):
        raise AssertionError(f"{said['memory']} {said['cgroup']}")


def nothing_remains():
    """After sandboxes that were bombed nothing of them is left on the host. What outlives its launcher is our child then."""
    scene.become_reaper()
    others, launchers = set(scene.children(os.getpid())), []  # the neighbour
    for kind in ("memory", "fork", "layer"):
        bomb(kind, "--memory", "64M", "--pids", "40", launchers=launchers)

    def is_clean():
        left = set(scene.children(os.getpid())) - others
        for pid in left:
            os.waitpid(pid, os.WNOHANG)
        return not left and not any(scene.groups_of(pid) for pid in launchers)
    scene.until(is_clean, "something remains")


def spinning():
    done = subprocess.run([HOTCELL, "run", "--timeout", "1s", "--", "sh", "-c", "for i in 1 2 3 4; do (while :; do :; done) & done; wait"],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S)
    killed(done, b"--timeout")


def call_storm():
    """Expensive calls in a loop must not delay the end, nor a neighbour."""
    code = ("import os, select, threading\n"
            "def storm():\n"
            "    p = select.poll()\n"
            "    for i in range(500):\n"
            "        r, w = os.pipe(); p.register(r); p.register(w)\n"
            "    while True: p.poll(0)\n"
            "for _ in range(4): threading.Thread(target=storm).start()\n")
    done = subprocess.run([HOTCELL, "run", "--timeout", "2s", "--files", "9000", "--", "python3", "-c", f"import resource\nresource.setrlimit(7, (8192, 8192)) if resource.getrlimit(7)[1] >= 8192 else 0\n{code}"],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S)
    killed(done, b"--timeout")


def running_kernel_of(launcher):
    return next((p for p in scene.children(launcher) if scene.comm(p) == "hotcell-kernel" and not scene.is_zombie(p)), None)


def kernel_of(launcher):
    """The kernel process of a running `hotcell run`."""
    return scene.until(lambda: running_kernel_of(launcher), "no kernel process")


def cpu_ticks(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def resident(pid):
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        return 0  # it has just ended


def memory_comes_back():
    """A sandbox that made and removed many objects is not much larger afterwards, and can do it again."""
    script = ("for k in 1 2 3; do mkdir d; cd d; seq 20000 | xargs touch; /t/escape/helper_bomb symlink 20000; /t/escape/helper_bomb pipe;"
              "/t/escape/helper_bomb inflight 3000; cd ..; rm -r d; done >&2; head -c 30000000 /dev/zero > f; rm f; echo done; sleep 10000")
    child = subprocess.Popen([HOTCELL, "run", "-q", "--ro", BUILD + "/tests:/t", "--", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    try:
        if child.stdout.readline() != b"done\n":
            raise AssertionError("did not finish")
        kernel = kernel_of(child.pid)
        if resident(kernel) > 64 << 20:
            raise AssertionError(f"{resident(kernel) >> 20} MiB are resident")
    finally:
        child.kill()
        child.wait()


class Neighbour:
    """Another sandbox that works all the time; slow() says how long its longest step took."""

    def __enter__(self):
        script = "while :; do echo tick; head -c 1000 /usr/bin/env > f; rm f; sleep 0.05; done"
        self.child = subprocess.Popen([HOTCELL, "run", "-q", "--", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      cwd="/", stderr=subprocess.DEVNULL)
        self.child.stdout.readline()
        return self

    def alive(self):
        os.set_blocking(self.child.stdout.fileno(), False)
        while self.child.stdout.read(65536):
            pass
        os.set_blocking(self.child.stdout.fileno(), True)
        return self.child.poll() is None and self.child.stdout.readline() == b"tick\n"

    def __exit__(self, *unused):
        self.child.kill()
        self.child.wait()


def main():
    attacks = {f"{kind}_bomb": lambda kind=kind: check_bomb(kind) for kind in BOMBS}
    for function in (memory_bomb, memory_bomb_of_many, page_table_bomb, mapped_file_bomb, few_descriptors_for_many_processes, endless_output, output_nobody_reads,
                     terminal_nobody_reads, many_mounts, the_summary_says_who_counts, spinning, call_storm, memory_comes_back,
                     nothing_remains):
        attacks[function.__name__] = function
    failed = number = 0
    with Neighbour() as neighbour:
        for name, attack in attacks.items():
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            number += 1
            started = time.monotonic()
            try:
                attack()
                if not neighbour.alive():
                    raise AssertionError("the neighbour is gone")
                print(f"ok {number} {name}")
            except Exception as problem:
                failed += 1
                print(f"# {type(problem).__name__}: {problem}\nnot ok {number} {name}")
            if time.monotonic() - started > 10:
                print(f"# {name} took {time.monotonic() - started:.0f} s")
            sys.stdout.flush()
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
