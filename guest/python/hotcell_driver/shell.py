"""IPython's shell as a context: no terminal, no files of its own, output as frames."""
import builtins
import os
import subprocess
import sys
import traceback

from IPython.core import page
from IPython.core.autocall import IPyAutocall
from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.text import SList
from traitlets import Any, Type

from . import display


def no_input(prompt="", *unused, **unused_too):
    raise StdinNotImplementedError("input() was called, but nobody can answer: the code interpreter has no input")


class Quit(IPyAutocall):
    """exit and quit: end the execution, not the context."""
    rewrite = False

    def __call__(self, status=None):
        raise SystemExit(status)

    def __repr__(self):
        return "exit() ends the execution"


class Shell(InteractiveShell):
    displayhook_class = Type(display.Hook)
    display_pub_class = Type(display.Publisher)
    channel = Any()
    results = Any()

    def __init__(self, channel, results):
        self.errored = False
        super().__init__(channel=channel, results=results)
        builtins.input = no_input
        self.user_ns.update(exit=Quit(self), quit=Quit(self))
        self.user_ns_hidden.update(exit=self.user_ns["exit"], quit=self.user_ns["quit"])

    def init_display_formatter(self):
        super().init_display_formatter()
        display.add_formatters(self.display_formatter)

    def init_hooks(self):
        super().init_hooks()
        self.set_hook("show_in_pager", page.as_hook(self.print_page), 99)

    @staticmethod
    def print_page(strng, start=0, screen_lines=0, pager_cmd=None):
        print(strng["text/plain"] if isinstance(strng, dict) else strng)

    # errors

    def _showtraceback(self, etype, evalue, stb):
        for stream in self.results.streams:
            stream.flush()
        text = "\n".join(map(str, stb))
        if self.errored:
            print(text, file=sys.stderr)
            return
        self.errored = True
        try:
            value = str(evalue)
        except Exception:
            value = "<exception str() failed>"
        self.channel.error(getattr(etype, "__name__", str(etype)), value, text)

    def report(self, error):
        """An exception that IPython let through, or that came on the way."""
        lines = traceback.format_exception(error)
        self._showtraceback(type(error), error, [line.rstrip("\n") for line in lines])

    # subprocesses

    def system(self, cmd):
        """!cmd: its output goes where the driver's descriptors 1 and 2 go, while it runs."""
        for stream in self.results.streams:
            stream.flush()
        self.user_ns["_exit_code"] = subprocess.call(self.var_expand(cmd, depth=1), shell=True, executable=_sh(),
                                                     stdin=subprocess.DEVNULL)

    system_piped = system_raw = system

    def getoutput(self, cmd, split=True, depth=0):
        """x = !cmd"""
        done = subprocess.run(self.var_expand(cmd, depth=depth + 1), shell=True, executable=_sh(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out = done.stdout.decode("utf-8", "replace")
        self.user_ns["_exit_code"] = done.returncode
        return SList(out.splitlines()) if split else out

    def ask_exit(self):
        raise SystemExit


def _sh():
    return "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"
