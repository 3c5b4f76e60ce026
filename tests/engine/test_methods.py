"""Methods of a study: each is drawn, stored, owned and may fail apart from the others."""

import warnings
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from simstudy.design import grid
from simstudy.design.plan import Method, Plan
from simstudy.engine.block import Address, draw_block
from simstudy.engine.methods import DatasetCache, each_replicate
from simstudy.errors import StudyError
from simstudy.measures import mean, rejection_rate
from simstudy.provenance.streams import generator
from simstudy.study import Rules, Study
from tests.support import INLINE, with_rules

SIZE = 20  # replicates in a block


@dataclass(frozen=True)
class TwoSample:
    """Two normal samples, of which one may be shifted."""

    n1: int
    shift: float = 0.0
    alpha: float = 0.05

    def draw(self, streams, n_rep):
        rng = streams("data")
        return {
            "x": rng.normal(size=(n_rep, self.n1)),
            "y": self.shift + rng.normal(size=(n_rep, 7)),
            "unit": "kg",
        }


def difference(x, y, alpha):
    estimate = y.mean(axis=1) - x.mean(axis=1)
    return {"estimate": estimate, "hit": np.abs(estimate) > 1 - alpha}


def noisy(x, y, streams):
    noise = streams("data").normal(size=len(x))
    return {"estimate": y.mean(axis=1) - x.mean(axis=1) + noise, "hit": noise > 0}


def fragile(x, rng):
    if x[0] > 1:
        raise ValueError("too large")
    return {"estimate": x[0] + rng.normal(), "hit": x[0] > 0}


def of_factors_alone(n1, unit, x):
    assert unit == "kg"
    return {"estimate": np.full(len(x), float(n1)), "hit": np.zeros(len(x))}


METHODS = {
    "difference": difference,
    "noisy": noisy,
    "fragile": each_replicate(fragile),
    "factors": of_factors_alone,
}


def study(methods=METHODS, **changes):
    declared = {
        "name": "two_sample",
        "scenarios": grid(TwoSample, n1=[4, 9], shift=[0.0, 1.0]),
        "measures": [mean("estimate", name="mean"), rejection_rate("hit", name="hits")],
        "block_size": SIZE,
        "n_rep": 3 * SIZE,
        "max_failed": 1,
    }
    return Study(**with_rules({**declared, **changes}), methods=methods)


def some(*names):
    return {name: METHODS[name] for name in names}


def columns_of(result, method, *names):
    """By scenario, a method's columns."""
    at = result.plan.axes[result.plan.methods_axis].index(method)
    names = names or ("estimate", "hit")
    return {
        key: {name: result.columns(scenario, name)[name][:, at] for name in names}
        for key, scenario in result.plan.keys.items()
    }


def assert_same_columns(first, second):
    assert first.keys() == second.keys()
    for key in first:
        for name, column in first[key].items():
            np.testing.assert_array_equal(column, second[key][name], err_msg=f"{key} {name}")


# ---------------------------------------------------------------- what a method is given
def plainly(scenario, block, n_rep=SIZE, seed=1):
    """The columns of a block by a slow, obvious loop over addresses."""
    name = f"TwoSample(n1={scenario.n1}" + (f",shift={scenario.shift:g}" * bool(scenario.shift))
    at = (seed, f"two_sample/{n_rep}", name + ")", block)
    rng = generator(*at, "data")
    x, y = rng.normal(size=(n_rep, scenario.n1)), scenario.shift + rng.normal(size=(n_rep, 7))
    noise = generator(*at, "method", "noisy", "data").normal(size=n_rep)
    small = np.full(n_rep, np.nan)
    for row in range(n_rep):
        if x[row, 0] <= 1:
            own = generator(*at, "method", "fragile", "replicate", row)
            small[row] = x[row, 0] + own.normal()
    alike = y.mean(axis=1) - x.mean(axis=1)
    return {"difference": alike, "noisy": alike + noise, "fragile": small}


def test_every_method_is_the_plain_loop():
    result = study().run(**INLINE)
    for scenario in result.plan.scenarios:
        plain = [plainly(scenario, block) for block in range(3)]
        found = result.columns(scenario, "estimate")["estimate"]
        for at, name in enumerate(("difference", "noisy", "fragile")):
            expected = np.concatenate([block[name] for block in plain])
            np.testing.assert_array_equal(found[:, at], expected, err_msg=name)
        np.testing.assert_array_equal(found[:, 3], scenario.n1)


def test_a_default_holds_where_nothing_has_its_name():
    def level(x, alpha=0.5, beta=0.25):
        return {"estimate": np.full(len(x), alpha), "hit": np.full(len(x), beta == 0.25)}

    found = study({"level": level}).run(SIZE, **INLINE).rows()
    assert set(found["estimate"]) == {0.05}, "a factor"
    assert found["hit"].all(), "its own"


def beside_size(x, scenario):
    return {"estimate": x[..., 0] - scenario.n1, "hit": 0.0 * x[..., 0]}


def test_a_method_may_ask_for_the_scenario():
    methods = {"whole": beside_size, "each": each_replicate(beside_size)}
    result = study(methods).run(SIZE, **INLINE)
    for scenario in result.plan.scenarios:
        x = scenario.draw(result.plan.streams(scenario, 0), SIZE)["x"]
        for found in result.columns(scenario, "estimate")["estimate"].T:
            np.testing.assert_array_equal(found, x[:, 0] - scenario.n1)


def test_truth_values_are_kept_as_numbers():
    """So that a table can hold them beside another method's floats."""
    hits = study(some("difference")).run(SIZE, **INLINE).rows()["hit"]
    assert set(hits) <= {0, 1}
    assert hits.dtype.kind == "i"


# ---------------------------------------------------------------- the same bits
@pytest.mark.parametrize(
    "names", [["noisy"], ["fragile", "difference"], [*METHODS][::-1]], ids="+".join
)
def test_bits_do_not_depend_on_which_methods_run_together(names):
    whole, few = (study(methods).run(**INLINE) for methods in (METHODS, some(*names)))
    for name in names:
        assert_same_columns(columns_of(few, name), columns_of(whole, name))


def test_methods_of_scenarios_that_share_random_numbers_share_them():
    result = study(some("noisy"), common_random_numbers=("shift",)).run(**INLINE)
    first, second = (result.scenario(n1=4, shift=shift) for shift in (0.0, 1.0))
    own, shifted = (result.columns(s, "estimate")["estimate"][:, 0] for s in (first, second))
    np.testing.assert_allclose(shifted - own, 1.0, atol=1e-12)
    contrast = result.contrast("mean", first=second, second=first)
    assert bool(contrast["paired"].iloc[0])
    assert contrast["mcse"].iloc[0] < 1e-12


# ---------------------------------------------------------------- which blocks are drawn
def n_drawn(folder, methods, **how):
    return study(methods).run(out=folder, **INLINE, **how).outcome.n_blocks


def test_adding_removing_and_reordering_draws_only_what_is_new(tmp_path):
    of_one = 3 * 4  # blocks of all scenarios
    assert n_drawn(tmp_path, some("difference", "fragile")) == 2 * of_one
    before = study(some("difference", "fragile")).run(out=tmp_path, **INLINE)
    assert before.outcome.n_blocks == 0
    assert n_drawn(tmp_path, some("noisy", "fragile", "difference")) == of_one
    assert n_drawn(tmp_path, some("fragile")) == 0
    assert n_drawn(tmp_path, METHODS) == of_one
    after = study().run(out=tmp_path, **INLINE)
    for name in ("difference", "fragile"):
        assert_same_columns(columns_of(after, name), columns_of(before, name))
    pd.testing.assert_frame_equal(after.summary, study().run(**INLINE).summary)


def test_another_name_is_another_method(tmp_path):
    n_drawn(tmp_path, {"a": noisy, "b": difference})
    assert n_drawn(tmp_path, {"c": noisy, "b": difference}) == 3 * 4
    named = study({"a": noisy, "b": difference, "c": noisy}).run(out=tmp_path, **INLINE)
    assert named.outcome.n_blocks == 0
    (drawn, *_) = named.plan.scenarios
    first, _, third = named.columns(drawn, "estimate")["estimate"].T
    assert not np.array_equal(first, third), "its random streams are its name's"


def test_the_axis_of_methods_has_a_name_and_no_number_has(tmp_path):
    n_drawn(tmp_path, METHODS)
    renamed = study(axes={"test": tuple(METHODS)}).run(out=tmp_path, **INLINE)
    assert renamed.outcome.n_blocks == 0
    summary = renamed.summary
    assert list(summary["test"].unique()) == list(METHODS)
    pd.testing.assert_frame_equal(
        summary.rename(columns={"test": "method"}), study().run(out=tmp_path, **INLINE).summary
    )
    few = dict(list(METHODS.items())[:2])
    fewer = replace(study(axes={"test": tuple(METHODS)}), methods=few)
    assert fewer.all_axes == {"test": tuple(few)}
    assert fewer.run(out=tmp_path, **INLINE).outcome.n_blocks == 0


def returning(name):
    return each_replicate(lambda x: {"a": x[0], "b": x[1]}, returns=("a", "b", "a")[name:])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (returning(0), returning(1)),
        (lambda x: {"a": x[:, 0]}, each_replicate(lambda x: {"a": x[0]})),
    ],
    ids=["names", "one by one"],
)
def test_what_a_method_holds_counts(first, second, tmp_path):
    def drawn(method):
        changes = {"measures": (), "n_rep": SIZE}
        return study({"m": method}, **changes).run(out=tmp_path, **INLINE).outcome.n_blocks

    assert drawn(first) == 4
    assert drawn(first) == 0
    assert drawn(second) == 4
    assert drawn(first) == 0


# ---------------------------------------------------------------- data
@dataclass(frozen=True)
class Given:
    """A scenario whose data a test gives."""

    k: int = 1

    def draw(self, streams, n_rep):
        return self.given(n_rep) if callable(self.given) else self.given


def giving(data):
    scenario = Given()
    object.__setattr__(scenario, "given", data)
    return scenario


def of_given(data, methods, **changes):
    methods = tuple(Method(name, function) for name, function in methods.items())
    axes = {"method": tuple(method.name for method in methods)}
    rules = {"max_failed": 1, **changes.pop("rules", {})}
    plan = Plan(
        "given", 1, (giving(data),), axes, SIZE, methods=methods, rules=Rules(**rules), **changes
    ).work_units
    cache = DatasetCache()
    return [draw_block(plan, drawn, 0, cache) for drawn in plan.scenarios]


def refusal_of(data, methods=None, **changes):
    with pytest.raises(StudyError) as refusal:
        of_given(data, methods or {"m": lambda x: {"e": x}}, **changes)
    return str(refusal.value)


X = np.arange(SIZE, dtype=float)


def test_a_method_that_writes_into_the_data_fails_and_is_told_why():
    def rude(x):
        x[:] = 0
        return {"e": x}

    def rude_by_row(x, z):
        z += 1
        return {"e": z[0]}

    data = {"x": X, "z": np.ones((SIZE, 2))}
    whole, rows, polite = of_given(
        data, {"rude": rude, "rows": each_replicate(rude_by_row), "m": lambda x: {"e": x}}
    )
    for columns in (whole.columns, rows.columns):
        (said,) = set(columns["error"])
        assert said.startswith("ValueError: ")
        assert said.endswith("so write into a copy of them")
    np.testing.assert_array_equal(polite.columns["e"], X)


def counted(data):
    """Data, and the number of times that they were drawn."""
    calls = []
    return lambda n_rep: calls.append(n_rep) or data(), calls


def test_data_are_drawn_once_for_all_methods():
    data, calls = counted(lambda: {"x": X, "unit": "kg", "level": np.float64(1)})
    methods = {name: lambda x: {"e": x} for name in "abc"}
    Study("given", [giving(data)], methods=methods, block_size=SIZE, n_rep=3 * SIZE).run(**INLINE)
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (X, "draw returned ndarray, not data by name: return a dict of arrays"),
        ({"k": X}, "draw returned 'k', which is also a factor of Given or one of scenario"),
        ({"rng": X}, "draw returned 'rng', which is also a factor of Given or one of"),
        ({"x": [1, 2]}, "draw returned 'x' as list: return an array of numbers with the replicate"),
        ({"x": (X, 1.0)}, "draw returned 'x' as tuple: return an array"),
        ({"x": pd.DataFrame({"x": X})}, "draw returned 'x' as DataFrame: return an array"),
        ({"x": np.array([[1]] * SIZE, dtype=object)}, "draw returned 'x' as ndarray: return an"),
        ({"x": np.ma.array(X)}, "draw returned 'x' as MaskedArray: return an array"),
        ({"x": X[1:]}, "draw returned 'x' of shape (19,); with n_rep=20 its first axis must be 20"),
    ],
)
def test_data_that_are_none_are_refused(data, says):
    said = refusal_of(data)
    assert said.startswith("method m of Given(k=1): ")
    assert says in said


# ---------------------------------------------------------------- bad methods
@pytest.mark.parametrize(
    ("methods", "says"),
    [
        ({"": difference}, "a method is named ''"),
        ({"a[b": difference}, "a method is named 'a[b'"),
        (
            {"error": difference},
            "a method is named 'error': give it a text without blanks",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_method_that_cannot_be_one_is_refused(methods, says):
    with pytest.raises(StudyError) as refusal:
        study(methods)
    assert says in str(refusal.value)


def test_scenarios_draw_for_methods_or_simulate(monkeypatch):
    with pytest.raises(StudyError, match="TwoSample needs exactly one of simulate"):
        study({})
    monkeypatch.setattr(TwoSample, "simulate", TwoSample.draw, raising=False)
    monkeypatch.delattr(TwoSample, "draw")
    with pytest.raises(StudyError, match="TwoSample needs exactly one of draw, draw_one"):
        study()


@pytest.mark.parametrize(
    ("method", "says"),
    [
        (lambda z: {}, "method 'm' has the parameter 'z', which is neither drawn by Given"),
        (
            lambda rng: {},
            "has the parameter 'rng', which is only for each_replicate(...); use streams here",
        ),
        (
            each_replicate(lambda streams: 1.0),
            "has the parameter 'streams', which is only for methods of a whole block; use rng",
        ),
        (lambda *data: {}, "method 'm' has the parameter 'data', which is neither drawn by"),
        (lambda x: x, "it returned ndarray, not columns by name: return a dict of arrays"),
        (
            each_replicate(lambda x: 1.0),
            "the method returned float, not numbers by name: return a dict such as "
            '{"estimate": value}, or use each_replicate(..., returns="estimate")',
        ),
    ],
)
def test_a_method_that_asks_or_returns_what_there_is_not_is_refused(method, says):
    said = refusal_of({"x": X}, {"m": method})
    assert says in said
    assert said.startswith("method m of Given(k=1): ")


def other_columns(x, y):
    return {"estimate": x[:, 0], "p": y[:, 0]}


def test_a_method_without_a_column_that_a_measure_reads_is_refused_before_anything_is_stored(
    tmp_path,
):
    with pytest.raises(StudyError, match=r"^method other .* measure 'hits' reads column 'hit', "):
        study({**some("difference"), "other": other_columns}).run(out=tmp_path, **INLINE)
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_column_of_one_method_is_missing_for_others_and_refused_where_it_is_asked_for(tmp_path):
    measures = [mean("estimate", name="mean")]
    study(some("difference"), measures=measures).run(SIZE, out=tmp_path, **INLINE)
    both = study({**some("difference"), "other": other_columns}, measures=measures)
    result = both.run(SIZE, out=tmp_path, **INLINE)
    rows = result.replicates
    assert (rows["p"].isna() == (rows["method"] == "difference")).all()
    with pytest.raises(StudyError, match="column 'p' is missing in 20 of 20 replicates"):
        result.columns(result.plan.scenarios[0], "p")


# ---------------------------------------------------------------- failures
def test_a_failure_is_its_methods_own():
    result = study().run(**INLINE)
    failures = result.failures
    assert set(failures["method"]) == {"fragile"}
    assert set(failures["error"]) == {"ValueError: too large"}
    assert list(failures.columns) == [
        *("n1", "shift", "alpha", "block", "rep", "method", "error", "address")
    ]
    rows = result.summary.set_index("method")["n_failed"]
    assert (rows[["difference", "noisy", "factors"]] == 0).all()
    assert result.n_failed == len(failures)
    assert (result.summary_all_methods["n_failed"] > 0).all()


def test_an_address_names_a_replicate_of_a_method():
    result = study().run(**INLINE)
    failure = result.failures.iloc[0]
    address = Address.parse(failure["address"])
    with pytest.raises(ValueError, match="too large"):
        study().replay(address)
    scenario = result.scenario(n1=failure["n1"], shift=failure["shift"])
    key = result.plan.unit_keys[next(k for k, s in result.plan.keys.items() if s is scenario)][1]
    replicate = study().replay(Address(key, 5))
    assert replicate["estimate"] == result.columns(scenario, "estimate")["estimate"][5, 1]


def test_what_failed_is_drawn_again_and_nothing_else(tmp_path):
    result = study().run(out=tmp_path, **INLINE)
    blocks = result.failures[["n1", "shift", "block"]].drop_duplicates()
    assert n_drawn(tmp_path, METHODS, retry="failed") == len(blocks)


def wholly(x):
    raise ArithmeticError("never")


def test_a_method_that_only_failed_is_nan():
    result = study({**some("difference"), "wholly": wholly}).run(**INLINE)
    (drawn, *_) = result.plan.scenarios
    assert np.isnan(result.columns(drawn, "estimate")["estimate"][:, 1]).all()
    assert result.row("mean", n1=4, shift=0.0, method="wholly")["n_rep"] == 0
    assert result.row("mean", n1=4, shift=0.0, method="difference")["n_failed"] == 0
    texts = result.rows(drawn)
    assert texts[texts["method"] == "difference"]["error"].isna().all()
    assert set(texts[texts["method"] == "wholly"]["error"]) == {"ArithmeticError: never"}


def test_each_text_of_a_warning_is_counted_for_itself_and_where_nan_came_of_it():
    def warns(x):

        if x[0] > 0:
            warnings.warn("A; as ever", stacklevel=1)
        if x[1] > 0:
            warnings.warn("B", RuntimeWarning, stacklevel=1)
        return {"estimate": np.nan if x[1] > 1 else x[0], "hit": 0}

    result = study({**some("difference"), "warns": each_replicate(warns)}).run(SIZE, **INLINE)
    seen = [drawn.draw(result.plan.streams(drawn, 0), SIZE) for drawn in result.plan.scenarios]
    a, b = (sum(int((data["x"][:, at] > 0).sum()) for data in seen) for at in (0, 1))
    counts = result.warnings.set_index("warning")["replicates"].to_dict()
    assert counts == {"UserWarning: A; as ever": a, "RuntimeWarning: B": b}


# ---------------------------------------------------------------- summaries
def test_a_look_has_blocks_that_every_method_has(tmp_path):
    n_drawn(tmp_path, some("difference"))
    study().run(SIZE, out=tmp_path, **INLINE)
    looked = study().partial_result(out=tmp_path)
    assert set(looked.n_rep.values()) == {SIZE}
    pd.testing.assert_frame_equal(looked.summary, study().run(SIZE, **INLINE).summary)


def test_precision_is_reached_by_every_method(tmp_path):
    target = {"mean": 0.1}
    result = study(some("difference", "noisy")).run(precision=target, out=tmp_path, **INLINE)
    rows = result.summary
    assert (rows[rows["measure"] == "mean"]["mcse"] <= 0.1).all()
    for key, drawn in result.plan.unit_keys.items():
        assert {result.details.store.n_blocks(each) * SIZE for each in drawn} == {result.n_rep[key]}


def test_how_a_method_wants_numpy_to_warn_is_its_own():
    def strict(x):
        np.seterr(all="raise")
        return {"m": x}

    before = np.geterr()
    with np.errstate(all="ignore"):
        blocks = of_given({"x": X}, {"a": strict, "b": lambda x: {"m": x / np.zeros(len(x))}})
    assert [block.n_failed for block in blocks] == [0, 1], "0 / 0 is NaN, and no exception"
    assert np.geterr() == before


# ---------------------------------------------------------------- rows that look alike
def test_values_go_by_name_whatever_the_order_of_a_row():
    def method(x):
        pair = {"low": float(x), "high": float(x) + 100}
        return pair if x < 3 else dict(reversed(pair.items()))

    found = each_replicate(method)(x=np.arange(6.0))
    assert found["low"].tolist() == [0, 1, 2, 3, 4, 5]
    assert found["high"].tolist() == [100, 101, 102, 103, 104, 105]


def test_a_row_of_another_type_of_number_is_looked_at_again():
    numbers = each_replicate(lambda x: {"a": int(x) if x > 2 else x > 1})(x=np.arange(6.0))
    assert numbers["a"].tolist() == [0, 0, 1, 3, 4, 5]


def test_a_dict_that_is_filled_anew_for_each_row_keeps_all_rows():
    kept = {}

    def refilled(x):
        kept["a"] = float(x)
        return kept

    assert each_replicate(refilled)(x=np.arange(6.0))["a"].tolist() == [0, 1, 2, 3, 4, 5]


def test_arguments_go_by_name_whatever_their_order_and_kind():
    x, y = np.arange(4.0), np.arange(4.0) * 10

    def plain(x, y):
        return {"d": y - x}

    def by_name(*, y, x):
        return {"d": y - x}

    def with_options(y, scale=1.0, x=0.0):
        return {"d": scale * (y - x)}

    def first_fixed(zero, y, x):
        return {"d": y - x + zero}

    expected = (y - x).tolist()
    for method in (plain, by_name, with_options, partial(first_fixed, 0.0), partial(plain)):
        assert each_replicate(method)(y=y, x=x)["d"].tolist() == expected
    fixed = each_replicate(with_options)(y=y, x=x, scale=2.0)
    assert fixed["d"].tolist() == [2 * d for d in expected]
