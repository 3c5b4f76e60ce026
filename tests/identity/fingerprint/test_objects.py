"""Small questions about objects, none of which runs their code."""

import enum
import functools
from dataclasses import dataclass
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from simstudy.identity.fingerprint import objects


class Refuses:
    """Whoever asks it for a name imports what it stands for."""

    def __init__(self):
        self.kept = 1

    def __getattr__(self, name):
        raise AssertionError(f"asked for {name}")


class Base:
    __slots__ = ("__hidden", "plain", "unset")

    def __init__(self):
        self.__hidden, self.plain = 1, 2


class Derived(Base):
    def __init__(self):
        super().__init__()
        self.added = 3


def test_what_an_object_stores_is_not_asked_of_it():
    assert objects.attributes(Refuses()) == {"kept": 1}
    assert objects.attributes(1) == {}


def test_fields_are_those_of_the_dictionary_and_of_slots_that_are_set():
    assert dict(objects.state_of(Derived())) == {"added": 3, "_Base__hidden": 1, "plain": 2}


def test_a_members_own_attributes_are_beside_its_value():
    class Tail(enum.Enum):
        LEFT = 1

        def __init__(self, _):
            self.sign = -1

    assert objects.beside_its_value(Tail.LEFT) == {"sign": -1}


def test_a_class_attribute_is_what_the_nearest_class_says():
    class First:
        work = functools.cached_property(lambda self: 1)

    class Second(First):
        pass

    assert objects.class_attribute(Second, "work") is vars(First)["work"]
    assert objects.class_attribute(Second, "none") is None


def test_a_name_that_is_not_bound_yet_closes_over_nothing():
    def outer():
        def inner():
            return later

        cells = objects.cells_of(inner)
        later = 1
        return cells, objects.cells_of(inner)

    assert outer() == ([None], [1])


def kind_of(value):
    """A name for a case that is the same in every process."""
    return type(value).__name__


CODE = [len, int, functools.partial(len), functools.cache(len), "".join, lambda: 0]
NO_CODE = [1, "x", None, np.zeros(2), SimpleNamespace(x=len), [len]]


@pytest.mark.parametrize("value", CODE, ids=kind_of)
def test_what_does_something_when_it_is_called_is_code(value):
    assert objects.is_code(value)
    assert objects.has_code([value])
    assert objects.has_code({"key": value})


@pytest.mark.parametrize("value", NO_CODE, ids=kind_of)
def test_what_only_holds_something_is_none(value):
    assert not objects.is_code(value)
    assert not objects.has_code([value])


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (1.5, True),
        ({"a": [1, (2, "x")], "b": np.zeros(2)}, True),
        ([1, len], False),
        (SimpleNamespace(x=1), False),
    ],
)
def test_plain_values_are_plain_all_the_way_down(value, plain):
    assert objects.is_plain(value) is plain


def test_a_list_that_holds_itself_is_not_plain():
    endless = []
    endless.append(endless)
    assert not objects.is_plain(endless)


def test_the_function_behind_compiled_code_is_found():
    def plain(x):
        return x

    assert objects.python_of(numba.njit(plain)) is plain
    assert objects.python_of(plain) is None


def test_functions_that_only_check_are_passed_through():
    def plain(x):
        return x

    space = {"__name__": "beartype._decor"}
    exec("def checked(x): return x", space)
    checked = functools.update_wrapper(space["checked"], plain)
    assert objects.is_checker(checked)
    assert objects.unchecked(checked) is plain
    assert objects.unchecked(plain) is plain


def test_methods_that_python_wrote_follow_from_the_fields():
    @dataclass
    class Point:
        x: float

        def moved(self):
            return self.x + 1

    assert objects.is_made(Point.__init__)
    assert not objects.is_made(Point.moved)
    assert objects.belongs_to(Point.moved, Point)
    assert not objects.belongs_to(Point.moved, Base)


def test_the_generator_that_everybody_shares_is_known():
    assert objects.is_global_generator(np.random.mtrand)
    assert objects.is_global_generator(np.random.mtrand._rand)
    assert not objects.is_global_generator(np.random.RandomState(1))
    assert objects.is_random(type(np.random.default_rng(1)))
