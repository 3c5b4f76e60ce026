"""Compiled tails of the two-stage statistic; self-contained, imported on first use.

Every function works on the state "null is false", Y > 0 with Y = z1 + k and X = z2 - r*Y. The
other state is its mirror image: -X with -k in place of k.

In the (z1, z2) plane {X <= x, Y > 0} is a wedge of more than 90 degrees with its apex at (-k, x)
and {X > x, Y > 0} the wedge of less than 90 degrees next to it. Their Gaussian mass comes from

- the angle integral of Drezner and Wesolowsky (1990), quick and accurate in the bulk of the
  distribution but with a cancellation in the small wedge, so used only where little is lost; or
- one-dimensional integrals of positive log-concave functions, each of them a normal density times
  a normal probability, at a scale of one: `_wedge`, `_acute_wedge`. Nothing cancels, so the
  relative error stays near 1e-13 however small the mass. The window is set by strong
  log-concavity: with curvature of at least c, all that lies further than sqrt(2*DROP/c) from the
  mode is below exp(-DROP) of it.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import math

import numpy as np

from simstudy.array_types import Bool, Float
from simstudy.documents.stats.compiled.kernel import kernel

Points = Float[np.ndarray, " point"]
Angles = Float[np.ndarray, "3 node"]

SQRT_HALF = math.sqrt(0.5)
LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
ROOT_TWO_PI = math.sqrt(2 * math.pi)
FAR = 1e100  # beyond it squares overflow: treated as infinite
DROP = 28.0  # exp(-28) = 7e-13 of the mode: what the window leaves out
DEEP = -25.0  # below it a normal probability is handled as density times Mills ratio
THIN = 0.05  # P(0 < Y < y) comes from a series where y*(|k| + 1) is below this
DISTANT = 1e6  # beyond it the exponent alone gives the logarithm of a tail to ten digits
HALF_NORMAL_CURVATURE = 2 / math.pi  # least curvature of log Phi on the negative half-line

NODES, WEIGHTS = np.polynomial.legendre.leggauss(44)
ANGLE_NODES, ANGLE_WEIGHTS = np.polynomial.legendre.leggauss(24)
N_ANGLE = ANGLE_NODES.size
MAX_RATIO = 3.5  # the angle integral is good to 1e-11 with its 24 nodes up to this r,
MAX_DISTANCE = 6.0  # with k and w no further than this from 0,
KEPT = 1e-3  # and where at least this share of the small wedge survives the subtraction


@kernel
def _mills(z: float) -> float:
    """Mills ratio (1 - Phi(z))/phi(z) for z > 17: ten terms of the asymptotic series."""
    # Nested from the last term, as coefficients 1, 3, 5, ... alternate in sign; at z = 17 the first
    # term left out is about 21!!/17^22 = 1e-17 of the whole.
    inverse_square = 1.0 / (z * z)
    total = 1.0
    for order in range(19, 0, -2):
        total = 1.0 - order * inverse_square * total
    return total / z


@kernel
def _ndtr(z: float) -> float:
    return 0.5 * math.erfc(-SQRT_HALF * z)


@kernel
def _log_ndtr(z: float) -> float:
    if z < DEEP:
        return math.log(_mills(-z)) - 0.5 * z * z - LOG_ROOT_TWO_PI
    if z > 0:
        return math.log1p(-_ndtr(-z))
    return math.log(_ndtr(z))


@kernel
def _hazard(z: float) -> float:
    """phi(z)/Phi(z), the slope of log Phi."""
    if z < DEEP:
        return 1.0 / _mills(-z)
    return math.exp(-0.5 * z * z) / (ROOT_TWO_PI * _ndtr(z))


@kernel
def _mode(a: float, b: float, sigma: float, rho: float) -> float:
    """Close to the mode on the line of phi(sigma*t - a)*Phi(b + rho*t), by Newton.

    The start replaces the slope of log Phi(u) by max(0, -u), which puts it on the side of the
    mode from which Newton's steps are monotone; two steps leave less than a hundredth of a width.
    """
    plain, gauss = a / sigma, (sigma * a - rho * b) / (sigma * sigma + rho * rho)
    t = max(plain, gauss) if rho > 0 else min(plain, gauss)
    for _ in range(2):
        u = b + rho * t
        hazard = _hazard(u)
        slope = sigma * (a - sigma * t) + rho * hazard
        t += slope / (sigma * sigma + rho * rho * hazard * (hazard + u))
    return t


@kernel
def _wedge(a: float, b: float, sigma: float, rho: float, curvature: float) -> float:
    """Log of the integral of phi(sigma*t - a)*Phi(b + rho*t) over t > 0.

    `curvature` is a lower bound of minus the second derivative of the logarithm.
    """
    slope = a * sigma + rho * _hazard(b)
    if slope <= 0:
        top, low = 0.0, 0.0
        high = 2 * DROP / (math.sqrt(slope * slope + 2 * DROP * curvature) - slope)
    else:
        top = max(_mode(a, b, sigma, rho), 0.0)
        reach = math.sqrt(2 * DROP / curvature)
        low, high = max(0.0, top - reach), top + reach
    return _log_integral(a, b, sigma, rho, top, low, high)


@kernel
def _log_integral(
    a: float, b: float, sigma: float, rho: float, top: float, low: float, high: float
) -> float:
    """Log of the integral over (low, high), scaled by its value at `top`."""
    u = b + rho * top
    deep = u < DEEP
    peak = -0.5 * (sigma * top - a) ** 2 - (0.5 * u * u if deep else 0.0)
    # Divided by its peak before it is summed, so that nothing under- or overflows on the way; the
    # logarithm of the peak is put back at the end.
    center, half = 0.5 * (low + high), 0.5 * (high - low)
    total = 0.0
    for j in range(NODES.size):
        t = center + half * NODES[j]
        z, u = sigma * t - a, b + rho * t
        if deep:
            factor = math.exp(-0.5 * (z * z + u * u) - peak) * _mills(-u) / ROOT_TWO_PI
        else:
            factor = math.exp(-0.5 * z * z - peak) * _ndtr(u)
        total += WEIGHTS[j] * factor
    return math.log(half * total) + peak - LOG_ROOT_TWO_PI


@kernel
def _slab(y: float, k: float) -> float:
    """P(0 < Y < y) over y*phi(k - y/2), for y small enough that the difference would cancel.

    Taylor series of the density around the middle; the next term is below 1e-13.
    """
    square = (k - 0.5 * y) ** 2
    fourth = (square - 6) * square + 3
    return 1 + y * y * ((square - 1) / 24 + y * y * fourth / 1920)


@kernel
def _between(y: float, k: float) -> float:
    """P(0 < Y < y), with the two probabilities taken in the tail where they are small."""
    if y * (abs(k) + 1) < THIN:
        return y * math.exp(-0.5 * (k - 0.5 * y) ** 2) * _slab(y, k) / ROOT_TWO_PI
    if k > 0:
        return _ndtr(y - k) - _ndtr(-k)
    return _ndtr(k) - _ndtr(k - y)


@kernel
def _between_deep(y: float, k: float, log_scale: float) -> float:
    """P(0 < Y < y)*exp(-log_scale), where both probabilities are far in one tail."""
    if y * (abs(k) + 1) < THIN:
        density = math.exp(-0.5 * (k - 0.5 * y) ** 2 - log_scale)
        return y * density * _slab(y, k) / ROOT_TWO_PI
    near = math.exp(-0.5 * k * k - log_scale) * _mills(abs(k))
    away = math.exp(-0.5 * (y - k) ** 2 - log_scale) * _mills(abs(y - k))
    return (away - near if k > 0 else near - away) / ROOT_TWO_PI


@kernel
def _acute_mode(x: float, k: float, r: float) -> float:
    """Close to the mode over v > x of phi(v)*P(0 < Y < (v - x)/r), for x < 0; Newton from below."""
    v = max((k * r + x) / (1 + r * r), x + 0.3, 0.0)
    for _ in range(4):
        y = (v - x) / r
        if k > 0 and y - k < DEEP:
            scale = -0.5 * (y - k) ** 2
            slope = 1 / (ROOT_TWO_PI * _between_deep(y, k, scale) * r)
        elif k < DEEP:
            scale = -0.5 * k * k
            slope = math.exp(y * (k - 0.5 * y)) / (ROOT_TWO_PI * _between_deep(y, k, scale) * r)
        else:
            slope = math.exp(-0.5 * (y - k) ** 2) / (ROOT_TWO_PI * _between(y, k) * r)
        v += (slope - v) / (1 + slope * (slope + (y - k) / r))
    return v


@kernel
def _acute_wedge(x: float, k: float, r: float) -> float:
    """Log of the integral over v > x of phi(v)*P(0 < Y < (v - x)/r), for x < 0 and r > 1."""
    top = _acute_mode(x, k, r)
    reach = math.sqrt(2 * DROP)
    low, high = max(x, top - reach), top + reach
    y = (top - x) / r
    deep = k < DEEP or (k > 0 and y - k < DEEP)
    scale = 0.0
    if deep:
        scale = -0.5 * (k * k if k < 0 else (y - k) ** 2)
    center, half = 0.5 * (low + high), 0.5 * (high - low)
    total = 0.0
    for j in range(NODES.size):
        v = center + half * NODES[j]
        y = (v - x) / r
        fall = 0.5 * (v * v - top * top)
        if deep:  # one exponent: each factor alone could overflow
            total += WEIGHTS[j] * _between_deep(y, k, scale + fall)
        else:
            total += WEIGHTS[j] * math.exp(-fall) * _between(y, k)
    return math.log(half * total) - 0.5 * top * top + scale - LOG_ROOT_TWO_PI


@kernel
def _log_distant(x: float, k: float, r: float) -> float:
    """Log mass of a wedge whose nearest point is far away: minus half its squared distance.

    It is the foot of the perpendicular on the line z2 = x + r*(z1 + k), or the apex.
    """
    offset, square = x + r * k, 1 + r * r
    if -r * offset >= -k * square:
        return -0.5 * offset * offset / square
    return -0.5 * (k * k + x * x)


@kernel
def _log_lower(x: float, k: float, r: float) -> float:
    """Log P(X <= x, Y > 0), the obtuse wedge."""
    if x + r * k < -DISTANT * math.sqrt(1 + r * r):
        return _log_distant(x, k, r)
    if r <= 1:
        return _wedge(k, x, 1.0, r, 1.0)
    quadrant = _log_ndtr(x) + _log_ndtr(k)
    rest = _wedge(-x, k, 1.0, -1 / r, 1.0)
    return max(quadrant, rest) + math.log1p(math.exp(-abs(quadrant - rest)))


@kernel
def _log_upper(x: float, k: float, r: float) -> float:
    """Log P(X > x, Y > 0), the acute wedge."""
    if x > DISTANT:
        return _log_distant(x, k, r)
    if r <= max(1.0, -0.5 * k):
        return _wedge(k, -x, 1.0, -r, 1.0)
    if x >= 0:
        curvature = 1 / (r * r) + HALF_NORMAL_CURVATURE
        return _wedge(k, -x, 1 / r, -1.0, curvature) - math.log(r)
    return _acute_wedge(x, k, r)


@kernel
def _fill_angles(r: float, angles: Angles) -> None:
    """Rows of the angle integral: factor of w^2 + k^2 and of w*k in the exponent, and weight."""
    # They depend on r alone: kept from one point to the next, they save the sines.
    half = 0.5 * math.atan(r)
    for j in range(N_ANGLE):
        sine = math.sin(half * (1 + ANGLE_NODES[j]))
        angles[0, j] = -0.5 / (1 - sine * sine)
        angles[1, j] = sine / (1 - sine * sine)
        angles[2, j] = half * ANGLE_WEIGHTS[j] / (2 * math.pi)


@kernel
def _smaller_tail(
    x: float, k: float, r: float, scale: float, prob_k: float, mean: float, angles: Angles
) -> float:
    """Log of P(X <= x | Y > 0) up to the mean, of P(X > x | Y > 0) beyond it.

    At the mean of a log-concave density both are between 1/e and 1 - 1/e, so neither tail has to
    be found as the complement of a smaller one.
    """
    w = (x + r * k) / scale
    lower = x <= mean
    if r <= MAX_RATIO and abs(k) <= MAX_DISTANCE and abs(w) <= MAX_DISTANCE:
        shared = 0.0
        square, product = w * w + k * k, w * k
        for j in range(N_ANGLE):
            shared += angles[2, j] * math.exp(angles[0, j] * square + angles[1, j] * product)
        if lower:
            return math.log((_ndtr(w) * prob_k + shared) / prob_k)
        corner = _ndtr(-w) * prob_k
        if corner - shared > KEPT * corner:
            return math.log((corner - shared) / prob_k)
    joint = _log_lower(x, k, r) if lower else _log_upper(x, k, r)
    return min(joint - _log_ndtr(k), 0.0)


@kernel
def _mean_y(k: float) -> float:
    """Mean of Y given Y > 0; only used to tell the tails apart."""
    return max(k + _hazard(k), 0.0)


@kernel
def tails(
    x: Points, k: Points, r: Points, upper: Bool[np.ndarray, " point"], log: bool, out: Points
) -> None:
    """Fill `out` with P(X <= x | Y > 0), P(X > x | Y > 0) where `upper`, or their logarithms.

    Quantities of k and r alone are kept from one point to the next.
    """
    angles = np.empty((3, N_ANGLE))
    last_k, last_r = math.nan, math.nan
    scale, prob_k, mean_y = 1.0, 1.0, 0.0
    for i in range(x.size):
        if r[i] != last_r:
            last_r = r[i]
            scale = math.sqrt(1 + last_r * last_r)
            _fill_angles(last_r, angles)
        if k[i] != last_k:
            last_k = k[i]
            prob_k, mean_y = _ndtr(last_k), _mean_y(last_k)
        if math.isnan(x[i]):
            out[i] = math.nan
            continue
        mean = -last_r * mean_y
        if abs(x[i]) > FAR:
            small = -math.inf
        else:
            small = _smaller_tail(x[i], last_k, last_r, scale, prob_k, mean, angles)
        if upper[i] == (x[i] > mean):
            out[i] = small if log else math.exp(small)
        else:
            out[i] = math.log1p(-math.exp(small)) if log else -math.expm1(small)


@kernel
def _log_density(x: float, k: float, r: float, scale: float) -> float:
    w = (x + r * k) / scale
    inside = _log_ndtr((k - r * x) / scale) - _log_ndtr(k)
    return inside - 0.5 * w * w - LOG_ROOT_TWO_PI - math.log(scale)


@kernel
def _log_tail(x: float, k: float, r: float, upper: bool) -> float:
    joint = _log_upper(x, k, r) if upper else _log_lower(x, k, r)
    return min(joint - _log_ndtr(k), 0.0)


@kernel
def _bound(target: float, k: float, r: float, upper: bool) -> float:
    """Beyond the root of log tail = `target`: Phi(-t) <= exp(-t^2/2) for z2 >= X, or for w."""
    if upper:
        return math.sqrt(-2 * target)
    return -r * k - math.sqrt(-2 * (1 + r * r) * (target + _log_ndtr(k)))


@kernel
def _solve(target: float, k: float, r: float, upper: bool, x: float) -> float:
    """Root of log tail = `target`, starting at the mean x, where the tail is at least that large.

    Newton on sqrt(-2 log tail), close to linear in a normal tail; bisection where Newton leaves
    the bracket or the density underflows.
    """
    # sqrt(-2 log tail) is what z is to a normal tail: Newton follows a nearly straight line.
    scale, goal = math.sqrt(1 + r * r), math.sqrt(-2 * target)
    far = _bound(target, k, r, upper)
    low, high = min(x, far), max(x, far)
    for _ in range(100):
        value = _log_tail(x, k, r, upper)
        if (value > target) == upper:
            low = x
        else:
            high = x
        slope = math.exp(_log_density(x, k, r, scale) - value) * (-1.0 if upper else 1.0)
        depth = math.sqrt(-2 * value)
        following = x + (depth - goal) * depth / slope if slope != 0 else math.nan
        if not low <= following <= high:
            following = 0.5 * (low + high)
        if abs(following - x) <= 4e-16 * abs(x) or abs(value - target) <= 2e-16 * abs(target):
            return following
        x = following
    return x


@kernel
def quantiles(
    log_tail: Points, k: Points, r: Points, upper: Bool[np.ndarray, " point"], out: Points
) -> None:
    """Fill `out` with the x whose log P(X <= x | Y > 0), or log P(X > x | Y > 0), is known."""
    for i in range(k.size):
        target, from_above = log_tail[i], upper[i]
        if math.isnan(target) or target == 0 or target == -math.inf:
            infinite = math.inf if (target == 0) != from_above else -math.inf
            out[i] = math.nan if math.isnan(target) else infinite
            continue
        mean = -r[i] * _mean_y(k[i])
        if target > _log_tail(mean, k[i], r[i], from_above):
            target, from_above = math.log(-math.expm1(target)), not from_above
        out[i] = _solve(target, k[i], r[i], from_above, mean)
