"""What runs noted of their blocks is read whatever a clock or a disk has done to it."""

import json

import pytest

from simstudy.store import runs
from simstudy.store.runs import (
    BlockTimings,
    RunRecord,
    Times,
    merge_records,
    read_records,
    record_files,
    write_record,
)
from tests.output.standing import study

FIRST, LAST = "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"


@pytest.fixture
def drawn(tmp_path):
    """A result, and the file of what its run noted."""
    result = study().run(60, out=tmp_path)
    (path,) = result.folder.glob("*/_runs/*.json")
    return result, path


def test_a_clock_that_was_set_back_turns_no_time_around(drawn):
    result, path = drawn
    content = json.loads(path.read_text())
    content["spent"] = [[*entry[:5], LAST, FIRST] for entry in content["spent"]]
    path.write_text(json.dumps(content))
    assert result.details.times == (FIRST, LAST)


@pytest.mark.parametrize("text", ["", "[]", '{"spent": 3}', '{"spent": [[1, 2, 3, 4, 5, 6]]}'])
def test_a_damaged_file_says_nothing(drawn, text):
    result, path = drawn
    path.write_text(text)
    record = read_records(path.parents[1], result.details.store.provenance)
    assert (record.times, record.spent) == (None, {})


def test_many_files_become_one_that_says_the_same(drawn, monkeypatch):
    result, path = drawn
    blocks = path.parents[1]
    for i in range(3):
        record = RunRecord(
            dict.fromkeys(result.plan.keys, BlockTimings(2, 0.5, 0.25)),
            Times(f"2026-01-0{3 - i}T00:00:00Z", "2026-01-04T00:00:00Z"),
            {("odd", next(iter(result.plan.keys))): f"text {i}"},
        )
        write_record(blocks, f"run{i}", result.details.store.provenance, record)
    before = read_records(blocks, result.details.store.provenance)
    merge_records(blocks)
    assert len(record_files(blocks)) == 4, "few stay as they are"
    monkeypatch.setattr(runs, "MANY_FILES", 3)
    merge_records(blocks)
    assert len(record_files(blocks)) == 1
    assert read_records(blocks, result.details.store.provenance) == before
    assert sum(spent.n_blocks for spent in before.spent.values()) > 6
