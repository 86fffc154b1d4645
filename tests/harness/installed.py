"""The programs in a directory of their own, with a guest/ of two languages beside them."""
import os
import shutil
import subprocess
import tempfile

from .tap import PATIENCE_S

BUILD = os.path.dirname(os.path.abspath(os.environ.get("HOTCELL", "build/hotcell")))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ["hotcell", "hotcell-kernel", "hotcell-stub", "hotcell-server", "hotcell-launcher", "hotcell-client"]


class Installed:
    def __init__(self, guest=True, private=False, owner=None):
        self.guest, self.private, self.owner = guest, private, owner

    def __enter__(self):
        self.holder = tempfile.mkdtemp(prefix="hotcell-guest-")
        os.chmod(self.holder, 0o755)
        self.top = os.path.join(self.holder, "home/build")
        os.makedirs(self.top)
        for name in PROGRAMS:
            shutil.copy(os.path.join(BUILD, name), self.top)
        if self.guest:
            write(f"{self.holder}/source/python/one.py", "name = 'one'\n")
            write(f"{self.holder}/source/bash/driver.sh", "#!/bin/sh\necho driver\n", 0o755)
            build_guest(f"{self.holder}/source", f"{self.top}/guest")
        if self.owner is not None:
            for at, _, names in os.walk(f"{self.holder}/home"):
                for path in [at, *(os.path.join(at, name) for name in names)]:
                    os.chown(path, self.owner, self.owner)
        if self.private:
            os.chmod(f"{self.holder}/home", 0o700)
        self.before = self.contents()
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.holder)

    def contents(self):
        found = {}
        for at, _, names in os.walk(f"{self.top}/guest"):
            for path in [at, *(os.path.join(at, name) for name in names)]:
                st = os.lstat(path)
                text = open(path, "rb").read() if os.path.isfile(path) else b""
                found[path] = (st.st_mode, st.st_uid, st.st_mtime_ns, st.st_nlink, text)
        return found

    def run(self, script, *options, **more):
        done = subprocess.run([f"{self.top}/hotcell", "run", "-q", *options, "--", "bash", "-c", script], cwd="/",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, **more)
        return done.returncode, done.stdout, done.stderr


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def build_guest(source, destination, umask=0o077):
    subprocess.run([f"{ROOT}/tools/guest-files", source, destination], check=True, preexec_fn=lambda: os.umask(umask))
