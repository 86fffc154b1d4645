"""Parts of IPython's shell that are made when they are first used, or kept in memory instead of in files."""
import os
from itertools import count

from IPython.core import interactiveshell
from IPython.core.compilerop import CachingCompiler
from IPython.core.history import HistoryManager
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.profiledir import ProfileDir
from traitlets import default, observe

# What may be typed without "%": asking for one of these loads the magics. tests/interpreter/python_shell.py checks that
# none is missing.
AUTOMAGIC = frozenset("""
alias alias_magic autoawait autocall autoindent automagic bookmark cat cd clear colors conda config cp cpaste debug dhist
dirs doctest_mode ed edit env gui hist history killbgscripts ldir less lf lk ll load load_ext loadpy logoff logon logstart
logstate logstop ls lsmagic lx macro magic man matplotlib mkdir more mv notebook page paste pastebin pdb pdef pdoc pfile
pinfo pinfo2 pip popd pprint precision prun psearch psource pushd pwd pycat pylab quickref recall rehashx reload_ext rep
rerun reset reset_selective rm rmdir run save sc set_env store sx system tb time timeit unalias unload_ext who who_ls whos
xdel xmode ! !! SVG HTML html bash capture file javascript js latex markdown perl pypy python python2 python3 ruby script
sh svg writefile code_wrap mamba micromamba uv subshell
""".split())


class Compiler(CachingCompiler):
    """Names cells without hashing them, which would load OpenSSL. No two cells have the same name."""
    _serial = count(1)

    def get_code_name(self, raw_code, transformed_code, number):
        return f"<ipython-input-{number}-{next(self._serial)}>"


class History(HistoryManager):
    """In memory only."""
    enabled = False

    @observe("db")
    def _db_changed(self, change):
        pass  # the original asks whether it is SQLite's


class Profile(ProfileDir):
    """A folder that is not made before something is stored in it."""

    @observe("location")
    def _location_changed(self, change):
        pass


class Storage:
    """The shell's `db`, for %store, %bookmark and %cd: in memory until one of its files is there or needed."""

    def __init__(self, folder):
        self._folder = folder
        self._memory = {}

    def _files(self):
        if self._folder is not None:
            try:
                from pickleshare import PickleShareDB
                os.makedirs(self._folder, exist_ok=True)
                self._memory, self._folder = PickleShareDB(self._folder), None
            except (ImportError, OSError):
                self._folder = None
        return self._memory

    def __setitem__(self, key, value):
        if key == "dhist":
            self.__dict__[key] = value  # where %cd has been is for this context only
        else:
            self._files()[key] = value

    def __getitem__(self, key):
        if key == "dhist" and key in self.__dict__:
            return self.__dict__[key]
        return self._files()[key]

    def get(self, key, default=None):
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key):
        return self.get(key, self) is not self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._files(), name)

    def __delitem__(self, key):
        del self._files()[key]

    def __iter__(self):
        return iter(self._files())


if hasattr(interactiveshell, "PickleShareDB"):
    interactiveshell.PickleShareDB = Storage


class LazyShell(InteractiveShell):
    """Magics, aliases and the completer come with their first use."""
    _loaded = False

    def __getattr__(self, name):
        if name == "register_magics" and not self._loaded:
            self._load_magics()
        elif name == "Completer":
            super().init_completer()
        else:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return self.__dict__[name]

    def init_magics(self):
        pass

    def init_alias(self):
        pass

    def init_completer(self):
        pass

    def _load_magics(self):
        self._loaded = True
        super().init_magics()
        super().init_alias()
        self.magics_manager.lazy_magics["store"] = "storemagic"

    @default("magics_manager")
    def _magics_manager(self):
        self._load_magics()
        return self.magics_manager

    @default("alias_manager")
    def _alias_manager(self):
        self._load_magics()
        return self.alias_manager

    def find_magic(self, magic_name, magic_kind="line"):
        """Asked of every word that stands alone in front of something."""
        if not self._loaded and magic_name not in AUTOMAGIC:
            return None
        return super().find_magic(magic_name, magic_kind)

    def init_ipython_dir(self, ipython_dir):
        self.ipython_dir = os.environ.get("IPYTHONDIR") or os.path.join(os.path.expanduser("~"), ".ipython")

    @observe("ipython_dir")
    def _ipython_dir_changed(self, change):
        pass

    def init_profile_dir(self, profile_dir):
        self.profile_dir = Profile(parent=self, location=os.path.join(self.ipython_dir, "profile_default"))

    def init_history(self):
        self.history_manager = History(shell=self, parent=self)
        self.configurables.append(self.history_manager)
