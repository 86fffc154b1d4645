"""What tests of the Python driver share."""
import sys

from interpreter.driver import Driver

COMMAND = ["/usr/bin/python3", "/opt/hotcell/python/driver.py"]


def shared():
    """The driver that most tests of a file use, one after the other."""
    try:
        return Driver(COMMAND)
    except AssertionError as problem:
        sys.exit(f"no driver: {problem}")
