"""`hotcell code` with a file or a pipe: what it prints, saves and returns."""
import base64
import json
import os
import signal
import subprocess
import sys

from harness import scene, tap
from harness.code import HOTCELL, Place
from harness.tap import PATIENCE_S, check, check_equal

if not os.access(HOTCELL, os.X_OK):
    sys.exit(77)

# A driver that answers every code with these frames.
ANSWER = """
for code in requests():
    %s
"""


def check_failed(done, *words):
    status, out, err = done
    check(status == 125 and out == "" and err.startswith("hotcell: ") and err.count("\n") == 1, done)
    for word in words:
        check(word in err, f"no {word!r} in {err}")


# ---- the code ----

def test_file():
    with Place() as p:
        p.write("data.txt", "from the host")
        p.write("a.py", "#!/usr/bin/env python3\nimport os, sys\nprint(open('data.txt').read())\n"
                        "sys.stderr.write('to stderr\\n')\nopen('new', 'w').write('x')\n"
                        "if __name__ == '__main__':\n    x = 41\nos.getcwd(), x + 1")
        check_equal(p.run("a.py"), (0, "from the host\n('/work', 42)\n", "to stderr\n"))
        check(not os.path.exists(p.work + "/new"), "the host's directory was changed")
        check_equal(p.run("--rw", p.work + ":/work", "a.py")[0], 0)
        check_equal(p.read("new"), b"x")


def test_standard_input():
    with Place() as p:
        for arguments in ([], ["-"], ["--lang", "python3"], ["-l", "PY", "-"]):
            check_equal(p.run(*arguments, stdin="print(1, end='')\n2"), (0, "1\n2\n", ""))
        check_equal(p.run(), (0, "", ""))
        check_equal(p.run(stdin="'süß'"), (0, "süß\n", ""))


def test_options_reach_the_sandbox():
    with Place() as p:
        p.write("lib/m.py", "import os\nprint(os.environ['A'], os.environ['B'], os.getcwd(), os.getuid())")
        check_equal(p.run("-eA=1=2", "--env", "B", "-w", "/tmp", "-uroot", "--memory=512M", "lib/m.py", B="caller"),
                    (0, "1=2 caller /tmp 0\n", ""))
        check_failed(p.run("-m", "1x"), "--memory", "1x")
        check_failed(p.run("--ro", "/nowhere:/x"), "/nowhere")
        check_failed(p.run("--cpus"), "--cpus")
        check_failed(p.run("--nonsense"), "nonsense")
        check_equal(p.run("a.py", "b.py")[0], 125)
        for option in ("--context=x", "--url=http://x", "--key=x"):
            check_failed(p.run(option), "--sandbox")


def test_what_is_no_code():
    with Place() as p:
        p.write("a.txt", "1")
        p.write("b.py", b"'\xff'")
        p.write("c.py", b"1\0")
        p.write("d.py", b"#" * ((16 << 20) + 1))
        for name, word in (("a.txt", "--lang"), ("b.py", "UTF-8"), ("c.py", "UTF-8"), ("d.py", "longer"),
                           ("none.py", "No such file"), (".", "--lang"), ("x\033[1m.py", "No such file")):
            done = p.run(name)
            check_failed(done, word)
            check("\033" not in done[2], done)
        check_failed(p.run("--lang", "a b", "a.txt"), "--lang")
        check_failed(p.run("--output", "none"), "--output")
        check_failed(p.run("--output", "a.txt"), "--output")


def test_language_that_is_not_there():
    with Place() as p:
        p.options = ["-e", "PATH=/nowhere"]
        check_failed(p.run(stdin="1"), "python3", "install")
        check_failed(p.run("--lang", "java", stdin="1"), "java", "default-jdk-headless")
    with Place("send('failed', '-', 'no IPython: install \\033[1mpython3-ipython')") as p:
        check_failed(p.run(stdin="1"), "install ?[1mpython3-ipython")
    with Place("os.write(2, b'a reason\\033[1m\\n'); sys.exit(3)") as p:
        check_failed(p.run(stdin="1"), "status 3", "a reason?[1m")
    with Place("os.write(4, b'rubbish\\n'); time.sleep(1000)") as p:
        check_equal(p.run(stdin="1")[0], 125)


# ---- errors ----

def test_errors():
    with Place() as p:
        status, out, err = p.run(stdin="print(1)\n1/0\nprint(2)")
        check_equal((status, out), (1, "1\n"))
        check("ZeroDivisionError: division by zero" in err and "\033" not in err, err)
        status, out, err = p.run(stdin="raise ValueError('a\\x1b[31mb\\x9bc\\u202e')")
        check(status == 1 and "a?[31mb?c?" in err, err)
        status, out, err = p.run(stdin="type('X\\x1b]0;title\\x07', (Exception,), {})")
        check("\033" not in out + err, out + err)
        status, out, err = p.run(stdin="raise type('X\\x1b]0;title\\x07', (Exception,), {})('\\r\\x1b[2J')")
        check(status == 1 and "\033" not in err and "\r" not in err and "\a" not in err, err)


def test_exit_status():
    with Place() as p:
        for value, status in (("", 0), ("0", 0), ("3", 3), ("None", 0), ("'text'", 1), ("256", 0)):
            done = p.run(stdin=f"import sys\nsys.exit({value})")
            check(done[:2] == (status, "") and ("SystemExit: text" in done[2] if value == "'text'" else done[2] == ""), done)
            check_equal(p.run("--json", stdin=f"import sys\nsys.exit({value})")[0], status, value)
        for code, status in (("process.exit(3)", 3), ("process.exit()", 0), ("if (true) process.exit('5')", 5)):
            check_equal(p.run("--lang", "js", stdin=code), (status, "", ""), code)
        for code, status in (("exit 3", 3), ("(exit 4)", 4), ("exit 4; true", 4), ("false; true", 0)):
            check_equal(p.run("--lang", "bash", stdin=code), (status, "", ""), code)
        status, out, err = p.run(stdin="print(1); import os; os._exit(7)")
        check(status == 1 and out == "1\n" and "status 7" in err, (status, out, err))
        for seconds in (3, 15, 75):  # as long as the interpreter needs to get ready
            status, out, err = p.run("--timeout", f"{seconds}s", stdin="while True: pass")
            if status == 137:
                break
        check(status == 137 and "hotcell" in err, (status, err))
    with Place("for code in requests():\n    os.write(4, b'rubbish\\n'); time.sleep(1000)") as p:
        status, out, err = p.run(stdin="1")
        check(status == 1 and "protocol" in err, (status, out, err))


# ---- output ----

def test_much_output():
    with Place() as p:
        data = ("line \u00e4\n" * 300000).encode()
        code = "import sys\n_ = sys.stdout.write('line \u00e4\\n' * 300000)\n"
        check(p.bytes(stdin=code.encode()) == (0, data, b""), "text")
        code = "import subprocess\n_ = subprocess.run(['head', '-c', '3000000', '/dev/zero'])"
        check(p.bytes(stdin=code.encode()) == (0, bytes(3000000), b""), "NULs of a child")


def test_output_left_behind():
    """A thread that prints for ever does not keep the command."""
    code = "import subprocess\n_ = subprocess.Popen(['sh', '-c', 'while :; do echo x; done'])\n5"
    with Place() as p:
        status, out, err = p.run(stdin=code)
        check(status == 0 and "5\n" in out, (status, out[-100:], err))


def test_readers_that_leave():
    with Place() as p:
        with p.open("-", stdin=subprocess.PIPE) as child:
            child.stdin.write(b"while True: print('x')")
            child.stdin.close()
            check_equal(child.stdout.read(2), b"x\n")
            child.stdout.close()
            check_equal(child.wait(PATIENCE_S), 128 + signal.SIGPIPE)
        p.write("a.py", "while True: print('x')")
        with open("/dev/full", "wb") as full, p.open("a.py", stdout=full) as child:
            err = child.communicate(timeout=PATIENCE_S)[1].decode()
            check(child.returncode == 125 and "No space left" in err, err)


def test_json():
    with Place() as p:
        status, out, err = p.run("--json", stdin="print('ä\\x1b')\ndisplay(1)\n2")
        lines = [json.loads(line) for line in out.splitlines()]
        check(out.isascii() and "\033" not in out and status == 0 and err == "", (status, out, err))
        check_equal([o["type"] for o in lines],
                    ["number_of_executions", "stdout", "result", "result", "end_of_execution"])
        check_equal((lines[1]["text"], lines[3]["text"], lines[3]["is_main_result"]), ("ä\x1b\n", "2", True))
        status, out, err = p.run("--json", stdin="1/0")
        error = json.loads(out.splitlines()[1])
        check(status == 1 and err == "" and error["name"] == "ZeroDivisionError", (status, out, err))
    with Place(ANSWER % "send('result', 'main'); parts({'application/json': '{\"n\": 1' + '0' * 400 + '}'})") as p:
        check("1" + "0" * 400 in p.run("--json", stdin="1")[1], "numbers of any size")
        status, out, err = p.run(stdin="1")
        check(status == 0 and "--json" in out, (status, out, err))


# ---- results ----

def answer(parts, kind="main"):
    return Place(ANSWER % f"send('result', {kind!r}); parts({parts!r})")


def test_forms_of_results():
    opaque = {"text/plain": "<Thing object>"}
    for parts, want in (
            ({"text/plain": "a\nb\n"}, "a\nb\n"),
            (opaque, "<Thing object>\n"),
            ({"text/plain": "a b\n1 2", "text/html": "<table>"}, "a b\n1 2\n"),
            ({**opaque, "text/html": "<b>x</b>"}, "[html, 8B: --json prints it]\n"),
            ({"text/html": "x" * 5000}, "[html, 4.9K: --json prints it]\n"),
            ({**opaque, "text/markdown": "# a\033[1m"}, "# a?[1m\n"),
            ({**opaque, "text/latex": "$x$"}, "$x$\n"),
            ({**opaque, "application/json": '{"a": ["\\u001b", 1]}'}, '{\n  "a": [\n    "\\u001B",\n    1\n  ]\n}\n'),
            ({**opaque, "application/javascript": "alert(1)"}, "[javascript, 8B: --json prints it]\n"),
            ({"application/x-thing": "data"}, "[application/x-thing: --json prints it]\n"),
            ({"text/plain": "\033]0;x\a\r\0"}, "?]0;x???\n"),
            ({}, ""),
            ({"e2b/chart": '{"type":"bar","title":"a\\u001b[1m","elements":[{}]}'}, '[bar chart "a?[1m": 1 bar]\n')):
        with answer(parts) as p:
            check_equal(p.run(stdin="1"), (0, want, ""), parts)


def test_images():
    png, pdf = b"\x89PNG\r\n\x1a\nrest", b"%PDF-1.5"
    chart = '{"type":"line","title":"CPU","x_label":"time","y_label":null,"elements":[{},{}]}'
    parts = {"text/plain": "<Figure size 640x480>", "image/png": base64.encodebytes(png), "e2b/chart": chart,
             "image/svg+xml": "<svg>\0</svg>", "application/pdf": base64.b64encode(pdf)}
    with answer(parts, "display") as p:
        p.write("figure-1.png", "mine")
        os.symlink("/nowhere", p.work + "/figure-2.png")
        check_equal(p.run(stdin="1"), (0, '[figure-3.png: line chart "CPU": 2 lines, x time]\n'
                                          '[figure-3.svg]\n[figure-3.pdf]\n', ""))
        check_equal([p.read(f"figure-{n}") for n in ("1.png", "3.png", "3.svg", "3.pdf")],
                    [b"mine", png, b"<svg>\0</svg>", pdf])
        os.mkdir(p.work + "/out")
        check_equal(p.run("-o", "out/", stdin="1")[1].splitlines()[1], "[out//figure-1.svg]")
        check_equal(sorted(os.listdir(p.work + "/out")), ["figure-1.pdf", "figure-1.png", "figure-1.svg"])
        before = sorted(os.listdir(p.work))
        out = p.run("--json", stdin="1")[1]
        check(json.loads(out.splitlines()[1])["svg"] == "<svg>\0</svg>", out)
        check_equal(sorted(os.listdir(p.work)), before, "--json saves nothing")
    with answer({"text/plain": "text", "image/png": "not base64!", "image/jpeg": ""}) as p:
        status, out, err = p.run(stdin="1")
        check(status == 125 and out == "text\n" and err.count("left out") == 2, (status, out, err))
        check(os.listdir(p.work) == ["bin"], os.listdir(p.work))


def test_a_figure_of_matplotlib():
    with Place() as p:
        status, out, err = p.run(stdin="import matplotlib.pyplot as plt\nplt.plot([1, 2], label='a')\nplt.show()",
                                 MPLCONFIGDIR=p.root)
        check(status == 0 and out.startswith("[figure-1.png"), (status, out, err))
        check(p.read("figure-1.png").startswith(b"\x89PNG"), "not a PNG")


def test_a_result_that_is_too_long():
    body = ANSWER % "send('result', 'main'); parts({'text/html': 'x' * (70 << 20)}); send('stdout', '-', 'on')"
    with Place(body) as p:
        for options in ([], ["--json"]):
            status, out, err = p.run(*options, stdin="1")
            check(status == 0 and "64 MB" in err and err.count("\n") == 1 and "on" in out and len(out) < 1000,
                  (status, out[:1000], err))


# ---- signals ----

def ready(child):
    check_equal(child.stdout.readline(), b"ready\n")


def children_of(child):
    with open(f"/proc/{child.pid}/task/{child.pid}/children") as file:
        return [int(pid) for pid in file.read().split()]


def gone(pids):
    scene.until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "the sandbox stays")


def test_interrupt():
    with Place() as p:
        p.write("a.py", "import time\ntry:\n    print('ready')\n    time.sleep(1000)\nfinally:\n    print('finally')")
        with p.open("a.py") as child:
            ready(child)
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=PATIENCE_S)
            check_equal((child.returncode, out), (130, b"finally\n"))
            check(b"KeyboardInterrupt" in err, err)


def interrupted_twice(child):
    """Within two seconds, as far as the machine lets us; true if that ended it."""
    child.send_signal(signal.SIGINT)
    check_equal(child.stdout.readline(), b"ignored\n")
    child.send_signal(signal.SIGINT)
    try:
        return child.wait(5) is not None
    except subprocess.TimeoutExpired:
        return False  # those two are forgotten


def test_a_second_interrupt():
    with Place("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nfor code in requests():\n"
               "    send('stdout', '-', 'ready\\n')\n"
               "    while signal.sigwait([signal.SIGINT]): send('stdout', '-', 'ignored\\n')") as p:
        p.write("a.py", "1")
        with p.open("a.py") as child:
            ready(child)
            pids = children_of(child)
            scene.until(lambda: interrupted_twice(child), "it does not end")
            out, err = child.communicate(timeout=PATIENCE_S)
            check(child.returncode == 130 and b"interrupted twice" in err, (child.returncode, err))
            gone(pids)


def test_an_interrupt_before_it_is_ready():
    with Place("time.sleep(1000)") as p, p.open("-", stdin=subprocess.PIPE) as child:
        child.stdin.close()
        scene.until(lambda: children_of(child), "no sandbox")
        pids = children_of(child)
        child.send_signal(signal.SIGINT)
        check_equal(child.wait(PATIENCE_S), 130)
        gone(pids)


def test_ends_from_outside():
    """Whatever ends the command ends the sandbox, too."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        with Place() as p:
            p.write("a.py", "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
                            "print('ready')\nwhile True: time.sleep(1000)")
            with p.open("a.py") as child:
                ready(child)
                pids = children_of(child)
                child.send_signal(number)
                want = -9 if number == signal.SIGKILL else 128 + number
                check_equal(child.wait(PATIENCE_S), want)
                gone(pids)


def test_files_are_complete_at_the_end():
    """The interpreter ends in order: what it buffers is written."""
    with Place() as p:
        check_equal(p.run("--rw", p.work + ":/work", stdin="f = open('out', 'w'); _ = f.write('all')")[0], 0)
        check_equal(p.read("out"), b"all")


def test_help():
    done = subprocess.run([HOTCELL, "help", "code"], capture_output=True, text=True, timeout=PATIENCE_S)
    check(done.returncode == 0 and "--lang" in done.stdout and "--sandbox" in done.stdout, done)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
