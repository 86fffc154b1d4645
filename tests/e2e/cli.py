"""`hotcell run` as a command: exit statuses, streams, signals, terminals, mounts, limits."""
import json
import os
import pty
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import termios
import time

from harness import scene
from harness.tap import PATIENCE_S

HOTCELL = os.environ["HOTCELL"]
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def run(*arguments, command=None, **keywords):
    """Runs `hotcell run -q ARGUMENTS -- COMMAND`; a string is a shell script."""
    words = ["sh", "-c", command] if isinstance(command, str) else command or []
    keywords.setdefault("stdin", subprocess.DEVNULL if "input" not in keywords else None)
    if keywords["stdin"] is None:
        del keywords["stdin"]
    quiet = [] if keywords.pop("loud", False) else ["-q"]
    return subprocess.run([HOTCELL, "run", *quiet, *arguments, "--", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=PATIENCE_S, **keywords)


def start(*arguments, command, **keywords):
    keywords.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([HOTCELL, "run", "-q", *arguments, "--", "sh", "-c", command], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, start_new_session=True, **keywords)


def equal(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what} got {got!r}, want {want!r}")


def contains(text, part):
    if part not in text:
        raise AssertionError(f"{part!r} is not in {text!r}")


# ---- exit status and messages ----

@test
def exit_status_is_the_programs():
    for number in (0, 1, 3, 77, 255):
        equal(run(command=f"exit {number}").returncode, number)
    equal(run(command="kill -TERM $$").returncode, 128 + signal.SIGTERM)
    equal(run(command="kill -SEGV $$").returncode, 128 + signal.SIGSEGV)


@test
def not_found_is_127_and_not_executable_126():
    done = run(command=["/no/such/program"])
    equal(done.returncode, 127)
    contains(done.stderr, b"/no/such/program")
    equal(run(command=["no-such-program"]).returncode, 127)
    done = run(command=["/etc/passwd"])
    equal(done.returncode, 126)
    contains(done.stderr, b"/etc/passwd")
    equal(run(command=["/usr"]).returncode, 126)


@test
def own_failures_are_125_and_say_why():
    for arguments in (["--memory", "lots"], ["--no-such-option"], ["--pids", "-3"], ["--ro", "/no/such/host/dir:/x"], ["--workdir", "relative"],
                      ["--template", "none"], ["--timeout", "soon"], ["--user", "nobody-there"], ["--cpus", "x"]):
        done = run(*arguments, command="true")
        equal(done.returncode, 125, arguments)
        if not done.stderr.startswith(b"hotcell: ") or done.stderr.count(b"\n") > 3:
            raise AssertionError(f"{arguments}: {done.stderr!r}")
    equal(subprocess.run([HOTCELL, "run"], capture_output=True).returncode, 125)


@test
def help_names_every_option_with_its_default():
    done = subprocess.run([HOTCELL, "run", "--help"], capture_output=True)
    equal(done.returncode, 0)
    for option in ("template", "workdir", "env", "user", "ro", "rw", "cow", "memory", "cpus", "pids", "disk", "store", "files", "timeout", "tty", "hostname",
                   "trace", "json", "quiet"):
        contains(done.stdout, f"--{option}".encode())


# ---- environment and identity ----

@test
def the_environment_is_minimal_and_settable():
    os.environ["HOTCELL_TEST_LEAK"] = "leak"
    out = run("--env", "A=1", "--env", "B=x y", command="env; pwd; hostname; id -un").stdout.decode()
    for part in ("A=1\n", "B=x y\n", "PATH=", "HOME=", "/work\n", "hotcell\n"):
        contains(out, part)
    if "leak" in out:
        raise AssertionError("the caller's environment is inside")
    equal(run("--env", "HOTCELL_TEST_LEAK", command="echo $HOTCELL_TEST_LEAK").stdout, b"leak\n")
    equal(run("--hostname", "box", command="hostname; cat /proc/sys/kernel/hostname").stdout, b"box\nbox\n")
    equal(run("--workdir", "/usr/lib", command="pwd").stdout, b"/usr/lib\n")
    equal(run("--user", "0", command="id -u").stdout, b"0\n")
    equal(run("--user", "123:456", command="id -u; id -g").stdout, b"123\n456\n")
    equal(run("--user", "nobody", command="id -un").stdout, b"nobody\n")


@test
def arguments_arrive_as_they_are():
    words = ["a b", "", "'", "\"", "$x", "*", "\n", "ä", "-q", "--"]
    out = run(command=["printf", "<%s>", *words]).stdout
    equal(out, "".join(f"<{w}>" for w in words).encode())


# ---- streams ----

@test
def stdin_stdout_and_stderr_are_the_callers():
    done = run(command="cat; echo error >&2", input=b"input\n")
    equal((done.stdout, done.stderr), (b"input\n", b"error\n"))
    done = run(command="cat; echo end")
    equal(done.stdout, b"end\n")


@test
def big_pipes_flow_in_both_directions():
    data = os.urandom(1 << 20) * 24
    done = run(command=["cat"], input=data)
    equal(done.stdout == data, True)


@test
def a_slow_reader_holds_the_program_back():
    child = start(command="head -c 100000000 /dev/zero; echo done >&2")
    time.sleep(1)
    state = select.select([child.stderr], [], [], 0)[0]
    equal(state, [], "the writer ran ahead of its reader")
    total = 0
    while chunk := child.stdout.read(1 << 20):
        total += len(chunk)
    equal(total, 100000000)
    equal(child.stderr.read(), b"done\n")
    equal(child.wait(PATIENCE_S), 0)


@test
def a_reader_that_goes_away_is_a_broken_pipe():
    child = subprocess.Popen([HOTCELL, "run", "-q", "--", "sh", "-c", "yes; echo $? >&2"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.read(100)
    child.stdout.close()
    contains(child.stderr.read(), b"141")
    child.wait(PATIENCE_S)


@test
def files_as_streams():
    with tempfile.TemporaryFile() as file:
        subprocess.run([HOTCELL, "run", "-q", "--", "sh", "-c", "echo one; echo two; echo three >&2; cat"], stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=True)
        file.seek(0)
        equal(file.read(), b"one\ntwo\nthree\n")
    with open(__file__, "rb") as source:
        equal(subprocess.run([HOTCELL, "run", "-q", "--", "md5sum"], stdin=source, stdout=subprocess.PIPE).stdout,
              subprocess.run(["md5sum"], stdin=open(__file__, "rb"), stdout=subprocess.PIPE).stdout)
    with open("log", "ab") as log:
        log.write(b"before\n")
        log.flush()
        subprocess.run([HOTCELL, "run", "-q", "--", "sh", "-c", "echo a; (echo b); echo c"], stdin=subprocess.DEVNULL, stdout=log, check=True)
    equal(open("log", "rb").read(), b"before\na\nb\nc\n")


@test
def closed_streams_do_not_hurt():
    script = f"exec '{HOTCELL}' run -q -- sh -c 'echo fine > f; cat f >&2' <&- >&-"
    done = subprocess.run(["sh", "-c", script], stderr=subprocess.PIPE)
    equal(done.returncode, 0, done.stderr)


@test
def input_that_waits_does_not_delay_the_end():
    reading, writing = os.pipe()
    child = subprocess.run([HOTCELL, "run", "-q", "--", "true"], stdin=reading, timeout=PATIENCE_S)
    equal(child.returncode, 0)  # which would wait for ever
    os.close(writing)
    os.close(reading)


@test
def two_sandboxes_in_a_pipeline():
    script = f"'{HOTCELL}' run -q -- seq 100000 | '{HOTCELL}' run -q -- sort -rn | '{HOTCELL}' run -q -- head -1"
    equal(subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE).stdout, b"100000\n")


# ---- signals ----

def started(child):
    """Waits for the line "ready" on stdout."""
    equal(child.stdout.readline(), b"ready\n")


@test
def signals_reach_the_program():
    for number, name in ((signal.SIGTERM, "TERM"), (signal.SIGINT, "INT"), (signal.SIGHUP, "HUP")):
        child = start(command=f"trap 'echo {name}; exit 9' {name}; echo ready; while :; do sleep 0.05; done")
        started(child)
        child.send_signal(number)
        equal(child.stdout.read(), name.encode() + b"\n")
        equal(child.wait(PATIENCE_S), 9)


@test
def a_program_without_a_handler_dies_of_the_signal():
    child = start(command="echo ready; exec sleep 100")
    started(child)
    child.send_signal(signal.SIGTERM)
    status = child.wait(PATIENCE_S)
    equal(status in (-signal.SIGTERM, 128 + signal.SIGTERM), True, status)


@test
def the_sandbox_ends_with_its_program():
    equal(run(command="sleep 10000 & sleep 10000 & exit 4").returncode, 4)  # longer than we wait


# ---- files ----

@test
def the_current_directory_is_copied_on_write():
    open("file", "w").write("host\n")
    os.mkdir("dir")
    open("dir/a", "w").write("a")
    out = run(command="cat file; echo inside > file; cat file; rm -r dir; touch new; ls").stdout
    equal(out, b"host\ninside\nfile\nnew\n")
    equal((open("file").read(), sorted(os.listdir("."))), ("host\n", ["dir", "file"]))
    equal(os.listdir("dir"), ["a"])


@test
def a_writable_mount_is_real():
    open("file", "w").write("host\n")
    done = run("--rw", ".:/work", command="cat file; echo inside > file; mkdir d; echo x > d/y; mv file g; ln -s g l; chmod 640 g")
    equal((done.returncode, done.stdout, done.stderr), (0, b"host\n", b""))
    equal(sorted(os.listdir(".")), ["d", "g", "l"])
    equal((open("g").read(), open("d/y").read(), os.readlink("l"), stat.S_IMODE(os.stat("g").st_mode)), ("inside\n", "x\n", "g", 0o640))
    equal(os.stat("g").st_uid, os.geteuid(), "owner of a new file")


@test
def a_read_only_mount_cannot_be_changed():
    os.mkdir("m")
    open("m/file", "w").write("host\n")
    done = run("--ro", os.path.abspath("m") + ":/m", command="cat /m/file; echo x > /m/file; touch /m/new; rm /m/file; mkdir /m/d; chmod 777 /m/file; mv /m/file /m/g; ln /m/file /m/h")
    contains(done.stdout, b"host\n")
    equal(done.stderr.count(b"Read-only file system"), 7, done.stderr)
    equal(os.listdir("m"), ["file"])


@test
def mounts_of_files_and_several_mounts():
    os.mkdir("a")
    open("a/x", "w").write("ax")
    open("one", "w").write("one")
    here = os.getcwd()
    done = run("--cow", f"{here}/a:/data/a", "--ro", f"{here}/one:/opt/one", "--rw", f"{here}/a:/real",
               command="cat /data/a/x /opt/one /real/x; echo c > /data/a/x; echo r > /real/r; ls /data/a /real; cat /opt/two; mkdir -p /opt/d")
    contains(done.stdout, b"axoneax")
    equal((open("a/x").read(), sorted(os.listdir("a"))), ("ax", ["r", "x"]))


@test
def symlinks_out_of_a_mount_lead_nowhere():
    os.mkdir("m")
    secret = os.path.abspath("secret")
    open(secret, "w").write("secret")
    os.symlink("../secret", "m/up")
    os.symlink(secret, "m/absolute")
    os.symlink("/etc/shadow", "m/shadow")
    os.symlink("/proc/self/root", "m/root")
    for kind in ("--ro", "--cow", "--rw"):
        done = run(kind, os.path.abspath("m") + ":/m", "--cow", os.path.abspath("m") + ":/work", command="cat /m/up /m/absolute /m/root" + secret + "; cat /m/shadow; echo evil > /m/absolute; echo evil > /m/up; true")
        if b"secret" in done.stdout or b"root:" in done.stdout and b"$" in done.stdout:
            raise AssertionError(f"{kind}: {done.stdout!r}")
    equal(open(secret).read(), "secret")


@test
def the_hosts_own_files_are_not_inside():
    out = run(command="ls -A /root /home /var /srv /mnt /boot 2>/dev/null; cat /etc/hostname /etc/machine-id 2>/dev/null; ls /etc/ssh /etc/shadow 2>&1").stdout.decode()
    for line in open("/etc/passwd"):
        name = line.split(":")[0]
        home = line.split(":")[5]
        if home.startswith("/home/") and os.path.isdir(home) and name != "user":
            equal(name in out.split(), False, name)


@test
def usr_can_be_changed_inside_only():
    before = os.stat("/usr/bin")
    done = run("--user", "root", command="echo '#!/bin/sh\necho mine' > /usr/bin/true && true; /usr/bin/true; rm /usr/bin/env; ls /usr/bin/env; mkdir /usr/local/mine; cp /bin/ls /usr/bin/hotcell-test && hotcell-test -d /usr/local/mine")
    contains(done.stdout, b"mine\n/usr/local/mine\n")
    equal(os.path.exists("/usr/bin/env") and not os.path.exists("/usr/local/mine") and not os.path.exists("/usr/bin/hotcell-test"), True)
    equal(os.stat("/usr/bin").st_mtime_ns, before.st_mtime_ns)


# ---- limits ----

def killed(done, *parts):
    equal(done.returncode, 137, done.stderr)
    lines = [l for l in done.stderr.decode().split("\n") if l.startswith("hotcell:")]
    equal(len(lines), 1, done.stderr)
    for part in parts:
        contains(lines[0], part)


@test
def the_timeout_kills_and_says_so():
    killed(run("--timeout", "1s", command="sleep 10000", loud=True), "--timeout", "1 s")
    killed(run("--timeout", "1s", command="while :; do :; done", loud=True), "--timeout")
    killed(run("--timeout", "1s", command="trap '' TERM INT HUP; sleep 10000 & sleep 10000", loud=True), "--timeout")
    equal(run("--timeout", "300s", command="exit 3").returncode, 3)


@test
def the_memory_limit_kills_and_says_so():
    killed(run("--memory", "64M", command="python3 -c 'x = bytearray(500 << 20)'", loud=True), "--memory", "64 MiB")
    equal(run("--memory", "256M", command="python3 -c 'x = bytearray(50 << 20)'").returncode, 0)


@test
def the_process_limit_is_eagain():
    done = run("--pids", "20", command="python3 -c 'import os, time\nn = 0\ntry:\n  while True:\n    n += 1\n    if not os.fork(): time.sleep(30); os._exit(0)\nexcept OSError as e: print(n, e)'")
    found = re.match(rb"(\d+) \[Errno 11\] ", done.stdout)
    equal(bool(found) and 10 < int(found[1]) <= 20, True, done.stdout)


@test
def the_disk_limit_is_enospc():
    done = run("--disk", "5M", command="dd if=/dev/zero of=/work/big bs=64k 2>&1 | grep -o 'No space left on device'; stat -c %s /work/big; rm /work/big; echo ok > f; cat f")
    lines = done.stdout.split(b"\n")
    equal(lines[0], b"No space left on device")
    equal(4 << 20 <= int(lines[1]) <= 5 << 20, True, lines[1])
    equal(lines[2], b"ok")


@test
def memory_bounds_the_file_data_kept_in_it():
    fill = "dd if=/dev/zero of=big bs=1M 2>&1 | grep -o 'No space left on device'; stat -c %s big; df -B 1M . | tail -1; rm big; echo ok"
    done = run("--memory", "64M", "--json", "s.json", command=fill, loud=True)
    lines = done.stdout.decode().split("\n")
    equal((done.returncode, lines[0], lines[3]), (0, "No space left on device", "ok"), done.stdout)
    equal(47 << 20 <= int(lines[1]) <= 48 << 20, True, lines[1])
    equal(lines[2].split()[1], "48", "size of the file system in MiB")
    contains(done.stderr, b"hotcell: note: file data reached 48 MiB, three quarters of the memory limit (--memory or --store DIR changes it)\n")
    limits = json.load(open("s.json"))["limits"]
    equal((limits["disk_bytes"], limits["store"]), (48 << 20, None))
    contains(run("--disk", "5M", command=fill, loud=True).stderr, b"limit of 5 MiB (--disk changes it)")
    equal(b"file data" in run(command="head -c 5M /dev/zero > f", loud=True).stderr, False)


# ---- --store ----

@test
def a_store_takes_files_larger_than_memory():
    os.mkdir("store")
    script = "head -c 200000000 /dev/zero > big; stat -c %s big; cp /bin/echo mine; ./mine runs; rm big; echo x > /dev/shm/x; cat /dev/shm/x"
    done = run("--memory", "96M", "--store", "store", "--json", "s.json", command=script)
    equal((done.returncode, done.stdout, done.stderr), (0, b"200000000\nruns\nx\n", b""))
    equal(os.listdir("store"), [])
    equal(json.load(open("s.json"))["limits"]["store"], "store")
    done = run("--store", "store", "--disk", "5M", command="head -c 9M /dev/zero > big; stat -c %s big")
    equal(4 << 20 <= int(done.stdout) <= 5 << 20, True, done.stdout)
    contains(done.stderr, b"No space left on device")
    equal(os.listdir("store"), [])


@test
def a_store_is_private_and_shared_mappings_work():
    os.mkdir("store")
    child = start("--store", "store", command="echo secret > f; head -c 100000 /dev/zero > g; echo ready; read x < /dev/zero")
    started(child)
    name, = os.listdir("store")
    equal(stat.S_IMODE(os.stat(f"store/{name}").st_mode), 0o700)
    equal(os.stat(f"store/{name}").st_uid, os.geteuid())
    equal(len(os.listdir(f"store/{name}/data")) >= 1, True)
    if os.geteuid() == 0:
        equal(0 in {os.stat(f"store/{name}/data/{f}").st_uid for f in os.listdir(f"store/{name}/data")}, False, "a file of root's")
    # another run with the same directory leaves this one alone
    script = "import mmap; f = open('m', 'w+b'); f.truncate(1 << 20); m = mmap.mmap(f.fileno(), 1 << 20); m[:] = b'x' * (1 << 20); print(open('m').read() == 'x' * (1 << 20))"
    equal(run("--store", "store", command=["python3", "-c", script]).stdout, b"True\n")
    equal(os.listdir("store"), [name])
    child.send_signal(signal.SIGTERM)
    child.wait(PATIENCE_S)
    equal(os.listdir("store"), [])


@test
def a_store_of_a_killed_run_goes_with_the_next():
    os.mkdir("store")
    child = start("--store", "store", command="head -c 100000 /dev/zero > g; echo ready; sleep 100")
    started(child)
    tree = descendants(child.pid)
    left = os.listdir("store")
    child.kill()
    child.wait()
    until_gone(tree)
    equal(os.listdir("store"), left)
    os.makedirs("store/hotcell-mine/data")
    equal(run("--store", "store", command="true").returncode, 0)
    equal(os.listdir("store"), ["hotcell-mine"])


@test
def mapped_pages_of_a_store_stay_below_the_disk_limit():
    os.mkdir("store")
    script = """
import mmap, os
f = open("sparse", "w+b")
f.truncate(30 << 20)
try: mmap.mmap(f.fileno(), 30 << 20)
except OSError as e: print(e.strerror)
f.truncate(4 << 20)
m = mmap.mmap(f.fileno(), 4 << 20)
m[4096] = 1
print(os.stat("sparse").st_blocks <= 8)
for grow in (lambda: f.truncate(30 << 20), lambda: os.pwrite(f.fileno(), b"x", 30 << 20), lambda: os.posix_fallocate(f.fileno(), 30 << 20, 1)):
    try: grow(); print("grown")
    except OSError as e: print(e.strerror)
print(os.pwrite(f.fileno(), b"x", 5 << 20), os.stat("sparse").st_size)
os.remove("sparse"); m.close(); f.close()
print(open("other", "wb").write(bytes(9 << 20)))
"""
    done = run("--store", "store", "--disk", "10M", command=["python3", "-c", script])
    equal(done.stderr, b"")
    equal(done.stdout.decode().split("\n"), ["Cannot allocate memory", "True", *["No space left on device"] * 3, f"1 {(5 << 20) + 1}", str(9 << 20), ""])


@test
def deleted_mapped_files_of_a_store_stay_charged():
    os.mkdir("store")
    script = """
import mmap, os
def make(flags):
    try:
        with open("f", "w+b") as f:
            f.write(bytes(4 << 20)); f.flush()
            return mmap.mmap(f.fileno(), 4 << 20, flags)
    except OSError as e:
        return e.strerror
    finally:
        os.remove("f")
for flags in mmap.MAP_SHARED, mmap.MAP_PRIVATE:
    maps = [make(flags) for i in range(3)]
    print(maps[2], maps[0][4095], maps[1][8192])
    maps[0].close()
    maps[2] = make(flags)
    print(len(maps[2]))
    del maps
os.statvfs(".")
print(open("other", "wb").write(bytes(9 << 20)))
"""
    done = run("--store", "store", "--disk", "10M", command=["python3", "-c", script])
    equal((done.stdout.decode(), done.stderr), (f"No space left on device 0 0\n{4 << 20}\n" * 2 + f"{9 << 20}\n", b""))


@test
def a_store_that_cannot_be_is_explained():
    for directory, part in (("/no/such", b"No such file"), ("/proc", b"--store: "), (__file__, b"Not a directory")):
        done = run("--store", directory, command="true")
        equal(done.returncode, 125, done.stderr)
        contains(done.stderr, b"hotcell: --store: ")
        contains(done.stderr, part)


@test
def the_file_limit_is_enfile():
    done = run("--files", "60", command="python3 -c 'l = []\ntry:\n  while True: l.append(open(\"/dev/null\"))\nexcept OSError as e: print(len(l), e.errno)'")
    count, error = done.stdout.split()
    equal((20 < int(count) <= 60, error), (True, b"23"), done.stdout)


@test
def the_cpu_limit_slows_down():
    done = run("--cpus", "0.2", "--json", "out.json", command="timeout 2 sh -c 'while :; do :; done'; true")
    equal(done.returncode, 0, done.stderr)
    summary = json.load(open("out.json"))
    if not summary["cgroup"]["controllers"] or "cpu" not in summary["cgroup"]["controllers"]:
        return  # nothing to slow down with; the summary says so
    cpu, time_ms = summary["cpu"]["user_ms"] + summary["cpu"]["system_ms"], max(2000, summary["run_ms"])
    equal(cpu < 0.6 * time_ms, True, f"{cpu} ms of CPU in {time_ms} ms at 0.2 CPUs;")


# ---- terminals ----

def in_terminal(arguments, script, size=(24, 80)):
    """Runs `hotcell run ARGUMENTS` on a new terminal; `script(fd, child_pid)` talks; returns output, status."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(HOTCELL, [HOTCELL, "run", *arguments])
    termios.tcsetwinsize(fd, size)
    collected = bytearray()

    def wait_for(text, timeout=PATIENCE_S):
        end = time.monotonic() + timeout
        while text not in collected:
            if time.monotonic() > end or not read_more(fd, collected, 0.2) and text not in collected:
                if time.monotonic() > end:
                    raise AssertionError(f"{text!r} did not come: {bytes(collected)!r}")
    try:
        script(fd, pid, wait_for)
        end = time.monotonic() + PATIENCE_S
        while read_more(fd, collected, 1) is not None and time.monotonic() < end:
            pass
    finally:
        try:
            os.kill(pid, signal.SIGKILL) if time.monotonic() > end + 1 else None
        except (ProcessLookupError, UnboundLocalError):
            pass
        status = os.waitpid(pid, 0)[1]
        os.close(fd)
    return bytes(collected), os.waitstatus_to_exitcode(status)


def read_more(fd, collected, timeout):
    """True when something came, False when not yet, None at the end."""
    if not select.select([fd], [], [], timeout)[0]:
        return False
    try:
        chunk = os.read(fd, 65536)
    except OSError:
        return None
    collected += chunk
    return True if chunk else None


@test
def a_terminal_gives_the_program_a_terminal():
    def talk(fd, pid, wait_for):
        wait_for(b"first")
        os.write(fd, b"typed words\n")
        wait_for(b"<typed words>")
    out, status = in_terminal(["-q", "--", "sh", "-c", "tty; stty size; echo first; read x; echo \"<$x>\"; exit 6"], talk, (33, 99))
    equal(status, 6)
    contains(out, b"/dev/pts/")
    contains(out, b"33 99")


@test
def control_c_interrupts_inside():
    def talk(fd, pid, wait_for):
        wait_for(b"ready")
        os.write(fd, b"\x03")
        wait_for(b"interrupted")
    out, status = in_terminal(["-q", "-t", "--", "bash", "-c", "trap 'echo interrupted; exit 7' INT; echo ready; while :; do sleep 0.1; done"], talk)
    equal(status, 7, out)


@test
def the_window_size_follows():
    def talk(fd, pid, wait_for):
        wait_for(b"ready")
        termios.tcsetwinsize(fd, (40, 120))
        os.kill(pid, signal.SIGWINCH)
        wait_for(b"40 120")
    out, status = in_terminal(["-q", "--", "bash", "-c", "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done"], talk)
    equal(status, 0, out)


@test
def the_callers_terminal_is_as_before():
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", f"stty -g > before; '{HOTCELL}' run -q -- stty raw -echo; stty -g > after; cmp before after && echo same"])
    out = bytearray()
    while read_more(fd, out, PATIENCE_S):
        pass
    os.waitpid(pid, 0)
    contains(bytes(out), b"same")


@test
def an_interactive_shell_has_job_control():
    def talk(fd, pid, wait_for):
        wait_for(b"$ ")
        os.write(fd, b"sh -c 'echo in the fore\"\"ground; exec sleep 10000'\n")
        wait_for(b"in the foreground")
        os.write(fd, b"\x1a")
        wait_for(b"Stopped")
        os.write(fd, b"bg; jobs; kill %1; wait; echo rest $((40+2))\n")
        wait_for(b"rest 42")
        os.write(fd, b"exit 5\n")
    out, status = in_terminal(["-q", "--env", "PS1=$ ", "--", "bash", "--norc", "--noprofile", "-i"], talk)
    equal(status, 5, out)


@test
def no_terminal_without_one():
    equal(run(command="tty; test -t 1 || echo no").stdout, b"not a tty\nno\n")


# ---- summary, trace ----

@test
def the_summary_is_json():
    done = run("--json", "summary.json", command="ls / > /dev/null; exit 3")
    equal(done.returncode, 3)
    summary = json.load(open("summary.json"))
    equal(summary["result"]["status"], 3)
    equal(summary["calls"]["served"] > 10 and summary["run_ms"] > 0, True, summary)
    if "memory" in summary["cgroup"]["controllers"]:  # without one, memory is looked at now and then
        equal(summary["memory"]["peak_bytes"] > 0, True, summary)


@test
def the_trace_shows_calls():
    done = run("--trace=trace", command="cat /etc/hostname > /dev/null")
    equal(done.returncode, 0)
    text = open("trace").read()
    for part in ("openat(", "/etc/hostname", "write(", "execve(", " = "):
        contains(text, part)
    contains(run("--trace", command="echo x").stderr, b"write(1, \"x\\n\", 2) = 2")


@test
def nothing_is_left_behind():
    child = start(command="sleep 600 & sleep 600 & echo ready; wait")
    started(child)
    tree = descendants(child.pid)
    equal(len(tree) >= 4, True, tree)
    child.kill()
    child.wait()
    until_gone(tree)


@test
def death_of_the_kernel_process_is_reported():
    child = start(command="echo ready; sleep 600 & sleep 600")
    started(child)
    tree = descendants(child.pid)
    kernel = [p for p in tree if name_of(p) == "hotcell-kernel"]
    equal(len(kernel) >= 1, True, [name_of(p) for p in tree])
    os.kill(kernel[0], signal.SIGKILL)
    equal(child.wait(PATIENCE_S), 125)
    contains(child.stderr.read(), b"hotcell: ")
    until_gone(tree)


@test
def death_of_the_first_process_ends_the_sandbox():
    child = start(command="echo ready; sleep 600 & sleep 600")
    started(child)
    tree = descendants(child.pid)
    kernel = [p for p in tree if name_of(p) == "hotcell-kernel"][0]
    first = children_of(kernel)[0]
    os.kill(first, signal.SIGKILL)
    equal(child.wait(PATIENCE_S) != 0, True)
    until_gone(tree)


def children_of(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += [int(p) for p in open(f"/proc/{pid}/task/{task}/children").read().split()]
    except OSError:
        pass
    return found


def descendants(pid):
    found = [pid]
    for parent in found:
        found += children_of(parent)
    return found


def name_of(pid):
    try:
        return open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        return ""


def alive(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until_gone(pids):
    scene.until(lambda: not any(alive(p) for p in pids), "processes are left behind")


@test
def many_sandboxes_at_once():
    children = [start(command=f"echo {i}; sleep 0.2; echo $((7 * {i}))") for i in range(20)]
    for i, child in enumerate(children):
        out, err = child.communicate(timeout=PATIENCE_S)
        equal((out, err, child.returncode), (f"{i}\n{7 * i}\n".encode(), b"", 0))


def main():
    wanted = sys.argv[1:]
    failed = number = 0
    for function in TESTS:
        if wanted and function.__name__ not in wanted:
            continue
        number += 1
        directory = tempfile.mkdtemp(prefix="hotcell-cli-", dir="/tmp")
        os.chmod(directory, 0o755)
        os.chdir(directory)
        try:
            function()
            print(f"ok {number} {function.__name__}")
        except Exception as problem:
            failed += 1
            print(f"# {type(problem).__name__}: {problem}\nnot ok {number} {function.__name__}")
        finally:
            os.chdir("/")
            shutil.rmtree(directory, ignore_errors=True)
        sys.stdout.flush()
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
