"""Edits that are easily missed, and edits that move nothing, for `test_unusual.py`."""

from tests.guarantees.test_identity import HELPER, TWO, Case, beside, held, one, trial

REGISTERED = "class One(base.B):\n    def v(self):\n        return 2.0\n"

HOLES: dict[str, Case] = {
    "arguments of a script": held(
        "import argparse\nP = argparse.ArgumentParser()\nP.add_argument('--c', type=float)\n"
        "ARGS = P.parse_args(['--c', '2.0'])", "ARGS.c"),
    "a read-only table": held(
        "from types import MappingProxyType\nM = MappingProxyType({'c': 2.0})", "M['c']"),
    "the values of a table": held("V = {'c': 2.0}.values()", "list(V)[0]"),
    "memory": held("import numpy as np\nM = memoryview(np.array([2.0]))", "M[0]"),
    "a text in memory": held("import io\nF = io.StringIO('2.0')", "float(F.getvalue())"),
    "a weak reference": held(
        "import weakref\nclass C:\n    c = None\nC0 = C()\nC0.c = 2.0\n"
        "W = weakref.ref(C0)", "W().c"),
    "a weak table": held(
        "import weakref\nclass C:\n    pass\nC0 = C()\nC0.c = 2.0\n"
        "W = weakref.WeakValueDictionary(c=C0)", "W['c'].c"),
    "what one thread has": held(
        "import threading\nL = threading.local()\nL.c = 2.0", "L.c"),
    "a class of what each thread has": held(
        "import threading\nclass L(threading.local):\n    c = 2.0\nT = L()", "T.c"),
    "a class of executors": held(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "class P(ThreadPoolExecutor):\n    c = 2.0\nA = P(1)", "A.c"),
    "a class of loggers": held(
        "import logging\nclass L(logging.Logger):\n    c = 2.0\nLOG = L('mine')", "LOG.c"),
    "the default of a context variable": held(
        "from contextvars import ContextVar\nV = ContextVar('v', default=2.0)", "V.get()"),
    "a metaclass that has every name": held(
        "class M(type):\n    def __getattr__(cls, name):\n        return 2.0\n"
        "class C(metaclass=M):\n    pass", "C.c"),
    "the context of a logger": held(
        "import logging\nLOG = logging.LoggerAdapter(logging.getLogger('mine'), {'c': 2.0})",
        "LOG.extra['c']"),
    "a registered class": one(
        "from abc import ABC\nclass A(ABC):\n    pass\nclass P:\n    pass\nclass Q:\n    pass\n"
        "A.register(P)", "x.mean(axis=1) * (2.0 if isinstance(Q(), A) else 1.0)",
        "register(P)", "register(Q)"),
    "a class that registers itself": (
        {"trial.py": trial("import base, plugin", "x.mean(axis=1) * base.R['One']().v()"),
         "base.py": "R = {}\nclass B:\n    def __init_subclass__(cls, **k):\n"
                    "        R[cls.__name__] = cls\n",
         "plugin.py": "import base\n" + REGISTERED},
        {"plugin.py": "import base\n" + REGISTERED.replace("2.0", "3.0")}),
    "a class that a method registers": (
        {"trial.py": trial("import base, plugin", "x.mean(axis=1) * base.Reg.known['One']().v()"),
         "base.py": "class Reg:\n    known = {}\n    @classmethod\n    def add(cls, kind):\n"
                    "        cls.known[kind.__name__] = kind\n        return kind\n",
         "plugin.py": "import base\n@base.Reg.add\n" + REGISTERED.replace("(base.B)", "")},
        {"plugin.py": "import base\n@base.Reg.add\n" + REGISTERED.replace("(base.B)", "").replace(
            "2.0", "3.0")}),
    "warnings that are errors": one(
        "import warnings as w\nw.simplefilter('ignore', RuntimeWarning)\ndef f(x):\n    try:\n"
        "        w.warn('odd', RuntimeWarning)\n    except RuntimeWarning:\n"
        "        return 2.0 * x\n"
        "    return x", "f(x.mean(axis=1))", "'ignore'", "'error'"),
    "warnings of one kind that are errors": one(
        "from warnings import filterwarnings, warn\nfilterwarnings('ignore', 'odd')\n"
        "def f(x):\n    try:\n        warn('odd')\n    except UserWarning:\n"
        "        return 2.0 * x\n    return x", "f(x.mean(axis=1))", "'ignore'", "'error'"),
    "numbers that are errors": one(
        "import numpy as np\nnp.seterr(over='ignore')\ndef f(x):\n    try:\n"
        "        np.float64(1e308) * 10\n    except FloatingPointError:\n        return 2.0 * x\n"
        "    return x", "f(x.mean(axis=1))", "'ignore'", "'raise'"),
    "a docstring that code reads": one(
        "def h():\n    '''2.0'''", "x.mean(axis=1) * float(h.__doc__)", "'''2.0'''", "'''3.0'''"),
    "an annotation that code reads": one(
        "def h(c: 2.0):\n    pass", "x.mean(axis=1) * h.__annotations__['c']", "c: 2.0", "c: 3.0"),
    "the text of an error that is caught": one(
        "def h():\n    raise ValueError('singular')\ndef f(x):\n    try:\n        h()\n"
        "    except ValueError as e:\n        return len(str(e)) * x", "f(x.mean(axis=1))",
        "'singular'", "'not definite'"),
    "a table in machine code": held(
        "import numba\nD = numba.typed.Dict()\nD['c'] = 2.0", "D['c']"),
    "a default of a made class": held(
        "from dataclasses import make_dataclass\nP = make_dataclass('P', [('c', float, 2.0)])",
        "P().c"),
    "a variable with a composed name": held(
        "import os\nos.environ.setdefault('MINE_C', '2.0')\nPREFIX = 'MINE'",
        "float(os.environ[PREFIX + '_C'])"),
    "an object without a state for pickle": held(
        "class C:\n    __getstate__ = None\n    def __init__(self, c):\n        self.c = c\n"
        "C0 = C(2.0)", "C0.c"),
    "an object that has no content for Python": held(
        "import operator\nG = operator.itemgetter(1)", "G([2.0, 2.0, 3.0])",
        "itemgetter(1)", "itemgetter(2)"),
    "an endless iterator": held(
        "import itertools\nC = itertools.cycle([2.0])", "next(C)"),
    "a module with an answer to everything": (
        {"trial.py": trial("import odd, sys\nsys.modules['odd'] = odd", "x.mean(axis=1) * odd.f()"),
         "odd.py": "def __getattr__(name):\n    return 1\ndef f():\n    return 2.0\n"},
        {"odd.py": "def __getattr__(name):\n    return 1\ndef f():\n    return 3.0\n"}),
    "code behind an entry point": (
        {"trial.py": trial(
            "import sys\nfrom importlib.metadata import entry_points\ndef load():\n"
            "    return next(iter(entry_points(group='mine.laws'))).load()",
            "x.mean(axis=1) * load()()"),
         "plug.py": "def f():\n    return 2.0\n",
         "plug-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: plug\nVersion: 1\n",
         "plug-1.dist-info/entry_points.txt": "[mine.laws]\none = plug:f\n"},
        {"plug.py": "def f():\n    return 3.0\n"}),
}  # fmt: skip

HIDDEN: dict[str, Case] = {
    "a helper of a helper, by a table of a class": beside(
        "import helper\nclass T:\n    by = {'f': [helper.mul]}", "T.by['f'][0](x[:, 0])",
        "helper", "2.0", "3.0", helper=HELPER),
    "a constant of an inner function": held(
        "def f():\n    def g():\n        return 2.0\n    return g()", "f()"),
    "a condition of a comprehension": held(
        "V = (1.0, 2.0, 3.0)\ndef f():\n    return sum(v for v in V if v > 2.0)", "f()",
        "v > 2.0", "v > 1.0"),
    "a slice": held("V = (2.0, 3.0, 4.0)\ndef f():\n    return V[:2][-1]", "f()", "[:2]", "[:3]"),
    "a format": held("def f():\n    return float(f'{1.26:.1f}')", "f()", ":.1f", ":.2f"),
    "a match": held(
        "def f(k):\n    match k:\n        case 3:\n            return 2.0\n    return 1.0",
        "f(3)", "case 3", "case 4"),
    "an exception that is caught": held(
        "def f():\n    try:\n        return {}['a']\n    except KeyError:\n"
        "        return 2.0", "f()"),
    "what finally returns": held(
        "def f():\n    try:\n        pass\n    finally:\n        return 2.0", "f()"),
    "a global that another function sets": beside(
        "import helper", "x.mean(axis=1) * helper.get()", "helper", "2.0", "3.0",
        helper="C = None\ndef set_up():\n    global C\n    C = 2.0\ndef get():\n"
               "    set_up()\n    return C\n"),
    "a property of a base of a base": beside(
        "import helper\nclass B(helper.A):\n    pass\nclass C(B):\n    pass",
        "x.mean(axis=1) * C().c",
        "helper", "2.0", "3.0",
        helper="class A:\n    @property\n    def c(self):\n        return 2.0\n"),
    "a mixin": one(
        "class M:\n    def c(self):\n        return 2.0\nclass A:\n    def c(self):\n"
        "        return 1.0\nclass P(M, A):\n    pass", "x.mean(axis=1) * P().c()",
        "P(M, A)", "P(A, M)"),
    "an operator of a class": held(
        "class P:\n    def __rmul__(self, o):\n        return o * 2.0\nP0 = P()",
        "(1.0 * P0)"),
    "an item of a class": held(
        "class P:\n    def __class_getitem__(cls, k):\n        return 2.0", "P[1]"),
    "an attribute that is missing": held(
        "class P:\n    def __getattr__(self, n):\n        return 2.0", "P().anything"),
    "a context": held(
        "from contextlib import contextmanager\n@contextmanager\ndef c():\n    yield 2.0\n"
        "def f():\n    with c() as v:\n        return v", "f()"),
    "a method that is bound": held(
        "class P:\n    def __init__(self, c):\n        self.c = c\n    def g(self):\n"
        "        return self.c\nf = P(2.0).g", "f()"),
    "an item getter": held(
        "from operator import attrgetter\nclass P:\n    a, b = 2.0, 3.0\nG = attrgetter('a')",
        "G(P)", "attrgetter('a')", "attrgetter('b')"),
    "a chain of tables": held(
        "from collections import ChainMap\nC = ChainMap({'c': 2.0}, {'c': 1.0})", "C['c']"),
    "a counter": held("from collections import Counter\nC = Counter(a=2)", "C['a']", "a=2", "a=3"),
    "an ordered table": held(
        "from collections import OrderedDict\nC = OrderedDict(a=2.0, b=3.0)",
        "next(iter(C.values()))", "a=2.0, b=3.0", "b=3.0, a=2.0"),
    "a kind of queue": held(
        "from collections import deque\nclass Q(deque):\n    note = 1\nC = Q([2.0])\nC.more = 1",
        "C[0]"),
    "numbers in an array of the standard library": held(
        "from array import array\nA = array('d', [2.0])", "A[0]"),
    "a date": held("from datetime import date\nD = date(2020, 1, 2)", "D.day", "1, 2)", "1, 3)"),
    "a decimal number": held("from decimal import Decimal\nD = Decimal('2.0')", "float(D)"),
    "a masked array": held(
        "import numpy as np\nA = np.ma.array([2.0, 3.0], mask=[0, 1])", "float(A.sum())",
        "mask=[0, 1]", "mask=[1, 0]"),
    "a matrix of SciPy": held(
        "from scipy import sparse\nS = sparse.csr_matrix([[2.0]])", "S.toarray()[0, 0]"),
    "a spline": held(
        "from scipy.interpolate import CubicSpline\nS = CubicSpline([0, 1, 2], [0, 2.0, 5])",
        "float(S(1))"),
    "a fitted estimator": held(
        "from sklearn.linear_model import LinearRegression as L\n"
        "E = L().fit([[1.0], [2.0]], [1.0, 2.0])", "E.predict([[3.0]])[0]",
        "[1.0, 2.0])", "[1.0, 3.0])"),
    "a polynomial": held("import numpy as np\nP = np.poly1d([2.0, 0.0])", "P(1.0)"),
    "an enum's order": one(
        "import enum\nclass K(enum.Enum):\n    A = enum.auto()\n    B = enum.auto()",
        "x.mean(axis=1) * K.A.value", "A = enum.auto()\n    B", "B = enum.auto()\n    A"),
    "a flag": held(
        "import enum\nclass K(enum.Flag):\n    A = 1\n    B = 2\nF = K.A | K.B", "F.value",
        "K.A | K.B", "K.B"),
    "a typed table": held(
        "from typing import TypedDict\nclass T(TypedDict):\n    c: float\nC: T = {'c': 2.0}",
        "C['c']"),
    "a generic class": held(
        "from typing import Generic, TypeVar\nV = TypeVar('V')\nclass B(Generic[V]):\n"
        "    c = 2.0\nclass P(B[int]):\n    pass", "P.c"),
    "a protocol's default": held(
        "from typing import Protocol\nclass B(Protocol):\n    def c(self):\n        return 2.0\n"
        "class P(B):\n    pass", "P().c()"),
    "what __set_name__ keeps": held(
        "class D:\n    def __set_name__(self, owner, name):\n        owner.c = 2.0\nclass P:\n"
        "    d = D()", "P.c"),
    "a metaclass's call": held(
        "class M(type):\n    def __call__(cls):\n        return 2.0\n"
        "class P(metaclass=M):\n    pass", "P()"),
    "an import with another name inside a branch": one(
        "try:\n    import none_such as lib\nexcept ImportError:\n    import first as lib",
        "lib.gen(x)", "import first", "import second", first=TWO,
        second="def gen(x):\n    return x.max(axis=1)\n"),
    "a module's list of names": (
        {"trial.py": trial("from pack import *", "gen(x)"),
         "pack.py": "from first import gen\n__all__ = ['gen']\n", "first.py": TWO},
        {"first.py": TWO.replace("mean", "max")}),
    "a relative import inside a function": (
        {"trial.py": trial("from p.c import gen", "gen(x)"), "p/__init__.py": "",
         "p/c.py": "def gen(x):\n    from . import a\n    return a.gen(x)\n", "p/a.py": TWO},
        {"p/a.py": TWO.replace("mean", "max")}),
    "the limit of recursion": held(
        "import sys\nsys.setrecursionlimit(2000)\ndef f():\n    return sys.getrecursionlimit()",
        "f()", "2000", "3000"),
    "a seed at the top": held(
        "import numpy as np\nnp.random.seed(1)\ndef f():\n"
        "    return np.random.get_state()[1][0]", "(1.0 + float(f()))", "seed(1)", "seed(2)"),
    "an attribute that a module sets on a library": held(
        "import scipy\nscipy.mine = 2.0", "scipy.mine"),
}  # fmt: skip

STUDY = '''
"""Which mean?"""
import warnings
import logging
import numpy as np
import matplotlib
from dataclasses import dataclass
from simstudy import Study
from simstudy.measures import mean
import helpers
from helpers import scaled, LIMIT

LOG = logging.getLogger(__name__)
COLORS = {"a": "red"}
TABLE = {"a": 1.0, "b": 2.0}
matplotlib.use("agg")
warnings.filterwarnings("ignore", "mine")


@dataclass(frozen=True)
class Trial:
    """One trial."""

    n_obs: int = 3

    @property
    def truth(self):
        return 0.0

    def exact(self):
        return {"mean_x": 0.0}

    def simulate(self, streams, n_rep):
        """Draw."""
        x = streams("data").standard_normal((n_rep, self.n_obs))
        if n_rep < 0:
            raise ValueError("no replicates")
        assert n_rep > 0, "none"
        return {"x": scaled(x) * TABLE["a"] + LIMIT}


def figure(result):
    return COLORS


def study():
    return Study("mine", [Trial()], [mean("x")], block_size=20)


if __name__ == "__main__":
    print(study().run(40).summary)
'''
STUDY_HELPERS = '''
"""Helpers."""
import json

LIMIT = 1.0
OTHER = 2.0


def scaled(x: object) -> object:
    """Scale."""
    total = x.sum(axis=1)
    return total / 3


def unused(x):
    return x
'''

HARMLESS: dict[str, tuple[str, str, str, list[str]]] = {
    "a number's form": ("helpers.py", "LIMIT = 1.0", "LIMIT = 1.00", []),
    "a docstring of a method": ("trial.py", '"""Draw."""', '"""Draw x."""', []),
    "a docstring of a module": ("trial.py", '"""Which mean?"""', '"""Which?"""', []),
    "a docstring less": ("helpers.py", '    """Scale."""\n', "", []),
    "an annotation": ("helpers.py", "x: object", "x: list", []),
    "an annotation of a field": ("trial.py", "n_obs: int", "n_obs: float", []),
    "an annotation of a local": ("helpers.py", "total =", "total: float =", []),
    "a figure's constant": ("trial.py", '"red"', '"blue"', []),
    "an unused helper": ("helpers.py", "    return x\n", "    return -x\n", []),
    "a helper more": ("helpers.py", "def unused", "def more(x):\n    return x\n\n\ndef unused", []),
    "a helper less": ("helpers.py", "def unused(x):\n    return x\n", "", []),
    "an unused import": ("helpers.py", "import json", "import csv", []),
    "the order of definitions": (
        "helpers.py", "LIMIT = 1.0\nOTHER = 2.0", "OTHER = 2.0\nLIMIT = 1.0", []),
    "the number of replicates": ("trial.py", "run(40)", "run(400)", []),
    "a table that a cell shows": ("trial.py", "COLORS =", "np.median([1, 2])\nCOLORS =", []),
    "how numbers are printed": (
        "trial.py", "COLORS =", "np.set_printoptions(precision=3)\nCOLORS =", []),
    "a message of a logger": (
        "trial.py", "        x = str", "        LOG.info('x')\n        x = str",
        ["LOG", "Trial.simulate"]),
    "the text of an assertion": ("trial.py", '"none"', '"no"', ["Trial.simulate"]),
    "a local's name": ("helpers.py", "total", "s", ["helpers.scaled"]),
    "another way to write it": ("helpers.py", "total / 3", "total * (1 / 3)", ["helpers.scaled"]),
    "another entry of a table": ("trial.py", '"b": 2.0', '"b": 3.0', ["TABLE"]),
    "a moved helper": (
        "trial.py", "from helpers import scaled, LIMIT",
        "from helpers import LIMIT\ndef scaled(x):\n"
        "    total = x.sum(axis=1)\n    return total / 3",
        ["Trial.simulate", "helpers.scaled", "scaled"]),
}  # fmt: skip
"""File, old and new text, and the entries that change: each costs the blocks of this study."""
