"""Code counts by what it does, not by its form, docstrings or annotations; values by content."""

import math

import numpy as np
import pytest

from simstudy.provenance.contents import (
    Import,
    attributes,
    code_in,
    compiled,
    definition_of,
    plain_token,
)


def function(text):
    space: dict = {}
    exec(text, space)
    return next(value for name, value in reversed(space.items()) if not name.startswith("__"))


def digest(text):
    return definition_of(function(text).__code__).digest


PLAIN = "def f(x):\n    y = x + 1.0\n    return y * 2"
SAME = {
    "another name": PLAIN.replace("f(", "other("),
    "a docstring": 'def f(x):\n    """Twice."""\n    y = x + 1.0\n    return y * 2',
    "annotations": "def f(x: int) -> float:\n    y: float = x + 1.0\n    return y * 2",
    "layout": "def f(x):\n\n    y = (\n        x\n        + 1.00\n    )  # one\n    return y * 2",
    "its place": "\n\n\na = 1\n" + PLAIN,
}


@pytest.mark.parametrize("change", SAME)
def test_form_does_not_count(change):
    assert digest(SAME[change]) == digest(PLAIN)


INNER = "def f(a):\n    b = a\n    def g(x, y=2, *, z=3):\n        return x + b\n    return g"
ANNOTATED = INNER.replace(
    "(x, y=2, *, z=3)", '(x: int, y: "list[str]"=2, *, z: dict[str, m.T(1, k=2)]=3) -> m.F[1]'
)


def test_annotations_of_functions_inside_do_not_count_and_their_names_are_not_read():
    plain, annotated = (definition_of(function(text).__code__) for text in (INNER, ANNOTATED))
    assert annotated == plain
    assert digest(INNER.replace("z=3", "z=4")) != digest(INNER)


def test_frozen_sets_have_one_order():
    text = 'def f(x):\n    return x in {"a", "b", "c", "d"}'
    assert digest(text) == digest(text.replace('"a", "b"', '"b", "a"'))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("try:\n        return x\n    finally:\n        c()", "try: return x\n    finally: c()"),
        ("with c():\n        return x", "with c(): return x"),
        ("if x:\n        pass\n    return 1", "if x: pass\n    return 1"),
    ],
)
def test_blocks_on_one_line(one, other):
    assert digest(f"def f(x):\n    {one}") == digest(f"def f(x):\n    {other}")


NAMES = """
def f(x):
    import os.path
    from . import helper
    from ..base import (one, two)
    rng = np.random.default_rng(SEED)
    table.value.item = {"key": "word"}[x in ("a", "b")]
    return [inner.attribute for _ in x]
"""


def test_names_texts_and_imports_are_read():
    found = definition_of(function(NAMES).__code__)
    assert {("np", "random", "default_rng"), ("table", "value"), ("inner", "attribute")} <= {
        *found.chains
    }
    assert {"key", "word", "a", "b", "item", "attribute", "default_rng", "os.path"} <= found.words
    assert found.imports == (
        Import("os.path", 0, ()), Import("", 1, ("helper",)), Import("base", 2, ("one", "two")),
    )  # fmt: skip


def test_code_that_a_hook_has_changed_is_that_of_its_source():
    text = "def f(x):\n    def g(y):\n        return y\n    return g(x)\n"
    hooked = function(text.replace("    def g", "    @check\n    def g"))
    assert code_in(text, hooked.__code__).co_code == function(text).__code__.co_code
    assert code_in("not Python", hooked.__code__) is hooked.__code__
    assert compiled("def") is None


# ---------------------------------------------------------------- values
class Refuses:
    """Whoever asks it for a name imports what it stands for."""

    def __init__(self):
        self.kept = 1

    def __getattr__(self, name):
        raise AssertionError(f"asked for {name}")


def test_what_an_object_stores_is_not_asked_of_it():
    assert attributes(Refuses()) == {"kept": 1}
    assert attributes(1) == {}


def test_numbers_that_are_shown_alike_are_told_apart():
    nan = math.nan
    alike = [nan, math.copysign(nan, -1), 0.0, -0.0, 0, False, "0"]
    assert len({plain_token(value, str) for value in alike}) == len(alike)


@pytest.mark.parametrize("kind", [float, np.float64, np.complex128, np.array])
def test_the_last_bits_of_a_number_do_not_count(kind):
    """Another processor computes others, as of a constant `np.geomspace(1e-9, 80, 400)`."""
    rng = np.random.default_rng(1)
    for value in rng.uniform(0.1, 1, 400) * 10.0 ** rng.integers(-30, 30, 400):
        token = plain_token(kind(value), str)
        assert token == plain_token(kind(np.nextafter(value, np.inf)), str)
        assert token != plain_token(kind(value * (1 + 1e-8)), str)


def test_numbers_of_few_digits_count_as_they_are():
    assert plain_token(0.1, str) == "float 0.1"
    odd = [np.inf, -np.inf, np.nan, -0.0, 0.0, 5e-324, 1.5e308, 1.0]
    assert len({plain_token(np.array([value]), str) for value in odd}) == len(odd)
