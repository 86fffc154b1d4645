"""The Python driver: SIGINT ends what runs, and nothing else."""
import sys

from harness.tap import check, check_equal, run
from interpreter.python import shared

driver = shared()
driver.execute("import asyncio, subprocess, threading, time")


def interrupted(code, name="KeyboardInterrupt"):
    """Code that has printed `go` is interrupted."""
    driver.start(code)
    driver.wait_for(lambda execution: "go" in execution.stdout or b"go" in execution.out)
    driver.interrupt()
    done = driver.finish()
    check_equal(done.error and done.error["name"], name, done)
    check_equal(driver.execute("1 + 1").text, "2")
    return done


def test_sleep():
    text = interrupted("print('go', flush=True)\ntime.sleep(1000)").error["traceback"]
    check("----> " in text and "hotcell" not in text, text)


def test_a_busy_loop():
    interrupted("print('go', flush=True)\nwhile True: pass")


def test_a_loop_of_prints():
    interrupted("while True: print('go')")


def test_a_shell_escape():
    interrupted("!echo go; sleep 1000")
    interrupted("x = 1\n!echo go; sleep 1000; echo never")


def test_a_captured_command():
    interrupted("print('go', flush=True)\nx = !sleep 1000")


def test_a_subprocess():
    interrupted("subprocess.run('echo go; exec sleep 1000', shell=True)")


def test_a_cell_of_bash():
    done = driver.start("%%bash\necho go\nsleep 1000")
    driver.wait_for(lambda execution: "go" in execution.stdout)
    driver.interrupt()
    done = driver.finish()
    check(done.finished, done)
    check_equal(driver.execute("1 + 1").text, "2")


def test_waiting_for_a_lock():
    interrupted("print('go', flush=True)\nthreading.Event().wait()")


def test_await():
    done = interrupted("async def wait():\n    try:\n        print('go', flush=True)\n        await asyncio.sleep(1000)\n"
                       "    finally:\n        print('cleaned')\nawait wait()")
    check("cleaned\n" in done.stdout, done)
    check("Cancelled" not in done.error["traceback"].splitlines()[-1], done.error["traceback"])


def test_a_busy_coroutine():
    interrupted("async def busy():\n    print('go', flush=True)\n    while True: pass\nawait busy()")


def test_a_coroutine_that_catches_everything():
    driver.start("""
async def stubborn():
    caught = 0
    while caught < 3:
        try:
            print(f'caught {caught}', flush=True)
            await asyncio.sleep(1000)
        except (asyncio.CancelledError, KeyboardInterrupt):
            caught += 1
    return caught
await stubborn()""")
    for count in range(3):
        driver.wait_for(lambda execution: f"caught {count}\n" in execution.stdout)
        driver.interrupt()
    done = driver.finish()
    check(done.text == "3" or done.error["name"] == "KeyboardInterrupt", done)
    check_equal(driver.execute("await asyncio.sleep(0, 4)").text, "4")


def test_asyncio_run():
    interrupted("async def main():\n    print('go', flush=True)\n    await asyncio.sleep(1000)\nasyncio.run(main())")


def test_user_code_may_catch_it():
    driver.start("""
caught = 0
while caught < 3:
    try:
        print(f'caught {caught}', flush=True)
        time.sleep(1000)
    except KeyboardInterrupt:
        caught += 1
'on'""")
    for count in range(3):
        driver.wait_for(lambda execution: f"caught {count}\n" in execution.stdout)
        driver.interrupt()
    done = driver.finish()
    check_equal((done.text, done.errors), ("on", []))


def test_a_handler_of_the_user_lasts_for_one_execution():
    driver.start("import signal\nsignal.signal(signal.SIGINT, lambda *a: print('mine', flush=True))\n"
                 "print('go', flush=True)\nwhile True: time.sleep(0.001)")
    driver.wait_for(lambda execution: execution.stdout == "go\n")
    driver.interrupt()
    driver.wait_for(lambda execution: "mine\n" in execution.stdout)
    driver.execution = None
    driver.kill()
    globals().update(driver=shared())
    driver.execute("import asyncio, subprocess, threading, time, signal")
    driver.execute("signal.signal(signal.SIGINT, signal.SIG_IGN)")
    interrupted("print('go', flush=True)\ntime.sleep(1000)")


def test_between_executions_it_means_nothing():
    for number in range(20):
        driver.interrupt()
        check_equal(driver.execute(f"{number}").text, str(number))
    driver.execute("await asyncio.sleep(0)")
    driver.interrupt()
    check_equal(driver.execute("3").text, "3")


def test_at_every_moment_of_an_execution():
    """Wherever it comes, the execution ends in order, with or without an error, and the next one is not hit."""
    outcomes = set()
    for number in range(200):
        driver.start(f"for i in range({number % 8} * 200): pass\nx = [i for i in range({number % 5} * 100)]\nlen(x)")
        driver.wait_for(lambda execution: execution.count is not None)
        for _ in range(number % 3 + 1):
            driver.interrupt()
        done = driver.finish()
        check(len(done.errors) <= 1 and (done.errors or done.text == str(number % 5 * 100)), done)
        outcomes.add(bool(done.errors))
        check_equal(driver.execute("7").text, "7")
    check(True in outcomes, "some were interrupted")


def test_a_chart_being_drawn():
    driver.execute("import matplotlib.pyplot as plt")
    driver.start("print('go', flush=True)\nwhile True:\n    plt.plot(range(1000)); plt.show()")
    driver.wait_for(lambda execution: execution.results)
    driver.interrupt()
    check(driver.finish().finished, "ended")
    check_equal(driver.execute("plt.close('all'); 5").text, "5")


run(sys.modules[__name__])
