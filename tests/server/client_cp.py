"""`hotcell cp`: files and directories in both directions, and names that mean harm."""
import json
import os
import stat
import sys

from harness import client, process, tap
from harness.client import HOTCELL, Client, Liar, answer
from harness.tap import PATIENCE_S, check, check_equal

ODD = ("plain", "with space", "ümläut", "new\nline", "-rf", "%2e%2e", "a:b", "q?x=1&y#z", "*", "..x")
KEY = "e2b_" + "0" * 40


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def test_files():
    with Client(pool=0) as c, process.CleanDirectory() as here:
        id = c.create()
        data = os.urandom(5 << 20)
        source, back = os.path.join(here, "source"), os.path.join(here, "back")
        for content in (b"", b"x", data):
            write(source, content)
            c.output("cp", source, f"{id}:/tmp/there")
            c.output("cp", f"{id}:/tmp/there", back)
            check(read(back) == content, f"{len(content)} bytes")
        check_equal(c.inside(id, "stat -c '%U %a' /tmp/there"), "user 644\n")
        c.output("cp", source, f"{id}:")  # home, its own name
        c.output("cp", source, f"{id}:sub/dir/new")
        check_equal(c.inside(id, "ls source sub/dir/new"), "source\nsub/dir/new\n")
        c.output("cp", "-u", "root", source, f"{id}:of-root")
        check_equal(c.inside(id, "sudo stat -c %U /root/of-root"), "root\n")
        done = json.loads(c.output("cp", "--json", source, f"{id}:/tmp"))
        check_equal(done, {"files": 1, "left_out": 0})
        c.output("cp", f"{id}:/tmp/there", here)  # into a directory
        check(read(os.path.join(here, "there")) == data, "into a directory")


def test_standard_streams():
    with Client(pool=0) as c:
        id = c.create()
        data = os.urandom(3 << 20)
        c.output("cp", "-", f"{id}:in", stdin=data)
        check(c.output("cp", f"{id}:in", "-") == data, "through pipes")
        c.output("cp", "-", f"{id}:in", stdin=b"")
        check_equal(c.output("cp", f"{id}:in", "-"), b"")
        with open("/dev/full", "wb") as full, c.open("cp", f"{id}:/bin/sh", "-", stdout=full) as child:
            err = child.communicate(timeout=PATIENCE_S)[1].decode()
            check(child.returncode == 1 and "No space left" in err, err)


def test_modes():
    """Kept on the way out, 0644 on the way in, and never set-uid."""
    with Client(pool=0) as c, process.CleanDirectory() as here:
        id = c.create()
        c.inside(id, "mkdir d; for m in 755 600 4755; do echo > d/$m; chmod $m d/$m; done")
        c.output("cp", f"{id}:d", os.path.join(here, "d"))
        for name, want in (("755", 0o755), ("600", 0o600), ("4755", 0o755)):
            check_equal(stat.S_IMODE(os.stat(os.path.join(here, "d", name)).st_mode), want, name)
        c.output("cp", os.path.join(here, "d", "755"), f"{id}:up")
        check_equal(c.inside(id, "stat -c %a up"), "644\n")


def test_trees():
    with Client(pool=0) as c, process.CleanDirectory() as here:
        id = c.create()
        tree = os.path.join(here, "tree")
        os.makedirs(os.path.join(tree, "empty"))
        os.makedirs(os.path.join(tree, "deep/er"))
        for name in ODD:
            write(os.path.join(tree, name), name.encode())
            write(os.path.join(tree, "deep/er", name), b"deep" + name.encode())
        c.output("cp", tree, f"{id}:copy")
        c.output("cp", f"{id}:copy", os.path.join(here, "back"))
        for where, prefix in (("", b""), ("deep/er", b"deep")):
            folder = os.path.join(here, "back", where)
            check_equal({n for n in os.listdir(folder) if os.path.isfile(os.path.join(folder, n))}, set(ODD))
            for name in ODD:
                check_equal(read(os.path.join(folder, name)), prefix + name.encode())
        check_equal(os.listdir(os.path.join(here, "back/empty")), [])
        c.output("cp", tree, f"{id}:copy")  # into what is there
        check_equal(c.inside(id, "cat copy/tree/plain"), "plain")
        c.output("cp", tree + "/", f"{id}:copy")
        done = json.loads(c.output("cp", "--json", f"{id}:copy/deep/er/", here))
        check_equal(done["files"], len(ODD))
        check(os.path.exists(os.path.join(here, "er/plain")), "its name without the slash")


def test_links():
    with Client(pool=0) as c, process.CleanDirectory() as here:
        id = c.create()
        c.inside(id, "mkdir -p d/sub; echo file > d/file; ln -s file d/to-file; ln -s sub d/to-dir;"
                     " ln -s nowhere d/dangling; ln -s .. d/up; mkfifo d/fifo")
        status, out, err = c.verb("cp", f"{id}:d", os.path.join(here, "d"))
        check_equal(status, 1, err)
        check_equal(sorted(os.listdir(os.path.join(here, "d"))), ["file", "sub", "to-file"])
        check_equal(read(os.path.join(here, "d/to-file")), b"file\n")
        for name in ("to-dir", "dangling", "up", "fifo"):
            check(f"d/{name}: " in err, f"{name} is not said: {err}")
        up = os.path.join(here, "up")
        os.mkdir(up)
        write(os.path.join(up, "file"), b"x")
        os.symlink("file", os.path.join(up, "to-file"))
        os.symlink("..", os.path.join(up, "to-dir"))
        os.mkfifo(os.path.join(up, "fifo"))
        status, out, err = c.verb("cp", up, f"{id}:up")
        check(status == 1 and "to-dir" in err and "fifo" in err, err)
        check_equal(c.inside(id, "ls up; cat up/to-file"), "file\nto-file\nx")


def test_links_of_mine_lead_nowhere():
    """A directory that was there before may have links: nothing is written through them."""
    with Client(pool=0) as c, process.CleanDirectory() as here:
        id = c.create()
        outside, target = os.path.join(here, "outside"), os.path.join(here, "t")
        os.makedirs(outside)
        write(os.path.join(outside, "f"), b"mine")
        for name, link in (("f", "../../outside/f"), ("g", "../../outside")):
            os.makedirs(os.path.join(target, "d"), exist_ok=True)
            os.symlink(link, os.path.join(target, "d", name))
            c.inside(id, "rm -rf d; mkdir -p d/g; echo evil > d/g/f; echo evil > d/f" if name == "g" else
                     "rm -rf d; mkdir d; echo evil > d/f")
            status, out, err = c.verb("cp", f"{id}:d", target)
            check_equal(status, 1, err)
            check_equal(read(os.path.join(outside, "f")), b"mine")
            os.unlink(os.path.join(target, "d", name))


def test_hostile_names():
    """A sandbox that says whatever it likes: nothing is made outside of the directory."""
    stat_answer = answer('{"entry": {"name": "d", "path": "/d", "type": "FILE_TYPE_DIRECTORY"}}')
    entries = [{"name": name, "path": "/x", "type": kind} for name in ("../x", "..", ".", "", "/etc/x", "a/b")
               for kind in ("FILE_TYPE_FILE", "FILE_TYPE_DIRECTORY")]
    entries += [{"path": "/x"}, {"name": 5}, "text", None]
    with process.CleanDirectory() as here:
        target = os.path.join(here, "a/b")
        os.makedirs(target)
        with Liar(answer('{"state": "running"}'), stat_answer, answer(json.dumps({"entries": entries}))) as liar:
            done = client.run(HOTCELL, "cp", "i" * 21 + ":d", os.path.join(target, "new"),
                              E2B_API_URL=liar.url, E2B_API_KEY=KEY)
        check_equal(done.returncode, 1, done.stderr)
        check_equal(done.stderr.count("left out"), len(entries), done.stderr)
        check_equal([sorted(f) + sorted(d) for unused, d, f in os.walk(here)], [["a"], ["b"], ["new"], []])


def test_what_cannot_be():
    with Client("--disk", "64M", pool=0) as c, process.CleanDirectory() as here:
        id = c.create()
        big = os.path.join(here, "big")
        with open(big, "wb") as file:
            file.truncate(80 << 20)
        for source in (big, "-"):
            status, out, err = c.verb("cp", source, f"{id}:big", stdin=bytes(80 << 20) if source == "-" else b"")
            check(status == 1 and ("disk" in err or "space" in err), f"{status} {err}")
        mine = os.path.join(here, "mine")
        for arguments, part in (([f"{id}:/nope", mine], "/nope"), ([mine, f"{id}:x"], "mine"), (["a", "b"], "SANDBOX:PATH"),
                                ([f"{id}:a", f"{id}:b"], "SANDBOX:PATH"), ([f"{id}:/tmp", "-"], "hotcell exec"),
                                ([f"{id}:/bin/sh", os.path.join(here, "no/dir")], "no/dir"),
                                (["-u", "nobody-there", big, f"{id}:x"], "nobody-there"),
                                ([f"{id}:/" + "x" * 5000, mine], "hotcell: ")):
            status, out, err = c.verb("cp", *arguments)
            check(status == 1 and part in err, f"{arguments}: {status} {err[:300]}")
        check(not os.path.exists(mine), "a file was made")


def test_cut():
    """What was cut does not stay."""
    with process.CleanDirectory() as here:
        target = os.path.join(here, "file")
        with Liar(answer('{"state": "running"}'), answer('{"entry": {"type": "FILE_TYPE_FILE"}}'),
                  b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc") as liar:
            done = client.run(HOTCELL, "cp", "i" * 21 + ":f", target, E2B_API_URL=liar.url, E2B_API_KEY=KEY)
        check(done.returncode == 1 and "was cut" in done.stderr, done.stderr)
        check(not os.path.exists(target), "it is there")


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
