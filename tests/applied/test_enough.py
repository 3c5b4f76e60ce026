"""How many scores are enough, where power rises in a saw."""

from simstudy.applied import enough
from simstudy.applied.enough import MOST, enough_scores


def test_it_is_a_size_that_reaches_the_target_after_one_that_does_not():
    def saw(n):
        return n / 100 - (0.03 if n % 7 == 0 else 0.0)

    n = enough_scores(saw, 0.63)
    assert saw(n) >= 0.63 > saw(n - 1)


def test_one_may_be_enough():
    assert enough_scores(lambda _: 1.0, 0.8) == 1


def test_the_most_is_tried_and_no_more(monkeypatch):
    tried = []

    def never(n):
        tried.append(n)
        return 0.0

    assert enough_scores(never, 0.8) is None
    assert max(tried) == MOST
    monkeypatch.setattr(enough, "MOST", 100)
    assert enough_scores(lambda n: float(n >= 100), 0.8) == 100


def test_a_power_that_is_unknown_is_never_enough(monkeypatch):
    monkeypatch.setattr(enough, "MOST", 100)
    assert enough_scores(lambda _: float("nan"), 0.8) is None
