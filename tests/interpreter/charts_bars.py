"""Bars, pies and box plots."""
import sys

from harness.tap import check, check_equal, run
from interpreter.plots import end, near, pick, plotted

PLANE_KEYS = {"type", "title", "elements", "x_label", "y_label", "x_unit", "y_unit"}


def groups(chart):
    check_equal(chart["type"], "bar")
    return [(e["group"], e["label"], e["value"]) for e in chart["elements"]]


def test_bars():
    chart = plotted("""
plt.bar(['A', 'B', 'C'], [100, 200, 300.5], label='Books sold', color='blue')
plt.xlabel('Authors'); plt.ylabel('Number (pieces)'); plt.title('Sales')""")
    check_equal(set(chart), PLANE_KEYS)
    check_equal([chart[k] for k in ("title", "x_label", "x_unit", "y_label", "y_unit")],
                ["Sales", "Authors", None, "Number (pieces)", "pieces"])
    check_equal(groups(chart), [("Books sold", "A", 100.0), ("Books sold", "B", 200.0), ("Books sold", "C", 300.5)])


def test_lying_bars():
    chart = plotted("plt.barh(['A', 'B'], [1, 2], label='L'); plt.xlabel('Size (cm)'); plt.ylabel('Who')")
    check_equal(groups(chart), [("L", "A", 1.0), ("L", "B", 2.0)])
    check_equal([chart[k] for k in ("x_label", "x_unit", "y_label", "y_unit")], ["Who", None, "Size (cm)", "cm"])
    check_equal(groups(plotted("plt.barh([3], [7])")), [("Group 0", "3", 7.0)])


def test_stacked_bars():
    chart = plotted("plt.bar(['a', 'b'], [1, 2]); plt.bar(['a', 'b'], [3, 4], bottom=[1, 2])")
    check_equal(groups(chart), [("Group 0", "a", 1.0), ("Group 0", "b", 2.0), ("Group 1", "a", 3.0), ("Group 1", "b", 4.0)])
    check_equal(groups(plotted("plt.barh(['a'], [1], label='x'); plt.barh(['a'], [3], left=[1], label='y')")),
                [("x", "a", 1.0), ("y", "a", 3.0)])


def test_grouped_bars():
    for bar, ticks, size in (("bar", "xticks", "width"), ("barh", "yticks", "height")):
        chart = plotted(f"""
x = np.arange(3)
plt.{bar}(x - .2, [1, 2, 3], {size}=.4, label='2022'); plt.{bar}(x + .2, [4, 5, 6], {size}=.4, label='2023')
plt.{ticks}(x, ['p', 'q', 'r']); plt.legend()""")
        check_equal(groups(chart), [("2022", "p", 1.0), ("2022", "q", 2.0), ("2022", "r", 3.0),
                                    ("2023", "p", 4.0), ("2023", "q", 5.0), ("2023", "r", 6.0)])


def test_bars_at_numbers():
    check_equal(groups(plotted("plt.bar([2020, 2021.5], [1, 2])")), [("Group 0", "2020", 1.0), ("Group 0", "2021.5", 2.0)])
    check_equal(groups(plotted("plt.bar([10, 20], [1, 2], width=8, tick_label=['x', 'y'])")),
                [("Group 0", "x", 1.0), ("Group 0", "y", 2.0)])
    chart = plotted("plt.bar([1, 2], [1, 2]); plt.gca().xaxis.set_major_formatter(lambda x, at: f'no. {x:.0f}')")
    check_equal(groups(chart), [("Group 0", "no. 1", 1.0), ("Group 0", "no. 2", 2.0)])


def test_bars_at_dates():
    chart = plotted("plt.bar([datetime.date(2023, 1, 1), datetime.date(2023, 2, 1)], [1, 2], width=20)")
    check_equal(groups(chart), [("Group 0", "2023-01-01", 1.0), ("Group 0", "2023-02-01", 2.0)])


def test_values_of_bars():
    chart = plotted("plt.bar(['a', 'b', 'c', 'd'], [-1.5, 0, np.nan, 0.1 + 0.2])")
    check_equal([v for _, _, v in groups(chart)], [-1.5, 0.0, None, 0.1 + 0.2])
    chart = plotted("plt.bar(['a', 'b'], [10, 1000]); plt.yscale('log')")
    check_equal([v for _, _, v in groups(chart)], [10.0, 1000.0])


def test_bars_that_are_not_drawn():
    check_equal(groups(plotted("plt.bar([1, np.nan], [1, 2]); plt.bar([np.nan], [3]); plt.bar([2], [4])")),
                [("Group 0", "1", 1.0), ("Group 1", "2", 4.0)])


def test_bars_with_decoration():
    chart = plotted("""
bars = plt.bar(['a', 'b'], [1, 2], yerr=[.1, .2], capsize=4, label='L')
plt.bar_label(bars); plt.axhline(1.5); plt.grid(axis='y'); plt.legend()""")
    check_equal(groups(chart), [("L", "a", 1.0), ("L", "b", 2.0)])


def test_histograms():
    chart = plotted("plt.hist([1, 2, 2, 3, 3, 3], bins=[0.5, 1.5, 2.5, 3.5])")
    check_equal(groups(chart), [("Group 0", "1", 1.0), ("Group 0", "2", 2.0), ("Group 0", "3", 3.0)])
    chart = plotted("plt.hist([[1, 1], [1, 2, 2]], bins=[0.5, 1.5, 2.5], label=['a', 'b'], stacked=True)")
    check_equal(groups(chart), [("a", "1", 2.0), ("a", "2", 0.0), ("b", "1", 1.0), ("b", "2", 2.0)])


def test_pie():
    chart = plotted("plt.pie([90, 10], labels=['No', 'No, in blue'], autopct='%1.1f%%', startangle=90); plt.title('T')")
    check_equal(chart, {"type": "pie", "title": "T", "elements": [
        {"label": "No", "angle": 324.0, "radius": 1.0}, {"label": "No, in blue", "angle": 36.0, "radius": 1.0}]})


def test_pies_of_all_kinds():
    chart = plotted("plt.pie([1, 2, 4], radius=1.5, explode=[0, .1, 0], shadow=True, counterclock=False)")
    labels, angles, radii = pick(chart, "label", "angle", "radius")
    check_equal((labels, radii), (["", "", ""], [1.5] * 3))
    for angle, share in zip(angles, (1, 2, 4)):
        check(abs(abs(angle) - 360 * share / 7) < 1e-3, angles)
    chart = plotted("""
plt.pie([1, 3], labels=['a', 'b'], wedgeprops={'width': .4})
plt.gca().add_artist(plt.Circle((0, 0), .7, color='white'))""")
    check_equal((chart["type"], pick(chart, "label", "angle")), ("pie", [["a", "b"], [90.0, 270.0]]))


BOXES = {"A": [85, 90, 78, 92, 88], "B": [95, 89, 76, 91, 84, 87], "C": [75, 82, 88, 79, 86]}
WANT = [["A", "B", "C"], [78.0, 84.0, 75.0], [85.0, 84.75, 79.0], [88.0, 88.0, 82.0], [90.0, 90.5, 86.0],
        [92.0, 95.0, 88.0], [[], [76.0], []]]


def boxes(chart):
    check_equal((set(chart), chart["type"]), (PLANE_KEYS, "box_and_whisker"))
    return pick(chart, "label", "min", "first_quartile", "median", "third_quartile", "max", "outliers")


def test_boxes():
    for more in ("", ", patch_artist=True", ", notch=True", ", notch=True, patch_artist=True", ", showmeans=True",
                 ", showmeans=True, meanline=True", ", widths=[.1, .5, .9]", ", showcaps=False", ", capwidths=.9"):
        chart = plotted(f"""
data = {BOXES}
plt.boxplot(data.values(), labels=data.keys(){more}); plt.xlabel('Class'); plt.ylabel('Score (points)'); plt.title('S')""")
        check_equal(boxes(chart), WANT, more)
        check_equal([chart[k] for k in ("title", "x_label", "x_unit", "y_label", "y_unit")],
                    ["S", "Class", None, "Score (points)", "points"])


def test_lying_boxes():
    for more in ("", ", patch_artist=True", ", notch=True", ", showmeans=True"):
        chart = plotted(f"""
data = {BOXES}
plt.boxplot(data.values(), labels=data.keys(), vert=False{more}); plt.xlabel('Score (points)'); plt.ylabel('Class')""")
        check_equal(boxes(chart), WANT, more)
        check_equal([chart[k] for k in ("x_label", "x_unit", "y_label", "y_unit")], ["Class", None, "Score (points)", "points"])


def test_boxes_of_strange_data():
    chart = plotted("plt.boxplot([[5, 5, 5, 5], [1, 1, 1, 9], [7], [1, 2]])")
    check_equal(boxes(chart), [["1", "2", "3", "4"], [5.0, 1.0, 7.0, 1.0], [5.0, 1.0, 7.0, 1.25], [5.0, 1.0, 7.0, 1.5],
                               [5.0, 3.0, 7.0, 1.75], [5.0, 3.0, 7.0, 2.0], [[], [9.0], [], []]])
    chart = plotted("plt.boxplot([1, 2, 3, 4, 100], showfliers=False)")
    check_equal(pick(chart, "max", "outliers"), [[4.0], [[]]])
    chart = plotted("plt.boxplot([1, 2, 3, 4, 100], showfliers=False, showmeans=True)")
    check_equal(pick(chart, "max"), [[4.0]])
    chart = plotted("plt.boxplot([1, 2, 3, 100, -50], positions=[4], manage_ticks=False)")
    check_equal(pick(chart, "label", "outliers"), [["4"], [[-50.0, 100.0]]])


def test_boxes_of_nothing():
    for more in ("", ", vert=False", ", patch_artist=True"):
        chart = plotted(f"plt.boxplot([[], [1, 2, 3], [np.nan]], labels=['a', 'b', 'c']{more})")
        check_equal(boxes(chart), [["a", "b", "c"], [None, 1.0, None], [None, 1.5, None], [None, 2.0, None],
                                   [None, 2.5, None], [None, 3.0, None], [[], [], []]], more)


def test_boxes_drawn_twice_are_one():
    chart = plotted(f"plt.boxplot({list(BOXES.values())}); plt.boxplot({list(BOXES.values())}, patch_artist=True)")
    check_equal(boxes(chart)[1:], WANT[1:])


def test_a_rectangle_is_no_box():
    chart = plotted("plt.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0])")
    check_equal((chart["type"], len(chart["elements"][0]["points"])), ("line", 5))


run(sys.modules[__name__])
end()
