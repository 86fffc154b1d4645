"""What remains in a kernel process of a guest that made random system calls, and ended or was killed in the
middle of them: nothing. LEAKS_SEED and LEAKS_ROUNDS repeat or extend it."""
import bisect
import os
import re
import subprocess
import sys

BUILD = os.environ["BUILD"]
KERNEL = BUILD + "/tests/faults"
SEED = os.environ.get("LEAKS_SEED", "1")
ROUNDS = os.environ.get("LEAKS_ROUNDS", "4")


def functions():
    """Offset in the program and name of each function, in order."""
    lines = subprocess.run(["nm", KERNEL + "/hotcell-kernel"], capture_output=True, text=True).stdout.splitlines()
    symbols = [(int(address, 16), name) for address, kind, name in (line.split() for line in lines if len(line.split()) == 3)
               if kind in "tTwW"]
    base = next((address for address, name in symbols if name == "__executable_start"), 0)
    return sorted((address - base, name) for address, name in symbols)


def named(line, symbols):
    """The function in place of an offset."""
    found = re.match(r"# leak: ([0-9a-f]+) ", line)
    if not found or not symbols:
        return line
    at = bisect.bisect(symbols, (int(found[1], 16), "~")) - 1
    return line.replace(found[1], symbols[at][1], 1)


def main():
    if not os.path.exists(KERNEL + "/hotcell-kernel"):
        return 77
    print(f"# LEAKS_SEED={SEED} LEAKS_ROUNDS={ROUNDS}", flush=True)
    done = subprocess.run([KERNEL + "/hotcell", "run", "-q", "--user", "root", "--ro", BUILD + "/tests:/t", "--",
                           "/t/escape/helper_leaks", SEED, ROUNDS, *sys.argv[1:]],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    symbols = functions() if "# leak" in done.stdout else []
    for line in done.stdout.splitlines():
        print(named(line, symbols))
    if done.returncode not in (0, 1) or "ok" not in done.stdout:
        print(f"# status {done.returncode}: {done.stderr[-500:]}\nnot ok 1 run")
        return 1
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
