"""Figures: several axes, several kinds, none; those of pandas and seaborn; too much; and strange ones."""
import importlib.util
import json
import sys

from harness.tap import Skip, check, check_equal, run
from interpreter.plots import INSIDE, end, execute, near, pick, plotted


def kinds(chart):
    check_equal(chart["type"], "superchart")
    return [c["type"] for c in chart["elements"]]


def test_blank_figures():
    if INSIDE:  # no part, or an empty one
        for code in ("plt.figure()", "plt.subplots(2, 2)"):
            check(not any(r.get("e2b/chart") not in (None, "{}") for r in execute(code + "\nplt.show()").results), code)
        return
    for code in ("plt.figure()", "plt.subplots()", "plt.subplots(2, 2)", "plt.title('x'); plt.text(0, 0, 'y')"):
        check_equal(plotted(code), {}, code)


def test_unknown():
    for code in ("plt.gca().add_artist(plt.Circle((0, 0), 1))", "plt.imshow([[1, 2], [3, 4]]); plt.colorbar()",
                 "plt.contour([[1, 2], [3, 4]])", "plt.contourf([[1, 2], [3, 4]]); plt.colorbar()",
                 "plt.fill_between([1, 2], [1, 2])", "plt.stackplot([1, 2], [1, 2])", "plt.violinplot([1, 2, 3])",
                 "plt.hexbin([1, 2, 3], [1, 2, 3])", "plt.quiver([1], [1], [1], [1])", "plt.pcolormesh([[1, 2], [3, 4]])",
                 "plt.hist([1, 2, 2], histtype='step')", "plt.figure().add_subplot(projection='3d').plot([1, 2], [1, 2], [1, 2])",
                 "plt.figure().add_subplot(projection='3d').bar3d([1], [1], [0], 1, 1, 1)", "plt.hlines([1], 0, 1)"):
        chart = plotted(code + "; plt.title('What it is')")
        check_equal(chart, {"type": "unknown", "title": "What it is", "elements": []}, code)


def test_several_axes():
    chart = plotted("""
fig, axs = plt.subplots(2, 2)
fig.suptitle('All')
axs[0][0].plot([1, 2, 4]); axs[0][0].set_title('L'); axs[0][0].grid(True)
axs[0][1].scatter([1, 2], [3, 4], label='S'); axs[0][1].set_xlabel('X')
axs[1][0].bar(['a'], [1])
axs[1][1].pie([1, 1])""")
    check_equal((kinds(chart), chart["title"]), (["line", "scatter", "bar", "pie"], "All"))
    line, scatter, bar, pie = chart["elements"]
    check_equal((line["title"], line["x_label"], pick(line, "points")),
                ("L", None, [[[[0.0, 1.0], [1.0, 2.0], [2.0, 4.0]]]]))
    check_equal((scatter["title"], scatter["x_label"], pick(scatter, "label", "points")),
                (None, "X", [["S"], [[[1.0, 3.0], [2.0, 4.0]]]]))
    check_equal((pick(bar, "value"), pick(pie, "angle")), ([[1.0]], [[180.0, 180.0]]))


def test_axes_without_data_do_not_count():
    chart = plotted("fig, axs = plt.subplots(1, 3); axs[1].plot([1, 2, 4]); axs[2].axis('off'); fig.suptitle('One')")
    check_equal((chart["type"], chart["title"]), ("line", "One"))


def test_a_colorbar_is_no_chart():
    chart = plotted("plt.scatter([1, 2], [3, 4], c=[1, 2]); plt.colorbar()")
    check_equal((chart["type"], pick(chart, "points")), ("scatter", [[[[1.0, 3.0], [2.0, 4.0]]]]))


def test_twin_axes():
    chart = plotted("""
fig, a = plt.subplots(); a.bar(['x', 'y'], [1, 2]); a.set_ylabel('left')
b = a.twinx(); b.plot(['x', 'y', 'x'], [30, 20, 10]); b.set_ylabel('right (%)')""")
    check_equal(kinds(chart), ["bar", "line"])
    check_equal((chart["elements"][1]["y_unit"], pick(chart["elements"][1], "points")),
                ("%", [[[["x", 30.0], ["y", 20.0], ["x", 10.0]]]]))


def test_several_kinds_on_the_same_axes():
    chart = plotted("plt.bar([1, 2, 3], [3, 4, 5]); plt.plot([1, 2, 3], [2, 3, 5], label='trend'); plt.title('T')")
    check_equal(kinds(chart), ["bar", "line"])
    check_equal([c["title"] for c in chart["elements"]], ["T", "T"])
    chart = plotted("plt.scatter([1, 2, 3], [3, 4, 5]); plt.plot([1, 2, 3], [2, 3, 5])")
    check_equal((kinds(chart), pick(chart["elements"][1], "points")), (["scatter", "line"], [[[[1.0, 2.0], [2.0, 3.0], [3.0, 5.0]]]]))


def test_pandas_lines():
    chart = plotted("pd.DataFrame({'a': [1, 2, 3], 'b': [4, 5, 7]}, index=[10, 20, 30]).plot(title='T')")
    check_equal((chart["type"], chart["title"], pick(chart, "label", "points")),
                ("line", "T", [["a", "b"], [[[10.0, 1.0], [20.0, 2.0], [30.0, 3.0]], [[10.0, 4.0], [20.0, 5.0], [30.0, 7.0]]]]))


def test_pandas_time_series():
    chart = plotted("pd.Series([1, 2, 3], index=pd.date_range('2023-01-01', periods=3)).plot()")
    check_equal((chart["x_scale"], pick(chart, "points")),
                ("datetime", [[[["2023-01-01T00:00:00", 1.0], ["2023-01-02T00:00:00", 2.0], ["2023-01-03T00:00:00", 3.0]]]]))
    check(all(t.startswith("2023-01-0") for t in chart["x_ticks"]), chart["x_ticks"])
    chart = plotted("pd.Series([1, 2], index=pd.period_range('2023-01', periods=2, freq='M')).plot()")
    check_equal([p[0] for p in chart["elements"][0]["points"]], ["2023-01-01T00:00:00", "2023-02-01T00:00:00"])


def test_pandas_bars():
    frame = "pd.DataFrame({'a': [1, 2], 'b': [3, 4]}, index=['x', 'y']).plot"
    want = [("a", "x", 1.0), ("a", "y", 2.0), ("b", "x", 3.0), ("b", "y", 4.0)]
    for kind in (".bar()", ".barh()", ".bar(stacked=True)", ".barh(stacked=True)"):
        chart = plotted(frame + kind)
        check_equal([(e["group"], e["label"], e["value"]) for e in chart["elements"]], want, kind)


def test_pandas_others():
    check_equal(plotted("pd.Series([1, 3], index=['a', 'b']).plot.pie()")["elements"],
                [{"label": "a", "angle": 90.0, "radius": 1.0}, {"label": "b", "angle": 270.0, "radius": 1.0}])
    frame = "pd.DataFrame({'a': [1, 2, 3, 4], 'b': [2, 4, 6, 20]})"
    for code in (".plot.box()", ".boxplot()", ".plot.box(vert=False)"):
        chart = plotted(frame + code)
        check_equal((chart["type"], pick(chart, "label", "median")), ("box_and_whisker", [["a", "b"], [2.5, 5.0]]), code)
    check_equal(pick(plotted(frame + ".plot.scatter('a', 'b')"), "points"), [[[[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, 20.0]]]])
    check_equal(kinds(plotted(frame + ".hist()")), ["bar", "bar"])
    check_equal(kinds(plotted(frame + ".plot(subplots=True)")), ["line", "line"])
    check_equal(plotted(frame + ".plot.area()")["type"], "line")


def seaborn(code):
    if INSIDE:
        done = execute("import importlib.util\nimportlib.util.find_spec('seaborn') is not None")
        there = done.text == "True"
    else:
        there = importlib.util.find_spec("seaborn")
    if not there:
        raise Skip("no seaborn")
    return plotted("import seaborn as sns, warnings; warnings.simplefilter('ignore')\n"
                   "frame = pd.DataFrame({'x': ['p', 'q', 'p', 'q'], 'y': [1., 2., 3., 5.], 'h': ['u', 'u', 'v', 'v']})\n" + code)


def test_seaborn():
    chart = seaborn("sns.barplot(data=frame, x='x', y='y', hue='h')")
    check_equal([(e["group"], e["label"], e["value"]) for e in chart["elements"]],
                [("u", "p", 1.0), ("u", "q", 2.0), ("v", "p", 3.0), ("v", "q", 5.0)])
    check_equal(pick(seaborn("sns.barplot(data=frame, x='x', y='y')"), "label", "value"), [["p", "q"], [2.0, 3.5]])
    chart = seaborn("sns.boxplot(data=frame, x='x', y='y')")
    check_equal((chart["type"], pick(chart, "label", "median")), ("box_and_whisker", [["p", "q"], [2.0, 3.5]]))
    chart = seaborn("sns.lineplot(data=frame, x='x', y='y', hue='h', errorbar=None)")
    check_equal(pick(chart, "label", "points"),
                [["u", "v"], [[["p", 1.0], ["q", 2.0]], [["p", 3.0], ["q", 5.0]]]])
    check_equal(seaborn("sns.heatmap([[1, 2], [3, 4]])")["type"], "unknown")
    check_equal(seaborn("sns.histplot(frame.y, bins=2)")["type"], "bar")
    check_equal(pick(seaborn("sns.scatterplot(data=frame, x='y', y='y', hue='h')"), "points"), [[[[v, v] for v in (1.0, 2.0, 3.0, 5.0)]]])
    check_equal(pick(seaborn("sns.stripplot(data=frame, x='x', y='y')"), "points"),
                [[[["p", 1.0], ["p", 3.0]], [["q", 2.0], ["q", 5.0]]]])
    check_equal(kinds(seaborn("sns.regplot(data=frame, x='y', y='y')")), ["scatter", "line"])


def test_too_much_is_unknown():
    many = 250_000 if INSIDE else 1_000_000  # drawing them takes its time
    for code in (f"plt.scatter(np.random.rand({many}), np.random.rand({many}), marker=',')", f"plt.plot(np.random.rand({many}))"):
        chart = plotted(code + "; plt.title('Large')")
        check_equal(chart, {"type": "unknown", "title": "Large", "elements": []})
    chart = plotted("fig, axs = plt.subplots(1, 2); axs[0].plot(np.random.rand(250000)); axs[1].plot([1, 2, 4])")
    check_equal(kinds(chart), ["unknown", "line"])
    chart = plotted("plt.scatter(np.arange(50000), np.random.rand(50000))")
    check_equal((len(chart["elements"][0]["points"]), chart["elements"][0]["points"][-1][0]), (50000, 49999.0))
    check(len(json.dumps(chart)) < 8 << 20, "it fits")
    if not INSIDE:  # an image as wide as that is not drawn
        check_equal(len(plotted("plt.plot([1, 2, 4]); plt.xlabel('x' * 100000)")["x_label"]), 10000)


def test_texts_that_are_no_unicode():
    chart = plotted("plt.plot([1, 2, 4], label='a\\ud800b'); plt.title('x\\nü😀')")
    check_equal((pick(chart, "label"), chart["title"]), ([["a?b"]], "x\nü😀"))


def test_foreign_code_that_fails():
    if INSIDE:
        raise Skip("the image fails, too")
    chart = plotted("""
def format(x, at): raise RuntimeError('mine')
fig, axs = plt.subplots(1, 2)
axs[0].plot([1, 2, 4]); axs[0].xaxis.set_major_formatter(format); axs[0].set_title('T')
axs[1].plot([1, 2, 4])""")
    check_equal((kinds(chart), chart["elements"][0]["title"]), (["unknown", "line"], "T"))


def test_nothing_is_changed():
    if INSIDE:
        raise Skip("natively")
    check_equal(plotted("""
plt.plot([1, 2, 4]); before = [plt.gca().get_xlim(), plt.gca().get_ylim(), len(plt.gca().get_children())]
from hotcell_charts import chart_of
first, second = chart_of(plt.gcf()), chart_of(plt.gcf())
assert first == second
assert before == [plt.gca().get_xlim(), plt.gca().get_ylim(), len(plt.gca().get_children())]""")["type"], "line")


run(sys.modules[__name__])
end()
