"""Line and scatter charts: points, labels, ticks, scales, dates and categories."""
import math
import sys

from harness.tap import check, check_equal, run
from interpreter.plots import end, near, pick, plotted

POINT_KEYS = {"type", "title", "elements", "x_label", "y_label", "x_unit", "y_unit", "x_ticks", "x_tick_labels",
              "x_scale", "y_ticks", "y_tick_labels", "y_scale"}


def test_two_lines():
    chart = plotted("""
x = np.linspace(0, 2 * np.pi, 100)
plt.plot(x, np.sin(x), label='sin(x)')
plt.plot(x, np.cos(x), label='cos(x)')
plt.xlabel('Time (s)'); plt.ylabel('Amplitude (Hz)'); plt.title('Sine and cosine')""")
    check_equal(set(chart), POINT_KEYS)
    check_equal([chart[k] for k in ("type", "title", "x_label", "x_unit", "y_label", "y_unit", "x_scale", "y_scale")],
                ["line", "Sine and cosine", "Time (s)", "s", "Amplitude (Hz)", "Hz", "linear", "linear"])
    labels, points = pick(chart, "label", "points")
    check_equal(labels, ["sin(x)", "cos(x)"])
    xs = [2 * math.pi * i / 99 for i in range(100)]
    near(points[0], [[x, math.sin(x)] for x in xs])
    near(points[1], [[x, math.cos(x)] for x in xs])
    for axis in "xy":
        check(all(isinstance(t, float) for t in chart[axis + "_ticks"]), chart[axis + "_ticks"])
        near([float(t.replace("\u2212", "-")) for t in chart[axis + "_tick_labels"]], chart[axis + "_ticks"])


def test_what_has_no_name():
    chart = plotted("plt.plot([1, 2, 3], [3, 1, 2]); plt.plot([4, 5, 7])")
    check_equal(pick(chart, "label", "points"),
                [["Line 0", "Line 1"], [[[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]], [[0.0, 4.0], [1.0, 5.0], [2.0, 7.0]]]])
    check_equal([chart[k] for k in ("title", "x_label", "y_label", "x_unit", "y_unit")], [None] * 5)


def test_units():
    for label, unit in (("Time (s)", "s"), ("Speed [m/s]", "m/s"), ("Time (s) [ms]", "s"), ("f(x)", None),
                        ("a (b (c))", "b (c)"), ("a ()", None), ("open (", None), ("$\\\\alpha$ (rad)", "rad"),
                        ("Temperature (°C)", "°C"), ("(x)", None), ("[q]", "q")):
        chart = plotted(f"plt.plot([1, 2, 4]); plt.xlabel('{label}')")
        check_equal((chart["x_label"], chart["x_unit"]), (label.replace("\\\\", "\\"), unit))


def test_dates():
    chart = plotted("""
dates = [datetime.date(2023, 9, 1) + datetime.timedelta(days=i) for i in range(5)]
plt.plot(dates, [1, 4, 9, 16, 25])""")
    check_equal((chart["x_scale"], chart["y_scale"]), ("datetime", "linear"))
    check_equal(chart["elements"][0]["points"],
                [[f"2023-09-0{i + 1}", float((i + 1) ** 2)] for i in range(5)])
    check(all(t.endswith("+00:00") and t.startswith("2023-") for t in chart["x_ticks"]), chart["x_ticks"])
    check_equal(len(chart["x_ticks"]), len(chart["x_tick_labels"]))


def test_moments():
    chart = plotted("plt.plot([datetime.datetime(2023, 9, 1, 12, 30, i) for i in range(3)], [1, 2, 4])")
    check_equal([p[0] for p in chart["elements"][0]["points"]], [f"2023-09-01T12:30:0{i}" for i in range(3)])
    chart = plotted("""
zone = datetime.timezone(datetime.timedelta(hours=2))
plt.plot([datetime.datetime(2023, 9, 1, 12, tzinfo=zone), datetime.datetime(2023, 9, 2, 12, tzinfo=zone)], [1, 2])""")
    check_equal([p[0] for p in chart["elements"][0]["points"]],
                ["2023-09-01T12:00:00+02:00", "2023-09-02T12:00:00+02:00"])


def test_dates_of_numpy_and_pandas():
    for dates in ("pd.date_range('2024-02-28', periods=3)", "np.arange('2024-02-28', '2024-03-02', dtype='M8[D]')"):
        chart = plotted(f"plt.plot({dates}, [1., np.nan, 3.])")
        check_equal((chart["x_scale"], chart["elements"][0]["points"]),
                    ("datetime", [["2024-02-28T00:00:00", 1.0], ["2024-02-29T00:00:00", None],
                                  ["2024-03-01T00:00:00", 3.0]]))
    chart = plotted("plt.plot(pd.DatetimeIndex(['2024-01-01', None, '2024-01-03']), [1, 2, 3])")
    check_equal([p[0] for p in chart["elements"][0]["points"]], ["2024-01-01T00:00:00", None, "2024-01-03T00:00:00"])


def test_dates_upwards():
    chart = plotted("plt.plot([1, 2], [datetime.date(2023, 1, 1), datetime.date(2023, 1, 2)])")
    check_equal((chart["y_scale"], chart["elements"][0]["points"]),
                ("datetime", [[1.0, "2023-01-01"], [2.0, "2023-01-02"]]))


def test_scattered_dates():
    chart = plotted("plt.scatter([datetime.date(2023, 1, 1), datetime.datetime(2023, 1, 2, 3, 4, 5, 678)], [1, 2])")
    check_equal((chart["type"], chart["x_scale"], chart["elements"][0]["points"]),
                ("scatter", "datetime", [["2023-01-01T00:00:00", 1.0], ["2023-01-02T03:04:05.000678", 2.0]]))


def test_categories():
    chart = plotted("plt.plot(['a', 'b', 'a'], [1, 2, 3])")
    check_equal((chart["x_scale"], chart["x_ticks"], chart["x_tick_labels"]), ("categorical", [0.0, 1.0], ["a", "b"]))
    check_equal(chart["elements"][0]["points"], [["a", 1.0], ["b", 2.0], ["a", 3.0]])
    chart = plotted("plt.plot([1, 2, 3], ['A', 'B', 'C'])")
    check_equal((chart["x_scale"], chart["y_scale"]), ("linear", "categorical"))
    chart = plotted("plt.scatter(['a', 'b'], [1, 2]); plt.plot([0.5], [3], 'o', label='between')")
    check_equal([e["points"] for c in chart["elements"] for e in c["elements"]], [[["a", 1.0], ["b", 2.0]], [[0.5, 3.0]]])


def test_named_ticks():
    chart = plotted("plt.plot([0, 1, 2], [5, 7, 6]); plt.xticks([0, 1, 2], ['Mon', 'Tue', 'Wed'])")
    check_equal((chart["x_scale"], chart["x_ticks"], chart["x_tick_labels"]),
                ("categorical", [0.0, 1.0, 2.0], ["Mon", "Tue", "Wed"]))
    chart = plotted("plt.plot([0, 1, 2], [5, 7, 6]); plt.xticks([0, 2], ['0', '2'])")
    check_equal((chart["x_scale"], chart["x_ticks"], chart["x_tick_labels"]), ("linear", [0.0, 2.0], ["0", "2"]))


def test_scales():
    for scale, more in (("log", ""), ("symlog", ""), ("logit", ""), ("asinh", ""),
                        ("function", ", functions=(np.sqrt, np.square)"), ("functionlog", ", functions=(np.sqrt, np.square)")):
        for axis in "xy":
            chart = plotted(f"plt.plot([.1, .5, .9], [.2, .4, .8]); plt.{axis}scale('{scale}'{more})")
            check_equal(chart[axis + "_scale"], scale)
            check_equal(chart["xy".replace(axis, "") + "_scale"], "linear")
            check_equal(chart["elements"][0]["points"], [[.1, .2], [.5, .4], [.9, .8]])
            check(all(isinstance(t, float) for t in chart[axis + "_ticks"]), chart[axis + "_ticks"])


def test_log_ticks():
    chart = plotted("x = np.linspace(0, 100, 100); plt.plot(x, np.exp(x)); plt.yscale('log'); plt.ylabel('Y (log scale)')")
    check_equal((chart["y_scale"], chart["y_unit"]), ("log", "log scale"))
    near([math.log10(t) for t in chart["y_ticks"]], [float(round(math.log10(t))) for t in chart["y_ticks"]])
    near(chart["elements"][0]["points"][-1], [100.0, math.exp(100)])


def test_numbers_that_json_has_not():
    chart = plotted("plt.plot([1, 2, 3, 4], [1.5, np.nan, np.inf, -np.inf])")
    check_equal(chart["elements"][0]["points"], [[1.0, 1.5], [2.0, None], [3.0, None], [4.0, None]])
    chart = plotted("plt.plot([1, 2, 3], np.ma.masked_equal([7, 8, 9], 8))")
    check_equal(chart["elements"][0]["points"], [[1.0, 7.0], [2.0, None], [3.0, 9.0]])
    chart = plotted("plt.scatter([1, 2], np.ma.masked_equal([7., 8.], 8.))")
    check_equal([p[1] for p in chart["elements"][0]["points"]], [7.0, None])


def test_numbers_of_all_kinds():
    for values in ("np.array([1, 2, 4], dtype='u1')", "np.array([1, 2, 4], dtype='f4')", "[True, 2, 4]",
                   "[decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(4)]", "pd.Series([1, 2, 4])",
                   "np.array([1, 2, 4], dtype=object)", "pd.array([1, 2, 4], dtype='Int64')"):
        chart = plotted(f"plt.plot({values})")
        check_equal(chart["elements"][0]["points"], [[0.0, 1.0], [1.0, 2.0], [2.0, 4.0]], values)


def test_scatter():
    chart = plotted("""
plt.scatter([1, 2, 3], [0.1, 0.2, 0.3], c='blue', label='first')
plt.scatter([4, 5], [1, 2], s=[10, 20], c=[0.1, 0.9], label='second')
plt.xlabel('A'); plt.ylabel('B'); plt.legend(); plt.grid(True)""")
    check_equal((set(chart), chart["type"], chart["x_label"], chart["y_label"]), (POINT_KEYS, "scatter", "A", "B"))
    check_equal(pick(chart, "label", "points"),
                [["first", "second"], [[[1.0, 0.1], [2.0, 0.2], [3.0, 0.3]], [[4.0, 1.0], [5.0, 2.0]]]])


def test_decoration_is_no_data():
    chart = plotted("""
plt.plot([1, 2, 3], [4, 5, 7], label='data')
plt.axhline(5, color='red'); plt.axvline(2); plt.axline((0, 0), slope=1); plt.axhspan(1, 2)
plt.fill_between([1, 2, 3], [3, 4, 6], [5, 6, 8], alpha=.2)
plt.grid(True, which='both'); plt.legend(); plt.text(1, 4, 'text'); plt.annotate('a', (1, 4), (2, 5), arrowprops={})""")
    check_equal((chart["type"], pick(chart, "label", "points")),
                ("line", [["data"], [[[1.0, 4.0], [2.0, 5.0], [3.0, 7.0]]]]))


def test_flat_lines():
    chart = plotted("plt.plot([0, 10], [5, 5])")
    check_equal(pick(chart, "points"), [[[[0.0, 5.0], [10.0, 5.0]]]])
    chart = plotted("plt.plot([1, 2, 4]); plt.plot([0, 2], [3, 3], '--'); plt.plot([0, 2], [2, 2], label='goal')")
    check_equal(pick(chart, "label"), [["Line 0", "goal"]])


def test_error_bars():
    chart = plotted("plt.errorbar([1, 2, 3], [4, 6, 5], yerr=[.1, .2, .3], xerr=.1, capsize=3, label='measured')")
    check_equal((chart["type"], pick(chart, "label", "points")),
                ("line", [["measured"], [[[1.0, 4.0], [2.0, 6.0], [3.0, 5.0]]]]))


def test_steps_and_stems():
    for code in ("plt.step([1, 2, 3], [4, 6, 5], where='mid')", "plt.stem([1, 2, 3], [4, 6, 5])",
                 "plt.plot([1, 2, 3], [4, 6, 5], 'o')", "plt.plot([1, 2, 3], [4, 6, 5], drawstyle='steps')"):
        chart = plotted(code)
        check_equal((chart["type"], pick(chart, "points")), ("line", [[[[1.0, 4.0], [2.0, 6.0], [3.0, 5.0]]]]), code)


def test_polar():
    chart = plotted("plt.polar([0, 1, 2], [1, 2, 3])")
    check_equal((chart["type"], pick(chart, "points")), ("line", [[[[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]]]))


def test_names_from_a_legend():
    chart = plotted("""
a, = plt.plot([1, 2, 4]); b, = plt.plot([3, 2, 4])
plt.legend(handles=[a, b], labels=['one', 'two'])""")
    check_equal(pick(chart, "label"), [["one", "two"]])


run(sys.modules[__name__])
end()
