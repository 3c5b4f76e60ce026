"""What was kept of blocks' times is read whatever a clock or a disk has done to it."""

import json

import pytest

from tests.output.standing import study

FIRST, LAST = "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"


@pytest.fixture
def drawn(tmp_path):
    """A result, the file of its times, and what that says."""
    result = study().run(60, out=tmp_path)
    (path,) = result.folder.glob("*/_seconds/*.json")
    return result, path, json.loads(path.read_text())


def test_a_clock_that_was_set_back_turns_no_time_around(drawn):
    result, path, said = drawn
    path.write_text(json.dumps(said | {"drawn": [LAST, FIRST]}))
    assert result.times == (FIRST, LAST)


@pytest.mark.parametrize(
    "drawn_at", [[FIRST], [FIRST, "2026-02-30T00:00:00Z"], [FIRST, None], FIRST, {"a": FIRST}]
)
def test_what_is_no_time_says_nothing(drawn, drawn_at):
    result, path, said = drawn
    path.write_text(json.dumps(said | {"drawn": drawn_at}))
    assert result.times is None
