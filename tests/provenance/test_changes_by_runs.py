"""What a run itself changed is taken for what it was."""

import pytest

from simstudy.provenance import fingerprint
from simstudy.provenance.fingerprint import learn_changes, without_changes_by_runs

ONE, TWO = {"table": "#1", "f": "#a"}, {"table": "#2", "f": "#a"}
COUNTED = [({"count": f"#{n}"}, {"count": f"#{n + 1}"}) for n in (1, 2)]
SCALED = ({"table": "#1", "SCALE": "#two"}, {"table": "#2", "SCALE": "#two"})


@pytest.mark.parametrize(
    ("runs", "found", "settled"),
    [
        ([(ONE, TWO | {"new": "#3"})], TWO | {"new": "#3"}, ONE | {"new": "#3"}),
        ([(ONE, TWO)], {"table": "#3"}, {"table": "#3"}),  # something else changed it
        ([(ONE, TWO)], {"other": "#2"}, {"other": "#2"}),
        # a table that was filled with another constant is another one
        ([SCALED], {"table": "#2", "SCALE": "#three"}, {"table": "#2", "SCALE": "#three"}),
        # another study that uses the same table is as it was
        ([(ONE, TWO)], {"table": "#2", "second": "#b"}, {"table": "#1", "second": "#b"}),
        (COUNTED, {"count": "#3"}, {"count": "#1"}),  # run after run leads back to the first
    ],
)
def test_what_runs_changed_is_what_it_was(runs, found, settled, monkeypatch):
    monkeypatch.setattr(fingerprint, "_changed_by_runs", {})
    for before, after in runs:
        learn_changes(before, after)
    assert without_changes_by_runs(found) == settled
