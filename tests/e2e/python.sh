# status: 0
py() { /usr/bin/python3 -I "$@"; }
## start and standard streams
py -c 'print("hello", 1 + 1)'; echo 'import sys; print(sys.stdin.read())' > s.py; echo input | py s.py; py -c 'import sys; print(sys.version_info[:2], sys.flags.isolated, sys.executable, sys.argv)' a b; py -m this | head -1; py -c 'import sys; sys.exit(3)' || echo $?; py -c 'raise ValueError(1)' 2>&1 | tail -1; py -c 'import os; os.abort()' 2>/dev/null || echo $?
## subprocess
cat > t.py <<'X'
import subprocess as s, sys, os, signal, time
print(s.run(["echo", "hi"], capture_output=True, text=True))
print(s.check_output("echo $0 $((1+1)); exit 0", shell=True))
print(s.run(["cat"], input=b"x" * 300000, capture_output=True).stdout == b"x" * 300000)
p = s.Popen([sys.executable, "-c", "import sys; print(sys.stdin.readline()); print('e', file=sys.stderr)"], stdin=s.PIPE, stdout=s.PIPE, stderr=s.STDOUT)
print(p.communicate(b"line\n"), p.returncode)
try: s.run(["sleep", "5"], timeout=0.2)
except s.TimeoutExpired as e: print("timeout")
p = s.Popen(["sleep", "5"]); p.send_signal(signal.SIGINT); print(p.wait()); p = s.Popen(["sleep", "5"]); p.kill(); print(p.wait())
try: s.run(["/nonexistent"])
except FileNotFoundError as e: print(e)
try: s.run(["/etc/passwd"])
except PermissionError as e: print(e)
print(s.run(["sh", "-c", "pwd; echo $V"], cwd="/usr", env={"V": "value"}, capture_output=True).stdout)
r, w = os.pipe(); p = s.Popen(["sh", "-c", f"echo via fd >&{w}"], pass_fds=[w]); p.wait(); os.close(w); print(os.read(r, 100))
print(s.run(["sh", "-c", "ls /proc/self/fd | wc -l"], capture_output=True).stdout, s.getstatusoutput("exit 4"))
print([s.Popen(["sh", "-c", f"exit {i}"]).wait() for i in range(5)], s.run("kill -9 $$", shell=True).returncode)
ps = [s.Popen(["sh", "-c", f"sleep 0.0{i}; echo {i}"], stdout=s.PIPE) for i in range(9)]; print([p.stdout.read() for p in ps], [p.wait() for p in ps])
print(s.run(["sh", "-c", "ps -o pgid= -p $$"], start_new_session=True, capture_output=True).returncode)
p = s.Popen(["sh", "-c", "trap 'echo term; exit 9' TERM; echo ready; while :; do sleep 0.05; done"], stdout=s.PIPE); p.stdout.readline(); p.terminate(); print(p.stdout.read(), p.wait())
print(os.system("exit 3"), os.popen("echo popen").read(), os.WEXITSTATUS(os.spawnlp(os.P_WAIT, "sh", "sh", "-c", "exit 1")))
pid = os.posix_spawn("/bin/echo", ["echo", "spawned"], os.environ); print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
X
py t.py
## threading
cat > t.py <<'X'
import threading as t, queue, time, concurrent.futures as f, _thread
q, out = queue.Queue(maxsize=3), []
def worker():
    while (x := q.get()) is not None: out.append(x * x)
ts = [t.Thread(target=worker) for _ in range(8)]; [x.start() for x in ts]; [q.put(i) for i in range(500)]; [q.put(None) for _ in ts]; [x.join() for x in ts]
print(sum(out), len(out)); n = 0; l = t.Lock()
def inc():
    global n
    for _ in range(20000):
        with l: n += 1
ts = [t.Thread(target=inc) for _ in range(4)]; [x.start() for x in ts]; [x.join() for x in ts]; print(n)
b = t.Barrier(5); e = t.Event(); c = t.Condition(); s = t.Semaphore(2); order = []
def party(i): b.wait(); e.wait(); 
ts = [t.Thread(target=party, args=(i,)) for i in range(5)]; [x.start() for x in ts]; e.set(); [x.join() for x in ts]
def cons():
    with c: c.wait_for(lambda: order, 5); print("condition", order)
x = t.Thread(target=cons); x.start(); time.sleep(.05)
with c: order.append(1); c.notify_all()
x.join(); print(l.acquire(timeout=1), l.acquire(timeout=.1)); l.release()
with f.ThreadPoolExecutor(16) as p: print(sum(p.map(lambda i: i + 1, range(200))), [r.result() for r in [p.submit(pow, 2, i) for i in range(5)]])
x = t.Timer(.05, print, ["timer"]); x.start(); x.join(); d = t.local(); d.x = 1; print(t.active_count(), t.main_thread().name, t.get_native_id() > 0, t.Thread(target=lambda: None, name="n").name)
ts = [t.Thread(target=time.sleep, args=(.2,)) for _ in range(100)]; [x.start() for x in ts]; [x.join() for x in ts]; print("hundred"); t.Thread(target=time.sleep, args=(30,), daemon=True).start()
X
py t.py
## multiprocessing
# timeout: 120
cat > t.py <<'X'
import multiprocessing as m, os, sys, time, signal
from multiprocessing import shared_memory, managers
def sq(x): return x * x
def put(q, i): q.put((i, "x" * 1000))
def child(c): c.send([1, {"a": 2}]); print("got", c.recv(), flush=True); c.close()
def add(v, a, l):
    for _ in range(1000):
        with l: v.value += 1; a[0] += 2
def shm(name): s = shared_memory.SharedMemory(name); s.buf[:5] = b"hello"; s.close()
def ev(e, s): e.wait(5); s.release()
def die(): os.kill(os.getpid(), signal.SIGKILL)
def main():
    for method in ("fork", "spawn", "forkserver"):
        c = m.get_context(method)
        with c.Pool(3) as p: print(method, p.map(sq, range(20)), p.apply(sq, (9,)), sorted(p.imap_unordered(sq, range(5), 2)))
        q = c.Queue(); ps = [c.Process(target=put, args=(q, i)) for i in range(4)]; [p.start() for p in ps]; print(sorted(i for i, _ in (q.get(timeout=20) for _ in ps))); [p.join() for p in ps]; print([p.exitcode for p in ps])
        a, b = c.Pipe(); p = c.Process(target=child, args=(b,)); p.start(); print(a.recv()); a.send("reply"); p.join()
        v, arr, l = c.Value("i", 0), c.Array("d", 3), c.Lock(); ps = [c.Process(target=add, args=(v, arr, l)) for _ in range(3)]; [p.start() for p in ps]; [p.join() for p in ps]; print(v.value, arr[:])
        s = shared_memory.SharedMemory(create=True, size=100000); p = c.Process(target=shm, args=(s.name,)); p.start(); p.join(); print(bytes(s.buf[:6])); s.close(); s.unlink()
        e, sem = c.Event(), c.Semaphore(0); p = c.Process(target=ev, args=(e, sem)); p.start(); e.set(); print(sem.acquire(timeout=10)); p.join()
        p = c.Process(target=die); p.start(); p.join(); print(p.exitcode)
    with m.Manager() as g: d = g.dict(); d["k"] = g.list([1]); print(d["k"][:], dict(x=1)); 
    with managers.SharedMemoryManager() as g: l = g.ShareableList([1, "two", 3.0]); print(list(l))
    import concurrent.futures as f
    with f.ProcessPoolExecutor(2) as p: print(list(p.map(sq, range(6))))
    print(m.active_children())
if __name__ == "__main__": main()
X
py t.py
## asyncio
cat > t.py <<'X'
import asyncio, socket, sys, os, signal
async def handle(r, w):
    while (l := await r.readline()): w.write(l.upper()); await w.drain()
    w.close()
async def client(port, n):
    r, w = await asyncio.open_connection("127.0.0.1", port); w.write(b"line %d\n" % n); a = await r.readline(); w.close(); await w.wait_closed(); return a
class Echo(asyncio.DatagramProtocol):
    def connection_made(self, t): self.t = t
    def datagram_received(self, d, a): self.t.sendto(d[::-1], a)
class Cl(asyncio.DatagramProtocol):
    def __init__(self, f): self.f = f
    def datagram_received(self, d, a): self.f.set_result(d)
async def main():
    s = await asyncio.start_server(handle, "127.0.0.1", 0); port = s.sockets[0].getsockname()[1]
    print(sorted(await asyncio.gather(*[client(port, i) for i in range(30)]))[-1])
    s6 = await asyncio.start_server(handle, "::1", 0); r, w = await asyncio.open_connection("::1", s6.sockets[0].getsockname()[1]); w.write(b"six\n"); print(await r.readline()); w.close()
    u = await asyncio.start_unix_server(handle, "sock"); r, w = await asyncio.open_unix_connection("sock"); w.write(b"unix\n"); print(await r.readline()); big = b"y" * 2000000 + b"\n"; w.write(b"short\n"); print(await r.readline()); w.close()
    p = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1); print(len((await p.communicate(b"z" * 500000))[0]), p.returncode)
    p = await asyncio.create_subprocess_shell("echo out; echo err >&2; exit 5", stdout=-1, stderr=-1); print(await p.communicate(), p.returncode)
    l = asyncio.get_running_loop(); f = l.create_future(); st, _ = await l.create_datagram_endpoint(Echo, ("127.0.0.1", 0)); ct, _ = await l.create_datagram_endpoint(lambda: Cl(f), remote_addr=st.get_extra_info("sockname")); ct.sendto(b"abc"); print(await f)
    got = l.create_future(); l.add_signal_handler(signal.SIGUSR1, got.set_result, "signal"); os.kill(os.getpid(), signal.SIGUSR1); print(await got)
    try: await asyncio.wait_for(asyncio.sleep(5), .1)
    except asyncio.TimeoutError: print("timeout")
    print(await l.run_in_executor(None, sum, range(10)), await asyncio.to_thread(len, "abc"))
    try: await asyncio.open_connection("127.0.0.1", 1)
    except OSError as e: print(type(e).__name__)
    q = asyncio.Queue(); t = asyncio.create_task(q.get()); await q.put(1); print(await t); print((await l.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM, family=socket.AF_INET))[0][4])
asyncio.run(main())
X
py t.py
## select poll epoll
cat > t.py <<'X'
import select, os, socket, time, selectors, fcntl, errno
r, w = os.pipe(); print(select.select([r], [w], [], 0) == ([], [w], [])); os.write(w, b"x"); print(select.select([r], [], [], 1) == ([r], [], []))
t = time.time(); os.read(r, 1); print(select.select([r], [], [], .1), time.time() - t >= .1)
p = select.poll(); p.register(r, select.POLLIN); print(p.poll(0)); os.close(w); print([e for _, e in p.poll(100)] == [select.POLLHUP]); os.close(r); print([e for _, e in p.poll(0)] == [select.POLLNVAL])
a, b = socket.socketpair(); e = select.epoll(); e.register(a, select.EPOLLIN | select.EPOLLET | select.EPOLLOUT); print([x for _, x in e.poll(0)]); print(e.poll(0)); b.send(b"1"); print([x for _, x in e.poll(1)]); b.send(b"2"); print([x for _, x in e.poll(1)]); print(e.poll(0))
e.modify(a, select.EPOLLIN | select.EPOLLONESHOT); print([x for _, x in e.poll(1)]); b.send(b"3"); print(e.poll(0)); e.modify(a, select.EPOLLIN); print([x for _, x in e.poll(1)]); b.close(); print([x for _, x in e.poll(1)])
try: e.register(a)
except FileExistsError as x: print(x)
try: e.register(os.open("t.py", 0))
except PermissionError as x: print(x)
s = selectors.DefaultSelector(); c, d = socket.socketpair(); s.register(c, 1, "data"); d.send(b"z"); print(s.select(1)[0][0].data, type(s).__name__); f = select.epoll(); f.register(e.fileno(), 1); print(len(f.poll(0)))
many = [os.pipe() for _ in range(200)]; p = select.poll(); [p.register(x[0]) for x in many]; [os.write(x[1], b"!") for x in many[::2]]; print(len(p.poll(0)))
X
py t.py
## signals
cat > t.py <<'X'
import signal as s, os, time, threading, select, errno
got = []; s.signal(s.SIGUSR1, lambda n, f: got.append(n)); os.kill(os.getpid(), s.SIGUSR1); s.raise_signal(s.SIGUSR1); print(got)
s.signal(s.SIGALRM, lambda *a: got.append("alarm")); s.setitimer(s.ITIMER_REAL, .05, .05); t = time.time(); [time.sleep(.3) for _ in iter(lambda: got.count("alarm") >= 4, True)]; s.setitimer(s.ITIMER_REAL, 0); print(got.count("alarm") >= 4, time.time() - t >= .3)
s.alarm(1); s.pause(); print(got[-1]); s.pthread_sigmask(s.SIG_BLOCK, [s.SIGUSR2]); os.kill(os.getpid(), s.SIGUSR2); print(s.sigpending()); print(s.sigwait([s.SIGUSR2])); print(s.sigtimedwait([s.SIGUSR2], .05))
r, w = os.pipe(); os.set_blocking(w, False); s.set_wakeup_fd(w); os.kill(os.getpid(), s.SIGUSR1); print(os.read(r, 1)); s.set_wakeup_fd(-1)
class X(Exception): pass
def raiser(*a): raise X
s.signal(s.SIGALRM, raiser)
for call in (lambda: os.read(r, 1), lambda: select.select([r], [], []), lambda: time.sleep(5), lambda: threading.Lock().acquire() and threading.Event().wait(5), lambda: os.waitpid(-1, 0) if os.fork() else (time.sleep(1), os._exit(0))):
    s.setitimer(s.ITIMER_REAL, .05)
    try: call(); print("no")
    except X: print("interrupted")
pid = os.fork()
if not pid: s.signal(s.SIGTERM, s.SIG_DFL); s.pause()
time.sleep(.05); os.kill(pid, s.SIGSTOP); print(os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])); os.kill(pid, s.SIGCONT); print(os.WIFCONTINUED(os.waitpid(pid, os.WCONTINUED)[1])); os.kill(pid, s.SIGTERM); print(os.WTERMSIG(os.waitpid(pid, 0)[1]))
th = threading.Thread(target=lambda: (time.sleep(.1), s.pthread_kill(threading.main_thread().ident, s.SIGUSR1))); th.start(); n = len(got); th.join(); print(len(got) > n); print(s.getsignal(s.SIGPIPE), s.strsignal(9)); s.siginterrupt(s.SIGUSR1, True)
try: os.kill(999999, 0)
except ProcessLookupError as e: print(e)
X
py t.py
## mmap and sqlite
cat > t.py <<'X'
import mmap, os, sqlite3, threading
open("f", "wb").write(b"a" * 10000); f = open("f", "r+b"); m = mmap.mmap(f.fileno(), 0); m[:5] = b"HELLO"; print(open("f", "rb").read(8)); f.seek(5); f.write(b"!!!"); f.flush(); print(m[:10], m.find(b"!")); m.flush(); m.resize(20000); print(os.stat("f").st_size); m.close()
a = mmap.mmap(-1, 4096)
if not os.fork(): a[:3] = b"kid"; os._exit(0)
os.wait(); print(a[:3]); p = mmap.mmap(f.fileno(), 100, access=mmap.ACCESS_COPY); p[:1] = b"z"; print(open("f", "rb").read(1)); r = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); print(len(r)); a.madvise(mmap.MADV_DONTNEED)
for journal in ("delete", "wal", "memory"):
    c = sqlite3.connect("db-" + journal); print(c.execute("pragma journal_mode=" + journal).fetchone()); c.execute("create table t(a integer primary key, b)"); c.executemany("insert into t(b) values(?)", [("v%d" % i,) for i in range(5000)]); c.commit(); print(c.execute("select count(*), max(b) from t").fetchone())
    d = sqlite3.connect("db-" + journal, timeout=.1); c.execute("begin immediate"); 
    try: d.execute("begin immediate"); print("no")
    except sqlite3.OperationalError as e: print(e)
    c.rollback(); d.execute("delete from t where a > 10"); d.commit(); print(c.execute("select count(*) from t").fetchone(), c.execute("pragma integrity_check").fetchone()); c.close(); d.close()
print(sorted(x for x in os.listdir(".") if x.startswith("db")))
X
py t.py
## files tempfile shutil walk
cat > t.py <<'X'
import os, shutil, tempfile, stat, glob, pathlib, errno, time, io
with tempfile.TemporaryDirectory() as d:
    for i in range(3):
        os.makedirs(f"{d}/a{i}/b"); open(f"{d}/a{i}/b/f", "w").write("x" * i)
    print([(os.path.relpath(r, d), sorted(ds), fs) for r, ds, fs in sorted(os.walk(d))]); shutil.copytree(f"{d}/a2", f"{d}/c"); shutil.move(f"{d}/c", f"{d}/e"); print(sorted(os.listdir(d))); shutil.rmtree(f"{d}/a0"); print([x.name for x in sorted(os.scandir(d), key=lambda x: x.name) if x.is_dir()]); print(shutil.disk_usage(d).total > 0, shutil.which("sh")); print(sorted(os.path.basename(x) for x in glob.glob(f"{d}/**/f", recursive=True)), shutil.make_archive("arc", "gztar", d)[-10:])
print(os.path.exists(d)); f = tempfile.NamedTemporaryFile(); f.write(b"1"); print(os.path.exists(f.name)); f.close(); t = tempfile.TemporaryFile(); t.write(b"hidden"); t.seek(0); print(t.read()); s = tempfile.SpooledTemporaryFile(10); s.write(b"x" * 20); s.seek(0); print(len(s.read()))
fd = os.open("f", os.O_CREAT | os.O_RDWR, 0o644); print(os.pwrite(fd, b"abcdef", 3), os.pread(fd, 10, 0), os.lseek(fd, 0, 2), os.ftruncate(fd, 4), os.fstat(fd).st_size); os.posix_fallocate(fd, 0, 100); print(os.fstat(fd).st_size); os.utime("f", ns=(1, 1000000001)); print(os.stat("f").st_mtime_ns); os.link("f", "g"); os.symlink("f", "l"); print(os.stat("g").st_nlink, os.readlink("l"), stat.S_ISLNK(os.lstat("l").st_mode)); os.rename("g", "h"); os.replace("h", "f2"); print(sorted(os.listdir())); os.chmod("f2", 0o600); print(oct(os.stat("f").st_mode))
os.mkdir("full"); open("full/x", "w")
for fn in (lambda: os.mkdir("f"), lambda: os.rmdir("f"), lambda: os.unlink("none"), lambda: os.open("f/x", 0), lambda: os.rename("none", "y"), lambda: os.listdir("f"), lambda: os.open("x" * 300, 0), lambda: os.readlink("f"), lambda: os.open(".", os.O_WRONLY), lambda: os.link("none", "z"), lambda: os.lseek(fd, -1, 0), lambda: os.read(999, 1), lambda: open("f", "x"), lambda: os.rmdir("full")):
    try: fn(); print("no error")
    except OSError as e: print(errno.errorcode[e.errno])
os.mkfifo("p"); print(stat.S_ISFIFO(os.stat("p").st_mode)); os.setxattr("f", "user.k", b"v"); print(os.listxattr("f"), os.getxattr("f", "user.k")); print(os.sendfile(os.open("s", os.O_CREAT | os.O_WRONLY), fd, 0, 4), os.copy_file_range(fd, os.open("s2", os.O_CREAT | os.O_WRONLY), 4, 0)); a, b = os.pipe(); print(os.writev(b, [b"a", b"bc"]), os.readv(a, [bytearray(2), bytearray(5)])); os.truncate("f", 2); print(pathlib.Path("f").read_bytes()); d = os.open(".", os.O_DIRECTORY); print(os.stat("f", dir_fd=d).st_size, os.access("f", os.W_OK), sorted(os.listdir(d))[:2]); os.fsync(fd); os.sync(); m = os.memfd_create("m"); os.write(m, b"mem"); print(os.pread(m, 9, 0), os.path.samefile("f", "l"), os.get_terminal_size if 0 else os.isatty(0)); print(os.statvfs(".").f_namemax, os.pathconf(".", "PC_NAME_MAX")); os.umask(0o77); open("u", "w"); print(oct(os.stat("u").st_mode), os.getcwd() == os.path.realpath("."))
with open("b", "w") as x: [x.write(f"line {i}\n") for i in range(100000)]
print(os.path.getsize("b"), sum(1 for _ in open("b")), open("b").readlines()[-1]); e = os.eventfd(0); os.eventfd_write(e, 5); print(os.eventfd_read(e))
X
py t.py
## pty
cat > t.py <<'X'
import pty, os, tty, termios, select, signal, fcntl, struct, time
pid, fd = pty.fork()
if pid == 0: os.execlp("sh", "sh", "-c", "tty > /dev/null && echo terminal; until stty size | grep -q 77; do sleep 0.02; done; stty size; read x; echo got $x; sleep 5000")
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0)); out = b""
while b"\n" not in out: out += os.read(fd, 100)
time.sleep(.2); os.write(fd, b"abX\x7fc\n")
while b"got" not in out: out += os.read(fd, 1000)
time.sleep(.3); os.write(fd, b"\x03")
try:
    while True: x = os.read(fd, 1000); out += x
except OSError as e: print(e)
print(out.replace(b"33 77", b"S").replace(b"0 0", b"S")); print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
m, s = pty.openpty(); print(os.isatty(s), os.ttyname(s).startswith("/dev/pts/")); os.write(m, b"line\n"); print(os.read(s, 100), os.read(m, 100)); a = termios.tcgetattr(s); a[3] &= ~(termios.ECHO | termios.ICANON); termios.tcsetattr(s, termios.TCSANOW, a); os.write(m, b"q"); print(os.read(s, 10), select.select([m], [], [], .05)[0]); tty.setraw(s); os.write(s, b"a\nb"); print(os.read(m, 10)); os.close(s); os.close(m)
X
py t.py
## locks
cat > t.py <<'X'
import fcntl, os, struct, errno
f = open("l", "w+"); fcntl.lockf(f, fcntl.LOCK_EX)
def child(fn):
    r, w = os.pipe()
    if not os.fork():
        try: x = fn(); os.write(w, b"locked %r" % bool(x is None))
        except OSError as e: os.write(w, errno.errorcode[e.errno].encode())
        os._exit(0)
    os.wait(); os.close(w); return os.read(r, 99)
print(child(lambda: fcntl.lockf(open("l", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB))); print(struct.unpack("hhqqi", fcntl.fcntl(f, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))[:32][:28] if 0 else fcntl.fcntl(f, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))[:28])[0])
fcntl.lockf(f, fcntl.LOCK_UN); print(child(lambda: fcntl.lockf(open("l", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB))); fcntl.flock(f, fcntl.LOCK_EX); print(child(lambda: fcntl.flock(open("l"), fcntl.LOCK_EX | fcntl.LOCK_NB)), child(lambda: fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB))); fcntl.flock(f, fcntl.LOCK_UN)
fcntl.lockf(f, fcntl.LOCK_EX, 10, 0); print(child(lambda: fcntl.lockf(open("l", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 10)), child(lambda: fcntl.lockf(open("l", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 9))); open("l").close(); print(child(lambda: fcntl.lockf(open("l", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB)))
import time, threading
fcntl.flock(f, fcntl.LOCK_EX); pid = os.fork()
if not pid: t = time.time(); fcntl.flock(open("l"), fcntl.LOCK_EX); os._exit(time.time() - t > .15)
time.sleep(1.5); fcntl.flock(f, fcntl.LOCK_UN); print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])); OFD = 37; fcntl.fcntl(f, OFD, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)); print(child(lambda: fcntl.fcntl(open("l", "w"), OFD, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))))
X
py t.py
## sockets and http
cat > t.py <<'X'
import http.server, threading, urllib.request, socketserver, socket, ssl, os, array, struct
class H(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_POST(self): b = self.rfile.read(int(self.headers["content-length"])); self.send_response(201); self.end_headers(); self.wfile.write(b[::-1])
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H); threading.Thread(target=s.serve_forever, daemon=True).start(); u = f"http://localhost:{s.server_port}/"
print(urllib.request.urlopen(u + "t.py").read()[:6], urllib.request.urlopen(u, b"abc").status)
try: urllib.request.urlopen(u + "none")
except Exception as e: print(e)
s.shutdown(); a, b = socket.socketpair(); socket.send_fds(a, [b"m"], [0, 1]); print([len(x) if isinstance(x, list) else x for x in socket.recv_fds(b, 10, 5)[:2]]); print(struct.unpack("3i", a.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0] == os.getpid())
l = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(l.getsockname()); d, _ = l.accept(); c.sendall(b"x" * 10); print(d.recv(4, socket.MSG_PEEK), d.recv(100)); c.shutdown(1); print(d.recv(1)); d.sendall(b"reply"); print(c.recv(9)); d.close(); print(c.recv(1)); c.settimeout(.1)
try: socket.create_connection(("127.0.0.1", 9), 1)
except OSError as e: print(e)
x = socket.socket(); x.setblocking(False); print(x.connect_ex(l.getsockname()) in (0, 115)); y, _ = l.accept(); x.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1); print(x.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), x.getpeername() == l.getsockname()); u = socket.socket(type=socket.SOCK_DGRAM); u.bind(("127.0.0.1", 0)); v = socket.socket(type=socket.SOCK_DGRAM); v.sendto(b"dg", u.getsockname()); print(u.recvfrom(5)[0]); print(socket.gethostbyname("localhost"), socket.getservbyname("http"), socket.inet_aton("1.2.3.4"), socket.has_ipv6); z = socket.socket(socket.AF_UNIX); z.bind("\0abstract-py"); z.listen(); w = socket.socket(socket.AF_UNIX); w.connect("\0abstract-py"); print(z.accept()[0].getsockname()); s6 = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True); socket.create_connection(("127.0.0.1", s6.getsockname()[1])); print(s6.accept()[1][0])
X
py t.py
## venv
# timeout: 120
py -m venv --without-pip v; v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix, sys.prefix)'; ls v v/bin | sort | tr '\n' ' '; . v/bin/activate; command -v python; cat v/pyvenv.cfg | head -1; rm -rf v
## many imports
py -c 'import json, re, decimal, datetime, ssl, hashlib, ctypes, xml.dom.minidom, unittest, email, csv, zoneinfo, locale, curses, uuid, random, platform, inspect, dis, logging, readline; print(json.dumps({"a": [1, 2.5, None]}), hashlib.sha256(b"x").hexdigest()[:9], ctypes.CDLL(None).abs(-3), datetime.datetime.fromtimestamp(0), platform.system(), len(random.sample(range(10), 3)), decimal.Decimal(1) / 3, zoneinfo.ZoneInfo("Europe/Berlin"))'
## compileall and import system
mkdir -p p/q; echo 'X = 1' > p/__init__.py; echo 'from .. import X; Y = X + 1' > p/q/__init__.py; /usr/bin/python3 -c 'import p.q; print(p.q.Y)'; ls p/__pycache__; /usr/bin/python3 -m compileall -q p; /usr/bin/python3 -m zipapp p -m 'q:f' -o a.pyz && ls -s a.pyz | wc -l; /usr/bin/python3 -m timeit -n 10 pass | wc -l; /usr/bin/python3 -X importtime -c pass 2>&1 | grep -c site; /usr/bin/python3 -m unittest -h | head -1
## memory and recursion
py -c 'x = bytearray(200 << 20); x[::4096] = b"a" * len(x[::4096]); print(len(x)); del x; l = [i for i in range(2000000)]; print(sum(l))'; py -c 'import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30,) * 2); 
try: bytearray(4 << 30); print("no")
except MemoryError: print("MemoryError")'; py -c 'import resource as r; print(r.getrusage(r.RUSAGE_SELF).ru_maxrss > 1000, r.getrlimit(r.RLIMIT_STACK)[0] > 0)'; py -c 'import sys; sys.setrecursionlimit(10**6); f = lambda n: n and f(n - 1); print(f(5000))'; py -c 'import ctypes; ctypes.string_at(0)' 2>/dev/null || echo $?; py -X faulthandler -c 'import ctypes; ctypes.string_at(0)' 2>&1 | head -1
