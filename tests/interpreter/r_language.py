"""The R driver: values, output, conditions, plots, environment, interrupts, the end."""
import base64
import sys

from harness.tap import PATIENCE_S, check, check_equal, run
from interpreter.driver import Driver

COMMAND = ["Rscript", "--vanilla", "/opt/hotcell/r/driver.R"]

shared = Driver(COMMAND)


def check_text(code, want, env=None):
    done = shared.execute(code, env)
    check_equal((done.text, done.error), (want, None), code)


def test_values():
    check_text("x <- 20\nx + 1", "[1] 21")
    check_text("getwd() == normalizePath('.')", "[1] TRUE")
    check_text("invisible(1)", None)
    check_text("y <- 1", None)
    check_text("NULL", "NULL")
    check_text("", None)
    check_text("setClass('P', representation(n = 'numeric')); new('P', n = 1)", 'An object of class "P"\nSlot "n":\n[1] 1\n')


def test_values_before_the_last_are_printed():
    done = shared.execute("1; 'two'; z <- 3\n4")
    check_equal((done.stdout, done.text), ('[1] 1\n[1] "two"\n', "[1] 4"))


def test_one_print_is_one_frame():
    check_equal(shared.execute('print("Hello, World!")').pieces["stdout"], ['[1] "Hello, World!"\n'])
    check_equal(shared.execute("for (i in 1:3) cat(i, '')").pieces["stdout"], ["1 ", "2 ", "3 "])


def test_output_is_live():
    shared.start("cat('first\\n'); repeat Sys.sleep(0.01)")
    shared.wait_for(lambda execution: execution.stdout == "first\n")
    shared.interrupt()
    check_equal(shared.finish().error["name"], "KeyboardInterrupt")
    check_text("1 + 1", "[1] 2")


def test_methods_of_the_code_are_found():
    check_text("print.thing <- function(x, ...) base::cat('a thing\\n'); structure(1, class = 'thing')", "a thing")
    check_equal(shared.execute("print(structure(1, class = 'thing'))").stdout, "a thing\n")
    check_text("capture.output(print(1))", '[1] "[1] 1"')


def test_messages_and_warnings():
    done = shared.execute("message('note'); f <- function() warning('careful'); f(); suppressWarnings(as.integer('x'))")
    check_equal((done.pieces["stderr"], done.text), (["note\n", "Warning message:\nIn f() : careful\n"], "[1] NA"))
    check_equal(shared.execute("options(warn = 2); as.integer('x')").error["value"],
                "(converted from warning) NAs introduced by coercion")
    shared.execute("options(warn = 0)")


def test_errors():
    error = shared.execute("g <- function(a) stop('bad ', a)\nh <- function() g(7)\ncat('before')\nh()").error
    check_equal(error.parts, {"name": "Error", "value": "bad 7", "traceback": "Error in g(7) : bad 7\nTraceback:\n1. h()\n2. g(7)"})
    check_equal(shared.execute("stop('top')").error.parts, {"name": "Error", "value": "top", "traceback": "Error: top"})
    check_equal(shared.execute("list()[[3]]").error["value"], "subscript out of bounds")
    check_equal(shared.execute("stop(structure(class = c('mine', 'error', 'condition'), list(message = 'm', call = NULL)))")
                .error["name"], "mine")
    check_equal(shared.execute("1 +").error["name"], "ParseError")
    deep = shared.execute("f <- function() f(); f()")
    check_equal(len(deep.errors), 1)
    check_text("tryCatch(stop('caught'), error = conditionMessage)", '[1] "caught"')


def test_what_was_before_an_error_stays():
    done = shared.execute("kept <- 5; print(kept); stop(); print('no')")
    check_equal(done.stdout, "[1] 5\n")
    check_text("kept", "[1] 5")


def test_text_of_all_kinds():
    check_text("'é€😀'", '[1] "é€😀"')
    check_text("nchar('" + "x" * 200000 + "')", "[1] 200000")
    check_equal(len(shared.execute("cat(strrep('y', 3e6))").stdout), 3000000)
    check_equal(shared.execute("cat('a\\xffb')").error, None)
    check_text("1 +\0 1", "[1] 2")


def test_tables_have_html():
    done = shared.execute("data.frame(a = 1:2, b = c('<x>', NA))")
    check_equal(done.text, "  a    b\n1 1  <x>\n2 2 <NA>")
    check("<th>a</th>" in done.main["text/html"] and "&lt;x&gt;" in done.main["text/html"], done.main["text/html"])
    check("1000 rows" in shared.execute("data.frame(a = 1:1000)").main["text/html"], "the size")


def test_plots_are_images():
    done = shared.execute("plot(1:3); lines(3:1)\nhist(c(1, 2, 2))\ninvisible()")
    images = [base64.b64decode(result["image/png"], validate=True) for result in done.displays]
    check_equal([image[:8] for image in images], [b"\x89PNG\r\n\x1a\n"] * 2)
    check_equal(shared.execute("1").displays, [])


def test_programs():
    done = shared.execute("cat('one '); status <- system('echo two; echo bad >&2; cat; exit 3'); status")
    check_equal((done.stdout, bytes(done.out), bytes(done.err), done.text), ("one ", b"two\n", b"bad\n", "[1] 3"))
    check_text("system('echo captured', intern = TRUE)", '[1] "captured"')
    check_text("readline('name? ')", '[1] ""')


def test_environment():
    shared.set_env("GLOBAL", "one 'two' \"three\" \\ é")
    check_text("cat(Sys.getenv('GLOBAL')); Sys.getenv(c('ONCE', 'GLOBAL'), names = FALSE)", '[1] "1" "2"', {"ONCE": "1", "GLOBAL": "2"})
    check_equal(shared.execute("cat(Sys.getenv('GLOBAL'), Sys.getenv('ONCE', 'none'))").stdout,
                "one 'two' \"three\" \\ é none")


def test_executions_are_counted():
    first = shared.execute("stop()")
    check_equal(shared.execute("1").count, first.count + 1)


def test_an_interrupt_between_executions_does_nothing():
    shared.interrupt()
    check_text("sum(as.numeric(1:1e6))", "[1] 500000500000")


def test_leaving_r_ends_the_execution_in_order():
    for code, status in (("cat('bye'); q(status = 3)", "3"), ("cat('bye'); quit()", None), ("cat('bye'); base::q('no')", None)):
        with Driver(COMMAND) as driver:
            done = driver.execute(code)
            check_equal((done.stdout, done.error and done.error["value"]), ("bye", status), code)
            check_equal(driver.child.wait(PATIENCE_S), 0)


def test_end_of_requests_ends_the_driver():
    with Driver(COMMAND) as driver:
        check_equal(driver.close(), 0)


run(sys.modules[__name__])
