"""Values by what they hold, to the bit, without running their code."""

import math

from simstudy.provenance.values import attributes, plain_token, state_of


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
    assert attributes(Refuses()) == {"kept": 1}
    assert attributes(1) == {}


def test_fields_are_those_of_the_dictionary_and_of_slots_that_are_set():
    assert state_of(Derived()) == {"added": 3, "_Base__hidden": 1, "plain": 2}


def test_numbers_that_are_shown_alike_are_told_apart():
    nan = math.nan
    alike = [nan, math.copysign(nan, -1), 0.0, -0.0, 0, False, "0"]
    assert len({plain_token(value, str) for value in alike}) == len(alike)
