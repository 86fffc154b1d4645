"""The Python driver: exceptions of every kind, and code that breaks things."""
import sys

from harness.tap import check, check_equal, run
from interpreter.driver import Driver
from interpreter.python import COMMAND, shared

driver = shared()


def fails(code, name, value=None):
    """The error of the code; the context goes on."""
    done = driver.execute(code)
    check(len(done.errors) == 1 and set(done.error.parts) == {"name", "value", "traceback"}, done)
    check_equal(done.error["name"], name, done)
    if value is not None:
        check_equal(done.error["value"], value)
    check("\x1b" not in done.error["traceback"] and name in done.error["traceback"], done.error["traceback"])
    check_equal(driver.execute("6 * 7").text, "42")
    return done


def test_an_exception_is_an_error_and_the_context_lives():
    done = fails("print('before')\nxyz\nprint('behind')", "NameError", "name 'xyz' is not defined")
    check_equal(done.stdout, "before\n")


def test_a_traceback_shows_the_code():
    text = fails("def half(x):\n    return x / 0\n\nhalf(1)", "ZeroDivisionError").error["traceback"]
    check("----> 4 half(1)" in text and "----> 2     return x / 0" in text, text)
    check("hotcell" not in text and "interactiveshell" not in text, text)


def test_a_traceback_of_code_of_an_earlier_execution():
    driver.execute("def third(x):\n    return x / 0")
    text = fails("third(1)", "ZeroDivisionError").error["traceback"]
    check("----> 2     return x / 0" in text and "----> 1 third(1)" in text, text)


def test_chained_exceptions():
    text = fails("try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('v') from e", "ValueError",
                 "v").error["traceback"]
    check("KeyError: 'k'" in text and "direct cause" in text and "ValueError: v" in text, text)


def test_exception_groups():
    fails("raise ExceptionGroup('several', [ValueError(1), TypeError(2)])", "ExceptionGroup",
          "several (2 sub-exceptions)")


def test_syntax_errors():
    text = fails("def f(:", "SyntaxError").error["traceback"]
    check("def f(:" in text and "^" in text, text)
    fails("if True:\nprint(1)", "IndentationError")
    fails("'open", "SyntaxError")
    fails("return 5", "SyntaxError")
    check(driver.execute("x = '\0'").error["name"] in ("ValueError", "SyntaxError"), "a NUL in the code")


def test_exit_ends_the_execution_only():
    driver.execute("kept = 5")
    fails("import sys\nsys.exit(3)\nprint('never')", "SystemExit", "3")
    for code in ("quit()", "exit()", "exit", "quit", "raise SystemExit"):
        check_equal(fails(code, "SystemExit").stderr, "", code)
    fails("exit()\nprint('never')", "SystemExit")
    check_equal(driver.execute("kept").text, "5")


def test_nobody_answers():
    for code in ("input()", "input('name? ')", "import getpass; getpass.getpass()"):
        done = fails(code, "StdinNotImplementedError")
        check("input" in done.error["value"], done)
    check_equal(driver.execute("import sys; sys.stdin.read()").text, "")
    check_equal(driver.execute("!cat").out, b"")


def test_too_deep():
    text = fails("def deep(): return deep()\ndeep()", "RecursionError").error["traceback"]
    check(len(text) < 20000, len(text))


def test_too_large():
    fails("x = bytearray(1 << 60)", "MemoryError")


def test_an_exception_without_a_text():
    fails("class Odd(Exception):\n    def __str__(self): raise ValueError('no')\nraise Odd()", "Odd")
    fails(r"raise type('Ünï', (Exception,), {})('\ud800\n\0')", "Ünï", "\\ud800\n\0")
    fails("raise BaseException('base')", "BaseException", "base")
    fails("raise GeneratorExit", "GeneratorExit", "")


def test_a_traceback_that_cannot_be_made():
    text = fails("get_ipython().InteractiveTB.get_records = None\ndef f(): return 1/0\nf()",
                 "ZeroDivisionError").error["traceback"]
    check("in f" in text and "interactiveshell" not in text, text)
    driver.execute("del get_ipython().InteractiveTB.get_records")


def test_objects_that_cannot_be_shown():
    fails("class Bad:\n    def __repr__(self): raise ValueError('no repr')\nBad()", "ValueError", "no repr")
    done = driver.execute("class Half:\n    def _repr_html_(self): raise ValueError('no html')\n"
                          "    def __repr__(self): return 'half'\nHalf()")
    check_equal((done.text, done.error["value"]), ("half", "no html"))


def test_the_first_error_is_the_error():
    done = driver.execute("try:\n    1/0\nexcept ZeroDivisionError: get_ipython().showtraceback()\nxyz")
    check_equal((len(done.errors), done.error["name"]), (1, "ZeroDivisionError"))
    check("NameError" in done.stderr, done.stderr)


def test_errors_of_threads_are_on_standard_error():
    done = driver.execute("import threading\nt = threading.Thread(target=lambda: 1/0); t.start(); t.join()")
    check_equal(done.errors, [])
    check("ZeroDivisionError" in done.stderr, done.stderr)


def test_a_foreign_excepthook():
    driver.execute("import sys\nkept, sys.excepthook = sys.excepthook, lambda *a: print('mine')")
    fails("1/0", "ZeroDivisionError")
    driver.execute("sys.excepthook = kept")


def test_deleted_builtins_come_back():
    with Driver(COMMAND) as other:
        other.execute("import builtins\nfor name in list(vars(builtins)):\n"
                      "    if name != 'delattr': delattr(builtins, name)")
        check_equal(other.execute("len([1, 2])").text, "2")
        other.execute("import builtins\nbuiltins.len = builtins.isinstance = builtins.str = None")
        check_equal(len(other.execute("1").errors), 1)
        other.execute("del builtins.len, builtins.isinstance, builtins.str")


def test_broken_modules():
    with Driver(COMMAND) as other:
        other.execute("import json, os, threading, time, sys, base64\n"
                      "json.dumps = json.JSONEncoder = os.write = os.read = time.monotonic = base64.b64encode = None\n"
                      "threading.RLock = threading.Lock = threading.Thread = None")
        check_equal(other.execute("print('a')\n[1, 2]").text, "[1, 2]")
        check_equal(other.execute("{'a': 1}").main.json(), {"a": 1})


def test_a_folder_that_is_gone():
    with Driver(COMMAND) as other:
        other.execute("import os, tempfile\nfolder = tempfile.mkdtemp()\nos.chdir(folder)\nos.rmdir(folder)")
        check_equal(other.execute("1 + 1").text, "2")
        check_equal(other.execute("!echo still").out[-6:], b"still\n")
        check_equal(other.execute("1/0").error["name"], "ZeroDivisionError")
        check_equal(other.execute("%cd /").stdout, "/\n")


def test_sys_path_and_modules_are_the_users():
    with Driver(COMMAND) as other:
        other.execute("import sys\nsys.path.clear()\nsys.modules.clear()")
        check(other.execute("1 + 1").finished, "it answers")


def test_a_trace_function():
    with Driver(COMMAND) as other:
        other.execute("import sys\ndef trace(*unused): raise ValueError('trace')\nsys.settrace(trace)")
        for number in range(3):
            check(other.execute("len('abc')").finished, "it answers")


run(sys.modules[__name__])
