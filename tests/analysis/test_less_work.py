"""Studies whose measures take less work: what the summary has, what is refused, the same bits."""

import math
import re
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from benchmarks import less_work
from benchmarks.less_work import TwoStageInGroups
from benchmarks.pages import around
from simstudy import Rules, Study, grid, load, publish
from simstudy.analysis.result import warnings_of_measures
from simstudy.analysis.summary import NUMBERS
from simstudy.claims.verdict import of_row
from simstudy.errors import ConfigError, StudyError
from simstudy.measures import conditional, mean, power
from simstudy.measures.bootstrapped import bootstrapped
from simstudy.testing.truth import comparisons
from tests.support import FALSE_ALARM, INLINE, ROOT, critical_z

PLAIN = power("reject")
MEASURES = [PLAIN, conditional(mean("p_reject"), raw=PLAIN, name="by_chance")]


def study(size=4, *, measures=None, k=0.5, **settings):
    trial = {"draws": "stratified"} if size > 1 else {}
    scenarios = grid(TwoStageInGroups, k=k, n1=100, n2=[50, 200], group_size=size, **trial)
    settings = {"block_size": 100, "n_rep": 200} | settings
    return Study(
        "less_work", scenarios, measures or MEASURES, rules=Rules(group_size=size), **settings
    )


def test_the_columns_are_there_where_a_measure_has_them(tmp_path):
    result = study().run(400, **INLINE, out=tmp_path)
    assert list(result.summary)[-len(NUMBERS) - 1 :] == [*NUMBERS, "variance_reduction"]
    assert result.summary["variance_reduction"].notna().all()
    publish(result, figures=False, report=False)
    assert_frame_equal(load(tmp_path / "less_work").summary, result.summary, check_dtype=False)
    alone = study(1).run(400, **INLINE).summary
    assert alone.groupby("measure")["variance_reduction"].count()[PLAIN.name] == 0
    assert list(study(1, measures=[PLAIN]).run(400, **INLINE).summary)[-9:] == [*NUMBERS]
    result.table("summary")


def test_the_same_bits_with_other_workers_and_the_first_groups_of_a_longer_run():
    short = study().run(200, **INLINE)
    assert_frame_equal(short.summary, study().run(200, backend="threads", n_jobs=2).summary)
    longer = study().run(600, **INLINE)
    for scenario in short.plan.scenarios:
        one, two = (each.columns(scenario, "s2")["s2"] for each in (short, longer))
        np.testing.assert_array_equal(one, two[:200])


def test_a_precision_is_reached_with_the_error_of_groups():
    kind = {"measures": [mean("s2", name="mean_s2")], "block_size": 40, "n_rep": 40}
    by_strata, plain = study(20, **kind), study(1, **kind)
    asked = {"precision": {"mean_s2": 0.03}, **INLINE}
    few, many = (each.run(400, **asked) for each in (by_strata, plain))
    assert (few.summary["mcse"] < 0.03).all()
    assert 4 * few.summary["n_rep"].sum() < many.summary["n_rep"].sum()
    cost = by_strata.forecast({"mean_s2": 0.01}, 400)
    assert (cost["n_rep"] < plain.forecast({"mean_s2": 0.01}, 400)["n_rep"] / 4).all()


@dataclass(frozen=True)
class Off(TwoStageInGroups):
    """A trial whose theory is off by two standard errors of a plain power."""

    def exact(self):
        return {"power": super().exact()["power"] + 0.02}


@pytest.mark.parametrize(("kind", "caught"), [(TwoStageInGroups, False), (Off, True)])
def test_contracts_hold_theory_against_the_error_that_there_is(kind, caught):
    power_by_chance = conditional(
        mean("p_reject", given="null_is_false"), raw=power("reject", given="null_is_false")
    )
    trials = grid(kind, k=1.5, n1=100, n2=200, draws="stratified", group_size=10)
    by_strata = Study("less_work", trials, [power_by_chance], rules=Rules(group_size=10))
    held = comparisons(by_strata.run(2000, **INLINE))
    assert [each.p_value < FALSE_ALARM for each in held] == [caught]


def test_a_claim_about_weights_rests_on_those_that_carry_it():
    row = {"estimate": 0.1, "mcse": 0.01, "n_rep": 1000, "n_given": 1000}
    assert of_row(row | {"n_effective": 12.5}).n_rep == 12.5
    assert of_row(row | {"n_effective": math.nan}).n_rep == 1000


# ---------------------------------------------------------------- what is said
def test_a_wrong_mean_is_said_in_the_summary_and_as_a_warning():
    wrong = conditional(mean("s2"), raw=PLAIN, name="wrong")
    with pytest.warns(UserWarning, match="wrong at n2 50: it is .* one of the two is wrong"):
        result = study(1, measures=[PLAIN, wrong]).run(400, **INLINE)
    said = result.summary.groupby("measure")["warning"].agg(lambda texts: (texts != "").sum())
    assert said.to_dict() == {"power": 0, "wrong": 2}
    assert len(warnings_of_measures(result)) == 1
    assert "(and in 1 other row)" in warnings_of_measures(result)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert warnings_of_measures(study(1).run(400, **INLINE)) == []


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: study(block_size=50), "block_size=50 with group_size=4.* such as 48"),
        (lambda: study(size=0), "group_size=0 is not allowed: must be"),
        (lambda: study(measures=[bootstrapped(lambda s2: 1.0, name="mine")]), "groups of 4"),
    ],
)  # fmt: skip
def test_what_groups_cannot_is_refused_in_one_line(make, words):
    with pytest.raises((ConfigError, StudyError), match=words) as refused:
        make()
    assert "\n" not in str(refused.value)


# ---------------------------------------------------------------- the page
PAGE = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
MEASURED = around(PAGE, "less work")[1]


@pytest.mark.slow
def test_the_tables_of_the_page_are_those_of_its_command(monkeypatch):
    monkeypatch.setattr(less_work, "N_REP", 8_000)
    monkeypatch.setattr(less_work, "N_RUNS", 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of weights that are few
        made = less_work.tables()
    labels = [
        re.findall(r"^(\|[^|]*\||.*:)$|^\| ([^|]*) \|", text, re.M) for text in (made, MEASURED)
    ]
    assert labels[0] == labels[1]


def test_stated_ratios_of_the_page_are_those_measured():
    rows = re.findall(
        r"^\| (.*?) \| .* \| ([\d.,]+) \| ([\d.,]+) \| [\d.,]+ \| [\d.]+ \|$", MEASURED, re.M
    )
    found = pd.DataFrame(rows, columns=["way", "stated", "measured"]).set_index("way")
    found = found.map(lambda text: float(text.replace(",", "")))
    assert len(found) == 10
    apart = np.abs(np.log(found["stated"] / found["measured"]))
    assert (apart < critical_z(10) * np.sqrt(4 / 1000)).all()
