"""The bash driver: interrupts, and the ways in which code can end its shell."""
import sys

from harness.tap import PATIENCE_S, check_equal, run
from interpreter.driver import Driver

COMMAND = ["bash", "/opt/hotcell/bash/driver.sh"]

SLEEP = "sh -c 'echo go; exec sleep 1000'"

# Each says "go" when there is something to interrupt.
ENDLESS = {
    "a program": f"{SLEEP}; echo no",
    "a loop": "echo go; while :; do :; done; echo no",
    "functions": "f() { g; echo no; }; g() { echo go; while :; do :; done; }; f; echo no",
    "a pipeline": f"{SLEEP} | cat; echo no",
    "a subshell": "( echo go; while :; do :; done ); echo no",
    "a substitution": "{ x=$(sh -c 'echo go >&2; exec sleep 1000'); } 2>&1; echo no",
    "waiting": "sleep 1000 & echo go; wait; echo no",
    "reading": "echo go; read -r x < <(sleep 1000); echo no",
    "a sourced file": "echo go; . <(echo 'while :; do :; done'); echo no",
    "eval": "eval 'echo go; eval \"while :; do :; done\"; echo no'; echo no",
    "several lines": f"{SLEEP}\necho no",
}


def interrupted(driver, code, env=None):
    """A shell that is just about to wait can miss an interrupt: whoever interrupts does so again."""
    driver.start(code, env)
    driver.wait_for(lambda execution: b"go\n" in execution.out)
    for _ in range(3):
        driver.interrupt()
        try:
            driver.wait_for(lambda execution: execution.finished, patience=2)
            break
        except TimeoutError:
            continue
    return driver.finish()


def check_interrupts(driver, name):
    done = interrupted(driver, ENDLESS[name])
    check_equal((bytes(done.out), bytes(done.err)), (b"go\n", b""), name)
    check_equal((done.error["name"], done.error["value"]), ("KeyboardInterrupt", "The execution was interrupted."), name)
    check_equal(bytes(driver.execute("echo next").out), b"next\n", name)


def new():
    """A driver for each test: `hotcell run` ends its sandbox when it is interrupted three times."""
    return Driver(COMMAND, env={"HOME": "/nonexistent"})


def test_interrupt():
    for name in ENDLESS:
        driver = new()
        try:
            check_interrupts(driver, name)
        finally:
            driver.kill()  # background jobs still have the pipes


# Takes the shell's next line, gives it back at the interrupt, and takes what comes behind it unless that is a line, too:
# as a process does that the shell was just making when it was interrupted.
TAKER = """python3 -c '
import fcntl, os, signal, struct, sys, termios
pipe = os.open(f"/proc/{sys.argv[1]}/fd/0", os.O_RDWR)
line = os.read(pipe, 65536)
def left():
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]
def take(*unused):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(pipe, line)
    while left():
        pass
    taken = os.read(pipe, 65536)
    if taken.endswith(bytes([10])):
        os.write(pipe, taken)
    os._exit(0)
signal.signal(signal.SIGINT, take)
print("go", flush=True)
signal.pause()
' $PPID & wait"""


def test_a_process_that_reads_the_shells_input_takes_nothing_for_good():
    with new() as driver:
        for _ in range(3):
            done = interrupted(driver, TAKER)
            check_equal((bytes(done.out), done.error["name"]), (b"go\n", "KeyboardInterrupt"))
            check_equal(bytes(driver.execute("trap 'true' ERR; echo next").out), b"next\n")
            check_equal(bytes(driver.execute("trap -p ERR; trap - ERR").out), b"trap -- 'true' ERR\n")


def test_an_interrupt_as_soon_as_it_may_come_is_not_lost():
    for _ in range(3):
        with new() as driver:
            driver.start("while :; do :; done")
            driver.wait_for(lambda execution: execution.count)
            driver.interrupt()
            check_equal(driver.finish().error["name"], "KeyboardInterrupt")
            check_equal(bytes(driver.execute("echo next").out), b"next\n")


def test_state_survives_an_interrupt():
    with new() as driver:
        driver.start("kept=1; cd /usr; sh -c 'echo up; exec sleep 1000' & job=$!")
        driver.wait_for(lambda execution: b"up\n" in execution.out)
        driver.finish()
        interrupted(driver, "kept=2; echo go; while :; do :; done", {"ONCE": "1"})
        check_equal(bytes(driver.execute("echo $kept $PWD ${ONCE-none}").out), b"2 /usr none\n")
        check_equal(driver.execute("kill $job").error, None, "the background job lives")


def test_a_trap_of_the_code_decides():
    with new() as driver:
        done = interrupted(driver, "trap 'echo caught; stop=1' INT; stop=; echo go; until [[ $stop ]]; do :; done; echo behind")
        check_equal((bytes(done.out), done.error), (b"go\ncaught\nbehind\n", None))
        done = interrupted(driver, "stop=; echo go; until [[ $stop ]]; do :; done; trap - INT")
        check_equal((bytes(done.out), done.error), (b"go\ncaught\n", None))
        check_equal(bytes(driver.execute("trap -p INT").out), b"")


def test_a_program_that_handles_the_interrupt_does_not_end_the_code():
    with new() as driver:
        done = interrupted(driver, "bash -c 'trap \"exit 5\" INT; echo go; while :; do :; done'; echo status $?")
        check_equal((bytes(done.out), done.error), (b"go\nstatus 5\n", None))


def test_an_interrupt_between_executions_does_nothing():
    with new() as driver:
        for _ in range(2):
            driver.interrupt()
            check_equal(bytes(driver.execute("echo here").out), b"here\n")


def ended(code):
    """The execution in which the shell ends, after one that does not."""
    with new() as driver:
        driver.execute("true")
        done = driver.execute(code)
        check_equal(driver.child.wait(PATIENCE_S), 0, code)
    return done


def test_a_shell_that_ends_ends_the_execution_in_order():
    for code, out, status in (("echo a; exit", b"a\n", None), ("exit 3", b"", "3"), ("set -e; false; echo no", b"", "1"),
                              ("exec echo replaced", b"replaced\n", None), ("exec false", b"", "1"),
                              ("kill -9 $$", b"", "137"), ("trap 'echo bye' EXIT; exit 2", b"bye\n", "2")):
        done = ended(code)
        check_equal((bytes(done.out), bytes(done.err), done.error and done.error["value"]), (out, b"", status), code)


def test_a_shell_that_ends_says_so():
    check_equal(ended("exit 4").error.parts, {
        "name": "ExitStatus", "value": "4",
        "traceback": "The shell has ended with status 4. The next execution starts a new one."})


def test_set_e_spares_what_it_spares():
    with new() as driver:
        done = driver.execute("set -e; false || true; if false; then :; fi; ! true; set +e; echo through")
    check_equal((bytes(done.out), done.error), (b"through\n", None))


run(sys.modules[__name__])
