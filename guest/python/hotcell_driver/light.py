"""Imports IPython without what a context hardly needs: most of the time to start is the import of such modules.

While IPython is imported, the modules of DEFERRED are stand-ins. IPython's modules keep them; a use of one imports the
real module then. Afterwards the stand-ins are gone from sys.modules, so that user code imports the real ones. A version
of IPython that uses one of them while it is imported gets the real one at once: it only starts slower.
"""
import importlib
import sys
import types

# Module: the names that are imported from it; they stand in for functions and classes that are called.
DEFERRED = {
    "IPython.terminal.embed": ("embed",),  # the terminal's shell, with all of prompt_toolkit
    "IPython.core.debugger": ("InterruptiblePdb", "Pdb"),
    "asyncio": (),
    "hashlib": (),
    "logging.config": ("dictConfig",),
    "pexpect": (),
    "pickleshare": ("PickleShareDB",),
    "pydoc": (),
    "pygments": ("highlight",),
    "pygments.formatters": ("HtmlFormatter",),
    "pygments.formatters.terminal256": ("Terminal256Formatter",),
    "pygments.lexers": ("PythonLexer",),
    "pygments.styles": ("get_style_by_name",),
    "sqlite3": (),
    "stack_data": (),
}


def _real(module):
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
    return importlib.import_module(module.__name__)


class _Name:
    """Stands in for a function or class."""

    def __init__(self, module, name):
        self._module = module
        self._name = name

    def __call__(self, *arguments, **named):
        return getattr(_real(self._module), self._name)(*arguments, **named)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(getattr(_real(self._module), self._name), name)


class _Module(types.ModuleType):
    def __init__(self, name, names):
        super().__init__(name)
        self.__dict__.update((n, _Name(self, n)) for n in names)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_real(self), name)


def import_ipython():
    """Afterwards IPython.core.interactiveshell is there."""
    stand_ins = {name: _Module(name, names) for name, names in DEFERRED.items() if name not in sys.modules}
    terminal = "IPython.terminal" not in sys.modules
    sys.modules.update(stand_ins)
    if terminal:
        sys.modules["IPython.terminal"] = types.ModuleType("IPython.terminal")
    try:
        import IPython.core.interactiveshell  # noqa: F401
    finally:
        for name, module in stand_ins.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
        if terminal:
            sys.modules.pop("IPython.terminal", None)
            getattr(sys.modules.get("IPython"), "__dict__", {}).pop("terminal", None)
