"""`make install` into a directory: the programs find each other there, and uninstall leaves nothing."""
import os
import re
import shutil
import subprocess

from harness import process, tap
from harness.client import Client
from harness.tap import Skip, check, check_equal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))


def make(goal, into, prefix):
    if not shutil.which("make"):
        raise Skip("there is no make")
    done = subprocess.run(["make", "-C", ROOT, "-o", "all", goal, f"DESTDIR={into}", f"PREFIX={prefix}",
                           f"BUILD={BUILD}"], capture_output=True, text=True)
    check_equal(done.returncode, 0, done.stderr)


def files(folder):
    return [os.path.join(at, name) for at, unused, names in os.walk(folder) for name in names]


def test_install():
    for prefix in ("/usr/local", "/opt/cells"):
        with process.CleanDirectory() as into:
            os.chmod(into, 0o755)
            make("install", into, prefix)
            top = into + prefix
            command = os.path.join(top, "bin/hotcell")
            run = subprocess.run([command, "run", "-q", "--", "echo", "inside"], capture_output=True, text=True,
                                 env=process.ENVIRONMENT, cwd="/")
            check_equal((run.returncode, run.stdout), (0, "inside\n"), run.stderr)
            check(os.path.exists(os.path.join(top, "lib/hotcell/guest")), "the drivers")
            for verb in ("serve", "key", "ps", "exec"):
                help = subprocess.run([command, verb, "--help"], capture_output=True, text=True)
                check_equal(help.returncode, 0, help.stderr)
            check(os.path.exists(os.path.join(top, "share/doc/hotcell/operations.md")), "the documents")
            with open(os.path.join(top, "lib/systemd/system/hotcell.service")) as file:
                paths = re.findall(r"^(?:Exec\w+=|Documentation=file://)(/\S+)", file.read(), re.M)
            for path in paths:
                check(path == "/bin/kill" or os.path.exists(into + path), f"the unit names {path}")
            make("uninstall", into, prefix)
            check_equal(files(into), [])


def test_serve_installed():
    with process.CleanDirectory() as into:
        os.chmod(into, 0o755)
        make("install", into, "/usr/local")
        c = Client(pool=0)
        c.hotcell = into + "/usr/local/bin/hotcell"
        with c:
            check_equal(c.output("exec", c.create(), "echo", "inside"), b"inside\n")


if __name__ == "__main__":
    tap.run(__import__("__main__"))
