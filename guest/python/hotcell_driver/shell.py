"""IPython's shell as a context: no terminal, no files of its own, output as frames."""
import bdb
import builtins
import importlib
import os
import subprocess
import sys
import traceback
import warnings

import IPython
from IPython.core import page
from IPython.core.autocall import IPyAutocall
from IPython.core.error import StdinNotImplementedError, UsageError
from IPython.utils.text import SList
from traitlets import Any, Type

from . import display
from .lazy import Compiler, LazyShell


FOLDER = os.path.dirname(os.path.abspath(__file__))


def no_input(prompt="", *unused, **unused_too):
    raise StdinNotImplementedError("input() was called, but the code interpreter has nobody to ask")


class Quit(IPyAutocall):
    """exit and quit: end the execution, not the context."""
    rewrite = False

    def __call__(self, status=None):
        raise SystemExit(*[] if status is None else [status])

    def __repr__(self):
        return "exit() ends the execution"


class Shell(LazyShell):
    compiler_class = Type(Compiler)
    displayhook_class = Type(display.Hook)
    display_pub_class = Type(display.Publisher)
    channel = Any()
    results = Any()
    loops = Any()

    def __init__(self, **parts):
        self.errored = False
        super().__init__(**parts)
        self.loop_runner = self.loops.run
        builtins.input = no_input
        for name in ("exit", "quit"):
            self.user_ns[name] = self.user_ns_hidden[name] = Quit(self)
        warnings.filterwarnings("ignore", "To exit: use", UserWarning)

    def init_display_formatter(self):
        super().init_display_formatter()
        display.add_formatters(self.display_formatter)

    def init_hooks(self):
        super().init_hooks()
        self.set_hook("show_in_pager", page.as_hook(self.print_page), 99)

    @staticmethod
    def print_page(strng, start=0, screen_lines=0, pager_cmd=None):
        print(strng["text/plain"] if isinstance(strng, dict) else strng)

    def run(self, code, number):
        self.errored = False
        self.execution_count = number
        for history in (self.history_manager.input_hist_parsed, self.history_manager.input_hist_raw):
            history += [""] * (number - len(history))  # IPython does not count empty cells
        done = self.run_cell(code, store_history=True)
        error = done.error_before_exec or done.error_in_exec
        if error is not None and not self.errored and not isinstance(error, bdb.BdbQuit):
            self.report(error)  # a wrong magic, for one, IPython only prints

    # loaded before they are needed, when there is time

    @staticmethod
    def preload_errors():
        for name in ("stack_data", "IPython.core.debugger"):
            importlib.import_module(name)

    def preload_magics(self):
        self.magics_manager

    @staticmethod
    def preload_asyncio():
        importlib.import_module("asyncio")

    # errors

    def _showtraceback(self, etype, evalue, stb):
        """The first error of an execution is its error; of more one reads on standard error."""
        if self.loops.cancelled and etype.__name__ == "CancelledError":
            etype, evalue, stb = KeyboardInterrupt, KeyboardInterrupt(), [*stb[:-1], "KeyboardInterrupt: "]
        for stream in self.results.streams:
            stream.flush()
        text = "\n".join(map(str, stb))
        if self.channel.in_child:
            self._end_child(evalue, text)
        if self.errored:
            print(text, file=sys.stderr)
            return
        self.errored = True
        try:
            value = str(evalue)
        except Exception:
            value = "<its text cannot be shown>"
        self.channel.error(getattr(etype, "__name__", str(etype)), value, text)

    def _end_child(self, error, text):
        """Code that forked, in the child: as a program of its own would end."""
        if isinstance(error, SystemExit):
            status = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
            text = error.code if isinstance(error.code, str) else ""
        else:
            status = 1
        if text:
            print(text, file=sys.stderr)
        for stream in self.results.streams:
            stream.finish()
        os._exit(status & 0xff)

    def _get_exc_info(self, exc_tuple=None):
        """Without the frames that the driver adds below user code: the signal's handler, streams."""
        etype, value, tb = super()._get_exc_info(exc_tuple)
        node = tb
        while node is not None and node.tb_next is not None:
            if node.tb_next.tb_frame.f_code.co_filename.startswith(FOLDER):
                node.tb_next = node.tb_next.tb_next
            else:
                node = node.tb_next
        return etype, value, tb

    def init_traceback_handlers(self, custom_exceptions):
        super().init_traceback_handlers(custom_exceptions)
        original = self.InteractiveTB.structured_traceback

        def structured_traceback(etype, value, *more, **named):
            try:
                return original(etype, value, *more, **named)
            except Exception:  # it looks deep into the code, which may be too odd for it
                return _plain_traceback(value)
        self.InteractiveTB.structured_traceback = structured_traceback

    def report(self, error):
        """An exception that IPython let through, or that came on the way."""
        self._showtraceback(type(error), error, _plain_traceback(error))

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

    def enable_gui(self, gui=None):
        """%matplotlib and %gui: there is no screen."""
        if gui not in (None, "inline"):
            raise UsageError(f"no graphical user interface here, so not {gui!r}; figures are results with `inline`")

    def enable_matplotlib(self, gui=None):
        return super().enable_matplotlib("inline" if gui in (None, "auto") else gui)

    def ask_exit(self):
        raise SystemExit


def _plain_traceback(error):
    """Python's own, without IPython and the driver."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith((FOLDER, os.path.dirname(IPython.__file__)))]
    lines = traceback.format_list(frames) + traceback.format_exception_only(error)
    return [line.rstrip("\n") for line in lines]


def _sh():
    return "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"
