"""SAVE and LOAD over the control channel: images of a sandbox's files."""
import errno
import os
import socket
import struct
import sys
import threading

from harness.channel import COW, TMPFS, Gone, Refused, Sandbox, Writer
from harness.tap import check, check_equal, run

if not os.access(os.environ["HOTCELL"], os.X_OK):
    sys.exit(77)

MIB = 1 << 20


def refused(function, code):
    try:
        function()
    except Refused as error:
        check_equal((errno.errorcode[error.code], error.about), (errno.errorcode[code], "request"), error.text)
        return error
    raise AssertionError("was not refused")


def output(box, command, user="root"):
    done = box.run(command, user=user, timeout=60)
    check_equal(done.status, 0, done.err.decode())
    return done.out.decode()


# What can be told of every file of the sandbox that is not the template's, unchanged.
CENSUS = r"""
import hashlib, os, stat
skip = {'/proc', '/sys', '/dev/pts', '/usr'}
links = {}
def content(path):
    try:
        return hashlib.sha1(open(path, 'rb').read()).hexdigest()
    except PermissionError:  # of the host's, which even root inside may not read
        return 'unreadable'
def tell(path):
    s = os.lstat(path)
    row = [path, oct(s.st_mode), s.st_uid, s.st_gid, s.st_nlink, s.st_mtime_ns, s.st_rdev]
    if not stat.S_ISDIR(s.st_mode):
        row += [s.st_size, links.setdefault((s.st_dev, s.st_ino), path)]
    if stat.S_ISREG(s.st_mode):
        row += [content(path), s.st_blocks > s.st_size // 1024]
    if stat.S_ISLNK(s.st_mode):
        row += [os.readlink(path)]
    else:
        row += [(n, os.getxattr(path, n)) for n in sorted(os.listxattr(path))]
    print(*row)
def walk(path):
    tell(path)
    for name in sorted(os.listdir(path)):
        child = path.rstrip('/') + '/' + name
        if child in skip:
            continue
        if os.path.isdir(child) and not os.path.islink(child):
            walk(child)
        else:
            tell(child)
walk('/')
for path in CHANGED:
    if os.path.isdir(path) and not os.path.islink(path):
        walk(path)
    elif os.path.lexists(path):
        tell(path)
    else:
        print(path, 'is not there')
"""


def census(box, changed=()):
    return output(box, ["python3", "-B", "-c", f"CHANGED = {list(changed)!r}\n{CENSUS}"]).splitlines()


def check_same(before, after):
    check_equal([row for row in before if row not in after], [], "lost or changed")
    check_equal([row for row in after if row not in before], [], "new")


def copy_of(box, changed=(), **options):
    """A second sandbox with the files of the first; both are told to have the same."""
    before = census(box, changed)
    image = box.save()
    check_same(before, census(box, changed))
    copy = Sandbox(**options)
    copy.load(image)
    check_same(before, census(copy, changed))
    return copy


def test_nothing_was_changed():
    with Sandbox() as box, copy_of(box):
        pass


EVERYTHING = r"""
set -e
cd /home/user
echo small > small; head -c 100000 /dev/urandom > large; : > empty
printf 'x%.0s' $(seq 2048) > inline-limit; printf 'x%.0s' $(seq 2049) > store-limit
mkdir -p a/b/c/'with space'; echo deep > a/b/c/'with space'/$'new\nline'
mkdir closed; chmod 000 closed; chmod 4755 small; chown 7:8 large
ln -s ../nowhere dangling; ln -s /usr/bin absolute
ln large hard; mkdir other; ln large other/harder; ln small a/small
mkfifo -m 640 pipe; mknod null c 1 3; mknod block b 7 1
python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('socket')"
truncate -s 50M sparse; echo end >> sparse
python3 -c "
import os
os.setxattr('small', 'user.e2b.key', b'value'); os.setxattr('a', 'user.dir', b'')
os.setxattr('large', 'user.with/slash', b'1' * 60000)
import mmap
with open('mapped', 'w+b') as f:
    f.truncate(70000)
    m = mmap.mmap(f.fileno(), 70000)
    m[69990:70000] = b'0123456789'
"
touch -d '1999-12-31 23:59:59.123456789' large a/b empty; touch -h -d '2001-01-01' dangling
rm -r /root/.profile; rmdir /srv; echo file > /srv; mv /var/log /var/protocol
echo x > /tmp/x; echo shm > /dev/shm/y; mknod /dev/mine c 1 5; echo 'user2:x:2000:2000::/:/bin/sh' >> /etc/passwd
"""

# Of the template: removed, changed, renamed, only its attributes changed; a directory of each kind.
TEMPLATE = r"""
set -e
rm /usr/bin/yes; echo ours > /usr/bin/tac; chmod 700 /usr/bin/nl; mv /usr/bin/od /usr/bin/od2
chown 5:6 /usr/share/doc; mv /usr/share/zoneinfo /usr/share/zones; rm -r /usr/share/man
mkdir /usr/share/man; echo new > /usr/share/man/page; ln /usr/bin/wc /usr/bin/wc2; ln -s wc2 /usr/bin/wc3
python3 -c "import os; os.setxattr('/usr/bin/nl', 'user.x', b'y')"
rm /etc/ld.so.conf; chmod 600 /etc/ssl
"""
CHANGED = ["/usr/bin/yes", "/usr/bin/tac", "/usr/bin/nl", "/usr/bin/od", "/usr/bin/od2", "/usr/share/zoneinfo",
           "/usr/share/zones", "/usr/share/man", "/usr/bin/wc", "/usr/bin/wc2", "/usr/bin/wc3"]


def test_everything_comes_back():
    with Sandbox() as box:
        output(box, EVERYTHING)
        with copy_of(box) as copy:
            check_equal(output(copy, "tail -c 10 ~user/mapped; stat -c %b ~user/sparse"), "01234567898\n")
            check_equal(copy.stat("/home/user/small").metadata, {"key": "value"})
            with copy_of(copy):  # and once more
                pass


def test_the_template_below():
    with Sandbox() as box:
        output(box, TEMPLATE)
        with copy_of(box, CHANGED) as copy:
            check_equal(output(copy, "/usr/bin/od2 -An -c <<< x; ls /usr/share/man; cat /usr/bin/tac"),
                        "   x  \\n\npage\nours\n")
            check(int(output(copy, "ls /usr/share/zones | wc -l")) > 10, "a renamed directory is empty")
            with copy_of(copy, CHANGED):
                pass


def test_both_go_their_own_way():
    with Sandbox() as box:
        output(box, "echo first > /tmp/f; head -c 100000 /dev/zero > /tmp/g")
        with copy_of(box) as copy:
            output(copy, "echo second > /tmp/f; echo more >> /tmp/g; rm /usr/bin/yes")
            check_equal(output(box, "cat /tmp/f; stat -c %s /tmp/g; ls /usr/bin/yes"), "first\n100000\n/usr/bin/yes\n")


def test_mounts_of_its_own():
    import tempfile
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        for name in ("kept", "changed", "removed"):
            with open(f"{place}/{name}", "w") as file:
                file.write(name)
        mounts = [(COW, "/work", "", place), (TMPFS, "/scratch", "", None)]
        with Sandbox(mounts=mounts) as box:
            output(box, "cd /work; echo x >> changed; rm removed; echo y > new; echo z > /scratch/file")
            image = box.save()
            script = "cd /work; tail -n1 /scratch/file kept changed new 2>&1; ls"
            want = output(box, script)
            with Sandbox(mounts=mounts) as copy:
                copy.load(image)
                check_equal(output(copy, script), want)
            with Sandbox() as plain:  # what is mounted nowhere is left out
                plain.load(image)
                check_equal(output(plain, "ls /work; ls -d /scratch"), "/scratch\n")


def test_processes_go_on():
    """They stand while the image is taken, and miss nothing."""
    with Sandbox() as box:
        count = box.start(["python3", "-u", "-c", "import os\nn = 0\nwhile True:\n n += 1\n"
                           " open('n', 'w').write(str(n))\n os.rename('n', 'm')\n if n % 100 == 0: print(n)"])
        count.wait_for(b"100\n")
        for _ in range(5):
            with Sandbox() as copy:
                copy.load(box.save())
                check(int(output(copy, "cat /home/user/m")) >= 99, "the file of a moment")
                check("-u" not in " ".join(p.command for p in copy.processes()), "programs run in a copy")
        before = int(box.read("m"))
        while int(box.read("m")) <= before:
            pass
        check(box.run("exit 3").status, 3)


def test_a_frozen_one_stays_frozen():
    with Sandbox() as box:
        running = box.start(["/bin/sh", "-c", "echo up; read x; echo $x"])
        running.wait_for(b"up\n")
        output(box, "echo here > /tmp/f")
        box.call("FREEZE")
        with Sandbox() as copy:
            copy.load(box.save())
            check_equal(output(copy, "cat /tmp/f"), "here\n")
        with open("/dev/null", "r+b") as null:
            started = box.spawn(["/bin/true"], fds=[null.fileno()] * 3)  # waits for the thaw
        check(box.silent(started), "it runs")
        box.call("THAW")
        box.expect(started, "SPAWNED")
        box.expect(started, "EXITED")
        os.write(running.stdin, b"on\n")
        check_equal(running.finish().out, b"up\non\n")


def test_other_requests_wait():
    """A save whose reader is slow: transfers and requests stand, and go on afterwards."""
    with Sandbox() as box:
        output(box, "head -c 8000000 /dev/urandom > /tmp/big")
        near, far = socket.socketpair()
        upload, upload_far = socket.socketpair()
        write = box.request("FS_WRITE", Writer().str("root", "/tmp/upload").pairs({}).data, [upload_far.fileno()])
        upload.sendall(b"a" * 1000)
        while box.stat("/tmp/upload").size < 1000:
            pass
        save = box.request("SAVE", b"", [far.fileno()])
        far.close()
        upload_far.close()
        upload.sendall(b"b" * 1000)
        upload.close()
        stat = box.request("FS_STAT", Writer().str("", "/tmp/upload").data)
        check(box.silent(stat) and box.silent(write), "they do not wait")
        pieces = []
        with near:
            while data := near.recv(1 << 18):
                pieces.append(data)
        box.expect(save, "DONE")
        box.expect(stat, "FS_ENTRY")
        check_equal(box.expect(write, "FS_ENTRY").entry().size, 2000)
        with Sandbox() as copy:
            copy.load(b"".join(pieces))
            check_equal(copy.stat("/tmp/upload").size, 1000, "as when the save began")


def test_a_reader_that_goes_away():
    with Sandbox() as box:
        output(box, "head -c 8000000 /dev/urandom > /tmp/big")
        near, far = socket.socketpair()
        save = box.request("SAVE", b"", [far.fileno()])
        far.close()
        near.recv(1000)
        near.close()
        refused(lambda: box.next(save), errno.EPIPE)
        check_equal(output(box, "echo goes on"), "goes on\n")
        check(len(box.save()) > 8000000, "the next one is whole")


def test_only_before_anything_runs():
    with Sandbox() as box:
        image = box.save()
        box.load(image)
        output(box, "true")
        check("have run" in refused(lambda: box.load(image), errno.EBUSY).text, "why")
        check_equal(output(box, "echo goes on"), "goes on\n")


def test_limits_hold():
    with Sandbox() as box:
        output(box, "head -c 3000000 /dev/urandom > /tmp/big; mkdir /tmp/d; cd /tmp/d; seq 500 | xargs touch")
        image = box.save()
    for limits in ({"disk": 2 * MIB}, {"inodes": 300}):
        with Sandbox(limits=limits) as small:
            check("disk limit" in refused(lambda: small.load(image), errno.ENOSPC).text, limits)
            ended(small)
    with Sandbox(limits={"disk": 4 * MIB, "inodes": 1000}) as fits:
        fits.load(image)
        check_equal(output(fits, "stat -c %s /tmp/big; ls /tmp/d | wc -l"), "3000000\n500\n")
        check(fits.stats()["inodes"] > 500, "files of an image are charged")
        check(fits.run("head -c 3000000 /dev/zero > /tmp/more", user="root").status != 0, "and their bytes")


def ended(box):
    """The sandbox is gone, with its reason."""
    try:
        while True:
            box.channel.wait(lambda m: False)
    except (Gone, ConnectionResetError):
        pass


# ---- hostile images ----

BEGIN, MOUNT, NODE, LINK, WHITEOUT, GRAFT, XATTR, DATA, UP, END = range(1, 11)
MAGIC = 0x6c6c6563746f68


def record(type, body=b""):
    return struct.pack("<II", type, len(body)) + body


def begin(version=1):
    return record(BEGIN, Writer().u64(MAGIC).u32(version).data)


def mount(path="/"):
    return record(MOUNT, Writer().str(path).data)


def node(name, mode, root=0, path="", link=0, size=0, nlink=1, rdev=0):
    body = Writer().str(name).u32(mode, 0, 0, nlink, rdev).u64(size, 0, 0, 0, 0)
    return record(NODE, body.u32(link, root).str(path).data)


def link(name, number):
    return record(LINK, Writer().str(name).u32(number).data)


def data(offset, content, length=None):
    return record(DATA, Writer().u64(offset).u32(len(content) if length is None else length).data + content)


def xattr(name, value):
    return record(XATTR, Writer().str(name).u32(len(value)).data + value)


DIR, FILE, SYMLINK, CHAR = 0o40755, 0o100644, 0o120777, 0o20666
ROOT = mount() + node("", DIR)


def whole(*records, count=None):
    """An image with this content of the root directory."""
    body = begin() + ROOT + b"".join(records) + record(UP)
    return body + record(END, Writer().u64(3 + len(records) + 1 if count is None else count).data)


HOSTILE = {
    "nothing": b"",
    "not an image": b"x" * 100,
    "no begin": ROOT + record(UP) + record(END, Writer().u64(3).data),
    "two beginnings": begin() + begin(),
    "another version": begin(2),
    "another magic": record(BEGIN, Writer().u64(MAGIC + 1).u32(1).data),
    "an unknown record": begin() + record(11),
    "record 0": begin() + record(0),
    "a huge record": begin() + struct.pack("<II", DATA, 0xffffffff),
    "a body too long": begin() + record(UP, b"x"),
    "a body too short": begin() + record(MOUNT, b"\1\0\0\0"),
    "a string without its end": begin() + record(MOUNT, struct.pack("<I", 1) + b"/x"),
    "content without a mount": begin() + node("x", FILE),
    "a root that is a file": begin() + mount() + node("", FILE),
    "a root with a name": begin() + mount() + node("x", DIR),
    "no root": begin() + mount() + record(UP),
    "the same mount twice": begin() + ROOT + record(UP) + ROOT,
    "a mount inside": begin() + ROOT + mount("/dev/shm"),
    "up from the top": begin() + ROOT + record(UP) + record(UP),
    "an end inside": begin() + ROOT + record(END, Writer().u64(3).data),
    "a wrong count": whole(count=99),
    "something after the end": whole() + b"x",
    "no end": whole()[:-16],
    "a name with a slash": whole(node("a/b", FILE)),
    "a name of dots": whole(node("..", DIR), record(UP)),
    "a name of a dot": whole(node(".", DIR), record(UP)),
    "an empty name": whole(node("", FILE)),
    "a long name": whole(node("x" * 256, FILE)),
    "a name twice": whole(node("x", FILE), node("x", FILE)),
    "a whiteout with dots": whole(record(WHITEOUT, Writer().str("..").data)),
    "no type": whole(node("x", 0o644)),
    "two types": whole(node("x", 0o170644)),
    "more bits": whole(node("x", 0o100644 | 1 << 20)),
    "a link without a target": whole(node("x", SYMLINK)),
    "a file with a target": whole(node("x", FILE, path="/etc/shadow")),
    "a link to itself": whole(link("x", 1)),
    "a link number too high": whole(node("x", FILE, link=2)),
    "a directory with links": whole(node("x", DIR, link=1)),
    "an unknown link": whole(node("x", FILE, link=1), link("y", 2)),
    "link 0": whole(node("x", FILE, link=1), link("y", 0)),
    "data of a directory": whole(data(0, b"x")),
    "data of a symlink": whole(node("x", SYMLINK, path="y"), data(0, b"x")),
    "data beyond the size": whole(node("x", FILE, size=4), data(2, b"xyz")),
    "data at the end of numbers": whole(node("x", FILE, size=4), data(2**64 - 1, b"x")),
    "data of another length": whole(node("x", FILE, size=100), data(0, b"x", 99)),
    "too much data": begin() + ROOT + node("x", FILE, size=1 << 20) + data(0, b"x" * 65537),
    "a file that is too big": whole(node("x", FILE, size=2**63)),
    "an attribute of nobody's": whole(node("x", FILE), xattr("system.posix_acl_access", b"x")),
    "an attribute without a name": whole(node("x", FILE), xattr("", b"x")),
    "user attributes of a link": whole(node("x", SYMLINK, path="y"), xattr("user.x", b"x")),
    "too many attributes": whole(node("x", FILE), *[xattr(f"user.{i}", b"x" * 60000) for i in range(3)]),
}


def test_hostile_images():
    for name, image in HOSTILE.items():
        with Sandbox() as box:
            try:
                box.load(image)
                raise AssertionError(f"{name}: was taken")
            except Refused as error:
                check(error.code in (errno.EPROTO, errno.EFBIG, errno.ENOSPC), f"{name}: {error}")
            ended(box)


def test_the_host_is_not_shown():
    """References to the template cannot lead out of what the sandbox shows anyway."""
    with Sandbox() as box:
        probe = box.save()
    # Numbers of the host's directories: /usr is the first mount, then /etc, /var/lib/dpkg ...
    check(b"ld.so.cache" in probe, "grafts are in the image")
    for root in range(0, 12):
        for path in ("shadow", "passwd", "../etc/shadow", "/etc/shadow", "..", ".", "a//b", "hostname", ""):
            for kind in (FILE, DIR):
                content = [node("x", kind, root, path)] + ([record(UP)] if kind == DIR else [])
                with Sandbox() as box:
                    try:
                        box.load(whole(*content))
                    except Refused as error:
                        check_equal(error.code, errno.EPROTO, f"{root}:{path}")
                        ended(box)
                        continue
                    # Number 0 is no reference: an empty file or directory.
                    check(not root and not path, f"{root}:{path} was taken")
                    entry = box.stat("/x", "0")
                    check_equal(box.list("/x", user="0") if kind == DIR else entry.size, [] if kind == DIR else 0)


def test_a_graft_that_is_none():
    with Sandbox() as box:
        box.load(whole(record(GRAFT, Writer().str("shadow").u32(2).str("shadow").data),
                       record(GRAFT, Writer().str("passwd").u32(1).str("../passwd").data)))
        check_equal(box.stats()["processes_total"], 1)
        check_equal([e.name for e in box.list("/", user="0")], [])


def test_what_the_image_leaves_out_is_gone():
    """An image of nothing: no program is left that could run, but what is mounted can still be seen."""
    with Sandbox() as box:
        box.load(whole())
        check_equal(box.list("/", user="0"), [])
        check(box.stat("/usr/bin/env", "0").size > 0 and box.stat("/proc/version", "0"), "mounts")
        box.write("/new", b"x", user="0")
        check_equal([e.name for e in box.list("/", user="0")], ["new"])


def test_devices_are_no_way_out():
    """Device files of an image are those a guest's root could make: most do not open."""
    nodes = [node(f"d{major}.{minor}", CHAR, rdev=major << 8 | minor) for major, minor in ((1, 1), (1, 3), (10, 229))]
    keep = [node("usr", DIR), record(UP), node("bin", SYMLINK, path="usr/bin"), node("lib", SYMLINK, path="usr/lib"),
            node("lib64", SYMLINK, path="usr/lib64")]
    with Sandbox() as box:
        box.load(whole(*keep, *nodes))
        check_equal(box.run("cat /d1.3; for d in /d1.1 /d10.229; do (: < $d) 2>/dev/null || echo no; done",
                            cwd="/", user="0").out, b"no\nno\n")


def test_malformed_requests():
    for type in ("SAVE", "LOAD"):
        for body, fds in ((b"", 0), (b"x", 1), (b"", 2)):
            with Sandbox() as box:
                with open("/dev/null") as null:
                    box.request(type, body, [null.fileno()] * fds)
                ended(box)
        with Sandbox() as box, open("/etc/passwd") as file:
            refused(lambda: box.call(type, b"", fds=[file.fileno()]), errno.EINVAL)
            check_equal(output(box, "echo goes on"), "goes on\n")


def test_one_byte_at_a_time():
    with Sandbox() as box:
        output(box, "echo slow > /tmp/f")
        image = box.save()
    near, far = socket.socketpair()
    with Sandbox() as box:
        request = box.request("LOAD", b"", [far.fileno()])
        far.close()
        for at in range(0, 3000):
            near.send(image[at:at + 1])
        near.sendall(image[3000:])
        box.expect(request, "DONE")
        near.close()
        check_equal(output(box, "cat /tmp/f"), "slow\n")


def test_deep_and_wide():
    with Sandbox() as box:
        output(box, ["python3", "-c", "import os\nos.chdir('/tmp')\nfor i in range(3000):\n"
                     " os.mkdir('d')\n os.chdir('d')\nopen('bottom', 'w').write('x')\nos.chdir('/tmp')\n"
                     "os.mkdir('w')\nfor i in range(20000): os.symlink(str(i), f'w/{i}')"])
        image = box.save()
        with Sandbox() as copy:
            copy.load(image)
            check_equal(output(copy, ["python3", "-c", "import os\nos.chdir('/tmp')\nn = 0\n"
                                      "while os.path.isdir('d'):\n os.chdir('d'); n += 1\n"
                                      "print(n, open('bottom').read(), len(os.listdir('/tmp/w')))"]), "3000 x 20000\n")


run(sys.modules["__main__"])
