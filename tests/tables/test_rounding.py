"""Numbers are rounded by their errors, and by nothing that the program around has set."""

import decimal
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simstudy.tables.rounding import plus_minus, to_decimals, with_error, without_error

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("value", "mcse", "shown"),
    [
        (0.063512, 0.00341, ("0.0635", "0.0034")),
        (0.5, 0.0996, ("0.50", "0.10")),  # two digits of the error, also where it rounds up
        (1 / 3, 0.0, ("0.3333", "0")),  # no replicate differed
        (0.0, 0.0034, ("0.0000", "0.0034")),
        (0.001, 0.15, ("0.00", "0.15")),  # an error larger than its value
        (-0.001, 0.15, ("0.00", "0.15")),  # 0 has no sign
        (-1.2345, 0.012, ("-1.234", "0.012")),
        (1.004e-12, 3.41e-13, ("1.00e-12", "3.4e-13")),
        (0.5, 1e-18, ("0.5", "0")),  # rounding of arithmetic is no Monte Carlo error
        (1.1e-17, 2e-18, ("0", "0")),
        (0.0, 3.4e-13, ("0", "3.4e-13")),
        (0.25, NAN, ("0.25", "")),
        (NAN, 0.1, ("nan", "")),
        (INF, 0.1, ("inf", "0.1")),
        (-INF, NAN, ("-inf", "")),
        (np.float32(0.1), np.float32(0.01), ("0.100", "0.010")),
    ],
)
def test_a_number_ends_where_its_error_does(value, mcse, shown):
    assert tuple(with_error(value, mcse)) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.05, "0.05"), (0.1 + 0.2, "0.3"), (1 / 3, "0.3333"), (184.0, "184"), (12345.0, "12345"),
        (12345.6, "12350"), (0.99999, "1"), (1e-12, "1e-12"), (1.234567e9, "1.235e+9"), (0.0, "0"),
        (-0.0, "0"), (-2.5, "-2.5"), (INF, "inf"), (NAN, "nan"),
    ],
)  # fmt: skip
def test_a_number_without_an_error_has_four_digits_unless_it_is_whole(value, shown):
    assert without_error(value) == shown


@pytest.mark.parametrize(
    ("value", "decimals", "shown"),
    [(0.2, 2, "0.20"), (0.0033, 2, "0.00"), (184, 0, "184"), (NAN, 2, "nan"), (-0.001, 2, "0.00")],
)
def test_a_published_number_has_the_places_that_it_was_printed_with(value, decimals, shown):
    assert to_decimals(value, decimals) == shown


SIZES = st.floats(1e-9, 1e9)


@given(value=st.floats(-1e9, 1e9), mcse=SIZES)
def test_rounding_moves_a_number_by_less_than_its_error(value, mcse):
    """By half a unit of the second digit of the error: a twentieth of it at most."""
    assume(mcse > 1e-15 * abs(value))
    shown = with_error(value, mcse)
    assert abs(float(shown.error) - mcse) <= 0.05 * mcse * (1 + 1e-9)
    assert abs(float(shown.value) - value) <= 0.05 * mcse * (1 + 1e-9) + 1e-14 * abs(value)


def test_whatever_arithmetic_the_program_around_has_set():
    with decimal.localcontext(decimal.Context(prec=2, rounding=decimal.ROUND_UP)):
        assert tuple(with_error(123.0625, 0.0031)) == ("123.0625", "0.0031")
        assert to_decimals(0.12345, 3) == "0.123"


@pytest.mark.parametrize(
    ("value", "mcse", "shown"),
    [
        (0.0651, 0.0075, "0.065 ± 0.015"),  # two digits where the first is 1
        (0.80104, 0.00088, "0.8010 ± 0.0018"),
        (12345.678, 1.234, "12,346 ± 2"),
        (-0.0006, 0.00129, "−0.001 ± 0.003"),
        (0.0, 3e-4, "0.0000 ± 0.0006"),
        (1e-7, 3e-9, "1.00e−7 ± 6e−9"),
        (4.75e22, 4.4e21, "4.8e+22 ± 9e+21"),
        (0.786264, 0.0, "0.7863"),
        (0.5, 1e-15, "0.5"),  # an error of arithmetic is none
        (0.25, NAN, "0.25"),
        (NAN, 0.1, "–"),
    ],
)
def test_an_estimate_stands_with_two_errors(value, mcse, shown):
    assert plus_minus(value, mcse) == shown
