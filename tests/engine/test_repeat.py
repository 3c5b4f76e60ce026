"""What another process draws otherwise is found, whatever made it so, and nothing else is."""

import os
import random
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest

from simstudy import seeded_globals
from simstudy.engine import executors, final_checks
from simstudy.engine.per_replicate import each_replicate
from simstudy.engine.progress import Silent
from simstudy.measures import mean
from simstudy.study import Study
from tests.factories import Sample
from tests.support import ROOT

OWN = np.random.default_rng(1)
WORDS = {str(number) for number in range(40)}  # two processes hardly ever have the same order
SIZE = 10
SAMPLE = Sample(3)


def global_numpy(x, rng):
    return {"e": x.mean() + np.random.normal()}  # noqa: NPY002


def global_python(x):
    return {"e": x.mean() + random.random()}


def of_the_module(x, rng):
    return {"e": x.mean() + OWN.normal()}


def fresh(x, rng):
    return {"e": x.mean() + np.random.default_rng().normal()}


def order_of_a_set(x):
    return {"e": x.mean() + zlib.crc32("".join(WORDS).encode())}


def clock(x):
    return {"e": x.mean() + time.time()}


def process_number(x):
    return {"e": x.mean() + os.getpid()}


def seeded_by_a_stream(x, rng):
    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
    return {"e": x.mean() + np.random.normal()}  # noqa: NPY002


def within_a_context(x, rng):
    with seeded_globals(rng):
        return {"e": x.mean() + np.random.normal() + random.random()}  # noqa: NPY002


def generator_from_a_stream(x, rng):
    return {"e": x.mean() + np.random.default_rng(int(rng.integers(2**31))).normal()}


def plain(x):
    return {"e": x.mean(), "inf": np.inf}


@pytest.fixture(autouse=True)
def _time_for_it(monkeypatch):
    monkeypatch.setattr(final_checks, "MIN_SECONDS", 30.0)


def noticed(*methods, scenarios=(SAMPLE,), out=None, n_rep=SIZE):
    named = {method.__name__: each_replicate(method) for method in methods}
    study = Study("again", scenarios, [mean("e")], methods=named, block_size=SIZE)
    run = study.run(n_rep, out=out, backend="inline", n_jobs=1, progress=Silent())
    return [text for text in run.outcome.noticed if "another process draws other" in text], run


@pytest.mark.parametrize(
    "method",
    [global_numpy, global_python, of_the_module, fresh, order_of_a_set, clock, process_number],
    ids=lambda method: method.__name__,
)
def test_numbers_that_another_process_draws_otherwise_are_named(method):
    (said,), _ = noticed(method, plain)
    assert said.startswith(f"method {method.__name__} of Sample(n_obs=3): another process")
    assert "values of e from the same seed" in said


def test_numbers_that_come_from_streams_give_no_word():
    state = np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    said, run = noticed(within_a_context, generator_from_a_stream, plain)
    assert (said, run.outcome.noticed) == ([], [])
    assert (np.random.get_state()[1] == state[0]).all()  # noqa: NPY002
    assert random.getstate() == state[1]
    assert noticed(seeded_by_a_stream)[1].outcome.noticed == []


def test_generators_in_the_code_are_named_whether_or_not_a_stream_is_used():
    for method in (fresh, global_numpy):
        _, run = noticed(method)
        (said,) = [text for text in run.outcome.noticed if text.startswith("generators other")]
        assert "in tests.engine.test_repeat" in said


def test_it_is_said_once_and_stays_with_the_blocks(tmp_path):
    scenarios = [Sample(2), Sample(3)]
    _, run = noticed(clock, scenarios=scenarios, out=tmp_path)
    _, again = noticed(clock, scenarios=scenarios, out=tmp_path, n_rep=2 * SIZE)
    assert len(run.outcome.noticed) == 1
    assert again.outcome.noticed == run.outcome.noticed


def test_with_no_time_nothing_is_started(monkeypatch):
    monkeypatch.setattr(final_checks, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(final_checks, "_pools", {})
    assert noticed(clock)[0] == []
    assert not final_checks._pools


def true_or_false(x):
    return {"e": x.mean(axis=1) > 0}


def zero_or_one(x):
    return {"e": np.where(x.mean(axis=1) > 0, 1.0, 0.0)}


def test_a_boolean_beside_doubles_of_another_method_is_the_same_number():
    """Blocks of both methods may be in one file, whose column holds doubles."""
    study = Study("shared", [SAMPLE], [mean("e")], block_size=SIZE,
                  methods={"one": true_or_false, "other": zero_or_one})  # fmt: skip
    assert study.run(60, backend="inline", n_jobs=1).outcome.noticed == []


STRICT = """
import gc
from tests.engine.test_repeat import SAMPLE, mean, true_or_false, Study

study = Study("strict", [SAMPLE], [mean("e")], methods={"one": true_or_false}, block_size=10)
result = study.run(20)
del result
gc.collect()
study.run(20, backend="loky", n_jobs=2)
"""


def test_a_run_leaves_nothing_open_that_python_warns_of():
    """As in a user's tests, where every warning is an error."""
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", STRICT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("of_workers", [None, "0", "1", "7"])
def test_the_other_process_has_another_hash_seed_than_workers(of_workers, monkeypatch):
    """Otherwise sets have the same order in both, and a dependence on it is not found."""
    if of_workers is None:
        monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    else:
        monkeypatch.setenv("PYTHONHASHSEED", of_workers)
    made = []
    monkeypatch.setattr(final_checks, "_pools", {})
    monkeypatch.setattr(
        "joblib.externals.loky.ProcessPoolExecutor", lambda **given: made.append(given["env"])
    )
    final_checks._pool()
    assert made[0]["PYTHONHASHSEED"] != executors._hash_seed()["PYTHONHASHSEED"]
