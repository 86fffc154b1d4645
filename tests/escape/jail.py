"""A kernel process that a guest has taken over: the jail must hold. See tests/jail/probe.c."""
import os
import re
import subprocess
import sys

KERNEL = os.environ["BUILD"] + "/tests/jail"

if not os.path.exists(KERNEL + "/hotcell-kernel"):
    sys.exit(77)
done = subprocess.run([KERNEL + "/hotcell", "run", "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
found = re.search(rb"jail probe: (\d+) attempts, all failed", done.stderr)
if found and int(found[1]) > 1500:
    print("ok 1 the_jail_holds_a_hostile_kernel_process\n1..1")
else:
    print(f"# status {done.returncode}: {done.stderr.decode()}not ok 1 the_jail_holds_a_hostile_kernel_process\n1..1")
    sys.exit(1)
