"""Workers are held to the code of the process that started the run."""

from simstudy.engine import provenance
from simstudy.engine.provenance import PACKAGE, compute_provenance, digest_of
from tests import toy


def test_whatever_draws_checks_keeps_and_writes_blocks_is_held_to_the_parents():
    *_, carriers = compute_provenance(toy.study((3,)).plan()).expected
    way = ("columns", "tasks", "per_replicate")
    assert {f"engine/{step}.py" for step in way} < carriers.keys()
    assert {"store/arrow_schema.py", "store/block_files.py", "atomic_files.py"} < carriers.keys()


def test_a_worker_with_another_carrier_is_told_from_this_one(monkeypatch):
    plan = toy.study((3,)).plan()
    before = digest_of(compute_provenance(plan).expected)
    assert digest_of(compute_provenance(plan).expected) == before
    monkeypatch.setattr(provenance, "CARRIERS", (PACKAGE / "errors.py",))
    assert digest_of(compute_provenance(plan).expected) != before
