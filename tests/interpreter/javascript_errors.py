"""The JavaScript driver: errors, and what harms the driver that runs them."""
import sys
import time

from harness.tap import check, check_equal, run
from interpreter.driver import Gone
from interpreter.javascript import start

shared = start()


def error(code):
    done = shared.execute(code)
    check(done.error, f"no error: {code}: {done}")
    return done.error


def test_an_exception_is_an_error_and_the_context_lives():
    done = shared.execute("console.log('before')\nnot_there\nconsole.log('behind')")
    check_equal((done.stdout, done.error["name"], done.error["value"]), ("before\n", "ReferenceError", "not_there is not defined"))
    check_equal(shared.execute("1 + 1").text, "2")


def test_tracebacks_show_the_code_as_it_was_sent():
    found = error("const x = 1; function inner() {\n  let y = 2; throw new TypeError('bad')\n}\nlet z; await 0; inner()")
    lines = found["traceback"].split("\n")
    check_equal(found["name"], "TypeError")
    number = shared.execute("0").count - 1
    check_equal(lines, ["TypeError: bad", f"    at inner (<cell {number}>:2:20)", f"    at <cell {number}>:4:17"])


def test_tracebacks_reach_into_earlier_executions():
    first = shared.execute("function thrower() {\n\n  throw new Error('deep')\n}").count
    found = error("thrower()")
    check(f"at thrower (<cell {first}>:3:9)" in found["traceback"], found["traceback"])
    check(f"at <cell {first + 1}>:1:1" in found["traceback"], found["traceback"])


def test_no_frames_of_the_driver():
    for code in ("null.x", "require('./nope')", "import './nope.mjs'", "[1].forEach(() => { throw new Error('x') })",
                 "JSON.parse('{')", "await Promise.reject(new Error('r'))"):
        trace = error(code)["traceback"]
        check("javascript/lib" not in trace and "__hotcell" not in trace and "\x1b" not in trace, trace)
    check("javascript/lib" not in shared.execute("new Error('shown').stack").text, "shown")


def test_causes_and_properties_are_in_the_traceback():
    trace = error("throw Object.assign(new Error('outer', { cause: new Error('reason') }), { code: 'E_X' })")["traceback"]
    check("reason" in trace and "E_X" in trace, trace)


def test_anything_can_be_thrown():
    for code, value in (("throw 'text'", "text"), ("throw 42", "42"), ("throw { a: 1 }", "{ a: 1 }"), ("throw null", "null"),
                        ("throw undefined", "undefined"), ("await Promise.reject(5)", "5")):
        check_equal(error(code)["value"], value, code)
    check_equal(error("class Own extends Error {}; throw new Own('m')")["name"], "Own")
    check_equal(error("throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } })")["name"], "Error")
    check_equal(error("throw Object.defineProperty(new Error('m'), 'stack', { get() { throw 1 } })")["value"], "m")


def test_syntax_errors_have_their_place():
    found = error("let fine = 1\nlet broken = 5 5")
    check_equal((found["name"], found["value"]), ("SyntaxError", "Unexpected number"))
    check("<cell" in found["traceback"] and ":2\nlet broken = 5 5\n               ^\n" in found["traceback"], found["traceback"])
    check_equal(shared.execute("typeof fine").text, "undefined")
    for code in ("return 5", "let a; let a", "function (", "'", "`", "await = 5", "for (const x of) ;", "\\"):
        check_equal(error(code)["name"], "SyntaxError", code)


def test_unhandled_rejections_are_errors_of_the_execution():
    done = shared.execute("Promise.reject(new Error('nobody')); 5")
    check_equal((done.error["value"], done.text), ("nobody", "5"))


def test_exceptions_of_timers_end_the_execution():
    done = shared.execute("setTimeout(() => { throw new Error('tick') }, 5); await new Promise(() => {})")
    check_equal(done.error["value"], "tick")


def test_errors_between_executions_are_shown_by_the_next():
    shared.execute("setTimeout(() => { require('fs').writeSync(1, 'thrown'); throw new Error('late') }, 100); 0")
    deadline = time.monotonic() + 20
    while b"thrown" not in shared.pipes["out"]:
        shared.read_once(deadline)
    done = shared.execute("1")
    check_equal((done.error, done.text), (None, "1"))
    check("late" in done.stderr and "after the execution had ended" in done.stderr, done.stderr)


def test_handlers_of_the_program_are_asked_first():
    done = shared.execute("process.once('uncaughtException', (e) => console.log('mine', e.message))\n"
                          "setTimeout(() => { throw new Error('x') }, 1); await new Promise((r) => setTimeout(r, 30)); 'went on'")
    check_equal((done.stdout, done.text, done.error), ("mine x\n", "went on", None))


def test_exit_ends_the_execution_only():
    shared.execute("let kept = 'kept'")
    done = shared.execute("console.log('a'); process.exit(); console.log('b')")
    check_equal((done.stdout, done.error), ("a\n", None))
    done = shared.execute("await 0; process.exit(3)")
    check_equal((done.error["name"], done.error["value"]), ("ExitError", "process.exit(3)"))
    check_equal(shared.execute("kept").text, "kept")


def test_deep_recursion_is_an_error():
    check_equal(error("function deep() { return deep() + 1 }\ndeep()")["name"], "RangeError")


def test_a_polluted_realm_does_not_break_the_driver():
    with start() as driver:
        for code in ("Object.prototype.polluted = 1; Object.prototype.get = 5; Object.prototype.value = 6",
                     "JSON.stringify = JSON.parse = () => { throw new Error('json') }",
                     "Array.prototype.push = Array.prototype.map = function () { throw new Error('array') }",
                     "Array.prototype[Symbol.iterator] = function () { throw new Error('iterator') }",
                     "console = process.stdout = process.stderr = null", "globalThis.Buffer = globalThis.process = undefined"):
            driver.start(code)
            driver.finish()
        done = driver.execute("1 + 1")
        check(done.finished, done)


def test_a_replaced_console_can_be_had_back():
    done = shared.execute("const old = console.log; console.log = () => {}; console.log('lost'); console.log = old; console.log('x')")
    check_equal(done.stdout, "x\n")
    done = shared.execute("const write = process.stdout.write; let caught = ''\nprocess.stdout.write = (text) => { caught += text; return true }\n"
                          "console.log('caught'); process.stdout.write = write; caught")
    check_equal((done.stdout, done.text), ("", "caught\n"))


def test_listeners_that_are_removed_come_back():
    shared.execute("process.removeAllListeners()")
    done = shared.execute("setTimeout(() => { throw new Error('heard') }, 1); await new Promise(() => {})")
    check_equal(done.error["value"], "heard")


def test_a_driver_without_its_descriptors_ends():
    for fd in (3, 4):
        with start() as driver:
            driver.start(f"require('fs').closeSync({fd}); console.log('x')")
            try:
                driver.finish()
                driver.execute("1")
                raise AssertionError(f"it goes on without {fd}")
            except (Gone, BrokenPipeError):
                pass


run(sys.modules[__name__])
