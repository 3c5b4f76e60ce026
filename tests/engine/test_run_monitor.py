"""A run watched as it goes: failures counted against a limit, constants, a sign of life."""

import os
import pickle
from dataclasses import dataclass, make_dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from simstudy.engine import run_monitor
from simstudy.engine.block import Address
from simstudy.engine.run_monitor import RunMonitor
from simstudy.errors import AlwaysFailsError, StudyError, describe, swallowed
from simstudy.measures import mean
from simstudy.output.folder import publish
from simstudy.study import Rules, Study
from tests.factories import SIZE, Deadly, Notes, deadly_study, plan_of
from tests.guarantees.hostile import CASES, Drawing
from tests.support import INLINE


@dataclass(frozen=True)
class Drawn:
    """Draws as it should, and may leave the folder in which it was started."""

    goes_to: str = ""

    def simulate(self, streams, n_rep):
        if self.goes_to:
            os.chdir(self.goes_to)
        return {"x": streams("data").normal(size=n_rep)}


# ---------------------------------------------------------------- failures
def test_the_error_behind_is_there_and_on_workers_its_frames():
    study = deadly_study(Deadly((0,)), max_failed=None)
    with pytest.raises(AlwaysFailsError) as here:
        study.run(20, **INLINE)
    assert isinstance(here.value.__cause__, ZeroDivisionError)
    with pytest.raises(AlwaysFailsError, match="ZeroDivisionError: block 0") as elsewhere:
        study.run(20, backend="threads", n_jobs=2)
    assert elsewhere.value.frames == here.value.frames
    assert "die: raise ZeroDivisionError" in here.value.frames[-1]


def test_an_error_and_its_frames_come_through_a_pickle():
    sent = pickle.loads(pickle.dumps(AlwaysFailsError("no", ["a.py, line 1"])))
    assert (str(sent), sent.frames) == ("no", ("a.py, line 1",))


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_limit_that_is_no_share_is_refused(share):
    with pytest.raises(StudyError, match=r"max_failed=.*from 0 to 1"):
        Study("x", [Deadly()], rules=Rules(max_failed=share))


def test_a_run_over_the_limit_stays_refused_and_draws_nothing_more(tmp_path):
    study = replace(
        CASES["as many as may fail"].study_of("as many as may fail"), rules=Rules(max_failed=0.1)
    )
    stored = []
    for _ in range(3):
        with pytest.raises(StudyError, match=r"max_failed=0\.1 of them.*retry=failed"):
            study.run(60, out=tmp_path, **INLINE)
        stored.append(sorted(path.name for path in tmp_path.rglob("*.parquet")))
    assert stored[0], "what was drawn before the limit was reached is kept"
    assert stored[1] == stored[2] == stored[0], "the runs that were refused went on drawing"
    lax = replace(study, rules=Rules(max_failed=0.9)).run(60, out=tmp_path, **INLINE)
    assert lax.failures["rep"].nunique() == 20
    with pytest.raises(StudyError, match="20 of 60 replicates failed"):
        study.run(60, out=tmp_path, **INLINE)


# ---------------------------------------------------------------- constants, signs of life
def test_a_kind_of_warning_is_shown_once_and_kept_for_each_scenario(monkeypatch):
    notes = Notes()
    monitor = RunMonitor(plan_of(), notes)
    for kind, key in (("one", "a"), ("one", "b"), ("other", "a")):
        monitor.warn(kind, key, f"{kind} of {key}")
    assert notes.said == ["warning: one of a", "warning: other of a"]
    assert monitor.warnings == {
        ("one", "a"): "one of a", ("one", "b"): "one of b", ("other", "a"): "other of a",
    }  # fmt: skip
    monkeypatch.setattr(run_monitor, "MAX_WARNINGS", 3)
    monitor.warn("one", "c", "one too many")
    monitor.warn("third", "a", "the first of its kind")
    assert [*monitor.warnings][3:] == [("third", "a")]


# ---------------------------------------------------------------- a replay
def fitted(z):
    """A loop of fits that keeps the text of what it caught, and says what that was."""
    errors = np.full(len(z), None, dtype=object)
    for row in np.flatnonzero(z > 0):
        error = ArithmeticError(f"no fit at {z[row]}")
        swallowed(error, row)
        errors[row] = describe(error)
    return {"x": z, "error": errors}


def test_a_replay_raises_what_a_loop_of_fits_swallowed():
    study = Study(
        "fits", [Drawing("one by one")], [mean("x")], methods={"m": fitted}, block_size=20
    )
    failures = study.run(20, **INLINE).failures
    row = failures.iloc[2]
    with pytest.raises(ArithmeticError, match="no fit at") as raised:
        study.replay(Address.parse(row["address"]))
    assert f"ArithmeticError: {raised.value}" == row["error"]


# ---------------------------------------------------------------- names, types
@pytest.mark.parametrize("name", ["measure", "rep", "converged"])
def test_a_factor_that_has_the_name_of_a_column_of_tables_is_refused(name):
    def simulate(self, streams, n_rep):
        return {"x": streams("data").random(n_rep)}

    kind = make_dataclass("Kind", [(name, float)], frozen=True, namespace={"simulate": simulate})
    with pytest.raises(StudyError, match=f"a factor is named '{name}', which is .* a standard col"):
        Study("named", [kind(1.0), kind(2.0)])


def test_a_factor_of_several_types_is_text_where_a_file_needs_one(tmp_path):
    kinds = [Deadly((99,)), Deadly((98,), how=0.5), Deadly((97,), how="auto")]
    study = Study("mixed", kinds, [mean("x")], block_size=10)
    made = publish(study.run(20, out=tmp_path, **INLINE), figures=False, report=False)
    for file in ("summary", "scenarios"):
        read = pd.read_parquet(made.folder / f"{file}.parquet")
        assert list(read["how"]) == ["raise", "0.5", "auto"]


def test_deterministic_scenarios_say_so():
    @dataclass(frozen=True)
    class Listed:
        deterministic: ClassVar[bool] = False

        def simulate(self, streams, n_rep):
            return {"x": np.arange(n_rep) % 2}

    class Said(Listed):
        deterministic: ClassVar[bool] = True

    def noticed(scenario):
        notes, study = Notes(), Study("listed", [scenario], [mean("x")], block_size=SIZE)
        run = study.run(SIZE, progress=notes, **INLINE)
        assert [f"warning: {text}" for text in run.outcome.warnings] == notes.said
        return notes.said

    assert "set the class attribute deterministic = True" in noticed(Listed())[0]
    assert not noticed(Said())


# ---------------------------------------------------------------- remarks
def test_what_was_noticed_stays_with_the_blocks(tmp_path):
    study = CASES["a generator of its own"].study_of("a generator of its own")
    study, folder = replace(study, block_size=10), {"out": tmp_path}
    noticed = study.run(160, **INLINE, progress=Notes(), **folder).outcome.warnings
    assert any("none of its random streams" in text for text in noticed)
    for n_rep in (160, 170):
        result = study.run(n_rep, **INLINE, progress=Notes(), **folder)
        assert sorted(result.outcome.warnings) == sorted(noticed)
        made = publish(result, figures=False, report=False)
        text = (made.folder / "manifest.json").read_text()
        assert "none of its random streams" in text
    found = study.partial_result(170, **folder).outcome.warnings
    assert sorted(found) == sorted(noticed)


def test_results_stay_where_they_were_asked_for(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    study = Study("moves", [Drawn(str(tmp_path / "elsewhere"))], [mean("x")], block_size=10)
    result = study.run(40, out="results", **INLINE)
    assert result.folder == tmp_path / "results" / "moves"
    assert len(result.summary) == 1
    assert not list((tmp_path / "elsewhere").iterdir())


# ---------------------------------------------------------------- the limit itself
@pytest.mark.parametrize(
    ("max_failed", "n_failed", "is_stopped"),
    [(0.0, 0, False), (0.0, 1, True), (0.5, 10, False), (0.5, 11, True), (1.0, 20, False)],
)
def test_as_many_may_fail_as_the_limit_says(max_failed, n_failed, is_stopped):
    plan = replace(plan_of(max_failed=max_failed), block_size=20)
    (key, *_) = plan.keys
    monitor = RunMonitor(plan, Notes(), wanted={key: 20}, n_failed={key: n_failed})
    if is_stopped:
        with pytest.raises(StudyError, match=rf"{n_failed} of 20 replicates failed, more than"):
            monitor.raise_if_too_many_failed()
    else:
        monitor.raise_if_too_many_failed()
