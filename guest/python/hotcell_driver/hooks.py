"""What is done to modules of others when user code imports them: images are results, passwords cannot be asked for."""
import sys
from importlib.machinery import PathFinder
from os import PathLike


def _pil_image(module):
    """image.save(path) displays the image, too, unless it is a figure, which is displayed itself."""
    from IPython.display import display
    original = module.Image.save

    def save(self, fp, format=None, **options):
        original(self, fp, format, **options)
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if isinstance(fp, (str, PathLike)) and not caller.startswith("matplotlib."):
            display(self)
    save.__doc__, save.__wrapped__ = original.__doc__, original
    module.Image.save = save


def _pil_show(module):
    """image.show() displays it; there is no screen."""
    from IPython.display import display

    class Viewer(module.Viewer):
        def show(self, image, **options):
            display(image)
            return True
    module.register(Viewer, 0)


def _getpass(module):
    from .shell import no_input
    module.getpass = no_input


HOOKS = {"PIL.Image": _pil_image, "PIL.ImageShow": _pil_show, "getpass": _getpass}


class _Loader:
    """The module's own loader, and then the hook."""

    def __init__(self, loader, hook):
        self._loader = loader
        self._hook = hook

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        try:
            self._hook(module)
        except Exception:  # another version of it: it works as it is
            pass

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        hook = HOOKS.get(name)
        spec = PathFinder.find_spec(name, path, target) if hook else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, hook)
        return spec


def install():
    sys.meta_path.insert(0, _Finder)
    for name, hook in HOOKS.items():
        if name in sys.modules:
            hook(sys.modules[name])
