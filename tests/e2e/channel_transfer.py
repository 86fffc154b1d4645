"""Reading and writing files over the control channel."""
import errno
import hashlib
import os
import socket
import stat
import sys
import threading
import time

from harness.channel import ALL, RO, RW, Reader, Refused, Sandbox, Writer
from harness.tap import check, check_equal, run

if not os.access(os.environ["HOTCELL"], os.X_OK):
    sys.exit(77)

MIB = 1 << 20


def refused(function, code, about="path"):
    try:
        function()
    except Refused as error:
        check_equal((errno.errorcode[error.code], error.about), (errno.errorcode[code], about), error.text)
        return error
    raise AssertionError("was not refused")


def pattern(size, seed=1):
    block = hashlib.sha512(str(seed).encode()).digest() * 1024
    return (block * (size // len(block) + 1))[:size]


def test_there_and_back():
    with Sandbox() as box:
        for size in (0, 1, 100, 4095, 4096, 65537, 5 * MIB + 3):
            content = pattern(size)
            entry = box.write("f", content)
            check_equal((entry.size, entry.owner, stat.S_IMODE(entry.mode)), (size, "user", 0o644))
            check_equal(box.read("f"), content, size)
            check_equal(box.run("sha1sum < f").out.split()[0].decode(), hashlib.sha1(content).hexdigest())


def test_ranges():
    with Sandbox() as box:
        content = pattern(100000)
        box.write("f", content)
        for offset, length in [(0, 10), (5, 0), (99990, 100), (100000, 5), (200000, ALL), (1, 99998), (70000, ALL)]:
            check_equal(box.read("f", offset, length), content[offset:][:min(length, 1 << 30)], (offset, length))
        refused(lambda: box.read("f", 2**63), errno.EINVAL, "request")


def test_files_that_do_not_know_their_size():
    with Sandbox() as box:
        check(box.read("/proc/version").startswith(b"Linux version"), "/proc/version")
        check_equal(box.read("/proc/sys/kernel/hostname"), b"box\n")
        check(b"MemTotal" in box.read("/proc/meminfo"), "/proc/meminfo")
        check_equal(box.read("/proc/meminfo", 0, 3), b"Mem")
        check_equal(box.read("/etc/hostname"), b"box\n")


def test_every_file_of_proc_and_sys():
    with Sandbox() as box:
        sleeper = box.start(["sleep", "100"])
        for entry in box.list("/proc", 4) + box.list("/sys", 20):
            if not stat.S_ISREG(entry.mode) or entry.name in ("mem", "kmsg", "kcore"):
                continue
            try:
                box.read(entry.path)
            except Refused as error:
                check(error.code in (errno.EACCES, errno.EINVAL, errno.EIO, errno.ENOENT, errno.EPERM, errno.ESRCH),
                      f"{entry.path}: {error}")
        sleeper.signal(9)
        sleeper.exited()


def test_template_files():
    with Sandbox() as box:
        path = os.path.realpath("/bin/bash")
        with open(path, "rb") as file:
            content = file.read()
        check_equal(hashlib.sha1(box.read("/bin/bash")).hexdigest(), hashlib.sha1(content).hexdigest())
        box.write(path, b"mine")
        check_equal(box.read(path), b"mine")
        check(open(path, "rb").read() == content, "the host's file changed")


def test_what_cannot_be_read():
    with Sandbox() as box:
        box.run("mkfifo p; mkdir d; ln -s l2 l1; ln -s l1 l2")
        refused(lambda: box.read("missing"), errno.ENOENT)
        refused(lambda: box.read("d"), errno.EISDIR)
        refused(lambda: box.read("p"), errno.EINVAL)
        refused(lambda: box.read("/dev/zero"), errno.EINVAL)
        refused(lambda: box.read("l1"), errno.ELOOP)
        refused(lambda: box.read("x", user="nobody-here"), errno.ENOENT, "user")


def test_what_cannot_be_written():
    with Sandbox() as box:
        box.run("mkfifo p; mkdir d; touch file")
        for path, code in [("d", errno.EISDIR), ("p", errno.EINVAL), ("/dev/null", errno.EINVAL), ("file/x", errno.ENOTDIR),
                           ("/proc/version", errno.EACCES), ("/proc/sys/kernel/hostname", errno.EACCES),
                           ("x" * 300, errno.ENAMETOOLONG), ("", errno.EISDIR), ("~root/x", errno.EINVAL)]:
            refused(lambda: box.write(path, b"data"), code)


def test_descriptors_of_guests_are_not_written():
    with Sandbox() as box:
        read, write = os.pipe()
        with open("out", "wb") as out:
            out.write(b"precious")
            out.flush()
            request = box.spawn(["sleep", "100"], fds=[read, out.fileno(), out.fileno()])
        pid = box.expect(request, "SPAWNED").u32()
        refused(lambda: box.write(f"/proc/{pid}/fd/1", b"x"), errno.EACCES)
        check_equal(open("out", "rb").read(), b"precious")
        os.close(read)
        os.close(write)


def test_parents_and_owners():
    with Sandbox() as box:
        box.write("a/b/c.txt", b"x")
        check_equal([(e.name, e.owner, e.mode) for e in box.list("a", 2)],
                    [("b", "user", stat.S_IFDIR | 0o755), ("c.txt", "user", stat.S_IFREG | 0o644)])
        check_equal(box.write("/srv/deep/f", b"x", user="root").owner, "root")
        box.run("touch r; chmod 600 r", user="root", cwd="/tmp")
        entry = box.write("/tmp/r", b"now the user's")
        check_equal((entry.owner, stat.S_IMODE(entry.mode)), ("user", 0o600))
        box.run("ln -s made-by-link dangling")
        box.write("dangling", b"through")
        check_equal(box.read("made-by-link"), b"through")


def test_metadata_is_replaced():
    with Sandbox() as box:
        check_equal(box.write("f", b"1", {"a": "x", "b": "y"}).metadata, {"a": "x", "b": "y"})
        check_equal(box.stat("f").metadata, {"a": "x", "b": "y"})
        box.run(["python3", "-c", "import os; os.setxattr('f', 'user.mine', b'z')"])
        check_equal(box.write("f", b"2", {"c": ""}).metadata, {"c": ""})
        check_equal(box.write("f", b"3").metadata, {})
        check_equal(box.run(["python3", "-c", "import os; print(os.listxattr('f'))"]).out, b"['user.mine']\n")
        refused(lambda: box.write("f", b"", {"k" * 250: "v"}), errno.EINVAL)
        refused(lambda: box.write("f", b"", {"": "v"}), errno.EINVAL)
        refused(lambda: box.write("f", b"", {"k": "v" * 20000}), errno.E2BIG)


def test_disk_full():
    with Sandbox(limits={"disk": 8 * MIB}) as box:
        box.write("keep", b"k" * MIB)
        refused(lambda: box.write("big", (b"x" * MIB for _ in range(64))), errno.ENOSPC)
        check_equal(box.read("keep"), b"k" * MIB)
        check(6 * MIB <= box.stat("big").size <= 7 * MIB, box.stat("big").size)
        box.remove("big")
        check_equal(box.write("again", b"y" * MIB).size, MIB)


def test_cancel():
    with Sandbox() as box:
        box.write("f", pattern(4 * MIB))
        near, far = socket.socketpair()
        request = box.request("FS_READ", Writer().str("", "f").u64(0, ALL).data, [far.fileno()])
        far.close()
        box.expect(request, "FS_ENTRY")
        near.recv(1000)
        box.cancel(request)
        while near.recv(1 << 20):
            pass  # ends although not everything was sent
        check(box.silent(request), "an answer after CANCEL")
        near, far = socket.socketpair()
        request = box.request("FS_WRITE", Writer().str("", "g").pairs({}).data, [far.fileno()])
        far.close()
        near.send(b"part")
        while box.stat("g").size != 4:
            pass
        box.cancel(request)
        check_equal(near.recv(10), b"")
        check(box.silent(request), "an answer after CANCEL")
        check_equal(box.read("g"), b"part")


def test_a_peer_that_goes_away():
    with Sandbox() as box:
        box.write("f", pattern(4 * MIB))
        near, far = socket.socketpair()
        request = box.request("FS_READ", Writer().str("", "f").u64(0, ALL).data, [far.fileno()])
        far.close()
        near.close()
        box.expect(request, "FS_ENTRY")
        try:
            box.next(request)
            raise AssertionError("no error")
        except Refused as error:
            check(error.code in (errno.EPIPE, errno.ECONNRESET), error)


def test_pipes_do_as_well():
    with Sandbox() as box:
        content = pattern(MIB)
        box.write("f", content)
        read, write = os.pipe()
        request = box.request("FS_READ", Writer().str("", "f").u64(0, ALL).data, [write])
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            check_equal(pipe.read(), content)
        box.expect(request, "FS_ENTRY")
        box.expect(request, "DONE")
        for fd in (os.open("/dev/null", os.O_RDWR), os.open("/tmp", os.O_RDONLY)):
            request = box.request("FS_READ", Writer().str("", "f").u64(0, ALL).data, [fd])
            os.close(fd)
            refused(lambda: box.next(request), errno.EINVAL, "request")


def test_many_slow_transfers_and_a_limit():
    with Sandbox() as box:
        box.write("f", pattern(2 * MIB))
        pairs = []
        for _ in range(260):
            near, far = socket.socketpair()
            pairs.append((near, box.request("FS_READ", Writer().str("", "f").u64(0, ALL).data, [far.fileno()])))
            far.close()
        too_many = 0
        for near, request in pairs:
            try:
                box.expect(request, "FS_ENTRY")
            except Refused as error:
                check_equal((error.code, error.about), (errno.EAGAIN, "request"))
                too_many += 1
        check_equal(too_many, 4)
        check_equal(box.run("echo responsive").out, b"responsive\n")
        for near, request in pairs[:3]:
            total = 0
            while data := near.recv(1 << 20):
                total += len(data)
            check_equal(total, 2 * MIB)
        for near, request in pairs:
            near.close()


def test_guests_are_served_during_a_transfer():
    with Sandbox() as box:
        box.write("f", pattern(64 * MIB))
        near, far = socket.socketpair()
        box.request("FS_READ", Writer().str("", "f").u64(0, ALL).data, [far.fileno()])
        far.close()
        got = [0]

        def drain():
            while data := near.recv(1 << 20):
                got[0] += len(data)
        thread = threading.Thread(target=drain)
        thread.start()
        check_equal(box.run(["python3", "-c", "import os\nfor i in range(1000): os.stat('/')\nprint('ok')"]).out, b"ok\n")
        thread.join(20)
        check_equal(got[0], 64 * MIB)


def test_host_directories():
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        with open(folder + "/f", "w") as file:
            file.write("host")
        os.chmod(folder + "/f", 0o666)
        with Sandbox(mounts=[(RW, "/mnt/rw", "", folder), (RO, "/mnt/ro", "", folder)]) as box:
            check_equal(box.read("/mnt/ro/f"), b"host")
            refused(lambda: box.write("/mnt/ro/f", b"x"), errno.EROFS)
            box.write("/mnt/rw/f", b"changed")
            box.write("/mnt/rw/new/g", b"made")
        check_equal(open(folder + "/f").read(), "changed")
        check_equal(open(folder + "/new/g").read(), "made")


run(sys.modules[__name__])
