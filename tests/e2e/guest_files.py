"""The folder guest/ beside the programs, in sandboxes at /opt/hotcell: there, and readable."""
import os
import shutil
import subprocess
import sys
import tempfile

from harness.client import Client
from harness.installed import Installed, build_guest, write
from harness.tap import PATIENCE_S, Skip, check, check_equal, run

if not os.access(os.environ["HOTCELL"], os.X_OK):
    sys.exit(77)
SHELL_TESTS = """
test "$(cat python/one.py)" = "name = 'one'" && test -x bash/driver.sh && ./bash/driver.sh
stat -c '%U %a %n' . python python/one.py bash/driver.sh
"""


def check_seen(installed, **more):
    want = "driver\nroot 755 .\nroot 755 python\nroot 644 python/one.py\nroot 755 bash/driver.sh\n"
    for user in ("user", "root", "4711"):
        check_equal(installed.run("cd /opt/hotcell" + SHELL_TESTS, "-u", user, **more), (0, want, ""), user)


def test_every_sandbox_sees_it():
    with Installed() as installed:
        check_seen(installed)


def test_without_the_folder_there_is_nothing():
    with Installed(guest=False) as installed:
        check_equal(installed.run("ls -A /opt; echo fine"), (0, "fine\n", ""))


def test_in_a_private_home():
    with Installed(private=True) as installed:
        check_seen(installed)


def test_in_a_private_home_of_a_user():
    if os.geteuid() != 0:
        raise Skip("needs root")
    with Installed(private=True, owner=65534) as installed:
        check_seen(installed, user=65534, group=65534, extra_groups=[])


def test_in_a_private_home_of_a_root_that_cannot_mount():
    """What the sandbox could not reach is left out; it starts all the same."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    limited = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    for private in (True, False):
        with Installed(private=private) as installed:
            command = [*limited, f"{installed.top}/hotcell", "run", "-q", "--", "ls", "/opt"]
            done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
            check_equal((done.returncode, done.stdout, done.stderr), (0, "" if private else "hotcell\n", ""))


def test_python_is_python3_where_nothing_else_is():
    """The folder bin/ comes last in every PATH, so whatever the system or the user has is found before it."""
    def output(user, *command):
        return subprocess.check_output([os.environ["HOTCELL"], "run", "-q", "-u", user, "--", *command], cwd="/",
                                       stdin=subprocess.DEVNULL, text=True, timeout=PATIENCE_S)
    line = "python -c 'import sys; print(sys.version_info[0], sys.argv[1:])' 'a b'"
    for user in ("user", "root"):
        for shell in (["sh", "-c"], ["bash", "-lc"], ["env", "-i", "/bin/bash", "-lc"]):
            check_equal(output(user, *shell, line), "3 ['a b']\n", (user, shell))
            check(output(user, *shell, "echo $PATH").endswith(":/opt/hotcell/bin\n"), (user, shell))
    mine = "mkdir -p ~/bin; printf '#!/bin/sh\necho mine\n' >~/bin/python; chmod +x ~/bin/python; bash -lc python"
    check_equal(output("user", "sh", "-c", mine), "mine\n")


def test_python_uses_the_compiled_modules():
    with Installed() as installed:
        script = ("import sys; sys.path.insert(0, '/opt/hotcell/python'); sys.dont_write_bytecode = False; import one; "
                  "print(one.__cached__, open(one.__cached__, 'rb').read()[4:8].hex(), one.__spec__.loader.get_code('one').co_filename)")
        status, out, err = installed.run(f'/usr/bin/python3 -c "{script}"')
        check_equal((status, err), (0, ""))
        check(out.startswith("/opt/hotcell/python/__pycache__/one."), out)
        check_equal(out.split()[1:], ["01000000", "/opt/hotcell/python/one.py"], "unchecked")


def test_sandboxes_of_a_server():
    with Installed(private=True) as installed:
        c = Client(pool=1)
        c.hotcell = f"{installed.top}/hotcell"
        with c:
            for _ in range(2):  # from the pool, and the one behind it
                box = c.create()
                check_equal(c.output("exec", box, "cat", "/opt/hotcell/python/one.py"), b"name = 'one'\n")
                done = c.output("exec", "--user", "root", box, "sh", "-c", "rm -rf /opt/hotcell/python 2>/dev/null; ls /opt/hotcell")
                check_equal(done, b"bash\npython\n")
            check_equal(installed.contents(), installed.before)


def test_copies_are_readable_and_exact():
    with tempfile.TemporaryDirectory() as top:
        source, destination = f"{top}/source", f"{top}/guest"
        write(f"{source}/README.md", "for people")
        write(f"{source}/python/a/b.py", "x = 1\n", 0o600)
        write(f"{source}/python/a/b_test.py", "no")
        write(f"{source}/python/a/__pycache__/b.old.pyc", "no")
        write(f"{source}/r/.hidden", "no")
        write(f"{source}/r/driver.R", "1", 0o700)
        os.makedirs(destination)
        write(f"{destination}/gone/old.py", "old")
        build_guest(source, destination)
        tree = {os.path.relpath(os.path.join(at, name), destination): oct(os.stat(os.path.join(at, name)).st_mode & 0o777)
                for at, folders, names in os.walk(destination) for name in folders + names}
        cache = [name for name in tree if name.endswith(".pyc")]
        check_equal(len(cache), 1, tree)
        check_equal(tree, {"python": "0o755", "python/a": "0o755", "python/a/b.py": "0o644", "r": "0o755",
                           "r/driver.R": "0o755", "python/a/__pycache__": "0o755", cache[0]: "0o644"})


run(sys.modules[__name__])
