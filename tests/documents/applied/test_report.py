"""Reports as people read them."""

from simstudy.documents.applied import accuracy_check


def test_what_there_is_not_is_said():
    none = repr(accuracy_check([1, 0, 1], [1, 0, 0]))
    assert "threshold     none: with so few right answers, changes or differences no" in none
    assert "detectable    none: no effect fails with probability 80% (1 - beta)" in none
    alike = repr(accuracy_check([0.5, 0.7, 0.1], [0.5, 0.7, 0.1]))
    assert "detectable    unknown: these scores have no spread to learn it from" in alike
    assert "nan" not in none + alike


def test_where_lower_is_better_the_threshold_is_above():
    check = accuracy_check([7.0, 8, 9, 6], [7.5, 8.1, 9.3, 6.1], metric="perplexity")
    assert "a candidate there or above fails" in repr(check)
    assert "lower is better" in repr(check)
