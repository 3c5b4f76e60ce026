"""A stranger checks a published folder: what is honest passes, what is falsified is found."""

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from simstudy import Rules, Study, each_replicate, grid, publish
from simstudy.claims import Claim
from simstudy.errors import ConfigError, StudyError
from simstudy.figures import measure_curves
from simstudy.measures import (
    bias,
    bias_eliminated_coverage,
    coverage,
    empirical_se,
    median,
    mse,
    rejection_rate,
    rmse,
    weighted_mean,
)
from simstudy.output.groups import groups_of_blocks, rows_with_groups
from simstudy.output.verify import AGREES, DIFFERS, NOT_COMPARABLE, Verification, _Drawn, verify
from simstudy.store.runs import file_hash


@dataclass(frozen=True)
class Normal:
    n_obs: int
    mean: float = 0.0
    is_null: bool = True

    def draw(self, streams, n_rep):
        x = streams("data").normal(self.mean, 1.0, (n_rep, self.n_obs))
        return {"x": x}


@dataclass(frozen=True)
class Interval:
    """An interval for the mean, by Student's t or by the normal distribution."""

    normal: bool = False

    def __call__(self, x):
        n = x.shape[1]
        at = stats.norm.isf(0.025) if self.normal else stats.t.isf(0.025, n - 1)
        mean, error = x.mean(axis=1), x.std(axis=1, ddof=1) / np.sqrt(n)
        return {
            "estimate": mean,
            "lower": mean - at * error,
            "upper": mean + at * error,
            "reject": np.abs(mean) > at * error,
            "word": np.where(mean > 0, "above", "below"),
        }


def with_se(x):
    return {"estimate": x.mean(axis=1), "se": x.std(axis=1, ddof=1) / np.sqrt(x.shape[1])}


def by_median(x):
    middle = np.median(x, axis=1)
    nothing = np.full(len(x), np.nan)
    word = np.where(middle > 0, "above", "below")
    limits = {"lower": nothing, "upper": nothing}
    return {"estimate": middle, **limits, "reject": middle > 0.5, "word": word}


MEASURES = (
    bias("estimate", truth="mean"),
    mse("estimate", truth="mean"),
    rmse("estimate", truth="mean"),
    empirical_se("estimate"),
    coverage("lower", "upper", truth="mean"),
    rejection_rate("reject"),
    median("estimate"),
)


def curve(result):
    return measure_curves(result.select("mse", method="t"), x="n_obs", y="mse")


def error_at_20(result):
    return result.row("mse", method="t", n_obs=20)["estimate"]


def make_study(method=Interval(), **settings):
    """A study of an interval for a mean and of a median."""
    given = {
        "name": "means",
        "scenarios": grid(Normal, n_obs=[5, 10, 20]),
        "methods": {"t": method, "median": by_median},
        "measures": MEASURES,
        "rules": Rules(may_be_missing=("lower", "upper")),
        "figures": {"mse": curve},
        "claims": [Claim("error", "the error at 20", "text", error_at_20, 0.05, difference=0.02)],
        "block_size": 25,
    }
    return Study(**given | settings)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A published folder, without its replicates."""
    out = tmp_path_factory.mktemp("verify")
    result = make_study().run(n_rep=1000, seed=3, out=out, n_jobs=1)
    return publish(result, report=False).folder


@pytest.fixture
def folder(published, tmp_path) -> Path:
    """A copy that a test may falsify."""
    copy = tmp_path / published.name
    shutil.copytree(published, copy, ignore=shutil.ignore_patterns("replicates"))
    return copy


def change(folder: Path, name: str, edit) -> None:
    """Edit a table and write its new hash into the manifest, as a forger would."""
    frame = pd.read_parquet(folder / f"{name}.parquet")
    edit(frame).to_parquet(folder / f"{name}.parquet")
    sign(folder)


def sign(folder: Path, **entries) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= entries
    manifest["files"] = {name: file_hash(folder / name) for name in manifest["files"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def check(folder, study=None, **settings) -> Verification:
    return verify(folder, study or make_study(), n_jobs=1, **settings)


# What is honest -------------------------------------------------------
def test_an_honest_folder_agrees_and_says_how_much_was_checked(folder):
    found = check(folder, seed=1)
    assert (found.status, found.wrong) == (AGREES, [])
    assert (found.n_groups, found.n_drawn) == (3 * 40, 30)
    assert found.missed == pytest.approx(0.9**30)
    text = str(found)
    assert "everything that was checked agrees" in text
    assert "0.04" in text
    assert "claims: 1 of 1" in text
    stored = json.loads((folder / "verification.json").read_text())
    assert (stored["status"], stored["n_drawn"]) == (0, 30)


def test_all_groups_of_one_number_are_drawn(folder):
    found = check(folder, n_obs=20, method="t")
    assert found.n_drawn == 40
    assert "(those that were named)" in str(found)
    assert "probability" not in str(found), "odds are of a choice at random"


def test_groups_past_the_budget_are_named(folder):
    found = check(folder, budget=1e-9)
    assert found.n_drawn == 1
    assert any("past the budget" in text for text in found.unchecked)


def test_a_seed_repeats_the_choice_of_groups(folder, monkeypatch):
    chosen, draw = [], _Drawn.draw

    def noted(self, units):
        chosen.extend(units)
        return draw(self, units)

    monkeypatch.setattr(_Drawn, "draw", noted)
    for seed in (5, 5, 6):
        check(folder, budget=1e-9, seed=seed)
    first, again, other = chosen
    assert first == again
    assert first != other


def by_a_library(x):
    import colorsys

    return {"estimate": x.mean(axis=1) + colorsys.ONE_THIRD}


def test_without_a_library_of_the_study_its_draws_are_not_checked(tmp_path, monkeypatch):
    """And nothing is called wrong; the rest is checked."""
    study = make_study(
        methods={"own": by_a_library}, measures=[bias("estimate", truth="mean")], figures={},
        claims=(), rules=Rules(),
    )  # fmt: skip
    folder = publish(study.run(n_rep=100, out=tmp_path, n_jobs=1), report=False).folder
    monkeypatch.setitem(sys.modules, "colorsys", None)
    found = check(folder, study)
    assert (found.status, found.wrong, found.n_drawn) == (AGREES, [], 0)
    assert any("drawn here: means: " in text and "colorsys" in text for text in found.unchecked)
    assert "3 of 3 numbers are the means of their groups" in str(found)


def test_without_code_the_numbers_are_compared_with_their_groups_and_nothing_is_drawn(folder):
    found = verify(folder)
    assert (found.status, found.n_drawn) == (AGREES, 0)
    assert verify(folder).seed != found.seed, "a fresh choice"
    change(folder, "summary", moved("bias"))
    assert verify(folder).status == DIFFERS


def test_a_folder_without_groups_says_that_its_numbers_were_not_checked(folder):
    (folder / "groups.parquet").unlink()
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["groups.parquet"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found = check(folder)
    assert found.status == AGREES
    assert any("numbers of the summary" in text for text in found.unchecked)


def fails_for_some(x):
    if x[0] > 1.5:
        raise ArithmeticError("no convergence")
    return {"estimate": x.mean(), "weight": np.exp(x[2] / 10)}


ODD = Study(
    name="odd",
    scenarios=grid(Normal, n_obs=[5, 8]),
    methods={"one": each_replicate(fails_for_some)},
    measures=[bias("estimate", truth="mean"), weighted_mean("estimate", weight="weight")],
    block_size=20,
)
OF_FEW = {
    "measures": [bias_eliminated_coverage("estimate", se="se")], "methods": {"t": with_se},
    "block_size": 4, "rules": Rules(), "claims": [],
}  # fmt: skip
IN_GROUPS = {"rules": Rules(group_size=5, may_be_missing=("lower", "upper"))}
HONEST = {
    "by precision": (make_study(), {"n_rep": 200, "precision": {"mse": "6%"}, "max_rep": 2000}),
    "a block that ends early": (make_study(), {"n_rep": 990}),
    "groups of replicates": (make_study(**IN_GROUPS), {"n_rep": 500}),
    "few blocks": (make_study(), {"n_rep": 40}),
    "failures and weights": (ODD, {"n_rep": 400}),
    "no means, of few replicates": (make_study(**OF_FEW), {"n_rep": 12}),
}


@pytest.mark.parametrize("kind", HONEST)
def test_what_is_honest_agrees_for_any_number_of_workers(kind, tmp_path):
    study, run = HONEST[kind]
    result = study.run(seed=7, out=tmp_path, n_jobs=1, **run)
    assert bool(result.n_failed) == (study is ODD)
    folder = publish(result, figures=False, report=False).folder
    found = verify(folder, study, share=1, n_jobs=2 if kind == "few blocks" else 1)
    assert (found.status, found.wrong) == (AGREES, [])


# What is falsified ----------------------------------------------------
def test_an_edited_file_is_found_by_its_hash(folder):
    (folder / "claims.parquet").write_bytes(b"nothing")
    found = verify(folder)
    assert found.status == DIFFERS
    assert "claims.parquet" in found.wrong[0]


def moved(measure):
    """By three errors."""

    def edit(rows):
        at = rows.index[(rows["measure"] == measure) & (rows["method"] == "t")][1]
        rows.loc[at, "estimate"] += 3 * rows.loc[at, "mcse"]
        return rows

    return edit


def relabelled(factor, names):
    return lambda rows: rows.assign(**{factor: rows[factor].map(names)})


FALSIFIED = {
    "a bias": (moved("bias"), "bias at n_obs=10"),
    "an mse": (moved("mse"), "mse at n_obs=10"),
    "a coverage": (moved("coverage"), "coverage at n_obs=10"),
    "a rate": (moved("rejection_rate"), "rejection_rate at n_obs=10"),
    "errors too small": (lambda rows: rows.assign(mcse=rows["mcse"] / 10), "the error is "),
    "no errors": (lambda rows: rows.assign(mcse=0.0), "the error is 0"),
    "errors by limits": (lambda rows: rows.assign(mcse=rows["mcse"] * 10), "and a limit is "),
    "a row twice": (lambda rows: rows.iloc[[*range(len(rows)), 1]], ": twice"),
    "a row less": (lambda rows: rows.iloc[:-1], "has rows that the summary lacks"),
    "unknown errors": (lambda rows: rows.assign(mcse=np.nan), "the error is nan"),
    "limits": (lambda rows: rows.assign(upper=rows["estimate"] - 1.0), "beyond its limits"),
    "a count": (lambda rows: rows.assign(n_failed=rows["n_failed"] + 1), "n_failed is 1"),
    "methods": (relabelled("method", {"t": "median", "median": "t"}), "drawn here"),
    "scenarios": (relabelled("n_obs", {5: 10, 10: 5, 20: 20}), "n_obs should be "),
}


@pytest.mark.parametrize("what", FALSIFIED)
def test_a_falsified_summary_is_found(folder, what):
    edit, text = FALSIFIED[what]
    change(folder, "summary", edit)
    found = check(folder)
    assert found.status == DIFFERS
    assert any(text in wrong for wrong in found.wrong)


def test_a_table_that_is_listed_and_gone_is_a_disagreement(folder):
    (folder / "groups.parquet").unlink()
    found = check(folder)
    assert found.status == DIFFERS
    assert found.wrong == ["groups.parquet is listed and not here"]


def test_other_code_is_found(folder):
    found = check(folder, make_study(Interval(normal=True)), seed=1)
    assert found.status == DIFFERS
    assert any("code:" in text and "not the manifest's" in text for text in found.said)
    assert any(text.startswith("coverage at n_obs=5") for text in found.wrong)


def test_another_seed_under_the_manifest_is_found(folder):
    sign(folder, seed=4)
    assert check(folder).status == DIFFERS


@pytest.mark.parametrize(
    ("study", "error", "text"),
    [
        ({"measures": MEASURES[:2]}, StudyError, "other scenarios or measures"),
        ({"methods": {"median": by_median}}, StudyError, "lacks the method 't' of the folder"),
    ],
)
def test_a_study_of_other_measures_or_methods_is_refused(folder, study, error, text):
    with pytest.raises(error, match=text):
        check(folder, make_study(**study, claims=[]))
    with pytest.raises(ConfigError, match="did you mean 'n_obs'"):
        check(folder, n_ob=10)


def test_a_method_that_the_folder_lacks_changes_nothing(folder):
    named = {"first": by_median, "median": by_median, "t": Interval()}
    found = check(folder, make_study(methods=named))
    assert found.status == 0, found.wrong
    assert "code: that of the manifest, with the same libraries" in found.said


def falsify(folder: Path, seed: int, share: float = 0.1) -> None:
    """Move a share of the groups, and the summary with them."""
    groups = pd.read_parquet(folder / "groups.parquet")
    summary = pd.read_parquet(folder / "summary.parquet")
    rng = np.random.default_rng(seed)
    n_rows = len(summary) // 3
    for key in range(3):
        bad = rng.choice(40, round(share * 40), replace=False)
        is_bad = groups["row"].between(key * n_rows, (key + 1) * n_rows - 1)
        is_bad &= groups["group"].isin(bad)
        groups.loc[is_bad & (groups["estimate"] != 0), "estimate"] *= 1.02
    means = (groups["estimate"] * groups["n_given"]).groupby(groups["row"]).sum()
    means /= groups.groupby("row")["n_given"].sum()
    averages = summary["measure"].isin(["bias", "mse", "coverage", "rejection_rate"])
    summary["estimate"] = summary["estimate"].where(~averages, means)
    groups.to_parquet(folder / "groups.parquet")
    summary.to_parquet(folder / "summary.parquet")
    sign(folder)


def test_groups_and_summary_falsified_together_are_found_by_draws(folder):
    falsify(folder, 1)
    found = check(folder, share=1)
    assert (found.status, found.missed) == (DIFFERS, 0), "it was drawn whole"
    assert all("drawn here" in text for text in found.wrong if "bias" in text)


def test_how_often_a_falsified_tenth_is_missed_is_what_the_answer_says(folder):
    """Of 40 choices of few groups about (1 - q)^m miss all falsified ones."""
    falsify(folder, 2)
    missed = 0
    for seed in range(40):
        study = make_study(claims=[])  # a forger would have changed these, too
        found = check(folder, study, seed=seed, share=1e-9, budget=1e-9)  # one group
        missed += found.status == AGREES
    low, high = stats.binom.interval(1 - 1e-5, 40, 0.9)
    assert low <= missed <= high


def test_other_versions_whose_numbers_differ_cannot_be_compared(folder):
    sign(folder, versions={"numpy": "1.0"})
    assert check(folder).status == AGREES
    found = check(folder, make_study(Interval(normal=True)))
    assert found.status == NOT_COMPARABLE
    assert any("numpy 1.0" in text for text in found.said)


def test_a_tie_that_fell_to_the_other_side_is_accepted_once(folder):
    groups = pd.read_parquet(folder / "groups.parquet")
    summary = pd.read_parquet(folder / "summary.parquet")
    row = summary.index[(summary["measure"] == "rejection_rate") & (summary["method"] == "t")][0]
    at = groups.index[(groups["row"] == row) & (groups["group"] == 3)][0]
    groups.loc[at, "estimate"] += 1 / 25
    summary.loc[row, "estimate"] += 1 / 1000
    groups.to_parquet(folder / "groups.parquet")
    summary.to_parquet(folder / "summary.parquet")
    sign(folder)
    found = check(folder, share=1)
    assert found.status == AGREES
    assert any(text.startswith("ties: 1 ") for text in found.said)


# Groups ---------------------------------------------------------------
@pytest.mark.parametrize("n_blocks", [1, 7, 10, 99, 100, 101, 1234])
def test_groups_are_consecutive_blocks(n_blocks):
    groups = groups_of_blocks(n_blocks, 100)
    blocks = [b for each in groups for b in range(each.first_block, each.last_block + 1)]
    assert blocks == list(range(n_blocks))
    assert len(groups) <= 100


def test_of_a_long_summary_some_rows_have_groups():
    assert rows_with_groups(1500).tolist() == list(range(1500))
    some = rows_with_groups(28_512)
    assert len(some) == 2000
    assert {some[0], some[-1]} == {0, 28_511}
