"""What a terminal shows of a study: bounded, whatever the study has."""

from dataclasses import dataclass, make_dataclass

from simstudy.design.reprs import factors_in_short, names_in_short, scenarios_in_short


@dataclass(frozen=True)
class First:
    text: str = "one"


@dataclass(frozen=True)
class Second:
    size: int = 1


def test_classes_and_factors_are_in_order_of_appearance():
    both = [Second(1), First("a"), Second(2)]
    assert scenarios_in_short(both) == "3 scenarios of Second, First"
    assert factors_in_short(both) == "size = 1, 2; text = a"
    assert scenarios_in_short(both[:1]) == "1 scenario of Second"


def test_long_values_and_many_factors_are_cut():
    assert factors_in_short([First("a\n" * 40)]) == "text = a a a a a a a a a a a..."
    wide = make_dataclass("Wide", [(f"f{i}", int, i) for i in range(9)])
    assert factors_in_short([wide()]).endswith("; f5 = 5; ... (9 factors)")


def test_of_many_names_the_first_are_shown():
    assert names_in_short("abc") == "a, b, c"
    assert names_in_short([]) == "none"
    assert names_in_short(map(str, range(12))).endswith("8, 9, ... (12)")
