"""Workers are held to the code of the process that started the run."""

import importlib
from pathlib import Path

from simstudy.engine import provenance
from simstudy.engine.provenance import CARRIERS, compute_provenance, digest_of
from tests import toy


def test_what_carries_columns_is_there():
    for name in CARRIERS:
        assert importlib.import_module(name).__name__ == name


def test_whatever_draws_checks_keeps_and_writes_blocks_is_held_to_the_parents():
    """The modules on the way of a block's columns, by the functions that it goes through."""
    from simstudy.atomic_files import atomic_write
    from simstudy.engine.columns import validate_columns
    from simstudy.engine.tasks import draw_task
    from simstudy.store.arrow_schema import ReplicateStorage
    from simstudy.store.block_files import write_blocks
    from simstudy.store.moments import MomentStorage

    way = (validate_columns, draw_task, ReplicateStorage, MomentStorage, write_blocks, atomic_write)
    assert {step.__module__ for step in way} <= set(CARRIERS)


def test_a_worker_with_another_carrier_is_told_from_this_one(monkeypatch):
    plan = toy.study((3,)).plan()
    before = digest_of(compute_provenance(plan).expected)
    assert digest_of(compute_provenance(plan).expected) == before
    monkeypatch.setattr(provenance, "source_file", lambda name: Path(__file__))
    assert digest_of(compute_provenance(plan).expected) != before
