"""Workers are held to the code of the process that started the run."""

from dataclasses import replace

from simstudy.engine.provenance import compute_provenance
from tests.factories import mean_study


def expected():
    return compute_provenance(mean_study((3,)).plan()).expected


def test_whatever_draws_checks_keeps_and_writes_blocks_is_held_to_the_parents():
    entries = expected().entries
    way = ("columns", "tasks", "methods")
    assert {f"engine/{step}.py" for step in way} < entries.keys()
    assert {"store/arrow_schema.py", "store/block_files.py", "places.py"} < entries.keys()


def test_a_worker_with_other_code_says_what_differs():
    code = expected()
    assert code.differences() == []
    assert code.digest == expected().digest
    names = ("engine/tasks.py", "tests.factories.Mean.simulate")
    other = replace(code, entries=code.entries | dict.fromkeys(names, frozenset({"#"})))
    assert other.differences() == [f"{name} has changed" for name in names]
    assert other.digest != code.digest
