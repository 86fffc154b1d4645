"""For the tests of charts and data: the code of a user, and what comes of it.

INTERPRETER_INSIDE=0: the code runs in this process and the modules of guest/python are asked directly. Otherwise it
runs in a sandbox through the Python driver, and the parts of its results are read.
"""
import json
import os
import sys

from harness.tap import check, check_equal

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "guest", "python"))
sys.dont_write_bytecode = True
INSIDE = os.environ.get("INTERPRETER_INSIDE") != "0"
COMMAND = ["/usr/bin/python3", "/opt/hotcell/python/driver.py"]
PREPARE = """import datetime, decimal
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
"""
driver = None


def execute(code):
    """Through the driver; one for all the tests of a file."""
    global driver
    if driver is None:
        from interpreter.driver import Driver
        driver = Driver(COMMAND)
        done = driver.execute(PREPARE)
        check(not done.error, done)
    done = driver.execute(code)
    check(not done.error, done)
    return done


def end():
    if driver is not None:
        driver.close()


def namespace():
    names = {}
    exec("import matplotlib\nmatplotlib.use('agg')\n" + PREPARE, names)
    return names


def plotted(code):
    """The chart of the figure that the code draws; strict JSON, as a client gets it."""
    if INSIDE:
        charts = [r.json("e2b/chart") for r in execute(code + "\nplt.show()").results if r.get("e2b/chart")]
        check(len(charts) == 1, f"one chart, not {len(charts)}")
        return charts[0]
    from hotcell_charts import chart_of
    names = namespace()
    try:
        exec(code, names)
        return json.loads(json.dumps(chart_of(names["plt"].gcf()), allow_nan=False))
    finally:
        names["plt"].close("all")


def valued(code, part):
    """What a part (e2b/data, application/json) of the value of the last line is; None without it."""
    if INSIDE:
        main = execute(code).main
        return main.json(part) if main.get(part) else None
    from hotcell_data import frame_data, json_of
    names = namespace()
    *lines, last = code.strip().split("\n")
    exec("\n".join(lines), names)
    value = eval(last, names)
    made = {"e2b/data": frame_data, "application/json": json_of}[part](value)
    return None if made is None else json.loads(json.dumps(made, allow_nan=False))


def near(got, want, what=""):
    """The same structure with the same texts and nearly the same numbers."""
    if isinstance(want, (list, tuple)):
        check(isinstance(got, list) and len(got) == len(want), f"{what}: got {str(got)[:300]}, want {str(want)[:300]}")
        for place, (g, w) in enumerate(zip(got, want)):
            near(g, w, f"{what}[{place}]")
    elif isinstance(want, float) and isinstance(got, float):
        check(abs(got - want) <= 1e-9 * max(1, abs(want)), f"{what}: got {got!r}, want {want!r}")
    else:
        check_equal(got, want, what)


def pick(chart, *keys):
    return [[element[key] for element in chart["elements"]] for key in keys]
