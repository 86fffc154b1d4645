"""`hotcell run` on a terminal: raw mode, size, job control, back pressure, restored in every case."""
import hashlib
import os
import signal
import subprocess
import sys
import termios
import time

from harness import terminal
from harness.tap import PATIENCE_S, check, check_equal, run

HOTCELL = os.environ["HOTCELL"]
if not os.access(HOTCELL, os.X_OK):
    sys.exit(77)


class Terminal(terminal.Terminal):
    """`hotcell run`, or another command."""

    def __init__(self, *arguments, environment=None, command=None):
        super().__init__(command or [HOTCELL, "run", "-q", *arguments],
                         dict(os.environ, TERM="xterm", **(environment or {})), "/usr")


def bash():
    return Terminal("--env", "PS1=% ", "--", "bash", "--norc", "--noediting", "-i")


def test_is_a_terminal_with_size_and_name():
    with Terminal("--", "sh", "-c", "tty; stty size; echo $TERM; exit 5") as t:
        t.expect("/dev/pts/0\r\n30 100\r\nxterm\r\n")
        check_equal(t.end(), 5)


def test_preserved_descriptors_beside_a_terminal():
    shell = f"exec {HOTCELL} run -q --preserve-fds 1 -- sh -c 'tty; cat <&3' 3<<end\nthrough three\nend\n"
    with Terminal(command=["bash", "-c", shell]) as t:
        t.expect("/dev/pts/0\r\nthrough three\r\n")
        check_equal(t.end(), 0)


def test_no_tty():
    with Terminal("--no-tty", "--", "sh", "-c", "tty; echo 1 >&2") as t:
        t.expect("not a tty")
        t.end()


def test_redirected_error_output_stays_apart():
    with Terminal(command=["sh", "-c", f"{HOTCELL} run -q -- sh -c 'echo o; echo e >&2' 2>/dev/null"]) as t:
        t.expect("o")
        check_equal(t.end(), 0)
        check(b"e" not in t.seen, t.seen)


def test_resize():
    with bash() as t:
        t.expect("% ")
        t.resize(40, 120)
        os.kill(t.child.pid, signal.SIGWINCH)
        t.type("while [ \"$(stty size)\" != '40 120' ]; do sleep 0.02; done; echo the same\r")
        t.expect("\r\nthe same\r\n")
        t.type("exit\r")
        check_equal(t.end(), 0)


# A program that says when the terminal is its own.
FOREGROUND = "sh -c 'echo in the fore\"\"ground; exec sleep 10000'\r"


def test_typing_control_characters():
    with bash() as t:
        t.expect("% ")
        t.type(FOREGROUND)
        t.expect("in the foreground")
        t.type("\x03")
        t.expect("% ")
        t.type("echo status=$?\r")
        t.expect("\r\nstatus=130")
        t.type(FOREGROUND)
        t.expect("in the foreground")
        t.type("\x1a")
        t.expect("Stopped")
        t.type("kill %1; exit 3\r")
        t.expect("exit")
        t.type("exit 3\r")
        check_equal(t.end(), 3)


def test_end_of_input():
    with Terminal("--", "cat") as t:
        t.type("line\r")
        t.expect("line\r\nline\r\n")
        t.type("\x04")
        check_equal(t.end(), 0)


def test_much_output_and_a_slow_reader():
    with Terminal("--", "sh", "-c", "seq 150000; echo END") as t:
        time.sleep(0.5)
        t.expect("\r\n150000\r\nEND\r\n")
        check_equal(t.end(), 0)


def test_a_long_paste_arrives():
    with Terminal("--", "sh", "-c", "stty raw -echo; echo ready; head -c 300000 | sha256sum") as t:
        t.expect("ready")
        data = b"0123456789" * 30000
        os.set_blocking(t.master, False)
        sent = 0
        while sent < len(data):
            try:
                sent += os.write(t.master, data[sent:sent + 4096])
            except BlockingIOError:
                t.read()
        t.expect(hashlib.sha256(data).hexdigest())
        check_equal(t.end(), 0)


def test_the_terminal_is_restored_after_signals():
    for number, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        with Terminal("--", "sh", "-c", "echo ready; exec sleep 100") as t:
            t.expect("ready")
            t.child.send_signal(number)
            check_equal(t.end(), status)


def test_the_terminal_is_restored_after_a_kill_by_hotcell():
    with Terminal("--timeout", "300ms", "--", "sh", "-c", "stty raw -echo; sleep 100") as t:
        check_equal(t.end(), 137)


def test_the_terminal_is_restored_after_a_failed_start():
    with Terminal("--", "no-such-program") as t:
        t.expect("command not found")
        check_equal(t.end(), 127)


def test_the_terminal_is_restored_when_the_kernel_process_dies():
    with Terminal("--", "sh", "-c", "echo ready; exec sleep 100") as t:
        t.expect("ready")
        children = open(f"/proc/{t.child.pid}/task/{t.child.pid}/children").read().split()
        os.kill(int(children[0]), signal.SIGKILL)
        t.expect("kernel process ended unexpectedly")
        check_equal(t.end(), 125)


def test_stopped_from_outside_and_continued():
    with Terminal("--", "sh", "-c", "echo ready; read line; echo got $line") as t:
        t.expect("ready")
        t.child.send_signal(signal.SIGTSTP)
        os.waitid(os.P_PID, t.child.pid, os.WSTOPPED)
        check_equal(termios.tcgetattr(t.slave), t.before, "terminal settings while stopped")
        t.child.send_signal(signal.SIGCONT)
        t.type("text\r")
        t.expect("got text")
        check_equal(t.end(), 0)


def test_sudo_on_a_terminal():
    with Terminal("--", "sudo", "sh", "-c", "id -u; tty") as t:
        t.expect("0\r\n/dev/pts/0")
        check_equal(t.end(), 0)


def test_forced_with_pipes():
    done = subprocess.run([HOTCELL, "run", "-q", "-t", "--", "sh", "-c", "tty; cat"],
                          input=b"from a pipe\n", capture_output=True, timeout=PATIENCE_S)
    check_equal(done.returncode, 0)
    check(b"/dev/pts/0\r\n" in done.stdout, done.stdout)
    check(done.stdout.count(b"from a pipe\r\n") == 2, done.stdout)


run(sys.modules[__name__])
