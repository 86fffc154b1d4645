"""Allocations that fail in a running kernel process: the guest sees errors, nothing crashes, nothing leaks.

FAULTS_STEP=1 tries every allocation (make faults); the ordinary run takes some of them, other ones in each mode of the
suite. The storm runs the guest tests while allocations fail at random: whatever they say, the sandbox must not end."""
import glob
import os
import subprocess
import sys

BUILD = os.environ["BUILD"]
KERNEL = BUILD + "/tests/faults"
STEP = int(os.environ.get("FAULTS_STEP", "13"))
STORMED = ["fs_names", "tree_mmap", "net_unix", "net_tcp", "ipc_epoll", "ipc_sysv", "task_lives", "tty_job"]


def sandbox(*command, seconds):
    return subprocess.run([KERNEL + "/hotcell", "run", "-q", "--timeout", f"{seconds}s", "--ro", BUILD + "/tests:/t", "--",
                           "/t/escape/helper_faults", *command], stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds + 60)


def one_by_one():
    done = sandbox(str(STEP), str(os.getpid()), seconds=250)
    sys.stdout.write(done.stdout.decode(errors="replace"))
    if done.returncode not in (0, 1):
        raise AssertionError(f"status {done.returncode}: {done.stderr[-500:]!r}")
    return done.stdout.count(b"\nok ") + done.stdout.startswith(b"ok "), done.returncode != 0


def storm(name):
    """The program may fail, and may wait for what it was refused; its sandbox goes on until then."""
    done = sandbox("storm", "/t/guest/" + name, seconds=3)
    said = [line for line in done.stderr.split(b"\n") if line.startswith(b"hotcell:")]
    if any(b"lifetime" not in line for line in said):
        raise AssertionError(f"status {done.returncode}: {said!r}")


def main():
    if not os.path.exists(KERNEL + "/hotcell-kernel"):
        return 77
    number, failed = one_by_one()
    every = sorted(os.path.basename(p) for p in glob.glob(BUILD + "/tests/guest/*"))
    for name in every if STEP == 1 else STORMED:
        number += 1
        try:
            storm(name)
            print(f"ok {number} storm_{name}")
        except Exception as problem:
            failed = True
            print(f"# {type(problem).__name__}: {problem}\nnot ok {number} storm_{name}")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
