"""Directories of the host in a sandbox, which somebody on the host changes to mislead it: links that lead out,
FIFOs, sockets and devices, and all that while the guest looks. Prints TAP."""
import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading

from harness.tap import PATIENCE_S, run

HOTCELL = os.environ["HOTCELL"]
SECRET = "the secret of the host"
KINDS = ("ro", "rw", "cow")


class HostTree:
    """top/tree is what is mounted; top/secret and top/x must stay unread and unchanged."""

    def __enter__(self):
        self.holder = tempfile.TemporaryDirectory(prefix="hotcell-tree-")
        self.top = self.holder.name
        self.tree = f"{self.top}/tree"
        os.chmod(self.top, 0o777)
        os.mkdir(self.tree)
        os.chmod(self.tree, 0o777)
        for name in ("secret", "x"):
            write(f"{self.top}/{name}", SECRET)
        write(f"{self.tree}/file", "inside")
        os.symlink(self.top, f"{self.tree}/out")
        os.symlink(f"{self.top}/secret", f"{self.tree}/absolute")
        os.symlink("../secret", f"{self.tree}/relative")
        os.symlink("/proc/self/root", f"{self.tree}/magic")
        os.mkfifo(f"{self.tree}/fifo")
        os.chmod(f"{self.tree}/fifo", 0o666)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.tree}/socket")
        os.chmod(f"{self.tree}/socket", 0o777)
        self.listener.listen(1)
        self.listener.setblocking(False)
        if os.geteuid() == 0:
            os.mknod(f"{self.tree}/zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
            os.mknod(f"{self.tree}/disk", stat.S_IFBLK | 0o666, os.makedev(7, 200))
        return self

    def command(self, kind, script):
        return [HOTCELL, "run", "-q", "--user", "root", f"--{kind}", f"{self.tree}:/m", "--env", f"TOP={self.top}",
                "--", "python3", "-c", script]

    def run(self, kind, script):
        return subprocess.run(self.command(kind, script), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S)

    def start(self, kind, script):
        return subprocess.Popen(self.command(kind, script), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def harm(self):
        wrong = [name for name in ("secret", "x") if read(f"{self.top}/{name}") != SECRET]
        wrong += [name for name in os.listdir(self.top) if name not in ("secret", "x", "tree")]
        for name in os.listdir(self.tree):
            mode = os.lstat(f"{self.tree}/{name}").st_mode
            if (stat.S_ISBLK(mode) or stat.S_ISCHR(mode)) and name not in ("zero", "disk"):
                wrong.append(f"device {name}")
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID):
                wrong.append(f"set-user-id {name}")
        try:
            self.listener.accept()
            wrong.append("somebody connected")
        except BlockingIOError:
            pass
        return wrong

    def __exit__(self, *unused):
        self.listener.close()
        self.holder.cleanup()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o666)


def read(path):
    with open(path) as file:
        return file.read()


def check(done, tree, kind):
    said = (done.stdout + done.stderr).decode(errors="replace")
    assert done.returncode == 0, f"{kind}: status {done.returncode}: {said[-600:]}"
    assert SECRET not in said, f"{kind}: {said[-600:]}"
    assert not tree.harm(), f"{kind}: {tree.harm()}"


GUEST = """
import errno, os, signal, socket, stat, sys
signal.alarm(30)
TOP = os.environ["TOP"]
def attempt(call, *arguments):
    try:
        return call(*arguments)
    except OSError as problem:
        return -problem.errno
def contents(path, flags=os.O_RDONLY):
    fd = attempt(os.open, path, flags | os.O_NONBLOCK)
    if fd < 0:
        return b""
    data = attempt(os.read, fd, 100)
    os.close(fd)
    return data if isinstance(data, bytes) else b""
"""

LINKS = GUEST + """
for path in ("out/secret", "out/x", "absolute", "relative", "magic" + TOP + "/secret", "../secret", "out/../secret",
             "tree/../../secret", "./../../.." + TOP + "/secret"):
    for flags in (os.O_RDONLY, os.O_RDWR, os.O_RDONLY | os.O_NOFOLLOW, os.O_PATH, os.O_WRONLY | os.O_TRUNC):
        assert b"secret" not in contents("/m/" + path, flags), path
    attempt(os.truncate, "/m/" + path, 0)
    attempt(os.chmod, "/m/" + path, 0)
    attempt(os.unlink, "/m/" + path)
    attempt(os.link, "/m/" + path, "/m/hard")
    attempt(os.rename, "/m/" + path, "/m/moved")
    assert b"secret" not in contents("/m/hard") + contents("/m/moved"), path
os.chdir("/m")
for i in range(8):
    os.chdir("..")
assert os.getcwd() == "/"
os.chroot("/m")
assert b"secret" not in contents("/out/secret") + contents("/../secret") + contents("/absolute")
"""

SPECIAL = GUEST + """
for name in ("zero", "disk"):
    for flags in (os.O_RDONLY, os.O_RDWR, os.O_WRONLY):
        fd = attempt(os.open, "/m/" + name, flags | os.O_NONBLOCK)
        assert fd < 0, (name, fd)
s = socket.socket(socket.AF_UNIX)
assert attempt(s.connect, "/m/socket") in (-errno.ECONNREFUSED, -errno.EACCES, -errno.EROFS)
for name, mode in (("new-device", stat.S_IFCHR), ("new-disk", stat.S_IFBLK)):
    if attempt(os.mknod, "/m/" + name, mode | 0o666, os.makedev(1, 5)) is None:
        assert attempt(os.open, "/m/" + name, os.O_RDONLY | os.O_NONBLOCK) < 0, name
for name in ("file", "made"):
    attempt(os.mknod, "/m/made", stat.S_IFREG | 0o4755)
    attempt(os.chmod, "/m/" + name, 0o6755)
    attempt(os.setxattr, "/m/" + name, "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))
# What a FIFO of the host is to the guest is the guest's matter: it must not wait for ever.
for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
    fd = attempt(os.open, "/m/fifo", flags | os.O_NONBLOCK)
    if fd >= 0:
        attempt(os.read, fd, 10)
        attempt(os.write, fd, b"evil")
        os.close(fd)
"""

# What the guest tries at whatever is at those names just now: once for each line, then for a while.
RACE = GUEST + """
import mmap, time
pipe = os.pipe()
def attack(seen):
    for path in ("/m/swap/x", "/m/flip", "/m/swap/../swap/x", "/m/flip/x"):
        seen.add(contents(path))
        seen.add(contents(path, os.O_RDWR))
        fd = attempt(os.open, path, os.O_RDONLY | os.O_NONBLOCK)
        if fd >= 0:
            try:
                # By a system call: the host may have cut the file, then it is EFAULT and no SIGBUS.
                with mmap.mmap(fd, 5, prot=mmap.PROT_READ) as m:
                    seen.add(os.read(pipe[0], os.write(pipe[1], m)))
            except (OSError, ValueError):
                pass
            os.close(fd)
        fd = attempt(os.open, path, os.O_WRONLY | os.O_TRUNC | os.O_CREAT | os.O_NONBLOCK, 0o644)
        if fd >= 0:
            attempt(os.write, fd, b"evil")
            os.close(fd)
        attempt(os.truncate, path, 3)
        attempt(os.chmod, path, 0o600)
        attempt(os.chown, path, 1, 1)
        attempt(os.utime, path, (1, 1))
        attempt(os.setxattr, path, "user.evil", b"1")
        attempt(os.listdir, "/m/swap")
    attempt(os.unlink, "/m/swap/x")
    attempt(os.mkdir, "/m/swap/new")
    attempt(os.rename, "/m/file", "/m/swap/file")
    attempt(os.symlink, "/", "/m/swap/link")
    assert not any(b"secret" in s for s in seen), seen
for line in sys.stdin:
    seen = set()
    attack(seen)
    print(b"inside" in seen, flush=True)
end = time.monotonic() + 3
while time.monotonic() < end:
    attack(set())
"""


def quietly(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        pass


def steps(tree):
    """A directory that is a link to the secret's by turns; a file that is a link, a FIFO. Each with whether a guest
    that changes nothing reads `inside` then."""
    real, swap, flip = f"{tree.tree}/real", f"{tree.tree}/swap", f"{tree.tree}/flip"
    return [(lambda: (quietly(write, f"{real}/x", "inside"), quietly(os.rename, real, swap)), True),
            (lambda: quietly(write, flip, "inside"), True),
            (lambda: quietly(os.unlink, flip), True),
            (lambda: quietly(os.symlink, f"{tree.top}/secret", flip), True),
            (lambda: quietly(os.rename, swap, real), False),
            (lambda: quietly(os.symlink, tree.top, swap), False),
            (lambda: quietly(os.unlink, flip), False),
            (lambda: quietly(os.mkfifo, flip), False),
            (lambda: (quietly(os.unlink, swap), quietly(os.unlink, flip)), False)]


def lead(tree, kind, guest):
    """Step by step: the guest looks at each state, with what it remembers of the one before."""
    for number, (step, inside) in enumerate(steps(tree) * 2):
        step()
        guest.stdin.write(b"look\n")
        guest.stdin.flush()
        said = guest.stdout.readline()
        if not said:
            return  # the caller sees why
        if kind == "ro" or number == 0:  # else it has put something of its own there
            assert said == f"{inside}\n".encode(), f"{kind}: step {number}: {said}"


def flip(tree, stop):
    """While the guest looks."""
    while not stop.is_set():
        for step, unused in steps(tree):
            step()


def test_links_that_lead_out():
    for kind in KINDS:
        with HostTree() as tree:
            check(tree.run(kind, LINKS), tree, kind)


def test_special_files():
    for kind in KINDS:
        with HostTree() as tree:
            check(tree.run(kind, SPECIAL), tree, kind)


def test_a_host_that_changes_what_the_guest_looks_at():
    for kind in KINDS:
        with HostTree() as tree:
            os.mkdir(f"{tree.tree}/real")
            os.chmod(f"{tree.tree}/real", 0o777)
            stop = threading.Event()
            thread = threading.Thread(target=flip, args=(tree, stop))
            with tree.start(kind, RACE) as guest:
                lead(tree, kind, guest)
                thread.start()
                try:
                    out, err = guest.communicate(timeout=PATIENCE_S)  # the end of its input: now both at once
                finally:
                    stop.set()
                    thread.join()
            check(subprocess.CompletedProcess(guest.args, guest.returncode, out, err), tree, kind)


def test_a_read_only_tree_is_the_same_afterwards():
    with HostTree() as tree:
        before = {name: os.lstat(f"{tree.tree}/{name}") for name in sorted(os.listdir(tree.tree))}
        for kind in ("ro", "cow"):
            tree.run(kind, LINKS)
            tree.run(kind, SPECIAL)
        after = {name: os.lstat(f"{tree.tree}/{name}") for name in sorted(os.listdir(tree.tree))}
        assert [(n, s.st_mode, s.st_uid, s.st_mtime_ns, s.st_ctime_ns, s.st_size) for n, s in before.items()] == \
            [(n, s.st_mode, s.st_uid, s.st_mtime_ns, s.st_ctime_ns, s.st_size) for n, s in after.items()]


run(sys.modules[__name__])
