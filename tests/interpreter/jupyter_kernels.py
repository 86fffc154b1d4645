"""The bridge to Jupyter kernels, with ipykernel and xeus-python."""
import json
import sys

from harness.tap import PATIENCE_S, check, check_equal, run
from interpreter.driver import Driver, Failed, Gone

BRIDGE = ["/usr/bin/python3", "/opt/hotcell/jupyter/bridge.py"]

shared = Driver([*BRIDGE, "python3"])


def interrupted(driver):
    driver.start("import time\nprint('go', flush=True)\nwhile True: time.sleep(0.01)")
    driver.wait_for(lambda execution: "go\n" in execution.stdout)
    driver.interrupt()
    done = driver.finish()
    check_equal(done.error["name"].strip("<class '>"), "KeyboardInterrupt")
    after = driver.execute("1 + 1")
    check_equal((after.text, after.error), ("2", None))


def test_results_output_and_state():
    done = shared.execute("x = 20\nprint('out')\nimport sys; print('bad', file=sys.stderr)\nx + 1")
    check_equal((done.text, done.stdout, done.stderr, done.error), ("21", "out\n", "bad\n", None))
    check_equal(shared.execute("x").text, "20")
    check_equal(shared.execute("'it\\'s'").text, "it's")
    check_equal(shared.execute("'a', 'b'").text, "('a', 'b')")


def test_executions_are_counted():
    first = shared.execute("1/0").count
    check_equal(shared.execute("pass", {"SILENT": "1"}).count, first + 1)


def test_errors_have_no_colours():
    error = shared.execute("def f(): return 1/0\nf()").error
    check_equal((error["name"], error["value"]), ("ZeroDivisionError", "division by zero"))
    check("f()" in error["traceback"] and "\x1b" not in error["traceback"], error["traceback"])


def test_what_follows_an_error_at_once_is_executed():
    """The kernel's loop is kept busy for a moment, so that it has not yet done with the error."""
    code = "import asyncio, time\nasyncio.get_event_loop().call_soon(time.sleep, 0.05)\n1/0"
    for unused in range(5):
        check_equal(shared.execute(code).error["name"], "ZeroDivisionError")
        after = shared.execute("1 + 1")
        check_equal((after.text, after.error), ("2", None))


def test_rich_display():
    done = shared.execute("from IPython.display import display, HTML, JSON, Image\n"
                          "display(HTML('<b>x</b>'), JSON({'a': [1]}))\n"
                          "display(Image(b'\\x89PNG\\r\\n\\x1a\\n' + b'x' * 100, format='png'))\n"
                          "display({'application/x+json': {'k': 1}, 'text/odd type': 'x', 'text/x': 'y'}, raw=True)")
    html, document, image, odd = done.displays
    check_equal((html["text/html"], document.json(), len(image["image/png"])), ("<b>x</b>", {"a": [1]}, 144))
    check_equal(odd.parts, {"application/x+json": json.dumps({"k": 1}), "text/x": "y"})


def test_json_that_is_too_long_is_left_out():
    done = shared.execute("display({'application/json': 'x' * (9 << 20), 'text/plain': 'long'}, raw=True)")
    check_equal(done.results[0].parts, {"text/plain": "long"})


def test_much_output():
    check_equal(len(shared.execute("for i in range(2000): print('x' * 1000)").stdout), 2002000)


def test_input_is_refused():
    check_equal(shared.execute("input()").error["name"], "StdinNotImplementedError")
    check_equal(shared.execute("import subprocess; subprocess.run('cat; echo end', shell=True).returncode").text, "0")


def test_pager():
    check("Signature" in shared.execute("?len").stdout, "help is printed")


def test_environment():
    value = "it's \"quoted\" \\ $HOME\nline"
    shared.set_env("GLOBAL", value)
    code = "import os; (os.environ['GLOBAL'], os.environ.get('ONCE'))"
    check_equal(shared.execute(code, {"ONCE": "1"}).text, repr((value, "1")))
    check_equal(shared.execute(code, {"GLOBAL": "2"}).text, repr(("2", None)))
    check_equal(shared.execute(code).text, repr((value, None)))


def test_interrupt():
    interrupted(shared)


def test_an_interrupt_between_executions_does_nothing():
    shared.interrupt()
    check_equal(shared.execute("2 + 2").text, "4")


def test_a_kernel_that_dies_is_an_error():
    with Driver([*BRIDGE, "python3"]) as driver:
        done = driver.execute("print('before', flush=True); import os; os._exit(3)")
        check_equal((done.error["name"], done.error["value"]),
                    ("KernelDied", "The Jupyter kernel 'python3' has ended with status 3."))
        check_equal(driver.child.wait(PATIENCE_S), 0)


def test_a_kernel_that_dies_between_executions_ends_the_bridge():
    with Driver([*BRIDGE, "python3"]) as driver:
        driver.execute("import threading, os; threading.Timer(0.01, os._exit, [0]).start()")
        try:
            driver.next_event()
        except Gone as gone:
            check_equal(gone.status, 0)


def test_a_kernel_in_another_language_s_machine():
    with Driver([*BRIDGE, "xpython"]) as driver:
        done = driver.execute("y = 2\nprint('out')\ny", {"ONCE": "1"})
        check_equal((done.text, done.stdout), ("2", "out\n"))
        check_equal(driver.execute("import os; os.environ.get('ONCE', y)").text, "2")
        check_equal(driver.close(), 0)


def test_kernels_of_the_person_and_interrupts_by_message():
    spec = {"argv": ["/usr/bin/python3", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Mine",
            "language": "python", "interrupt_mode": "message", "env": {"OF_SPEC": "1"}}
    script = "mkdir -p /tmp/jupyter.$$/kernels/mine; printf %s \"$0\" >/tmp/jupyter.$$/kernels/mine/kernel.json; " \
             "JUPYTER_PATH=/tmp/jupyter.$$ exec \"$@\""
    with Driver(["sh", "-c", script, json.dumps(spec), *BRIDGE, "mine"]) as driver:
        check_equal(driver.execute("import os, shutil; shutil.rmtree(os.environ['JUPYTER_PATH']); os.environ['OF_SPEC']").text,
                    "1")
        interrupted(driver)


def test_an_unknown_kernel_says_what_there_is():
    try:
        Driver([*BRIDGE, "brainfuck"])
    except Failed as failed:
        check("'brainfuck'" in str(failed) and "python3" in str(failed) and "install" in str(failed), str(failed))
    else:
        raise AssertionError("it is ready")


def test_without_the_client_it_says_what_to_install():
    try:
        Driver(["/usr/bin/python3", "-S", "/opt/hotcell/jupyter/bridge.py", "python3"])
    except Failed as failed:
        check("install python3-jupyter-client" in str(failed), str(failed))
    else:
        raise AssertionError("it is ready")


run(sys.modules[__name__])
