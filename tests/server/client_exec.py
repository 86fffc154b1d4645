"""`hotcell exec`: status, pipes, signals, terminals."""
import http.client
import os
import signal
import subprocess
import sys

from harness import scene, tap, terminal
from harness.client import Client
from harness.tap import PATIENCE_S, check, check_equal


def test_status():
    with Client(pool=0) as c:
        id = c.create()
        for script, want in (("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137),
                             ("kill -15 $$", 143), ("kill -11 $$", 139)):
            check_equal(c.verb("exec", id, "sh", "-c", script)[0], want, script)
        status, out, err = c.verb("exec", id, "/no/such/program")
        check(status == 1 and "/no/such/program" in err, f"{status} {err}")
        check_equal(c.verb("exec", id, "--")[0], 1)


def test_arguments():
    """What stands behind the sandbox is the command's, each argument as it is."""
    with Client(pool=0) as c:
        id = c.create()
        odd = ["--help", "-h", "--", "", "a b", "ü\n", "$HOME", "*", "'\""]
        for separator in ([], ["--"]):
            out = c.output("exec", id, *separator, "printf", "%s\\0", *odd).decode()
            check_equal(out.split("\0")[:-1], odd)
        out = c.output("exec", "-u", "root", "-w", "/tmp", "-e", "A=1=2", "-e", "B=", id, "sh", "-c",
                       "id -un; pwd; echo $A,$B,${C-none}").decode()
        check_equal(out.split("\n"), ["root", "/tmp", "1=2,,none", ""])
        for options in (["-u", "nobody-there"], ["-u", "a:b"], ["-u", "x" * 100], ["-w", "/not/there"]):
            status, out, err = c.verb("exec", *options, id, "true")
            check(status == 1 and err.startswith("hotcell: "), f"{options}: {status} {err}")
        done = subprocess.run([os.fsencode(c.hotcell), b"exec", id.encode(), b"echo", b"\xff"], env=c.environment(),
                              capture_output=True, timeout=PATIENCE_S)
        check(done.returncode == 1 and b"UTF-8" in done.stderr, done.stderr)


def test_streams():
    with Client(pool=0) as c:
        id = c.create()
        status, out, err = c.bytes("exec", id, "sh", "-c", "printf 'a\\0b'; printf 'c\\377' >&2; exit 3")
        check_equal((status, out, err), (3, b"a\0b", b"c\xff"))
        data = os.urandom(3 << 20)
        check_equal(c.output("exec", id, "cat", stdin=data) == data, True, "binary through pipes")
        check_equal(c.output("exec", id, "sh", "-c", "sleep 1; cat", stdin=data) == data, True, "a late reader")
        check_equal(c.output("exec", id, "cat"), b"", "an end at once")
        check_equal(len(c.output("exec", id, "head", "-c", str(20 << 20), "/dev/zero")), 20 << 20)
        check_equal(c.output("exec", id, "true", stdin=data), b"", "a command that does not read")


def test_reader_leaves():
    with Client(pool=0) as c:
        id = c.create()
        with c.open("exec", id, "yes") as child:
            child.stdout.read(10)
            child.stdout.close()
            check_equal(child.wait(PATIENCE_S), 128 + signal.SIGPIPE)
        scene.until(lambda: c.verb("exec", id, "pgrep", "yes")[0] == 1, "it runs on")
        with open("/dev/full", "wb") as full, c.open("exec", id, "yes", stdout=full) as child:
            err = child.communicate(timeout=PATIENCE_S)[1].decode()
            check(child.returncode == 1 and "No space left" in err, err)


def test_signals():
    with Client(pool=0) as c:
        id = c.create()
        for number in (signal.SIGTERM, signal.SIGINT):
            with c.open("exec", id, "sh", "-c", "trap 'echo caught; exit 9' TERM; echo ready; while :; do read x; done",
                        stdin=subprocess.PIPE) as child:
                check_equal(child.stdout.readline(), b"ready\n")
                child.send_signal(number)
                check_equal(child.stdout.readline(), b"caught\n")
                check_equal(child.wait(PATIENCE_S), 9)


def test_cut():
    """A sandbox that ends and a server that is killed are said, at once."""
    with Client(pool=0) as c:
        id = c.create()
        with c.open("exec", id, "sh", "-c", "echo ready; sleep 1000") as child:
            check_equal(child.stdout.readline(), b"ready\n")
            c.output("kill", id)
            status, err = child.wait(PATIENCE_S), child.stderr.read().decode()
            check(status != 0 and (status > 128 or "cut" in err or "ended" in err), f"{status} {err}")
        other = c.create()
        with c.open("exec", other, "sh", "-c", "echo ready; sleep 1000") as child:
            check_equal(child.stdout.readline(), b"ready\n")
            c.child.kill()
            c.child.wait()
            check_equal(child.wait(PATIENCE_S), 1)
            check("cut" in child.stderr.read().decode(), "it does not say why")


def test_end_of_input_is_no_others_business():
    """The descriptor of an input that has ended is soon somebody else's, who must not notice its end."""
    with Client(pool=0) as c:
        id = c.create()
        with c.open("exec", id, "sh", "-c", "cat; echo ready; sleep 1000") as child:
            check_equal(child.stdout.readline(), b"ready\n")
            others = [http.client.HTTPConnection("127.0.0.1", c.port, timeout=PATIENCE_S) for unused in range(8)]
            for turn in range(2):
                for other in others:
                    other.request("GET", "/health")
                    check_equal(other.getresponse().read(), b"")
                if turn == 0:
                    c.output("kill", id)
                    child.wait(PATIENCE_S)
            check_equal(c.stop(), 0)
            for other in others:
                other.close()


def test_paused():
    with Client(pool=0) as c:
        id = c.create()
        check_equal(c.request("POST", f"/sandboxes/{id}/pause", {})[0], 204)
        for verb in (["exec", id, "true"], ["cp", id + ":x", "-"], ["forward", id, "0:80"]):
            status, out, err = c.verb(*verb)
            check(status == 1 and "paused" in err, err)


def test_secured():
    """A sandbox that wants its access token gets it."""
    with Client(pool=0) as c:
        id = c.create(secure=True)
        check_equal(c.output("exec", id, "cat", stdin=b"x"), b"x")
        c.output("cp", "-", id + ":file", stdin=b"y")
        check_equal(c.output("cp", id + ":file", "-"), b"y")


# ---- terminals ----

class Terminal(terminal.Terminal):
    def __init__(self, c, *arguments):
        super().__init__([c.hotcell, *arguments], c.environment())


def test_terminal():
    with Client(pool=0) as c:
        id = c.create()
        with Terminal(c, "exec", id, "sh") as t:
            t.type("test -t 0 && test -t 1 && echo it is$((1))\n")
            t.expect("it is1")
            check(t.is_raw(), "the terminal is not raw")
            t.type("stty size; echo $TERM\n")
            t.expect("30 100\r\n")
            t.expect("xterm\r\n")
            t.type("trap 'stty size; echo resi''zed' WINCH; echo tr''apped\n")
            t.expect("trapped")
            t.resize(40, 120)
            os.killpg(t.child.pid, signal.SIGWINCH)
            # The trap runs behind a command, if the signal has come by then.
            t.type("while [ \"$(stty size)\" != '40 120' ]; do sleep 0.02; done; :\n")
            t.expect("40 120\r\nresized")
            t.type("(echo asle''ep; exec sleep 1000)\n")
            t.expect("asleep")
            t.type("\x03")  # to the command, not to hotcell
            t.type("echo here a''gain\n")
            t.expect("here again")
            t.type("exit 5\n")
            check_equal(t.child.wait(PATIENCE_S), 5)
            t.check_restored()


def test_terminal_of_a_cut_connection():
    with Client(pool=0) as c:
        id = c.create()
        with Terminal(c, "exec", id, "sh") as t:
            t.type("echo rea''dy\n")
            t.expect("ready")
            check(t.is_raw(), "the terminal is not raw")
            c.child.kill()
            check_equal(t.child.wait(PATIENCE_S), 1)
            t.check_restored()
            t.expect("cut")


def test_terminal_and_term():
    with Client(pool=0) as c:
        id = c.create()
        with Terminal(c, "exec", id, "sh", "-c", "echo rea''dy; exec sleep 1000") as t:
            t.expect("ready")
            t.child.send_signal(signal.SIGTERM)
            check_equal(t.child.wait(PATIENCE_S), 128 + signal.SIGTERM)
            t.check_restored()


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
