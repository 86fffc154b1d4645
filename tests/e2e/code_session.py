"""`hotcell code` on a terminal: prompts, editing, history, interrupts, ends."""
import os
import signal
import sys
import termios

from harness import tap
from harness.code import HOTCELL, Place
from harness.tap import check, check_equal

if not os.access(HOTCELL, os.X_OK):
    sys.exit(77)

PASTE, PASTED = "\033[200~", "\033[201~"
UP = "\033[A"

# Answers every code with what it was; some words do something else.
ECHO = """
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
for code in requests():
    if code == 'die': os._exit(3)
    if code == 'hang':
        send('stdout', '-', 'hangs\\n')
        while signal.sigwait([signal.SIGINT]):
            send('stdout', '-', 'ignored\\n')
    if code == 'wait':
        send('stdout', '-', 'waits\\n')
        signal.sigwait([signal.SIGINT])
        send('error'); parts({'name': 'KeyboardInterrupt\\033[1m', 'value': '', 'traceback': ''})
        continue
    send('result', 'main'); parts({'text/plain': ascii(code)})
"""


def answer(t, number, code):
    t.expect(f"Out[{number}]: {code!a}\r\n")
    t.expect(f"In [{number + 1}]: ")


def test_python():
    with Place() as p, p.terminal() as t:
        t.expect("Python in a sandbox; :help helps, Ctrl-D ends.\r\n")
        t.expect("In [1]: ")
        t.type("x = 41\r")
        t.expect("In [2]: ")
        t.type("x + 1\r")
        t.expect("Out[2]: 42\r\n")
        t.expect("In [3]: ")
        t.type("for i in range(2):\r")
        t.expect("   ...: ")
        t.type("\tprint('n', i)\r")
        t.expect("   ...: ")
        t.type("\r")
        t.expect("n 0\r\nn 1\r\n")
        t.expect("In [4]: ")
        t.type("import time; print('sle' + 'eps'); time.sleep(1000)\r")
        t.expect("sleeps")
        t.type("\x03")
        t.expect("KeyboardInterrupt")
        t.expect("In [5]: ")
        t.type("print('no end', end='')\r")
        t.expect("no end\r\n")
        t.expect("In [6]: ")
        t.type("x, 'süß'\r")
        t.expect("Out[6]: (41, 'süß')\r\n")
        t.expect("In [7]: ")
        t.type("1/0\r")
        t.expect("ZeroDivisionError: division by zero\r\n")
        t.expect("In [8]: ")
        t.type(":restart\r")
        t.expect("In [1]: ")
        t.type("x\r")
        t.expect("NameError")
        t.expect("In [2]: ")
        t.type("import os; os._exit(4)\r")
        t.expect("status 4")
        t.expect("In [1]: ")
        t.type("exit()\r")
        check_equal(t.end(), 0)


def test_multi_line():
    with Place(ECHO) as p, p.terminal() as t:
        t.expect("In [1]: ")
        t.type("f(1,\r")
        t.expect("   ...: ")
        t.type("2)\r")
        answer(t, 1, "f(1,\n2)")
        t.type("'''a\r\r\r")
        t.expect("   ...: ")
        answer(t, 2, "'''a\n\n")  # two empty lines send it
        t.type("if x:\r")
        t.expect("   ...: ")
        t.type("\x03")
        t.expect("^C\r\n")
        t.expect("In [3]: ")
        t.type("if x:\r")
        t.expect("   ...: ")
        t.type("\x04")
        t.expect("In [3]: ")
        t.type("\r\r3\r")
        answer(t, 3, "3")


def test_paste():
    text = "def f():\n\tif x:\n\n        return '\x1b[1m'\n\nf()\n"
    clean = "def f():\n\tif x:\n\n        return '[1m'\n\nf()"
    with Place(ECHO) as p, p.terminal() as t:
        t.expect("\033[?2004h")
        t.expect("In [1]: ")
        t.type(PASTE + text.replace("\n", "\r") + PASTED + "\r")
        answer(t, 1, clean)
        t.type(PASTE + "a = [\r" + PASTED + "\r")
        t.expect("   ...: ")
        t.type(PASTE + "1]" + PASTED + "\r")
        answer(t, 2, "a = [\n1]")
        t.type(PASTE + "'\x03\x04\x1a\x1b[201'" + PASTED + "\r")
        answer(t, 3, "'[201'")
        long = "x = '" + "ab" * 5000 + "'"
        t.type(PASTE + long[:3000])
        t.type(long[3000:6000])
        t.type(long[6000:] + PASTED + "\r")
        answer(t, 4, long)


def test_editing():
    with Place(ECHO) as p, p.terminal() as t:
        t.expect("In [1]: ")
        t.type("bc\x01a\x05d\033[D\033[D\x7fB\r")
        answer(t, 1, "aBcd")
        t.type("12345\x03")
        t.expect("^C\r\n")
        t.expect("In [2]: ")
        t.type("\tx\t\033[H\033[3~y\033[F1\r")
        answer(t, 2, "y   x   1")
        t.type("ü\x7fö€\x7f𝄞\r")
        answer(t, 3, "ö𝄞")
        t.resize(20, 40)
        t.signal(signal.SIGWINCH)
        t.type("after\r")
        answer(t, 4, "after")


def test_history():
    with Place(ECHO) as p:
        with p.terminal() as t:
            t.expect("In [1]: ")
            t.type("first\r")
            answer(t, 1, "first")
            t.type(PASTE + "if a:\r    b" + PASTED + "\r")
            answer(t, 2, "if a:\n    b")
            t.type(UP + "\r")
            answer(t, 3, "if a:\n    b")
            t.type("fi" + UP + " again\r")
            answer(t, 4, "first again")
            t.type("\x04")
            check_equal(t.end(), 0)
        path = p.state + "/hotcell/history-python"
        check_equal(os.stat(path).st_mode & 0o777, 0o600)
        with open(path) as file:
            check_equal(file.read(), "first\nif a:\\n    b\nif a:\\n    b\nfirst again\n")
        with p.terminal() as t:
            t.expect("In [1]: ")
            t.type(UP + UP + "\r")
            answer(t, 1, "if a:\n    b")
            t.type("\x12aga")
            t.expect("first again")
            t.type("\r")
            answer(t, 2, "first again")
        p.environment["XDG_STATE_HOME"] = "/proc/no"
        with p.terminal() as t:
            t.expect("In [1]: ")
            t.type("works without\r")
            answer(t, 1, "works without")


def test_interrupts():
    with Place(ECHO) as p, p.terminal() as t:
        t.expect("In [1]: ")
        t.type("wait\r")
        t.expect("waits\r\n")
        t.type("\x03")
        t.expect("KeyboardInterrupt?[1m\r\n")
        t.expect("In [2]: ")
        t.type("hang\r")
        t.expect("hangs\r\n")
        t.type("\x03")
        t.expect("ignored\r\n")
        t.type("\x03")
        t.expect("interrupted twice")
        t.expect("a new interpreter starts")
        t.expect("In [1]: ")
        t.type("die\r")
        t.expect("status 3")
        t.expect("In [1]: ")
        t.type("alive\r")
        answer(t, 1, "alive")


def test_an_interpreter_that_does_not_come_back():
    driver = ("if os.path.exists('/state/once'): send('failed', '-', 'only once'); sys.exit(0)\n"
              "open('/state/once', 'w')\nfor code in requests(): os._exit(3)")
    for word in ("die\r", ":restart\r"):
        with Place(driver) as p:
            os.mkdir(p.root + "/once")
            os.chmod(p.root + "/once", 0o777)
            with p.terminal("--rw", p.root + "/once:/state") as t:
                t.expect("In [1]: ")
                t.type(word)
                t.expect("hotcell: only once\r\n")
                check_equal(t.end(), 125)


def test_ends():
    for keys in ("\x04", ":quit\r", "quit\r"):
        with Place(ECHO) as p, p.terminal() as t:
            t.expect("In [1]: ")
            t.type(keys)
            check_equal(t.end(), 0)
    for number in (signal.SIGTERM, signal.SIGHUP):
        for code in ("", "hang\r"):
            with Place(ECHO) as p, p.terminal() as t:
                t.expect("In [1]: ")
                t.type(code)
                if code:
                    t.expect("hangs\r\n")
                t.signal(number)
                check_equal(t.end(), 128 + number)


def test_stop_and_continue():
    with Place(ECHO) as p, p.terminal() as t:
        t.expect("In [1]: ")
        t.type("abc")
        t.expect("abc")
        for stop in (lambda: t.signal(signal.SIGTSTP), lambda: t.type("\x1a")):
            stop()
            os.waitid(os.P_PID, t.child.pid, os.WSTOPPED)
            check_equal(termios.tcgetattr(t.slave), t.before, "the terminal while it is stopped")
            t.signal(signal.SIGCONT)
            t.expect("abc")
        t.type("def\r")
        answer(t, 1, "abcdef")
        t.type("\x04")
        check_equal(t.end(), 0)


def test_terminals_that_know_nothing():
    for name in ("dumb", ""):
        with Place(ECHO) as p, p.terminal(TERM=name, LANG="C") as t:
            check("\033" not in t.expect("In [1]: "), "sequences")
            t.type("ü\r")
            t.expect("Out[1]: '\\xfc'\r\n")
            check("\033" not in t.expect("In [2]: "), "sequences")


def test_words_of_the_session():
    with Place(ECHO) as p, p.terminal() as t:
        t.expect("In [1]: ")
        t.type(":help\r")
        t.expect(":restart")
        t.expect("In [1]: ")
        t.type(":other\r")
        answer(t, 1, ":other")


def test_bash():
    with Place() as p, p.terminal("--lang", "bash") as t:
        t.expect("bash in a sandbox")
        t.expect("$ ")
        t.type("for i in 1 2; do\r")
        t.expect("> ")
        t.type("echo n$i; done\r")
        t.expect("n1\r\nn2\r\n")
        t.expect("$ ")
        t.type("(exit 5)\r")
        t.expect("[status 5]\r\n")
        t.expect("$ ")
        t.type("cd /tmp; x=1\r")
        t.expect("$ ")
        t.type("echo $x $PWD\r")
        t.expect("1 /tmp\r\n")
        t.expect("$ ")
        t.type("\x04")
        check_equal(t.end(), 0)


def test_json():
    with Place(ECHO) as p, p.terminal("--json") as t:
        t.expect("In [1]: ")
        t.type("a\r")
        t.expect('"type":"result"')
        t.expect('"type":"end_of_execution"}\r\n')
        t.expect("In [2]: ")


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
