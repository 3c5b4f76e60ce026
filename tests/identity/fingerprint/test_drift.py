"""What a run itself changed is taken for what it was."""

import pytest

from simstudy.identity.fingerprint import drift

SETTLES = {"table": "#1", "f": "#a"}


@pytest.fixture(autouse=True)
def nothing_learned(monkeypatch):
    monkeypatch.setattr(drift, "_drifts", {})


def test_what_a_run_changed_is_what_it_was():
    drift.learn_drift(SETTLES, {"table": "#2", "f": "#a", "new": "#3"})
    assert drift.settled({"table": "#2", "f": "#a", "new": "#3"}) == {**SETTLES, "new": "#3"}


def test_what_something_else_changed_is_other():
    drift.learn_drift(SETTLES, {"table": "#2", "f": "#a"})
    for other in ({"table": "#3", "f": "#a"}, {"other": "#2"}):
        assert drift.settled(other) == other


def test_a_table_that_was_filled_with_another_constant_is_other():
    drift.learn_drift({"table": "#1", "SCALE": "#two"}, {"table": "#2", "SCALE": "#two"})
    filled_before = {"table": "#2", "SCALE": "#three"}
    assert drift.settled(filled_before) == filled_before


def test_another_study_that_uses_the_same_table_is_as_it_was():
    drift.learn_drift({"table": "#1", "first": "#a"}, {"table": "#2", "first": "#a"})
    assert drift.settled({"table": "#2", "second": "#b"}) == {"table": "#1", "second": "#b"}


def test_run_after_run_leads_back_to_the_first():
    drift.learn_drift({"count": "#1"}, {"count": "#2"})
    drift.learn_drift({"count": "#2"}, {"count": "#3"})
    assert drift.settled({"count": "#3"}) == {"count": "#1"}
