"""What a study does with failures: leave out, hold methods together, or count as the worst."""

from dataclasses import dataclass

import numpy as np
import pytest

from simstudy.design import Columns
from simstudy.engine.error_policy import by_method
from simstudy.engine.per_replicate import each_replicate
from simstudy.errors import StudyError
from simstudy.measures import mean
from simstudy.output.folder import publish
from simstudy.provenance.streams import Streams
from simstudy.study import Rules, Study

INLINE = {"backend": "inline", "n_jobs": 1}

N_REP = 400


@dataclass(frozen=True)
class Fragile:
    """A sure method, and one that fails where the datum is negative."""

    shift: float = 1.0

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        x = self.shift + streams("data").standard_normal(n_rep)

        def fragile(one: float) -> dict[str, float]:
            if one < 0:
                raise ValueError(f"{one:.3f} is negative")
            return {"value": one, "hit": 1.0}

        return by_method(
            {
                "sure": lambda: {"value": x, "hit": np.ones(n_rep)},
                "fragile": lambda: each_replicate(fragile, x, returns=("value", "hit")),
            },
            n_rep,
        )


def run(**settings: object):
    measures = [mean("value", name="value"), mean("hit", name="hit")]
    axes = {"method": ("sure", "fragile")}
    made = Study("fragile", [Fragile()], measures, axes=axes, block_size=100, **settings)
    return made.run(N_REP, seed=5, **INLINE)


def data() -> np.ndarray:
    """What every method saw."""
    result = run()
    return result.columns(result.plan.scenarios[0], "value")["value"][:, 0]


def row(result, measure: str, method: str):
    return result.summary.query("measure == @measure and method == @method").iloc[0]


def test_complete_cases_leave_a_failure_out_of_its_own_method_only():
    x, result = data(), run()
    assert row(result, "value", "sure")["estimate"] == pytest.approx(x.mean())
    assert row(result, "value", "fragile")["estimate"] == pytest.approx(x[x >= 0].mean())


def test_the_summary_shows_the_convergence_rate_with_its_error():
    share = float((data() >= 0).mean())
    found = row(run(), "convergence_rate", "fragile")
    assert found["estimate"] == pytest.approx(share)
    assert found["mcse"] == pytest.approx(np.sqrt(share * (1 - share) / N_REP))
    assert row(run(), "convergence_rate", "sure")["estimate"] == 1


def test_all_methods_compares_on_the_replicates_that_all_finished():
    x, together = data(), run().summary_all_methods
    rows = together[together["measure"] == "value"]
    assert list(rows["method"]) == ["sure", "fragile"]
    assert rows["estimate"].to_numpy() == pytest.approx(x[x >= 0].mean())


def test_the_worst_is_imputed_and_the_failure_still_told():
    result = run(rules=Rules(max_failed=1, on_failure="impute_worst", worst={"hit": 0.0}))
    share = float((data() >= 0).mean())
    assert row(result, "hit", "fragile")["estimate"] == pytest.approx(share)
    assert row(result, "hit", "fragile")["n_failed"] == 0
    assert row(result, "convergence_rate", "fragile")["estimate"] == pytest.approx(share)
    assert len(result.failures) == int((data() < 0).sum())


def test_files_tell_failures_and_the_other_cases(tmp_path):
    measures = [mean("value", name="value")]
    axes = {"method": ("sure", "fragile")}
    made = Study("fragile", [Fragile()], measures, axes=axes, block_size=100)
    publish(made.run(N_REP, seed=5, out=tmp_path, **INLINE), figures=False)
    assert (tmp_path / "fragile" / "failures.parquet").exists()
    assert (tmp_path / "fragile" / "summary_all_methods.parquet").exists()


def test_the_policy_must_be_whole():
    with pytest.raises(StudyError, match="needs the worst value of each column"):
        Study("x", [Fragile()], rules=Rules(on_failure="impute_worst"))
    with pytest.raises(StudyError, match="must be one of record, abort, impute_worst"):
        Study("x", [Fragile()], rules=Rules(on_failure="ignore"))
