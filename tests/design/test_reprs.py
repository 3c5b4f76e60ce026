"""What a terminal shows of a study: bounded, whatever the study has."""

from dataclasses import dataclass, make_dataclass

from simstudy.design.reprs import format_factors, format_names, format_scenarios


@dataclass(frozen=True)
class First:
    text: str = "one"


@dataclass(frozen=True)
class Second:
    size: int = 1


def test_classes_and_factors_are_in_order_of_appearance():
    both = [Second(1), First("a"), Second(2)]
    assert format_scenarios(both) == "3 scenarios of Second, First"
    assert format_factors(both) == "size = 1, 2; text = a"
    assert format_scenarios(both[:1]) == "1 scenario of Second"


def test_long_values_and_many_factors_are_cut():
    assert format_factors([First("a\n" * 40)]) == "text = a a a a a a a a a a a..."
    wide = make_dataclass("Wide", [(f"f{i}", int, i) for i in range(9)])
    assert format_factors([wide()]).endswith("; f5 = 5; ... (9 factors)")


def test_of_many_names_the_first_are_shown():
    assert format_names("abc") == "a, b, c"
    assert format_names([]) == "none"
    assert format_names(map(str, range(12))).endswith("8, 9, ... (12)")
