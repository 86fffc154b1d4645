"""How languages set environment variables: a kernel that runs cannot be given one from outside."""
import json


def single(text):
    """'text' where only the quote and the backslash mean something."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def shell(text):
    return "'" + text.replace("'", "'\\''") + "'"


def dollar(text):
    """"text" where the dollar means something, too."""
    return json.dumps(text).replace("$", "\\$")


def octave(text):
    """'text' where a quote is written twice."""
    return "'" + text.replace("'", "''") + "'"


class Language:
    def __init__(self, quote, set, unset):
        self.quote, self.set_form, self.unset_form = quote, set, unset

    def set(self, key, value):
        return self.set_form.format(self.quote(key), self.quote(value)) if self.set_form else ""

    def unset(self, key):
        return self.unset_form.format(self.quote(key)) if self.unset_form else ""


UNKNOWN = Language(str, "", "")
LANGUAGES = {
    "python": Language(repr, "import os as _; _.environ[{}] = {}; del _", "import os as _; _.environ.pop({}, None); del _"),
    "r": Language(json.dumps, "do.call(Sys.setenv, setNames(list({1}), {0}))", "Sys.unsetenv({})"),
    "bash": Language(shell, "export {}={}", "unset {}"),
    "javascript": Language(json.dumps, "process.env[{}] = {}", "delete process.env[{}]"),
    "typescript": Language(json.dumps, "process.env[{}] = {}", "delete process.env[{}]"),
    "java": Language(json.dumps, "System.setProperty({}, {});", "System.clearProperty({});"),
    "julia": Language(dollar, "ENV[{}] = {};", "delete!(ENV, {});"),
    "ruby": Language(single, "ENV[{}] = {}", "ENV.delete({})"),
    "octave": Language(octave, "setenv({}, {});", "unsetenv({});"),
}


def find(name):
    return LANGUAGES.get(name.lower(), UNKNOWN)
