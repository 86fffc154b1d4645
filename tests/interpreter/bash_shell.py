"""The bash driver: state, output, status, environment."""
import sys

from harness.tap import check, check_equal, run
from interpreter.driver import Driver

COMMAND = ["bash", "/opt/hotcell/bash/driver.sh"]

shared = Driver(COMMAND, env={"HOME": "/nonexistent"})


def execute(code, env=None):
    done = shared.execute(code, env)
    return bytes(done.out).decode(), bytes(done.err).decode(), done.error and done.error["value"]


def check_output(code, want, env=None):
    check_equal(execute(code, env), (want, "", None), code)


def test_output_and_errors_are_apart():
    check_equal(execute("echo out; echo bad >&2"), ("out\n", "bad\n", None))


def test_state_stays():
    execute("x=1; declare -A map=([a]=5); f() { echo f $x; }; alias greet='echo hello'; shopt -s nullglob; cd /usr")
    execute("trap 'echo caught' USR1; set -f; exec 3</etc/passwd")
    check_output("echo $x ${map[a]}; f; greet; shopt nullglob; pwd; kill -USR1 $$; echo *; read -r l <&3; echo ${l%%:*}",
                 "1 5\nf 1\nhello\nnullglob       \ton\n/usr\ncaught\n*\nroot\n")
    execute("set +f; shopt -u nullglob; cd /; exec 3<&-")


def test_a_status_is_an_error():
    for code, status in (("false", "1"), ("true; (exit 7)", "7"), ("return 3", "3"), ("ls /none | cat; exec 2>&-; nothing", "127"),
                         ("f() { return 9; }; f", "9")):
        error = shared.execute(code).error
        check_equal((error["name"], error["value"], error["traceback"]), ("ExitStatus", status, ""), code)
    check_output("false; true", "")


def test_messages_name_the_line_of_the_code():
    out, err, status = execute("echo one\n\necho )\necho two")
    check_equal((out, status), ("one\n", "2"))
    check(err.startswith("bash: eval: line 3: syntax error near unexpected token `)'"), err)


def test_broken_code_leaves_the_shell_alive():
    for code in ('echo "open', "for", "if true; then", "echo ${x", "cat <<A", "echo $((1/0))", "echo ${none:?is missing}",
                 "readonly fixed=1; fixed=2", "exec /nonexistent", "break; continue", "local x"):
        shared.execute(code)
    check_output("echo $$ >/dev/null; echo alive", "alive\n")


def test_here_documents_and_multi_line_code():
    check_output("cat <<A\n  one $((1+1))\nA\nfor i in 1 2; do\n  echo $i\ndone\ncat <<< x", "  one 2\n1\n2\nx\n")


def test_options_of_the_code_do_not_disturb_the_driver():
    execute("set -u; set -o noclobber; IFS=x; shopt -s extglob; set -E; trap 'echo oops' ERR; "
            "printf() { echo mine; }; eval() { echo mine; }; alias set=false read=false")
    check_equal(execute("false\ntrue"), ("oops\n", "", None))
    check_equal(execute("false"), ("oops\n", "", "1"))
    check_equal(execute("trap 'count=$((${count-0}+1))' DEBUG; false"), ("oops\n", "", "1"))
    check_output("trap - DEBUG; echo $((count > 0))", "1\n")
    check_output("echo still", "still\n")
    execute("set +u +E; set +o noclobber; unset IFS; trap - ERR; unset -f printf eval; unalias set read")
    check_output("printf '%s\\n' a b", "a\nb\n")


def test_trace_and_noise():
    check_equal(execute("set -x; echo a; set +x")[0], "a\n")
    check_output("sleep 0 & sleep 0.01 & wait; true", "")


def test_background_jobs():
    check_output("sleep 100 & echo started", "started\n")
    check_output("jobs -r | wc -l; kill %1; wait %1 2>/dev/null; echo $?", "1\n143\n")


def test_no_descriptor_of_the_driver_is_seen():
    check_output("ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ")
    check_output("(ls /proc/self/fd) | tr '\\n' ' '", "0 1 2 3 ")
    check_output("read -r line; echo $?", "1\n")


def test_redirections_of_the_shell_last_for_an_execution():
    check_output("exec >/dev/null 2>&1 3>&1; echo hidden", "")
    check_output("echo seen", "seen\n")


def test_long_code():
    check_output("text='" + "é" * 500000 + "'; echo ${#text}", "500000\n")
    for size in (2040, 2047, 2048, 2049, 65536):
        check_output("echo '" + "x" * size + "' | wc -c", f"{size + 1}\n")


def test_zero_bytes_are_dropped():
    check_output("echo a\0b\0\0", "ab\n")
    check_output("echo " + "x" * 3000 + "\0y", "x" * 3000 + "y\n")
    check_output("", "")


def test_environment():
    shared.set_env("GLOBAL", "one two\nthree")
    shared.set_env("not-a-name", "x")
    check_output('bash -c \'echo "$GLOBAL"\'', "one two\nthree\n")
    check_output('echo $GLOBAL $FOO; bash -c \'echo $FOO\'', "over bar\nbar\n", env={"GLOBAL": "over", "FOO": "bar", "a.b": "x"})
    check_output("echo $GLOBAL ${FOO-none}", "one two three none\n")
    execute("own=1; export theirs=2")
    check_output("bash -c 'echo $own $theirs'", "a b\n", env={"own": "a", "theirs": "b"})
    check_output("echo $own $theirs; bash -c 'echo ${own-none} $theirs'", "1 2\nnone 2\n")
    execute("readonly FIXED=1")
    check_output("echo $FIXED", "1\n", env={"FIXED": "2", "LC_ALL": "C", "IFS": "-", "TMOUT": "1"})
    check_output("echo ${LC_ALL-none} ${TMOUT-none}", "none none\n")


def test_executions_are_counted():
    first = shared.execute("false")
    check_equal(shared.execute("true").count, first.count + 1)


def test_end_of_requests_ends_the_driver():
    with Driver(COMMAND) as driver:
        driver.execute("trap 'echo bye' EXIT")
        check_equal(driver.close(), 0)
        check_equal(bytes(driver.pipes["out"]), b"bye\n")


def test_the_person_s_bashrc_is_read():
    with Driver(["bash", "-c", "mkdir -p /tmp/bashrc.$$; cd /tmp/bashrc.$$; printf \"alias ll='echo long'; PS1=x; echo noise\" >.bashrc; "
                               "HOME=$PWD exec bash /opt/hotcell/bash/driver.sh"]) as driver:
        done = driver.execute("ll; rm -r ~")
        check_equal((bytes(done.out), bytes(done.err)), (b"long\n", b""))


run(sys.modules[__name__])
