import importlib
import sys

from simstudy.provenance.fingerprint import Fingerprint, trace
from simstudy.provenance.modules import forget_modules


def fingerprint(parts) -> Fingerprint:
    """Of the code of some classes, functions or scenarios."""
    return trace([parts])[0].fingerprint


def forget(*packages):
    """As a new process: nothing of the modules is remembered."""
    for name in [name for name in sys.modules if name.split(".")[0] in packages]:
        del sys.modules[name]
    importlib.invalidate_caches()
    forget_modules()
