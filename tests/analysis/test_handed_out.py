"""Tables of a result are copies: what a reader writes into one is in no other, nor published."""

import pandas as pd
import pytest

from simstudy import load, publish
from tests.factories import flaky_study, mean_study
from tests.support import INLINE

TABLES = ("summary", "summary_all_methods", "replicates", "claims", "seconds")
OF_LOADED = ("summary", "replicates", "claims", "scenarios")
OF_FAILURES = ("failures", "warnings")
READ = {
    "select": lambda result: result.select("bias"),
    "row": lambda result: result.row("bias", method="t").to_frame(),
    "contrast": lambda result: result.contrast("bias", first="t", second="z"),
    "table": lambda result: result.table().frame,
    "columns": lambda result: pd.DataFrame(result.columns(result.plan.scenarios[0], "truth")),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results of a study in one scenario, from its code and from its folder."""
    result = mean_study(3).run(100, out=tmp_path_factory.mktemp("results"), **INLINE)
    publish(result)
    return result, load(result.folder)


def spoilt(frame):
    """Write into every column of a frame, in place."""
    for name in frame:
        frame[name] = "spoilt"
    frame.drop(index=frame.index[:1], inplace=True)
    return frame


@pytest.mark.parametrize(
    ("at", "name"), [*((0, name) for name in TABLES), *((1, name) for name in OF_LOADED)]
)
def test_what_is_written_into_a_table_is_not_there_when_it_is_read_again(results, at, name):
    before = getattr(results[at], name)
    plain = before.copy()
    spoilt(before)
    pd.testing.assert_frame_equal(getattr(results[at], name), plain)
    results[at].n_rep.clear()
    results[at].manifest.clear()
    assert results[at].n_rep
    assert bool(results[at].manifest) == bool(at)


@pytest.mark.parametrize("name", OF_FAILURES)
def test_failures_and_warnings_are_copies(name):
    result = flaky_study().run(100, **INLINE)
    plain = getattr(result, name).copy()
    assert len(plain)
    spoilt(getattr(result, name))
    pd.testing.assert_frame_equal(getattr(result, name), plain)
    assert result.n_failed > 0


@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_what_is_written_into_a_table_changes_no_other(results, read):
    result, _ = results
    plain = read(result).copy()
    for name in TABLES:
        spoilt(getattr(result, name))
    spoilt(read(result))
    pd.testing.assert_frame_equal(read(result), plain)
