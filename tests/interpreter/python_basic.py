"""The Python driver: state, results, output, errors."""
import sys

from harness.tap import check, check_equal, run
from interpreter.driver import Driver

COMMAND = ["/usr/bin/python3", "/opt/hotcell/python/driver.py"]

try:
    shared = Driver(COMMAND)
except AssertionError as problem:
    sys.exit(f"no driver: {problem}")


def test_the_value_of_the_last_expression_is_the_main_result():
    done = shared.execute("x = 1\nx\nx + 1")
    check_equal((done.text, len(done.results), done.stdout), ("2", 1, ""))


def test_state_stays():
    shared.execute("kept = [1]")
    check_equal(shared.execute("kept.append(2); kept").text, "[1, 2]")


def test_print_is_one_frame():
    check_equal(shared.execute("print(1)").pieces["stdout"], ["1\n"])


def test_standard_error_is_apart():
    done = shared.execute("import sys; print('bad', file=sys.stderr)")
    check_equal((done.stdout, done.pieces["stderr"]), ("", ["bad\n"]))


def test_an_exception_is_an_error_and_the_context_lives():
    done = shared.execute("print('before')\nxyz\nprint('behind')")
    check_equal((done.stdout, done.error["name"], done.error["value"]),
                ("before\n", "NameError", "name 'xyz' is not defined"))
    check("xyz" in done.error["traceback"] and "\x1b" not in done.error["traceback"], done.error["traceback"])
    check_equal(shared.execute("1 + 1").text, "2")


def test_executions_are_counted():
    first = shared.execute("not python at all")
    check_equal(shared.execute("!true").count, first.count + 1)


def test_end_of_requests_ends_the_driver():
    with Driver(COMMAND) as driver:
        check_equal(driver.close(), 0)


run(sys.modules[__name__])
