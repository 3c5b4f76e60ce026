"""Checks of scores: what every test decides, held to SciPy one by one, and what is known."""

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.dgps.prompts import (
    BinaryScores,
    BoundedScores,
    GaussianScores,
    PerplexityScores,
    paired_population,
)
from simstudy.documents.scenarios.score_checks import METHODS, PILOTS, ScoreCheck
from tests.documents.dgps.test_prompts import indices
from tests.documents.scenarios.draws import streams_at
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

KINDS = [
    GaussianScores(), BinaryScores(mean=0.8), BoundedScores(mean=0.2), PerplexityScores(mean=20.0)
]  # fmt: skip
N_REP = 60


def scores_of(trial: ScoreCheck, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Reference and check of each replicate, score by score, from the trial's own streams."""
    about, streams = trial.population, streams_at(seed)
    at = indices(streams("prompts"), trial.n_prompts, N_REP, trial.n)
    other = at if trial.same_prompts else indices(
        streams("check"), trial.n_prompts, N_REP, trial.n
    )  # fmt: skip
    return about.reference[at], about.check[other]


def p_values(trial: ScoreCheck, x: np.ndarray, y: np.ndarray, pilots: dict) -> dict[str, float]:
    """One-sided p-values of a replicate, by SciPy; NaN where there is no spread."""
    side = "greater" if trial.scores.lower_is_better else "less"
    worse = (y.mean() - x.mean()) * (1 if trial.scores.lower_is_better else -1)
    sigma, unchanged = trial.population.sd, paired_population(
        trial.scores, correlation=trial.correlation, n_prompts=trial.n_prompts
    )  # fmt: skip
    two_runs = np.sqrt(2 / trial.n)
    errors = {
        "z": sigma * two_runs,
        "z_sigma_small": 0.8 * sigma * two_runs,
        "z_sigma_large": 1.25 * sigma * two_runs,
        "paired_z": unchanged.sd_worse / np.sqrt(trial.n),
    } | {name: sd * two_runs for name, sd in pilots.items()}
    with np.errstate(all="ignore"):
        found = {name: stats.norm.sf(np.divide(worse, error)) for name, error in errors.items()}
        found["t"] = stats.ttest_ind(y, x, alternative=side).pvalue
        found["paired_t"] = stats.ttest_rel(y, x, alternative=side).pvalue
    return found


@pytest.mark.filterwarnings("ignore:Precision loss")
@pytest.mark.parametrize("scores", KINDS, ids=str)
@pytest.mark.parametrize(
    "about",
    [{"n": 20}, {"n": 20, "correlation": 0.8}, {"n": 33, "detectable_at": 40, "correlation": 0.5},
     {"n": 20, "same_prompts": False}],
    ids=str,
)  # fmt: skip
def test_every_test_decides_as_scipy_does_replicate_by_replicate(scores, about):
    trial = ScoreCheck(scores, n_prompts=1000, **about)
    found = trial.simulate(streams_at(), N_REP)
    reference, check = scores_of(trial)
    pilots = {
        name: trial.population.reference[
            indices(streams_at()(f"pilot {n}"), 1000, N_REP, n)
        ].std(axis=1, ddof=1)
        for name, n in PILOTS.items()
    }  # fmt: skip
    for rep, (x, y) in enumerate(zip(reference, check, strict=True)):
        known = p_values(trial, x, y, {name: sd[rep] for name, sd in pilots.items()})
        if not trial.same_prompts:
            known |= {"paired_z": np.nan, "paired_t": np.nan}
        decided = dict(zip(METHODS, found["reject"][rep], strict=True))
        for method, p in known.items():
            if np.isnan(p) and trial.same_prompts:  # no spread: SciPy has no p-value
                p = 0.0 if known["z"] < 0.5 else 1.0
            assert np.isnan(p) == np.isnan(decided[method]), method
            assert np.isnan(p) or decided[method] == (p <= trial.alpha), method
    sign = 1 if scores.lower_is_better else -1
    worse = sign * (check.mean(axis=1) - reference.mean(axis=1))
    drawn = trial.differences(streams_at(), N_REP)
    np.testing.assert_allclose(drawn.worse, worse, atol=1e-12 * trial.population.sd, rtol=1e-9)


@pytest.mark.parametrize("scores", KINDS, ids=str)
def test_a_fixed_reference_is_held_against_checks_of_other_prompts(scores):
    trial = ScoreCheck(scores, n=25, same_prompts=False, reference=0.95, n_prompts=1000)
    found, about = trial.simulate(streams_at(), N_REP), trial.population
    sign = 1 if scores.lower_is_better else -1
    recorded = about.reference.mean() - sign * trial.luck * about.sd / 5
    check = about.check[indices(streams_at()("check"), 1000, N_REP, 25)].mean(axis=1)
    drawn = trial.differences(streams_at(), N_REP)
    np.testing.assert_allclose(
        drawn.worse, sign * (check - recorded), atol=1e-12 * about.sd, rtol=1e-9
    )
    threshold = stats.norm.isf(0.05) * about.sd * np.sqrt(2 / 25)
    decided = dict(zip(METHODS, found["reject"].T, strict=True))
    np.testing.assert_array_equal(decided["z"], sign * (check - recorded) >= threshold)
    assert all(np.isnan(decided[name]).all() for name in ("t", "paired_z", "paired_t"))


def test_a_reference_on_record_is_a_mean_that_a_run_can_have():
    for reference in (0.05, 0.5, 0.95):
        trial = ScoreCheck(
            BinaryScores(mean=0.8), n=32, same_prompts=False, reference=reference
        )  # fmt: skip
        about = trial.population
        right = 32 * (about.reference.mean() + trial.luck * about.sd / np.sqrt(32))
        assert right == pytest.approx(round(right), abs=1e-9)
        assert abs(trial.luck - stats.norm.ppf(reference)) <= 0.5 / (32 * about.sd / np.sqrt(32))
    normal = ScoreCheck(GaussianScores(), n=32, same_prompts=False, reference=0.95)
    assert normal.luck == pytest.approx(stats.norm.ppf(0.95))


def test_a_pilot_misleads_where_its_sigma_moves_the_level_by_more_than_half():
    trial = ScoreCheck(GaussianScores(), n=8, n_prompts=1000)
    found = trial.simulate(streams_at(), N_REP)
    at = indices(streams_at()("pilot 32"), 1000, N_REP, 32)
    sd = trial.population.reference[at].std(axis=1, ddof=1)
    level = stats.norm.sf(stats.norm.isf(0.05) * sd / trial.population.sd)
    np.testing.assert_array_equal(found["misled_by_32"], (level > 0.075) | (level < 0.025))


# ---------------------------------------------------------------- what is known
def known(**about) -> dict[str, float]:
    trial = ScoreCheck(GaussianScores(), **about)
    return dict(zip(METHODS, trial.exact()["rejection_rate"], strict=True))


def test_known_levels_are_those_of_the_tests():
    found = known(n=40)
    assert found["z"] == pytest.approx(0.05, abs=1e-9)
    assert found["t"] == found["paired_t"] == pytest.approx(0.05, abs=1e-9)
    assert found["z_sigma_small"] == pytest.approx(stats.norm.sf(0.8 * stats.norm.isf(0.05)))
    assert found["z_pilot_32"] == pytest.approx(stats.t(31).sf(stats.norm.isf(0.05)))


def test_known_power_is_that_of_noncentral_t():
    found = known(n=40, detectable_at=40)
    shift = stats.norm.isf(0.05) + stats.norm.isf(0.2)
    assert found["z"] == pytest.approx(0.8, abs=1e-6)
    by_t = stats.nct.sf(stats.t(78).isf(0.05), 78, shift)
    assert found["t"] == pytest.approx(by_t, abs=1e-6)


def test_on_the_same_prompts_z_has_the_level_of_a_wrong_standard_error():
    for correlation in (0.5, 0.95):
        found = known(n=512, correlation=correlation)
        level = stats.norm.sf(stats.norm.isf(0.05) / np.sqrt(1 - correlation))
        assert found["z"] == pytest.approx(level, rel=1e-4)
        assert found["paired_z"] == pytest.approx(0.05, abs=1e-12)
        assert np.isnan(found["t"])


# ---------------------------------------------------------------- draws without a population
ERROR = 0.004  # of a rate of a few per cent: what a population too coarse would be off by
SD = np.sqrt(2 * 0.05 * 0.95)  # of a difference of two rejections, at the level
N_LEVEL = replicates_to_catch(ERROR, sd=SD)


SAMPLERS = {  # of the distributions themselves, in units of the scores
    "GaussianScores": lambda rng, shape: rng.standard_normal(shape),
    "BinaryScores": lambda rng, shape: (rng.random(shape) < 0.8).astype(float),
    "BoundedScores": lambda rng, shape: rng.beta(1.2, 4.8, shape),
    "PerplexityScores": lambda rng, shape: 20 * rng.lognormal(-0.5, 1.0, shape),
}


def drawn_anew(scores, n: int, n_rep: int) -> np.ndarray:
    """Whether z fails scores that are drawn one by one."""
    rng, trial = np.random.default_rng(8), ScoreCheck(scores, n=n)
    sample = SAMPLERS[type(scores).__name__]
    x, y = (sample(rng, (n_rep, n)).mean(axis=1) for _ in range(2))
    sign = 1 if scores.lower_is_better else -1
    return sign * (y - x) >= stats.norm.isf(0.05) * trial.sigma * np.sqrt(2 / n)


def levels(failed: np.ndarray, scores, **about) -> tuple[float, float, float]:
    """A level by a population and by scores drawn anew, and the error of their difference."""
    found = ScoreCheck(scores, **about).simulate(streams_at(), len(failed))["reject"]
    by_population = float(found[:, METHODS.index("z")].mean())
    return by_population, float(failed.mean()), SD / np.sqrt(len(failed))


@pytest.mark.parametrize("same_prompts", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scores", KINDS, ids=str)
def test_a_population_has_the_level_of_its_distribution(scores, same_prompts):
    failed = drawn_anew(scores, 16, N_LEVEL)
    assert_within_mcse(*levels(failed, scores, n=16, same_prompts=same_prompts))


def test_that_test_catches_a_population_that_is_too_coarse():
    failed = drawn_anew(PerplexityScores(), 16, N_LEVEL)
    assert_caught(*levels(failed, PerplexityScores(), n=16, n_prompts=8))
