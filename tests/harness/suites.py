"""What there is to run: each suite yields tests, each test runs on its own and says what is wrong."""
import collections
import glob
import json
import os
import re

from . import compare, process
from .victim import Victim

# Of a test of a driver: where it runs.
INTERPRETER_AS_USER = {"python_basic", "javascript_state", "bash_shell", "r_language", "java_language",
                       "jupyter_kernels", "charts_lines"}
INTERPRETER_VARIANTS = {
    "@native": {"INTERPRETER_INSIDE": "0"},
    "": {"INTERPRETER_OPTIONS": ""},
    "@root": {"INTERPRETER_OPTIONS": "--user root"},
}

# Seconds: bounds of what hangs, for a machine that is busy and stands still at times.
PROGRAM_S, HOST_SIDE_S, CONFORMANCE_S, CPYTHON_S, LINT_S = 600, 1800, 1200, 600, 900

Verdict = collections.namedtuple("Verdict", "passed failed skipped")
Failure = collections.namedtuple("Failure", "id lines")
TAP = re.compile(r"^(not ok|ok) \d+ (\S.*?)( # SKIP.*)?$")


class Test:
    """`run` returns a Verdict: names that passed, Failures, names that were skipped. Long ones start first."""

    def __init__(self, id, run, long=False):
        self.id = id
        self.run = run
        self.long = long


def tap(id, done, timeout):
    """The verdict of a program that prints TAP."""
    passed, failed, skipped, said = [], [], [], []
    for line in done.out.decode(errors="replace").split("\n"):
        found = TAP.match(line)
        if not found:
            said.append(line)
            continue
        name = f"{id}/{found[2]}"
        if found[3]:
            skipped.append(name)
        elif found[1] == "ok":
            passed.append(name)
        else:
            failed.append(Failure(name, [s for s in said if s][-15:]))
        said = []
    if done.timed_out:
        failed.append(Failure(id, [f"time is up after {timeout} s"] +
                              compare.tail("stdout", done.out) + compare.tail("stderr", done.err)))
    elif done.status != 0 and not failed or not (passed or failed or skipped):
        failed.append(Failure(id, [f"exit status {done.status}"] +
                              compare.tail("stdout", done.out) + compare.tail("stderr", done.err)))
    elif failed:
        failed[-1].lines.extend(compare.tail("stderr", done.err))
    return Verdict(passed, failed, skipped)


def program(id, command, timeout, env=None, long=False):
    def run():
        with process.CleanDirectory() as directory:
            environment = dict(process.ENVIRONMENT, HOME=directory, **(env or {}))
            done = process.run(command, cwd=directory, timeout=timeout, env=environment)
        if done.status == 77 and not done.out:
            return Verdict([], [], [id])
        return tap(id, done, timeout)
    return Test(id, run, long)


def programs(folder):
    return [p for p in sorted(glob.glob(folder + "/*"))
            if os.access(p, os.X_OK) and not p.endswith(".new") and
            not os.path.basename(p).startswith("helper_")]


def unit(where):
    """The tests that Meson knows: src/**/*_test.c, and the fuzz targets on their corpus."""
    listing = f"{where.build}/meson-info/intro-tests.json"
    if not os.path.exists(listing):
        return
    with open(listing) as file:
        for test in json.load(file):
            folder = "fuzz" if any(s.endswith("fuzz") for s in test["suite"]) else "unit"
            yield program(f"{folder}/{test['name']}", test["cmd"], PROGRAM_S, test["env"])


def guest_natively(where):
    for path in programs(f"{where.build}/tests/guest"):
        yield program(f"native/{os.path.basename(path)}", [path], PROGRAM_S)


def inside(where, path, *options):
    """The command that runs a built test program in a sandbox."""
    return [where.hotcell, "run", "-q", "--ro", f"{where.build}/tests:/t", *options, "--",
            "/t/" + os.path.relpath(path, f"{where.build}/tests")]


def also_as_root(source):
    return os.path.exists(source) and "/* also as root */" in open(source).read()


def guest(where):
    """As the sandbox's user; sources that say `/* also as root */` a second time as root."""
    for path in programs(f"{where.build}/tests/guest"):
        name = os.path.basename(path)
        yield program(f"guest/{name}", inside(where, path), PROGRAM_S)
        if also_as_root(f"{where.root}/tests/guest/{name}.c"):
            yield program(f"guest/{name}@root", inside(where, path, "--user", "root"), PROGRAM_S)


def end_to_end(where):
    for path in sorted(glob.glob(f"{where.root}/tests/e2e/*.sh")):
        for case in compare.parse(path):
            yield Test(case.id, lambda case=case: compared(case, where.hotcell))
    for path in sorted(glob.glob(f"{where.root}/tests/e2e/*.py")):
        yield host_side(where, "e2e", path)


def compared(case, hotcell):
    reason = compare.missing(case)
    if reason:
        return Verdict([], [], [f"{case.id} ({reason})"])
    wrong = compare.check(case, hotcell)
    return Verdict([], [Failure(case.id, wrong)], []) if wrong else Verdict([case.id], [], [])


def host_side(where, suite, path, more=None):
    """A python program on the host that starts sandboxes itself and prints TAP."""
    name = os.path.basename(path)[:-3]
    env = {"HOTCELL": where.hotcell or "", "BUILD": where.build, "SOURCE": where.root,
           "PYTHONPATH": f"{where.root}/tests", **(more or {})}
    env.update((name, os.environ[name]) for name in os.environ if name.startswith("FAULTS_"))
    return program(f"{suite}/{name}", ["/usr/bin/python3", path], HOST_SIDE_S, env, long=True)


def escape(where):
    """The attacks. Each runs beside a victim on the host which must not notice anything."""
    for path in programs(f"{where.build}/tests/escape"):
        name = os.path.basename(path)
        yield Test(f"escape/{name}", lambda path=path: attack(where, path))
        if also_as_root(f"{where.root}/tests/escape/{name}.c"):
            yield Test(f"escape/{name}@root", lambda path=path: attack(where, path, "--user", "root"))
    for path in sorted(glob.glob(f"{where.root}/tests/escape/*.py")):
        yield host_side(where, "escape", path)


def web(where):
    """The HTTP of the server, without what the server is for."""
    for path in sorted(glob.glob(f"{where.root}/tests/web/*.py")):
        yield host_side(where, "web", path)


def faults(where):
    """What a sandbox is made of is killed, or is not there."""
    for path in sorted(glob.glob(f"{where.root}/tests/faults/*.py")):
        yield host_side(where, "faults", path)


def server(where):
    """`hotcell serve` and its parts."""
    for path in sorted(glob.glob(f"{where.root}/tests/server/*.py")):
        yield host_side(where, "server", path)


def interpreter(where):
    """The drivers of the code interpreter by their protocol: natively, inside as root, as the server runs them, and one
    file per language as the user of `hotcell code`."""
    for path in sorted(glob.glob(f"{where.root}/tests/interpreter/*_*.py")):
        name = os.path.basename(path)[:-3]
        for variant, env in INTERPRETER_VARIANTS.items():
            if variant == "" and name not in INTERPRETER_AS_USER:
                continue
            if where.hotcell or variant == "@native":
                test = host_side(where, "interpreter", path, env)
                test.id += variant
                yield test


def conformance(where):
    """The published SDKs against `hotcell serve`: each file once per version of the SDK; with the older one of the code
    interpreter, which differs little, those that read what it parses."""
    for path in sorted(glob.glob(f"{where.root}/tests/conformance/*.test.mjs")):
        name = os.path.basename(path)
        sdks = ("interpreter-2.8", "interpreter-2.7") if name.startswith("interpreter") else ("e2b-2.51", "e2b-2.45")
        for sdk in sdks:
            if name == "cli.test.mjs" and sdk != "e2b-2.51":
                continue
            if sdk == "interpreter-2.7" and name.split("-")[1].split(".")[0] not in ("basics", "charts", "life"):
                continue
            yield program(f"conformance/{sdk}/{name.removesuffix('.test.mjs')}",
                          [f"{where.root}/tests/conformance/run", "--build", where.build, f"{sdk}/{name}"],
                          CONFORMANCE_S, long=True)


def attack(where, path, *options):
    id = f"escape/{os.path.basename(path)}" + ("@root" if options else "")
    with Victim() as victim:
        options = sum([["--env", f"{k}={v}"] for k, v in victim.hints().items()], list(options))
        verdict = program(id, inside(where, path, *options), PROGRAM_S).run()
        wrong = victim.harm()
    if wrong:
        verdict.failed.append(Failure(id + "/the-host-is-unharmed", wrong))
    else:
        verdict.passed.append(id + "/the-host-is-unharmed")
    return verdict


def regression(where):
    """A quick part of CPython's own regression tests; tests/cpython/run without --fast runs all."""
    for name in cpython_modules(where):
        command = [f"{where.root}/tests/cpython/run", "--inside-first", "--jobs", "1", "--timeout", str(CPYTHON_S),
                   "--hotcell", where.hotcell or "", name]
        yield program(f"cpython/{name}", command, 4 * CPYTHON_S, long=True)


def cpython_modules(where):
    with open(f"{where.root}/tests/cpython/fast.txt") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def documents(where):
    """docs/syscalls.md is what the table generates."""
    generator = f"{where.root}/tools/syscalls-doc"
    if os.path.exists(generator):
        yield program("docs/syscalls", [generator, "--check"], PROGRAM_S)


def lint(where):
    """The rules of the source tree."""
    yield program("lint", [f"{where.root}/tools/lint"], LINT_S, long=True)


SUITES = [documents, lint, unit, guest_natively, guest, end_to_end, escape, faults, server, web,
          interpreter, conformance, regression]
NEED_SANDBOX = [guest, escape, faults, server, conformance, regression]
