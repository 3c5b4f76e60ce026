"""What a run itself changed is taken for what it was."""

import pytest

from simstudy.identity.fingerprint import drift


@pytest.fixture(autouse=True)
def nothing_learned(monkeypatch):
    monkeypatch.setattr(drift, "_drift", {})


def test_what_a_run_changed_is_what_it_was():
    drift.learn_drift({"table": "#1", "f": "#a"}, {"table": "#2", "f": "#a", "new": "#3"})
    assert drift.settled("table", "#2") == "#1"
    assert drift.settled("f", "#a") == "#a"
    assert drift.settled("new", "#3") == "#3"


def test_what_something_else_changed_is_other():
    drift.learn_drift({"table": "#1"}, {"table": "#2"})
    assert drift.settled("table", "#3") == "#3"
    assert drift.settled("other", "#2") == "#2"


def test_run_after_run_leads_back_to_the_first():
    drift.learn_drift({"count": "#1"}, {"count": "#2"})
    drift.learn_drift({"count": "#2"}, {"count": "#3"})
    assert drift.settled("count", "#3") == "#1"


def test_what_goes_round_comes_to_an_end():
    drift.learn_drift({"switch": "#1"}, {"switch": "#2"})
    drift.learn_drift({"switch": "#2"}, {"switch": "#1"})
    assert drift.settled("switch", "#1") in ("#1", "#2")
