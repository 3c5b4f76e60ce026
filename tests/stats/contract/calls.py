"""One cheap valid call of every public function of the statistics, by its place in the package.

Arguments are as a careful user would give them: float64 arrays, floats and ints. Whatever takes
random numbers gets a generator of its own from `RNG`.
"""

import numpy as np
from sklearn.linear_model import LinearRegression

from simstudy.dgps.scores import NormalScores
from simstudy.stats.accuracy import two_binomials
from simstudy.stats.accuracy.counts import Counts
from simstudy.stats.accuracy.prompts import CriticalCounts, chances
from simstudy.stats.bootstrap.losses import StudentizedBootstrap
from simstudy.stats.bootstrap.quantiles import Interpolation, quantile_law
from simstudy.stats.bootstrap.resamples import Resamples
from simstudy.stats.classifier.thresholds import OrderLaw, Target
from simstudy.stats.compatible.theory import Mixture
from simstudy.stats.leave_one_out import priors, regression
from simstudy.stats.leave_one_out.posterior import posterior_draws
from simstudy.stats.leave_one_out.utilities import Pointwise
from simstudy.stats.models.metrics import mean_metric, squared_error
from simstudy.stats.models.trial import Stage
from simstudy.stats.networks.architecture import Network, Training
from simstudy.stats.predictive.distributions import Normal
from simstudy.stats.smoothing.spline import Curve

RNG = "a generator of its own"

made = np.random.default_rng(20)
X, Y = made.normal(2.0, 1.0, (3, 12)), made.normal(2.5, 1.0, (3, 12))
SORTED = np.sort(X, axis=1)
PER_REP = X.mean(axis=1)
P = made.uniform(size=(3, 12))
P_SORTED = np.sort(P, axis=1)
LOG_P = np.log(P)
FEATURES = made.normal(size=(3, 12, 2))
LOSSES = np.stack([(X - Y) ** 2, np.abs(X - Y)], axis=-1)
LAW = quantile_law(12, 0.2)
RESAMPLES = Resamples(SORTED, np.ones(SORTED.shape, np.int64))
TARGET = Target(0.8, 0.9)
POINTWISE, OTHER = Pointwise(Y, Y - X, LOG_P), Pointwise(Y, Y - X.mean(), LOG_P - 0.1)
PRIOR = priors.default_prior(FEATURES, Y)
SPECTRUM = regression.decompose(FEATURES, Y, PRIOR)
CRITICAL = two_binomials.critical_counts("fisher", 10, 10, 0.1)
CRITICAL_COUNTS = CriticalCounts(np.full((6, 1), 2), np.full((6, 1), 4))
CHANCES = chances(0.8, 0.7)
COUNTS = Counts(np.array([4, 5]), np.array([1, 2]), np.array([0, 0]))
BOOT = StudentizedBootstrap(PER_REP, PER_REP**2, -np.ones(3), np.zeros(3, np.int64), 1.0)
STAGE = Stage(*(np.abs(X[:, :n, np.newaxis]) for n in (1, 2, 2)))
METRIC = mean_metric("mse", squared_error)
NORMAL = Normal(PER_REP, np.ones(3))
SCORES = NormalScores(1.0, 2.0)
CURVE = Curve(np.linspace(0, 1, 5), np.linspace(0, 1, 5), np.full(5, 0.01), rise=1.0)
MIXTURE = Mixture(3, 2, np.sqrt)

BOUND = {"q": 0.2, "confidence": 0.8}
KEEP = {"sensitivity": 0.7, "confidence": 0.8}
Z = {"sigma": 50.0, "n": 100, "n_check": 80}
PAIR = {"x": X, "y": Y[:, :9]}
TWO = {"alpha": 0.1, "k": 1.0, "n1": 50.0, "n2": 40.0}
TRIAL = {"sensitivity": 0.9, "margin": 0.2, "power": 0.8, "alpha": 0.05}

CALLS = {
    "accuracy.counts.draw_counts": {"rng": RNG, "n_rep": 4, "n": 40, "chance": CHANCES, "kept": 30},
    "accuracy.counts.decide": {"critical": CRITICAL_COUNTS, "counts": COUNTS},
    "accuracy.design.standard_error": Z,
    "accuracy.design.threshold": {"reference": 70.0, "alpha": 0.05, **Z},
    "accuracy.design.p_value": {"check": 60.0, "reference": 70.0, **Z},
    "accuracy.design.fails": {"check": 60.0, "gamma": 70.0},
    "accuracy.design.detectable_effect": {"alpha": 0.05, "beta": 0.2, **Z},
    "accuracy.design.type_2_error": {"theta": 3.0, "alpha": 0.05, **Z},
    "accuracy.design.power": {"theta": 3.0, "alpha": 0.05, **Z},
    "accuracy.design.level": {"theta": 3.0, "beta": 0.2, **Z},
    "accuracy.design.largest_sigma": {"theta": 3.0, "alpha": 0.05, "beta": 0.2, "n": 100},
    "accuracy.design.sample_size": {"theta": 3.0, "alpha": 0.05, "beta": 0.2, "sigma": 50.0},
    "accuracy.design.doubled_sample_size": {
        "theta": 3.0, "alpha": 0.05, "beta": 0.2, "sigma": 50.0, "start": 32,
    },
    "accuracy.design.rejection_probability": {
        "alpha": 0.05, "assumed_error": 2.0, "true_error": 3.0, "theta": 1.0,
    },
    "accuracy.design.level_given_reference": {"alpha": 0.05, "delta": 0.5, "n": 10, "n_check": 20},
    "accuracy.paired.p_values": {"test": "paired_t", "losses": 5, "gains": 1, "n": 20},
    "accuracy.paired.critical_losses": {"test": "paired_t", "n": 12, "alpha": 0.05},
    "accuracy.paired.rejection_probability": {
        "critical": np.full(6, 3), "n": 5, "p_loss": 0.3, "p_gain": 0.1,
    },
    "accuracy.paired.paired_z": {"mean_difference": -1.0, "sd": 3.0, "n": 10},
    "accuracy.paired.paired_t": {"mean_difference": -1.0, "sd": 3.0, "n": 10},
    "accuracy.prompts.chances": {"accuracy": 0.8, "check_accuracy": 0.7, "correlation": 0.1},
    "accuracy.prompts.binomial_law": {"n": 5, "probability": 0.3},
    "accuracy.prompts.rejection_given": {
        "critical": CRITICAL_COUNTS, "count": 4, "chance": CHANCES,
    },
    "accuracy.prompts.rejection": {"critical": CRITICAL_COUNTS, "chance": CHANCES},
    "accuracy.prompts.rejection_of_different": {
        "critical": CRITICAL_COUNTS, "accuracy": 0.8, "check_accuracy": 0.7,
    },
    "accuracy.t_tests.p_value": {
        "check": 60.0, "reference": 70.0, "sd_check": 40.0, "sd_reference": 50.0, "n": 100,
        "n_check": 80,
    },
    "accuracy.t_tests.threshold": {
        "reference": 70.0, "alpha": 0.05, "sd_reference": 50.0, "n": 100, "n_check": 80,
    },
    "accuracy.t_tests.power": {"theta": 3.0, "alpha": 0.05, **Z},
    "accuracy.t_tests.type_2_error": {"theta": 3.0, "alpha": 0.05, **Z},
    "accuracy.t_tests.sample_size": {"theta": 9.0, "alpha": 0.05, "beta": 0.2, "sigma": 10.0},
    "accuracy.two_binomials.p_values": {
        "test": "fisher", "successes_reference": 9, "successes_check": 5, "n": 10, "n_check": 12,
    },
    "accuracy.two_binomials.critical_counts": {
        "test": "fisher", "n": 10, "n_check": 12, "alpha": 0.05,
    },
    "accuracy.two_binomials.known_sigma_critical_counts": {
        "n": 10, "n_check": 12, "alpha": 0.05, "sigma": 0.5,
    },
    "accuracy.two_binomials.t_critical_counts": {"n": 10, "n_check": 12, "alpha": 0.05},
    "accuracy.two_binomials.rejection_probability": {
        "critical": CRITICAL, "n": 10, "n_check": 10, "p_reference": 0.9, "p_check": 0.6,
    },
    "accuracy.two_binomials.rejection_probability_given": {
        "critical": CRITICAL, "count_reference": 8, "n_check": 10, "p_check": 0.6,
    },
    "accuracy.two_binomials.size": {"critical": CRITICAL, "n": 10, "n_check": 10},
    "bootstrap.losses.adjusted_std_error": {
        "std_error": np.ones(3), "quantile": -np.arange(1.0, 4.0), "k": 1.5,
    },
    "bootstrap.losses.bootstrap_indices": {"seed": 7, "n_obs": 5, "n_boot": 3},
    "bootstrap.losses.resampled_means": {"values": LOSSES, "rng": RNG, "n_boot": 4},
    "bootstrap.losses.bootstrap_variance": {"losses": LOSSES, "rng": RNG, "n_boot": 4, "ddof": 1},
    "bootstrap.losses.ideal_variance": {"losses": LOSSES},
    "bootstrap.losses.studentized_bootstrap": {
        "losses": LOSSES, "rng": RNG, "k": 1.0, "n_boot": 40, "n_inner": 4, "ddof": 1,
    },
    "bootstrap.quantiles.interpolation": {"n_obs": 9, "q": 0.2, "method": "hazen"},
    "bootstrap.quantiles.sample_quantile": {"scores": X, "q": 0.2, "quantile_method": "hazen"},
    "bootstrap.quantiles.quantile_of_sorted": {"ordered": SORTED, "where": Interpolation(3, 0.2)},
    "bootstrap.quantiles.quantile_law": {"n_obs": 9, "q": 0.2, "method": "hazen"},
    "bootstrap.quantiles.rank_probabilities": {"n_obs": 9, "rank": 3},
    "bootstrap.quantiles.pair_probabilities": {"law": LAW},
    "bootstrap.quantiles.atoms_of_sorted": {"lowest": SORTED[0], "law": LAW},
    "bootstrap.quantiles.bootstrap_quantile": {
        "scores": X, "level": np.full((3, 2), 0.3), "q": 0.2, "quantile_method": "hazen",
    },
    "bootstrap.quantiles.bootstrap_moments": {"scores": X, "q": 0.2, "quantile_method": "hazen"},
    "bootstrap.quantiles.bootstrap_masses": {
        "scores": X, "at": PER_REP, "q": 0.2, "quantile_method": "hazen",
    },
    "bootstrap.quantiles.quantiles_of_sorted": {
        "ordered": SORTED, "levels": np.full((3, 2), 0.3), "law": LAW,
    },
    "bootstrap.quantiles.masses_of_sorted": {"ordered": SORTED, "at": PER_REP, "law": LAW},
    "bootstrap.quantiles.moments_of_sorted": {"ordered": SORTED, "center": PER_REP, "law": LAW},
    "bootstrap.quantiles.jackknife_acceleration": {
        "ordered": SORTED, "q": 0.2, "quantile_method": "hazen",
    },
    "bootstrap.resamples.draw_resamples": {
        "rng": RNG, "scores": X, "n_boot": 9, "q": 0.2, "quantile_method": "hazen",
    },
    "bootstrap.resamples.in_order": {"values": X, "counts": np.ones(X.shape, np.int64)},
    "bootstrap.resamples.likely_pairs": {"n_obs": 9, "q": 0.2, "quantile_method": "hazen"},
    "bootstrap.resamples.shares_below": {"resamples": RESAMPLES, "at": PER_REP},
    "bootstrap.resamples.resampled_quantile": {"resamples": RESAMPLES, "level": np.full(3, 0.3)},
    "bootstrap.resamples.resampled_shape": {"resamples": RESAMPLES},
    "bootstrap.resamples.exact_shape": {"scores": X, "q": 0.2},
    "classifier.bootstrap_bounds.exact_bootstrap_bounds": {
        "scores": X, **BOUND, "side": "upper", "ties": "weak", "quantile_method": "hazen",
    },
    "classifier.bootstrap_bounds.monte_carlo_bootstrap_bounds": {
        "rng": RNG, "scores": X, **BOUND, "n_boot": 9, "side": "upper", "ties": "weak",
        "quantile_method": "hazen",
    },
    "classifier.bootstrap_bounds.bounds_from_resamples": {
        "resamples": RESAMPLES, "estimate": PER_REP, "acceleration": PER_REP / 50,
        "confidence": 0.8, "side": "upper", "ties": "weak",
    },
    "classifier.bootstrap_bounds.studentized_draws": {
        "rng": RNG, "scores": X, "n_boot": 5, "q": 0.2, "quantile_method": "hazen",
    },
    "classifier.bootstrap_bounds.studentized_bound": {
        "roots": X - 2.0, "estimate": PER_REP, "std_error": np.ones(3), "confidence": 0.8,
        "side": "upper",
    },
    "classifier.bootstrap_bounds.estimate_and_std_error": {
        "scores": X, "q": 0.2, "quantile_method": "hazen",
    },
    "classifier.bounds.quantile_bound": {
        "scores": X, "method": "bca", **BOUND, "side": "upper", "ties": "weak",
        "quantile_method": "hazen",
    },
    "classifier.bounds.sensitivity_threshold": {
        "scores": X, **KEEP, "method": "bca", "ties": "weak", "quantile_method": "hazen",
    },
    "classifier.bounds.specificity_threshold": {
        "scores": X, "specificity": 0.7, "confidence": 0.8, "method": "bca", "ties": "weak",
        "quantile_method": "hazen",
    },
    "classifier.description.described": {"x": X, "target": TARGET, "rng": RNG},
    "classifier.description.n_low": {"n_obs": 9, "q": 0.2},
    "classifier.direct_bounds.level_of": {"confidence": 0.8, "side": "upper"},
    "classifier.direct_bounds.order_statistic_bound": {"scores": X, **BOUND, "side": "upper"},
    "classifier.direct_bounds.normal_tolerance_bound": {"scores": X, **BOUND, "side": "upper"},
    "classifier.direct_bounds.normal_tolerance_factor": {"n_obs": 9, "q": 0.2, "alpha": 0.1},
    "classifier.direct_bounds.smoothed_bound": {
        "scores": X, **BOUND, "side": "upper", "bandwidth": 0.5,
    },
    "classifier.direct_bounds.bayesian_bootstrap_bound": {"scores": X, **BOUND, "side": "upper"},
    "classifier.direct_bounds.bayesian_bootstrap_cdf": {"n_obs": 9, "q": 0.2},
    "classifier.theory.exact_coverage": {
        "scores": SCORES, "method": "umbrella", "n_obs": 30, "target": TARGET,
    },
    "classifier.theory.exact_mean_sensitivity": {
        "scores": SCORES, "method": "umbrella", "n_obs": 30, "target": TARGET,
    },
    "classifier.theory.expected_over_sensitivity": {
        "scores": SCORES, "method": "umbrella", "n_obs": 30, "target": TARGET, "of": np.sqrt,
    },
    "classifier.theory.expected_shift": {"scores": SCORES, "n_obs": 9, "q": 0.2},
    "classifier.theory.threshold_cdf": {
        "scores": SCORES, "law": OrderLaw(9, 2, 0.3), "at": np.array([0.2, 0.4]),
    },
    "classifier.theory.threshold_density": {"scores": SCORES, "law": OrderLaw(9, 2, 0.0)},
    "classifier.thresholds.thresholds": {"scores": X, "target": TARGET, "resamples": None},
    "classifier.thresholds.order_law": {"method": "umbrella", "n_obs": 30, "target": TARGET},
    "classifier.trial.p_value": {"successes": 9, "n_obs": 10, "null": 0.7, "rule": "mid_p"},
    "classifier.trial.wilson_lower": {"successes": 9.0, "n_obs": 10, "alpha": 0.05},
    "classifier.trial.clopper_pearson_lower": {"successes": 9, "n_obs": 10, "alpha": 0.05},
    "classifier.trial.mid_p_lower": {"successes": 9, "n_obs": 10, "alpha": 0.05},
    "classifier.trial.critical_count": {
        "n_obs": 10, "null": 0.6, "alpha": 0.05, "rule": "mid_p",
    },
    "classifier.trial.trial_power": {
        "n_obs": 10, "sensitivity": 0.9, "null": 0.6, "alpha": 0.05, "rule": "mid_p",
    },
    "classifier.trial.power_at_sensitivities": {
        "critical": 9, "n_obs": 10, "sensitivities": np.array([0.8, 0.9]),
    },
    "classifier.trial.power_with_order_statistic": {
        "rank": 2, "n_test": 30, "n_trial": 20, "null": 0.8, "alpha": 0.05, "rule": "mid_p",
    },
    "classifier.trial.upper_tail": {"count": 3, "n_obs": 10, "p": 0.4},
    "classifier.trial.normal_sample_size": TRIAL,
    "classifier.trial.normal_power": {
        "n_obs": 30.0, "sensitivity": 0.9, "margin": 0.2, "alpha": 0.05,
    },
    "classifier.trial.normal_alpha": {
        "n_obs": 30.0, "sensitivity": 0.9, "margin": 0.2, "power": 0.8,
    },
    "classifier.trial.normal_margin": {
        "n_obs": 30.0, "sensitivity": 0.9, "power": 0.8, "alpha": 0.05,
    },
    "classifier.trial.exact_margin": {
        "n_obs": 30, "sensitivity": 0.9, "power": 0.8, "alpha": 0.05, "rule": "mid_p",
    },
    "classifier.trial.exact_alpha": {
        "n_obs": 30, "sensitivity": 0.9, "margin": 0.2, "power": 0.8, "rule": "mid_p",
    },
    "classifier.trial.reached_count": {"n_obs": 30, "sensitivity": 0.9, "power": 0.8},
    "classifier.trial.sample_sizes": {**TRIAL, "rule": "mid_p"},
    "classifier.trial.solve_trial": {**TRIAL, "rule": "mid_p", "guarantee": "forever"},
    "classifier.trial.proven_sample_size": TRIAL,
    "classifier.umbrella.violation": {"rank": 2, "n_obs": 30, "sensitivity": 0.8},
    "classifier.umbrella.umbrella_rank": {"n_obs": 30, **KEEP},
    "classifier.umbrella.least_feasible_n": KEEP,
    "classifier.umbrella.rank_table": {"n_obs": 9, "sensitivity": 0.8},
    "classifier.umbrella.umbrella_threshold": {"scores": X, **KEEP, "infeasible": "-inf"},
    "classifier.umbrella.umbrella_specificity_threshold": {
        "scores": X, "specificity": 0.7, "confidence": 0.8, "infeasible": "-inf",
    },
    "classifier.umbrella.randomised_rank": {"n_obs": 30, **KEEP},
    "classifier.umbrella.randomised_threshold": {"rng": RNG, "scores": X, **KEEP},
    "classifier.umbrella.interpolation_weight": {"n_obs": 30, **KEEP},
    "classifier.umbrella.interpolated_violation": {
        "rank": 3, "weight": 0.4, "n_obs": 30, "miss": 0.2,
    },
    "classifier.umbrella.interpolated_threshold": {"scores": X, **KEEP, "infeasible": "-inf"},
    "compatible.combining.in_log10": {"log_p": LOG_P},
    "compatible.combining.fisher": {"log_p": LOG_P},
    "compatible.combining.stouffer": {"log_p": LOG_P, "weights": np.arange(1.0, 13.0)},
    "compatible.combining.harmonic_mean": {"log_p": LOG_P},
    "compatible.combining.cauchy": {"log_p": LOG_P},
    "compatible.combining.minimum": {"log_p": LOG_P},
    "compatible.false_discovery.nfdr": {"p": P},
    "compatible.false_discovery.cfdr": {"p": P, "order": "p", "clipped": True},
    "compatible.false_discovery.rfdr": {"p": P, "order": "p", "ratio": 1.7},
    "compatible.false_discovery.ascending_nfdr": {"ordered": P_SORTED},
    "compatible.false_discovery.corrected": {"rates": P_SORTED, "clipped": True},
    "compatible.false_discovery.harmonic_numbers": {"n": 4},
    "compatible.false_discovery.reranked": {"rates": P_SORTED, "ratio": 1.6},
    "compatible.false_discovery.later_ranks": {"n": 4, "ratio": 1.6},
    "compatible.intervals.percentile_interval": {
        "p": P, "estimator": lambda p: p.mean(axis=-1), "rng": RNG, "n_boot": 9, "level": 0.8,
    },
    "compatible.null_proportion.cfdr_proportion": {"p": P, "order": "p", "clipped": True},
    "compatible.null_proportion.rfdr_proportion": {"p": P, "order": "p", "ratio": 1.7},
    "compatible.null_proportion.storey": {"p": P, "lam": 0.4},
    "compatible.null_proportion.storey_smoother": {"p": P},
    "compatible.null_proportion.storey_bootstrap": {"p": P, "reference": 0.1},
    "compatible.null_proportion.jiang_doerge": {"p": P, "n_bins": 5},
    "compatible.null_proportion.pounds_cheng": {"p": P},
    "compatible.null_proportion.langaas": {"p": P},
    "compatible.theory.mean_cfdr_proportion": {"mixture": MIXTURE, "clipped": False},
    "compatible.theory.mean_rfdr_proportion": {"mixture": MIXTURE, "ratio": 1.6},
    "compatible.theory.storey_moments": {"mixture": MIXTURE, "lam": 0.5},
    "leave_one_out.bayesian_bootstrap.bayesian_bootstrap": {
        "pointwise": POINTWISE, "rng": RNG, "n_draw": 20,
    },
    "leave_one_out.bayesian_bootstrap.bayesian_bootstrap_difference": {
        "first": POINTWISE, "second": OTHER, "rng": RNG, "n_draw": 20,
    },
    "leave_one_out.bayesian_bootstrap.bayesian_bootstrap_against": {
        "first": POINTWISE, "others": [OTHER], "rng": RNG, "n_draw": 20,
    },
    "leave_one_out.bayesian_bootstrap.bootstrap_draws": {
        "pointwise": POINTWISE, "rng": RNG, "n_draw": 20,
    },
    "leave_one_out.importance.importance_leave_one_out": {
        "features": FEATURES, "y": Y,
        "draws": posterior_draws(FEATURES, Y, PRIOR, np.random.default_rng(3), n_draw=200),
    },
    "leave_one_out.importance.smoothed_log_weights": {
        "log_ratios": made.normal(size=(3, 2, 200)),
    },
    "leave_one_out.posterior.posterior_draws": {
        "features": FEATURES, "y": Y, "prior": PRIOR, "rng": RNG, "n_draw": 30,
    },
    "leave_one_out.posterior.sigma_quantiles": {
        "spectrum": SPECTRUM, "prior": PRIOR, "probability": np.full((3, 2), 0.3),
    },
    "leave_one_out.priors.default_prior": {"features": FEATURES, "y": Y},
    "leave_one_out.priors.wide_prior": {"features": FEATURES, "y": Y, "coefficient_sd": 5.0},
    "leave_one_out.regression.exact_leave_one_out": {
        "features": FEATURES, "y": Y, "prior": PRIOR, "refine": 1.0,
    },
    "leave_one_out.regression.decompose": {"features": FEATURES, "y": Y, "prior": PRIOR},
    "leave_one_out.regression.leverages": {"spectrum": SPECTRUM, "sigma": np.ones(3)},
    "leave_one_out.regression.to_coefficients": {
        "standard": np.ones((3, 3)), "spectrum": SPECTRUM, "features": FEATURES,
        "prior": PRIOR,
    },
    "leave_one_out.utilities.taylor_ratio": {"n_obs": 9},
    "leave_one_out.utilities.taylor": {"pointwise": POINTWISE},
    "leave_one_out.utilities.taylor_difference": {"first": POINTWISE, "second": OTHER},
    "leave_one_out.utilities.influence": {"pointwise": POINTWISE, "utility": "mse"},
    "leave_one_out.utilities.mean_std_error": {"psi": X},
    "leave_one_out.utilities.about_mean": {"y": Y},
    "leave_one_out.utilities.log_densities": {"pointwise": POINTWISE},
    "models.least_squares.fit_least_squares": {"features": FEATURES, "y": Y},
    "models.least_squares.fit_each": {
        "estimator": LinearRegression(), "features": FEATURES, "y": Y,
        "new_features": FEATURES, "rng": RNG,
    },
    "models.metrics.squared_error": {"y": Y, "prediction": X},
    "models.metrics.absolute_error": {"y": Y, "prediction": X},
    "models.metrics.absolute_percentage_error": {"y": Y, "prediction": X},
    "models.metrics.tweedie_loss": {"power": 1.5},
    "models.metrics.tweedie_deviance": {"power": 1.5},
    "models.metrics.influence": {"metric": METRIC, "y": Y, "prediction": X},
    "models.metrics.estimate": {"metric": METRIC, "y": Y, "prediction": X, "ddof": 1},
    "models.metrics.metric_bootstrap": {
        "metric": METRIC, "y": Y, "prediction": X, "rng": RNG, "k": 1.0, "n_boot": 40, "ddof": 1,
    },
    "models.metrics.function_bootstrap": {
        "function": lambda y, x: ((y - x) ** 2).mean(axis=1), "y": Y, "prediction": X,
        "rng": RNG, "k": 1.0, "n_boot": 40, "n_inner": 3, "ddof": 1,
    },
    "models.risk.folded_normal_mean": {"mean": PER_REP, "variance": np.ones(3)},
    "models.risk.student_mixture": {"df": 5.0},
    "models.risk.normal_expectation": {"function": lambda z: np.stack([z**2, np.cos(z)])},
    "models.trial.stage_of": {"boot": BOOT},
    "models.trial.stage_of_metric": {
        "metric": METRIC, "y": Y, "prediction": X, "rng": RNG, "k": 1.0, "n_boot": 40,
    },
    "models.trial.stage_of_errors": {
        "error": X, "rng": RNG, "k": 1.0, "n_boot": 40, "n_inner": np.inf,
    },
    "models.trial.verdict": {"first": STAGE, "second": STAGE, "k": 1.0, "limit": -1.0},
    "models.trial.null_columns": {"bound": X, "risk": Y, "suffix": "_x"},
    "models.trial.trial_design": {"n_test": 50, "k": 1.0, "alpha": 0.1, "power": 0.8},
    "networks.ensemble.ensemble_predictions": {
        "network": Network((3,)), "training": Training(epochs=(1,), batch_size=4),
        "features": FEATURES[0], "y": Y[0, :8], "rows": np.tile(np.arange(8), (2, 1)),
        "initial": RNG, "order": RNG,
    },
    "networks.ensemble.standardised": {"features": FEATURES[0], "n_train": 8},
    "predictive.bootstrap.fitted": {"draws": FEATURES, "residual_sd": 0.3},
    "predictive.bootstrap.centered": {
        "draws": FEATURES, "center": np.zeros((3, 2)), "residual_sd": 0.3,
    },
    "predictive.calibration.pit": {"distribution": NORMAL, "y": PER_REP + 0.3},
    "predictive.calibration.pit_distance": {"values": P},
    "predictive.calibration.covers": {"distribution": NORMAL, "y": PER_REP + 0.3, "level": 0.8},
    "predictive.calibration.coverage": {"distribution": NORMAL, "y": PER_REP + 0.3, "level": 0.8},
    "predictive.calibration.mean_crps": {"distribution": NORMAL, "y": PER_REP + 0.3},
    "predictive.p_values.log_p_value": {
        "distribution": NORMAL, "y": PER_REP + 0.3, "tail": "upper",
    },
    "predictive.p_values.p_value": {"distribution": NORMAL, "y": PER_REP + 0.3, "tail": "upper"},
    "predictive.tails.log_student_below": {"t": -np.arange(3.0), "df": np.full(3, 4.0)},
    "smoothing.crossing.cross": {"curve": CURVE, "goal": 0.5, "z": 2.0},
    "two_sample.bootstrap_t.bootstrap_t": {
        **PAIR, "rng": RNG, "alpha": 0.2, "n_boot": 19, "tails": "symmetric",
    },
    "two_sample.permutation.permutation": {
        **PAIR, "rng": RNG, "alpha": 0.2, "n_perm": 19, "studentized": False,
    },
    "two_sample.permutation.partitions": {"seed": 5, "n1": 4, "n2": 3, "n_perm": 2},
    "two_sample.rank_sum.rank_sum": {**PAIR, "alpha": 0.1},
    "two_sample.rank_sum.rank_sum_statistic": PAIR,
    "two_sample.rank_sum.rank_sum_law": {"n1": 4, "n2": 3},
    "two_sample.rank_sum.is_exact": {"n1": 4, "n2": 3},
    "two_sample.rank_sum.p_values_of_u": {"n1": 4, "n2": 3},
    "two_sample.rank_sum.least_kept": {"n1": 4, "n2": 5, "alpha": 0.1},
    "two_sample.rank_sum.rank_sum_size": {"n1": 4, "n2": 5, "alpha": 0.1},
    "two_sample.samples.moments": PAIR,
    "two_sample.samples.centred": {"x": X},
    "two_sample.samples.no_answer": PAIR,
    "two_sample.samples.fewest_as_extreme": {"n_drawn": 19, "alpha": 0.1},
    "two_sample.t_tests.welch": {**PAIR, "alpha": 0.1},
    "two_sample.t_tests.student": {**PAIR, "alpha": 0.1},
    "two_sample.t_tests.satterthwaite": {
        "first": np.ones(3), "second": np.full(3, 2.0), "df1": 4, "df2": 5,
    },
    "two_sample.theory.welch_rejection": {
        "n1": 4, "n2": 5, "variance_ratio": 2.0, "effect": 1.0, "alpha": 0.1,
    },
    "two_sample.theory.student_rejection": {
        "n1": 4, "n2": 5, "variance_ratio": 2.0, "effect": 1.0, "alpha": 0.1,
    },
    "two_sample.theory.permutation_size": {"n_perm": 19, "alpha": 0.1},
    "two_sample.theory.pooled_size": {"n1": 4, "n2": 5, "variance_ratio": 2.0, "alpha": 0.1},
    "two_sample.theory.rank_sum_size_for_normals": {
        "n1": 3, "n2": 4, "variance_ratio": 2.0, "alpha": 0.1,
    },
    "two_stage.design.critical_value": TWO,
    "two_stage.design.power": TWO,
    "two_stage.design.boundary_rejection": TWO,
    "two_stage.design.boundary_power": TWO,
    "two_stage.design.boundary_n2": {"power": 0.6, "alpha": 0.1, "k": 1.0, "n1": 50.0},
    "two_stage.design.outcome_table": TWO,
    "two_stage.design.solve_design": {"n1": 50, "n2": 40, "k": 1.0, "alpha": 0.1},
    "two_stage.law.conditional_p_value": {
        "s2": -1.0, "null_is_false": True, "k": 1.0, "n1": 50.0, "n2": 40.0,
    },
}  # fmt: skip
