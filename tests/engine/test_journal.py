"""A note of what is being drawn is found by the next run, if its writer has gone."""

import json
import os
import time

import pytest

from simstudy.engine import journal
from simstudy.engine.assignment import Assignment
from simstudy.engine.jobs import missing_jobs
from simstudy.engine.journal import cut_short, forget, noted
from simstudy.store.blocks import Store
from simstudy.store.layout import KeepReplicates
from tests import toy

PLAN = toy.study((3,)).plan()


@pytest.fixture
def task(tmp_path):
    assignment = Assignment(PLAN, Store(tmp_path, PLAN.block_size), KeepReplicates())
    return assignment.task(missing_jobs(PLAN, dict.fromkeys(PLAN.keys, 2), assignment.store))


def die_at(task):
    """A process that ends while it draws."""
    child = os.fork()
    if not child:
        with noted(task):
            os._exit(0)
    os.waitpid(child, 0)


def test_what_a_process_that_has_gone_was_drawing_is_known_until_it_is_forgotten(task):
    die_at(task)
    assert cut_short(task.files, "") == {(job.key, job.block) for job in task.jobs}
    assert cut_short(task.files, "of other code") == set()
    forget(task.files)
    assert cut_short(task.files, "") == set()
    assert list(task.files.path.iterdir()) == []


def test_a_process_that_lives_is_left_to_draw_what_it_draws(task):
    with noted(task):
        (note,) = task.files.path.iterdir()
        assert cut_short(task.files, "") == set()
        forget(task.files)
        assert note.exists()
    assert not note.exists()


def test_another_process_of_the_same_number_is_another_one(task):
    with noted(task):
        (note,) = task.files.path.iterdir()
        said = json.loads(note.read_text())
        note.write_text(json.dumps(said | {"began": "1"}))
        assert len(cut_short(task.files, "")) == 2


def test_a_note_of_another_machine_counts_and_is_kept_for_a_day(task):
    with noted(task):
        (note,) = task.files.path.iterdir()
        note.write_text(json.dumps(json.loads(note.read_text()) | {"machine": "another"}))
        assert len(cut_short(task.files, "")) == 2
        forget(task.files)
        assert note.exists()
        long_ago = time.time() - 2 * journal.FORGOTTEN_AFTER
        os.utime(note, (long_ago, long_ago))
        forget(task.files)
        assert not note.exists()
