"""Hosts that lack something, made with a filter of system calls or with namespaces around hotcell: where
docs/security.md and `hotcell doctor` promise a weaker way, it works and doctor says what it costs; where
not, `hotcell run` fails at once, with a sentence, and doctor names the thing.
"""
import json
import os
import resource
import subprocess
import sys

from harness import tap
from harness.tap import PATIENCE_S, Skip, check, check_equal, skip_if_sanitized

HOTCELL = os.environ["HOTCELL"]
DENY = os.environ["BUILD"] + "/tests/harness/deny"
ROOT = os.geteuid() == 0

NEW_LISTENER = "seccomp:1&8"
SYNC_WAKE_UP = "ioctl:1:0x40082104"


def call(*command, **keywords):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, **keywords)


def doctor(*around, **keywords):
    done = call(*around, HOTCELL, "doctor", "--json", **keywords)
    check(done.returncode in (0, 1), f"doctor: {done.returncode} {done.stderr}")
    answer = json.loads(done.stdout)
    check_equal(done.returncode, 0 if answer["usable"] else 1)
    return {c["id"]: c for c in answer["checks"]}


def weaker(around, row, *program, options=(), **keywords):
    """Works; doctor says that it is weaker, what it costs and how to get it. Returns the JSON report."""
    found = doctor(*around, **keywords)
    check_equal(found[row]["state"], "weaker", found[row])
    check(found[row]["cost_if_missing"] and found[row]["fix"], found[row])
    check_equal(found["sandbox"]["state"], "ok", found["sandbox"])
    done = call(*around, HOTCELL, "run", "-q", "--json=-", *options, "--", *(program or ("/bin/true",)), **keywords)
    check_equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout[done.stdout.index("{"):])


def missing(around, row, message, **keywords):
    """Does not work: status 125, one line that holds `message`; doctor names the row and a way out."""
    done = call(*around, HOTCELL, "run", "--timeout", "20s", "--", "true", **keywords)
    check_equal(done.returncode, 125, f"{done.returncode} {done.stderr}")
    check(done.stderr.startswith("hotcell: ") and done.stderr.count("\n") == 1, done.stderr)
    check(message in done.stderr, done.stderr)
    found = doctor(*around, **keywords)
    check_equal(found[row]["state"], "missing", found[row])
    check(found[row]["fix"], found[row])
    check_equal(found["sandbox"]["state"], "missing", found["sandbox"])


def deny(*rules):
    return [DENY, *rules, "--"]


def inside_namespaces(script, *flags):
    """Runs the rest in new namespaces, as (their) root, after the script."""
    probe = call("unshare", *flags, "sh", "-c", script + "; true")
    if probe.returncode != 0:
        raise Skip(probe.stderr.strip() or "no namespaces here")
    return ["unshare", *flags, "sh", "-c", script + '; exec "$@"', "sh"]


def test_no_synchronous_wake_up():
    weaker(deny(SYNC_WAKE_UP + "=EINVAL"), "seccomp_wakeup", "sh", "-c", "ls /usr | wc -l >&2; (echo a; echo b) | sort >&2")


def test_no_landlock():
    weaker(deny("landlock_create_ruleset=ENOSYS"), "landlock")


def test_no_idmapped_mounts():
    """Older hosts know mount_setattr, but not this attribute for this file system."""
    if not ROOT:
        raise Skip("only for root")
    around = inside_namespaces("mount -t ramfs none /mnt && cd /mnt", "--mount", "--propagation", "private")
    found = doctor(*around)
    check_equal(found["idmap"]["state"], "weaker", found["idmap"])
    done = call(*around, HOTCELL, "run", "--", "sh", "-c", "echo x > /work/new && cat /work/new")
    check_equal((done.returncode, done.stdout), (0, "x\n"), done.stderr)


def test_no_user_namespaces():
    missing(deny("unshare=EPERM", "clone3=EPERM"), "user_namespace", "user namespaces")


def test_user_namespaces_limited_to_none():
    around = inside_namespaces("echo 0 > /proc/sys/user/max_user_namespaces", "--user", "--map-root-user")
    missing(around, "user_namespace", "user namespaces")
    found = doctor(*around)
    check("max_user_namespaces" in found["user_namespace"]["fix"], found["user_namespace"])


def test_user_namespaces_without_capabilities():
    """As AppArmor restricts them: made, but nothing may be done in them."""
    missing(deny("sethostname=EPERM", "fsopen=EPERM", "mount=EPERM"), "user_namespace", "private mounts: Operation not permitted")


def test_no_proc():
    """A host without /proc; nothing of hotcell can be told from it, so the message must do."""
    skip_if_sanitized("their runtime reads /proc")
    around = inside_namespaces("mount -t tmpfs none /proc", "--user", "--map-root-user", "--mount")
    done = call(*around, HOTCELL, "run", "--", "true")
    check_equal(done.returncode, 125, done.stderr)
    check(done.stderr.startswith("hotcell: ") and done.stderr.count("\n") <= 2, done.stderr)


def test_masked_proc():
    """As in a container that hides parts of /proc: a new one cannot be mounted."""
    around = inside_namespaces("mount -t tmpfs none /proc/sys", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc")
    missing(around, "proc_mount", "Operation not permitted (hotcell doctor")


def test_no_seccomp_listener():
    missing(deny(NEW_LISTENER + "=EINVAL"), "seccomp_notify", "Invalid argument (hotcell doctor")


def test_another_seccomp_supervisor():
    missing(deny(NEW_LISTENER + "=EBUSY"), "seccomp_notify", "(hotcell doctor")


def test_no_ptrace():
    missing(deny("ptrace=EPERM"), "ptrace", "forbids ptrace")


def test_no_process_vm():
    missing(deny("process_vm_readv=EPERM"), "process_vm", "forbids process_vm_readv")
    missing(deny("process_vm_writev=EPERM"), "process_vm", "forbids process_vm_writev")


def test_no_pidfd():
    missing(deny("pidfd_open=ENOSYS"), "pidfd", "forbids pidfd_open")


def test_no_openat2():
    missing(deny("openat2=ENOSYS"), "openat2", "openat2 in /proc: Function not implemented")


def controllers_of(report):
    return report["cgroup"]["controllers"]


def test_no_control_groups():
    around = inside_namespaces("umount -R -l /sys/fs/cgroup", "--mount", "--propagation", "private") if ROOT else []
    if not ROOT and doctor()["cgroup_memory"]["state"] == "ok":
        raise Skip("this user may make control groups")
    report = weaker(around, "cgroup_memory", options=["--cpus", "1"])
    check_equal(controllers_of(report), [])
    check_equal(sorted(report["cgroup"]["missing"]), ["cpu", "memory", "pids"])
    check_equal(report["memory"]["source"], "application kernel")
    done = call(*around, HOTCELL, "run", "--cpus", "0.5", "--", "nproc")
    check_equal((done.returncode, done.stdout), (0, "1\n"), done.stderr)
    check(len(os.sched_getaffinity(0)) == 1 or "--cpus is rounded up" in done.stderr, done.stderr)


def test_control_groups_are_read_only():
    if not ROOT:
        raise Skip("only for root")
    script = "awk '$5 ~ \"^/sys/fs/cgroup\" { print $5 }' /proc/self/mountinfo | while read p; do mount -o remount,bind,ro $p; done"
    around = inside_namespaces(script, "--mount", "--propagation", "private")
    report = weaker(around, "cgroup_memory")
    check_equal(controllers_of(report), [])
    done = call(*around, HOTCELL, "run", "-q", "--memory", "100M", "--", "python3", "-c", "b = bytearray(300 << 20)\nwhile True: pass")
    check_equal(done.returncode, 137, done.stderr)
    check("--memory" in done.stderr, done.stderr)


def limited(which, value):
    def limit():
        resource.setrlimit(which, (value, value))
    return limit


def test_small_hard_limits():
    skip_if_sanitized("no room below a limit of address space")
    missing([], "resource_limits", "hotcell", preexec_fn=limited(resource.RLIMIT_AS, 1 << 30))


def test_few_processes():
    """RLIMIT_NPROC counts all processes of the user: none is left. Root is exempt."""
    if ROOT:
        raise Skip("root has no such limit")
    done = call(HOTCELL, "run", "--", "true", preexec_fn=limited(resource.RLIMIT_NPROC, 1))
    check_equal(done.returncode, 125, done.stderr)
    check(done.stderr.startswith("hotcell: ") and done.stderr.count("\n") == 1, done.stderr)


tap.run(sys.modules[__name__])
