"""FREEZE, THAW and REBOOT over the control channel."""
import errno
import os
import signal
import sys
import threading
import time

from harness.channel import Refused, Sandbox, Writer
from harness.tap import check, check_equal, run

if not os.access(os.environ["HOTCELL"], os.X_OK):
    sys.exit(77)


def refused(function, code, about="request"):
    try:
        function()
    except Refused as error:
        check_equal((errno.errorcode[error.code], error.about), (errno.errorcode[code], about), error.text)
        return error
    raise AssertionError("was not refused")


def host_cpu(box):
    """CPU time of all processes of the sandbox but the kernel process, from outside."""
    total, todo = 0, [box.kernel_pid]
    while todo:
        pid = todo.pop()
        try:
            for tid in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{tid}/children") as file:
                    todo += [int(child) for child in file.read().split()]
            with open(f"/proc/{pid}/schedstat") as file:
                if pid != box.kernel_pid:
                    for tid in os.listdir(f"/proc/{pid}/task"):
                        with open(f"/proc/{pid}/task/{tid}/schedstat") as thread:
                            total += int(thread.read().split()[0])
        except FileNotFoundError:
            pass
    return total


def python(box, code, **more):
    process = box.start(["python3", "-u", "-c", code], **more)
    process.wait_for(b"\n")
    return process


BUSY = """
import os, threading, time
def spin():
    while True: pass
for _ in range(3): threading.Thread(target=spin, daemon=True).start()
if os.fork() == 0: spin()
print('up')
spin()
"""


def test_computing_threads_stand_still():
    with Sandbox() as box:
        process = python(box, BUSY)
        box.call("FREEZE")
        before = host_cpu(box)
        with Sandbox() as other:
            other.run("for i in 1 2 3 4 5 6; do true; done")
        check_equal(host_cpu(box), before, "cpu time while frozen")
        box.call("FREEZE")  # again is no error
        box.call("THAW")
        while host_cpu(box) == before:
            pass
        check_equal(process.pid in [p.pid for p in box.processes()], True)
        box.call("THAW")
        process.signal(signal.SIGKILL, group=True)
        check_equal(process.exited(), signal.SIGKILL)


def test_memory_and_pids_survive():
    with Sandbox() as box:
        process = python(box, "import os, sys\nx = os.urandom(1000)\nimport hashlib\nprint('up', os.getpid(), hashlib.sha1(x).hexdigest())\n"
                         "sys.stdin.readline()\nprint('again', os.getpid(), hashlib.sha1(x).hexdigest())")
        for _ in range(5):
            box.call("FREEZE")
            box.call("THAW")
        os.write(process.stdin, b"\n")
        lines = process.finish().out.split(b"\n")
        check_equal(lines[0].split()[1:], lines[1].split()[1:])


WAITS = """
import os, select, socket, signal, sys, threading, time, fcntl, queue
out = []
def timed(name, wanted, function):
    def body():
        start = time.monotonic()
        function()
        took = time.monotonic() - start
        out.append(f'{name} {"ok" if wanted <= took < wanted + 100 else took}')
    thread = threading.Thread(target=body)
    thread.start()
    return thread
r, w = os.pipe()
a, b = socket.socketpair()
b.settimeout(1.5)
ep = select.epoll(); ep.register(r, select.EPOLLIN)
def receive():
    try: b.recv(1)
    except TimeoutError: pass
threads = [timed('sleep', 1.5, lambda: time.sleep(1.5)),
           timed('poll', 1.5, lambda: select.select([r], [], [], 1.5)),
           timed('epoll', 1.5, lambda: ep.poll(1.5)),
           timed('recv', 1.5, receive),
           timed('lock', 1.5, lambda: threading.Lock().acquire() and threading.Event().wait(1.5))]
print('up')
for t in threads: t.join()
print(' '.join(sorted(out)))
"""


def test_waits_keep_their_ends():
    """What waits goes on waiting, until when it would have."""
    with Sandbox() as box:
        process = python(box, WAITS)
        for _ in range(4):
            box.call("FREEZE")
            box.call("THAW")
        check_equal(process.finish().out.split(b"\n")[1], b"epoll ok lock ok poll ok recv ok sleep ok")


MASKED = """
import ctypes, signal, sys, threading, time, os
libc = ctypes.CDLL(None, use_errno=True)
class timespec(ctypes.Structure): _fields_ = [('s', ctypes.c_long), ('n', ctypes.c_long)]
mask = (ctypes.c_ulong * 16)()
def ppoll(seconds):
    start = time.monotonic()
    r = libc.ppoll(None, 0, ctypes.byref(timespec(seconds, 500000000)), ctypes.byref(mask))
    return r, ctypes.get_errno() if r < 0 else 0, time.monotonic() - start
print('up')
r, error, took = ppoll(1)
print(r, error, 1.5 <= took < 100)
signal.signal(signal.SIGUSR1, lambda *a: print('usr1'))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print('masked')
r, error, took = ppoll(1000)
print(r, error, took < 500)
"""


def test_waits_with_a_signal_mask():
    """They are parked in a call of the host (core/call.c)."""
    with Sandbox() as box:
        process = python(box, MASKED)
        for _ in range(4):
            box.call("FREEZE")
            box.call("THAW")
        process.wait_for(b"masked\n")
        box.call("FREEZE")
        process.signal(signal.SIGUSR1)
        box.stat("/")
        check(b"usr1" not in process.output[1], "a handler ran while frozen")
        box.call("THAW")
        check_equal(process.finish().out, b"up\n0 0 True\nmasked\nusr1\n-1 4 True\n")


def test_a_shell_with_jobs_on_a_terminal():
    with Sandbox() as box:
        request = box.spawn(["/bin/bash", "--norc", "-i"], flags=5, env={"PATH": "/bin:/usr/bin", "PS1": "$ "})
        box.expect(request, "SPAWNED")
        seen = b""

        def type_and_wait(text, answer):
            nonlocal seen
            box.channel.send("INPUT", text, request)
            while answer not in seen:
                data = box.next(request)
                seen += data.body
                box.channel.send("OUTPUT_ACK", Writer().u32(len(data.body)).data, request)
            seen = b""
        type_and_wait(b"sleep 100 &\n", b"[1] ")
        type_and_wait(b"echo a$((1+1))b\n", b"a2b")
        for _ in range(3):
            box.call("FREEZE")
            box.call("THAW")
        type_and_wait(b"jobs; echo c$((1+1))d\n", b"c2d")
        type_and_wait(b"kill -STOP %1; sleep 0.1; jobs; echo e$((1+1))f\n", b"e2f")
        box.call("FREEZE")
        box.call("THAW")
        type_and_wait(b"jobs -s; echo g$((1+1))h\n", b"Stopped")
        type_and_wait(b"kill -CONT %1; kill %1; wait; exit 7\n", b"exit")
        while True:
            message = box.next(request)
            if message.type == "EXITED":
                break
        check_equal(int.from_bytes(message.body, "little"), 7 << 8)


BLOCKED = """
import os, signal, socket, subprocess, sys, threading
r, w = os.pipe(); r2, w2 = os.pipe()
server = socket.socket(); server.bind(('127.0.0.1', 7000)); server.listen()
child = subprocess.Popen(['sleep', '100'])
got = []
def reading(): got.append(os.read(r, 10))
def writing(): got.append(os.write(w2, b'x' * 300000))
def accepting(): got.append(server.accept()[1][0])
def waiting(): got.append(child.wait())
threads = [threading.Thread(target=f) for f in (reading, writing, accepting, waiting)]
for t in threads: t.start()
print('up')
sys.stdin.readline()
os.write(w, b'data')
total = 0
while total < 300000: total += len(os.read(r2, 65536))
socket.create_connection(('127.0.0.1', 7000))
child.kill()
for t in threads: t.join()
print(sorted(map(str, got)))
"""


def test_blocked_calls_go_on():
    with Sandbox() as box:
        process = python(box, BLOCKED)
        for _ in range(5):
            box.call("FREEZE")
            box.call("THAW")
        os.write(process.stdin, b"\n")
        done = process.finish()
        check_equal(done.out.split(b"\n")[1], b"['-9', '127.0.0.1', '300000', \"b'data'\"]", done.err)


def test_what_becomes_ready_while_frozen():
    with Sandbox() as box:
        process = python(box, "import os, sys, select\nprint('up')\nprint(sys.stdin.readline())\nprint(select.select([0], [], [], 1000))")
        box.call("FREEZE")
        os.write(process.stdin, b"typed\nmore\n")
        check_equal(process.output[1], b"up\n")
        box.call("THAW")
        process.wait_for(b"typed")
        check_equal(process.finish().status, 0)


def test_parents_and_shells_do_not_notice():
    with Sandbox() as box:
        process = python(box, "import os, signal, subprocess\n"
                         "seen = []\nsignal.signal(signal.SIGCHLD, lambda *a: seen.append('chld'))\n"
                         "signal.signal(signal.SIGCONT, lambda *a: seen.append('cont'))\n"
                         "child = subprocess.Popen(['sleep', '100'])\nprint('up')\n"
                         "while True:\n"
                         "  pid, status = os.waitpid(child.pid, os.WUNTRACED | os.WCONTINUED)\n"
                         "  if os.WIFSTOPPED(status): print('stopped')\n"
                         "  elif os.WIFCONTINUED(status): print('continued')\n"
                         "  else: break\nprint('ended', status, seen)")
        for _ in range(5):
            box.call("FREEZE")
            box.call("THAW")
        box.run("pkill -x sleep")
        check_equal(process.finish().out, b"up\nended 15 ['chld']\n")


def test_a_stop_by_a_guest_stays_one():
    with Sandbox() as box:
        process = python(box, "import os, signal, subprocess, sys\nchild = subprocess.Popen(['sleep', '100'])\n"
                         "child.send_signal(signal.SIGSTOP)\nos.waitpid(child.pid, os.WUNTRACED)\nprint('up')\n"
                         "sys.stdin.readline()\nprint(open(f'/proc/{child.pid}/stat').read().split()[2])\n"
                         "child.send_signal(signal.SIGCONT)\nprint(os.WIFCONTINUED(os.waitpid(child.pid, os.WCONTINUED)[1]))\n"
                         "child.kill(); print(child.wait())")
        for _ in range(3):
            box.call("FREEZE")
            box.call("THAW")
        os.write(process.stdin, b"\n")
        check_equal(process.finish().out, b"up\nT\nTrue\n-9\n")


def test_handlers_run_after_the_thaw():
    with Sandbox() as box:
        process = python(box, "import signal, sys, os\nsignal.signal(signal.SIGUSR1, lambda *a: print('usr1'))\nprint('up')\n"
                         "print(sys.stdin.readline())")
        box.call("FREEZE")
        process.signal(signal.SIGUSR1)
        box.stat("/")
        check_equal(process.output[1], b"up\n")
        box.call("THAW")
        process.wait_for(b"usr1")
        os.write(process.stdin, b"line\n")
        check(b"line" in process.finish().out, process.output)


def test_the_channel_goes_on():
    with Sandbox() as box:
        process = python(box, "import socket, time\ns = socket.socket(); s.bind(('', 9000)); s.listen(); print('up'); time.sleep(100)")
        box.call("FREEZE")
        box.write("f", b"while frozen")
        check_equal(box.read("f"), b"while frozen")
        check_equal([e.name for e in box.list("", 1) if not e.name.startswith(".")], ["f"])
        check(box.stats()["processes"] >= 2, "statistics")
        check(process.pid in [p.pid for p in box.processes()], "processes")
        refused(lambda: box.dial(9000), errno.EAGAIN)
        near = []
        request = box.spawn(["true"], fds=[0, 1, 2])
        check(box.silent(request), "a process was started")
        box.call("THAW")
        box.expect(request, "SPAWNED")
        check_equal(box.expect(request, "EXITED").u32(), 0)
        box.dial(9000).close()


def test_kill_while_frozen():
    with Sandbox() as box:
        process = python(box, BUSY)
        box.call("FREEZE")
        process.signal(signal.SIGKILL, group=True)
        box.call("THAW")
        check_equal(process.exited(), signal.SIGKILL)
        check_equal(box.run("echo fine").out, b"fine\n")


def test_a_storm_of_new_processes():
    with Sandbox(limits={"pids": 200}) as box:
        process = box.start(["/bin/bash", "-c", "echo up; while true; do (true; true) & (true | true) & wait -n; done"])
        process.wait_for(b"up")
        threads = python(box, "import threading, os\nprint('up')\nwhile True:\n"
                         " t = threading.Thread(target=lambda: None); t.start(); os.posix_spawnp('true', ['true'], os.environ)\n"
                         " os.wait(); t.join()")
        for _ in range(20):
            box.call("FREEZE")
            before = host_cpu(box)
            box.stat("/")
            check_equal(host_cpu(box), before, "cpu time while frozen")
            box.call("THAW")
        for one in (process, threads):
            one.signal(signal.SIGKILL, group=True)
            check_equal(one.exited(), signal.SIGKILL)
        check_equal(box.run("echo fine").out, b"fine\n")


def test_many_threads():
    with Sandbox() as box:
        process = python(box, "import threading, sys\ne = threading.Event()\n"
                         "for _ in range(500): threading.Thread(target=e.wait).start()\nprint('up')\nsys.stdin.readline()\ne.set()")
        for _ in range(3):
            box.call("FREEZE")
            box.call("THAW")
        check_equal(process.finish().status, 0)


def test_the_end_while_frozen():
    with Sandbox() as box:
        python(box, BUSY)
        box.call("FREEZE")
        box.channel.send("SHUTDOWN", Writer().str("enough").data)
        died = box.channel.wait(lambda m: m.type == "DIED")
        check(b"enough" in died.body, died.body)


# ---- reboot

def boot_id(box):
    return box.read("/proc/sys/kernel/random/boot_id")


def test_reboot():
    with Sandbox() as box:
        box.write("keep", b"me")
        box.run("echo kept > /tmp/kept; echo kept > /dev/shm/kept")
        server = python(box, "import socket, time\ns = socket.socket(); s.bind(('', 9000)); s.listen()\n"
                        "u = socket.socket(socket.AF_UNIX); u.bind('\\0abstract'); print('up'); time.sleep(100)")
        busy = python(box, BUSY)
        orphan = box.run("setsid sleep 100 > /dev/null 2>&1 & ipcmk -M 5000 -Q -S 3 > /dev/null; ipcs | grep -c 0x")
        check_equal(orphan.out, b"3\n")
        first = boot_id(box)
        check_equal(boot_id(box), first)
        box.call("REBOOT")
        check_equal((server.exited(), busy.exited()), (signal.SIGKILL, signal.SIGKILL))
        check_equal([p.pid for p in box.processes()], [1])
        check(boot_id(box) != first, "the same boot id")
        check_equal(box.read("keep"), b"me")
        check_equal(box.run("cat /tmp/kept /dev/shm/kept; ipcs | grep -c 0x").out, b"kept\nkept\n0\n")
        refused(lambda: box.dial(9000), errno.ECONNREFUSED)
        again = python(box, "import socket\ns = socket.socket(); s.bind(('', 9000)); s.listen()\n"
                       "u = socket.socket(socket.AF_UNIX); u.bind('\\0abstract'); print('up')")
        check_equal(again.finish().status, 0)


def test_reboot_of_a_fork_bomb():
    with Sandbox(limits={"pids": 200}) as box:
        bomb = box.start(["/bin/bash", "-c", "echo up; f() { f | f & }; f 2> /dev/null; wait"])
        bomb.wait_for(b"up")
        box.call("REBOOT")
        check_equal([p.pid for p in box.processes()], [1])
        check_equal(box.run("echo fine").out, b"fine\n")
        check_equal(box.stats()["processes"], 1)


def test_reboot_of_a_frozen_sandbox():
    with Sandbox() as box:
        busy = python(box, BUSY)
        box.call("FREEZE")
        box.call("REBOOT")
        check_equal(busy.exited(), signal.SIGKILL)
        check_equal(box.run("echo fine").out, b"fine\n")


def test_spawn_during_a_reboot():
    with Sandbox() as box:
        busy = python(box, BUSY)
        reboot = box.request("REBOOT")
        done = box.run("echo after")
        check_equal(done.out, b"after\n")
        box.expect(reboot, "DONE")
        check_equal(busy.exited(), signal.SIGKILL)


run(sys.modules[__name__])
