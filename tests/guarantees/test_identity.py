"""Whose number is it? Whatever moves a study's numbers is seen: nothing stored passes as fresh.

Each case is a project of a few files, run, changed, and run again in a new process on the same
folder. Then either the run is refused, or its numbers are those of a fresh folder. The table of
changes is the promise; `test_everyday.py` and `test_unusual.py` have those that move nothing.
"""

import textwrap
from pathlib import Path

import pytest

from tests.guarantees.content import slow_but

Files = dict[str, str]

TRIAL = """
from dataclasses import dataclass
from simstudy import Study
from simstudy.measures import mean
{imports}

@dataclass(frozen=True)
class Trial:
    n_obs: int = 3

    def simulate(self, streams, n_rep):
        x = streams("data").standard_normal((n_rep, self.n_obs))
        return {{"x": {value}}}

def study():
    return Study("mine", [Trial()], [mean("x")], block_size=20)
"""


def trial(imports: str, value: str) -> str:
    return TRIAL.format(imports=textwrap.dedent(imports), value=value)


def write(folder: Path, files: Files) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(textwrap.dedent(text))
    return folder


HELPERS = """
def gen_a(x):
    return x.mean(axis=1)

def gen_b(x):
    return x.max(axis=1)
"""
TWO = "def gen(x):\n    return x.mean(axis=1)\n"
OTHER = "def gen(x):\n    return x.max(axis=1)\n"

Case = tuple[Files, Files]


def swap(files: Files, name: str, old: str, new: str) -> Case:
    assert old in files[name], (old, files[name])
    return files, {name: files[name].replace(old, new)}


def one(imports: str, value: str, old: str, new: str, **more: str) -> Case:
    files = {"trial.py": trial(imports, value)} | {f"{k}.py": v for k, v in more.items()}
    return swap(files, "trial.py", old, new)


def beside(imports: str, value: str, other: str, old: str, new: str, **more: str) -> Case:
    files = {"trial.py": trial(imports, value)} | {f"{k}.py": v for k, v in more.items()}
    return swap(files, f"{other}.py", old, new)


IMPORTS: dict[str, Case] = {
    "another function under the same name": one(
        "from helpers import gen_a as gen", "gen(x)", "gen_a as gen", "gen_b as gen",
        helpers=HELPERS),
    "two names exchanged": one(
        "from helpers import gen_a as a, gen_b as b", "a(x) - 2 * b(x)",
        "gen_a as a, gen_b as b", "gen_b as a, gen_a as b", helpers=HELPERS),
    "another function of a library": one(
        "from numpy import mean as f", "f(x, axis=1)", "mean as f", "median as f"),
    "another library module": one(
        "from scipy import special as s", "s.expit(x).mean(axis=1)",
        "from scipy import special as s", "from lib import s",
        lib="class s:\n    @staticmethod\n    def expit(x):\n        return x ** 2\n"),
    "another module of the same names": one(
        "from first import gen", "gen(x)", "from first", "from second", first=TWO, second=OTHER),
    "a module under another's name": one(
        "import first as lib", "lib.gen(x)", "first as lib", "second as lib",
        first=TWO, second=OTHER),
    "a star import": beside(
        "from helpers import *", "gen_a(x)", "helpers", "x.mean", "x.min", helpers=HELPERS),
    "another star import": one(
        "from first import *", "gen(x)", "from first", "from second", first=TWO, second=OTHER),
    "a package's modules": (
        {"trial.py": trial("import p.a, p.b", "p.a.gen(x) + p.b.gen(x)"), "p/__init__.py": "",
         "p/a.py": TWO, "p/b.py": TWO}, {"p/b.py": OTHER}),
    "a re-export": (
        {"trial.py": trial("from p import gen", "gen(x)"), "p/__init__.py": "from p.a import gen\n",
         "p/a.py": TWO, "p/b.py": OTHER}, {"p/__init__.py": "from p.b import gen\n"}),
    "what a package's module re-exports": (
        {"trial.py": trial("import p", "p.gen(x)"), "p/__init__.py": "from .a import gen\n",
         "p/a.py": TWO}, {"p/a.py": OTHER}),
    "a relative import inside a package": (
        {"trial.py": trial("from p.c import gen", "gen(x)"), "p/__init__.py": "",
         "p/c.py": "from .a import gen\n", "p/a.py": TWO, "p/b.py": OTHER},
        {"p/c.py": "from .b import gen\n"}),
    "a package without __init__": (
        {"trial.py": trial("from p.a import gen", "gen(x)"), "p/a.py": TWO}, {"p/a.py": OTHER}),
    "an import inside a function": beside(
        "def late(x):\n    from helpers import gen_a\n    return gen_a(x)", "late(x)",
        "helpers", "x.mean", "x.min", helpers=HELPERS),
    "another import inside a function": one(
        "def late(x):\n    from helpers import gen_a as g\n    return g(x)", "late(x)",
        "gen_a as g", "gen_b as g", helpers=HELPERS),
    "a module imported inside a function": beside(
        "def late(x):\n    import helpers\n    return helpers.gen_a(x)", "late(x)",
        "helpers", "x.mean", "x.min", helpers=HELPERS),
    "a module found by its name": beside(
        "import importlib", "importlib.import_module('helpers').gen_a(x)",
        "helpers", "x.mean", "x.min", helpers=HELPERS),
    "a module found by a composed name": beside(
        "import importlib\nKIND = 'a'", "importlib.import_module('gen_' + KIND).gen(x)",
        "gen_a", "x.mean", "x.min", gen_a=TWO),
    "a module handed on": beside(
        "import helpers\ndef apply(lib, x):\n    return lib.gen_a(x)", "apply(helpers, x)",
        "helpers", "x.mean", "x.min", helpers=HELPERS),
    "a name looked up in a module": beside(
        "import helpers", "getattr(helpers, 'gen_' + 'a')(x)",
        "helpers", "x.mean", "x.min", helpers=HELPERS),
    "a module that has a standard library's name": beside(
        "import colorsys", "colorsys.gen(x)", "colorsys", "x.mean", "x.min", colorsys=TWO),
    "a function that a helper of a helper uses": beside(
        "from near import gen", "gen(x)", "far", "x.mean", "x.min",
        near="import far\ndef gen(x):\n    return far.gen(x)\n", far=TWO),
    "a moved and changed class": (
        {"trial.py": trial("from parts import Gen", "Gen().gen(x)"),
         "parts.py": "class Gen:\n    def gen(self, x):\n        return x.mean(axis=1)\n"},
        {"trial.py": trial("from other import Gen", "Gen().gen(x)"),
         "other.py": "class Gen:\n    def gen(self, x):\n        return x.min(axis=1)\n"}),
}  # fmt: skip

AT_IMPORT: dict[str, Case] = {
    "a branch of a condition": one(
        "import sys\nif sys.maxsize > 9:\n    C = 1.0\nelse:\n    C = 2.0", "x.mean(axis=1) * C",
        "C = 1.0", "C = 3.0"),
    "a condition": one(
        "FLAG = True\nif FLAG:\n    C = 1.0\nelse:\n    C = 2.0", "x.mean(axis=1) * C",
        "FLAG = True", "FLAG = False"),
    "a loop that fills a table": one(
        "T = {}\nfor k in range(3):\n    T[k] = k + 1.0", "x.mean(axis=1) * T[2]",
        "k + 1.0", "k + 2.0"),
    "a table that is updated": one(
        "T = {'a': 1.0}\nT.update(a=2.0)", "x.mean(axis=1) * T['a']", "a=2.0", "a=3.0"),
    "a table that a function fills at import": one(
        "T = {}\ndef fill(v):\n    T['a'] = v\nfill(2.0)", "x.mean(axis=1) * T['a']",
        "fill(2.0)", "fill(3.0)"),
    "a registry": one(
        "R = {}\ndef register(f):\n    R[f.__name__] = f\n    return f\n"
        "@register\ndef gen(x):\n    return x.mean(axis=1)\n", "R['gen'](x)", "x.mean", "x.min"),
    "which function a registry holds": one(
        "R = {}\ndef register(name):\n    def add(f):\n        R[name] = f\n        return f\n"
        "    return add\n@register('a')\ndef f(x):\n    return x.mean(axis=1)\n"
        "@register('b')\ndef g(x):\n    return x.min(axis=1)\n", "R['a'](x)",
        "@register('a')\ndef f(x):\n    return x.mean(axis=1)\n@register('b')",
        "@register('b')\ndef f(x):\n    return x.mean(axis=1)\n@register('a')"),
    "a plugin of a registry": beside(
        "from registry import R\nimport plugin", "R['gen'](x)", "plugin", "x.mean", "x.min",
        registry="R = {}\ndef register(f):\n    R[f.__name__] = f\n    return f\n",
        plugin="from registry import register\n@register\ndef gen(x):\n"
               "    return x.mean(axis=1)\n"),
    "a table of functions": one(
        "def a(x):\n    return x.mean(axis=1)\ndef b(x):\n    return x.min(axis=1)\n"
        "T = {'gen': a}", "T['gen'](x)", "'gen': a", "'gen': b"),
    "an enum's value": one(
        "import enum\nclass Scale(enum.Enum):\n    SMALL = 1.0\n    LARGE = 9.0",
        "x.mean(axis=1) * Scale.LARGE.value", "LARGE = 9.0", "LARGE = 8.0"),
    "an enum's method": one(
        "import enum\nclass Way(enum.Enum):\n    A = 'mean'\n    def __call__(self, x):\n"
        "        return x.mean(axis=1)", "Way.A(x)", "x.mean", "x.min"),
    "one module that sets another's constant": beside(
        "import consts, setup_consts", "x.mean(axis=1) * consts.C", "setup_consts",
        "consts.C = 2.0", "consts.C = 3.0", consts="C = 1.0\n",
        setup_consts="import consts\nconsts.C = 2.0\n"),
    "a constant set from a module that its user does not import": beside(
        "import setup_consts\nfrom kernel import gen", "gen(x)", "setup_consts", "2.0", "3.0",
        consts="C = 1.0\n", kernel="import consts\ndef gen(x):\n"
        "    return x.mean(axis=1) * consts.C\n",
        setup_consts="import consts\nsetattr(consts, 'C', 2.0)\n"),
    "a function that another module replaces": beside(
        "import helpers, patches", "helpers.gen_a(x)", "patches", "x.std", "x.var",
        helpers=HELPERS, patches="import helpers\ndef other(x):\n    return x.std(axis=1)\n"
        "helpers.gen_a = other\n"),
    "a method that another module replaces": beside(
        "import parts, patches", "parts.Gen().gen(x)", "patches", "x.std", "x.var",
        parts="class Gen:\n    def gen(self, x):\n        return x.mean(axis=1)\n",
        patches="import parts\nparts.Gen.gen = lambda self, x: x.std(axis=1)\n"),
    "a library's function that is replaced": one(
        "import numpy as np\ndef other(x, axis):\n    return x.std(axis=axis)\nnp.mean = other",
        "np.mean(x, axis=1)", "x.std", "x.var"),
    "a setting of a library": one(
        "import decimal\ndecimal.getcontext().prec = 5\ndef half(v):\n"
        "    return float(decimal.Decimal(float(v)) / 3)\nimport numpy as np",
        "np.vectorize(half)(x.mean(axis=1))", "prec = 5", "prec = 3"),
    "a decorator's argument": one(
        "def times(c):\n    def wrap(f):\n        return lambda x: c * f(x)\n    return wrap\n"
        "@times(2.0)\ndef gen(x):\n    return x.mean(axis=1)",
        "gen(x)", "times(2.0)", "times(3.0)"),
    "a decorator's code": one(
        "import functools\ndef doubled(f):\n    @functools.wraps(f)\n    def inner(x):\n"
        "        return 2 * f(x)\n    return inner\n@doubled\ndef gen(x):\n"
        "    return x.mean(axis=1)", "gen(x)", "2 * f(x)", "3 * f(x)"),
    "what a cached function computes": one(
        "import functools\n@functools.cache\ndef c():\n    return 2.0", "x.mean(axis=1) * c()",
        "return 2.0", "return 3.0"),
    "a partial's argument": one(
        "import functools, numpy as np\nf = functools.partial(np.quantile, q=0.5, axis=1)", "f(x)",
        "q=0.5", "q=0.6"),
    "a lambda": one("f = lambda x: x.mean(axis=1)", "f(x)", "x.mean", "x.min"),
    "a closure's value": one(
        "def make(c):\n    return lambda x: c * x.mean(axis=1)\nf = make(2.0)", "f(x)",
        "make(2.0)", "make(3.0)"),
    "a default": one(
        "def gen(x, c=2.0):\n    return c * x.mean(axis=1)", "gen(x)", "c=2.0", "c=3.0"),
    "a default that an expression computes": one(
        "C = 2.0\ndef gen(x, *, c=C):\n    return c * x.mean(axis=1)", "gen(x)",
        "C = 2.0", "C = 3.0"),
    "a function's attribute": one(
        "def gen(x):\n    return gen.c * x.mean(axis=1)\ngen.c = 2.0", "gen(x)",
        "gen.c = 2.0", "gen.c = 3.0"),
    "a single-dispatch function": one(
        "import functools, numpy as np\n@functools.singledispatch\ndef gen(x):\n    return 0\n"
        "@gen.register\ndef _(x: np.ndarray):\n    return x.mean(axis=1)", "gen(x)",
        "x.mean", "x.min"),
    "a name set through globals": one(
        "for c in (2.0,):\n    globals()['C_two'] = c", "x.mean(axis=1) * C_two", "2.0", "3.0"),
    "a function looked up in globals": one(
        "def gen_a(x):\n    return x.mean(axis=1)", "globals()['gen_' + 'a'](x)",
        "x.mean", "x.min"),
    "code in a text": one("", "eval('x.mean(axis=1) * 2')", "* 2'", "* 3'"),
    "code in a text beside": one(
        "CODE = 'x.mean(axis=1) * 2'", "eval(CODE, {'x': x})", "* 2'", "* 3'"),
    "code in a text that is executed": one(
        "exec('def gen(x):\\n    return 2 * x.mean(axis=1)')", "gen(x)", "return 2", "return 3"),
    "an instance's value": one(
        "class Gen:\n    def __init__(self, c):\n        self.c = c\n    def __call__(self, x):\n"
        "        return self.c * x.mean(axis=1)\nGEN = Gen(2.0)", "GEN(x)", "Gen(2.0)", "Gen(3.0)"),
    "an instance's slots": one(
        "class Gen:\n    __slots__ = ('c',)\n    def __init__(self, c):\n        self.c = c\n"
        "GEN = Gen(2.0)", "GEN.c * x.mean(axis=1)", "Gen(2.0)", "Gen(3.0)"),
    "an array": one(
        "import numpy as np\nW = np.array([1.0, 2.0, 3.0])", "x @ W", "3.0]", "4.0]"),
    "an array filled in place": one(
        "import numpy as np\nW = np.ones(3)\nW[2] = 5.0", "x @ W", "5.0", "6.0"),
    "a frame": one(
        "import pandas as pd\nW = pd.DataFrame({'w': [1.0, 2.0, 3.0]})", "x @ W['w'].to_numpy()",
        "3.0]", "4.0]"),
    "a library's object": one(
        "from scipy import stats\nD = stats.norm(loc=1.0)", "D.cdf(x).mean(axis=1)",
        "loc=1.0", "loc=2.0"),
    "a module's own generator": one(
        "import numpy as np\nRNG = np.random.default_rng(5)",
        "x.mean(axis=1) + RNG.random(n_rep)", "default_rng(5)", "default_rng(6)"),
    "a set": one("S = {2.0, 3.0}", "x.mean(axis=1) * max(S)", "3.0", "4.0"),
    "the order of a table": one(
        "T = {'a': 2.0, 'b': 3.0}", "x.mean(axis=1) * list(T.values())[0]",
        "'a': 2.0, 'b': 3.0", "'b': 3.0, 'a': 2.0"),
}  # fmt: skip

CLASSES: dict[str, Case] = {
    "exact, called by simulate": swap(
        {"trial.py": trial("", "x.mean(axis=1) + self.exact()['mean_x']").replace(
            "    def simulate", "    def exact(self):\n        return {'mean_x': 0.0}\n\n"
            "    def simulate")}, "trial.py", "0.0", "1.0"),
    "a base class": beside(
        "from base import Base\nclass P(Base):\n    pass", "P().gen(x)", "base", "x.mean", "x.min",
        base="class Base:\n    def gen(self, x):\n        return x.mean(axis=1)\n"),
    "a property": one(
        "class P:\n    @property\n    def c(self):\n        return 2.0", "x.mean(axis=1) * P().c",
        "return 2.0", "return 3.0"),
    "a static method": one(
        "class P:\n    @staticmethod\n    def c():\n        return 2.0", "x.mean(axis=1) * P.c()",
        "return 2.0", "return 3.0"),
    "a class method": one(
        "class P:\n    k = 2.0\n    @classmethod\n    def c(cls):\n        return cls.k",
        "x.mean(axis=1) * P.c()", "k = 2.0", "k = 3.0"),
    "a cached property": one(
        "import functools\nclass P:\n    @functools.cached_property\n    def c(self):\n"
        "        return 2.0", "x.mean(axis=1) * P().c", "return 2.0", "return 3.0"),
    "a nested class": one(
        "class P:\n    class Q:\n        c = 2.0", "x.mean(axis=1) * P.Q.c", "c = 2.0", "c = 3.0"),
    "a metaclass": one(
        "class M(type):\n    @property\n    def c(cls):\n        return 2.0\n"
        "class P(metaclass=M):\n"
        "    pass", "x.mean(axis=1) * P.c", "return 2.0", "return 3.0"),
    "a descriptor": one(
        "class D:\n    def __get__(self, one, kind):\n        return 2.0\nclass P:\n    c = D()",
        "x.mean(axis=1) * P().c", "return 2.0", "return 3.0"),
    "a class decorator": one(
        "def add(kind):\n    kind.c = 2.0\n    return kind\n@add\nclass P:\n    pass",
        "x.mean(axis=1) * P.c", "kind.c = 2.0", "kind.c = 3.0"),
    "a subclass hook": one(
        "class B:\n    def __init_subclass__(cls, c=2.0):\n        cls.c = c\nclass P(B, c=2.0):\n"
        "    pass", "x.mean(axis=1) * P.c", "(B, c=2.0)", "(B, c=3.0)"),
    "which subclasses there are": one(
        "class B:\n    c = 1.0\nclass P(B):\n    c = 2.0",
        "x.mean(axis=1) * sum(k.c for k in B.__subclasses__())", "c = 2.0", "c = 3.0"),
    "a default of a field": one(
        "@dataclass(frozen=True)\nclass P:\n    c: float = 2.0", "x.mean(axis=1) * P().c",
        "c: float = 2.0", "c: float = 3.0"),
    "a default factory": one(
        "from dataclasses import field\n@dataclass\nclass P:\n"
        "    c: list = field(default_factory=lambda: [2.0])", "x.mean(axis=1) * P().c[0]",
        "[2.0]", "[3.0]"),
    "a __post_init__": one(
        "@dataclass\nclass P:\n    c: float = 1.0\n    def __post_init__(self):\n"
        "        self.c = 2.0", "x.mean(axis=1) * P().c", "self.c = 2.0", "self.c = 3.0"),
    "a named tuple's default": one(
        "from typing import NamedTuple\nclass P(NamedTuple):\n    c: float = 2.0",
        "x.mean(axis=1) * P().c", "= 2.0", "= 3.0"),
    "a named tuple's method": one(
        "from typing import NamedTuple\nclass P(NamedTuple):\n    c: float = 2.0\n"
        "    def d(self):\n        return self.c + 1.0", "x.mean(axis=1) * P().d()",
        "+ 1.0", "+ 2.0"),
    "a class's own __init__": one(
        "class P:\n    def __init__(self):\n        self.c = 2.0", "x.mean(axis=1) * P().c",
        "self.c = 2.0", "self.c = 3.0"),
    "a __getattr__ of a module": beside(
        "import lazy", "x.mean(axis=1) * lazy.C", "lazy", "return 2.0", "return 3.0",
        lazy="def __getattr__(name):\n    if name == 'C':\n        return 2.0\n"
             "    raise AttributeError(name)\n"),
    "a type that is made by a call": one(
        "P = type('P', (), {'c': 2.0})", "x.mean(axis=1) * P.c", "'c': 2.0", "'c': 3.0"),
    "a generator": one(
        "def gen():\n    yield 2.0", "x.mean(axis=1) * next(gen())", "yield 2.0", "yield 3.0"),
    "a constant's type": one(
        "C = 1\nimport numpy as np", "x.mean(axis=1) + np.full(1, 7) / (C + 1 // 2) * isinstance("
        "C, int)", "C = 1\n", "C = 1.0\n"),
    "a negative zero": one(
        "C = 0.0\nimport math", "x.mean(axis=1) + math.copysign(1, C)", "C = 0.0", "C = -0.0"),
}  # fmt: skip

KERNEL = """
import numba
from inner import twice

@numba.njit
def gen(x):
    out = x[:, 0].copy()
    for i in range(len(out)):
        out[i] = twice(x[i, 0])
    return out
"""
INNER = "import numba\n@numba.njit\ndef twice(v):\n    return 2.0 * v\n"

ELSEWHERE: dict[str, Case] = {
    "a table read at import": (
        {"trial.py": trial(
            "import pandas as pd\nW = pd.read_csv('w.csv')", "x @ W['w'].to_numpy()"),
         "w.csv": "w\n1.0\n2.0\n3.0\n"}, {"w.csv": "w\n1.0\n2.0\n4.0\n"}),
    "a number read at import": (
        {"trial.py": trial("C = float(open('c.txt').read())", "x.mean(axis=1) * C"),
         "c.txt": "2.0"}, {"c.txt": "3.0"}),
    "a number that a helper reads at import, inside an object": (
        {"trial.py": trial("import helpers", "x.mean(axis=1) * helpers.S()"),
         "helpers.py": "import json\n_c = [json.load(open('c.json'))]\ndef S():\n"
                       "    return (lambda: _c)()[0]['c']\n",
         "c.json": '{"c": 2.0}'}, {"c.json": '{"c": 3.0}'}),
    "a part of data": (
        {"trial.py": trial("from simstudy import Data\nDATA = Data.file('w.csv')",
                           "x @ DATA.read_frame()['w'].to_numpy()"),
         "w.csv": "w\n1.0\n2.0\n3.0\n"}, {"w.csv": "w\n1.0\n2.0\n4.0\n"}),
    "a part of data as a field": (
        {"trial.py": trial("from simstudy import Data",
                           "x @ self.data.read_frame()['w'].to_numpy()")
            .replace("n_obs: int = 3", "n_obs: int = 3\n    data: Data = None")
            .replace("[Trial()]", "[Trial(data=Data.file('w.csv'))]"),
         "w.csv": "w\n1.0\n2.0\n3.0\n"}, {"w.csv": "w\n1.0\n2.0\n4.0\n"}),
    "a kernel": beside(
        "from kernel import gen", "gen(x)", "inner", "2.0", "3.0", kernel=KERNEL, inner=INNER),
    "a kernel's constant": beside(
        "from kernel import gen", "gen(x)", "inner", "C = 2.0", "C = 3.0", kernel=KERNEL,
        inner=INNER.replace("2.0 * v", "C * v").replace("@numba", "C = 2.0\n@numba")),
    "a kernel's options": one(
        "import numba\n@numba.njit(error_model='python')\ndef gen(x):\n    return x[:, 0] * 1.0",
        "gen(x) + ('numpy' in str(gen.targetoptions))", "'python'", "'numpy'"),
    "a universal function": one(
        "import numba\n@numba.vectorize(['f8(f8)'])\ndef gen(v):\n    return 2.0 * v",
        "gen(x[:, 0])", "2.0", "3.0"),
    "a compiled class of a library, subclassed": one(
        "import fractions\nclass F(fractions.Fraction):\n    k = 2", "x.mean(axis=1) * F.k",
        "k = 2", "k = 3"),
}  # fmt: skip

HELPER = "def mul(x):\n    return 2.0 * x\n"


def held(imports: str, value: str, old: str = "2.0", new: str = "3.0", **more: str) -> Case:
    """A case in which what an object holds changes."""
    return one(imports, f"x.mean(axis=1) * {value}", old, new, **more)


def reached(imports: str, value: str) -> Case:
    """A case in which a helper changes that is reached in a roundabout way."""
    return beside(imports, value, "helper", "2.0", "3.0", helper=HELPER)


VALUES: dict[str, Case] = {
    "a named tuple": held(
        "from typing import NamedTuple\nclass P(NamedTuple):\n    c: float\nP0 = P(2.0)", "P0.c"),
    "a made named tuple": held(
        "from collections import namedtuple\nP = namedtuple('P', 'c')\nP0 = P(2.0)", "P0.c"),
    "a kind of dict": held("class T(dict):\n    pass\nT0 = T(c=2.0)", "T0['c']"),
    "a kind of list": held("class T(list):\n    pass\nT0 = T([2.0])", "T0[0]"),
    "a kind of float": held("class M(float):\n    pass\nC = M(2.0)", "C"),
    "a kind of array": held(
        "import numpy as np\nclass V(np.ndarray):\n    pass\nA = np.array([2.0]).view(V)",
        "float(A[0])"),
    "a default of a table": held(
        "from collections import defaultdict\nD = defaultdict(lambda: 2.0)", "D['k']"),
    "a hidden slot": held(
        "class M:\n    __slots__ = ('__c',)\n    def __init__(self, c):\n        self.__c = c\n"
        "    def get(self):\n        return self.__c\nM0 = M(2.0)", "M0.get()"),
    "the names of a record": held(
        "import numpy as np\nR = np.array([(2.0, 3.0)], dtype=[('a', 'f8'), ('z', 'f8')])",
        "R['a'][0]", "('a', 'f8'), ('z', 'f8')", "('z', 'f8'), ('a', 'f8')"),
    "the order of categories": held(
        "import pandas as pd\nG = pd.Categorical(['u', 'w'], categories=['u', 'w'])",
        "(1 + G.codes[0])", "categories=['u', 'w']", "categories=['w', 'u']"),
    "the order of categories in a frame": held(
        "import pandas as pd\nG = pd.DataFrame({'g': pd.Categorical(['u'], ['u', 'w'])})",
        "(1 + G['g'].cat.codes.iloc[0])", "['u', 'w']", "['w', 'u']"),
    "what a frame says about itself": held(
        "import pandas as pd\nG = pd.DataFrame({'g': [1.0]})\nG.attrs['c'] = 2.0", "G.attrs['c']"),
    "the names of levels": held(
        "import pandas as pd\nI = pd.MultiIndex.from_tuples([(2.0, 5.0)], names=['a', 'b'])",
        "I.get_level_values('a')[0]", "['a', 'b']", "['b', 'a']"),
    "a long pattern": held(
        "import re\nPAT = re.compile('q' * 300 + '|(b)')", "len(PAT.match('bbb').group(0))",
        "(b)", "(bb)"),
    "a namespace": held("from types import SimpleNamespace\nN = SimpleNamespace(c=2.0)", "N.c"),
    "a queue": held("from collections import deque\nD = deque([2.0])", "D[0]"),
    "an attribute of an enum's member": held(
        "import enum\nclass K(enum.Enum):\n    A = 1\nK.A.c = 2.0", "K.A.c"),
    "an integer enum": held(
        "import enum\nclass K(enum.IntEnum):\n    A = 2", "K.A", "A = 2", "A = 3"),
    "a context variable": (
        {"trial.py": trial("import state, setter", "x.mean(axis=1) * state.V.get()"),
         "state.py": "from contextvars import ContextVar\nV = ContextVar('v', default=1.0)\n",
         "setter.py": "import state\nDONE = state.V.set(2.0)\n"},
        {"setter.py": "import state\nDONE = state.V.set(3.0)\n"}),
    "a field's metadata": one(
        "from dataclasses import field, fields\n@dataclass\nclass P:\n"
        "    a: int = field(default=1, metadata={'c': 2.0})",
        "x.mean(axis=1) * fields(P)[0].metadata['c']", "2.0", "3.0"),
    "a library's constant that a module replaces": held(
        "import scipy.constants\nscipy.constants.c = 2.0", "scipy.constants.c"),
    "a cyclic list": held("L = [2.0]\nL.append(L)", "L[0]"),
    "a long chain": held(
        "N = None\nfor k in range(3000):\n    N = (k, N)\nN = (2.0, N)", "N[0]",
        "(2.0, N)", "(3.0, N)"),
}  # fmt: skip

REACHED: dict[str, Case] = {
    "a vectorized function": reached("import numpy as np, helper\nV = np.vectorize(helper.mul)",
                                     "V(x[:, 0])"),
    "a ufunc of a function": reached(
        "import numpy as np, helper\nV = np.frompyfunc(helper.mul, 1, 1)",
        "V(x[:, 0]).astype(float)"),
    "a function in a namespace": reached(
        "from types import SimpleNamespace\nimport helper\nN = SimpleNamespace(f=helper.mul)",
        "N.f(x[:, 0])"),
    "a function in a queue": reached(
        "from collections import deque\nimport helper\nD = deque([helper.mul])", "D[0](x[:, 0])"),
    "a function in an estimator": reached(
        "from sklearn.preprocessing import FunctionTransformer as F\nimport helper\n"
        "T = F(helper.mul)", "T.transform(x)[:, 0]"),
    "a decorator that is a class": one(
        "import functools\nclass S:\n    def __init__(self, f, k):\n"
        "        functools.update_wrapper(self, f)\n        self.f, self.k = f, k\n"
        "    def __call__(self, x):\n        return self.f(x) * self.k\n"
        "gen = S(lambda x: x.mean(axis=1), 2.0)", "gen(x)", "2.0", "3.0"),
    "two lambdas exchanged": one(
        "up, down = (lambda x: x * 2.0), (lambda x: x * 3.0)", "up(x[:, 0]) - 0.1 * down(x[:, 0])",
        "(lambda x: x * 2.0), (lambda x: x * 3.0)", "(lambda x: x * 3.0), (lambda x: x * 2.0)"),
    "two made functions exchanged": one(
        "def make(k):\n    def f(x, k=k):\n        return x * k\n    return f\n"
        "A, B = make(2.0), make(3.0)", "A(x[:, 0]) - 0.1 * B(x[:, 0])",
        "make(2.0), make(3.0)", "make(3.0), make(2.0)"),
    "two made classes exchanged": one(
        "def make(k):\n    class M:\n        c = k\n    return M\nA, B = make(2.0), make(3.0)",
        "x[:, 0] * A.c - 0.1 * B.c", "make(2.0), make(3.0)", "make(3.0), make(2.0)"),
    "a function made of a text": one(
        "def build(t):\n    space = {}\n    exec('def f(x): return ' + t, space)\n"
        "    return space['f']\nF = build('x * 2.0')", "F(x[:, 0])", "2.0", "3.0"),
    "a module loaded from a path": (
        {"trial.py": trial(
            "import importlib.util\nfrom pathlib import Path\nspec = importlib.util."
            "spec_from_file_location('params', Path(__file__).parent / 'cfg' / 'params.py')\n"
            "params = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(params)",
            "params.mul(x[:, 0])"), "cfg/params.py": HELPER},
        {"cfg/params.py": HELPER.replace("2.0", "3.0")}),
    "a value that a plugin registers": (
        {"trial.py": trial(
            "import importlib, registry\nfor n in ('a', 'b'):\n"
            "    importlib.import_module('plugins.' + n)", "x.mean(axis=1) * registry.R['a']"),
         "registry.py": "R = {}\ndef register(k, v):\n    R[k] = v\n    return v\n",
         "plugins/__init__.py": "", "plugins/b.py": "",
         "plugins/a.py": "import registry\nregistry.register('a', 2.0)\n"},
        {"plugins/a.py": "import registry\nregistry.register('a', 3.0)\n"}),
    "a value that a call registers": held(
        "import registry\nH = registry.register('a', 2.0)", "registry.R['a']",
        registry="R = {}\ndef register(k, v):\n    R[k] = v\n    return v\n"),
    "a value that a subclass registers": held(
        "import registry\nclass A(registry.B, c=2.0):\n    pass", "registry.B.R['A']",
        registry="class B:\n    R = {}\n    def __init_subclass__(cls, c, **k):\n"
                 "        B.R[cls.__name__] = c\n"),
    "a table that an instance fills": held(
        "from models import M\nM0 = M(c=2.0)", "M0.t['c']",
        models="class M:\n    def __init__(self, **kw):\n        self.t = {}\n"
               "        for k, v in kw.items():\n            self.t[k] = v\n"),
    "a decorator of the standard library": one(
        "from contextlib import ContextDecorator\nS = [1.0]\nclass D(ContextDecorator):\n"
        "    def __init__(self, k):\n        self.k = k\n    def __enter__(self):\n"
        "        S[0] = self.k\n    def __exit__(self, *a):\n        S[0] = 1.0\n"
        "@D(2.0)\ndef f(x):\n    return x * S[0]", "f(x[:, 0])", "D(2.0)", "D(3.0)"),
    "a module made of a text": one(
        "import types\nM = types.ModuleType('gen')\n"
        "exec('def mul(x): return x * 2.0', M.__dict__)", "M.mul(x[:, 0])", "2.0", "3.0"),
    "a formula's function": one(
        "import pandas as pd\nCUT = 2.0",
        "pd.DataFrame({'x': x[:, 0]}).eval('x * @CUT').to_numpy()", "CUT = 2.0", "CUT = 3.0"),
    "exact, by its name": swap(
        {"trial.py": trial("", "x.mean(axis=1) + getattr(self, 'exact')()['m']").replace(
            "    def simulate", "    def exact(self):\n        return {'m': 2.0}\n\n"
            "    def simulate")}, "trial.py", "2.0", "3.0"),
    "a class behind another scenario's factor": swap(
        {"trial.py": trial("class N(int):\n    def k(self):\n        return 2.0",
                           "x.mean(axis=1) * (self.n_obs.k() if isinstance(self.n_obs, N) else 1)")
            .replace("[Trial()]", "[Trial(5), Trial(N(2))]")}, "trial.py", "2.0", "3.0"),
}  # fmt: skip

GROUPS = {
    "imports": IMPORTS,
    "at import": AT_IMPORT,
    "classes": CLASSES,
    "elsewhere": ELSEWHERE,
    "values": VALUES,
    "reached": REACHED,
}
CHANGES = {
    f"{group}: {name}": case for group, cases in GROUPS.items() for name, case in cases.items()
}


def drawn_again(projects, tmp_path, files, edits):
    """Run, run again, and run what is edited, whose numbers are those of a fresh folder."""
    folder = write(tmp_path / "code", files)
    first = projects.run(folder, tmp_path / "out")
    assert first.get("n_blocks") in (2, 4), first
    again = projects.run(folder, tmp_path / "out")
    assert again == {"numbers": first["numbers"], "n_blocks": 0}, "unchanged: nothing to do"
    write(folder, edits)
    after = projects.run(folder, tmp_path / "out")
    fresh = projects.run(folder, tmp_path / "fresh")
    assert "numbers" in fresh, fresh
    assert fresh["numbers"] != first["numbers"], "the case must move the numbers"
    assert after["numbers"] == fresh["numbers"], "a stale number"
    return after


@pytest.mark.parametrize(
    "change",
    slow_but(*(f"{group}: {next(iter(cases))}" for group, cases in GROUPS.items()), of=CHANGES),
)
def test_what_moves_numbers_is_drawn_again(change, projects, tmp_path):
    drawn_again(projects, tmp_path, *CHANGES[change])


@pytest.mark.slow
def test_an_environment_variable_that_simulate_reads_counts(projects, tmp_path):
    files = {"trial.py": trial("import os", "x.mean(axis=1) * float(os.environ['MY_SCALE'])")}
    folder = write(tmp_path / "code", files)
    first = projects.run(folder, tmp_path / "out", environ={"MY_SCALE": "2"})
    assert first.get("n_blocks") == 2, first
    assert projects.run(folder, tmp_path / "out", environ={"MY_SCALE": "2"})["n_blocks"] == 0
    assert projects.run(folder, tmp_path / "out", environ={"MY_SCALE": "3"})["n_blocks"] == 2


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.slow
def test_a_users_own_installed_package_counts_by_content(compiled, projects, tmp_path):
    """Its version stays; the file is edited in place, or another build is installed over it."""
    value = "lib.gen(x)" if not compiled else "x.mean(axis=1) * lib.table()"
    files = {"trial.py": trial("import mylib as lib", value)}
    table = "from pathlib import Path\nN = len((Path(__file__).parent / 'table.so').read_bytes())\n"
    package = {
        "mylib/__init__.py": TWO + table + "def table():\n    return N\n__version__ = '1.0'\n",
        "mylib/table.so": "12",
    }
    folder = write(tmp_path / "code", files)
    site = write(tmp_path / "site-packages", package)
    how = {"path": [str(site)]}
    first = projects.run(folder, tmp_path / "out", **how)
    assert first.get("n_blocks") == 2, first
    assert projects.run(folder, tmp_path / "out", **how)["n_blocks"] == 0
    edit = {"mylib/table.so": "123"} if compiled else {
        "mylib/__init__.py": package["mylib/__init__.py"].replace("mean", "min")}  # fmt: skip
    write(site, edit)
    after = projects.run(folder, tmp_path / "out", **how)
    assert after["n_blocks"] == 2
    assert "mylib was 1.0 #" in after["notes"][0]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("1", "1.0"),
        ("1.0", "True"),
        ("(1,)", "[1]"),
        ("0.0", "-0.0"),
        ("1", "__import__('numpy').int64(1)"),
    ],
)
@pytest.mark.slow
def test_the_type_of_a_factor_counts(was, now, projects, tmp_path):
    files = {
        "trial.py": trial("", "x.mean(axis=1)").replace(
            "n_obs: int = 3", "n_obs: int = 3\n    k: object = 5"
        )
    }
    edit = {"trial.py": files["trial.py"].replace("[Trial()]", f"[Trial(k={now})]")}
    files = {"trial.py": files["trial.py"].replace("[Trial()]", f"[Trial(k={was})]")}
    folder = write(tmp_path / "code", files)
    assert projects.run(folder, tmp_path / "out")["n_blocks"] == 2
    write(folder, edit)
    after = projects.run(folder, tmp_path / "out")
    assert after["n_blocks"] == 2


REPEATED = {
    "a distribution of a library": ("from scipy import stats", "stats.norm.cdf(x).mean(axis=1)"),
    "a distribution by name": ("from scipy.stats import t", "t.ppf(0.9, 5) * x.mean(axis=1)"),
    "a frozen distribution": (
        "from scipy import stats\nD = stats.norm(0, 2.0)", "D.cdf(x).mean(axis=1)"),
    "a kind of distribution": (
        "from scipy import stats\nclass G(stats.rv_continuous):\n    def _pdf(self, x):\n"
        "        return 1.0 * (0 < x) * (x < 1)\nD = G(a=0, b=1)", "x.mean(axis=1) * D.a"),
    "a set in a namespace": (
        "from types import SimpleNamespace\nN = SimpleNamespace(s={'a', 'b', 'cc', 'dd'})",
        "x.mean(axis=1) * len(N.s)"),
    "a memory that the run fills": (
        "M = {}\ndef c(n):\n    return M.setdefault(n, 2.0)", "x.mean(axis=1) * c(3)"),
    "a loop's last value": (
        "import pkgutil\nfor m in pkgutil.iter_modules(['.']):\n    pass\nC = 2.0",
        "x.mean(axis=1) * C"),
    "a compiled class": (
        "import numba\n@numba.experimental.jitclass([('c', numba.float64)])\nclass J:\n"
        "    def __init__(self, c):\n        self.c = c\nJ0 = J(2.0)", "x.mean(axis=1) * J0.c"),
    "a chain of functions": (
        "def f0(x):\n    return x\n" + "".join(
            f"def f{k}(x):\n    return f{k - 1}(x)\n" for k in range(1, 260)),
        "f259(x.mean(axis=1))"),
}  # fmt: skip


@pytest.mark.parametrize("case", slow_but("a memory that the run fills", of=REPEATED))
def test_nothing_that_lives_in_one_process_only_counts(case, projects, tmp_path):
    folder = write(tmp_path / "code", {"trial.py": trial(*REPEATED[case])})
    first = projects.run(folder, tmp_path / "out")
    assert first.get("n_blocks") == 2, first
    again = projects.run(folder, tmp_path / "out")
    assert again == {"numbers": first["numbers"], "n_blocks": 0}
