"""End-to-end cases: the same script natively and inside, the same output and exit status.

A file tests/e2e/NAME.sh holds cases, each begun by a line `## case name`; what stands before the
first is put before every one. Comments of the form `# word: value` at the start of the file or of a
case are directives:
  needs: PROGRAM...     skip when one is absent
  status: N             the exit status of both (default: whatever it is natively, but 126 or 127)
  timeout: SECONDS      for each of the two runs (default 240)
  options: OPTIONS      more options for `hotcell run`
  mask: REGEX => TEXT   applied to both outputs before they are compared
  only: inside          no native run; the script itself decides by its exit status
  user: root            skip unless we are root: natively the case needs to be
"""
import os
import re
import shlex
import shutil

from . import process

DIRECTIVE = re.compile(r"^# (needs|status|timeout|options|mask|only|user): (.*)$")


class Case:
    def __init__(self, file, name):
        self.file = file
        self.name = name
        self.lines = []
        self.needs = []
        self.status = None
        self.timeout = 240
        self.options = []
        self.masks = []
        self.only = ""
        self.user = ""

    def inherit(self, other):
        self.needs = list(other.needs)
        self.status, self.timeout = other.status, other.timeout
        self.options, self.masks = list(other.options), list(other.masks)
        self.only, self.user = other.only, other.user
        self.lines = list(other.lines)

    def directive(self, word, value):
        if word == "needs":
            self.needs += value.split()
        elif word in ("status", "timeout"):
            setattr(self, word, int(value))
        elif word == "options":
            self.options += shlex.split(value)
        elif word == "mask":
            pattern, text = value.split(" => ", 1)
            self.masks.append((re.compile(pattern.encode(), re.M), text.encode()))
        else:
            setattr(self, word, value.strip())

    @property
    def id(self):
        return f"e2e/{self.file}/{self.name}"

    @property
    def script(self):
        return "\n".join(self.lines) + "\n"


def parse(path):
    """The cases of one file."""
    file = os.path.basename(path)[:-3]
    common, cases = Case(file, ""), []
    current = common
    with open(path) as source:
        for line in source.read().split("\n"):
            if line.startswith("## "):
                current = Case(file, line[3:].strip().replace(" ", "-"))
                current.inherit(common)
                cases.append(current)
                continue
            found = DIRECTIVE.match(line)
            if found:
                current.directive(*found.groups())
            else:
                current.lines.append(line)
    return cases


def missing(case):
    for program in case.needs:
        if not shutil.which(program, path=process.ENVIRONMENT["PATH"]) and not os.path.exists(program):
            return f"{program} is not installed"
    if case.user == "root" and os.geteuid() != 0:
        return "needs root"
    return None


def arguments(case, home):
    environment = dict(process.ENVIRONMENT, HOME=home)
    return (["/usr/bin/env", "-i"] + [f"{k}={v}" for k, v in environment.items()] +
            ["/bin/bash", "-c", case.script])


def run_native(case):
    with process.CleanDirectory() as directory:
        done = process.run(arguments(case, directory), cwd=directory, timeout=case.timeout)
        # The same place has another name inside.
        out = done.out.replace(directory.encode(), b"/work")
        err = done.err.replace(directory.encode(), b"/work")
    return done._replace(out=out, err=err)


def same_user():
    """The option that makes the sandbox's user what we are: root, or who the files belong to."""
    return [] if os.geteuid() else ["--user", "root"]


def run_inside(case, hotcell):
    with process.CleanDirectory() as directory:
        command = [hotcell, "run", "-q", *same_user(), *case.options, "--", *arguments(case, "/work")]
        done = process.run(command, cwd=directory, timeout=case.timeout)
        left = os.listdir(directory)
    if left and not case.options:
        return done._replace(status=done.status or 1,
                             err=done.err + b"the host's directory was changed: %r" % left)
    return done


def masked(case, text):
    for pattern, replacement in case.masks:
        text = pattern.sub(replacement, text)
    return text


def tail(label, text, lines=15):
    shown = text.decode(errors="replace").rstrip("\n").split("\n")
    if shown == [""]:
        return []
    return [f"{label}: {line}" for line in shown[-lines:]]


def first_difference(native, inside):
    """The first lines where two outputs part, as text."""
    a, b = native.split(b"\n"), inside.split(b"\n")
    for number in range(max(len(a), len(b))):
        left = a[number] if number < len(a) else b"(end)"
        right = b[number] if number < len(b) else b"(end)"
        if left != right:
            return [f"line {number + 1}: native {left.decode(errors='replace')!r}",
                    f"line {number + 1}: inside {right.decode(errors='replace')!r}"]
    return []


def verdict_of_native(case, native):
    if native.timed_out:
        return ["natively: time is up"] + tail("native", native.out + native.err)
    if native.status != case.status if case.status is not None else native.status in (126, 127):
        return [f"natively: exit status {native.status}: the test is wrong here"
                ] + tail("native stdout", native.out) + tail("native stderr", native.err)
    return []


def check(case, hotcell):
    """Runs both; returns a list of lines that say what is wrong, empty when nothing is."""
    native = None
    if case.only != "inside":
        native = run_native(case)
        wrong = verdict_of_native(case, native)
        if wrong or hotcell is None:
            return wrong
    elif hotcell is None:
        return []
    inside = run_inside(case, hotcell)
    status = native.status if native else case.status or 0
    wrong = []
    if inside.timed_out:
        wrong.append(f"inside: time is up after {case.timeout} s")
    elif inside.status != status:
        wrong.append(f"inside: exit status {inside.status}, not {status}")
    if native and masked(case, native.out) != masked(case, inside.out):
        wrong += first_difference(masked(case, native.out), masked(case, inside.out))
    if wrong:
        wrong += tail("inside stdout", inside.out) + tail("inside stderr", inside.err)
    return wrong
