"""A kernel process that a guest has taken over: the jail must hold. See tests/jail/."""
import os
import re
import stat
import subprocess
import sys
import tempfile

KERNEL = os.environ["BUILD"] + "/tests/jail"


def make_host_tree(top):
    """Two directories to mount; what the links lead to is beside them."""
    with open(f"{top}/secret", "w") as file:
        file.write("secret")
    for kind in ("ro", "rw"):
        os.mkdir(f"{top}/{kind}")
        os.chmod(f"{top}/{kind}", 0o777)
        open(f"{top}/{kind}/hotcell-probe-{kind}", "w").close()
        with open(f"{top}/{kind}/file", "w") as file:
            file.write("contents")
        os.chmod(f"{top}/{kind}/file", 0o666)
        os.symlink(top, f"{top}/{kind}/out")
        os.symlink("..", f"{top}/{kind}/up")
        if os.geteuid() == 0:
            os.mknod(f"{top}/{kind}/device", stat.S_IFCHR | 0o666, os.makedev(1, 3))


def look_at(top):
    """What the probe must not have done to the host's files."""
    wrong = []
    if open(f"{top}/ro/file").read() != "contents" or open(f"{top}/secret").read() != "secret":
        wrong.append("a file was changed")
    if sorted(os.listdir(top)) != ["ro", "rw", "secret"] or "new" in os.listdir(f"{top}/ro"):
        wrong.append("a file was made")
    for name in os.listdir(f"{top}/rw"):
        status = os.lstat(f"{top}/rw/{name}")
        if stat.S_ISREG(status.st_mode) and status.st_mode & stat.S_ISUID and status.st_size:
            wrong.append(f"{name} is set-user-id")
    return wrong


def main():
    if not os.path.exists(KERNEL + "/hotcell-kernel"):
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="hotcell-jail-") as top:
        os.chmod(top, 0o755)
        make_host_tree(top)
        done = subprocess.run([KERNEL + "/hotcell", "run", "--ro", f"{top}/ro", "--rw", f"{top}/rw", "--", "true"],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        wrong = look_at(top)
    found = re.search(rb"jail probe: (\d+) attempts, all failed", done.stderr)
    if found and int(found[1]) > 3000 and not wrong:
        print("ok 1 the_jail_holds_a_hostile_kernel_process\n1..1")
        return
    print(f"# status {done.returncode}: {done.stderr.decode()}{wrong}")
    print("not ok 1 the_jail_holds_a_hostile_kernel_process\n1..1")
    sys.exit(1)


main()
