"""What cannot be answered is refused by name and value, where the contract over all functions asks
for nothing: combinations of arguments, designs out of reach, sizes beyond what can be computed.
"""

from functools import partial

import numpy as np
import pytest

from simstudy.documents.stats.accuracy import design, paired, prompts, t_tests
from simstudy.documents.stats.accuracy import two_binomials as tb
from simstudy.documents.stats.accuracy.prompts import BITS, draw_counts
from simstudy.documents.stats.arguments import as_scores
from simstudy.documents.stats.bootstrap import losses
from simstudy.documents.stats.bootstrap import quantiles as qb
from simstudy.documents.stats.bootstrap.resamples import Resamples, in_order
from simstudy.documents.stats.classifier import bounds, thresholds, trial, umbrella
from simstudy.documents.stats.compatible import false_discovery, null_proportion
from simstudy.documents.stats.compatible.combining import cauchy, stouffer
from simstudy.documents.stats.leave_one_out import importance, priors, regression, utilities
from simstudy.documents.stats.leave_one_out.bayesian_bootstrap import bayesian_bootstrap_against
from simstudy.documents.stats.leave_one_out.posterior import PosteriorDraws
from simstudy.documents.stats.leave_one_out.utilities import Pointwise
from simstudy.documents.stats.models import least_squares, metrics
from simstudy.documents.stats.networks.architecture import Network, Training
from simstudy.documents.stats.predictive.bootstrap import fitted
from simstudy.documents.stats.predictive.distributions import Normal, StudentT
from simstudy.documents.stats.two_sample import samples
from simstudy.documents.stats.two_stage.design import boundary_n2, solve_design
from simstudy.documents.stats.two_stage.law import TwoStageStatistic, conditional_p_value
from simstudy.errors import DesignError
from tests.documents.stats.leave_one_out.plain import draw_data

X = np.random.default_rng(1).normal(size=(2, 20))
FEATURES, Y = draw_data(2, 5, 1)
LOSSES = np.abs(X)[..., np.newaxis]
PRIOR = priors.default_prior(FEATURES, Y)
LAW = TwoStageStatistic([0, 1, 2], 1, 1)
CRITICAL = np.array([0, 6])
TARGET = thresholds.Target(0.9, 0.9)
ONE, OTHER = Pointwise(X, X, X), Pointwise(X + 1, X, X)
NO_SCALE, OF_TWO = PRIOR._replace(sigma_rate=np.zeros(2)), priors.default_prior(*draw_data(2, 5, 2))
FEW_DRAWS = PosteriorDraws(np.zeros((2, 24)), np.zeros((2, 24, 1)), np.ones((2, 24)))
leave_one_out = partial(regression.exact_leave_one_out, FEATURES, Y)


def bound_of(resamples: Resamples, estimate: np.ndarray):
    return bounds.bounds_from_resamples(resamples, estimate, estimate, confidence=0.9)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


REFUSED = {
    "accuracy": [
        (lambda: design.standard_error(1.0, 10, correlation=1.0), "correlation=1"),
        (lambda: design.standard_error(1.0, 10, 20, correlation=0.5), "correlation=0.5.*n_check"),
        (lambda: design.detectable_effect(0.6, 0.4, 1.0, 10), "alpha=0.6 and beta=0.4"),
        (lambda: t_tests.sample_size(1.0, 0.6, 0.5, 1.0), "alpha=0.6 and beta=0.5"),
        (lambda: design.sample_size(1e-9, 0.05, 0.2, 1.0), r"theta=1e-09 .*1e\+19"),
        (lambda: design.level_given_reference(0.05, 0.0, correlation=-1.0), "correlation=-1"),
        (lambda: t_tests.p_value(1.0, 1.0, 1.0, 1.0, 1), "n=1 .* at least 2"),
        (lambda: paired.p_values("mcnemar", 4, 2, 5), r"losses \+ gains=6 .* 5"),
        (lambda: paired.rejection_probability(CRITICAL, 5, 0.1, 0.1), r"\(2,\) .* 6 results"),
        (
            lambda: paired.rejection_probability(CRITICAL // 3, 1, 0.7, 0.4),
            "p_loss=0.7 and p_gain=0.4",
        ),
        (lambda: tb.p_values("fisher", 3, 1, 2, 2), "successes_reference=3 .* 2"),
        (lambda: tb.critical_counts("boschloo", 9000, 9000, 0.05), "9000 .*'boschloo'.*Use"),
        (lambda: tb.rejection_probability(CRITICAL, 5, 5, 0.5, 0.5), r"\(2,\) .* 6 results"),
        (lambda: tb.rejection_probability(CRITICAL, 1, 5, 0.5, 0.5), "6 is not within -1 to 5"),
        (
            lambda: tb.rejection_probability_given(CRITICAL // 3, 2, 5, 0.5),
            "count_reference=2 .* 1",
        ),
        (lambda: prompts.chances(0.8, 0.6, 0.9), "correlation=0.9 .*from -0.408 to 0.612"),
        (lambda: draw_counts(rng(), 1, 2**BITS, prompts.chances(0.8, 0.7)), "n=2097152"),
        (lambda: draw_counts(rng(), 1, 8, prompts.chances(0.8, 0.7), kept=9), "n - kept=-1"),
    ],
    "bootstrap": [
        (lambda: losses.studentized_bootstrap(LOSSES, rng(), k=3.0), "k=3.*n_boot >= 3704"),
        (lambda: losses.studentized_bootstrap(LOSSES, rng(), k=-3.0), "1.3 resamples"),
        (lambda: losses.studentized_bootstrap(LOSSES, rng(), k=1, n_inner=1), "n_inner=1"),
        (lambda: losses.studentized_bootstrap(LOSSES, rng(), k=1, ddof=2), "ddof=2"),
        (lambda: losses.resampled_means(LOSSES[:, :1], rng(), n_boot=9), "at least 2 obs"),
        (lambda: losses.bootstrap_indices(2**64, 5, 3), "seed .* 64 bits"),
        (lambda: as_scores(X[0], least=1), r"shape \(20,\)"),
        (lambda: qb.sample_quantile(X * np.nan, 0.5), "40 scores are not finite"),
        (lambda: qb.quantile_law(100_001, 0.50001), "n_obs=100001"),
        (lambda: qb.rank_probabilities(5, 6), "n_obs=5 .* at least 6"),
        (lambda: in_order(X, np.full(X.shape, -1)), "counts=-1"),
        (lambda: in_order(X, np.zeros(X.shape, int)), "counts of row 0 are all 0"),
    ],
    "classifier": [
        (lambda: bound_of(Resamples(X, np.ones(X.shape, int)), X[:, 0]), "row 0 are not in ascend"),
        (lambda: bound_of(in_order(X), X[0, :1]), "estimate has 1 along 'rep' and .*values has 2"),
        (lambda: thresholds.thresholds(X, TARGET, resamples=in_order(X[:1])), "has 1 along 'rep'"),
        (
            lambda: bounds.exact_bootstrap_bounds(X[:, :1], q=0.1, confidence=0.8),
            "n_obs=1 .*at least 2",
        ),
        (lambda: umbrella.violation(6, 5, 0.9), "n_obs - rank=-1"),
        (lambda: umbrella.least_feasible_n(1 - 1e-16, 0.9), r"more than 9e\+15 positives"),
        (lambda: umbrella.least_feasible_n(0.5, float(np.nextafter(1, 0))), r"9e\+15 positives"),
        (lambda: trial.normal_sample_size(0.95, 0.95, 0.8, 0.05), "0 < margin < sensitivity"),
        (lambda: trial.normal_sample_size(0.9, 0.1, 0.01, 0.05), "no least one exists"),
        (lambda: trial.p_value(np.uint8(254), np.uint8(250), 0.9), "successes=254 of n_obs=250"),
        (lambda: trial.sample_sizes(0.9, 1e-6, 0.8, 0.05), "margin=1e-06 .*rule='normal'"),
        (lambda: trial.proven_sample_size(0.9, 1e-300, 0.8, 0.05), "margin=1e-300"),
    ],
    "compatible": [
        (lambda: false_discovery.rfdr(X[0] ** 2 / 99, ratio=0.5), "ratio=0.5"),
        (lambda: null_proportion.jiang_doerge(np.array([0.5]), n_bins=1), "n_bins=1"),
        (lambda: null_proportion.storey(np.float64(0.3)), "p has"),
        (lambda: stouffer(np.log([0.1, 0.2]), weights=np.array([0.0, 1.0])), "least value of 0"),
        (lambda: cauchy(np.empty((2, 0))), "log_p has nothing along 'n'"),
    ],
    "leave_one_out": [
        (lambda: leave_one_out(NO_SCALE), "a prior has the scale 0"),
        (lambda: leave_one_out(OF_TWO), r"\(2, 2\), and the data have 2 repl.* of 1"),
        (lambda: priors.check_training(np.zeros((2, 5)), Y), r"features have shape \(2, 5\)"),
        (lambda: priors.check_training(FEATURES, Y[:, :4]), "cannot be matched"),
        (lambda: priors.check_training(FEATURES[:, :1], Y[:, :1]), "n_obs=1 .*at least 2"),
        (lambda: priors.check_training(FEATURES * np.nan, Y), "10 features or responses"),
        (lambda: regression._refuse_endless(np.array([3, 0, 5])), "replicate 1 has no end"),
        (
            lambda: importance.importance_leave_one_out(FEATURES, Y, FEW_DRAWS),
            r"shape \(2, 24\) .*at least 25",
        ),
        (lambda: utilities.check_pointwise(Pointwise(X, X[:, 1:])), r"\(2, 20\), \(2, 19\)"),
        (lambda: utilities.check_pointwise(Pointwise(X[:, :1], X[:, :1])), "n_obs=1 .*at least 2"),
        (lambda: utilities.taylor(Pointwise(X, 1e80 * X)), "errors of replicate 0 spread"),
        (lambda: utilities.taylor(Pointwise(1e80 * X, X)), "responses of replicate 0 spread"),
        (lambda: bayesian_bootstrap_against(ONE, [OTHER], rng(), n_draw=9), "different responses"),
        (lambda: utilities.taylor_difference(ONE, OTHER), "different responses y.*the same y"),
    ],
    "models": [
        (lambda: least_squares.check_enough_observations(5, 5), "too few for 5 .*at least 6"),
        (lambda: least_squares._check_matching(np.zeros((3, 9, 2)), X), "cannot be matched"),
        (lambda: metrics._check_blocks(X, X[:, 1:]), "cannot be paired"),
        (lambda: metrics.estimate(metrics.MSE, X[:, :1], X[:, :1]), "at least 2 columns"),
        (lambda: metrics.metric_bootstrap(metrics.R2, X, X, rng(), k=3), "1.3 resamples"),
        (lambda: Network((15, 0)), r"hidden=\(15, 0\)"),
        (lambda: Training((0, 1)), r"epochs=\(0, 1\)"),
        (lambda: Training((5, 5)), r"epochs=\(5, 5\)"),
        (lambda: Training((1,), batch_size=1), "single observation has no variance"),
        (lambda: Training((1,), learning_rate=np.inf), "learning_rate=inf"),
        (lambda: Training((1,)).batches(1), "1 observations have no variance"),
    ],
    "predictive": [
        (lambda: fitted(np.zeros((3, 1, 5))), r"\(3, 1, 5\).*at least 2"),
        (lambda: Normal(0.0, -1.0), "sd=-1"),
        (lambda: StudentT(0.0, 0.0, 3.0), "scale=0"),
        (lambda: StudentT(0.0, 1.0, [3.0, np.inf]), r"df=inf.*Normal\(mean, sd\)"),
        (lambda: Normal(0.0, 1.0).quantile(95), "probability=95"),
    ],
    "two_sample": [
        (lambda: samples.checked(np.ones((4, 5)), np.ones((3, 6)), 0.05), r"\(4, 5\) and \(3, 6\)"),
        (lambda: samples.checked(np.ones((4, 5)), np.ones((4, 1)), 0.05), "sample of 1 obs"),
    ],
    "two_stage": [
        (lambda: TwoStageStatistic([0, np.nan], 1, 1), "k=nan"),
        (lambda: TwoStageStatistic(0, 1, [4, -3]), "n2=-3"),
        (lambda: TwoStageStatistic([0, 1], [1, 2, 3], 1), r"\(2,\), \(3,\)"),
        (lambda: TwoStageStatistic([1, 2000], 1, 1), "k=2000"),
        (lambda: TwoStageStatistic(0, 1, 1e20), "one sample is"),
        (lambda: TwoStageStatistic(0, 1, 1, null="true"), "whether the null is true"),
        (lambda: LAW.ppf([0.5, 0.2, 1.5]), "p=1.5"),
        (lambda: LAW.interval(80), "confidence=80"),
        (lambda: LAW.rvs(5, rng=rng()), "size=5 does not hold"),
        (lambda: LAW.rvs(-3, rng=rng()), "size=-3 is no shape"),
        (lambda: conditional_p_value([0.0, 1.0], [0, 1], 1, 1, 1), "null_is_false has dtype int64"),
        (lambda: solve_design(n1=9, k=1, alpha=0.1), "n2, power are missing"),
        (lambda: solve_design(n1=9, k=1, alpha=0.1, power=0.8, n2=4), "none of n2, k, alpha"),
        (lambda: solve_design(n1=9, k=1, alpha=0.1, power=0.05), "power=0.05 .* alpha=0.1"),
        (lambda: solve_design(n1=150, k=1.5, alpha=0.05, power=0.06), "power=0.06 .* 0.0704806"),
        (lambda: solve_design(n1=150, k=0, alpha=1e-12, power=1 - 1e-9), r"power=1 .* 2\^53"),
        (lambda: solve_design(n1=9, n2=9, alpha=0.05, power=0.2), "power=0.2 .* 0.3873"),
        (lambda: solve_design(n1=100_000, n2=1, alpha=0.05, power=0.8), "power=0.8 .* 60 standard"),
        (lambda: solve_design(n1=1, n2=10_000, k=20, power=0.01), "alpha that rounds to 0"),
        (lambda: boundary_n2([0.8, 0.01], 0.05, 1.5, 150), "power=0.01"),
        (lambda: boundary_n2(1 - 1e-15, 0.05, 0, 150), r"2\^53 observations"),
    ],
}


@pytest.mark.parametrize("package", REFUSED)
def test_what_has_no_answer_is_refused_by_name_and_value(package):
    for call, about in REFUSED[package]:
        with pytest.raises(DesignError, match=about):
            call()
