"""A sandbox at work which may be hurt, and a look at what is left of it.

The test program becomes the reaper of its descendants, so whatever outlives `hotcell` is its child:
"nothing is left" is exact, whatever else runs on the host. The scene is asked until it is clean or
the time is up; nothing waits a fixed time.
"""
import ctypes
import os
import signal
import subprocess
import tempfile
import time

from . import process
from .tap import PATIENCE_S

PR_SET_CHILD_SUBREAPER = 36

# Processes that come and go, a pipe, files, a terminal: something is always under way.
BUSY = """
mkdir d
while :; do /bin/true; done &
while :; do (echo x; echo y) | cat > d/f; mv d/f d/g; rm d/g; done &
while :; do head -c 200000 /dev/zero > d/big; rm -f d/big; done &
echo ready
wait
"""


def become_reaper():
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        pass  # it is gone, or going
    return found


def descendants(pid):
    """All of them, parents before children."""
    found = children(pid)
    for child in found:
        found += [p for p in children(child) if p not in found]
    return found


def reap():
    """True when the caller, a reaper, has no descendant left: not one is missed, as in a walk of /proc."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def kill(pid):
    """SIGKILL; false when there is nobody any more."""
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def until(condition, what, patience=PATIENCE_S):
    end = time.monotonic() + patience
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"after {patience} s: {what}")
        time.sleep(0.002)


def until_nobody_is_left():
    """Every descendant of the caller has ended."""
    try:
        until(reap, "processes are left")
    except AssertionError as problem:
        raise AssertionError(f"{problem}: {[(p, comm(p)) for p in descendants(os.getpid())]}") from None


def own_groups():
    """Directories of the control groups we are in, and of those above them: hotcell makes its own below one of them."""
    with open("/proc/self/cgroup") as file:
        for line in file:
            unused, names, path = line.rstrip("\n").split(":", 2)
            for top in [names.removeprefix("name=")] if names else ["unified", ""]:
                parts = path.strip("/").split("/")
                for depth in range(len(parts) + 1):
                    yield os.path.normpath(os.path.join("/sys/fs/cgroup", top, *parts[:depth]))


def groups_of(pid):
    """Directories of control groups that the hotcell of this pid made. One of the same pid that was killed long ago,
    in another group than ours, may have left some that nobody who starts here sweeps."""
    return [os.path.join(top, name) for top in sorted(set(own_groups())) if os.path.isdir(top)
            for name in os.listdir(top) if name.startswith(f"hotcell-{pid}-")]


def mounts():
    with open("/proc/self/mountinfo") as file:
        return {line for line in file if "hotcell" in line}


class Scene:
    """One run of `hotcell run` in a directory of its own; `store` is given to --store."""

    def __init__(self, hotcell, script=BUSY, options=()):
        self.hotcell = hotcell
        self.script = script
        self.options = list(options)

    def __enter__(self):
        become_reaper()
        self.mounts = mounts()
        self.folder = process.CleanDirectory()
        self.work = self.folder.__enter__()
        self.store = os.path.join(self.work, "store")
        os.mkdir(self.store)
        self.err = tempfile.TemporaryFile()
        self.child = self.start(self.script, subprocess.PIPE, self.err)
        return self

    def start(self, script, out, err):
        command = [self.hotcell, "run", "-q", "--store", self.store, *self.options, "--", "sh", "-c", script]
        return subprocess.Popen(command, cwd=self.work, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def wait_ready(self):
        if self.child.stdout.readline() != b"ready\n":
            raise AssertionError(f"the program did not start: {self.message()}")

    def message(self):
        self.err.seek(0)
        return self.err.read().decode(errors="replace")

    def kernel(self):
        return next((p for p in children(self.child.pid) if comm(p) == "hotcell-kernel"), None)

    def first_guest(self):
        kernel = self.kernel()
        found = children(kernel) if kernel else []
        return found[0] if found else None

    def guests(self):
        first = self.first_guest()
        return descendants(first) if first else []

    def status(self):
        return self.child.wait(PATIENCE_S)

    def check_clean(self):
        """Nothing is left; what only a later start can remove is gone after one."""
        until_nobody_is_left()
        again = self.start("exit 7", subprocess.DEVNULL, self.err)
        if again.wait(PATIENCE_S) != 7:
            raise AssertionError(f"the next start: {again.returncode} {self.message()}")
        left = [*groups_of(self.child.pid), *groups_of(again.pid), *os.listdir(self.store), *(mounts() - self.mounts)]
        if left or sorted(os.listdir(self.work)) != ["store"]:
            raise AssertionError(f"left: {left} {os.listdir(self.work)}")

    def __exit__(self, *unused):
        self.child.stdout.close()
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self.err.close()
        self.folder.__exit__(*unused)
