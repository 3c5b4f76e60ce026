"""How many blocks go into a task."""

import pytest

from simstudy.engine import portions
from simstudy.engine.portions import MOST_SECONDS, PART_OF_RUN, TASK_BYTES, Portions
from simstudy.engine.tasks import Receipt


def receipt(n_blocks, seconds, n_bytes=0):
    done = tuple(("a", block) for block in range(n_blocks))
    return Receipt(done, seconds, 0, None, (0.0,) * n_blocks, (), n_bytes)


@pytest.mark.parametrize(
    ("seconds_per_block", "n_left", "expected"),
    [
        (0.0, 100, 1),  # nothing is known yet
        (0.01, 1000, 25),  # a quarter of a second
        (0.01, 16, 2),  # two tasks for each of 4 workers, and then some
        (9.0, 1000, 1),
    ],
)
def test_blocks_in_a_task(seconds_per_block, n_left, expected):
    size = Portions(2, 0.25)
    size.seconds_per_block = seconds_per_block
    assert size.n_blocks(n_left) == expected


def test_tasks_grow_with_the_run_up_to_a_bound(monkeypatch):
    clock = iter([0.0, 1.0, 100.0, 1e5])
    monkeypatch.setattr(portions.time, "perf_counter", lambda: next(clock))
    size = Portions(64, 0.25)
    size.learn_from(receipt(100, 1.0))
    found = [size.n_blocks(10**9) for _ in range(3)]
    assert found == [25, round(100 * PART_OF_RUN * 100), round(100 * MOST_SECONDS)]


def test_a_task_is_no_more_than_memory_has_room_for():
    size = Portions(2, 100.0)
    size.learn_from(receipt(10, 1e-3, n_bytes=10 * TASK_BYTES // 7))
    assert size.n_blocks(10**6) == 7
