"""Columns of replicates: vectors, derived columns, and the cache of columns that were read."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from simstudy.analysis import replicates
from simstudy.engine.block import Address
from simstudy.engine.methods import each_replicate
from simstudy.errors import StudyError
from simstudy.measures import mean, power
from simstudy.study import Rules, Study
from tests.factories import Sample, mean_study
from tests.support import INLINE, on, with_rules

MEASURES = [mean("share"), power("compatible")]


@dataclass(frozen=True)
class PValues:
    """A p-value for each of `n_test` points; the second replicate of a block may be stuck."""

    n_test: int
    alpha: float = 0.25
    stuck: bool = False

    def simulate(self, streams, n_rep):
        p = streams("data").random((n_rep, self.n_test))
        columns = {"p_value": p, "first": p[:, 0]}
        if self.stuck:
            error = np.full(n_rep, None, dtype=object)
            error[1] = "no convergence"
            columns["error"] = error
        return columns


def share(p_value, alpha):
    return (p_value < alpha).mean(axis=-1)


def compatible(share, alpha):
    return np.where(np.isnan(share), np.nan, share < alpha)


def study(scenarios=(PValues(3), PValues(8)), **changes):
    settings = {
        "vectors": {"p_value": "n_test"},
        "store_vectors": ("p_value",),
        "derived": {"share": share, "compatible": compatible},
        "measures": MEASURES,
        "block_size": 10,
    }
    return Study("tests", list(scenarios), **with_rules({**settings, **changes}))


def drawn(scenario, n_rep, block=10):
    """What the scenario draws, block by block, without a store."""
    plan = study([scenario]).plan(1)
    streams = [plan.streams(scenario, b) for b in range(-(-n_rep // block))]
    blocks = [scenario.simulate(each, block)["p_value"] for each in streams]
    return np.concatenate(blocks)[:n_rep]


# ---------------------------------------------------------------- vectors
@pytest.mark.parametrize(
    "workers", [INLINE, on("threads", 2), pytest.param(on("loky", 2), marks=pytest.mark.slow)]
)
def test_a_vector_is_as_long_as_its_scenario_says(workers, tmp_path):
    result = study().run(25, out=tmp_path, **workers)
    for scenario in result.plan.scenarios:
        found = result.columns(scenario, "p_value")["p_value"]
        assert found.shape == (25, scenario.n_test)
        np.testing.assert_array_equal(found, drawn(scenario, 25))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, bool])
def test_a_vector_keeps_its_type(dtype):
    @dataclass(frozen=True)
    class Typed:
        def simulate(self, streams, n_rep):
            return {"v": np.arange(n_rep * 4).reshape(n_rep, 4).astype(dtype)}

    result = Study("typed", [Typed()], rules=Rules(vectors={"v": 4}), block_size=5).run(
        10, **INLINE
    )
    assert result.columns(Typed(), "v")["v"].dtype == dtype


def test_a_vector_may_be_of_each_cell():
    @dataclass(frozen=True)
    class Cells:
        n: int = 4

        def simulate(self, streams, n_rep):
            return {"v": np.arange(n_rep * 8.0).reshape(n_rep, 2, 4), "x": np.zeros((n_rep, 2))}

    axes = {"method": ("a", "b")}
    result = Study(
        "cells", [Cells()], axes=axes, measures=[mean("top")], block_size=5,
        rules=Rules(vectors={"v": "n"}, store_vectors=("v",)),
        derived={"top": lambda v: v.max(axis=-1)},
    ).run(5, **INLINE)  # fmt: skip
    found = result.columns(Cells(), "v", "top")
    np.testing.assert_array_equal(found["v"], np.arange(40.0).reshape(5, 2, 4))
    np.testing.assert_array_equal(found["top"], found["v"].max(axis=-1))
    assert result.summary["method"].tolist() == ["a", "b"]


def test_a_table_has_vectors_only_where_they_are_named():
    result = study([PValues(3)]).run(4, **INLINE)
    assert list(result.replicates.columns) == [
        "n_test", "alpha", "stuck", "rep", "first", "share", "compatible",
    ]  # fmt: skip
    named = result.rows(columns=["p_value"])["p_value"]
    np.testing.assert_array_equal(np.stack(named), drawn(PValues(3), 4))


def test_a_failed_replicate_has_no_vector():
    result = study([PValues(3, stuck=True)]).run(20, **INLINE)
    columns = result.columns(*result.plan.scenarios, "p_value", "share", "compatible")
    lost = [1, 11]
    for column in columns.values():
        assert np.isnan(column[lost]).all()
        assert np.isfinite(np.delete(column, lost, axis=0)).all()
    assert result.summary["n_failed"].tolist()[:2] == [2, 2]


# ---------------------------------------------------------------- derived
def test_a_derived_column_is_what_its_function_says():
    result = study().run(25, **INLINE)
    for scenario in result.plan.scenarios:
        expected = (drawn(scenario, 25) < scenario.alpha).mean(axis=1)
        found = result.columns(scenario, "share", "compatible", "first")
        np.testing.assert_array_equal(found["share"], expected)
        np.testing.assert_array_equal(found["compatible"], expected < scenario.alpha)
    rows = result.summary.query("measure == 'mean_share'").set_index("n_test")
    for scenario in result.plan.scenarios:
        expected = (drawn(scenario, 25) < scenario.alpha).mean()
        assert rows.loc[scenario.n_test, "estimate"] == pytest.approx(expected, rel=1e-14)


def test_a_new_function_of_stored_numbers_draws_nothing(tmp_path):
    study().run(25, out=tmp_path, **INLINE)

    def other(share, alpha):
        return np.where(np.isnan(share), np.nan, share < 2 * alpha)

    edited = study(derived={"share": share, "compatible": other})
    result = edited.run(25, out=tmp_path, **INLINE)
    assert result.outcome.n_blocks == 0
    assert result.summary.equals(edited.run(25, **INLINE).summary)
    assert not result.summary.equals(study().run(25, out=tmp_path, **INLINE).summary)


def twice_as_many(p_value, alpha):
    return (p_value < 2 * alpha).mean(axis=-1)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"derived": {"share": twice_as_many, "compatible": compatible}},
         "PValues: derived column share has changed"),
        ({"derived": {"share": share, "compatible": compatible, "more": twice_as_many}},
         "PValues: derived column more is new"),
        ({"store_vectors": ("p_value",)}, "PValues: vector p_value is new"),
    ],
    ids=["changed", "new", "vector"],
)  # fmt: skip
def test_what_reads_a_vector_that_is_not_stored_is_drawn_again_with_a_line(changes, line, tmp_path):
    first = {"store_vectors": ()}
    before = study(**first).run(25, out=tmp_path, **INLINE)
    edited = study(**{**first, **changes})
    with pytest.warns(UserWarning, match=line):
        result = edited.run(25, out=tmp_path, **INLINE)
    assert result.outcome.n_blocks == 6
    assert result.summary.equals(edited.run(25, **INLINE).summary)
    assert study(**first).run(25, out=tmp_path, **INLINE).outcome.n_blocks == 0
    np.testing.assert_array_equal(
        *(each.columns(PValues(3), "first")["first"] for each in (before, result))
    )


def test_it_may_ask_for_the_scenario(tmp_path):
    def shared(scenario, p_value):
        return (p_value < scenario.alpha).mean(axis=-1)

    derived = {"share": shared, "compatible": compatible}
    own = study(derived=derived).run(25, out=tmp_path, **INLINE)
    assert own.summary.equals(study().run(25, **INLINE).summary)


# ---------------------------------------------------------------- without vectors, without rows
def test_a_column_derived_of_a_vector_is_stored_in_its_place(tmp_path):
    lean = study(store_vectors=())
    result = lean.run(25, out=tmp_path, **INLINE)
    assert result.details.store.column_names() >= {"share", "first"}
    assert not result.details.store.column_names() & {"p_value", "compatible"}
    assert result.summary.equals(study().run(25, **INLINE).summary)
    with pytest.raises(StudyError, match=r"vector 'p_value' is not stored: .*store_vectors"):
        result.columns(PValues(3), "p_value")


def test_a_vector_that_draw_returns_is_read_as_one_of_a_method():
    @dataclass(frozen=True)
    class Draws:
        def draw(self, streams, n_rep):
            return {"p": streams("data").random((n_rep, 3))}

    made = Study("draws", [Draws()], methods={"m": lambda p: {"x": p[:, 0]}}, block_size=10,
                 derived={"top": lambda p: p.max(axis=-1)}, measures=[mean("top")],
                 rules=Rules(vectors={"p": 3}))  # fmt: skip
    result = made.run(10, **INLINE)
    (scenario,) = result.plan.scenarios
    p = scenario.draw(result.plan.streams(scenario, 0), 10)["p"]
    assert result.row("mean_top")["estimate"] == pytest.approx(p.max(axis=1).mean(), rel=1e-14)


def test_a_derived_column_that_a_column_of_a_vector_reads_is_stored_as_well():
    def double(first):
        return 2 * first

    def beyond(p_value, double):
        return (p_value > double[:, None]).mean(axis=-1)

    derived = {"double": double, "beyond": beyond, "half": lambda beyond: beyond / 2}
    result = study([PValues(3)], derived=derived, measures=[mean("half")], store_vectors=()).run(
        20, **INLINE
    )
    p = drawn(PValues(3), 20)
    expected = (p > 2 * p[:, :1]).mean() / 2
    assert result.row("mean_half")["estimate"] == pytest.approx(expected, rel=1e-14)
    assert {"double", "beyond"} <= result.details.store.column_names()


def test_replaying_shows_the_vector_although_it_is_not_stored():
    lean = study([PValues(3)], store_vectors=())
    (key,) = lean.plan(1).keys
    found = lean.replay(Address(key, 13))
    np.testing.assert_array_equal(found["p_value"], drawn(PValues(3), 20)[13])


# ---------------------------------------------------------------- refusals
def named(p_valeu):
    return p_valeu


def short(p_value):
    return p_value[1:, 0]


def broken(p_value):
    raise ZeroDivisionError("a defect")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"derived": {"x": named}}, "derived column 'x' reads 'p_valeu', which is neither a stored "
         "column nor a factor .*did you mean 'p_value'"),
        ({"derived": {"first": share}}, "'first' has the name of a stored column"),
        ({"derived": {"compatible": compatible, "share": share}},
         "'compatible' reads 'share', which is neither"),
        ({"derived": {"alpha": share}}, "'alpha' has the name of a factor, an axis or a vector"),
        ({"derived": {"error": share}}, "a column is named 'error': give it a text"),
        ({"derived": {"x": lambda *all_of_it: 1}}, "reads 'all_of_it', which is neither"),
        ({"vectors": {"p_value": 4}}, r"has shape \(10, 3\).*the declared length 4 it must be"),
        ({"vectors": {"p_value": "n_test", "q": 2}}, "the vector 'q', which the study declares"),
        ({"measures": [mean("p_value")]}, "measure 'mean_p_value' reads 'p_value', a vector"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_before_more_than_a_block_is_drawn(changes, said, tmp_path):
    settings = {"measures": [mean("first")], "derived": {}}
    with pytest.raises(StudyError, match=said) as refusal:
        study([PValues(3)], **{**settings, **changes}).run(1000, out=tmp_path, **INLINE)
    assert "\n" not in str(refusal.value)
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (short, r"column 'x' has shape \(9,\); with n_rep=10 it must be \(10,\)"),
        (broken, "derived column 'x' of PValues.*ZeroDivisionError: a defect"),
        (lambda p_value: {"a": 1}, "derived column 'x' is one value for all replicates"),
    ],
)
def test_what_a_derived_column_must_be(function, said):
    declared = study([PValues(3)], derived={"x": function}, measures=[mean("x")])
    with pytest.raises(StudyError, match=said):
        declared.run(20, **INLINE)


# ---------------------------------------------------------------- of methods
def of_block(x):
    return {"p_value": np.abs(x)}


def of_replicate(x, rng):
    return np.abs(x) + rng.random()


def test_each_method_has_its_vectors_and_what_is_derived_of_them(tmp_path):
    def compared(**methods):
        return Study(
            "compared", [Sample(4)], methods=methods, block_size=5,
            rules=Rules(vectors={"p_value": "n_obs"}, store_vectors=("p_value",)),
            derived={"largest": lambda p_value: p_value.max(axis=-1)}, measures=[mean("largest")],
        )  # fmt: skip

    slow = each_replicate(of_replicate, returns="p_value")
    one = compared(whole=of_block).run(10, out=tmp_path, **INLINE)
    assert one.outcome.n_blocks == 2
    both = compared(whole=of_block, slow=slow).run(10, out=tmp_path, **INLINE)
    assert both.outcome.n_blocks == 2
    columns = both.columns(Sample(4), "p_value", "largest")
    assert columns["p_value"].shape == (10, 2, 4)
    np.testing.assert_array_equal(columns["largest"], columns["p_value"].max(axis=-1))
    assert both.summary["method"].tolist() == ["whole", "slow"]


def test_flags_and_labels_may_be_derived_where_some_blocks_failed():
    derived = {
        "low": lambda p_value: p_value[:, 0] < 0.5,
        "label": lambda p_value: np.where(p_value[:, 0] < 0.5, "low", "high"),
    }
    scenarios = [PValues(3), PValues(4, stuck=True)]
    result = study(scenarios, derived=derived, measures=[mean("low")]).run(20, **INLINE)
    stuck = result.columns(PValues(4, stuck=True), "low", "label")
    assert np.isnan(stuck["low"][[1, 11]]).all()
    assert stuck["label"][1] is None
    assert set(stuck["label"][[0, 2]]) <= {"low", "high"}


@dataclass(frozen=True)
class OfCells:
    """A vector for each of two cells; a block fails as a whole."""

    n_test: int = 3
    bad: int = 1

    def simulate(self, streams, n_rep):
        if streams.block == self.bad:
            raise ValueError("a log of 0")
        return {"p_value": streams("data").random((n_rep, 2, self.n_test))}


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_block_that_failed_as_a_whole_is_derived_beside_the_others(bad, tmp_path):
    of_cells = Study(
        "of_cells",
        [OfCells(bad=bad), OfCells(n_test=4, bad=-1)],
        axes={"cell": ("a", "b")},
        derived={"share": lambda p_value: (p_value < 0.5).mean(axis=-1)},
        measures=[mean("share")],
        block_size=10,
        rules=Rules(vectors={"p_value": "n_test"}, store_vectors=("p_value",), max_failed=1),
    )
    result = of_cells.run(30, out=tmp_path, **INLINE)
    share = result.columns(OfCells(bad=bad), "share")["share"]
    vector = result.columns(OfCells(bad=bad), "p_value")["p_value"]
    assert share.shape == (30, 2)
    failed = np.arange(30) // 10 == bad
    assert np.isnan(share).all(axis=1).tolist() == failed.tolist()
    np.testing.assert_array_equal(share[~failed], (vector[~failed] < 0.5).mean(axis=-1))
    rows = result.summary.query("measure != 'convergence_rate'")
    assert rows["n_failed"].tolist() == [10, 10, 0, 0]


@dataclass(frozen=True)
class Selects:
    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(size=(n_rep, 4))}


def test_a_share_of_a_level_of_text_counts_replicates_that_have_a_text():
    @each_replicate
    def select(x):
        if x[0] > 1.5:
            raise ValueError("too large")
        return {"selected": "aic" if x.mean() > 0 else "bic"}

    study = Study(
        "selects",
        [Selects()],
        methods={"m": select},
        derived={"is_aic": lambda selected: selected == "aic"},
        measures=[mean("is_aic")],
    )
    result = study.run(400, **INLINE)
    counts = result.replicates["selected"].value_counts()
    row = result.row("mean_is_aic")
    assert 0 < row["n_failed"] == 400 - counts.sum()
    assert row["estimate"] == pytest.approx(counts["aic"] / counts.sum(), abs=1e-12)


# ---------------------------------------------------------------- columns that were read before
@pytest.fixture
def result():
    return mean_study().run(40, backend="inline")


def test_what_is_written_into_columns_is_not_there_when_they_are_asked_for_again(result):
    scenario, recent = result.plan.scenarios[0], result.details.replicates
    plain = result.columns(scenario, "estimate")["estimate"].copy()
    result.columns(scenario, "estimate")["estimate"][:] = 2
    assert (result.columns(scenario, "estimate")["estimate"] == plain).all()
    assert len(recent._recent) == 1
    assert pickle.loads(pickle.dumps(recent))._recent == {}


def test_a_full_cache_is_emptied(result, monkeypatch):
    scenario = result.plan.scenarios[0]
    result.columns(scenario, "estimate")
    monkeypatch.setattr(replicates, "CACHE_BYTES", 100)
    assert set(result.columns(scenario, "estimate", "truth")) == {"estimate", "truth"}
    assert not result.details.replicates._recent
