"""The Python driver: results of every kind, images, figures, data frames."""
import base64
import sys

from harness.tap import check, check_equal, run
from interpreter.python import shared

driver = shared()
PNG = b"\x89PNG\r\n\x1a\n"


def parts_of(code):
    """Of the only result."""
    done = driver.execute(code)
    check_equal((len(done.results), done.errors), (1, []), done)
    return done.results[0].parts


def is_png(text):
    return base64.b64decode(text, validate=True).startswith(PNG)


def test_every_kind_of_representation():
    driver.execute("""
        class All:
            def __repr__(self): return "all"
            def _repr_html_(self): return "<b>all</b>"
            def _repr_markdown_(self): return "**all**"
            def _repr_svg_(self): return "<svg/>"
            def _repr_png_(self): return b"png"
            def _repr_jpeg_(self): return b"jpeg"
            def _repr_pdf_(self): return b"pdf"
            def _repr_latex_(self): return "$all$"
            def _repr_json_(self): return {"all": [1, None]}
            def _repr_javascript_(self): return "all()"
    """)
    expected = {
        "text/plain": "all", "text/html": "<b>all</b>", "text/markdown": "**all**", "image/svg+xml": "<svg/>",
        "image/png": base64.b64encode(b"png").decode(), "image/jpeg": base64.b64encode(b"jpeg").decode(),
        "application/pdf": base64.b64encode(b"pdf").decode(), "text/latex": "$all$",
        "application/json": '{"all": [1, null]}', "application/javascript": "all()",
    }
    check_equal(parts_of("All()"), expected)
    check_equal(parts_of("display(All())"), expected)


def test_main_and_displayed():
    done = driver.execute("display(1)\ndisplay('a', 'b')\n2")
    check_equal([(r.kind, r["text/plain"]) for r in done.results],
                [("display", "1"), ("display", "a"), ("display", "b"), ("main", "2")])


def test_a_bundle():
    parts = parts_of("""
        class Mixed:
            def _repr_mimebundle_(self, **unused):
                return {"text/plain": "mixed", "application/x.y+json": {"a": 1}, "x/bytes": b"12", "x/text": "t",
                        "x/other": [1, 2]}
        Mixed()
    """)
    check_equal(parts, {"text/plain": "mixed", "application/x.y+json": '{"a": 1}', "x/bytes": "MTI=", "x/text": "t",
                        "x/other": "[1, 2]"})


def test_types_that_are_none():
    parts = parts_of("display({'text/plain': 'ok', '': 'x', 'a b/c': 'joined', 'x' * 500: 'long', 'ü/ü': 'x', 5: 'five',\n"
                     "         'x/n+json': float('nan'), 'x/o+json': object()}, raw=True)")
    check_equal(parts, {"text/plain": "ok", "ab/c": "joined", "5": "five"})


def test_objects_of_ipython():
    done = driver.execute("from IPython.display import *\n"
                          "display(HTML('<i>'), Markdown('# m'), SVG('<svg></svg>'), Latex('x'), JSON({'j': 1}),\n"
                          "        Javascript('j()'), Image(b'png', format='png'), Image(b'jpg', format='jpeg'))")
    check_equal([sorted(set(r.parts) - {"text/plain"}) for r in done.results],
                [["text/html"], ["text/markdown"], ["image/svg+xml"], ["text/latex"], ["application/json"],
                 ["application/javascript"], ["image/png"], ["image/jpeg"]])


def test_lists_and_dicts_are_json():
    check_equal(driver.execute("[1, 'a', None, {'b': 2.5}]").main.json(), [1, "a", None, {"b": 2.5}])
    check_equal(driver.execute("{'a': (1, 2)}").main.json(), {"a": [1, 2]})
    for code in ("5", "'text'", "(1, 2)", "{1, 2}", "[object()]"):
        check("application/json" not in parts_of(code), code)


def test_what_is_too_large_for_json_is_left_out():
    parts = parts_of("['x' * 100] * 100_000")
    check("application/json" not in parts and len(parts["text/plain"]) > 1000, list(parts))
    parts = parts_of("display({'text/plain': 't', 'text/html': 'h' * 9_000_000, 'x/y': 'x' * 9_000_000}, raw=True)")
    check_equal((len(parts["text/html"]), "x/y" in parts), (9_000_000, False))


def test_updates_show_the_last_state():
    done = driver.execute("handle = display('first', display_id=True)\nfor i in range(50): handle.update(i)\n'main'")
    check_equal([(r.kind, r["text/plain"]) for r in done.results],
                [("display", "first"), ("main", "main"), ("display", "49")])
    check_equal([r["text/plain"] for r in driver.execute("handle.update('later')").results], ["later"])
    check_equal(driver.execute("from IPython.display import clear_output\nclear_output()").order, ["count", "done"])


def test_displays_of_threads():
    done = driver.execute("""
        import threading
        threads = [threading.Thread(target=lambda: [display(i) for i in range(50)]) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
    """)
    check_equal(sorted(int(r["text/plain"]) for r in done.results), sorted(list(range(50)) * 4))


def test_images():
    driver.execute("import tempfile, os\nfrom PIL import Image\nimage = Image.new('RGB', (4, 4), 'red')\n"
                   "folder = tempfile.mkdtemp()")
    for code, kind in (("image", "main"), ("image.show()", "display"), ("image.save(folder + '/x.png')", "display")):
        done = driver.execute(code)
        check_equal([r.kind for r in done.results], [kind], code)
        check(is_png(done.results[0]["image/png"]), code)
    check_equal(driver.execute("import io\nimage.save(io.BytesIO(), 'PNG')").results, [])
    check_equal(driver.execute("os.listdir(folder)").text, "['x.png']")


def test_figures_are_displayed_at_the_end_and_closed():
    driver.execute("import matplotlib.pyplot as plt")
    done = driver.execute("plt.plot([1, 2, 3])\nplt.figure()\nplt.bar(['a'], [1])\n'text'")
    check_equal([r.kind for r in done.results], ["main", "display", "display"])
    for result, kind in zip(done.displays, ("line", "bar")):
        check(is_png(result["image/png"]) and result["text/plain"].startswith("<Figure size"), result)
        check_equal(result.json("e2b/chart")["type"], kind)
        check_equal(set(result.parts), {"text/plain", "image/png", "e2b/chart"})
    check_equal(driver.execute("plt.get_fignums()").text, "[]")


def test_show_displays_at_once():
    done = driver.execute("plt.plot([1, 2])\nplt.show()\nprint('behind')\nx = 5\nx")
    check_equal(done.order, ["count", "result", "part", "part", "part", "close", "stdout", "result", "part", "close",
                             "done"])


def test_a_figure_as_result():
    done = driver.execute("fig, ax = plt.subplots()\nax.plot([1, 2])\nplt.close(fig)\nfig")
    check_equal([r.kind for r in done.results], ["main"])
    check(is_png(done.main["image/png"]), done.main)


def test_magics_of_figures():
    for magic in ("%matplotlib inline", "%matplotlib", "%pylab inline"):
        done = driver.execute(f"{magic}\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone")
        check_equal((len(done.displays), done.errors), (1, []), magic)
        check(is_png(done.displays[0]["image/png"]), magic)
    check_equal(driver.execute("%matplotlib qt5").error["name"] in ("UsageError", "ImportError"), True)
    check("no graphical user interface" in driver.execute("%gui qt").stderr, "%gui")
    check_equal(len(driver.execute("%matplotlib inline\nplt.plot([1, 2]); plt.show()").displays), 1)


def test_a_saved_figure_is_displayed_once():
    done = driver.execute("plt.plot([1, 2])\nplt.savefig(folder + '/figure.png')\nplt.savefig(folder + '/figure.jpg')")
    check_equal(len(done.results), 1)
    check_equal(driver.execute("sorted(os.listdir(folder))").text, "['figure.jpg', 'figure.png', 'x.png']")


def test_an_empty_figure():
    check_equal(parts_of("plt.figure()\nNone").get("e2b/chart"), "{}")


def test_a_figure_that_cannot_be_drawn():
    done = driver.execute("plt.plot([1, 2]); plt.title('$\\\\frac$')\nNone")
    check_equal(len(done.errors), 1, done)
    check_equal(driver.execute("plt.close('all')\n5").text, "5")


def test_other_formats_of_figures():
    driver.execute("%config InlineBackend.figure_formats = ['svg']")
    parts = parts_of("plt.plot([1, 2])\nNone")
    check("image/svg+xml" in parts and "image/png" not in parts, list(parts))
    driver.execute("%config InlineBackend.figure_formats = ['png']")


def test_data_frames():
    done = driver.execute("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', None]})")
    check_equal(done.main.json("e2b/data"), {"a": [1, 2], "b": ["x", None]})
    check("<table" in done.main["text/html"] and "a" in done.text, done.main)
    check("e2b/data" not in parts_of("pd.Series([1])"), "a series is no frame")


def test_data_and_charts_of_other_classes():
    parts = parts_of("class Own:\n    def _repr_e2b_data_(self): return {'a': [1]}\n"
                     "    def _repr_e2b_chart_(self): return {'type': 'unknown'}\nOwn()")
    check_equal((parts["e2b/data"], parts["e2b/chart"]), ('{"a": [1]}', '{"type": "unknown"}'))


def test_captured_displays():
    done = driver.execute("%%capture kept\nprint('text')\ndisplay(1)\nplt.plot([1, 2]); plt.show()")
    check_equal(done.order, ["count", "done"])
    check_equal(driver.execute("[kept.stdout, len(kept.outputs)]").main.json(), ["text\n", 2])


run(sys.modules[__name__])
