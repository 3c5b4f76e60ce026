"""Quadrature over the error scale of a linear regression, and leave-one-out at each of its nodes.

Compiled, imported late. With the design's singular vectors U and squared singular values λ the
covariance of y given σ is C = σ² I + U diag(λ) U', and its inverse is needed in two places only:
α = C⁻¹ (y - m) and the diagonal q of C⁻¹. Given σ, the leave-one-out prediction of y_i is normal
with error α_i / q_i and variance 1 / q_i (Sundararajan & Keerthi 2001, Neural Computation 13(5),
1103-1118; Rasmussen & Williams 2006, equations 5.10-5.12).

With g = 1 / (λ + σ²), and residual r, leverage a and squares R of the directions outside U,

    α = r / σ² + A,  q = a / σ² + B,  A = U g t,  B = U² g,  t = U' (y - m),

and what is left of the squares without observation i is

    Q_i = R / σ² + Σ g t² - α²/q = ((R a - r²) / σ² + R B - 2 r A - σ² A²) / (a + σ² B) + Σ g t².

For small σ the first form is a difference of infinities; in the second, R a - r² is the product of
a with the squares that remain, which is 0 where one direction only lies outside U.

Over log σ the trapezoidal rule converges geometrically. Every integrand is analytic where
|Im log σ| < π/4, and about its mode close to exp(-n x²): a step h leaves an error of about
exp(-π² / (n h²)), or exp(-π² / (2 h)) for few observations. `STEP` makes both less than 1e-16.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import math

import numpy as np

from simstudy.array_types import Float, Int64
from simstudy.documents.stats.compiled.kernel import kernel

Data = tuple[
    Float[np.ndarray, " direction"], Float[np.ndarray, " direction"], float, int, int, float
]
"""What `log_joint` needs besides log σ."""

STEP = 0.5  # step of log σ, times √n
FEW = 15  # observations; fewer do not let the step grow
DROP = 42.0  # log ratio of the peak of the full posterior to its ends
LOO_DROP = 34.0  # how far below its own peak every leave-one-out posterior is
SCAN = 0.1  # step of the search for the peak in log σ; smaller for many observations
SCAN_WIDTH = 3.2  # largest step of that search, in units of 1 / √n
SCAN_LIMIT = 20_000
NODE_LIMIT = 20_000
AT_ONCE = 2048  # observations at a time: their arrays stay in the cache
GROWTH = 0.25  # relative growth of a window that cuts a leave-one-out posterior
LOG_2PI = math.log(2 * math.pi)


@kernel
def _log_scales(variance: float, squares: Float[np.ndarray, " direction"]) -> float:
    """Log determinant of C along the directions of U."""
    total = 0.0
    for square in squares:
        if square > 0:
            total += math.log(square + variance)
    return total


@kernel
def _explained(
    variance: float,
    squares: Float[np.ndarray, " direction"],
    projected: Float[np.ndarray, " direction"],
) -> float:
    """Σ g t²."""
    total = 0.0
    for j in range(squares.shape[0]):
        if squares[j] > 0:
            total += projected[j] * projected[j] / (squares[j] + variance)
    return total


@kernel
def _log_prior(log_sigma: float, rate: float) -> float:
    """Log density of log σ."""
    return math.log(rate) + log_sigma - rate * math.exp(log_sigma)


@kernel
def log_joint(
    log_sigma: float,
    squares: Float[np.ndarray, " direction"],
    projected: Float[np.ndarray, " direction"],
    rest_square: float,
    n_rest: int,
    n_obs: int,
    rate: float,
) -> float:
    """Log of p(y | σ) p(σ) σ: the posterior of log σ, but for the evidence.

    Parameters
    ----------
    squares, projected
        λ, 0 for a direction that is not there, and t.
    rest_square, n_rest
        R, and the number of directions outside U.
    """
    variance = math.exp(2 * log_sigma)
    total = n_obs * LOG_2PI + 2 * n_rest * log_sigma + _log_scales(variance, squares)
    total += _explained(variance, squares, projected)
    if n_rest > 0:
        total += rest_square / variance
    return _log_prior(log_sigma, rate) - 0.5 * total


@kernel
def _lowest_scale(
    squares: Float[np.ndarray, " direction"], rest_square: float, n_obs: int, top: float
) -> float:
    """A log σ below all scales of the problem, from where the posterior can only fall."""
    lowest = top
    for square in squares:
        if square > 0:
            lowest = min(lowest, 0.5 * math.log(square))
    if rest_square > 0:
        lowest = min(lowest, 0.5 * math.log(rest_square / n_obs))
    return lowest - 1.0


@kernel
def window(
    squares: Float[np.ndarray, " direction"],
    projected: Float[np.ndarray, " direction"],
    rest_square: float,
    n_rest: int,
    n_obs: int,
    rate: float,
) -> tuple[float, float]:
    """Log σ between which the posterior is not negligible; NaN where it does not end."""
    data = squares, projected, rest_square, n_rest, n_obs, rate
    length = rest_square
    for j in range(projected.shape[0]):
        length += projected[j] * projected[j]
    top = math.log(1.5 * DROP / rate + math.sqrt(length))
    lowest = _lowest_scale(squares, rest_square, n_obs, top)
    peak = log_joint(top, *data)
    value, low, steps = peak, top, 0
    scan = min(SCAN, SCAN_WIDTH / math.sqrt(n_obs))
    while low > lowest or value > peak - DROP:
        low -= scan
        value = log_joint(low, *data)
        peak, steps = max(peak, value), steps + 1
        if steps > SCAN_LIMIT:
            return math.nan, math.nan
    high = top
    while log_joint(high, *data) > peak - DROP:
        high += scan
    while log_joint(high - scan, *data) < peak - DROP:
        high -= scan
    while log_joint(low + scan, *data) < peak - DROP:
        low += scan
    return low, high


@kernel
def marginal(
    squares: Float[np.ndarray, "rep direction"],
    projected: Float[np.ndarray, "rep direction"],
    rest_square: Float[np.ndarray, " rep"],
    n_rest: Int64[np.ndarray, " rep"],
    n_obs: int,
    rate: Float[np.ndarray, " rep"],
    log_sigma: Float[np.ndarray, "rep node"],
    log_density: Float[np.ndarray, "rep node"],
) -> None:
    """Fill with equally spaced log σ over each replicate's window, and `log_joint` there."""
    n_node = log_sigma.shape[1]
    for rep in range(log_sigma.shape[0]):
        data = squares[rep], projected[rep], rest_square[rep], n_rest[rep], n_obs, rate[rep]
        low, high = window(*data)
        for k in range(n_node):
            log_sigma[rep, k] = low + (high - low) * k / (n_node - 1)
            log_density[rep, k] = log_joint(log_sigma[rep, k], *data)


@kernel
def _add_directions(
    variance: float,
    left: Float[np.ndarray, "direction obs"],
    squares: Float[np.ndarray, " direction"],
    projected: Float[np.ndarray, " direction"],
    along: Float[np.ndarray, " obs"],
    diagonal: Float[np.ndarray, " obs"],
) -> None:
    """Fill with A and B at one σ²."""
    along[:] = 0.0
    diagonal[:] = 0.0
    for j in range(squares.shape[0]):
        if squares[j] > 0:
            inverse = 1.0 / (squares[j] + variance)
            share = projected[j] * inverse
            for i in range(along.shape[0]):
                along[i] += left[j, i] * share
                diagonal[i] += left[j, i] * left[j, i] * inverse


@kernel
def _at_nodes(
    nodes: Float[np.ndarray, " node"],
    left: Float[np.ndarray, "direction obs"],
    squares: Float[np.ndarray, " direction"],
    projected: Float[np.ndarray, " direction"],
    rest: Float[np.ndarray, " obs"],
    rest_leverage: Float[np.ndarray, " obs"],
    rest_square: float,
    remaining: Float[np.ndarray, " obs"],
    n_rest: int,
    n_obs: int,
    rate: float,
    errors: Float[np.ndarray, "node obs"],
    variances: Float[np.ndarray, "node obs"],
    without: Float[np.ndarray, "node obs"],
) -> None:
    """Leave-one-out errors and variances, and the log of p(y without i, σ) σ, at every node.

    `remaining` is R a - r²; `n_obs` counts all observations, of which these may be a part.
    """
    along, diagonal = np.empty(rest.shape[0]), np.empty(rest.shape[0])
    for k in range(nodes.shape[0]):
        variance = math.exp(2 * nodes[k])
        _add_directions(variance, left, squares, projected, along, diagonal)
        log_shared = (n_obs - 1) * LOG_2PI + 2 * (n_rest - 1) * nodes[k]
        log_shared += _log_scales(variance, squares)
        explained = _explained(variance, squares, projected)
        log_prior = _log_prior(nodes[k], rate)
        for i in range(rest.shape[0]):
            scaled = rest_leverage[i] + variance * diagonal[i]  # q σ²
            moved = rest[i] + variance * along[i]  # α σ²
            errors[k, i], variances[k, i] = moved / scaled, variance / scaled
            cross = (rest[i] + moved) * along[i]
            above = remaining[i] / variance + rest_square * diagonal[i] - cross
            total = log_shared + math.log(scaled) + max(above / scaled + explained, 0.0)
            without[k, i] = log_prior - 0.5 * total


@kernel
def _peaks(without: Float[np.ndarray, "node obs"], peaks: Float[np.ndarray, " obs"]) -> None:
    peaks[:] = -np.inf
    for k in range(without.shape[0]):
        for i in range(peaks.shape[0]):
            peaks[i] = max(peaks[i], without[k, i])


@kernel
def _ends_in(ends: Float[np.ndarray, " obs"], peaks: Float[np.ndarray, " obs"]) -> bool:
    """Whether every observation's posterior is negligible at an end."""
    inside = True
    for i in range(peaks.shape[0]):
        inside &= ends[i] <= peaks[i] - LOO_DROP
    return inside


@kernel
def _average(
    log_step: float,
    log_evidence: float,
    peaks: Float[np.ndarray, " obs"],
    errors: Float[np.ndarray, "node obs"],
    variances: Float[np.ndarray, "node obs"],
    without: Float[np.ndarray, "node obs"],
    answer: Float[np.ndarray, "3 obs"],
) -> None:
    """Fill with errors, variances and log densities, each node weighed by its own evidence."""
    n_obs = peaks.shape[0]
    total = np.zeros(n_obs)
    answer[:2] = 0.0
    for k in range(without.shape[0]):
        for i in range(n_obs):
            weight = math.exp(without[k, i] - peaks[i])
            total[i] += weight
            answer[0, i] += weight * errors[k, i]
            answer[1, i] += weight * (variances[k, i] + errors[k, i] * errors[k, i])
    for i in range(n_obs):
        answer[0, i] /= total[i]
        answer[1, i] = answer[1, i] / total[i] - answer[0, i] * answer[0, i]
        answer[2, i] = log_evidence - (peaks[i] + math.log(total[i]) + log_step)


@kernel
def _average_full(
    step: float,
    nodes: Float[np.ndarray, " node"],
    full: Float[np.ndarray, " node"],
    squares: Float[np.ndarray, " direction"],
    shrinkage: Float[np.ndarray, " direction"],
) -> tuple[float, float]:
    """Posterior means of 1 / (λ + σ²), filled in, and of σ; and the log evidence."""
    peak = full.max()
    total, sigma = 0.0, 0.0
    shrinkage[:] = 0.0
    for k in range(nodes.shape[0]):
        weight, variance = math.exp(full[k] - peak), math.exp(2 * nodes[k])
        total += weight
        sigma += weight * math.exp(nodes[k])
        for j in range(squares.shape[0]):
            shrinkage[j] += weight / (squares[j] + variance)
    for j in range(squares.shape[0]):
        shrinkage[j] /= total
    return sigma / total, peak + math.log(total * step)


@kernel
def _grid(
    low: float, high: float, step: float, data: Data
) -> tuple[Float[np.ndarray, " node"], Float[np.ndarray, " node"]]:
    """Nodes, and `log_joint` there."""
    count = math.ceil((high - low) / step) + 1
    nodes, full = np.empty(count), np.empty(count)
    for k in range(count):
        nodes[k] = low + k * step
        full[k] = log_joint(nodes[k], *data)
    return nodes, full


@kernel
def _exact_of_one(
    left: Float[np.ndarray, "direction obs"],
    rest: Float[np.ndarray, " obs"],
    rest_leverage: Float[np.ndarray, " obs"],
    remaining: Float[np.ndarray, " obs"],
    data: Data,
    step: float,
    reach: float,
    answer: Float[np.ndarray, "3 obs"],
    shrinkage: Float[np.ndarray, " direction"],
    summary: Float[np.ndarray, " two"],
) -> int:
    """Fill in one replicate's answers, and say how many nodes they took; 0 for too many.

    The window of the full posterior grows until every leave-one-out posterior ends in it.
    """
    squares, projected, rest_square, n_rest, n_obs, rate = data
    low, high = window(*data)
    while high - low < reach:
        nodes, full = _grid(low, high, step, data)
        summary[0], summary[1] = _average_full(step, nodes, full, squares, shrinkage)
        below, above = True, True
        for start in range(0, n_obs, AT_ONCE):
            part = slice(start, min(start + AT_ONCE, n_obs))
            shape = (nodes.shape[0], part.stop - start)
            errors, variances, without = np.empty(shape), np.empty(shape), np.empty(shape)
            peaks = np.empty(shape[1])
            _at_nodes(
                nodes, left[:, part], squares, projected, rest[part], rest_leverage[part],
                rest_square, remaining[part], n_rest, n_obs, rate, errors, variances, without,
            )  # fmt: skip
            _peaks(without, peaks)
            below &= _ends_in(without[0], peaks)
            above &= _ends_in(without[-1], peaks)
            _average(math.log(step), summary[1], peaks, errors, variances, without, answer[:, part])
        if below and above:
            return nodes.shape[0]
        low -= 0.0 if below else GROWTH * (high - low)
        high += 0.0 if above else GROWTH * (high - low)
    return 0


@kernel
def exact(
    left: Float[np.ndarray, "rep direction obs"],
    squares: Float[np.ndarray, "rep direction"],
    projected: Float[np.ndarray, "rep direction"],
    rest: Float[np.ndarray, "rep obs"],
    rest_leverage: Float[np.ndarray, "rep obs"],
    rest_square: Float[np.ndarray, " rep"],
    remaining: Float[np.ndarray, "rep obs"],
    n_rest: Int64[np.ndarray, " rep"],
    rate: Float[np.ndarray, " rep"],
    refine: float,
    answer: Float[np.ndarray, "rep 3 obs"],
    shrinkage: Float[np.ndarray, "rep direction"],
    summary: Float[np.ndarray, "rep 2"],
    n_node: Int64[np.ndarray, " rep"],
) -> None:
    """Fill in what the exact regression answers, replicate by replicate.

    `answer` has errors, variances and log densities, `summary` the mean of σ and the log evidence.
    """
    n_obs = rest.shape[1]
    step = STEP / math.sqrt(max(n_obs, FEW))
    for rep in range(rest.shape[0]):
        data = squares[rep], projected[rep], rest_square[rep], n_rest[rep], n_obs, rate[rep]
        n_node[rep] = _exact_of_one(
            left[rep], rest[rep], rest_leverage[rep], remaining[rep], data, step / refine,
            NODE_LIMIT * step, answer[rep], shrinkage[rep], summary[rep],
        )  # fmt: skip
