"""Puts the parts of the driver together."""
import os
import sys


def main():
    from .protocol import Channel
    channel = Channel()
    try:
        shell, interrupts, streams = build(channel)
    except ImportError as missing:
        channel.failed(f"Python needs IPython ({missing}): install the packages python3-ipython and "
                       "python3-matplotlib-inline")
        sys.exit(1)
    from .context import Context
    Context(channel, interrupts, streams, shell).serve()


def build(channel):
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    from . import display, streams
    from .interrupt import Interrupts
    from .shell import Shell
    out_and_err = streams.install(channel)
    interrupts = Interrupts(channel.requests.pending)
    interrupts.install()
    Shell.colors = "NoColor"
    shell = Shell.instance(channel=channel, results=display.Results(channel, out_and_err))
    return shell, interrupts, out_and_err
