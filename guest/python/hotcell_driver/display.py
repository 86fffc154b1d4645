"""What is displayed: from IPython's MIME bundles to the parts of a result.

IPython formats an object by every formatter that there is; added to its own are those of lists and dicts
(application/json), data frames (e2b/data) and figures (e2b/chart), whose work is in ../hotcell_*.py.
"""
import sys
from base64 import b64encode
from json import JSONEncoder

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.formatters import BaseFormatter, JSONFormatter
from traitlets import ObjectName, Unicode

from .protocol import utf8

HELD_MAX = 8 << 20  # INTERPRETER_JSON_MAX: what the receiver must hold whole
TYPE_MAX = 120
QUOTES = ("'", '"')
# Passed on as it comes, of any size.
STREAMED = frozenset(["text/plain", "text/html", "text/markdown", "text/latex", "image/svg+xml", "image/png",
                      "image/jpeg", "application/pdf", "application/javascript"])
BASE64_TYPES = frozenset(["image/png", "image/jpeg", "application/pdf"])
JSON_TYPES = frozenset(["application/json", "e2b/data", "e2b/chart"])

_json = JSONEncoder(allow_nan=False).encode


def _content(type, value):
    if type in JSON_TYPES or type.endswith("+json"):
        return _json(value).encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b64encode(value)
    if not isinstance(value, str):
        return _json(value).encode()
    if type in BASE64_TYPES:
        return "".join(value.split()).encode("ascii")
    if type == "text/plain" and len(value) >= 2 and value[0] in QUOTES and value[0] == value[-1]:
        value = value[1:-1]
    return utf8(value)


def _parts(bundle):
    """MIME type to bytes. What cannot be sent is left out: the other representations are still good."""
    parts = {}
    for type, value in bundle.items():
        try:
            type = "".join(str(type).split())
            content = _content(type, value)
        except (TypeError, ValueError, RecursionError):
            continue
        if type and len(type) <= TYPE_MAX and type.isascii() and type.isprintable() and \
                (type in STREAMED or len(content) <= HELD_MAX):
            parts.setdefault(type, content)
    return parts


class Results:
    """Sends what is displayed, behind what was printed before."""

    def __init__(self, channel, streams):
        self.channel = channel
        self.streams = streams
        self.updates = {}

    def send(self, kind, bundle):
        for stream in self.streams:
            stream.flush()
        parts = _parts(bundle)
        if parts:
            self.channel.result(kind, parts)

    def update(self, id, bundle):
        """A display that changes again and again is one result more: its last state."""
        self.updates[id] = bundle

    def finish(self):
        updates, self.updates = self.updates, {}
        for bundle in updates.values():
            self.send("display", bundle)


class Hook(DisplayHook):
    """sys.displayhook: the value of the last expression."""

    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        self.shell.results.send("main", format_dict)

    def finish_displayhook(self):
        pass


class Publisher(DisplayPublisher):
    """display() and everything that uses it."""

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **unused):
        id = (transient or {}).get("display_id")
        if update and id is not None:
            self.shell.results.update(id, data)
        else:
            self.shell.results.send("display", data)

    def clear_output(self, wait=False):
        pass  # what was sent is sent


class DataFormatter(BaseFormatter):
    format_type = Unicode("e2b/data")
    print_method = ObjectName("_repr_e2b_data_")
    _return_type = (dict, str)

    def __call__(self, obj):
        pandas = sys.modules.get("pandas")
        if pandas is None or not isinstance(obj, getattr(pandas, "DataFrame", ())):
            return super().__call__(obj)
        try:
            from hotcell_data import frame_data
            return frame_data(obj)
        except Exception:
            return None


class ChartFormatter(BaseFormatter):
    format_type = Unicode("e2b/chart")
    print_method = ObjectName("_repr_e2b_chart_")
    _return_type = (dict, str)

    def __call__(self, obj):
        figure = sys.modules.get("matplotlib.figure")
        if figure is None or not isinstance(obj, getattr(figure, "Figure", ())):
            return super().__call__(obj)
        try:
            from hotcell_charts import chart_of
            return chart_of(obj)
        except Exception:
            return {}


class ValueFormatter(JSONFormatter):
    """Lists and dicts as JSON, if they can be."""

    def __call__(self, obj):
        if isinstance(obj, (list, dict)):
            try:
                from hotcell_data import json_of
                return json_of(obj)
            except Exception:
                return None
        return super().__call__(obj)


def add_formatters(display_formatter):
    formatters = display_formatter.formatters
    formatters["application/json"] = ValueFormatter(parent=display_formatter)
    formatters["e2b/data"] = DataFormatter(parent=display_formatter)
    formatters["e2b/chart"] = ChartFormatter(parent=display_formatter)
