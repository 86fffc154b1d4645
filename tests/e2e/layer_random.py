"""Random file operations over a directory of the host: natively in a copy of it, in a sandbox with the
directory below the private layer, and passed through with --rw; all three must answer the same."""
import os
import random
import shutil
import subprocess
import sys
import tempfile

HOTCELL = os.environ["HOTCELL"]
SEEDS = range(int(os.environ.get("LAYER_FIRST", "1")), int(os.environ.get("LAYER_LAST", "12")) + 1)

OPERATIONS = r'''
import ctypes, errno, hashlib, mmap, os, random, stat, sys
seed, = map(int, sys.argv[1:])
r = random.Random(seed)
libc = ctypes.CDLL(None, use_errno=True)
names = ["a", "b", "c", "d", "lower", "sub", "deep", "link", "big", "x" * 40]
files = []
def path():
    return "/".join(r.choice(names) for _ in range(r.choice((1, 1, 2, 2, 3))))
def data():
    return bytes([r.randrange(256)]) * r.choice((0, 1, 50, 2047, 2048, 2049, 4096, 9000, 70000))
def renameat2(a, b, flags):
    if libc.renameat2(-100, a.encode(), -100, b.encode(), flags) < 0:
        raise OSError(ctypes.get_errno(), "")
def opened(f):
    def run():
        if not files: return None
        return f(r.choice(files))
    return run
def open_file():
    p, flags = path(), r.choice((os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
                                 os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR | os.O_APPEND, os.O_RDONLY | os.O_NOFOLLOW))
    fd = os.open(p, flags, 0o644)
    if not stat.S_ISREG(os.fstat(fd).st_mode): os.close(fd); return "not a file"
    files.append(fd)
    if len(files) > 12: os.close(files.pop(0))
    return "open"
def shared(fd):
    size = os.fstat(fd).st_size
    if not 0 < size < 200000: return None
    at, c = r.randrange(size), r.randrange(256)
    m = mmap.mmap(fd, size); m[at] = c; m.close()
    return os.pread(fd, 3, at)
def info(p):
    s = os.lstat(p)
    # Hard links of directories do not exist everywhere; sizes of directories mean nothing.
    return stat.filemode(s.st_mode), s.st_nlink if not stat.S_ISDIR(s.st_mode) else 0, s.st_size if stat.S_ISREG(s.st_mode) else 0
def write_file():
    with open(path(), "wb") as f: f.write(data())
def seek(fd):
    at = r.randrange(5000)
    return os.lseek(fd, at, os.SEEK_SET), os.read(fd, 5), os.lseek(fd, 0, os.SEEK_END)
def remove_tree():
    p = path(); n = 0
    for top, dirs, fs in os.walk(p, topdown=False):
        for f in fs: os.unlink(top + "/" + f); n += 1
        for d in dirs:
            q = top + "/" + d
            os.unlink(q) if os.path.islink(q) else os.rmdir(q)
    os.rmdir(p)
    return n
ops = [(12, open_file), (10, write_file), (8, lambda: os.rename(path(), path())), (3, lambda: renameat2(path(), path(), 1)),
       (4, lambda: renameat2(path(), path(), 2)), (5, lambda: os.mkdir(path())), (4, lambda: os.rmdir(path())), (7, lambda: os.unlink(path())),
       (4, lambda: os.link(path(), path(), follow_symlinks=False)), (3, lambda: os.symlink(path(), path())), (5, lambda: info(path())),
       (3, lambda: os.readlink(path())), (6, lambda: sorted(os.listdir(path()))), (3, lambda: os.truncate(path(), r.choice((0, 5, 2048, 3000, 60000)))),
       (3, lambda: os.chmod(path(), r.choice((0o700, 0o744, 0o755)))), (2, lambda: os.utime(path(), (1000, r.randrange(10**9)))), (2, remove_tree),
       (3, lambda: os.stat(path()).st_size if os.path.isfile(path()) else None), (2, lambda: hashlib.md5(open(path(), "rb").read()).hexdigest()),
       (8, opened(lambda fd: os.pwrite(fd, data(), r.choice((0, 1, 2000, 5000, 100000))))), (6, opened(lambda fd: os.pread(fd, 20, r.choice((0, 2040, 4090))))),
       (4, opened(lambda fd: os.ftruncate(fd, r.choice((0, 10, 2048, 10000))))), (4, opened(seek)), (3, opened(lambda fd: os.write(fd, data()))),
       (3, opened(shared)), (2, opened(lambda fd: os.posix_fallocate(fd, r.choice((0, 3000)), 5000))), (3, opened(lambda fd: (os.fstat(fd).st_size, os.fstat(fd).st_nlink)))]
weights, functions = zip(*ops)
for step in range(1500):
    f = r.choices(functions, weights)[0]
    try: result = f()
    except OSError as e: result = errno.errorcode[e.errno]
    except (ValueError, PermissionError) as e: result = type(e).__name__
    print(step, functions.index(f), result)
for top, dirs, fs in os.walk("."):
    dirs.sort()
    for name in sorted(dirs + fs):
        p = top + "/" + name
        i = info(p)
        print(p, i, hashlib.md5(open(p, "rb").read()).hexdigest() if i[0][0] == "-" else os.readlink(p) if i[0][0] == "l" else "")
'''


def make_lower(directory, seed):
    r = random.Random(seed)
    os.makedirs(f"{directory}/sub/deep/lower")
    for name in ("a", "lower", "sub/a", "sub/b", "sub/deep/c", "sub/deep/lower/d"):
        with open(f"{directory}/{name}", "wb") as f:
            f.write(bytes([r.randrange(256)]) * r.choice((0, 10, 2048, 2049, 50000)))
    with open(f"{directory}/big", "wb") as f:
        f.write(b"big" * 100000)
    os.symlink("sub/deep", f"{directory}/link")
    os.mkdir(f"{directory}/d")
    subprocess.run(["chmod", "-R", "a+rwX", directory], check=True)


def answers(command, cwd):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                          stdin=subprocess.DEVNULL)
    return done.stdout.decode(errors="replace").split("\n") + [str(done.returncode)]


def difference(native, inside):
    for number, (a, b) in enumerate(zip(native, inside)):
        if a != b:
            return f"line {number + 1}: native {a[:150]!r}, inside {b[:150]!r}"
    return None if len(native) == len(inside) else "one output is longer"


def one(seed, directory):
    for place in ("native", "lower", "through"):
        make_lower(f"{directory}/{place}", seed)
    shutil.copy("operations.py", directory)
    program = ["python3", "/s/operations.py", str(seed)]
    options = ["--ro", f"{directory}/operations.py:/s/operations.py"]
    os.umask(0o022)
    native = answers(["python3", f"{directory}/operations.py", str(seed)], f"{directory}/native")
    layer = answers([HOTCELL, "run", "-q", "--cow", "lower:/work", *options, "--", *program], directory)
    through = answers([HOTCELL, "run", "-q", "--rw", "through:/work", *options, "--", *program], directory)
    yield "private layer", difference(native, layer)
    yield "pass-through", difference(native, through)


def main():
    with open("operations.py", "w") as f:
        f.write(OPERATIONS)
    os.chmod(".", 0o755)
    failed = number = 0
    for seed in SEEDS:
        with tempfile.TemporaryDirectory(dir=".") as directory:
            directory = os.path.abspath(directory)
            os.chmod(directory, 0o755)
            for what, wrong in one(seed, directory):
                number += 1
                failed += wrong is not None
                if wrong:
                    print(f"# {wrong}")
                print(f"{'not ok' if wrong else 'ok'} {number} {what.replace(' ', '-')}-{seed}", flush=True)
    print(f"1..{number}")
    return failed > 0


sys.exit(main())
