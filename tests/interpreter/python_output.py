"""The Python driver: what is printed, by whomever."""
import sys

from harness.tap import check, check_equal, run
from interpreter.driver import Driver
from interpreter.python import COMMAND, shared

driver = shared()


def end(text_before):
    """Waits for output while the code still runs, then interrupts it."""
    driver.wait_for(lambda execution: execution.stdout == text_before)
    driver.interrupt()
    check_equal(driver.finish().error["name"], "KeyboardInterrupt")


def test_print_is_one_frame():
    check_equal(driver.execute("print(1)").pieces["stdout"], ["1\n"])
    check_equal(driver.execute("print('a', 'b\\nc', end='!\\n')").pieces["stdout"], ["a b\nc!\n"])


def test_standard_error_is_apart():
    done = driver.execute("import sys; print('bad', file=sys.stderr)")
    check_equal((done.stdout, done.pieces["stderr"]), ("", ["bad\n"]))


def test_a_line_is_seen_while_the_code_runs():
    driver.start("import time\nprint('now')\ntime.sleep(1000)")
    end("now\n")


def test_a_second_line_at_once_is_seen_too():
    driver.start("print('one')\nprint('two')\nprint('thr', end='')\ntime.sleep(1000)")
    end("one\ntwo\nthr")


def test_a_flushed_part_of_a_line_is_a_frame():
    done = driver.execute("print('a', end='', flush=True)\nprint('b', end='', flush=True)")
    check_equal(done.pieces["stdout"], ["a", "b"])


def test_a_loop_of_prints_is_not_a_frame_per_line():
    done = driver.execute("for i in range(20000): print(i)")
    check_equal(done.stdout, "".join(f"{i}\n" for i in range(20000)))
    check(len(done.pieces["stdout"]) < 10000, len(done.pieces["stdout"]))


def test_much_at_once():
    done = driver.execute("print('x' * 20_000_000)")
    check(done.stdout == "x" * 20_000_000 + "\n", len(done.stdout))
    check(len(done.pieces["stdout"]) > 1, "it streams")


def test_order_of_output_and_results():
    done = driver.execute("print('a')\ndisplay(1)\nprint('b', end='')\n2")
    check_equal(done.order, ["count", "stdout", "result", "part", "close", "stdout", "result", "part", "close", "done"])
    done = driver.execute("print('a', end='')\n1/0")
    check(done.order.index("stdout") < done.order.index("error"), done.order)


def test_text_that_cannot_be_encoded():
    check_equal(driver.execute("print('a\\ud800b')").stdout, "a\\ud800b\n")


def test_bytes():
    done = driver.execute("import sys\nsys.stdout.write('t')\nsys.stdout.buffer.write('é'.encode()[:1])\n"
                          "sys.stdout.buffer.write('é'.encode()[1:] + b'\\n')\nNone")
    check_equal(done.stdout, "té\n")
    check_equal(driver.execute("sys.stdout.buffer.write(b'a\\xffb\\xc3'); None").stdout, "a\ufffdb\ufffd")


def test_streams_are_text_streams():
    check_equal(driver.execute("[sys.stdout.encoding, sys.stdout.isatty(), sys.stdout.writable(), sys.stdout.closed, "
                               "sys.stdout.fileno(), sys.stderr.fileno(), sys.stdout is sys.__stdout__]").text,
                "['utf-8', False, True, False, 1, 2, True]")
    check_equal(driver.execute("sys.stdout.write(1)").error["name"], "TypeError")
    driver.execute("sys.stdout.close()\nsys.stdout.reconfigure(line_buffering=True)")
    check_equal(driver.execute("sys.stdout.writelines(['a', 'b'])").stdout, "ab")


def test_subprocesses_print_to_the_descriptors():
    done = driver.execute("import subprocess, os\nsubprocess.run('echo out; echo err >&2', shell=True)\n"
                          "os.write(1, b'raw\\n')\nos.system('echo system')\nNone")
    check_equal((done.out, done.err), (b"out\nraw\nsystem\n", b"err\n"))
    done = driver.execute("subprocess.run('echo to', shell=True, stdout=sys.stderr)\nNone")
    check_equal(done.err, b"to\n")


def test_the_c_library_prints():
    done = driver.execute("import ctypes\nctypes.CDLL(None).printf(b'from C\\n')\nNone")
    check_equal(done.out, b"from C\n")


def test_threads_that_print():
    done = driver.execute("""
        import threading
        def say(name):
            for i in range(500): print(f"{name} {i}\\n", end="")
        threads = [threading.Thread(target=say, args=(n,)) for n in "abcd"]
        for t in threads: t.start()
        for t in threads: t.join()
    """)
    lines = done.stdout.splitlines()
    check_equal(sorted(lines), sorted(f"{n} {i}" for n in "abcd" for i in range(500)))


def test_a_thread_left_behind_prints_in_between():
    driver.execute("""
        stop = threading.Event()
        def chatter():
            while not stop.is_set(): print('noise'); display('noise')
        left = threading.Thread(target=chatter)
        left.start()
    """)
    for number in range(20):
        check_equal(driver.execute(f"{number}").main["text/plain"], str(number))
    driver.execute("stop.set(); left.join()")
    done = driver.execute("print('quiet')")
    check(done.stdout.endswith("quiet\n"), done.stdout)


def test_forked_children_print_to_the_descriptor():
    done = driver.execute("import os\nprint('parent', end='')\npid = os.fork()\nif pid == 0:\n    print('child')\n"
                          "    display('nothing')\n    os._exit(0)\n_ = os.waitpid(pid, 0)")
    check_equal((done.stdout, done.out, done.results), ("parent", b"child\n", []))


def test_a_forked_child_never_becomes_the_driver():
    done = driver.execute("pid = os.fork()\nif pid: status = os.waitpid(pid, 0)[1]\nprint('both')")
    check_equal((done.stdout, done.out), ("both\n", b"both\n"))
    check_equal(driver.execute("status").text, "0")
    done = driver.execute("import sys\npid = os.fork()\nif pid == 0: sys.exit(5)\nos.waitpid(pid, 0)[1]")
    check_equal((done.text, done.err), ("1280", b""))
    done = driver.execute("pid = os.fork()\nif pid == 0: 1/0\nos.waitpid(pid, 0)[1]")
    check_equal((done.text, b"ZeroDivisionError" in done.err), ("256", True))


def test_a_pool_of_processes():
    done = driver.execute("import multiprocessing\ndef square(x):\n    print('at', x)\n    return x * x\n"
                          "with multiprocessing.Pool(2) as pool: print(pool.map(square, [1, 2, 3]))")
    check_equal((done.stdout, sorted(done.out.splitlines())), ("[1, 4, 9]\n", [b"at 1", b"at 2", b"at 3"]))


def test_warnings_and_logs_are_on_standard_error():
    check("careful" in driver.execute("import warnings; warnings.warn('careful')").stderr, "the warning")
    check_equal(driver.execute("import logging; logging.error('log')").stderr, "ERROR:root:log\n")


def test_a_replaced_stream_is_the_users():
    done = driver.execute("import io\nkept, sys.stdout = sys.stdout, io.StringIO()\nprint('away')")
    check_equal(done.stdout, "")
    check_equal(driver.execute("text, sys.stdout = sys.stdout.getvalue(), kept\ntext").text, "away\\n")
    check_equal(driver.execute("print('here')").stdout, "here\n")


def test_printing_from_a_signal_handler():
    done = driver.execute("import signal\nsignal.signal(signal.SIGALRM, lambda *a: print('alarm'))\n"
                          "signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)\n"
                          "for i in range(20000): print('line', i)\nsignal.setitimer(signal.ITIMER_REAL, 0)\nNone")
    got = [line for line in done.stdout.splitlines() if line.startswith("line")]
    check(len([line for line in got if line[5:].isdigit()]) > 15000, done.stdout[-300:])


def test_printing_from_a_signal_handler_beside_threads():
    done = driver.execute("""
        import signal, threading
        signal.signal(signal.SIGALRM, lambda *a: print('alarm'))
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        def chat():
            for i in range(3000): print('thread', i)
        threads = [threading.Thread(target=chat) for _ in range(3)]
        for t in threads: t.start()
        for i in range(3000): print('main', i)
        for t in threads: t.join()
        signal.setitimer(signal.ITIMER_REAL, 0)
    """)
    check(done.finished and len(done.stdout) > 100000, done)


def test_handlers_that_raise_break_no_frame():
    """Rules of the protocol are checked by the test's driver on every frame."""
    driver.execute("def raises(*unused): raise TimeoutError('mine')\nsignal.signal(signal.SIGALRM, raises)\nNone")
    for number in range(60):
        driver.start(f"signal.setitimer(signal.ITIMER_REAL, {0.0003 * (number % 7 + 1)})\n"
                     "for i in range(2000): print('x' * 100)")
        check(driver.finish().finished, "ended")
    driver.execute("signal.setitimer(signal.ITIMER_REAL, 0)")
    check_equal(driver.execute("7").text, "7")


def test_closed_descriptors():
    with Driver(COMMAND) as other:
        other.execute("import os\nfor fd in range(3, 100):\n    try: os.close(fd)\n    except OSError: pass")
        check_equal(other.execute("print('still'); 5").text, "5")
        other.execute("os.close(1)")
        check_equal(other.execute("print('there'); 6").stdout, "there\n")


run(sys.modules[__name__])
