"""Starts the Python driver of the code interpreter: descriptors 3 and 4 speak the protocol of docs/interpreter.md."""
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_IGN)  # until there is something to interrupt
folder, sys.path[0] = sys.path[0], ""


class Finder:
    """Finds the driver's own modules, which all begin with hotcell_, so that nothing of it is in sys.path."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if path is None and name.startswith("hotcell_"):
            from importlib.machinery import PathFinder
            return PathFinder.find_spec(name, [folder])


sys.meta_path.insert(0, Finder)
sys.argv = [""]

from hotcell_driver.main import main  # noqa: E402

main()
