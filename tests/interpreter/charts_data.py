"""Data frames as columns, and lists and dictionaries as JSON."""
import sys

from harness.tap import check, check_equal, run
from interpreter.plots import INSIDE, end, execute, valued


def data(code):
    return valued(code, "e2b/data")


def value(code):
    return valued(code, "application/json")


def test_columns():
    check_equal(data("pd.DataFrame({'a': [1, 2, 3], 'b': ['x', 'y', 'ü'], 'c': [1.5, 2.0, 1e300], 'd': [True, False, True]})"),
                {"a": [1, 2, 3], "b": ["x", "y", "ü"], "c": [1.5, 2.0, 1e300], "d": [True, False, True]})
    check_equal(data("pd.DataFrame()"), {})
    check_equal(data("pd.DataFrame({'a': []})"), {"a": []})


def test_what_is_missing():
    check_equal(data("pd.DataFrame({'f': [1.5, np.nan, np.inf], 'o': ['x', None, np.nan], 't': pd.to_datetime(['2023-01-01', None, None]),"
                     " 'i': pd.array([1, None, 3], dtype='Int64'), 'b': pd.array([True, None, False], dtype='boolean')})"),
                {"f": [1.5, None, None], "o": ["x", None, None], "t": ["2023-01-01T00:00:00", None, None],
                 "i": [1, None, 3], "b": [True, None, False]})


def test_times():
    check_equal(data("pd.DataFrame({'t': pd.date_range('2023-01-01 12:30', periods=2, freq='s'),"
                     " 'z': pd.date_range('2023-01-01', periods=2, tz='UTC'), 'p': pd.period_range('2023-01', periods=2, freq='M'),"
                     " 'd': pd.to_timedelta(['1 days 02:03:04.5', None]), 'o': [datetime.date(2020, 2, 29), datetime.time(1, 2)]})"),
                {"t": ["2023-01-01T12:30:00", "2023-01-01T12:30:01"],
                 "z": ["2023-01-01T00:00:00+00:00", "2023-01-02T00:00:00+00:00"], "p": ["2023-01", "2023-02"],
                 "d": ["P1DT2H3M4.5S", None], "o": ["2020-02-29", "01:02:00"]})


def test_names_of_columns():
    check_equal(data("pd.DataFrame([[1, 2, 3, 4]], columns=['a', 'a', 'a.1', 'a'])"), {"a": [1], "a.1": [2], "a.1.1": [3], "a.2": [4]})
    check_equal(data("pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([('a', 'x'), ('a', 1)]))"),
                {"('a', 'x')": [1], "('a', 1)": [2]})
    check_equal(data("pd.DataFrame([[1, 2, 3]], columns=[1, None, pd.Timestamp('2023-01-01')])"),
                {"1": [1], "None": [2], "2023-01-01T00:00:00": [3]})


def test_indexes_are_no_columns():
    check_equal(data("pd.DataFrame({'k': ['p', 'p', 'q'], 'v': [1, 2, 3]}).groupby('k').sum()"), {"v": [3, 3]})
    check_equal(data("pd.DataFrame({'v': [1, 2]}, index=pd.MultiIndex.from_tuples([(1, 2), (3, 4)]))"), {"v": [1, 2]})


def test_values_of_all_kinds():
    check_equal(data("pd.DataFrame({'c': pd.Categorical(['a', 'b', 'a']), 'i': pd.IntervalIndex.from_breaks([0, 1, 2, 3]),"
                     " 's': pd.arrays.SparseArray([0, 1, 0]), 'x': [1j, 2 ** 70, decimal.Decimal('1.5')],"
                     " 'b': [b'text', b'\\xff\\x00', bytearray(b'')], 'n': [[1, (2, {3})], {'k': np.arange(2), 4: None}, np.float32(1.5)],"
                     " 'o': [type, 'a\\ud800', pd.Timestamp('2023-01-01')]})"),
                {"c": ["a", "b", "a"], "i": ["(0, 1]", "(1, 2]", "(2, 3]"], "s": [0, 1, 0],
                 "x": ["1j", "1180591620717411303424", 1.5], "b": ["text", "/wA=", ""],
                 "n": [[1, [2, [3]]], {"k": [0, 1], "4": None}, 1.5],
                 "o": ["<class 'type'>", "a?", "2023-01-01T00:00:00"]})
    check_equal(data("l = []\nl.append(l)\nlen(str(l)); frame = pd.DataFrame({'l': [l, 1]})\nframe")["l"][1], 1)


def test_frames_that_are_too_large_have_no_data():
    for code in ("pd.DataFrame(np.random.rand(1000000, 5))", "pd.DataFrame({'a': ['x' * 1000] * 10000})",
                 "pd.DataFrame(np.zeros((1, 20000)))"):
        check_equal(data(code), None, code)
    check(data("pd.DataFrame({'a': np.arange(100000)})") == {"a": list(range(100000))}, "all numbers")


def test_other_things_have_no_data():
    for code in ("pd.Series([1, 2])", "1", "{'a': [1]}", "'text'"):
        if INSIDE:
            check_equal(execute(code).main.get("e2b/data"), None, code)


def test_json_of_lists_and_dictionaries():
    check_equal(value("{'a': 1, 'b': [1.5, None, True, 'ü', (1, 2)], 'c': {}}"),
                {"a": 1, "b": [1.5, None, True, "ü", [1, 2]], "c": {}})
    check_equal(value("[]"), [])
    check_equal(value("[float('nan'), float('inf'), 1e300, -0.0]"), [None, None, 1e300, -0.0])
    check_equal(value("{1: 1, None: 2, True: 3, 2.5: 4, datetime.date(2023, 1, 1): 5}"),
                {"1": 3, "null": 2, "2.5": 4, "2023-01-01": 5})
    check_equal(value("[datetime.datetime(2023, 1, 1), datetime.time(1), np.float32(0.5), np.int8(3), np.arange(4).reshape(2, 2)]"),
                ["2023-01-01T00:00:00", "01:00:00", 0.5, 3, [[0, 1], [2, 3]]])
    check_equal(value("import enum, uuid, dataclasses\n"
                      "E = enum.Enum('E', 'one two')\n"
                      "D = dataclasses.make_dataclass('D', ['x'])\n"
                      "[E.two, uuid.UUID(int=1), D(7)]"), [2, "00000000-0000-0000-0000-000000000001", {"x": 7}])


def test_what_is_no_json():
    for code in ("[object()]", "[b'bytes']", "{(1, 2): 3}", "[{1, 2}]", "[2 ** 65]", "[1j]", "[print]", "[pd.DataFrame()]",
                 "l = []\nl.append(l)\nl", "d = {}\nd['d'] = d\nd"):
        check_equal(value(code), None, code)


def test_json_is_bounded():
    check_equal(value("['x' * 1000] * 10000"), None)
    check(value("['line\\n' * 300_000]") == ["line\n" * 300_000], "texts of lines")
    check_equal(value("list(range(2000000))"), None)
    check_equal(value("import functools\nfunctools.reduce(lambda x, _: [x], range(200), [])"), None)
    check(value("list(range(100000))") == list(range(100000)), "all numbers")


run(sys.modules[__name__])
end()
