"""Utilities by their definitions; refits without one observation, by a loop over nodes."""

import numpy as np

from simstudy.documents.stats.leave_one_out.priors import Prior

LOG_2PI = np.log(2 * np.pi)


def draw_data(n_rep: int, n_obs: int, n_feature: int, *, seed: int = 3, sigma: float = 1.0):
    """Features and responses of a linear model with normal coefficients."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_rep, n_obs, n_feature))
    coefficients = rng.standard_normal((n_rep, n_feature))
    noise = sigma * rng.standard_normal((n_rep, n_obs))
    return features, np.einsum("ijk,ik->ij", features, coefficients) + noise


def utilities_of(w, y, error, log_density) -> dict:
    """Every utility of any weights on the observations, of numbers of any kind."""

    def mean(values):
        return (w * values).sum() / w.sum()

    mse, spread = mean(error**2), mean(y**2) - mean(y) ** 2
    misplaced = ((w * error) ** 2).sum() / w.sum() ** 2
    found = {
        "mae": mean(abs(error)),
        "mse": mse,
        "rmse": mse**0.5,
        "r2_mean_square": 1 - mse / mean((y - y.sum() / len(y)) ** 2),
        "r2_variance": 1 - (mse - mean(error) ** 2) / spread,
        "r2_misplaced": 1 - (mse - misplaced) / spread,
        "elpd": len(y) * mean(log_density),
    }
    found["r2_clipped"] = min(max(found["r2_variance"], -1), 1)
    found["r2_published"] = min(max(found["r2_misplaced"], -1), 1)
    return found


def standard_design(features, prior: Prior, rep: int):
    """Columns for coefficients that are standard normal, a priori."""
    centred = features[rep] - features[rep].mean(axis=0)
    ones = np.full((len(centred), 1), prior.intercept_sd[rep])
    return np.concatenate([ones, centred * prior.coefficient_sd[rep]], axis=1)


def refit(features, y, prior: Prior, rep: int, left_out: int, log_sigma):
    """Error and log density of one observation, from a fit to the others."""
    design, response = standard_design(features, prior, rep), y[rep] - prior.intercept_mean[rep]
    others = np.arange(len(response)) != left_out
    rate, row, rows = prior.sigma_rate[rep], design[left_out], design[others]
    log_weight, mean, variance = [], [], []
    for u in log_sigma:
        s2 = np.exp(2 * u)
        covariance = rows @ rows.T + s2 * np.eye(len(rows))
        solved = np.linalg.solve(covariance, np.column_stack([response[others], rows @ row]))
        square, log_det = response[others] @ solved[:, 0], np.linalg.slogdet(covariance)[1]
        log_weight.append(u - rate * np.exp(u) - (square + log_det) / 2)
        mean.append(row @ rows.T @ solved[:, 0])
        variance.append(s2 + max(row @ row - row @ rows.T @ solved[:, 1], 0.0))
    return averaged(*map(np.array, (log_weight, mean, variance)), response[left_out])


def averaged(log_weight, mean, variance, response):
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    error = response - mean
    density = np.exp(-0.5 * (LOG_2PI + np.log(variance) + error**2 / variance))
    return weight @ error, np.log(weight @ density)
