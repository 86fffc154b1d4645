"""Runs one command with a time limit, clean surroundings, and nothing left behind."""
import collections
import os
import shutil
import signal
import subprocess
import tempfile

Result = collections.namedtuple("Result", "status out err timed_out")

# What every test sees, natively and inside.
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "xterm",
    "USER": "root",
}
# Options of the sanitizers in hotcell (make asan); nothing of a sandbox sees them.
ENVIRONMENT.update((name, value) for name, value in os.environ.items() if name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"))


def run(command, cwd=None, timeout=60, env=None, stdin=b""):
    """Returns a Result; status is negative for a signal. Output is bytes, kept in files so that a
    surviving descendant which holds a pipe open cannot stop us."""
    environment = dict(ENVIRONMENT if env is None else env)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source = tempfile.TemporaryFile()
        source.write(stdin)
        source.seek(0)
        child = subprocess.Popen(command, cwd=cwd, env=environment, stdin=source, stdout=out,
                                 stderr=err, start_new_session=True)
        timed_out = False
        try:
            child.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
        stop_group(child)
        source.close()
        out.seek(0)
        err.seek(0)
        return Result(child.returncode, out.read(), err.read(), timed_out)


def stop_group(child):
    """Ends the session of `child`: politely when it still runs, so that a sandbox can clean up."""
    if child.poll() is None:
        signal_group(child.pid, signal.SIGTERM)
        try:
            child.wait(3)
        except subprocess.TimeoutExpired:
            pass
    signal_group(child.pid, signal.SIGKILL)
    child.wait()


def signal_group(pid, number):
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


class CleanDirectory:
    """A fresh directory which every user may enter, removed afterwards whatever is in it."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="hotcell-test-", dir="/tmp")
        os.chmod(self.path, 0o755)
        return self.path

    def __exit__(self, *unused):
        shutil.rmtree(self.path, ignore_errors=True)
