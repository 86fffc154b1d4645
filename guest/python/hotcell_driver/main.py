"""Puts the parts of the driver together."""
import faulthandler
import os
import sys


def main():
    from .protocol import Channel
    channel = Channel()
    try:
        context = build(channel)
    except ImportError as missing:
        channel.failed(f"Python needs IPython ({missing}): install the packages python3-ipython and "
                       "python3-matplotlib-inline")
        sys.exit(1)
    context.serve()


def build(channel):
    stay_somewhere()
    faulthandler.enable(2)  # what kills Python says where on standard error
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    from . import light
    light.import_ipython()
    from . import display, hooks, streams
    from .context import Context
    from .interrupt import Interrupts
    from .loops import Loops
    from .shell import Shell
    out_and_err = streams.install(channel)
    interrupts = Interrupts()
    interrupts.install()
    loops = Loops(interrupts)
    Shell.colors = "NoColor"
    shell = Shell.instance(channel=channel, results=display.Results(channel, out_and_err), loops=loops)
    hooks.install()
    return Context(channel, interrupts, out_and_err, shell, loops)


def stay_somewhere():
    """The shell wants to know where it is; a folder may be gone."""
    try:
        os.getcwd()
    except OSError:
        os.chdir("/")
