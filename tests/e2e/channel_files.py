"""Files over the control channel: entries, lists, directories, moves, removals."""
import errno
import os
import stat
import sys
import time

from harness.channel import DPKG, RO, RW, Refused, Sandbox, Writer
from harness.tap import PATIENCE_S, check, check_equal, run

if not os.access(os.environ["HOTCELL"], os.X_OK):
    sys.exit(77)

OTHER, FILE, DIRECTORY = 0, 1, 2


def refused(function, code, about="path"):
    try:
        function()
    except Refused as error:
        check_equal((errno.errorcode[error.code], error.about), (errno.errorcode[code], about), error.text)
        return error
    raise AssertionError("was not refused")


def test_stat():
    with Sandbox() as box:
        box.run("printf hello > f; chmod 640 f; touch -d @1700000000.25 f; mkdir d; chmod 2751 d")
        entry = box.stat("f")
        check_equal((entry.type, stat.S_IMODE(entry.mode), entry.size), (FILE, 0o640, 5))
        check_equal((entry.name, entry.path), ("f", "/home/user/f"))
        check_equal((entry.uid, entry.gid, entry.owner, entry.group), (1000, 1000, "user", "user"))
        check_equal((entry.mtime_ns, entry.target, entry.metadata), (1700000000_250000000, "", {}))
        entry = box.stat("d")
        check_equal((entry.type, entry.mode), (DIRECTORY, stat.S_IFDIR | 0o2751))
        check_equal(box.stat("/").name, "/")
        check_equal(box.stat("/dev/null").type, OTHER)
        check_equal(box.stat("/etc/passwd").owner, "root")
        refused(lambda: box.stat("missing"), errno.ENOENT)
        refused(lambda: box.stat("f/x"), errno.ENOTDIR)
        refused(lambda: box.stat("f", user="nobody-here"), errno.ENOENT, "user")
        refused(lambda: box.stat("a" * 5000), errno.ENAMETOOLONG)
        refused(lambda: box.stat("a" * 300), errno.ENAMETOOLONG)


def test_what_a_path_means():
    with Sandbox() as box:
        box.run("mkdir -p a/b; touch a/b/c")
        box.run("touch r", user="root")
        for path, want in [("", "/home/user"), ("~", "/home/user"), ("~/a", "/home/user/a"), ("a/b/", "/home/user/a/b"),
                           ("a/../a/./b//c", "/home/user/a/b/c"), ("/home/user/a", "/home/user/a"),
                           ("/home//user/../user/a/", "/home/user/a"), ("../../..", "/"), ("/..", "/")]:
            check_equal(box.stat(path).path, want, path)
        check_equal(box.stat("r", user="root").path, "/root/r")
        check_equal(box.stat("~", user="root").path, "/root")
        refused(lambda: box.stat("~root/r"), errno.EINVAL)
        refused(lambda: box.stat("~user"), errno.EINVAL)


def test_links():
    with Sandbox() as box:
        box.run("mkdir d; echo 12345678 > d/f; chmod 600 d/f; ln -s d/f to-file; ln -s d to-dir; ln -s nowhere dangling;"
                "ln -s loop2 loop1; ln -s loop1 loop2; ln -s to-dir/f twice")
        entry = box.stat("to-file")
        check(stat.S_ISLNK(entry.mode), entry)
        check_equal((entry.type, entry.target_mode, entry.target), (FILE, 0o100600, "/home/user/d/f"))
        check_equal(entry.size, 3)
        check_equal((box.stat("to-dir").type, box.stat("to-dir").target), (DIRECTORY, "/home/user/d"))
        check_equal(box.stat("twice").target, "/home/user/d/f")
        for name in ("dangling", "loop1"):
            entry = box.stat(name)
            check_equal((entry.type, entry.target_mode, entry.target), (OTHER, 0, "/home/user/" + name))
        check_equal(box.stat("/bin").target, "/usr/bin")


def test_owners_without_a_name():
    with Sandbox() as box:
        box.run("touch f; chown 4711:4712 f", user="root", cwd="/tmp")
        entry = box.stat("/tmp/f")
        check_equal((entry.owner, entry.group), ("4711", "4712"))


def test_metadata():
    with Sandbox() as box:
        box.run(["python3", "-c", "import os; open('f', 'w')\n"
                 "for k, v in {'user.e2b.a': b'1', 'user.e2b.b': b'two', 'user.other': b'3', 'user.e2b.nul': b'a\\0b'}.items():\n"
                 " os.setxattr('f', k, v)"])
        check_equal(box.stat("f").metadata, {"a": "1", "b": "two"})
        # Hostile amounts are cut, not refused.
        box.run(["python3", "-c", "import os; open('g', 'w')\nfor i in range(200): os.setxattr('g', f'user.e2b.{i}', b'v' * 100)"])
        check_equal(len(box.stat("g").metadata), 64)
        box.run(["python3", "-c", "import os; open('h', 'w'); os.setxattr('h', 'user.e2b.big', b'v' * 60000);"
                 "os.setxattr('h', 'user.e2b.small', b'v')"])
        check_equal(box.stat("h").metadata, {"small": "v"})


def names(entries):
    return [e.path.removeprefix("/home/user/") for e in entries]


def test_list():
    with Sandbox() as box:
        box.run("mkdir -p t/b/x t/a; touch t/z t/a/1 t/b/x/deep t/B t/a-; ln -s b t/link; ln -s t root-link; touch file")
        check_equal(names(box.list("t")), ["t/B", "t/a", "t/a-", "t/b", "t/link", "t/z"])
        check_equal(names(box.list("t", 2)), ["t/B", "t/a", "t/a/1", "t/a-", "t/b", "t/b/x", "t/link", "t/z"])
        check_equal(names(box.list("t", 2**32 - 1))[5:7], ["t/b/x", "t/b/x/deep"])
        check_equal(names(box.list("root-link", 2))[:3], ["root-link/B", "root-link/a", "root-link/a/1"])
        check_equal(box.list("t/b/x/"), box.list("t/b/x"))
        check_equal(box.list("t/a", 0)[0].name, "1")
        check_equal(box.list("/")[0].path, "/bin")
        check_equal([e for e in box.list("/", 2) if e.path == "/proc/self"][0].type, OTHER)
        box.run("mkdir empty; ln -s l2 l1; ln -s l1 l2")
        check_equal(box.list("empty"), [])
        refused(lambda: box.list("missing"), errno.ENOENT)
        refused(lambda: box.list("file"), errno.ENOTDIR)
        refused(lambda: box.list("l1"), errno.ELOOP)


def test_list_of_very_many():
    with Sandbox() as box:
        box.run(["python3", "-c", "import os; os.mkdir('m')\nfor i in range(20000): open(f'm/{i}', 'w').close()"], timeout=PATIENCE_S)
        found = [e.name for e in box.list("m")]
        check_equal(found, sorted(str(i) for i in range(20000)))


def test_list_can_be_cancelled():
    with Sandbox() as box:
        request = box.request("FS_LIST", Writer().str("", "/usr").u32(20).data)
        box.next(request)
        box.cancel(request)
        box.stat("/")  # what was under way has arrived
        while any(m.request == request for m in box.channel.waiting):
            box.channel.wait(lambda m: m.request == request)
        check(box.silent(request), "the list goes on")


def test_a_slow_reader_does_not_fill_the_kernel():
    with Sandbox() as box:
        requests = [box.request("FS_LIST", Writer().str("", "/usr").u32(30).data) for _ in range(8)]
        done = box.run("echo responsive")  # its answers come between those of the lists
        check_equal(done.out, b"responsive\n")
        for request in requests:
            box.cancel(request)


def test_too_many_lists():
    with Sandbox() as box:
        requests = [box.request("FS_LIST", Writer().str("", "/usr").u32(30).data) for _ in range(70)]
        refused(lambda: [box.next(r) for r in requests], errno.EAGAIN)
        for request in requests:
            box.cancel(request)
        check_equal(box.stat("/").type, DIRECTORY)


def test_guests_are_served_while_a_list_is_made():
    with Sandbox() as box:
        process = box.start(["python3", "-c", "import os, sys\nsys.stdin.readline()\nfor i in range(2000): os.stat('/')\nprint('done')"])
        request = box.request("FS_LIST", Writer().str("", "/usr").u32(30).data)
        os.write(process.stdin, b"\n")
        process.wait_for(b"done")
        box.cancel(request)


def test_make_dir():
    with Sandbox() as box:
        entry = box.make_dir("a/b/c")
        check_equal((entry.path, entry.mode, entry.owner), ("/home/user/a/b/c", stat.S_IFDIR | 0o755, "user"))
        check_equal((box.stat("a").mode, box.stat("a").owner, box.stat("a").group), (stat.S_IFDIR | 0o755, "user", "user"))
        refused(lambda: box.make_dir("a/b"), errno.EEXIST)
        box.run("touch file; ln -s nowhere dangling; ln -s a link")
        refused(lambda: box.make_dir("file"), errno.ENOTDIR)
        refused(lambda: box.make_dir("file/x"), errno.ENOTDIR)
        refused(lambda: box.make_dir("dangling/x"), errno.ENOTDIR)
        refused(lambda: box.make_dir("link"), errno.EEXIST)
        refused(lambda: box.make_dir("x" * 256 + "/y"), errno.ENAMETOOLONG)
        check_equal(box.make_dir("link/through").path, "/home/user/link/through")
        check_equal(box.stat("a/through").owner, "user")
        check_equal(box.make_dir("/srv/new/x", user="root").owner, "root")
        check_equal(box.make_dir("/srv/new/y").owner, "user")
        refused(lambda: box.make_dir("/proc/x"), errno.EPERM)


def test_move():
    with Sandbox() as box:
        box.run("echo one > f; mkdir d; touch d/x; echo two > g")
        entry = box.move("f", "new/deep/f2")
        check_equal((entry.path, entry.size, box.stat("new").owner), ("/home/user/new/deep/f2", 4, "user"))
        refused(lambda: box.stat("f"), errno.ENOENT)
        box.move("g", "new/deep/f2")
        check_equal(box.run("cat new/deep/f2").out, b"two\n")
        check_equal(box.move("d", "e").type, DIRECTORY)
        box.stat("e/x")
        refused(lambda: box.move("missing", "somewhere"), errno.ENOENT)
        refused(lambda: box.move("e", "e/below"), errno.EINVAL)
        refused(lambda: box.move("new", "e"), errno.ENOTEMPTY)
        refused(lambda: box.move("/", "e"), errno.EBUSY)
        refused(lambda: box.move("e", "~root/x"), errno.EINVAL)


def test_remove():
    with Sandbox() as box:
        box.run("mkdir -p t/a/b/c t/empty; touch t/f t/a/b/g; ln -s /etc t/link; touch single; chmod 0 t/a")
        box.remove("t")
        refused(lambda: box.stat("t"), errno.ENOENT)
        box.stat("/etc/passwd")
        box.remove("t")
        box.remove("missing/deep/down")
        box.remove("single")
        box.run("ln -s keep link; mkdir keep; touch keep/me")
        box.remove("link")
        box.stat("keep/me")
        refused(lambda: box.remove("/"), errno.EBUSY)
        refused(lambda: box.remove("/proc"), errno.EBUSY)
        refused(lambda: box.remove("keep/me/x"), errno.ENOTDIR)


def test_remove_a_deep_and_wide_tree():
    with Sandbox() as box:
        box.run(["python3", "-c", "import os\nos.mkdir('t'); os.chdir('t')\n"
                 "for i in range(1500): os.mkdir('d'); open('f', 'w').close(); os.chdir('d')\n"
                 "for i in range(5000): open(str(i), 'w').close()"], timeout=PATIENCE_S)
        before = box.stats()["inodes"]
        box.remove("t")
        refused(lambda: box.stat("t"), errno.ENOENT)
        check_equal(before - box.stats()["inodes"], 1 + 1500 * 2 + 5000)


def test_remove_while_a_guest_adds():
    with Sandbox() as box:
        adder = box.start(["python3", "-c", "import os\nos.mkdir('t'); print('up', flush=True); i = 0\n"
                           "while os.path.isdir('t'):\n try: open(f't/{i}', 'w').close(); i += 1\n except OSError: pass"])
        adder.wait_for(b"up")
        for _ in range(100):
            try:
                box.remove("t")
                break
            except Refused as error:
                check_equal(error.code, errno.ENOTEMPTY)
        check_equal(adder.finish().status, 0)


def test_read_only_mounts_stay():
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        os.makedirs(folder + "/d")
        open(folder + "/d/f", "w").close()
        os.mkdir(folder + "/z", 0)  # readable for nobody but the host's root
        os.mkdir(folder + "/zz")
        with Sandbox(mounts=[(RO, "/mnt/ro", "", folder)]) as box:
            refused(lambda: box.remove("/mnt/ro/d"), errno.EROFS)
            refused(lambda: box.make_dir("/mnt/ro/x"), errno.EROFS)
            refused(lambda: box.move("/mnt/ro/d", "/mnt/ro/e"), errno.EROFS)
            check_equal([e.name for e in box.list("/mnt/ro", 2)], ["d", "f", "z", "zz"])
            refused(lambda: box.list("/mnt/ro/z"), errno.EACCES)
            box.watch("/mnt/ro", recursive=True)
            check_equal(box.run("mkdir /tmp/t; touch /tmp/t/a").status, 0)
            refused(lambda: box.move("/mnt/ro/d", "/tmp/t/d"), errno.EXDEV)
        check(os.path.exists(folder + "/d/f"), "a read-only file is gone")


def test_requests_that_make_no_sense_end_the_sandbox():
    for body in (b"", Writer().str("", "x").data + b"\0", b"\xff" * 12):
        with Sandbox() as box:
            box.request("FS_STAT", body)
            died = box.channel.wait(lambda m: m.type == "DIED")
            check(b"malformed" in died.body, died.body)


run(sys.modules[__name__])
