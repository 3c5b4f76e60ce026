"""Whatever a user's code does, a study ends in words: refused, recorded, or remarked upon."""

import html
import re
import warnings

import pytest

from simstudy.output.folder import publish
from simstudy.output.terminal import print_closing
from tests.guarantees.content import slow_but
from tests.guarantees.hostile import CASES, N_REP
from tests.support import INLINE


def run(name, folder, **settings):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = CASES[name].study_of(name).run(out=folder, **INLINE, **settings)
    return result, [str(warning.message) for warning in said if warning.category is UserWarning]


def named(**wanted):
    return [name for name, case in CASES.items() if bool(case.refused) == wanted["refused"]]


@pytest.mark.parametrize(
    "name", slow_but("a key", "complex", "numbers, then text", of=named(refused=True))
)
def test_what_can_only_be_a_mistake_is_refused_in_words(name, tmp_path):
    case = CASES[name]
    with pytest.raises(case.kind, match=case.refused) as refusal:
        run(name, tmp_path)
    assert type(refusal.value) is case.kind
    assert "\n" not in str(refusal.value)
    if "max_failed" not in case.study and name != "numbers, then text":
        assert not list(tmp_path.rglob("*.parquet")), "nothing is stored of it"


@pytest.mark.parametrize(
    "name", slow_but("a mask", "a surrogate", "a later block", of=named(refused=False))
)
def test_what_may_happen_is_recorded_and_published(name, tmp_path, capsys):
    case = CASES[name]
    result, said = run(name, tmp_path)
    made = publish(result)
    print_closing(result, made)
    shown = capsys.readouterr().out
    page = (made.folder / "report.html").read_text().partition('id="again"')[0]  # before sources
    assert_failures(case, result, shown, page)
    assert_remarks(case, result, shown, page, said)
    rows = result.summary[result.summary["measure"] != "convergence_rate"]
    assert (rows["n_rep"] + rows["n_failed"] == N_REP).all()
    if case.mean is not None:
        assert set(rows["estimate"]) == {case.mean}
    assert "<script>" not in page, "the page's own stands at its end"


def assert_failures(case, result, shown, page):
    found = result.failures
    assert case.n_failed in (-1, result.n_failed)
    assert bool(len(found)) == bool(case.n_failed) == (result.folder / "failures.parquet").exists()
    if case.n_failed:
        assert found["error"].str.contains(case.error).all()
        assert found["error"].str.len().max() < 2100
        assert f"{result.n_failed} replicates failed" in shown
        assert '<h2 id="failures">' in page


def assert_remarks(case, result, shown, page, said):
    remarks = " ".join(result.outcome.warnings)
    assert bool(remarks) == bool(case.noticed), remarks
    if case.noticed:
        assert said == result.outcome.warnings
        for text in (remarks, html.unescape(page), shown):
            assert re.search(case.noticed, text)
    assert result.warnings["replicates"].sum() == case.warned
    assert ("warnings.parquet" in shown) == ('<h2 id="warnings">' in page) == bool(case.warned)
