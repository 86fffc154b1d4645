"""The command line of `hotcell run`, seen from outside: streams, exit status, options, signals."""
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

from harness import scene
from harness.tap import PATIENCE_S, Skip, check, check_equal, run, skip_if_sanitized

HOTCELL = os.environ["HOTCELL"]
if not os.access(HOTCELL, os.X_OK):
    sys.exit(77)


def hotcell(*arguments, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    return subprocess.run([HOTCELL, "run", *arguments], timeout=PATIENCE_S, **options)


def output(*arguments, **options):
    done = hotcell("-q", *arguments, **options)
    check_equal((done.returncode, done.stderr), (0, b""), "status and standard error")
    return done.stdout.decode()


def refused(message, *arguments):
    done = hotcell(*arguments)
    check_equal(done.returncode, 125, "status")
    check(message in done.stderr.decode(), done.stderr)


class Folder(tempfile.TemporaryDirectory):
    def __enter__(self):
        path = super().__enter__()
        os.chmod(path, 0o755)
        return path


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path) as file:
        return file.read()


# ---- login shells ----

def test_login_shells_have_the_path_of_their_user():
    for shell in ("bash", "dash"):
        check(":/usr/games" in output("--", shell, "-lc", "echo $PATH"), shell)
        check("/usr/local/sbin:" in output("-u", "root", "--", shell, "-lc", "echo $PATH"), shell)


def test_a_login_bash_starts_no_other_program():
    """Every command of an SDK is one."""
    first = output("--", "bash", "-lc", "bash -c 'echo $$ $PPID'; :")
    child, shell = map(int, first.split())
    check_equal(child, shell + 1)


# ---- exit status ----

def test_status_of_the_program():
    check_equal(hotcell("--", "sh", "-c", "exit 37").returncode, 37)


def test_status_of_a_signal_is_128_and_more():
    check_equal(hotcell("--", "sh", "-c", "kill -TERM $$").returncode, 128 + 15)
    check_equal(hotcell("--", "sh", "-c", "kill -KILL $$").returncode, 128 + 9)


def test_signals_that_the_caller_ignores_are_not_ignored_inside():
    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    script = "sh -c 'kill -INT $$; echo survived INT'; sh -c 'kill -TERM $$; echo survived TERM'; echo end"
    done = hotcell("-q", "--", "bash", "-c", script, preexec_fn=ignore)
    check_equal(done.stdout, b"end\n", "what was printed")


def test_not_found_and_not_executable():
    for command, status in (("no-such-program", 127), ("/no/such/program", 127),
                            ("/etc/passwd", 126), ("/tmp", 126), ("", 127)):
        done = hotcell("--", command)
        check_equal((command, done.returncode), (command, status))
        check(done.stderr.startswith(b"hotcell: " + command.encode()), done.stderr)


def test_own_failures_are_125_and_name_the_option():
    refused("unknown option --nonsense", "--nonsense", "--", "true")
    refused("--memory: 'lots' is not a size", "--memory", "lots", "--", "true")
    refused("no command", "-q")
    refused("/no/such/place", "--ro", "/no/such/place:/x", "--", "true")
    refused("root directory", "--ro", "/usr:/", "--", "true")
    refused("below /proc", "--ro", "/usr:/proc/x", "--", "true")
    refused("neither a directory nor a regular file", "--ro", "/dev/null:/x", "--", "true")
    refused("working directory /no/such", "--workdir", "/no/such", "--", "true")
    refused("user joe", "--user", "joe", "--", "true")
    refused("--user", "--user", "12:x", "--", "true")
    refused("--template", "--template", "other", "--", "true")


# ---- standard streams ----

def test_pipes():
    done = subprocess.run([HOTCELL, "run", "-q", "--", "sh", "-c", "cat; echo error >&2"],
                          input=b"in\n", capture_output=True, timeout=PATIENCE_S)
    check_equal((done.stdout, done.stderr), (b"in\n", b"error\n"))


def test_much_data_through_pipes():
    data = os.urandom(1 << 20) * 16
    done = subprocess.run([HOTCELL, "run", "-q", "--", "cat"], input=data, stdout=subprocess.PIPE,
                          timeout=PATIENCE_S)
    check(done.stdout == data, f"{len(done.stdout)} bytes came back")


def test_files_share_their_offset():
    with tempfile.TemporaryFile() as file:
        file.write(b"one\n")
        file.flush()
        hotcell("-q", "--", "sh", "-c", "echo two; cat /etc/hostname", stdout=file)
        file.seek(0, os.SEEK_END)
        file.write(b"three\n")
        file.seek(0)
        check_equal(file.read(), b"one\ntwo\nhotcell\nthree\n")
        file.seek(4)
        check_equal(hotcell("-q", "--", "head", "-n1", stdin=file).stdout, b"two\n")


def test_files_in_append_mode():
    with tempfile.NamedTemporaryFile() as file:
        write(file.name, "x\n")
        with open(file.name, "a") as first, open(file.name, "a") as second:
            hotcell("-q", "--", "echo", "a", stdout=first)
            hotcell("-q", "--", "echo", "b", stdout=second)
        check_equal(read(file.name), "x\na\nb\n")


def test_closed_descriptors_are_dev_null():
    script = f"exec {HOTCELL} run -q -- sh -c 'cat; echo out; echo err >&2; echo $? >/work/status'"
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(["sh", "-c", f"{script} {closed}"], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE_S)
        check_equal((closed, done.returncode), (closed, 0))


def test_the_callers_descriptors_stay_blocking():
    reader, writer = os.pipe()
    hotcell("-q", "--", "echo", "x", stdin=reader, stdout=writer)
    check(os.get_blocking(reader) and os.get_blocking(writer), "non-blocking now")
    os.close(reader)
    os.close(writer)


def test_sockets():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = subprocess.Popen([HOTCELL, "run", "-q", "--", "tr", "a-z", "A-Z"], stdin=theirs,
                                 stdout=theirs)
        theirs.close()
        ours.sendall(b"hello\n")
        ours.shutdown(socket.SHUT_WR)
        check_equal(ours.recv(100), b"HELLO\n")
        check_equal(ours.recv(100), b"")
        check_equal(child.wait(PATIENCE_S), 0)


def test_the_reader_of_a_pipe_sees_its_end_when_the_program_closes_it():
    child = subprocess.Popen([HOTCELL, "run", "-q", "--", "sh", "-c",
                              "echo x; exec >/dev/null; sleep 10000"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE)
    check_equal(child.stdout.read(), b"x\n")
    check_equal(child.poll(), None, "still running")
    child.terminate()
    check_equal(child.wait(PATIENCE_S), 143)
    child.stdout.close()


def test_a_reader_that_goes_away_is_a_broken_pipe():
    child = subprocess.Popen([HOTCELL, "run", "-q", "--", "yes"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE)
    check_equal(child.stdout.readline(), b"y\n")
    child.stdout.close()
    check_equal(child.wait(PATIENCE_S), 128 + signal.SIGPIPE)


def test_a_slow_reader_slows_the_program():
    child = subprocess.Popen([HOTCELL, "run", "-q", "--json", "/dev/null", "--", "seq", "1000000"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    time.sleep(0.3)
    lines = child.stdout.read().split()
    check_equal((len(lines), lines[-1]), (1000000, b"1000000"))
    check_equal(child.wait(PATIENCE_S), 0)
    child.stdout.close()


# A pipe of another user cannot be opened a second time; then hotcell copies itself.

def test_pipes_of_another_user_are_copied():
    if os.geteuid() != 0:
        raise Skip("needs root")
    data = b"".join(b"%d\n" % i for i in range(100000))
    with tempfile.TemporaryFile() as source:
        done = subprocess.run(
            ["runuser", "-u", "nobody", "--", HOTCELL, "run", "-q", "--", "sh", "-c",
             "cat; echo error >&2; exit 3"], input=data, capture_output=True, timeout=PATIENCE_S, cwd="/tmp")
    check_equal((done.returncode, done.stderr), (3, b"error\n"))
    check(done.stdout == data, f"{len(done.stdout)} of {len(data)} bytes came back")


# ---- more descriptors ----

class Numbered:
    """Puts descriptors on 3, 4... of the program that subprocess starts."""

    def __init__(self, *fds):
        self.fds = fds

    def options(self):
        return {"preexec_fn": self.place, "close_fds": False}

    def place(self):
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in self.fds]
        for number, fd in enumerate(high):
            os.dup2(fd, 3 + number, inheritable=True)
            os.close(fd)
        os.closerange(3 + len(high), 100)


def test_preserved_descriptors():
    request, event = os.pipe(), os.pipe()
    script = "read -u 3 line; echo got $line >&4; exec 4>&-; cat <&3 >/dev/null; ls /proc/$$/fd | sort -n | paste -sd,"
    child = subprocess.Popen([HOTCELL, "run", "-q", "--preserve-fds", "2", "--", "bash", "-c", script],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **Numbered(request[0], event[1]).options())
    os.close(request[0])
    os.close(event[1])
    os.write(request[1], b"a line\n")
    check_equal(os.read(event[0], 100), b"got a line\n")
    check_equal(os.read(event[0], 100), b"", "nobody else has it: not hotcell, either")
    os.close(request[1])
    check_equal(child.communicate(timeout=PATIENCE_S)[0], b"0,1,2,3\n")
    check_equal(child.returncode, 0)
    os.close(event[0])


def test_preserved_descriptors_of_all_kinds():
    near, far = socket.socketpair()
    null = os.open("/dev/null", os.O_WRONLY)
    with tempfile.TemporaryFile() as file, near, far:
        near.sendall(b"ping\nmore")
        done = hotcell("-q", "--preserve-fds=3", "--", "bash", "-c", "echo file >&3; head -n1 <&4 >&4; echo x >&5",
                       **Numbered(file.fileno(), far.fileno(), null).options())
        check_equal((done.returncode, done.stderr), (0, b""))
        check_equal(near.recv(100), b"ping\n")
        file.seek(0)
        check_equal(file.read(), b"file\n")
    os.close(null)


def test_only_preserved_descriptors_are_there():
    with tempfile.TemporaryFile() as file:
        for count in (0, 1):
            # without a pipeline, of which bash would hold an end for a moment
            script = "for i in {0..20}; do [ -e /proc/$$/fd/$i ] && printf '%s,' $i; done"
            done = hotcell("-q", "--preserve-fds", str(count), "--", "bash", "-c", script + "; exit 0",
                           **Numbered(file.fileno(), file.fileno()).options())
            check_equal((done.stdout, done.stderr), (b"0,1,2,3," if count else b"0,1,2,", b""))


def test_descriptors_that_cannot_be_preserved():
    with tempfile.TemporaryFile() as file:
        def message(count, *fds):
            done = hotcell(f"--preserve-fds={count}", "--", "true", **Numbered(*fds).options())
            check_equal(done.returncode, 125)
            return done.stderr.decode()
        check("--preserve-fds 2: descriptor 4 is not open" in message(2, file.fileno()), "closed")
        directory = os.open("/tmp", os.O_RDONLY)
        check("descriptor 3 is a directory" in message(1, directory), "directory")
        os.close(directory)
        counter = os.eventfd(1) if hasattr(os, "eventfd") else None
        if counter is not None:
            check("descriptor 4 cannot be opened a second time" in message(2, file.fileno(), counter), "eventfd")
            os.close(counter)
        refused("--preserve-fds: '14' is out of range", "--preserve-fds=14", "--", "true")
        refused("--preserve-fds: '-1'", "--preserve-fds=-1", "--", "true")


def test_preserved_pipes_of_another_user_are_copied():
    if os.geteuid() != 0:
        raise Skip("needs root")
    request, event = os.pipe(), os.pipe()
    child = subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", HOTCELL, "run", "-q",
                              "--preserve-fds", "2", "--", "sh", "-c", "cat <&3 >&4; exec 4>&-; cat"],
                             stdin=subprocess.PIPE, cwd="/tmp", **Numbered(request[0], event[1]).options())
    os.close(request[0])
    os.close(event[1])
    os.write(request[1], b"x" * 50000)
    os.close(request[1])
    with os.fdopen(event[0], "rb") as reader:
        check_equal(len(reader.read()), 50000, "until its end, while the program lives")
    check(child.poll() is None, "it ended early")
    child.communicate(timeout=PATIENCE_S)
    check_equal(child.returncode, 0)


# ---- environment, user, place ----

def test_environment_is_clean():
    environment = dict(os.environ, SECRET="x", HOTCELL_TEST="y")
    lines = output("--env", "A=1", "--env", "HOTCELL_TEST", "--env", "NOT_SET", "--env", "LANG=C",
                   "--", "/usr/bin/env", env=environment).split("\n")
    check_equal(sorted(line for line in lines if line),
                ["A=1", "HOME=/home/user", "HOSTNAME=hotcell", "HOTCELL_TEST=y", "LANG=C",
                 "LOGNAME=user",
                 "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/hotcell/bin", "USER=user"])


def test_users():
    show = "echo $(id -u):$(id -g) $USER $HOME"
    for user, want in ((None, "1000:1000 user /home/user"), ("root", "0:0 root /root"),
                       ("www-data", "33:33 www-data /"), ("0", "0:0 root /root"),
                       ("1234:77", "1234:77 1234:77 /")):
        options = ["--user", user] if user else []
        check_equal(output(*options, "--", "sh", "-c", show), want + "\n")


def test_hostname_and_workdir():
    check_equal(output("--hostname", "box.example", "--workdir", "/usr/share", "--", "sh", "-c",
                       "hostname; pwd"), "box.example\n/usr/share\n")


# ---- mounts ----

def test_the_current_directory_is_copy_on_write():
    with Folder() as folder:
        write(f"{folder}/old", "old\n")
        os.mkdir(f"{folder}/sub")
        text = output("--", "sh", "-c", "pwd; echo new >new; echo x >>old; rmdir sub; mv old b; ls; cat b",
                      cwd=folder)
        check_equal(text, "/work\nb\nnew\nold\nx\n")
        check_equal(sorted(os.listdir(folder)), ["old", "sub"])
        check_equal(read(f"{folder}/old"), "old\n")


def test_rw_is_real_and_belongs_to_the_caller():
    with Folder() as folder:
        output("--rw", ".:/work", "--", "sh", "-c", "echo new >new; chmod 600 new; mkdir sub", cwd=folder)
        check_equal(read(f"{folder}/new"), "new\n")
        for name in ("new", "sub"):
            status = os.stat(f"{folder}/{name}")
            check_equal((status.st_uid, status.st_gid), (os.geteuid(), os.getegid()), name)
        check_equal(os.stat(f"{folder}/new").st_mode & 0o777, 0o600)


def test_ro_cannot_be_changed():
    with Folder() as folder:
        write(f"{folder}/file", "text\n")
        done = hotcell("-q", "--ro", f"{folder}:/data", "--", "sh", "-c",
                       "cat /data/file; echo x >/data/file; rm /data/file; touch /data/new")
        check_equal(done.stdout, b"text\n")
        check_equal(done.stderr.count(b"Read-only file system"), 3, done.stderr)
        check_equal(os.listdir(folder), ["file"])


def test_private_files_of_the_caller():
    with Folder() as folder:
        os.chmod(folder, 0o700)
        write(f"{folder}/secret", "mine\n")
        os.chmod(f"{folder}/secret", 0o600)
        check_equal(output("--", "sh", "-c", "cat secret; stat -c %a:%U . secret", cwd=folder),
                    "mine\n700:user\n600:user\n")


def test_single_files_and_nested_mounts():
    with Folder() as folder:
        write(f"{folder}/file", "a\n")
        os.mkdir(f"{folder}/dir")
        os.mkdir(f"{folder}/inner")
        output("--rw", f"{folder}/file:/x/y/name", "--rw", f"{folder}/inner:/d/sub", "--cow",
               f"{folder}/dir:/d", "--", "sh", "-c", "echo b >>/x/y/name; touch /d/gone /d/sub/kept")
        check_equal(read(f"{folder}/file"), "a\nb\n")
        check_equal((os.listdir(f"{folder}/dir"), os.listdir(f"{folder}/inner")), ([], ["kept"]))


def test_links_do_not_lead_out():
    with Folder() as folder:
        write(f"{folder}/outside", "outside\n")
        os.mkdir(f"{folder}/top")
        os.symlink("../outside", f"{folder}/top/relative")
        os.symlink(f"{folder}/outside", f"{folder}/top/absolute")
        done = hotcell("-q", "--ro", f"{folder}/top:/top", "--", "cat", "/top/relative", "/top/absolute",
                       "/top/../../outside", cwd="/usr")
        check_equal((done.stdout, done.stderr.count(b"No such file")), (b"", 3), done.stderr)


# ---- limits ----

def killed(option, *arguments):
    done = hotcell("-q", *arguments)
    check_equal(done.returncode, 137, done.stderr)
    check(b"hotcell: killed: " in done.stderr and option in done.stderr, done.stderr)


def test_timeout():
    killed(b"--timeout", "--timeout", "300ms", "--", "sleep", "10000")
    killed(b"--timeout", "--timeout", "300ms", "--", "sh", "-c", "trap '' TERM INT HUP; while :; do :; done")


def test_a_caller_with_a_realtime_priority_does_not_pass_it_on():
    if os.geteuid() != 0:
        raise Skip("needs root")
    def hurry():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    child = subprocess.Popen([HOTCELL, "run", "-q", "--", "sh", "-c", "echo up; cat"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, preexec_fn=hurry)
    try:
        check_equal(child.stdout.readline(), b"up\n")
        inside = scene.descendants(child.pid)
        check(len(inside) >= 3, f"kernel process, pid 1 and the program: {inside}")
        check_equal({os.sched_getscheduler(pid) for pid in inside}, {os.SCHED_OTHER})
    finally:
        child.communicate(timeout=PATIENCE_S)
    check_equal(child.returncode, 0)


def test_memory():
    killed(b"--memory", "--memory", "64M", "--", "python3", "-c",
           "import time; x = bytearray(300 << 20); time.sleep(10000)")
    killed(b"--memory", "--memory", "64M", "--", "sh", "-c",
           "python3 -c 'import time; x = bytearray(300 << 20); time.sleep(10000)'")


def test_disk_pids_files():
    done = hotcell("-q", "--disk", "1M", "--", "sh", "-c", "head -c 2M /dev/zero >/tmp/x; stat -c %s /tmp/x")
    check_equal((done.stdout, b"No space left" in done.stderr), (b"1048576\n", True))
    done = hotcell("-q", "--pids", "8", "--", "python3", "-c",
                   "import os, signal\nwhile True: os.fork() or signal.pause()")
    check(b"Resource temporarily unavailable" in done.stderr, done.stderr)
    done = hotcell("-q", "--files", "16", "--", "python3", "-c",
                   "import os\nwhile True: os.open('/etc/passwd', 0)")
    check(b"Too many open files" in done.stderr, done.stderr)


# ---- odd surroundings ----

def shell(script):
    return subprocess.run(["sh", "-c", script.replace("HOTCELL", HOTCELL + " run -q --")],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S)


def test_soft_limits_of_the_callers_shell_do_not_matter():
    skip_if_sanitized("no room below a limit of address space")
    done = shell("ulimit -S -v 200000; ulimit -S -f 1; ulimit -S -n 32; "
                 "HOTCELL sh -c 'head -c 100000 /dev/zero >/tmp/x; stat -c %s /tmp/x'")
    check_equal((done.returncode, done.stdout, done.stderr), (0, b"100000\n", b""))


def test_many_and_long_arguments():
    done = hotcell("-q", "--", "sh", "-c", "echo $# ${#1}", "sh", *["x" * 100000] * 15)
    check_equal(done.stdout, b"15 100000\n")
    done = hotcell("-q", "--", "sh", "-c", "echo $#", "sh", *["x"] * 100000)
    check_equal(done.stdout, b"100000\n")


def test_current_directory_is_gone_or_the_root():
    with Folder() as folder:
        os.mkdir(f"{folder}/gone")
        done = shell(f"cd {folder}/gone; rmdir {folder}/gone; HOTCELL sh -c 'pwd; ls -A'")
        check_equal((done.returncode, done.stdout), (0, b"/work\n"))
    check_equal(shell("cd /; HOTCELL sh -c 'pwd; ls -A'").stdout, b"/work\n")


def test_root_of_a_user_namespace():
    done = shell("unshare -r true && cd /usr && exec unshare -r HOTCELL id -u")
    if b"unshare" in done.stderr:
        raise Skip("no user namespaces for this user")
    check_equal((done.returncode, done.stdout), (0, b"1000\n"), done.stderr)


def test_a_sandbox_in_a_sandbox_says_what_is_missing():
    skip_if_sanitized("their runtime does not start inside")
    done = hotcell("-q", "--ro", f"{os.path.dirname(HOTCELL)}:/b", "--", "/b/hotcell", "run", "true")
    check_equal(done.returncode, 125)
    check(b"user namespaces" in done.stderr, done.stderr)


def test_many_at_once():
    children = [subprocess.Popen([HOTCELL, "run", "-q", "--", "sh", "-c", f"sleep 0.2; exit {i}"],
                                 stdin=subprocess.DEVNULL) for i in range(20)]
    check_equal([child.wait(PATIENCE_S) for child in children], list(range(20)))


# ---- signals ----

def start(*command, options=(), stdin=subprocess.DEVNULL):
    """Starts, and waits for the line "ready" of the program."""
    child = subprocess.Popen([HOTCELL, "run", "-q", *options, "--", *command],
                             stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check_equal(child.stdout.readline(), b"ready\n")
    return child


def end(child, **options):
    out, err = child.communicate(timeout=PATIENCE_S, **options)
    return child.returncode, out, err


def test_signals_reach_the_program():
    script = """
import os, signal, time
for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"):
    signal.signal(getattr(signal, "SIG" + name), lambda n, f: os.write(1, b"SIG%d\\n" % n))
os.write(1, b"ready\\n")
while True: time.sleep(0.02)
"""
    child = start("python3", "-c", script)
    for name in ("TERM", "HUP", "QUIT", "USR1", "USR2", "INT"):
        number = getattr(signal, "SIG" + name)
        child.send_signal(number)
        check_equal(child.stdout.readline(), b"SIG%d\n" % number)
    child.kill()
    end(child)


def test_signals_end_programs_that_do_not_handle_them():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        child = start("sh", "-c", "echo ready; exec sleep 10000")
        child.send_signal(number)
        status, _, errors = end(child)
        check_equal((status, errors), (128 + number, b""))


def interrupted_twice(child):
    """Interrupts twice within two seconds, as far as the machine lets us; true if that ended it."""
    child.send_signal(signal.SIGINT)
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    try:
        return child.wait(5) is not None
    except subprocess.TimeoutExpired:
        return False  # those two are forgotten


def test_interrupts_end_a_program_that_ignores_them():
    child = start("python3", "-c", "import signal\nsignal.signal(2, 1)\nprint('ready', flush=True)\n"
                  "while True: pass")
    scene.until(lambda: interrupted_twice(child), "it does not end")
    status, _, errors = end(child)
    check_equal(status, 137)
    check(b"interrupted twice" in errors, errors)


def test_stop_and_continue():
    child = start("sh", "-c", "echo ready; read line; echo $line", stdin=subprocess.PIPE)
    child.send_signal(signal.SIGTSTP)
    pid, status = os.waitpid(child.pid, os.WUNTRACED)
    check(os.WIFSTOPPED(status), status)
    child.send_signal(signal.SIGCONT)
    check_equal(end(child, input=b"done\n"), (0, b"done\n", b""))


def test_nothing_is_left_behind_when_hotcell_is_killed():
    child = start("sh", "-c", "echo ready; exec sleep 10000")
    scene.become_reaper()
    inside = scene.descendants(child.pid)
    check(len(inside) >= 3, f"kernel process, pid 1 and the program: {inside}")
    child.kill()
    child.wait()
    child.stdout.close()
    child.stderr.close()
    scene.until_nobody_is_left()


# ---- reports ----

def test_json():
    done = hotcell("--json", "-", "--", "sh", "-c", "exit 9")
    report = json.loads(done.stdout)
    check_equal((report["result"]["kind"], report["result"]["status"]), ("exited", 9))
    check_equal(report["command"], ["sh", "-c", "exit 9"])
    check(report["calls"]["served"] > 10 and report["start_ms"] > 0, report)
    report = json.loads(hotcell("--json", "-", "--", "sh", "-c", "kill -9 $$").stdout)
    check_equal((report["result"]["kind"], report["result"]["signal_name"]), ("signaled", "KILL"))
    report = json.loads(hotcell("--json", "-", "--timeout", "0.2", "--", "sleep", "10000").stdout)
    check_equal((report["result"]["kind"], report["result"]["status"]), ("killed", 137))
    report = json.loads(hotcell("--json", "-", "--", b"no\xff\"such").stdout)
    check_equal((report["result"]["kind"], report["command"]), ("not_run", ["no\ufffd\"such"]))


def test_json_to_a_file_and_summary():
    with Folder() as folder:
        done = hotcell("--summary", "--json", f"{folder}/summary.json", "--", "echo", "x")
        check_equal(done.stdout, b"x\n")
        check(b"system calls served" in done.stderr, done.stderr)
        check_equal(json.loads(read(f"{folder}/summary.json"))["result"]["status"], 0)


def test_quiet_is_quiet():
    check_equal(hotcell("-q", "--", "true").stderr, b"")
    check_equal(hotcell("--", "true").stderr, b"", "not a terminal")


def test_trace():
    with Folder() as folder:
        hotcell("-q", f"--trace={folder}/calls", "--", "cat", "/etc/hostname")
        calls = read(f"{folder}/calls")
        check("openat" in calls and '"/etc/hostname"' in calls and "write(1" in calls, calls[-2000:])
    check(b"openat" in hotcell("-q", "--trace", "--", "cat", "/etc/hostname").stderr, "standard error")


def test_refused_calls_are_counted():
    report = json.loads(hotcell("--user", "root", "--json", "-", "--", "mount", "-t", "tmpfs", "none", "/mnt").stdout)
    check(any(name in report["calls"]["refused"] for name in ("mount", "fsopen")), report["calls"])


def test_a_trace_shows_what_the_filter_refuses():
    done = hotcell("--json", "-", "--trace=/dev/stderr", "--", "unshare", "-n", "true")
    check(b"unshare(" in done.stderr, done.stderr[-500:])
    check(json.loads(done.stdout)["calls"]["refused"].get("unshare", 0) >= 1, done.stdout)


# ---- the other verbs ----

def test_help_and_version():
    for arguments in (["help"], ["--help"], ["help", "run"], ["run", "--help"], ["doctor", "--help"]):
        done = subprocess.run([HOTCELL, *arguments], capture_output=True)
        check_equal((arguments, done.returncode, done.stderr), (arguments, 0, b""))
        check(b"Usage: hotcell" in done.stdout, done.stdout)
    check(b"hotcell " in subprocess.run([HOTCELL, "version"], capture_output=True).stdout, "version")
    check_equal(subprocess.run([HOTCELL, "nonsense"], capture_output=True).returncode, 2)


def test_help_shows_every_default():
    text = subprocess.run([HOTCELL, "run", "--help"], capture_output=True, text=True).stdout
    for option, default in (("memory", "2G"), ("pids", "1024"), ("disk", "4G"), ("files", "65536"),
                            ("hostname", "hotcell"), ("timeout", "none"), ("cpus", "all")):
        line = next(line for line in text.split("\n") if f"--{option} " in line)
        check(f"[default: {default}]" in line, line)


def test_doctor():
    done = subprocess.run([HOTCELL, "doctor", "--json"], capture_output=True, timeout=PATIENCE_S)
    report = json.loads(done.stdout)
    check_equal((report["usable"], done.returncode), (True, 0), report)
    states = {check["id"]: check["state"] for check in report["checks"]}
    check_equal(states["sandbox"], "ok")
    text = subprocess.run([HOTCELL, "doctor"], capture_output=True, text=True, timeout=PATIENCE_S).stdout
    check("Hotcell works here" in text, text)


run(sys.modules[__name__])
