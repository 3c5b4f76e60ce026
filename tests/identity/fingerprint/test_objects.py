"""Small questions about objects, none of which runs their code."""

import functools
from dataclasses import dataclass

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
