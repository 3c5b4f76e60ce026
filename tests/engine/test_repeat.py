"""What another process draws otherwise is found, whatever made it so, and nothing else is."""

import gc
import itertools
import json
import math
import os
import random
import subprocess
import sys
import time
import warnings
import zlib
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from simstudy import publish, seeded_globals
from simstudy.engine import executors, graceful_stop, loop, second_draw
from simstudy.engine.graceful_stop import is_worker
from simstudy.engine.methods import each_replicate
from simstudy.engine.progress import Silent
from simstudy.measures import mean
from simstudy.output.terminal import print_closing
from simstudy.study import Rules, Study
from tests.factories import Sample
from tests.support import INLINE, ROOT

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
def _is_on(monkeypatch):
    monkeypatch.setattr(loop, "check_repeatable", second_draw.check_repeatable)
    monkeypatch.setattr(second_draw, "MIN_SECONDS", 30.0)
    monkeypatch.setattr(second_draw, "MORE_SECONDS", 30.0)


def noticed(*methods, scenarios=(SAMPLE,), out=None, n_rep=SIZE, size=SIZE):
    named = {method.__name__: each_replicate(method) for method in methods}
    study = Study("again", scenarios, [mean("e")], methods=named, block_size=size)
    run = study.run(n_rep, out=out, backend="inline", n_jobs=1, progress=Silent())
    return [text for text in run.outcome.warnings if "another process draws other" in text], run


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
    assert (said, run.outcome.warnings) == ([], [])
    assert (np.random.get_state()[1] == state[0]).all()  # noqa: NPY002
    assert random.getstate() == state[1]
    assert noticed(seeded_by_a_stream)[1].outcome.warnings == []


def test_it_is_said_once_and_stays_with_the_blocks(tmp_path):
    scenarios = [Sample(2), Sample(3)]
    _, run = noticed(clock, scenarios=scenarios, out=tmp_path)
    _, again = noticed(clock, scenarios=scenarios, out=tmp_path, n_rep=2 * SIZE)
    assert len(run.outcome.warnings) == 1
    assert again.outcome.warnings == run.outcome.warnings


def checked(run):
    """What a run says of what it could not check."""
    return [text for text in run.outcome.warnings if text.startswith("not checked")]


def test_what_there_was_no_time_for_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(second_draw, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(second_draw, "PART_OF_RUN", 0.0)
    said, run = noticed(clock, out=tmp_path)
    assert said == []
    (text,) = checked(run)
    assert "of method clock of Sample (its time was over). study.check() takes" in text
    published = publish(run)
    page = (published.folder / "report.html").read_text(encoding="utf-8")
    assert "not checked: whether another process" in page
    (found, *_) = json.loads((published.folder / "manifest.json").read_text())["warnings"]
    assert (found["kind"], found["text"]) == ("run", text)
    print_closing(run, published)
    assert text in capsys.readouterr().out


def busy_for_seconds(x):
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    return {"e": x.mean()}


def test_a_method_that_takes_too_long_is_named_and_the_others_are_checked(monkeypatch):
    monkeypatch.setattr(second_draw, "MIN_SECONDS", 0.4)  # five replicates take a second
    said, run = noticed(busy_for_seconds, clock)
    assert [text.split(" of ")[0] for text in said] == ["method clock"]
    (text,) = checked(run)
    assert "method busy_for_seconds of Sample (its time was over)" in text


def fails_in_a_process_without(number):
    def licensed(x):
        if os.getpid() != number:
            raise ValueError("no licence in this process")
        return {"e": x.mean()}

    return licensed


def test_a_method_that_fails_there_is_not_checked():
    for n_blocks in (1, 9):
        said, run = noticed(fails_in_a_process_without(os.getpid()), n_rep=n_blocks * SIZE)
        assert said == []
        (text,) = checked(run)
        assert "(drawing failed there: " in text
        assert "no licence in this process" in text


@dataclass(frozen=True)
class OneByOne:
    def draw_one(self, rng):
        return {"x": rng.normal(size=3)}


def slow_clock(x, rng):
    time.sleep(0.05)
    return {"e": x.mean() + rng.normal() + time.time()}


def slow_and_right(x, rng):
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    return {"e": x.mean() + rng.normal()}


def test_a_few_replicates_are_enough_where_each_has_its_own_generator(monkeypatch):
    monkeypatch.setattr(second_draw, "MIN_SECONDS", 1.5)
    said, run = noticed(slow_and_right, slow_clock, scenarios=[OneByOne()], n_rep=30, size=30)
    assert [text.split(" of ")[0] for text in said] == ["method slow_clock"]
    assert checked(run) == []


def test_a_failure_there_does_not_end_the_check():
    def only_here(x):
        if is_worker():
            raise SystemExit
        return {"e": x.mean()}

    said, run = noticed(clock, only_here)
    assert [text.split(" of ")[0] for text in said] == ["method clock"]
    assert checked(run) == [] or "only_here" in checked(run)[0]


REMEMBERED = {}


def key_lacks_a_factor(x):
    """A cache whose key is not the whole scenario: the first scenario's value serves all."""
    return {"e": x.mean() + REMEMBERED.setdefault("scale", float(len(x)))}


def test_scenarios_in_another_order_show_a_cache_whose_key_lacks_a_factor():
    REMEMBERED.clear()
    said, _ = noticed(key_lacks_a_factor, scenarios=[Sample(2), Sample(3)])
    assert "method key_lacks_a_factor of Sample(n_obs=3): another process" in said[0]


def seconds(x):
    return {"e": x.mean(), "seconds": time.time()}


def test_a_column_that_is_expected_to_differ_is_declared():
    study = Study("again", [SAMPLE], [mean("e")], methods={"m": each_replicate(seconds)},
                  block_size=SIZE, rules=Rules(unrepeatable=("seconds",)))  # fmt: skip
    assert study.run(SIZE, **INLINE).outcome.warnings == []
    bare = replace(study, rules=Rules())
    assert "other values of seconds from" in bare.run(SIZE, **INLINE).outcome.warnings[0]


def test_check_takes_the_time_that_it_needs(monkeypatch):
    monkeypatch.setattr(second_draw, "MIN_SECONDS", 0.0)
    named = {"clock": each_replicate(clock), "plain": each_replicate(plain)}
    study = Study("again", [SAMPLE], [mean("e")], methods=named, block_size=SIZE)
    (said,) = study.check()
    assert said.startswith("method clock of Sample(n_obs=3): another process")
    assert replace(study, methods={"plain": named["plain"]}).check() == []


def true_or_false(x):
    return {"e": x.mean(axis=1) > 0}


def zero_or_one(x):
    return {"e": np.where(x.mean(axis=1) > 0, 1.0, 0.0)}


def test_a_boolean_beside_doubles_of_another_method_is_the_same_number():
    """Blocks of both methods may be in one file, whose column holds doubles."""
    study = Study("shared", [SAMPLE], [mean("e")], block_size=SIZE,
                  methods={"one": true_or_false, "other": zero_or_one})  # fmt: skip
    assert study.run(60, backend="inline", n_jobs=1).outcome.warnings == []


STRICT = """
import gc
from tests.engine.test_repeat import SAMPLE, mean, true_or_false, Study

study = Study("strict", [SAMPLE], [mean("e")], methods={"one": true_or_false}, block_size=10)
result = study.run(20)
del result
gc.collect()
study.run(20, backend="loky", n_jobs=2)
"""


@pytest.mark.slow
def test_a_process_leaves_nothing_open_that_python_warns_of():
    """As in a user's tests, where every warning is an error."""
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", STRICT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_leaves_nothing_open(tmp_path, recwarn):
    warnings.simplefilter("always", ResourceWarning)
    noticed(plain, out=tmp_path)
    gc.collect()
    assert [each for each in recwarn if each.category is ResourceWarning] == []


@pytest.mark.parametrize("of_workers", [None, "0", "1", "7"])
def test_the_other_process_has_another_hash_seed_than_workers(of_workers, monkeypatch):
    """Otherwise sets have the same order in both, and a dependence on it is not found."""
    if of_workers is None:
        monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    else:
        monkeypatch.setenv("PYTHONHASHSEED", of_workers)
    made = []
    monkeypatch.setattr(second_draw, "_pools", {})
    monkeypatch.setattr(
        "joblib.externals.loky.ProcessPoolExecutor", lambda **given: made.append(given["env"])
    )
    second_draw._pool()
    assert made[0]["PYTHONHASHSEED"] != executors._hash_seed()["PYTHONHASHSEED"]


RUNS_WHEN_IMPORTED = """
import os
from dataclasses import dataclass
from simstudy import Study
from simstudy.measures import mean

with open("imports", "a") as log:
    log.write(f"{os.getpid()}\\n")

@dataclass(frozen=True)
class Own:
    n: int = 3

    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(size=(n_rep, self.n))}

def average(x):
    return {"e": x.mean(axis=1)}

Study("again", [Own()], [mean("e")], methods={"average": average}).run(100, progress=False)
"""


@pytest.mark.slow
def test_a_module_that_runs_its_study_when_imported_starts_one_process(tmp_path):
    (tmp_path / "trial.py").write_text(RUNS_WHEN_IMPORTED)
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    subprocess.run(
        [sys.executable, "-c", "import trial"], cwd=tmp_path, check=True, timeout=120,
        capture_output=True, env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert len((tmp_path / "imports").read_text().splitlines()) == 2


def test_a_worker_that_imports_such_a_module_starts_no_other_process(monkeypatch):
    begun = []
    monkeypatch.setattr(graceful_stop._is_worker, "is_set", lambda: True)
    monkeypatch.setattr(second_draw, "in_other_process", lambda *_: begun.append("one"))
    assert noticed(plain)[1].outcome.warnings == begun == []


# ---------------------------------------------------------------- two drawn blocks
def as_doubles(value):
    if isinstance(value, list):
        return [as_doubles(each) for each in value]
    return float(value) if isinstance(value, int) else value


COLUMNS = {
    "floats": [1.0, 2.5, math.nan],
    "floats as whole numbers": [1, 2, 3],
    "the same as floats": [1.0, 2.0, 3.0],
    "booleans": [True, False, True],
    "the same as numbers": [1.0, 0.0, 1.0],
    "missing": [1.0, None, math.nan],
    "missing elsewhere": [None, 1.0, math.nan],
    "texts": ["a", None, "b"],
    "lists": [[1.0, 4.0], [2.0, 3.0]],
    "nested lists": [[[1.0], [2.0]], [[3.0], [4.0]]],
}


def differ(one, other):
    tables = (pa.table({"x": each}) for each in (one, other))
    return list(second_draw.different_columns(*tables, rtol={}, usual=0.0)) == ["x"]


def test_a_difference_is_what_the_slow_and_obvious_text_of_all_values_tells():
    for (one, first), (other, second) in itertools.combinations(COLUMNS.items(), 2):
        same = repr(as_doubles(first)) == repr(as_doubles(second))
        assert differ(pa.array(first), pa.array(second)) != same, (one, other)


@pytest.mark.parametrize("value", [1.0, 1e-300, 1e300, 0.5])
def test_one_last_bit_is_a_difference(value):
    whole = [0.0, value, 2.0]
    assert not differ(pa.array(whole), pa.array(whole))
    assert differ(pa.array(whole), pa.array([0.0, np.nextafter(value, 2), 2.0]))


def test_a_column_of_other_units_is_no_difference():
    own = pa.table({"x": [1.0, 2.0]})
    for others in (pa.float64(), pa.list_(pa.float64()), pa.string()):
        wide = own.append_column("of another method", pa.nulls(2, others))
        assert second_draw.different_columns(wide, own, rtol={}) == {}


def test_no_difference_is_made_by_chunks_slices_or_the_bits_of_nan():
    whole = pa.array([0.0, 1.0, math.nan, 3.0])
    odd_nan = np.array([1, 0x7FF8000000000123, 3]).view(float)
    odd_nan[[0, 2]] = 1.0, 3.0
    for one in (
        pa.chunked_array([whole.slice(1, 1), whole.slice(2, 2)]),
        pa.chunked_array([whole.slice(1)]),
        pa.chunked_array([pa.array(odd_nan)]),
    ):
        assert not differ(one, pa.array([1.0, math.nan, 3.0]))


@pytest.mark.parametrize(("for_more", "n_drawn"), [(30.0, 3), (0.0, 1)])
def test_further_scenarios_of_a_method_are_drawn_again_within_their_own_time(
    for_more, n_drawn, monkeypatch
):
    drawn = []

    def redrawn(draw, payload, seconds):
        drawn.append(seconds)
        return second_draw.Answer({}, 1.0)

    monkeypatch.setattr(second_draw, "in_other_process", redrawn)
    monkeypatch.setattr(second_draw, "MORE_SECONDS", for_more)
    monkeypatch.setattr(second_draw, "PART_OF_RUN", 0.0)
    said, _ = noticed(plain, scenarios=[Sample(n) for n in (2, 3, 4)])
    np.testing.assert_allclose(drawn, [30.0, 29.0, 28.0][:n_drawn], atol=0.5)
    assert said == [], "one scenario of each method was drawn again"


def test_reading_and_comparing_count_as_the_check_s_time(monkeypatch):
    drawn = []

    def redrawn(draw, payload, seconds):
        drawn.append(seconds)
        return second_draw.Answer({"x": []}, 0.0)

    def compared(*_, **__):
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        return {}

    monkeypatch.setattr(second_draw, "in_other_process", redrawn)
    monkeypatch.setattr(second_draw, "different_columns", compared)
    monkeypatch.setattr(second_draw, "MORE_SECONDS", 0.01)
    monkeypatch.setattr(second_draw, "PART_OF_RUN", 0.0)
    noticed(plain, scenarios=[Sample(n) for n in (2, 3, 4)])
    assert len(drawn) == 1
