"""TAP for tests in Python: runs the functions test_* of a module, in order, each with a time limit.

A test fails by raising; `check` and `check_equal` do so with a readable message.
"""
import os
import signal
import sys
import traceback

# Bounds, of what never comes: a busy machine may stand still for seconds at any point, and no test counts on one.
TIMEOUT_S = 300  # of a test
PATIENCE_S = 120  # of one step of it


class Skip(Exception):
    pass


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def check_equal(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def sanitized():
    with open(os.environ["HOTCELL"], "rb") as file:
        return b"__asan_init" in file.read()


def skip_if_sanitized(reason):
    """Some things cannot work with a sanitizer's runtime in hotcell: it reserves terabytes of address space,
    reads /proc, and says what it thinks on standard error."""
    if sanitized():
        raise Skip(f"sanitizers: {reason}")


def on_alarm(*unused):
    raise TimeoutError(f"time is up after {TIMEOUT_S} s")


def run(module):
    wanted = sys.argv[1:]
    tests = [(name[5:], function) for name, function in vars(module).items()
             if name.startswith("test_") and callable(function)]
    failed = 0
    signal.signal(signal.SIGALRM, on_alarm)
    for number, (name, function) in enumerate(tests, 1):
        if wanted and not any(w in name for w in wanted):
            continue
        try:
            signal.alarm(TIMEOUT_S)
            function()
            print(f"ok {number} {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} {name} # SKIP {reason}", flush=True)
        except Exception as error:
            failed += 1
            for line in traceback.format_exception(error)[-3:]:
                print("# " + line.rstrip().replace("\n", "\n# "))
            print(f"not ok {number} {name}", flush=True)
        finally:
            signal.alarm(0)
    sys.exit(1 if failed else 0)
