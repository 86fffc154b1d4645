"""The Python driver: magics, shell escapes, await."""
import sys

from harness.tap import check, check_equal, run
from interpreter.python import shared

driver = shared()
driver.execute("import asyncio\nasync def five():\n    await asyncio.sleep(0)\n    return 5")


def test_magics():
    check("Wall time" in driver.execute("%time 1 + 1").stdout, "%time")
    done = driver.execute("%%time\nx = 5\nx")
    check("Wall time" in done.stdout and done.text == "5", done)
    check("loop" in driver.execute("%timeit -n1 -r1 pass").stdout, "%timeit")
    check("x" in driver.execute("%who").stdout.split(), "%who")
    check_equal(driver.execute("%env NEW=value\n%env NEW").text, "value")
    check("%cd" in driver.execute("%lsmagic").text, "%lsmagic")
    check_equal(driver.execute("%precision 2\n3.14159").text, "3.14")
    driver.execute("%precision")


def test_magics_that_do_not_exist():
    for code in ("%nothing", "%%nothing\nx"):
        error = driver.execute(code).error
        check(error["name"] == "UsageError" and "not found" in error["value"], error)


def test_magics_of_the_user():
    driver.execute("from IPython.core.magic import register_line_magic\n"
                   "@register_line_magic\ndef twice(line): return line * 2")
    check_equal(driver.execute("%twice ab").text, "abab")


def test_all_magics_may_be_typed_without_percent():
    """The driver knows their names before it has loaded them."""
    names = driver.execute("import hotcell_driver.lazy\n"
                           "known = hotcell_driver.lazy.AUTOMAGIC\n"
                           "magics = get_ipython().magics_manager.magics\n"
                           "sorted({*magics['line'], *magics['cell']} - known - {'twice', 'store'})").main.json()
    check_equal(names, [])


def test_folders():
    check_equal(driver.execute("%cd /usr").stdout, "/usr\n")
    check_equal(driver.execute("import os; os.getcwd()").text, "/usr")
    check_equal(driver.execute("!pwd").out, b"/usr\n")
    check_equal(driver.execute("pwd").text, "/usr")
    driver.execute("%cd -q /")
    check_equal(driver.execute("%cd -").stdout, "/usr\n")
    done = driver.execute("%cd /does/not/exist")
    check("No such" in done.stdout + done.stderr, done)


def test_shell_escapes():
    done = driver.execute("!echo out; echo err >&2; exit 3")
    check_equal((done.out, done.err, done.results), (b"out\n", b"err\n", []))
    check_equal(driver.execute("_exit_code").text, "3")
    check_equal(driver.execute("word = 'w'\n!echo {word} $word").out, b"w w\n")
    check_equal(driver.execute("files = !echo a; echo b\nfiles").text, "['a', 'b']")
    check_equal(driver.execute("for i in range(2):\n    !echo {i}").out, b"0\n1\n")
    check_equal(driver.execute("!!echo list").text, "['list']")
    check_equal(driver.execute("import os\nos.environ['FROM'] = 'python'\n!echo $FROM").out, b"python\n")
    check_equal(driver.execute("ls -d /usr").out, b"/usr/\n")


def test_output_of_a_shell_escape_is_seen_while_it_runs():
    driver.start("!echo now; sleep 1000")
    driver.wait_for(lambda execution: execution.out == b"now\n")
    driver.interrupt()
    check_equal(driver.finish().error["name"], "KeyboardInterrupt")


def test_cells_of_other_languages():
    check_equal(driver.execute("%%bash\nx=5\necho $((x + 1))").stdout, "6\n")
    check_equal(driver.execute("%%sh\necho err >&2").stderr, "err\n")
    check_equal(driver.execute("%%bash\nexit 4").error["name"], "CalledProcessError")
    check_equal(driver.execute("%%html\n<b>x</b>").displays[0]["text/html"], "<b>x</b>\n")
    check_equal(driver.execute("%%python3\nprint(1)").stdout, "1\n")


def test_files():
    driver.execute("import tempfile, os\nos.chdir(tempfile.mkdtemp())")
    driver.execute("%%writefile part.py\nimport sys\nvalue = 6\nprint('run', sys.argv[1:])")
    check_equal(driver.execute("%run part.py a b").stdout, "run ['a', 'b']\n")
    check_equal(driver.execute("value").text, "6")
    check_equal(driver.execute("import part; part.value").text, "6")
    check_equal(driver.execute("%run missing.py").errors != [], True)


def test_help_is_printed():
    check("number of items" in driver.execute("len?").stdout, "?")
    check("def own" in driver.execute("def own(): pass\n").stdout + driver.execute("own??").stdout, "??")


def test_pip():
    done = driver.execute("%pip --version")
    check(done.out.startswith(b"pip ") or b"No module named pip" in done.out + done.err, done)


def test_await():
    check_equal(driver.execute("await five()").text, "5")
    check_equal(driver.execute("x = await five()\nasync with asyncio.Lock(): y = x\ny + 1").text, "6")
    check_equal(driver.execute("[i async for i in (n async for n in asyncio.as_completed([]))] if 0 else 0").text, "0")
    check_equal(driver.execute("await nothing()").error["name"], "NameError")
    check_equal(driver.execute("async def bad(): raise KeyError('k')\nawait bad()").error["name"], "KeyError")


def test_loops_that_the_code_runs_itself():
    check_equal(driver.execute("asyncio.run(five())").text, "5")
    check_equal(driver.execute("asyncio.get_event_loop().run_until_complete(five())").text, "5")
    check_equal(driver.execute("loop = asyncio.new_event_loop()\nloop.run_until_complete(five())").text, "5")
    check_equal(driver.execute("await five()\nasyncio.run(five())").error["name"], "RuntimeError")
    check_equal(driver.execute("async def nested(): asyncio.run(five())\nawait nested()").error["name"], "RuntimeError")
    check_equal(driver.execute("await five()").text, "5")


def test_tasks_live_on():
    driver.execute("""
        seen = []
        async def background():
            for i in range(3):
                await asyncio.sleep(0.001)
                seen.append(i)
        task = asyncio.create_task(background())
    """)
    check_equal(driver.execute("await task\nseen").text, "[0, 1, 2]")


def test_tasks_run_while_the_driver_waits():
    driver.execute("ticks, stop = [], False\nasync def tick():\n    while not stop:\n        ticks.append(1)\n"
                   "        await asyncio.sleep(0.001)\nticking = asyncio.create_task(tick())")
    before = 0
    for _ in range(2000):  # code that does not await: only between executions the loop runs
        if (before := int(driver.execute("len(ticks)").text)) > 3:
            break
    check(before > 3, before)
    driver.execute("stop = True\nawait ticking")


def test_a_task_that_fails_between_executions():
    driver.execute("async def fails(): raise ValueError('late')\nasync def ends(): raise SystemExit\n"
                   "async def stops(): asyncio.get_running_loop().stop()\n"
                   "tasks = [asyncio.create_task(f()) for f in (fails, ends, stops)]")
    for number in range(10):
        check_equal(driver.execute(f"{number}").text, str(number))
    check_equal(driver.execute("await five()").text, "5")


def test_a_closed_loop():
    driver.execute("asyncio.get_event_loop().close()")
    check_equal(driver.execute("1").text, "1")
    check_equal(driver.execute("await five()").text, "5")


def test_subprocesses_of_asyncio():
    done = driver.execute("p = await asyncio.create_subprocess_shell('echo out', stdout=asyncio.subprocess.PIPE)\n"
                          "(await p.communicate())[0]")
    check_equal(done.text, "b'out\\n'")


def test_completion_and_inspection():
    check_equal(driver.execute("get_ipython().complete('%whos', '%whos', 5)[1]").text, "['%whos']")
    check("Return the number" in driver.execute("get_ipython().object_inspect('len')['docstring']").text, "inspect")


def test_history():
    driver.execute("'remember me'")
    check("'remember me'" in driver.execute("%history").stdout, "history")


def test_storage():
    driver.execute("stored = {'a': 1}\n%store stored\ndel stored\n%store -r stored")
    check_equal(driver.execute("stored").text, "{'a': 1}")
    driver.execute("%store -d stored")


def test_variables_are_reset():
    driver.execute("gone = 1\n%reset -f")
    check_equal(driver.execute("gone").error["name"], "NameError")
    check_equal(driver.execute("1 + 1").text, "2")
    check_equal(driver.execute("exit()").error["name"], "SystemExit")


def test_the_terminals_shell_can_still_be_imported():
    check_equal(driver.execute("from IPython import embed, start_ipython\nimport IPython.terminal.embed, sqlite3, pygments\n"
                               "[embed.__module__ == 'IPython.terminal.embed' or callable(embed), "
                               "type(sqlite3).__name__, pygments.highlight.__name__]").text, "[True, 'module', 'highlight']")


run(sys.modules[__name__])
