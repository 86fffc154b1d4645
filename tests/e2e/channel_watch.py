"""Watches over the control channel."""
import errno
import os
import sys

from harness.channel import Refused, Sandbox, Writer
from harness.tap import check, check_equal, run

if not os.access(os.environ["HOTCELL"], os.X_OK):
    sys.exit(77)


def refused(function, code, about="path"):
    try:
        function()
    except Refused as error:
        check_equal((errno.errorcode[error.code], error.about), (errno.errorcode[code], about), error.text)
        return error
    raise AssertionError("was not refused")


def events(box, watch, last):
    """(event, name) up to and with `last`, repetitions of a write left out."""
    found = []
    while not found or found[-1] != last:
        event = box.event(watch)
        if not found or found[-1] != (event.event, event.name):
            found.append((event.event, event.name))
    return found


def test_every_kind():
    with Sandbox() as box:
        box.run("mkdir d; touch d/old")
        watch = box.watch("d")
        box.run("touch d/new; echo x >> d/new; chmod 600 d/new; mv d/new d/renamed; rm d/renamed; mkdir d/sub; rmdir d/sub;"
                "ln -s x d/link; ln d/old d/hard; touch d/end")
        found = events(box, watch, ("create", "end"))
        check_equal(found[:8], [("create", "new"), ("chmod", "new"), ("write", "new"), ("chmod", "new"),
                                ("rename", "new"), ("create", "renamed"), ("remove", "renamed"), ("create", "sub")])
        check_equal([f for f in found[8:] if f[0] != "chmod"],
                    [("remove", "sub"), ("create", "link"), ("create", "hard"), ("create", "end")])


def test_not_recursive():
    with Sandbox() as box:
        box.run("mkdir -p d/sub")
        watch = box.watch("d")
        box.run("touch d/sub/unseen; touch d/end")
        check_equal(events(box, watch, ("create", "end")), [("create", "end")])


def test_recursive_with_new_directories():
    with Sandbox() as box:
        box.run("mkdir -p d/a/b")
        watch = box.watch("d", recursive=True)
        # No time between making a directory and using it.
        box.run(["python3", "-c", "import os\nos.chdir('d')\nopen('a/b/f', 'w').close()\nos.mkdir('new')\nopen('new/1', 'w').close()\n"
                 "os.makedirs('x/y/z')\nopen('x/y/z/deep', 'w').write('data')\nos.rename('new', 'a/moved')\nopen('a/moved/2', 'w').close()\n"
                 "os.unlink('a/moved/2'); open('end', 'w').close()"])
        found = [f for f in events(box, watch, ("create", "end")) if f[0] != "chmod"]
        check_equal(found, [("create", "a/b/f"), ("create", "new"), ("create", "new/1"), ("create", "x"), ("create", "x/y"),
                            ("create", "x/y/z"), ("create", "x/y/z/deep"), ("write", "x/y/z/deep"), ("rename", "new"),
                            ("create", "a/moved"), ("create", "a/moved/2"), ("remove", "a/moved/2"), ("create", "end")])


def test_directories_that_leave_and_come():
    with Sandbox() as box:
        box.run("mkdir -p d/a/deep other/tree/x; touch other/tree/x/old")
        watch = box.watch("d", recursive=True)
        box.run("mv d/a away; touch away/deep/unseen; mv other/tree d/tree; touch d/tree/x/new; touch d/end")
        found = [f for f in events(box, watch, ("create", "end")) if f[0] != "chmod"]
        check_equal(found, [("rename", "a"), ("create", "tree"), ("create", "tree/x/new"), ("create", "end")])


def test_what_comes_over_the_channel_itself():
    with Sandbox() as box:
        box.make_dir("d")
        watch = box.watch("d", recursive=True)
        box.write("d/a/b/f", b"content")
        box.move("d/a/b/f", "d/g")
        box.remove("d/a")
        box.make_dir("d/end")
        found = [f for f in events(box, watch, ("create", "end")) if f[0] != "chmod"]
        check_equal(found, [("create", "a"), ("create", "a/b"), ("create", "a/b/f"), ("write", "a/b/f"), ("rename", "a/b/f"),
                            ("create", "g"), ("remove", "a/b"), ("remove", "a"), ("create", "end")])


def test_entries():
    with Sandbox() as box:
        box.run("mkdir d")
        watch = box.watch("d", entry=True)
        box.run("echo hello > d/f; rm d/f")
        event = box.event(watch)
        check_equal((event.event, event.entry.path, event.entry.type), ("create", "/home/user/d/f", 1))
        event = box.event(watch)
        check_equal((event.event, event.entry.owner), ("write", "user"))
        while event.event != "remove":
            event = box.event(watch)
        check_equal(event.entry, None)


def test_the_directory_itself():
    with Sandbox() as box:
        box.run("mkdir d")
        watch = box.watch("d")
        box.run("chmod 700 d; mv d e; touch e/f; rm e/f; rmdir e")
        found = [(e.event, e.name) for e in (box.event(watch) for _ in range(5))]
        check_equal(found[:3], [("chmod", "."), ("rename", "."), ("create", "f")])
        while found[-1] != ("remove", "."):
            event = box.event(watch)
            found.append((event.event, event.name))


def test_refusals():
    with Sandbox() as box:
        box.run("touch f; ln -s l2 l1; ln -s l1 l2; mkdir d; ln -s d link")
        refused(lambda: box.watch("missing"), errno.ENOENT)
        refused(lambda: box.watch("f"), errno.ENOTDIR)
        refused(lambda: box.watch("l1"), errno.ELOOP)
        watch = box.watch("link")
        box.run("touch d/through")
        check_equal(box.event(watch)[:2], ("create", "through"))


def test_cancel_and_limit():
    with Sandbox() as box:
        box.run("mkdir d")
        watches = [box.watch("d") for _ in range(256)]
        refused(lambda: box.watch("d"), errno.EAGAIN)
        for watch in watches[1:]:
            box.cancel(watch)
        box.run("touch d/f")
        check_equal(box.event(watches[0])[:2], ("create", "f"))
        check(not [m for m in box.channel.waiting if m.request in watches[1:]], "events after CANCEL")


def test_a_flood_nobody_reads():
    with Sandbox() as box:
        box.run("mkdir d")
        watch = box.watch("d", recursive=True)
        process = box.start(["python3", "-c", "import os\nfor i in range(60000):\n n = 'd/' + 'x' * 200 + str(i)\n os.mkdir(n)\n os.rmdir(n)\n"
                             "print('over', flush=True)"])
        process.wait_for(b"over", 25)  # the guest does not wait for a reader
        box.cancel(watch)
        check_equal(process.finish().status, 0)


run(sys.modules[__name__])
