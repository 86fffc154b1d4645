"""What a sandbox does to the host's directories and descriptors that it was given, seen from the host."""
import os
import subprocess
import sys
import tempfile

from harness import scene
from harness.tap import PATIENCE_S

HOTCELL = os.environ["HOTCELL"]
tests = []


def test(function):
    tests.append(function)
    return function


def run(*options, script, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **more):
    command = [HOTCELL, "run", "-q", *options, "--", "bash", "-c", script]
    done = subprocess.run(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, timeout=PATIENCE_S, **more)
    return done.returncode, (done.stdout or b"").decode(), done.stderr.decode()


def expect(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def write(name, text):
    with open(name, "w") as f:
        f.write(text)


def read(name):
    with open(name) as f:
        return f.read()


@test
def writable_mount_changes_the_host():
    os.mkdir("d")
    write("d/old", "old\n")
    script = ("cd /m && cat old && echo more >> old && echo new > new && mkdir sub && mv new sub/ && "
              "ln -s sub/new link && chmod 640 old && touch -d @1000 sub/new && ln old hard && cat link")
    expect(run("--rw", "d:/m", script=script)[:2], (0, "old\nnew\n"))
    expect(read("d/old"), "old\nmore\n")
    expect(read("d/sub/new"), "new\n")
    expect(os.readlink("d/link"), "sub/new")
    expect(os.stat("d/old").st_mode & 0o777, 0o640)
    expect(os.stat("d/sub/new").st_mtime, 1000)
    expect(os.stat("d/hard").st_nlink, 2)


@test
def read_only_mount_refuses_changes():
    os.mkdir("d")
    write("d/f", "x")
    script = "cd /m; cat f; echo y > f; rm f; mkdir e; touch f; chmod 777 f; ln f g; mv f h; echo z > n"
    status, out, err = run("--ro", "d:/m", script=script + "; ls")
    expect(out, "xf\n")
    expect(read("d/f"), "x")
    expect(err.count("Read-only file system"), 8)


@test
def copy_on_write_leaves_the_host_alone():
    os.makedirs("d/sub")
    write("d/f", "f")
    write("d/sub/g", "g")
    before = sorted(os.walk("d"))
    script = "cd /m; echo 1 >> f; rm sub/g; mv sub tub; mkdir e; chmod 0 f; ls; ls tub"
    expect(run("--cow", "d:/m", script=script)[:2], (0, "e\nf\ntub\n"))
    expect(sorted(os.walk("d")), before)
    expect(read("d/f"), "f")


@test
def a_single_file_can_be_mounted():
    write("one", "content\n")
    script = "cat /etc/one; stat -c %F /etc/one; echo more >> /etc/one; tail -1 /etc/one"
    expect(run("--ro", "one:/etc/one", script="cat /etc/one; echo x > /etc/one")[:2], (1, "content\n"))
    expect(run("--rw", "one:/etc/one", script=script)[1], "content\nregular file\nmore\n")
    expect(read("one"), "content\nmore\n")


@test
def links_of_the_host_lead_nowhere_outside():
    os.mkdir("d")
    write("secret", "outside\n")
    os.symlink(os.path.abspath("secret"), "d/absolute")
    os.symlink("../secret", "d/relative")
    os.symlink("/etc/hostname", "d/inside")
    for kind in ("--ro", "--rw", "--cow"):
        script = "cd /m; cat absolute relative 2>/dev/null; cat inside; ls -d ../../../../m/../m"
        expect(run(kind, "d:/m", "--hostname", "cell", script=script)[1], "cell\n../../../../m/../m\n")


@test
def host_changes_show_in_pass_through_mounts():
    os.mkdir("d")
    script = "while [ ! -e go ]; do sleep 0.02; done; cat go; touch seen; while [ -e go ]; do sleep 0.02; done; ls"
    done = subprocess.Popen([HOTCELL, "run", "-q", "--rw", "d:/m", "-w", "/m", "--", "bash", "-c", script],
                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    write("d/tmp", "from the host\n")
    os.rename("d/tmp", "d/go")
    scene.until(lambda: os.path.exists("d/seen"), "it is not seen inside")
    os.unlink("d/go")
    expect(done.communicate(timeout=PATIENCE_S)[0].decode(), "from the host\nseen\n")


@test
def a_directory_put_in_place_of_another_is_seen_at_once():
    for name in ("d/a/sub", "d/b/sub", "other"):
        os.makedirs(name)
    for name in ("a", "b"):
        write(f"d/{name}/sub/f", name)
    # Each line read is an order to look again: at paths walked before, and from a directory it is in.
    script = "cd a/sub; while read -r _; do echo $(cat /m/a/sub/f) $(cat f) $(ls /m); done 2>/dev/null"
    with subprocess.Popen([HOTCELL, "run", "-q", "--rw", "d:/m", "-w", "/m", "--", "bash", "-c", script],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        def look():
            child.stdin.write("\n")
            child.stdin.flush()
            return child.stdout.readline().strip()
        expect(look(), "a a a b")
        os.rename("d/a", "d/c")
        os.rename("d/b", "d/a")
        expect(look(), "b a a c")
        os.rename("d/a/sub", "other/gone")
        os.mkdir("d/a/sub")
        write("d/a/sub/f", "new")
        expect(look(), "new a a c")
        # A removed directory's inode number is soon another's.
        os.unlink("d/a/sub/f")
        os.rmdir("d/a/sub")
        os.makedirs("d/e/sub")
        os.rename("d/e/sub", "d/a/sub")
        write("d/a/sub/f", "newest")
        expect(look(), "newest a a c e")
        child.stdin.close()
    expect(child.returncode, 0)


@test
def unfriendly_modes():
    os.mkdir("d")
    script = ("cd /m; umask 0; python3 -c 'import os; f = os.open(\"r\", os.O_CREAT | os.O_RDWR, 0o444); "
              "print(os.write(f, b\"x\"))'; mkdir -m 0 z; chmod 700 z; touch z/f; chmod 0 r; chmod 600 r; cat r; "
              "mkfifo p 2>&1; chown 7 r 2>&1")
    status, out, err = run("--rw", "d:/m", script=script)
    expect(out, "1\nxmkfifo: cannot create fifo 'p': Operation not permitted\n"
           "chown: changing ownership of 'r': Operation not permitted\n")
    expect(os.stat("d/r").st_mode & 0o777, 0o600)


@test
def no_set_user_id_program_for_the_host():
    os.mkdir("d")
    os.chmod("d", 0o777)
    script = ("cd /m; cp /bin/true a; chmod 4755 a; cp /bin/true b; chmod u+s,g+s b; mkdir c; chmod 2775 c; "
              "python3 -c 'import os; os.open(\"e\", os.O_CREAT, 0o6755)'")
    run("--rw", "d:/m", script=script)
    for name in "abe":
        expect(os.stat(f"d/{name}").st_mode & 0o6000, 0)
    expect(os.stat("d/c").st_mode & 0o777, 0o775)


@test
def output_files_share_their_offset():
    with open("out", "w") as out:
        out.write("before\n")
        out.flush()
        run(script="echo one; cat /etc/hostname; echo two", stdout=out)
        os.write(out.fileno(), b"after\n")
    expect(read("out"), "before\none\nhotcell\ntwo\nafter\n")
    with open("out", "a") as out:
        run(script="echo appended; cat /etc/hostname", stdout=out)
    expect(read("out"), "before\none\nhotcell\ntwo\nafter\nappended\nhotcell\n")


@test
def input_is_not_read_ahead():
    write("in", "first\nsecond\nthird\n")
    with open("in") as stdin:
        expect(run(script="head -c 6", stdin=stdin)[1], "first\n")
        expect(os.read(stdin.fileno(), 100), b"second\nthird\n")
    r, w = os.pipe()
    os.write(w, b"first\nsecond\n")
    expect(run(script="read -r line; echo $line", stdin=r)[1], "first\n")
    expect(os.read(r, 100), b"second\n")


@test
def descriptor_flags_stay_as_they_are():
    r, w = os.pipe()
    os.write(w, b"x")
    os.close(w)
    expect(run(script="cat", stdin=r)[1], "x")
    expect(os.get_blocking(r), True)


@test
def a_reader_that_leaves_ends_the_writer():
    done = subprocess.Popen([HOTCELL, "run", "-q", "--", "yes"], stdout=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    expect(done.stdout.read(4), b"y\ny\n")
    done.stdout.close()
    expect(done.wait(timeout=PATIENCE_S), 128 + 13)


@test
def standard_descriptors_by_name():
    r, w = os.pipe()
    os.write(w, b"text\n")
    os.close(w)
    script = "cat /dev/stdin; echo out > /dev/stdout; echo err > /dev/stderr; cat /proc/self/fd/0 | wc -c; [ -t 0 ] || echo no"
    expect(run(script=script, stdin=r), (0, "text\nout\n0\nno\n", "err\n"))


@test
def a_lot_through_pipes():
    done = subprocess.run(f"seq 1 300000 | {HOTCELL} run -q -- cat | md5sum; seq 1 300000 | md5sum",
                          shell=True, stdout=subprocess.PIPE, timeout=PATIENCE_S)
    first, second = done.stdout.split(b"\n")[:2]
    expect(first, second)


def main():
    failed = 0
    top = os.getcwd()
    for number, function in enumerate(tests, 1):
        with tempfile.TemporaryDirectory(dir=top) as directory:
            os.chmod(directory, 0o777)
            os.chdir(directory)
            try:
                os.umask(0)
                function()
                print(f"ok {number} {function.__name__.replace('_', '-')}")
            except Exception as e:
                failed += 1
                print(f"# {type(e).__name__}: {e}".replace("\n", "\\n"))
                print(f"not ok {number} {function.__name__.replace('_', '-')}")
            os.chdir(top)
    print(f"1..{len(tests)}")
    return failed > 0


sys.exit(main())
