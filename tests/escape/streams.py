"""Standard streams that the caller shares: a program gets what they were opened for and nothing more. Prints TAP."""
import os
import subprocess
import sys
import tempfile

from harness.tap import PATIENCE_S, run

HOTCELL = os.environ["HOTCELL"]

ATTACK = """
import errno, mmap, os
def fails(call, *arguments):
    try:
        got = call(*arguments)
    except (OSError, ValueError):
        return
    raise SystemExit(f"{call.__name__}{arguments} gave {got}")
for path in ("/dev/stdin", "/proc/self/fd/0", "/dev/fd/0", f"/proc/{os.getpid()}/fd/0"):
    for flags in (os.O_RDWR, os.O_WRONLY, os.O_WRONLY | os.O_TRUNC, os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
        fails(os.open, path, flags)
    fails(os.truncate, path, 0)
    fails(os.chmod, path, 0o777)
    fails(os.chown, path, 1, 1)
    fails(os.link, path, "hard")
    fails(os.rename, path, "moved")
    fails(os.execv, path, ["x"])
for path in ("/dev/stdout", "/proc/self/fd/1"):
    for flags in (os.O_RDWR, os.O_RDONLY):
        fails(os.open, path, flags)
fails(os.ftruncate, 0, 0)
fails(os.write, 0, b"evil")
fails(os.pwrite, 0, b"evil", 0)
fails(os.read, 1, 1)
fails(os.pread, 1, 1, 0)
fails(os.fchmod, 0, 0o777)
fails(os.fchown, 0, 1, 1)
fails(os.setxattr, 0, b"user.evil", b"1")
fails(os.posix_fallocate, 0, 0, 4096)
fails(mmap.mmap, 0, 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
fails(mmap.mmap, 1, 4, mmap.MAP_SHARED, mmap.PROT_READ)
fails(os.fchdir, 0)
fails(os.listdir, 0)
try:
    os.utime(0, (1, 1))
except OSError:
    pass
os.write(1, b"written" + os.read(0, 100))
"""


def test_files_as_they_were_opened():
    with tempfile.TemporaryDirectory(prefix="hotcell-streams-") as top:
        read_path, write_path = f"{top}/in", f"{top}/out"
        for path, text in ((read_path, "input"), (write_path, "before")):
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, 0o666)
        before = os.stat(read_path)
        for user in ("user", "root"):
            with open(read_path) as source, open(write_path, "a") as target:
                done = subprocess.run([HOTCELL, "run", "-q", "--user", user, "--", "python3", "-c", ATTACK], stdin=source,
                                      stdout=target, stderr=subprocess.PIPE, timeout=PATIENCE_S)
            assert done.returncode == 0, f"{user}: {done.stderr.decode()[-500:]}"
        after = os.stat(read_path)
        assert open(read_path).read() == "input" and open(write_path).read() == "before" + "writteninput" * 2
        assert (before.st_mode, before.st_uid, before.st_mtime_ns, before.st_nlink) == \
            (after.st_mode, after.st_uid, after.st_mtime_ns, after.st_nlink), (before, after)


def test_directories_and_devices_as_streams():
    """A directory of the host as standard input is no way into it."""
    script = """
import os
for path in (".", "..", "etc/passwd", "../etc/passwd"):
    try:
        fd = os.open(path, os.O_RDONLY, dir_fd=0)
    except OSError:
        continue
    raise SystemExit("opened " + path)
try:
    os.fchdir(0)
    print(os.getcwd(), os.listdir("."))
except OSError:
    pass
"""
    directory = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        done = subprocess.run([HOTCELL, "run", "-q", "--", "python3", "-c", script], stdin=directory, capture_output=True, timeout=PATIENCE_S)
    finally:
        os.close(directory)
    assert done.returncode in (0, 125), f"{done.returncode} {done.stderr.decode()[-300:]}"
    assert not done.stdout and b"opened" not in done.stderr, done.stdout + done.stderr


run(sys.modules[__name__])
