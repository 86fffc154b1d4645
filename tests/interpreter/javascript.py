"""What the tests of the JavaScript driver have in common. JAVASCRIPT_NODE is another Node.js to test, natively."""
import os
import sys

from interpreter.driver import Driver

COMMAND = [os.environ.get("JAVASCRIPT_NODE", "node"), "--no-force-async-hooks-checks", "/opt/hotcell/javascript/driver.cjs"]


def start(**options):
    try:
        return Driver(COMMAND, **options)
    except AssertionError as problem:
        sys.exit(f"no driver: {problem}")
