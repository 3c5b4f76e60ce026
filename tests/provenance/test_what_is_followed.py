"""What counts as another computation: the code that makes numbers, and nothing about it."""

import importlib
import sys

import numpy as np
import pytest

from simstudy.provenance.fingerprint import changes
from simstudy.provenance.fingerprint import trace as trace_roots
from tests.provenance import fingerprint, forget

MODEL = '''
"""A scenario."""
from dataclasses import dataclass

import numpy as np

import HELPERS
from HELPERS import scale

SHIFT = 1.5
UNUSED = 1
KNOWN: int = 4


def shifted(x):
    """Move x."""
    return x + SHIFT * KNOWN  # by a constant


def drawn_by_nobody(x):
    return x


@dataclass(frozen=True)
class Trial:
    """One trial."""

    k: float
    n_obs: int = 10

    def simulate(self, streams, n_rep):
        """Draw."""
        x = streams("data").standard_normal(n_rep)
        return {"x": shifted(scale(x, self.k)), "y": HELPERS.twice(x)}

    def exact(self) -> dict[str, float]:
        return {"mean": 1.5}
'''

HELPERS = """
import numpy as np

FACTOR = 2.0
LIMITS = {"low": 0}


def twice(x):
    return inner(x) * FACTOR


def inner(x):
    return np.asarray(x)


def scale(x, k):
    return k * x
"""


@pytest.fixture
def trace(tmp_path, monkeypatch):
    """The fingerprint of the model's scenario, with some text replaced."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def fingerprint_with(*replacements, use="Trial(k=1)"):
        texts = {"traced_model": MODEL, "traced_helpers": HELPERS}
        for old, new in replacements:
            assert any(old in text for text in texts.values()), old
            texts = {name: text.replace(old, new) for name, text in texts.items()}
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text.replace("HELPERS", "traced_helpers"))
        forget(*texts)
        module = importlib.import_module("traced_model")
        found = fingerprint([eval(use, vars(module))])
        return {name.removeprefix("traced_"): value for name, value in found.items()}

    yield fingerprint_with
    forget("traced_model", "traced_helpers")


def differing(first, second):
    return {name for name in {*first, *second} if first.get(name) != second.get(name)}


def test_it_follows_what_the_scenario_uses_and_nothing_else(trace):
    assert set(trace()) == {
        "Trial", "Trial.simulate", "shifted", "SHIFT", "KNOWN",
        "helpers.scale", "helpers.twice", "helpers.inner", "helpers.FACTOR", "numpy", "python",
    }  # fmt: skip


def test_changes_in_words():
    old = {"a.f": "#1", "numpy": "2.0", "gone": "#3", "same": "#4"}
    new = {"a.f": "#2", "numpy": "2.1", "new": "#5", "same": "#4"}
    assert changes(old, new) == [
        "a.f has changed",
        "gone is gone",
        "new is new",
        "numpy was 2.0 and is 2.1",
    ]
    assert changes(old, old) == []


WRAPPED = """
import functools
from dataclasses import dataclass


def unchanged(function):
    return function


def doubled(function):
    @functools.wraps(function)
    @CHECKED
    def outer(x: float) -> float:
        return 2.0 * function(x)

    return outer


@doubled
@CHECKED
def shifted(x: float) -> float:
    return x + 1.0


@dataclass(frozen=True)
class Trial:
    k: float

    def simulate(self, streams, n_rep):
        return {"x": shifted(self.k)}
"""
CHECKING = {
    "nobody": ("unchanged", ""),
    "beartype": ("beartype", "from beartype import beartype"),
    "jaxtyping": ("checked", "from beartype import beartype\nfrom functools import partial\n"
                  "from jaxtyping import jaxtyped\n"
                  "checked = partial(jaxtyped, typechecker=beartype)\n"),
}  # fmt: skip


@pytest.mark.parametrize("checker", ["beartype", "jaxtyping"])
def test_a_wrapper_counts_whoever_checks_its_types(checker, trace):
    """`wraps` says of the checker what the wrapper wraps, and not what the checker checks."""

    def entries(by, text=WRAPPED):
        name, imports = CHECKING[by]
        found = trace((MODEL, imports + text.replace("CHECKED", name)), use="Trial(k=1.0)")
        return {
            name: value for name, value in found.items() if "shifted" in name or "doubled" in name
        }

    plain = entries("nobody")
    assert set(plain) == {"doubled.<locals>.outer", "shifted"}
    assert entries(checker) == plain
    for old, new in [("2.0 *", "3.0 *"), ("x + 1.0", "x + 1.5")]:
        other = entries(checker, WRAPPED.replace(old, new))
        assert other == entries("nobody", WRAPPED.replace(old, new)) != plain


def test_a_dataclass_counts_with_an_init_of_its_own(trace):
    """`dataclass` generates none then, although its parameter `init` is true."""
    field = "    n_obs: int = 10\n"
    own = f"{field}\n    def __init__(self, k):\n        vars(self).update(k=2.0 * k)\n"
    before, after = (trace((field, text)) for text in (own, own.replace("2.0", "3.0")))
    assert differing(before, after) == {"Trial.__init__"}


def test_what_lies_beside_code_that_looks_up_modules_counts_where_it_can_be_read(trace, tmp_path):
    looks_up = ("x = streams", '__import__("traced_helpers")\n        x = streams')
    before = trace(looks_up)
    (tmp_path / ".#traced_model.py").symlink_to("somebody@somewhere.1234")
    (tmp_path / "folder.py").mkdir()
    assert differing(before, trace(looks_up)) == set()
    (tmp_path / "beside.py").write_text("x = 1\n")
    assert differing(before, trace(looks_up)) != set()


def test_a_function_compiled_by_cython_counts_by_its_name(trace, monkeypatch):
    """In Cython 3.1.0, the `__module__` of such a function's type is a descriptor."""

    class Compiled:
        __slots__ = ("home",)

        def __call__(self, x):
            return x

    Compiled.__module__ = Compiled.home
    function = Compiled()
    function.home = "numpy"
    monkeypatch.setattr(np, "compiled", function, raising=False)
    before, after = trace(), trace(("np.asarray(x)", "np.compiled(x)"))
    assert differing(before, after) == {"helpers.inner"}
    assert differing(before, trace(("FACTOR = 2.0", "FACTOR = np.compiled"))) == {"helpers.FACTOR"}


def test_what_several_roots_use_is_in_the_fingerprint_of_each(trace):
    trace()
    model = sys.modules["traced_model"]
    roots = [(model.shifted,), (model.Trial(k=1), model.shifted)]
    several = [traced.fingerprint for traced in trace_roots(roots)]
    assert several == [fingerprint(parts) for parts in roots]
