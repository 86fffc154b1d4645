"""The Java driver: values, output, errors, properties, interrupts, the end. Natively it runs from source, inside compiled."""
import os
import sys

from harness.tap import PATIENCE_S, Skip, check, check_equal, run
from interpreter.driver import Driver, Failed

INSIDE = os.environ.get("INTERPRETER_INSIDE") != "0"
COMMAND = ["java", "@/opt/hotcell/java/arguments" if INSIDE else "/opt/hotcell/java/Driver.java"]

shared = Driver(COMMAND)


def check_text(code, want, env=None):
    done = shared.execute(code, env)
    check_equal((done.text, done.error), (want, None), code)


def check_error(code, name, value):
    error = shared.execute(code).error
    check_equal(error and (error["name"], error["value"]), (name, value), code)
    return error["traceback"]


def test_values_and_state():
    check_text("int x = 20;", None)
    check_text("x + 1", "21")
    check_text("int twice(int n) {\n  return 2 * n;\n}\nclass Point { int a = 3; }\nimport java.time.Duration;", None)
    check_text("x = twice(new Point().a)", None)
    check_text("x; Duration.ofSeconds(x)", "PT6S")
    check_text("List.of(1, 2).stream().map(n -> n * x).collect(Collectors.toList())", "[6, 12]")
    check_text("", None)
    check_text("// nothing", None)


def test_strings_are_as_they_are():
    check_text('"it\'s \\"quoted\\" \\\\ \\n\\té€😀"', "it's \"quoted\" \\ \n\té€😀")
    check_text("'c'", "c")
    check_text("new int[] {1}", "int[1] { 1 }")
    check_text("(String)null", "null")


def test_output_and_its_pieces():
    done = shared.execute('System.out.println("Hello, World!"); System.err.print("bad é😀");')
    check_equal((done.pieces["stdout"], done.stderr, done.results), (["Hello, World!", "\n"], "bad é😀", []))
    check_equal(len(shared.execute('for (int i = 0; i < 1000; i++) System.out.print("é".repeat(5000));').stdout), 5000000)
    check_equal(shared.execute('for (byte b : "é€😀".getBytes("UTF-8")) System.out.write(b); System.out.flush();').stdout, "é€😀")


def test_statements_of_several_lines():
    check_equal(shared.execute("if (1 > 2) {\n}\nelse {\n  System.out.print(1);\n}\nfor (int i = 2; i < 4; i++)\n  System.out.print(i);")
                .stdout, "123")


def test_exceptions():
    shared.execute("int by(int n) { return 1 / n; }")
    trace = check_error("System.out.print(1); by(0); System.out.print(2);", "ArithmeticException", "/ by zero")
    check(trace.startswith("java.lang.ArithmeticException: / by zero\n\tat by(#"), trace)
    trace = check_error('throw new IllegalStateException("outer", new RuntimeException("inner"));', "IllegalStateException", "outer")
    check("Caused by: java.lang.RuntimeException: inner" in trace, trace)
    check_error("int deep(int n) { return deep(n + 1) + 1; }\ndeep(0)", "StackOverflowError", "")
    check_text("1 + 1", "2")


def test_compiler_messages():
    trace = check_error('int wrong = "text";', "CompilationError",
                        "incompatible types: java.lang.String cannot be converted to int")
    check(trace.endswith('int wrong = "text";\n            ^^^^^^'), trace)
    check_error("nothing + 1", "CompilationError", "cannot find symbol")
    check_error("int open = ", "CompilationError", "reached end of file while parsing")
    done = shared.execute("int early() { return late(); }")
    check_equal((done.error, done.stderr), (None, "early cannot be used until there is method late()\n"))
    check_error("early()", "UnresolvedReference", "early cannot be used until there is method late()")
    check_text("int late() { return 7; }\nearly()", "7")


def test_variables_are_properties():
    shared.set_env("GLOBAL", "one")
    check_text('System.getProperty("GLOBAL") + System.getProperty("ONCE")', "21", {"GLOBAL": "2", "ONCE": "1"})
    check_text('System.getProperty("GLOBAL") + System.getProperty("ONCE", "none")', "onenone")


def test_programs_and_input():
    done = shared.execute('new ProcessBuilder("sh", "-c", "ls /proc/self/fd | tr \'\\\\n\' \' \'").inheritIO().start().waitFor()')
    check_equal((bytes(done.out), done.text), (b"0 1 2 3 ", "0"))
    check_text("System.in.read()", "-1")


def test_executions_are_counted():
    first = shared.execute("1 +")
    check_equal(shared.execute("1").count, first.count + 1)


def test_interrupt():
    for loop in ("while (true) { }", "Thread.sleep(1000000);"):
        shared.start('System.out.print("go");\n' + loop + '\nSystem.out.print("no");')
        shared.wait_for(lambda execution: execution.stdout == "go")
        shared.interrupt()
        done = shared.finish()
        check_equal((done.stdout, done.error["name"], len(done.errors)), ("go", "KeyboardInterrupt", 1), loop)
        check_text("1 + 1", "2")


def test_the_end_of_the_virtual_machine_ends_the_execution_in_order():
    done = shared.execute('System.out.print("bye"); System.exit(3);')
    check_equal((done.stdout, done.error), ("bye", None))
    check_equal(shared.child.wait(PATIENCE_S), 3)


def test_without_jshell_it_says_what_to_install():
    if not INSIDE:
        raise Skip("from source it needs the compiler before it can say anything")
    try:
        Driver(["java", "--limit-modules", "java.base,jdk.unsupported", *COMMAND[1:]])
    except Failed as failed:
        check("install default-jdk-headless" in str(failed), str(failed))
    else:
        raise AssertionError("it is ready")


run(sys.modules[__name__])
