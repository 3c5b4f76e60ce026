"""Seconds of drawing: counted once for each block, beside the blocks, whoever drew them."""

import json
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from simstudy import Study, grid
from simstudy.measures import mean
from simstudy.output.formatting import format_run_time, format_time
from simstudy.store.runs import read_records
from tests.guarantees.content import file_names
from tests.support import INLINE

SIZE = 6  # too few for rows to be analysed a second time
OF_DATA, OF_SLOW = 0.004, 0.06  # seconds of a block


@pytest.fixture
def own_clock(monkeypatch):
    """Time goes by where somebody sleeps, and hardly anywhere else."""

    def ticking(now=0.0):
        while True:
            now += yield now

    ticks = ticking()  # its state is no part of the study's code, as a number would be
    next(ticks)

    def sleep(seconds=1e-6):
        return ticks.send(seconds)

    monkeypatch.setattr(time, "perf_counter", sleep)
    monkeypatch.setattr(time, "sleep", sleep)


@dataclass(frozen=True)
class Sleepy:
    blocks: int

    def draw(self, streams, n_rep):
        time.sleep(OF_DATA)
        return {"x": streams("data").normal(size=n_rep)}


def quick(x):
    return {"y": x}


def slow(x):
    time.sleep(OF_SLOW)
    return {"y": 2 * x}


def other(x):
    return {"y": 3 * x}


def study(**methods):
    chosen = methods or {"quick": quick, "slow": slow}
    scenarios = grid(Sleepy, blocks=[1, 2])
    return Study("sleepy", scenarios, [mean("y")], methods=chosen, block_size=SIZE)


def by_method(result):
    return result.seconds.set_index(["blocks", "method"])


def test_a_resumed_run_adds_to_what_was_spent_and_a_run_that_draws_nothing_does_not(
    tmp_path, own_clock
):
    first = by_method(study().run(2 * SIZE, out=tmp_path, **INLINE))
    assert list(first["replicates_timed"]) == [2 * SIZE] * 6
    for method, seconds in (("slow", OF_SLOW), ("(data)", OF_DATA), ("quick", 0)):
        found = first.xs(method, level="method")["seconds"]
        np.testing.assert_allclose(found, 2 * seconds, atol=1e-3)
    longer = study().run(3 * SIZE, out=tmp_path, **INLINE)
    assert list(by_method(longer)["replicates_timed"]) == [3 * SIZE] * 6
    np.testing.assert_allclose(by_method(longer)["seconds"], 1.5 * first["seconds"], atol=1e-3)
    each = by_method(longer)
    per_replicate = each["seconds"] / each["replicates_timed"]
    np.testing.assert_allclose(each["seconds_per_replicate"], per_replicate)
    again = study().run(3 * SIZE, out=tmp_path, **INLINE)
    pd.testing.assert_frame_equal(by_method(again), each)
    pd.testing.assert_frame_equal(by_method(study().partial_result(out=tmp_path)), each)


def test_what_other_code_took_is_not_counted(tmp_path, own_clock):
    study().run(SIZE, out=tmp_path, **INLINE)
    edited = study(quick=quick, slow=other)
    found = by_method(edited.run(SIZE, out=tmp_path, **INLINE))
    assert (found["replicates_timed"] == SIZE).all()  # and not those of both
    assert (found.xs("slow", level="method")["seconds"] < 1e-3).all()


def test_blocks_are_the_same_bytes_whatever_they_took_and_damage_costs_the_time_only(tmp_path):
    one, two = (study().run(SIZE, out=tmp_path / at, **INLINE) for at in "ab")
    assert file_names(one.folder / "replicates") == file_names(two.folder / "replicates")
    (said,) = (tmp_path / "a" / "sleepy" / "replicates" / "_runs").glob("*.json")
    entries = json.loads(said.read_text())["spent"]
    key, made_from, *rest = entries[0]
    negative = json.dumps({"spent": [[key, made_from, -1, *rest[1:]], *entries[1:]]})
    said.write_text(negative)
    assert key not in read_records(said.parents[1], one.details.store.provenance).spent
    assert study().run(SIZE, out=tmp_path / "a", **INLINE).outcome.n_blocks == 0


def test_a_study_without_methods_has_a_row_for_each_scenario():
    @dataclass(frozen=True)
    class Alone:
        n: int

        def simulate(self, streams, n_rep):
            return {"y": streams("data").normal(size=n_rep)}

    plain = Study("alone", grid(Alone, n=[1, 2]), [mean("y")], block_size=SIZE)
    found = plain.run(SIZE, **INLINE)
    names = ["n", "seconds_per_replicate", "seconds", "replicates_timed"]
    assert list(found.seconds) == names
    assert list(found.seconds["n"]) == [1, 2]
    assert format_run_time(found).endswith("on one core in all")


def test_seconds_are_said_in_a_unit_that_fits():
    said = {0.0: "0 μs", 0.00112345: "1.12 ms", 0.9996: "1 s", 119.0: "119 s", 120.0: "2 min"}
    said |= {9e3: "2.5 h"}
    assert {seconds: format_time(seconds) for seconds in said} == said
