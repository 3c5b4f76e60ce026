"""Control variates against least squares, over many studies, and with controls that are wrong."""

import numpy as np
import pytest
from scipy import special

from simstudy import measures as m
from simstudy.errors import DesignError, StudyError
from simstudy.measures.core import MeasureContext, bind
from simstudy.measures.variance_reduction import WITHOUT, regress
from simstudy.measures.warnings import far_from_zero
from tests.support import assert_within_mcse, critical_z, replicates_to_catch

N = 300


def drawn(n_rep=N, n_cells=2, seed=1):
    rng = np.random.default_rng(seed)
    c, d, noise = rng.standard_normal((3, n_rep, n_cells))
    return {
        "x": 2 + c + 0.5 * d + 0.5 * noise,
        "c": 3 + c,
        "d": d + 0.3 * c,
        "three": np.array(3.0),
    }


CONTROLS = m.control("c", mean="three"), m.control("d", mean=0.0)
BY_BOTH = m.controlled(m.mean("x"), *CONTROLS)


def test_it_is_the_height_of_the_regression_at_the_stated_means():
    columns = drawn()
    found = BY_BOTH.estimate(columns)
    psi = BY_BOTH.influence(columns).psi
    for cell in range(2):
        x, c, d = (columns[name][:, cell] for name in "xcd")
        design = np.stack([np.ones(N), c - 3, d], axis=1)
        inverse = np.linalg.inv(design.T @ design)
        slopes = inverse @ design.T @ x
        weighted = (inverse[0] @ design.T) * (x - design @ slopes) * N  # its own influences
        scaled = weighted * np.sqrt((N - 1) / (N - 3))
        np.testing.assert_allclose(found.estimate[cell], slopes[0], rtol=1e-12)
        np.testing.assert_allclose(psi[:, cell], scaled, rtol=1e-9, atol=1e-11)
        mcse = np.sqrt(np.sum(weighted**2) / (N - 3) / N)
        np.testing.assert_allclose(found.mcse[cell], mcse, rtol=1e-12)
    plain = m.mean("x").estimate(columns)
    np.testing.assert_allclose(found.variance_reduction, (plain.mcse / found.mcse) ** 2, rtol=1e-12)


def test_a_control_that_says_nothing_new_costs_nothing():
    columns = drawn() | {"flat": np.full((N, 2), 0.1), "lost": np.full((N, 2), 1 / 3)}
    more = (
        m.control("flat", mean=7.0),
        m.control("lost", mean=0.0),
        m.control("scaled", mean=3e6),
        m.control("both", mean=3.0),
    )
    columns |= {"scaled": 1e6 * columns["c"], "both": columns["c"] - 2 * columns["d"]}
    beside = m.controlled(m.mean("x"), *CONTROLS, *more).estimate(columns)
    alone = BY_BOTH.estimate(columns)
    np.testing.assert_allclose(beside.estimate, alone.estimate, rtol=1e-12)
    np.testing.assert_allclose(beside.mcse, alone.mcse, rtol=1e-9)
    assert (beside.warning == "").all()
    nothing = m.controlled(m.power("x"), m.control("flat", mean=7.0), name="power")
    flags = columns | {"x": columns["x"] > 2}
    same = nothing.estimate(flags), m.power("x").estimate(flags)
    for name in ("estimate", "mcse", "lower", "upper"):
        np.testing.assert_allclose(getattr(same[0], name), getattr(same[1], name), rtol=1e-12)
    np.testing.assert_allclose(same[0].variance_reduction, 1.0, rtol=1e-12)


# ---------------------------------------------------------------- over many studies
FEW, N_CONTROLS = 24, 5
N_STUDIES = replicates_to_catch(0.1, sd=np.sqrt(0.5))
GATE = critical_z() * np.sqrt(1.0 / N_STUDIES)  # an error of few replicates varies as well
RHO = 0.6


def studies(n_rep=FEW, off=0.0):
    """A share of normal values beyond 0.5, controlled by what they are made of; and of nothing."""
    rng = np.random.default_rng(4)
    c = rng.standard_normal((N_CONTROLS, n_rep, N_STUDIES))
    x = RHO * c[0] + np.sqrt(1 - RHO**2) * rng.standard_normal((n_rep, N_STUDIES))
    columns = {"x": x, "hit": x > 0.5} | {f"c{i}": value for i, value in enumerate(c)}
    return columns, [m.control(f"c{i}", mean=off * (i == 0)) for i in range(N_CONTROLS)]


def spread_over_error(found):
    return float(found.estimate.std() / np.sqrt(np.mean(found.mcse**2)))


def test_few_replicates_and_many_controls_are_in_the_error():
    columns, controls = studies()
    found = m.controlled(m.mean("x"), *controls).estimate(columns)
    assert_within_mcse(found.estimate.mean(), 0.0, found.estimate.std() / np.sqrt(N_STUDIES))
    assert abs(spread_over_error(found) - 1) < GATE


def test_that_test_catches_an_error_without_the_cost_of_the_regression():
    columns, controls = studies()
    measure = m.controlled(m.mean("x"), *controls)
    found = measure.estimate(columns)
    free = np.sqrt((FEW - 1 - N_CONTROLS) / (FEW - 1))
    assert abs(spread_over_error(found._replace(mcse=found.mcse * free)) - 1) > GATE


MANY = 200
OWN_ERROR = 0.005  # by which Wilson's interval may miss its level at so many replicates
SHARE = float(special.ndtr(-0.5))


def bias_in_errors(found, truth):
    """Of the mean over studies, in its standard errors."""
    return abs(found.estimate.mean() - truth) / (found.estimate.std() / np.sqrt(N_STUDIES))


def test_a_share_is_unbiased_and_its_interval_covers():
    columns, controls = studies(MANY)
    found = m.controlled(m.power("hit"), controls[0]).estimate(columns)
    assert bias_in_errors(found, SHARE) < critical_z()
    covered = np.mean((found.lower <= SHARE) & (found.upper >= SHARE))
    assert abs(covered - 0.95) < critical_z() * np.sqrt(0.95 * 0.05 / N_STUDIES) + OWN_ERROR
    assert np.median(found.variance_reduction) > 1.15


def test_that_test_catches_a_mean_that_is_wrong_by_too_little_to_be_noticed():
    columns, controls = studies(MANY, off=0.1)  # 1.4 standard errors of the control's own mean
    found = m.controlled(m.power("hit"), controls[0]).estimate(columns)
    assert (found.warning == "").mean() > 0.99
    assert bias_in_errors(found, SHARE) > critical_z()


# ---------------------------------------------------------------- wrong means
def test_a_mean_that_is_far_from_what_is_stated_is_said_and_left_out():
    columns = drawn(n_cells=1)
    wrong = m.controlled(m.mean("x"), m.control("c", mean=2.0), CONTROLS[1])
    found, right = wrong.estimate(columns), m.controlled(m.mean("x"), CONTROLS[1])
    said = "control 'c' is left out: its mean is +0.897 from the one stated, 17 standard errors"
    np.testing.assert_array_equal(found.estimate, right.estimate(columns).estimate)
    assert found.warning.tolist() == [said]
    assert (BY_BOTH.estimate(columns).warning == "").all()


RIGHT = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "exponential": lambda rng, size: rng.standard_exponential(size) - 1,
    "rare": lambda rng, size: (rng.random(size) < 0.03) - 0.03,
    "heavy": lambda rng, size: np.exp(1.5 * rng.standard_normal(size) - 1.125) - 1,
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_means_are_not_doubted_and_wrong_ones_are(name):
    values = RIGHT[name](np.random.default_rng(6), (1000, 4000))
    assert not far_from_zero(values).any(), "one in a million"
    if name != "heavy":  # whose spread nobody knows
        off = 12 * values.std() / np.sqrt(1000)
        assert (far_from_zero(values + off) > 0).mean() > 0.99


# ---------------------------------------------------------------- failures, shapes, company
def test_failures_with_their_controls_count_and_without_them_are_left_as_they_are():
    columns = drawn()
    columns["x"] = np.where(columns["d"] > 1.5, np.nan, columns["x"])  # for a reason
    plain, found = m.mean("x").estimate(columns), BY_BOTH.estimate(columns)
    assert (found.variance_reduction > 1).all()
    np.testing.assert_array_equal(found.n_failed, plain.n_failed)
    for cell in range(2):  # least squares over all, of influences that are 0 where it failed
        psi = m.mean("x").influence(columns).psi[:, cell]
        y = np.where(np.isnan(psi), 0.0, psi) * N / plain.n_rep[cell]
        design = np.stack([np.ones(N), columns["c"][:, cell] - 3, columns["d"][:, cell]], axis=1)
        height = np.linalg.lstsq(design, y, rcond=None)[0][0]
        np.testing.assert_allclose(found.estimate[cell], plain.estimate[cell] + height, rtol=1e-10)
    lost = columns | {"c": np.where(np.isnan(columns["x"]), np.nan, columns["c"])}
    as_plain = BY_BOTH.estimate(lost)
    np.testing.assert_array_equal(as_plain.estimate, plain.estimate)
    np.testing.assert_array_equal(as_plain.mcse, plain.mcse)
    assert "replicates failed and left no controls" in as_plain.warning[0]


def test_failures_that_depend_on_a_control_bias_nothing_over_studies():
    columns, controls = studies(MANY)
    failed = columns["c0"] > 1.0
    columns["x"] = np.where(failed, np.nan, columns["x"])
    truth = -RHO * np.exp(-0.5) / np.sqrt(2 * np.pi) / special.ndtr(1.0)  # E[x | c0 <= 1]
    found = m.controlled(m.mean("x"), controls[0]).estimate(columns)
    assert bias_in_errors(found, truth) < critical_z()
    assert abs(spread_over_error(found) - 1) < GATE
    assert columns["c0"][~failed].mean() < -0.2, "of those that did not fail it is not the stated 0"


def test_hardly_more_replicates_than_controls_are_as_the_plain_measure_has_them():
    columns = drawn(n_rep=12)
    found, plain = BY_BOTH.estimate(columns), m.mean("x").estimate(columns)
    np.testing.assert_array_equal(found.mcse, plain.mcse)
    np.testing.assert_array_equal(found.estimate, plain.estimate)
    assert all("fewer than ten replicates more than" in said for said in found.warning)
    more = BY_BOTH.estimate(drawn(n_rep=13))
    assert (more.warning == "").all()
    assert (more.variance_reduction > 1.5).all()


# ---------------------------------------------------------------- rare events
P_RARE, N_RARE = 0.005, 200


def rare_events():
    """Events, one in ten of which a flag of the same probability misses."""
    rng = np.random.default_rng(2)
    u, missed = rng.random((2, N_RARE, N_STUDIES))
    hit = u < P_RARE
    flag = np.where(hit, missed > 0.1, u > 1 - 0.1 * P_RARE)
    return {"hit": hit, "flag": flag.astype(float)}


def covers(found):
    return np.mean((found.lower <= P_RARE) & (found.upper >= P_RARE))


def test_controls_that_explain_all_of_a_few_events_are_not_believed():
    columns = rare_events()
    measure = m.controlled(m.power("hit"), m.control("flag", mean=P_RARE))
    plain, found = m.power("hit").estimate(columns), measure.estimate(columns)
    assert covers(found) > covers(plain) - 0.02
    assert found.mcse.min() > 1e-3
    assert "what controls leave rests on few" in "".join(set(found.warning))
    hit = columns["hit"] - columns["hit"].mean(axis=0)
    left = regress(hit, [columns["flag"] - P_RARE]).residuals
    assert np.mean((left**2).sum(axis=0) < 1e-9) > 0.4, "believed, these would have no error"


def test_an_error_is_no_smaller_than_the_bias_of_what_is_no_mean():
    """The spread is the root of a mean, of which squares explain all but the root's curvature."""
    x = np.random.default_rng(1).standard_normal((N, 2000))
    columns = {"x": x, "square": x**2}
    square = m.control("square", mean=1.0)
    found = m.controlled(m.empirical_se("x"), square).estimate(columns)
    assert np.mean((found.lower < 1) & (found.upper > 1)) > 0.9
    assert np.median(found.variance_reduction) > 0.3 * N, "controls explain nearly all"
    assert found.variance_reduction.max() < 1.25 * N
    exact = m.controlled(m.mean("x"), m.control("x", mean=0.0)).estimate(columns)
    assert np.isinf(exact.variance_reduction).all(), "of a mean nothing is left"
    np.testing.assert_allclose(exact.estimate, 0.0, atol=1e-12)


def test_a_measures_own_axis_and_controls_without_axes():
    rng = np.random.default_rng(1)
    p = rng.random((N, 2))
    columns = {"p": p, "c": p.mean(axis=1)}
    at = m.controlled(m.rejection_rate(p_value="p", alpha=(0.1, 0.5)), m.control("c", mean=0.5))
    found = at.estimate(columns)
    assert found.estimate.shape == found.warning.shape == (2, 2)
    for k, alpha in enumerate((0.1, 0.5)):
        one = m.controlled(m.rejection_rate(p_value="p", alpha=alpha), m.control("c", mean=0.5))
        np.testing.assert_array_equal(found.mcse[:, k], one.estimate(columns).mcse)


def test_a_cell_has_the_same_bits_alone_and_in_company():
    columns = drawn(n_cells=5)
    third = {n: column[:, 2:3].copy() for n, column in columns.items() if n != "three"}
    together, alone = (BY_BOTH.estimate(c) for c in (columns, third | {"three": columns["three"]}))
    for one, two in zip(together, alone, strict=True):
        assert (one is None) == (two is None)
        if one is not None:
            np.testing.assert_array_equal(one[2:3], two)


def test_a_contrast_of_controlled_methods_has_the_error_of_their_regressions():
    columns = drawn()
    found = m.paired_methods(BY_BOTH, columns, method=0, reference=1)
    psi = BY_BOTH.influence(columns).psi
    np.testing.assert_allclose(
        found.mcse, (psi[:, 0] - psi[:, 1]).std(ddof=1) / np.sqrt(N), rtol=1e-12
    )
    assert found.variance_reduction is None
    assert found.warning is None
    wrong = m.controlled(m.mean("x"), m.control("c", mean=4.0))
    pairs = m.paired_methods(wrong, columns, method=0, reference=1)
    assert "control 'c' is left out" in pairs.warning.item()
    one = {n: column[:, 0] for n, column in columns.items() if column.ndim}
    assert "control 'c' is left out" in m.unpaired(wrong, one, one).warning.item()


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_a_control_that_is_lost_somewhere_leaves_the_plain_measure(lost):
    columns = drawn()
    columns["c"][7, 0] = lost
    found, plain = BY_BOTH.estimate(columns), m.mean("x").estimate(columns)
    assert found.warning.tolist() == [WITHOUT, ""]
    assert found.mcse[0] == plain.mcse[0]
    assert found.mcse[1] < plain.mcse[1]


def test_replicates_in_groups_are_refused():
    with pytest.raises(StudyError, match="controls are fitted to single replicates"):
        bind(BY_BOTH, MeasureContext({}, "study", 1, 3))


def test_what_is_no_control_is_refused():
    with pytest.raises(DesignError, match=r"needs controls, not \(\)"):
        m.controlled(m.mean("x"))
    with pytest.raises(DesignError, match="is not the name of a column"):
        m.control(3, mean=0.0)
    with pytest.raises(DesignError, match="has no influence of each replicate"):
        m.controlled(m.bootstrapped(lambda x: x, name="mine"), *CONTROLS)
    with pytest.raises(DesignError, match="is neither the name of a column nor a number"):
        m.control("c", mean=None)
