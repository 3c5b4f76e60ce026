"""Arguments for one cheap valid call of every public function of the statistics.

A function is called with the usual values of its arguments, or with values of its own. Values are
as a careful user would give them: float64 arrays, floats and ints. Sums of some of them leave 8
bits. Whatever takes random numbers gets a generator of its own from `RNG`.
"""

import numpy as np

from simstudy.documents.dgps.scores import NormalScores
from simstudy.documents.stats.accuracy import two_binomials
from simstudy.documents.stats.accuracy.prompts import Counts, CriticalCounts, chances
from simstudy.documents.stats.bootstrap.losses import StudentizedBootstrap
from simstudy.documents.stats.bootstrap.quantiles import Interpolation, quantile_law
from simstudy.documents.stats.bootstrap.resamples import Resamples
from simstudy.documents.stats.classifier.thresholds import OrderLaw, Target
from simstudy.documents.stats.compatible.theory import Mixture
from simstudy.documents.stats.leave_one_out import priors, regression
from simstudy.documents.stats.leave_one_out.posterior import posterior_draws
from simstudy.documents.stats.leave_one_out.utilities import Pointwise
from simstudy.documents.stats.models.metrics import mean_metric, squared_error
from simstudy.documents.stats.models.trial import Stage
from simstudy.documents.stats.networks.architecture import Network, Training
from simstudy.documents.stats.predictive.distributions import Normal

RNG = "a generator of its own"


class Level:
    """The least that scikit-learn takes for an estimator."""

    def get_params(self, deep=True):
        return {}

    def set_params(self):
        return self

    def fit(self, features, y):
        self.level = y.mean() + features.mean()
        return self

    def predict(self, features):
        return self.level + features.mean(axis=1)


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
MIXTURE = Mixture(3, 2, np.sqrt)

USUAL = {
    "accuracy": 0.8, "alpha": 0.05, "at": PER_REP, "beta": 0.2, "center": PER_REP,
    "chance": CHANCES, "check": 60.0, "check_accuracy": 0.7, "clipped": True, "confidence": 0.8,
    "count": 4, "counts": COUNTS, "critical": CRITICAL_COUNTS, "ddof": 1, "df": 5.0,
    "distribution": NORMAL, "draws": FEATURES, "effect": 1.0, "estimate": PER_REP,
    "estimator": lambda p: p.mean(axis=-1), "features": FEATURES, "first": POINTWISE,
    "function": lambda y, x: ((y - x) ** 2).mean(axis=1), "infeasible": "-inf", "k": 1.0,
    "lam": 0.4, "law": LAW, "level": 0.8, "log_p": LOG_P, "losses": LOSSES, "margin": 0.2,
    "mean_difference": -1.0, "method": "umbrella", "metric": METRIC, "mixture": MIXTURE, "n": 100,
    "n1": 4, "n2": 40.0, "n_boot": 40, "n_check": 80, "n_draw": 20, "n_inner": 4, "n_obs": 30,
    "n_perm": 19, "n_test": 30, "null": 0.6, "order": "p", "ordered": SORTED, "p": P,
    "p_check": 0.6, "pointwise": POINTWISE, "power": 0.8, "prediction": X, "prior": PRIOR,
    "probability": 0.3, "q": 0.2, "quantile_method": "hazen", "rank": 3, "rates": P_SORTED,
    "ratio": 1.6, "reference": 70.0, "resamples": RESAMPLES, "residual_sd": 0.3, "rng": RNG,
    "rule": "mid_p", "scores": X, "sd": 3.0, "sd_reference": 50.0, "second": OTHER, "seed": 7,
    "sensitivity": 0.9, "side": "upper", "sigma": 50.0, "specificity": 0.7, "spectrum": SPECTRUM,
    "std_error": np.ones(3), "successes": 9, "tail": "upper", "target": TARGET, "test": "paired_t",
    "theta": 3.0, "ties": "weak", "values": LOSSES, "variance_ratio": 2.0, "x": X, "y": Y,
}  # fmt: skip
OWN = {
    "accuracy.prompts.draw_counts": {"n_rep": 4, "n": 40, "kept": 30},
    "accuracy.design.fails": {"gamma": 70.0},
    "accuracy.design.doubled_sample_size": {"start": 32},
    "accuracy.design.rejection_probability": {
        "assumed_error": 2.0, "true_error": 3.0, "theta": 1.0,
    },
    "accuracy.design.level_given_reference": {"delta": 0.5, "n": 10, "n_check": 20},
    "accuracy.paired.p_values": {"losses": 5, "gains": 1, "n": 20},
    "accuracy.paired.critical_losses": {"n": 127},
    "accuracy.paired.rejection_probability": {
        "critical": np.full(6, 3), "n": 5, "p_loss": 0.3, "p_gain": 0.1,
    },
    "accuracy.paired.paired_t": {"n": 10},
    "accuracy.prompts.chances": {"correlation": 0.1},
    "accuracy.prompts.binomial_law": {"n": 5},
    "accuracy.t_tests.p_value": {"sd_check": 40.0},
    "accuracy.t_tests.sample_size": {"theta": 9.0, "sigma": 10.0},
    "accuracy.two_binomials.p_values": {
        "test": "fisher", "successes_reference": 90, "successes_check": 50, "n": 100,
        "n_check": 127,
    },
    "accuracy.two_binomials.critical_counts": {"test": "fisher", "n": 100, "n_check": 127},
    "accuracy.two_binomials.known_sigma_critical_counts": {"n": 10, "n_check": 12, "sigma": 0.5},
    "accuracy.two_binomials.t_critical_counts": {"n": 10, "n_check": 12},
    "accuracy.two_binomials.rejection_probability": {
        "critical": CRITICAL, "n": 10, "n_check": 10, "p_reference": 0.9,
    },
    "accuracy.two_binomials.rejection_probability_given": {
        "critical": CRITICAL, "count_reference": 8, "n_check": 10,
    },
    "accuracy.two_binomials.size": {"critical": CRITICAL, "n": 10, "n_check": 10},
    "bootstrap.losses.adjusted_std_error": {"quantile": -np.arange(1.0, 4.0), "k": 1.5},
    "bootstrap.losses.bootstrap_indices": {"n_obs": 5, "n_boot": 3},
    "bootstrap.losses.resampled_means": {"n_boot": 4},
    "bootstrap.losses.bootstrap_variance": {"n_boot": 4},
    "bootstrap.quantiles.interpolation": {"n_obs": 9, "method": "hazen"},
    "bootstrap.quantiles.quantile_of_sorted": {"where": Interpolation(3, 0.2)},
    "bootstrap.quantiles.quantile_law": {"n_obs": 9, "method": "hazen"},
    "bootstrap.quantiles.rank_probabilities": {"n_obs": 9},
    "bootstrap.quantiles.atoms_of_sorted": {"lowest": SORTED[0]},
    "bootstrap.quantiles.bootstrap_quantile": {"level": np.full((3, 2), 0.3)},
    "bootstrap.quantiles.quantiles_of_sorted": {"levels": np.full((3, 2), 0.3)},
    "bootstrap.resamples.draw_resamples": {"n_boot": 9},
    "bootstrap.resamples.in_order": {"values": X, "counts": np.ones(X.shape, np.int64)},
    "bootstrap.resamples.likely_pairs": {"n_obs": 9},
    "bootstrap.resamples.resampled_quantile": {"level": np.full(3, 0.3)},
    "classifier.bounds.bounds_from_resamples": {"acceleration": PER_REP / 50},
    "classifier.thresholds.n_low": {"n_obs": 9},
    "classifier.bounds.normal_tolerance_factor": {"n_obs": 9, "alpha": 0.1},
    "classifier.bounds.bayesian_bootstrap_cdf": {"n_obs": 9},
    "classifier.theory.exact_coverage": {"scores": SCORES},
    "classifier.theory.exact_mean_sensitivity": {"scores": SCORES},
    "classifier.theory.expected_over_sensitivity": {"scores": SCORES, "of": np.sqrt},
    "classifier.theory.expected_shift": {"scores": SCORES, "n_obs": 9},
    "classifier.theory.threshold_cdf": {
        "scores": SCORES, "law": OrderLaw(9, 2, 0.3), "at": np.array([0.2, 0.4]),
    },
    "classifier.theory.threshold_density": {"scores": SCORES, "law": OrderLaw(9, 2, 0.0)},
    "classifier.thresholds.thresholds": {"resamples": None},
    "classifier.trial.p_value": {"n_obs": 10, "null": 0.7},
    "classifier.trial.wilson_lower": {"successes": 9.0, "n_obs": 10},
    "classifier.trial.clopper_pearson_lower": {"n_obs": 10},
    "classifier.trial.mid_p_lower": {"n_obs": 10},
    "classifier.trial.critical_count": {"n_obs": 10},
    "classifier.trial.trial_power": {"n_obs": 10},
    "classifier.trial.power_at_sensitivities": {
        "critical": 9, "n_obs": 10, "sensitivities": np.array([0.8, 0.9]),
    },
    "classifier.trial.power_with_order_statistic": {"rank": 2, "n_trial": 20, "null": 0.8},
    "classifier.trial.upper_tail": {"count": 3, "n_obs": 10, "p": 0.4},
    "classifier.trial.normal_power": {"n_obs": 30.0},
    "classifier.umbrella.violation": {"rank": 2, "sensitivity": 0.8},
    "classifier.umbrella.umbrella_rank": {"sensitivity": 0.7},
    "classifier.umbrella.least_feasible_n": {"sensitivity": 0.7},
    "classifier.umbrella.rank_table": {"n_obs": 9, "sensitivity": 0.8},
    "classifier.umbrella.umbrella_threshold": {"sensitivity": 0.7},
    "classifier.umbrella.interpolation_weight": {"sensitivity": 0.7},
    "classifier.umbrella.interpolated_threshold": {"sensitivity": 0.7},
    "compatible.combining.stouffer": {"weights": np.arange(1.0, 13.0)},
    "compatible.false_discovery.rfdr": {"ratio": 1.7},
    "compatible.false_discovery.ascending_nfdr": {"ordered": P_SORTED},
    "compatible.false_discovery.harmonic_numbers": {"n": 4},
    "compatible.false_discovery.later_ranks": {"n": 4},
    "compatible.intervals.percentile_interval": {"n_boot": 9},
    "compatible.null_proportion.rfdr_proportion": {"ratio": 1.7},
    "compatible.null_proportion.storey_bootstrap": {"reference": 0.1},
    "compatible.null_proportion.jiang_doerge": {"n_bins": 5},
    "compatible.theory.mean_cfdr_proportion": {"clipped": False},
    "compatible.theory.storey_moments": {"lam": 0.5},
    "leave_one_out.bayesian_bootstrap.bayesian_bootstrap_against": {"others": [OTHER]},
    "leave_one_out.importance.importance_leave_one_out": {
        "draws": posterior_draws(FEATURES, Y, PRIOR, np.random.default_rng(3), n_draw=200),
    },
    "leave_one_out.importance.smoothed_log_weights": {"log_ratios": made.normal(size=(3, 2, 200))},
    "leave_one_out.posterior.posterior_draws": {"n_draw": 30},
    "leave_one_out.posterior.sigma_quantiles": {"probability": np.full((3, 2), 0.3)},
    "leave_one_out.priors.wide_prior": {"coefficient_sd": 5.0},
    "leave_one_out.regression.exact_leave_one_out": {"refine": 1.0},
    "leave_one_out.regression.leverages": {"sigma": np.ones(3)},
    "leave_one_out.regression.to_coefficients": {"standard": np.ones((3, 3))},
    "leave_one_out.utilities.taylor_ratio": {"n_obs": 9},
    "leave_one_out.utilities.influence": {"utility": "mse"},
    "leave_one_out.utilities.mean_std_error": {"psi": X},
    "models.least_squares.fit_each": {"estimator": Level(), "new_features": FEATURES},
    "models.metrics.tweedie_loss": {"power": 1.5},
    "models.metrics.tweedie_deviance": {"power": 1.5},
    "models.risk.folded_normal_mean": {"mean": PER_REP, "variance": np.ones(3)},
    "models.risk.normal_expectation": {"function": lambda z: np.stack([z ** 2, np.cos(z)])},
    "models.trial.stage_of": {"boot": BOOT},
    "models.trial.stage_of_errors": {"error": X, "n_inner": np.inf},
    "models.trial.verdict": {"first": STAGE, "second": STAGE, "limit": -1.0},
    "models.trial.null_columns": {"bound": X, "risk": Y, "suffix": "_x"},
    "models.trial.trial_design": {"n_test": 50, "alpha": 0.1},
    "networks.ensemble.ensemble_predictions": {
        "network": Network((3,)), "training": Training(epochs=(1,), batch_size=4),
        "features": FEATURES[0], "y": Y[0, :8], "rows": np.tile(np.arange(8), (2, 1)),
        "initial": RNG, "order": RNG,
    },
    "networks.ensemble.standardised": {"features": FEATURES[0], "n_train": 8},
    "predictive.bootstrap.centered": {"center": np.zeros((3, 2))},
    "predictive.calibration.pit_distance": {"values": P},
    "predictive.calibration.covers": {"y": PER_REP + 0.3},
    "predictive.calibration.coverage": {"y": PER_REP + 0.3},
    "predictive.calibration.mean_crps": {"y": PER_REP + 0.3},
    "predictive.p_values.log_p_value": {"y": PER_REP + 0.3},
    "predictive.p_values.p_value": {"y": PER_REP + 0.3},
    "predictive.tails.log_student_below": {"t": -np.arange(3.0), "df": np.full(3, 4.0)},
    "two_sample.bootstrap_t.bootstrap_t": {
        "y": Y[:, :9], "alpha": 0.2, "n_boot": 19, "tails": "symmetric",
    },
    "two_sample.permutation.permutation": {"y": Y[:, :9], "alpha": 0.2, "studentized": False},
    "two_sample.permutation.partitions": {"seed": 5, "n2": 3, "n_perm": 2},
    "two_sample.rank_sum.rank_sum": {"y": Y[:, :9], "alpha": 0.1},
    "two_sample.rank_sum.rank_sum_statistic": {"y": Y[:, :9]},
    "two_sample.rank_sum.rank_sum_law": {"n2": 3},
    "two_sample.rank_sum.is_exact": {"n2": 3},
    "two_sample.rank_sum.p_values_of_u": {"n2": 3},
    "two_sample.rank_sum.least_kept": {"n2": 5, "alpha": 0.1},
    "two_sample.rank_sum.rank_sum_size": {"n2": 5, "alpha": 0.1},
    "two_sample.samples.moments": {"y": Y[:, :9]},
    "two_sample.samples.no_answer": {"y": Y[:, :9]},
    "two_sample.samples.fewest_as_extreme": {"n_drawn": 19, "alpha": 0.1},
    "two_sample.samples.is_rejected": {"p_value": np.linspace(0.0, 1.0, 5), "alpha": 0.1},
    "two_sample.t_tests.welch": {"y": Y[:, :9], "alpha": 0.1},
    "two_sample.t_tests.student": {"y": Y[:, :9], "alpha": 0.1},
    "two_sample.t_tests.satterthwaite": {
        "first": np.ones(3), "second": np.full(3, 2.0), "df1": 4, "df2": 5,
    },
    "two_sample.theory.welch_rejection": {"n2": 5, "alpha": 0.1},
    "two_sample.theory.student_rejection": {"n2": 5, "alpha": 0.1},
    "two_sample.theory.permutation_size": {"alpha": 0.1},
    "two_sample.theory.pooled_size": {"n2": 5, "alpha": 0.1},
    "two_sample.theory.rank_sum_size_for_normals": {"n1": 3, "n2": 4, "alpha": 0.1},
    "two_stage.design.critical_value": {"alpha": 0.1, "n1": 50.0},
    "two_stage.design.power": {"alpha": 0.1, "n1": 50.0},
    "two_stage.design.boundary_rejection": {"alpha": 0.1, "n1": 50.0},
    "two_stage.design.boundary_power": {"alpha": 0.1, "n1": 50.0},
    "two_stage.design.boundary_n2": {"power": 0.6, "alpha": 0.1, "n1": 50.0},
    "two_stage.design.outcome_table": {"alpha": 0.1, "n1": 50.0},
    "two_stage.design.solve_design": {"power": None, "n1": 50, "n2": 40, "alpha": 0.1},
    "two_stage.law.conditional_p_value": {"s2": -1.0, "null_is_false": True, "n1": 50.0},
}  # fmt: skip
