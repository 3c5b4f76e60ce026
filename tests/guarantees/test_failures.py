"""A failure is a row with its error and its address; it never makes a denominator smaller."""

import numpy as np
import pytest

from simstudy.engine.block import Address
from simstudy.errors import StudyError
from tests.factories import FLAKY_METHODS, Deadly, deadly_study, flaky_study
from tests.guarantees.content import content
from tests.support import INLINE, on

N_REP = 100  # three blocks of 40, of which the last is cut
LOKY = on("loky", 2)
BESIDE = [pytest.param(one, marks=pytest.mark.slow) for one in ("auto", "loky", "threads")]


@pytest.fixture(
    scope="module",
    params=["threads", *(pytest.param(one, marks=pytest.mark.slow) for one in ("inline", "loky"))],
)
def result(request):
    return flaky_study().run(N_REP, seed=2, backend=request.param, n_jobs=2)


@pytest.fixture(scope="module")
def high(result):
    """The replicates in which two of the methods stumble, by scenario."""
    return {one: result.columns(one, "first")["first"] > 1 for one in result.plan.scenarios}


def errors_of(result, scenario, method):
    rows = result.failures
    mine = rows[(rows["shift"] == scenario.shift) & (rows["method"] == method)]
    return mine.set_index("rep")["error"]


@pytest.mark.parametrize(
    ("method", "error"),
    [("raises", r"ValueError: no solution at \d\.\d{3}"), ("nan", "NaN in estimate")],
)
def test_each_failed_replicate_has_its_error(result, high, method, error):
    for scenario, stumbled in high.items():
        errors = errors_of(result, scenario, method)
        assert errors.index.tolist() == np.flatnonzero(stumbled).tolist()
        assert errors.str.fullmatch(error).all()


@pytest.mark.parametrize("method", ["good", "warns"])
def test_other_methods_are_not_touched(result, method):
    for scenario in result.plan.scenarios:
        assert errors_of(result, scenario, method).empty
        estimates = result.columns(scenario, "estimate")["estimate"]
        place = FLAKY_METHODS.index(method)
        assert np.isfinite(estimates[:, place]).all()
        np.testing.assert_array_equal(estimates[:, place], estimates[:, 0])


def test_a_warning_is_kept_beside_its_value(result, high):
    for scenario, stumbled in high.items():
        place = FLAKY_METHODS.index("warns")
        said = result.columns(scenario, "warning")["warning"][:, place]
        expected = np.where(stumbled, "RuntimeWarning: did not converge", None)
        assert said.tolist() == expected.tolist()


def test_a_failed_cell_holds_no_value(result, high):
    for scenario, stumbled in high.items():
        table = result.details.store.read(result._known_key(scenario), N_REP)
        for method in ("raises", "nan"):
            place = FLAKY_METHODS.index(method)
            stored = [cells[place] for cells in table.column("estimate").to_pylist()]
            assert [value is None for value in stored] == stumbled.tolist()


def test_the_denominator_is_whole(result, high):
    for scenario, stumbled in high.items():
        rows = result.summary.query("measure == 'mean'")
        rows = rows[rows["shift"] == scenario.shift]
        failed = rows.set_index("method")["n_failed"].to_dict()
        lost = int(stumbled.sum())
        expected = {"good": 0, "warns": 0, "raises": lost, "nan": lost}
        assert failed == expected
        assert (rows["n_rep"] + rows["n_failed"] == N_REP).all()


def test_replay_raises_that_very_error(result):
    row = result.failures.query("method == 'raises'").iloc[3]
    with pytest.raises(ValueError, match="no solution") as raised:
        flaky_study().replay(Address.parse(row["address"]), seed=2)
    assert f"ValueError: {raised.value}" == row["error"]


def test_replay_of_a_good_replicate_gives_its_numbers(result, high):
    scenario, stumbled = next(iter(high.items()))
    rep = int(np.flatnonzero(~stumbled)[-1])
    drawn = flaky_study().replay(Address(result._known_key(scenario), rep), seed=2)
    stored = result.columns(scenario, "estimate")["estimate"][rep]
    np.testing.assert_array_equal(drawn["estimate"][:5], stored[:5])


def innocent(workers=INLINE):
    return deadly_study(Deadly()).run(200, seed=2, **workers)


def numbers(result, scenario):
    return result.columns(scenario, "x")["x"]


@pytest.mark.parametrize("backend", ["inline", *BESIDE])
def test_a_block_that_raises_is_recorded_and_the_rest_goes_on(backend):
    bad = Deadly((1, 4))
    result = deadly_study(Deadly(), bad).run(200, seed=2, backend=backend, n_jobs=2)
    assert_only_these_failed(result, bad, (1, 4), "ZeroDivisionError: block {block}")


DIED = {  # how it is said of a process of the engine's, and whether a later run tries again
    "leave": ("SystemExit: 0", False),
    "exit": ("the process died: EXIT(7)", False),
    "exit 1": ("the process died: EXIT(1)", True),
    "kill": ("the process died: SIGKILL(-9)", True),
    "segfault": ("the process died: SIGSEGV(-11)", True),
}


@pytest.mark.parametrize("hows", [tuple(DIED)], ids=["all ways"])
@pytest.mark.slow
def test_what_kills_its_worker_is_found_and_the_rest_goes_on(hows, tmp_path):
    """All ways at once, since each death costs a new process."""
    bad = [Deadly((block,), how) for block, how in enumerate(hows)]
    study = deadly_study(Deadly(), *bad)
    result = study.run(200, seed=2, out=tmp_path, **LOKY)
    for scenario in bad:
        assert said_of(result, scenario) == {(scenario.blocks[0], DIED[scenario.how][0])}
    assert len(result.failures) == 10 * len(hows)
    assert content(result)[result._known_key(Deadly())]["x"] == content_of_innocent()
    again = study.run(200, seed=2, out=tmp_path, **LOKY)
    tried = sum(DIED[how][1] for how in hows)
    assert again.outcome.n_blocks == tried, "a signal may have come from outside"
    assert content(again) == content(result)


def said_of(result, scenario):
    rows = result.failures
    mine = rows[rows["how"] == scenario.how]
    return set(zip(mine["block"], mine["error"], strict=True))


@pytest.mark.slow
def test_blocks_that_killed_are_drawn_again_where_that_is_asked_for(tmp_path):
    mended, workers = tmp_path / "mended", LOKY
    bad, raises = Deadly((1,), "exit", str(mended)), Deadly((0, 2), "raise", str(mended))
    study = deadly_study(bad, raises)
    assert study.run(30, seed=2, out=tmp_path, **workers).n_failed == 30
    still = study.run(30, seed=2, out=tmp_path, **workers, retry="failed")
    assert still.outcome.n_blocks == 3, "a death among them costs no other its try"
    assert said_of(still, bad) == {(1, DIED["exit"][0])}
    mended.touch()
    again = study.run(30, seed=2, out=tmp_path, **workers, retry="failed")
    assert (again.outcome.n_blocks, again.n_failed) == (3, 0)


@pytest.mark.parametrize("backend", ["inline", "threads"])
def test_an_exit_is_an_exception_in_the_users_process(backend):
    bad = Deadly((1, 4), "leave")
    result = deadly_study(Deadly(), bad).run(200, seed=2, backend=backend, n_jobs=2)
    assert {block for block, _ in said_of(result, bad)} == {1, 4}
    assert all("SystemExit: 0" in error for _, error in said_of(result, bad))
    assert content(result)[result._known_key(Deadly())]["x"] == content_of_innocent()


@pytest.mark.parametrize("backend", ["auto", "dask", "inline", "loky"])
@pytest.mark.slow
def test_a_block_that_takes_too_long_has_failed(backend, tmp_path):
    """Where processes can be lost, also one that is in a library's code."""
    if backend == "dask":
        pytest.importorskip("distributed", reason="needs pip install -e '.[dev]'")
    hows = ["hang", "hang in C"] if backend in ("auto", "loky") else ["hang"]
    bad = [Deadly((block,), how) for block, how in enumerate(hows, start=1)]
    study = deadly_study(Deadly(), *bad, block_seconds=3.0)
    result = study.run(60, seed=2, out=tmp_path, backend=backend, n_jobs=2)
    said = "drawing the block took longer than block_seconds=3"
    for scenario in bad:
        assert said_of(result, scenario) == {(scenario.blocks[0], said)}
    assert len(result.failures) == 10 * len(bad)


def test_a_replay_does_not_end_with_success_either():
    scenario = Deadly((1,), "leave")
    address = Address(deadly_study(scenario).plan().key_of(scenario), 12)
    with pytest.raises(StudyError, match="raised SystemExit"):
        deadly_study(scenario).replay(address)


def assert_only_these_failed(result, bad, blocks, reason):
    """The named blocks and no others; everything else is what it is without them."""
    failures = result.failures
    assert sorted(set(failures["block"])) == sorted(blocks)
    assert len(failures) == 10 * len(blocks)
    for row in failures.itertuples():
        assert row.error.startswith(reason.format(block=row.block))
        assert row.address == f"{result._known_key(bad)}/{row.rep}"
        assert row.rep // 10 == row.block
    assert content(result)[result._known_key(Deadly())]["x"] == content_of_innocent()
    lost = np.isin(np.arange(200) // 10, blocks)
    assert np.isnan(numbers(result, bad)).tolist() == lost.tolist()
    rows = result.summary.query("measure == 'mean'")
    assert rows["n_failed"].tolist() == [0, 10 * len(blocks)]
    assert (rows["n_rep"] + rows["n_failed"] == 200).all()


def content_of_innocent():
    result = innocent()
    return content(result)[result._known_key(Deadly())]["x"]


def test_a_scenario_that_always_fails_does_not_hide_the_others():
    bad = Deadly(tuple(range(20)))
    study = deadly_study(Deadly(), bad)
    result = study.run(200, seed=2, **INLINE)
    rows = result.summary.query("measure == 'mean'")
    assert rows["n_failed"].tolist() == [0, 200]
    assert rows["n_rep"].tolist() == [200, 0]
    assert np.isnan(rows["estimate"].to_numpy()).tolist() == [False, True]
    alone = deadly_study(bad).run(200, seed=2, **INLINE)
    row = alone.summary.query("measure == 'mean'").iloc[0]
    assert (row["n_rep"], row["n_failed"], row["reason"]) == (0, 200, "no replicate could be used")
    assert len(alone.failures) == 200
