"""Attacks on limits: each takes as much of one thing as it gets. The sandbox gets the errno that Linux gives or dies with
its reason; another sandbox and the host notice nothing; what was taken comes back."""
import errno
import os
import re
import subprocess
import sys
import tempfile
import time

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
}


def bomb(kind, *options, maximum=0, timeout=60):
    with tempfile.TemporaryDirectory(prefix="hotcell-bomb-", dir="/tmp") as directory:
        os.chmod(directory, 0o755)
        return subprocess.run([HOTCELL, "run", *options, "--ro", BUILD + "/tests:/t", "--", "/t/escape/helper_bomb", kind,
                               *([str(maximum)] if maximum else [])], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=timeout)


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
    if (before - after.f_bavail) * after.f_frsize > 500 << 20:
        raise AssertionError("the host's disk was filled")


def endless_output():
    child = subprocess.Popen([HOTCELL, "run", "--timeout", "2s", "--", "yes"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
    killed(subprocess.CompletedProcess([], child.wait(30), b"", child.stderr.read()), b"--timeout")


def spinning():
    done = subprocess.run([HOTCELL, "run", "--timeout", "1s", "--", "sh", "-c", "for i in 1 2 3 4; do (while :; do :; done) & done; wait"],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
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
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    killed(done, b"--timeout")


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


def memory_comes_back():
    """A sandbox that made and removed many objects is not much larger afterwards, and can do it again."""
    script = "for k in 1 2 3; do mkdir d; cd d; seq 20000 | xargs touch; cd ..; rm -r d; done; head -c 30000000 /dev/zero > f; rm f; echo done; sleep 20"
    child = subprocess.Popen([HOTCELL, "run", "-q", "--", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        if child.stdout.readline() != b"done\n":
            raise AssertionError("did not finish")
        kernel = [p for p in children(child.pid) if open(f"/proc/{p}/comm").read().startswith("hotcell-kernel")][0]
        if resident(kernel) > 64 << 20:
            raise AssertionError(f"{resident(kernel) >> 20} MiB are resident")
    finally:
        child.kill()
        child.wait()


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        found += [int(p) for p in open(f"/proc/{pid}/task/{task}/children").read().split()]
    return found


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
    for function in (memory_bomb, mapped_file_bomb, endless_output, spinning, call_storm, memory_comes_back):
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
