"""Blocks to results: in which portions, and what becomes of blocks whose worker dies."""

import time
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import Thread

import numpy as np
import pytest

from simstudy import Study
from simstudy.design.plan import Rules
from simstudy.engine import loop, tasks
from simstudy.engine.executors import Executor, InProcess, WorkerDiedError
from simstudy.engine.loop import Loop
from simstudy.engine.progress import Silent
from simstudy.engine.tasks import TaskResult, TaskSizes, draw_task
from simstudy.engine.workers import Workers
from simstudy.measures import mean
from simstudy.store.files import Folder
from tests.factories import blocks_of, factory_of, mean_study

PLAN = mean_study((3, 10)).plan()


@pytest.fixture
def factory(tmp_path):
    return factory_of(PLAN, tmp_path)


def drawn(factory, blocks, executor, monkeypatch, plan=PLAN, **how):
    monkeypatch.setattr(loop, "executor_of", lambda *_: executor)
    workers, results = Workers("loky", executor.n_workers), []
    run = Loop(plan.work_units, factory.store, workers, Silent())
    check = run.monitor.check
    monkeypatch.setattr(run.monitor, "check", lambda found: (results.append(found), check(found)))
    run.draw_blocks(blocks, **how)
    return results


class Mortal(Executor):
    """Draws here; a task with a block of these dies, in the pool and in the isolated worker."""

    n_workers = 2

    def __init__(self, pool, isolated=None, *, by_signal=True):
        self.pool, self.by_signal, self.asked = set(pool), by_signal, []
        self.alone = None if isolated is None else Mortal(isolated, by_signal=by_signal)

    def submit(self, task):
        blocks = [(each.key, each.block) for each in task.blocks]
        self.asked.append(blocks)
        done = Future()
        if self.pool.intersection(blocks):
            done.set_exception(WorkerDiedError("SIGKILL", by_signal=self.by_signal))
        else:
            done.set_result(draw_task(task))
        return done

    def isolated(self):
        return self.alone

    def close(self, *, kill):
        self.closed = kill


def first_of(factory, block):
    return next((b.key, b.block) for b in blocks_of(factory, 6) if b.block == block)


def test_blocks_of_a_dead_worker_are_drawn_again_one_by_one(factory, monkeypatch):
    innocent = first_of(factory, 2)
    executor = Mortal([innocent], [])
    results = drawn(factory, blocks_of(factory, 6), executor, monkeypatch)
    assert sum(len(result.done) for result in results) == 12
    assert not any(result.n_failed for result in results)
    assert [innocent] in executor.alone.asked
    assert all(len(blocks) == 1 for blocks in executor.alone.asked)
    assert (executor.closed, executor.alone.closed) == (False, True)
    factory.store.scan()
    assert not blocks_of(factory, 6)


@pytest.mark.parametrize("by_signal", [True, False])
def test_a_block_that_ends_two_workers_is_recorded(by_signal, factory, monkeypatch):
    """What a signal ended is drawn again by the next run: it may have come from outside."""
    bad = first_of(factory, 2)
    executor = Mortal([bad], [bad], by_signal=by_signal)
    results = drawn(factory, blocks_of(factory, 6), executor, monkeypatch)
    failed = [result for result in results if result.n_failed]
    assert [result.done for result in failed] == [(bad,)]
    assert failed[0].first_failure[1] == "SIGKILL"
    assert executor.alone.asked.count([bad]) == 2
    factory.store.scan()
    again = [(b.key, b.block) for b in blocks_of(factory, 6)]
    assert again == ([bad] if by_signal else [])


def test_an_error_ends_workers_that_nobody_waits_for(factory, monkeypatch):
    executor = Mortal([])
    executor.submit = lambda task: (_ for _ in ()).throw(ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        drawn(factory, blocks_of(factory, 2), executor, monkeypatch)
    assert executor.closed is True


def test_a_list_that_comes_late_is_waited_for(tmp_path, monkeypatch):
    plain, seen = Folder.names, []

    def late(self):
        seen.append(plain(self))
        return seen[max(0, len(seen) - 3)]

    monkeypatch.setattr(Folder, "names", late)
    monkeypatch.setattr(loop, "PAUSES_SECONDS", (0.0, 0.0, 0.0))
    run = mean_study((3,)).run(100, out=tmp_path, backend="inline", n_jobs=1, shard=(1, 1))
    assert run.outcome.n_blocks == 2


@dataclass(frozen=True)
class Failing:
    """Normal numbers, of which the first in each block is missing."""

    n: int

    def simulate(self, streams, n_rep):
        x = streams("data").normal(size=n_rep)
        x[0] = np.nan
        return {"x": x}


@pytest.mark.parametrize("how", [{"redraw": True}, {"retry": "failed"}], ids=str)
def test_shards_draw_each_stored_block_again_once(how, tmp_path):
    study = Study("lost", [Failing(3), Failing(4)], measures=[mean("x")], block_size=20)
    where = {"n_rep": 100, "out": tmp_path, "backend": "inline"}
    assert study.run(**where).outcome.n_blocks == 10
    shares = [study.run(shard=(i, 3), **where, **how).outcome.n_blocks for i in (1, 2, 3)]
    assert sorted(shares) == [3, 3, 4]


# ---------------------------------------------------------------- auto
def refuse(*_):
    raise AssertionError("workers were started")


def test_a_short_study_starts_no_workers(monkeypatch, tmp_path):
    monkeypatch.setattr(loop, "executor_of", refuse)
    result = mean_study().run(220, out=tmp_path, backend="auto", n_jobs=2)
    assert result.outcome.n_blocks == 15


def test_workers_are_started_when_they_pay(monkeypatch):
    monkeypatch.setattr(loop, "executor_of", refuse)
    monkeypatch.setattr(loop, "MIN_SECONDS_SAVED", -1e9)
    with pytest.raises(AssertionError, match="workers were started"):
        mean_study().run(1000, backend="auto", n_jobs=2)
    mean_study().run(1000, backend="auto", n_jobs=1)


def test_with_a_time_limit_every_block_is_drawn_where_it_can_be_ended(monkeypatch):
    monkeypatch.setattr(loop, "executor_of", refuse)
    with pytest.raises(AssertionError, match="workers were started"):
        mean_study().run(50, backend="auto", n_jobs=2, block_seconds=60)


# ---------------------------------------------------------------- the size of a task
def result_of(n_blocks, seconds, n_bytes=0):
    done = tuple(("a", block) for block in range(n_blocks))
    return TaskResult(done, (), (), seconds=seconds, n_bytes=n_bytes)


@pytest.mark.parametrize(
    ("seconds_per_block", "n_left", "expected"),
    [
        (0.0, 100, 1),  # nothing is known yet
        (0.01, 1000, 25),  # a quarter of a second
        (0.01, 16, 2),  # two tasks for each of 4 workers, and then some
        (0.001, 30, 25),  # and no tasks of less than a fortieth of a second
        (9.0, 1000, 1),
    ],
)
def test_blocks_in_a_task(seconds_per_block, n_left, expected):
    size = TaskSizes(2)
    size.seconds_per_block = seconds_per_block
    assert size.n_blocks(n_left) == expected


def test_tasks_grow_with_the_run_up_to_a_bound(monkeypatch):
    clock = iter([0.0, 1.0, 100.0, 1e5])
    monkeypatch.setattr(tasks.time, "perf_counter", lambda: next(clock))
    size = TaskSizes(64)
    size.learn_from(result_of(100, 1.0))
    found = [size.n_blocks(10**9) for _ in range(3)]
    assert found == [25, round(100 * tasks.PART_OF_RUN * 100), round(100 * tasks.MAX_SECONDS)]


def test_a_task_is_no_more_than_memory_has_room_for():
    size = TaskSizes(2)
    size.least_seconds = 100.0
    size.learn_from(result_of(10, 1e-3, n_bytes=10 * tasks.TASK_BYTES // 7))
    assert size.n_blocks(10**6) == 7


# ---------------------------------------------------------------- guards
class Late(Mortal):
    """An isolated worker that ends after a while."""

    def submit(self, task):
        clock.now += self.takes
        return super().submit(task)


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now

    def __getattr__(self, name):
        return getattr(time, name)


clock = Clock()


@pytest.mark.parametrize(
    ("takes", "by_signal", "says"),
    [(100.0, False, "took longer than"), (100.0, True, "SIGKILL"), (0.1, False, "SIGKILL")],
    ids=["late", "killed late", "early"],
)
def test_only_a_worker_that_ends_itself_after_the_limit_was_too_slow(
    takes, by_signal, says, factory, monkeypatch
):
    bad = first_of(factory, 2)
    executor = Mortal([bad], [], by_signal=by_signal)
    executor.alone = Late([bad], by_signal=by_signal)
    executor.alone.takes = takes
    monkeypatch.setattr(loop, "time", clock)
    plan = replace(PLAN, rules=Rules(block_seconds=5.0))
    results = drawn(factory, blocks_of(factory, 6), executor, monkeypatch, plan)
    (failed,) = [result for result in results if result.n_failed]
    assert says in failed.first_failure[1]


def test_a_block_that_is_to_be_replaced_is_drawn_again_after_a_crash(factory, monkeypatch):
    """The stored block is that which it replaces, so it does not count as finished."""
    first = list(blocks_of(factory, 1))
    drawn(factory, first, Mortal([]), monkeypatch)
    factory.store.scan()
    (bad, *_) = [(block.key, block.block) for block in first]
    executor = Mortal([bad], [])
    results = drawn(factory, first, executor, monkeypatch, generation=1)
    assert sorted(key for result in results for key in result.done) == sorted(
        (block.key, block.block) for block in first
    )
    assert [bad] in executor.alone.asked


@pytest.mark.parametrize("n_without", [0, 1])
def test_measures_are_tried_until_they_could_be(factory, n_without):
    tried = []

    def try_measures(store):
        tried.append(store)
        return len(tried) > n_without

    run = Loop(
        PLAN.work_units, factory.store, Workers("inline", 1), Silent(), try_measures=try_measures
    )  # fmt: skip
    run.draw(dict.fromkeys(PLAN.keys, 3 * PLAN.block_size))
    assert len(tried) == n_without + 1
    assert tried[0] is factory.store
    assert run.written


class Backwards(Executor):
    """Finishes what it was given in another thread, the last task first."""

    n_workers = 3

    def __init__(self):
        self.begun, self.is_open = [], True
        Thread(target=self.finish, daemon=True).start()

    def submit(self, task):
        done = Future()
        self.begun.append((done, draw_task(task)))
        return done

    def finish(self):
        while self.is_open:
            time.sleep(0.005)
            while self.begun:
                done, result = self.begun.pop()
                done.set_result(result)

    def close(self, *, kill):
        self.is_open = False


def test_tasks_that_finish_in_any_order_are_all_counted(factory, monkeypatch):
    results = drawn(factory, blocks_of(factory, 6), Backwards(), monkeypatch)
    found = [block for result in results for block in result.done]
    assert sorted(found) == sorted(
        (key, block) for key in PLAN.work_units.keys for block in range(6)
    )
    factory.store.scan()
    assert not blocks_of(factory, 6)


def test_what_the_machine_made_fail_is_drawn_again_by_the_next_run(factory, monkeypatch):
    bad = first_of(factory, 2)
    drawn(factory, blocks_of(factory, 6), Mortal([bad], [bad]), monkeypatch)
    factory.store.scan()
    run = Loop(PLAN.work_units, factory.store, Workers("inline", 1), Silent())
    monkeypatch.setattr(loop, "executor_of", lambda *_: InProcess())
    run.draw(dict.fromkeys(PLAN.keys, 6 * PLAN.block_size))
    assert (run.stats.n_blocks, run.stats.n_failed) == (1, 0)
    assert not blocks_of(factory, 6)
