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


@pytest.mark.parametrize(
    ("n_workers", "n_left", "n_beside", "fits"),
    [
        (1, 100, 0, True),
        (2, 400, 0, True),
        (2, 399, 0, False),  # more than half of a worker's share
        (1, 100, 3001, False),  # 30 s in which a scenario is ahead of another
        (2, 400, 3001, True),
    ],
)
def test_a_task_may_have_all_blocks_of_a_file_where_nobody_waits_for_it(
    n_workers, n_left, n_beside, fits
):
    size = Portions(n_workers, 0.25)
    assert not size.may_take(100, n_left)  # nothing is known yet
    size.drawing_per_block = 0.01
    assert size.may_take(100, n_left, n_beside) == fits


def test_nor_may_it_be_long_or_large():
    size = Portions(1, 0.25)
    size.drawing_per_block = 0.01
    assert size.may_take(200, 10**6)
    assert not size.may_take(201, 10**6)  # 2 s
    size.bytes_per_block = TASK_BYTES / 150
    assert [n for n in (149, 151) if size.may_take(n, 10**6)] == [149]
