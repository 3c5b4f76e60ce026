"""What a run itself changed is taken for what it was."""

import pytest

from simstudy.provenance import fingerprint
from simstudy.provenance.fingerprint import learn_changes
from simstudy.provenance.fingerprint import without_changes_by_runs as settled

SETTLES = {"table": "#1", "f": "#a"}


@pytest.fixture(autouse=True)
def nothing_learned(monkeypatch):
    monkeypatch.setattr(fingerprint, "_changed_by_runs", {})


def test_what_a_run_changed_is_what_it_was():
    learn_changes(SETTLES, {"table": "#2", "f": "#a", "new": "#3"})
    assert settled({"table": "#2", "f": "#a", "new": "#3"}) == {
        **SETTLES,
        "new": "#3",
    }


def test_what_something_else_changed_is_other():
    learn_changes(SETTLES, {"table": "#2", "f": "#a"})
    for other in ({"table": "#3", "f": "#a"}, {"other": "#2"}):
        assert settled(other) == other


def test_a_table_that_was_filled_with_another_constant_is_other():
    learn_changes({"table": "#1", "SCALE": "#two"}, {"table": "#2", "SCALE": "#two"})
    filled_before = {"table": "#2", "SCALE": "#three"}
    assert settled(filled_before) == filled_before


def test_another_study_that_uses_the_same_table_is_as_it_was():
    learn_changes({"table": "#1", "first": "#a"}, {"table": "#2", "first": "#a"})
    assert settled({"table": "#2", "second": "#b"}) == {
        "table": "#1",
        "second": "#b",
    }


def test_run_after_run_leads_back_to_the_first():
    learn_changes({"count": "#1"}, {"count": "#2"})
    learn_changes({"count": "#2"}, {"count": "#3"})
    assert settled({"count": "#3"}) == {"count": "#1"}
