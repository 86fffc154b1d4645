"""Complexity attacks: no single call of a guest, however prepared, keeps the kernel process busy for long. What it may do
is linear in what the limits admit; each of these took seconds to minutes with an algorithm that was not, or would."""
import os
import subprocess
import sys

HOTCELL = os.environ["HOTCELL"]
BUILD = os.environ["BUILD"]
# Of a machine that does much else: good ones need a few hundredths, bad ones many times this.
LONGEST_US = 2_000_000
TRIES = 5  # a machine that stands still adds to some, an algorithm to all


def run(*arguments):
    return subprocess.run([HOTCELL, "run", "-q", "--memory", "2G", "--timeout", "300s", "--ro", BUILD + "/tests:/t", "-w", "/tmp", "--",
                           "/t/escape/helper_stall", *arguments], cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=400)


def longest(name):
    """Of the cheap calls of another thread, in µs."""
    done = run(name)
    found = done.stdout.split()
    if done.returncode != 0 or len(found) != 2:
        raise AssertionError(f"status {done.returncode}: {done.stdout!r} {done.stderr[-300:]!r}")
    print(f"# {name}: {int(found[0]) / 1000:.0f} ms of {int(found[1]) / 1000:.0f} ms")
    return int(found[0])


def check(name):
    took = []
    while not took or took[-1] > LONGEST_US and len(took) < TRIES:
        took.append(longest(name))
    if took[-1] > LONGEST_US:
        raise AssertionError(f"a cheap call of another thread took {took} us")


def main():
    names = sys.argv[1:] or run().stdout.decode().split()
    failed = not names
    for number, name in enumerate(names, 1):
        try:
            check(name)
            print(f"ok {number} {name}")
        except Exception as problem:
            failed = True
            print(f"# {type(problem).__name__}: {problem}\nnot ok {number} {name}")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
