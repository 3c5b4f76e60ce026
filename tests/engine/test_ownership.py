"""Every module of ours is on one side: it runs studies, or a number may depend on it."""

import importlib
import sys
from pathlib import Path

import pytest

from simstudy.engine.ownership import CARRIERS, digest_of, ownership_of
from simstudy.identity.fingerprint.what_counts import RUNS, SILENT
from tests import toy

ROOT = Path(__file__).parents[2]
FOLLOWED = {
    "simstudy.engine.block",
    "simstudy.engine.columns",
    "simstudy.engine.derived",
    "simstudy.engine.failures",
    "simstudy.engine.methods",
    "simstudy.engine.noticing",
    "simstudy.engine.pace",
    "simstudy.engine.parameters",
    "simstudy.engine.replicates",
    "simstudy.store.columns",
    "simstudy.store.layout",
    "simstudy.store.types",
}
"""What a scenario's code may call, or what its columns go through, and so counts by content."""


def modules_of(room: str) -> list[str]:
    paths = (ROOT / "simstudy" / room).rglob("[!_]*.py")
    return sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)


@pytest.mark.parametrize("room", ["engine", "store", "analysis", "output"])
def test_a_module_runs_studies_or_is_followed(room):
    for name in modules_of(room):
        is_followed = not (name.startswith(RUNS) or name in SILENT)
        assert is_followed == (name in FOLLOWED), name


def test_what_carries_columns_is_there():
    for name in CARRIERS:
        assert importlib.import_module(name).__name__ == name


def test_whatever_draws_checks_keeps_and_writes_blocks_is_held_to_the_parents():
    """The modules on the way of a block's columns, by the functions that it goes through."""
    from simstudy.atomic_files import write_whole
    from simstudy.engine.columns import checked_columns
    from simstudy.engine.tasks import compute
    from simstudy.store.layout import KeepReplicates
    from simstudy.store.moments import KeepMoments
    from simstudy.store.write import write_blocks

    way = (checked_columns, compute, KeepReplicates, KeepMoments, write_blocks, write_whole)
    assert {step.__module__ for step in way} <= set(CARRIERS)


def test_a_worker_with_another_carrier_is_told_from_this_one(monkeypatch):
    plan = toy.study((3,)).plan()
    before = digest_of(ownership_of(plan).expected)
    assert digest_of(ownership_of(plan).expected) == before
    module = sys.modules["simstudy.store.write"]
    monkeypatch.setattr(module, "in_one_piece", lambda tables: tables[0])
    assert digest_of(ownership_of(plan).expected) != before
