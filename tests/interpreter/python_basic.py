"""The Python driver: state, results, counting, variables of the environment, the ends of a driver."""
import sys

from harness.tap import check, check_equal, run
from interpreter.driver import Driver, Failed, Gone
from interpreter.python import COMMAND, shared

driver = shared()


def test_the_value_of_the_last_expression_is_the_main_result():
    done = driver.execute("x = 1\nx\nx + 1")
    check_equal((done.text, len(done.results), done.stdout), ("2", 1, ""))


def test_what_is_no_expression_has_no_result():
    for code in ("x = 1", "None", "for i in range(2): i", "5;", "", "  \n", "# nothing"):
        done = driver.execute(code)
        check_equal((done.results, done.errors), ([], []), code)


def test_state_stays():
    driver.execute("kept = [1]\ndef grow(): kept.append(len(kept))")
    driver.execute("import math")
    check_equal(driver.execute("grow(); kept, math.pi > 3").text, "([1, 1], True)")


def test_names_of_results_before():
    driver.execute("41 + 1")
    check_equal(driver.execute("_ + 1").text, "43")
    number = driver.execute("'out'").count
    check_equal(driver.execute(f"Out[{number}] + _{number} + In[{number}]").text, "outout'out'")


def test_leading_indentation_is_taken_off():
    check_equal(driver.execute("""
        import os
        if True:
            y = 7
        y
    """).text, "7")
    check_equal(driver.execute("    1 + 1").text, "2")


def test_one_pair_of_quotes_is_taken_off():
    for code, text in (("'abc'", "abc"), ('"it\'s"', "it's"), ("\"'x'\"", "'x'"), ("b'x'", "b'x'"), ("''", ""),
                       ("'a\\nb'", "a\\nb")):
        check_equal(driver.execute(code).text, text, code)


def test_text_that_is_no_ascii():
    check_equal(driver.execute("'žluťoučký 🐍'").text, "žluťoučký 🐍")
    check_equal(driver.execute("print('日本')").stdout, "日本\n")
    check_equal(driver.execute("'\\udc80'").text, "\\udc80")


def test_executions_are_counted():
    first = driver.execute("not python at all")
    check_equal(driver.execute("!true").count, first.count + 1)
    check_equal(driver.execute("").count, first.count + 2)
    check_equal(driver.execute("1").count, first.count + 3)


def test_long_code():
    lines = "\n".join(f"v{i} = {i}" for i in range(20000))
    check_equal(driver.execute(lines + "\nv19999").text, "19999")
    text = "x" * 1_000_000
    check_equal(driver.execute(f"len('{text}')").text, "1000000")


def test_a_variable_for_one_execution():
    driver.set_env("KEPT", "one")
    code = "import os; [os.environ.get('KEPT'), os.environ.get('ONCE')]"
    check_equal(driver.execute(code).text, "['one', None]")
    check_equal(driver.execute(code, env={"KEPT": "two", "ONCE": "a=b\nc"}).text, "['two', 'a=b\\nc']")
    check_equal(driver.execute(code).text, "['one', None]")
    check_equal(driver.execute("!echo $KEPT-$ONCE", env={"ONCE": "ü"}).out, "one-ü\n".encode())


def test_a_variable_for_one_execution_goes_whatever_happens():
    check_equal(driver.execute("1/0", env={"ONCE": "x"}).error["name"], "ZeroDivisionError")
    check_equal(driver.execute("del os.environ['ONCE']", env={"ONCE": "x"}).errors, [])
    check_equal(driver.execute("os.environ.get('ONCE')").results, [])


def test_variables_that_cannot_be():
    driver.set_env("", "x")
    check_equal(driver.execute("1", env={"A\0B": "x"}).error["name"], "ValueError")
    check_equal(driver.execute("1").text, "1")


def test_main_is_the_users():
    check_equal(driver.execute("__name__").text, "__main__")
    check_equal(driver.execute("import sys; sys.path[0] == '' and not any('hotcell' in p for p in sys.path)").text, "True")
    check_equal(driver.execute("sys.argv").text, "['']")
    done = driver.execute("""
        import pickle
        class Thing: pass
        type(pickle.loads(pickle.dumps(Thing()))) is Thing
    """)
    check_equal(done.text, "True")


def test_modules_of_the_folder_can_be_imported():
    driver.execute("import os, tempfile; folder = tempfile.mkdtemp(); os.chdir(folder)\n"
                   "for name in ('protocol', 'streams', 'driver', 'display'):\n"
                   "    open(name + '.py', 'w').write('mine = True')")
    check_equal(driver.execute("import protocol, streams, driver, display\n"
                               "protocol.mine and streams.mine and driver.mine").text, "True")
    driver.execute("os.chdir('/')")


def test_end_of_requests_ends_the_driver():
    with Driver(COMMAND) as other:
        other.execute("import atexit; atexit.register(lambda: print('bye', flush=True))")
        check_equal(other.close(), 0)


def test_a_driver_that_is_killed():
    with Driver(COMMAND) as other:
        other.start("import os; print('last', flush=True); os._exit(3)")
        try:
            other.finish()
        except Gone as gone:
            check_equal(gone.status, 3)
        else:
            raise AssertionError("it lives")
        check_equal(other.execution.stdout, "last\n")


def test_a_crash_says_where():
    with Driver(COMMAND) as other:
        other.start("import ctypes\nctypes.string_at(1)")
        try:
            other.finish()
        except Gone:
            check(b"Segmentation fault" in other.execution.err, other.execution)
        else:
            raise AssertionError("it lives")


def test_without_ipython_it_says_what_to_install():
    code = "import sys; sys.modules['IPython'] = None; sys.argv = sys.argv[1:]; sys.path[0] = '/opt/hotcell/python'; " \
           "exec(compile(open(sys.argv[0]).read(), sys.argv[0], 'exec'))"
    try:
        Driver(["/usr/bin/python3", "-c", code, "/opt/hotcell/python/driver.py"])
    except Failed as failed:
        check("python3-ipython" in str(failed), failed)
    else:
        raise AssertionError("it works")


def test_a_home_that_cannot_be_written():
    with Driver(COMMAND, env={"HOME": "/proc"}) as other:
        check_equal(other.execute("1 + 1").text, "2")
        check_equal(other.execute("%cd /tmp").stdout, "/tmp\n")
        check_equal(other.execute("thing = 5\n%store thing").errors, [])


run(sys.modules[__name__])
