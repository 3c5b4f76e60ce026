"""Every public function of the statistics keeps one contract about what it is given.

Numbers of any type, layout and container give the answer of float64 arrays in the order of C, or
a refusal; what is missing or infinite never becomes a number unnoticed; what is out of range, or
no option, is refused by the name of the argument.
"""

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jaxtyping
import numpy as np
import pytest

import simstudy.stats
from simstudy.errors import DesignError
from simstudy.stats.bootstrap.resamples import Resamples
from simstudy.stats.classifier.thresholds import Target
from simstudy.stats.leave_one_out.utilities import Pointwise
from tests.stats.contract.calls import CALLS, RNG

PACKAGE = "simstudy.stats."
WITHOUT = {
    "arguments": "checks and refusals themselves",
    "argument_axes": "checks and refusals themselves",
    "reading": "what reads the arguments",
    "integer_search": "arguments of its callers, in every step of a search",
    "accuracy.checks": "checks and refusals themselves",
    "accuracy.tails": "arguments of their callers, in every step of a search",
    "accuracy.supremum": "arguments of two_binomials",
    "accuracy.noncentral": "arguments of t_tests",
    "networks.architecture": "numbers of Network and Training, which check them",
    "predictive.integrals": "arguments of distributions",
}
"""Modules whose functions read nothing, and whose arguments they get."""
READ_BY_CALLERS = {
    "accuracy.t_tests.one_sided": "arguments of p_value and of two_binomials",
    "bootstrap.losses.check_knobs": "a check itself",
    "bootstrap.losses.replicate_seeds": "takes what the bootstraps have checked",
    "classifier.bootstrap_bounds.corrected_level": "takes levels of bounds_from_resamples",
    "classifier.bootstrap_bounds.refuse_exact_studentized": "a check itself",
    "classifier.direct_bounds.check_bound": "a check itself",
    "compatible.false_discovery.checked": "a check itself",
    "leave_one_out.priors.check_prior": "a check itself",
    "leave_one_out.priors.check_training": "a check itself",
    "leave_one_out.utilities.check_paired": "a check itself",
    "leave_one_out.utilities.check_pointwise": "a check itself",
    "models.least_squares.check_enough_observations": "a check itself",
    "models.metrics.mean_metric": "takes a name and a function",
    "classifier.thresholds.check_target": "a check itself",
    "networks.compiled_training.planned": "takes the layers of a network",
    "networks.orders.shuffled": "takes rows that the ensemble has drawn",
    "two_stage.law.checked_parameters": "a check itself",
    "models.trial.joined": "takes stages as they were made",
    "two_sample.samples.check_drawn": "a check itself",
    "two_sample.samples.checked": "a check itself",
}
"""Functions that read nothing for a reason of their own."""
PROPORTIONS = frozenset({
    "alpha", "beta", "confidence", "sensitivity", "specificity", "q", "level", "null", "power",
    "p_reference", "p_check", "p_loss", "p_gain", "probability", "standard",
})  # fmt: skip
NOT_PROPORTIONS = frozenset({
    "models.metrics.tweedie_loss.power", "models.metrics.tweedie_deviance.power",
    "accuracy.fixed_standard.threshold.standard", "accuracy.fixed_standard.z_p_value.standard",
    "accuracy.fixed_standard.t_p_value.standard",
    "leave_one_out.regression.to_coefficients.standard",
})  # fmt: skip
"""Arguments that are called as a proportion is, and are none."""
MADE_BY_USERS = (Target, Pointwise, Resamples)
"""Arguments of several numbers that a user puts together; others are what functions answered."""
SUMS = 2.0**-36  # sums in another order: far more than their rounding, far less than an error
Arguments = dict[str, Any]
Path = tuple[str, ...]


def public_functions() -> dict[str, Callable[..., Any]]:
    """By place: module and name below the package."""
    found = {}
    for info in pkgutil.walk_packages(simstudy.stats.__path__, PACKAGE):
        module = info.name.removeprefix(PACKAGE)
        if module.split(".")[-1].startswith("_") or module.startswith("compiled"):
            continue
        for name, value in vars(importlib.import_module(info.name)).items():
            own = getattr(value, "__module__", None) == info.name
            if own and not name.startswith("_") and callable(value) and not inspect.isclass(value):
                found[f"{module}.{name}"] = value
    return found


FUNCTIONS = public_functions()


def excused(place: str) -> bool:
    return place in READ_BY_CALLERS or place.rpartition(".")[0] in WITHOUT


def test_every_public_function_is_here():
    wanted = {place for place in FUNCTIONS if not excused(place)}
    assert wanted - set(CALLS) == set(), "give calls.py a valid call of each of these"
    assert set(CALLS) - wanted == set(), "these are no public functions, or excused"
    assert set(READ_BY_CALLERS) <= set(FUNCTIONS)


@pytest.fixture(autouse=True, scope="module")
def as_in_a_run() -> Iterator[None]:
    """Shapes are not executed here: the answers must be right without anyone who checks them."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


# ---------------------------------------------------------------- one call, and its outcome
def call(place: str, arguments: Arguments) -> Any:
    rng = np.random.default_rng
    given = {name: rng(5) if value is RNG else value for name, value in arguments.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of NaN and infinity, which say it
        if "*" in given:
            *placed, further = given.values()
            return FUNCTIONS[place](*placed, *further)
        return FUNCTIONS[place](**given)


def outcome(place: str, arguments: Arguments) -> Any:
    """The answer, or DesignError: the same question has the same of both."""
    try:
        return call(place, arguments)
    except DesignError:
        return DesignError


def parts(answer: Any) -> Iterator[Any]:
    """Arrays and numbers in an answer."""
    if isinstance(answer, dict):
        answer = tuple(answer.values())
    if isinstance(answer, list | tuple):
        for part in answer:
            yield from parts(part)
    elif hasattr(answer, "__dict__"):
        yield from parts(vars(answer))
    elif not callable(answer):
        yield answer


def assert_same(left: Any, right: Any) -> None:
    """To the last bit; NaN is NaN."""
    for found, wanted in zip(parts(left), parts(right), strict=True):
        np.testing.assert_array_equal(found, wanted, strict=isinstance(wanted, np.ndarray))


# ---------------------------------------------------------------- the numbers of a call
def numbers_of(arguments: Arguments) -> Iterator[tuple[Path, Any]]:
    """Where there are numbers: arguments, and fields of arguments."""
    for name, value in arguments.items():
        if isinstance(value, MADE_BY_USERS):
            fields = value._asdict().items()
            yield from (((name, field), part) for field, part in fields if numeric(part))
        elif numeric(value):
            yield (name,), value


def numeric(value: Any) -> bool:
    kind = (
        "O" if callable(value) or isinstance(value, list | tuple) else np.asarray(value).dtype.kind
    )
    return value is not RNG and kind in "iuf" and not isinstance(value, bool)


def replaced(arguments: Arguments, path: Path, value: Any) -> Arguments:
    name, *field = path
    if field:
        value = arguments[name]._replace(**{field[0]: value})
    return {**arguments, name: value}


CASES = [(place, path) for place in CALLS for path, _ in numbers_of(CALLS[place])]
ARRAYS = [case for case in CASES if np.ndim(dict(numbers_of(CALLS[case[0]]))[case[1]])]


def shown(part: Any) -> str:
    return part if isinstance(part, str) else ".".join(part)


every_number = pytest.mark.parametrize(("place", "path"), CASES, ids=shown)
every_array = pytest.mark.parametrize(("place", "path"), ARRAYS, ids=shown)


def given(place: str, path: Path) -> np.ndarray:
    return np.asarray(dict(numbers_of(CALLS[place]))[path])


def assert_equivalent(place: str, path: Path, value: Any) -> None:
    """As it is, and as float64 in the order of C: the same answer or, of `value`, a refusal."""
    found = outcome(place, replaced(CALLS[place], path, value))
    if found is not DesignError:
        plain = np.array(value, np.float64)
        wanted = call(place, replaced(CALLS[place], path, plain if plain.ndim else float(plain)))
        assert_same(found, wanted)


# ---------------------------------------------------------------- types, layouts, containers
@every_number
def test_numbers_of_other_types_are_the_numbers_they_are(place, path):
    value = given(place, path)
    for kind in (np.float32, np.float16, ">f8", np.longdouble, object):
        assert_equivalent(place, path, value.astype(kind)[()])
    whole = np.rint(value)
    for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        fits = (whole >= np.iinfo(kind).min) & (whole <= np.iinfo(kind).max)
        if np.all(fits):
            assert_equivalent(place, path, whole.astype(kind)[()])
    assert_equivalent(place, path, (value > np.median(value))[()])


@every_number
def test_lists_and_arrays_without_axes_are_the_numbers_they_are(place, path):
    value = given(place, path)
    assert_equivalent(place, path, value.tolist())
    assert_equivalent(place, path, np.asarray(value.flat[0]))


@every_array
def test_the_layout_in_memory_moves_no_more_than_the_order_of_sums(place, path):
    value = given(place, path)
    for same in (
        np.repeat(value, 2, axis=-1)[..., ::2],
        np.flip(np.flip(value, axis=-1).copy(), axis=-1),
        np.asfortranarray(value),
    ):
        found, wanted = call(place, replaced(CALLS[place], path, same)), call(place, CALLS[place])
        for left, right in zip(parts(found), parts(wanted), strict=True):
            np.testing.assert_allclose(left, right, rtol=SUMS, atol=SUMS)


# ---------------------------------------------------------------- what is no number
@every_number
def test_what_is_no_number_is_refused_by_name(place, path):
    for nonsense in ("many", 1j, {}):
        with pytest.raises(DesignError, match=path[-1]):
            call(place, replaced(CALLS[place], path, nonsense))


@every_array
def test_what_is_masked_is_refused_or_missing(place, path):
    value = given(place, path)
    mask = np.zeros(value.shape, bool)
    mask.flat[0] = True
    found = outcome(place, replaced(CALLS[place], path, np.ma.masked_array(value, mask)))
    assert found is DesignError or any(np.isnan(part).any() for part in parts(found))


@every_array
def test_of_nothing_there_is_an_answer_or_a_refusal(place, path):
    value = given(place, path)
    for axis in range(value.ndim):
        nothing = np.take(value, np.array([], int), axis=axis)
        try:
            outcome(place, replaced(CALLS[place], path, nothing))
        except ValueError as error:  # where arguments broadcast, NumPy says which do not
            assert re.search("broadcast|shape|mismatch", str(error))  # noqa: PT017


# ---------------------------------------------------------------- NaN and infinity
SORTED = "rows that are sorted and checked, in which nothing is missing"
DECISION = "a decision, which is no where nothing is known; its caller says what is missing"
UNUSED = "not a part of the utility that is asked for"
DECISIONS = {
    "bootstrap.quantiles.quantile_of_sorted.ordered": SORTED,
    "bootstrap.quantiles.quantiles_of_sorted.ordered": SORTED,
    "bootstrap.quantiles.quantiles_of_sorted.levels": SORTED,
    "bootstrap.quantiles.masses_of_sorted.ordered": SORTED,
    "bootstrap.quantiles.masses_of_sorted.at": SORTED,
    "bootstrap.quantiles.jackknife_acceleration.ordered": SORTED,
    "bootstrap.resamples.shares_below.resamples.values": "in order, where NaN is the last",
    "bootstrap.resamples.resampled_quantile.resamples.values": "in order, where NaN is the last",
    "accuracy.design.fails.check": DECISION,
    "accuracy.design.fails.gamma": DECISION,
    "leave_one_out.utilities.influence.pointwise.y": UNUSED,
    "leave_one_out.utilities.influence.pointwise.log_density": UNUSED,
    "leave_one_out.utilities.log_densities.pointwise.y": UNUSED,
    "leave_one_out.utilities.log_densities.pointwise.error": UNUSED,
    "models.trial.verdict.limit": DECISION,
    "models.trial.null_columns.bound": DECISION,
    "models.trial.null_columns.risk": DECISION,
    "predictive.calibration.covers.y": DECISION,
    "two_sample.rank_sum.rank_sum_statistic.x": "ranks of samples that rank_sum has checked",
    "two_sample.rank_sum.rank_sum_statistic.y": "ranks of samples that rank_sum has checked",
    "two_sample.samples.no_answer.x": "says what is missing",
    "two_sample.samples.no_answer.y": "says what is missing",
}
"""Answers that a missing number may leave as they are, and why."""


@every_number
def test_a_missing_number_is_missing_in_the_answer_or_refused(place, path):
    value = np.array(given(place, path), float)
    value.flat[0] = np.nan
    found = outcome(place, replaced(CALLS[place], path, value[()]))
    reason = DECISIONS.get(".".join((place, *path)))
    missing = found is DesignError or any(
        np.isnan(part).any() for part in parts(found) if np.asarray(part).dtype.kind == "f"
    )
    assert missing or reason, "a number out of none"


@every_number
def test_infinities_have_an_answer_or_are_refused(place, path):
    for infinite in (np.inf, -np.inf):
        value = np.array(given(place, path), float)
        value.flat[0] = infinite
        outcome(place, replaced(CALLS[place], path, value[()]))


# ---------------------------------------------------------------- ranges and options
BETWEEN_0_AND_1 = [
    (place, path)
    for place, path in CASES
    if path[-1] in PROPORTIONS and ".".join((place, *path)) not in NOT_PROPORTIONS
]


@pytest.mark.parametrize(("place", "path"), BETWEEN_0_AND_1, ids=shown)
def test_numbers_out_of_range_are_refused_by_name(place, path):
    value = np.array(given(place, path), float)
    for outside in (-0.5, 1.5, 80.0):
        value.flat[0] = outside
        with pytest.raises(DesignError, match=path[-1]):
            call(place, replaced(CALLS[place], path, value[()]))


def options_of(kind: type) -> list[tuple[str, str]]:
    return [
        (place, name)
        for place in CALLS
        for name, each in inspect.signature(FUNCTIONS[place]).parameters.items()
        if each.annotation is kind and (place, name) not in FREE_TEXT
    ]


FREE_TEXT = {("models.trial.null_columns", "suffix")}


@pytest.mark.parametrize(("place", "name"), options_of(str))
def test_names_that_mean_nothing_are_refused(place, name):
    for nonsense in ("uper", 3, None):
        with pytest.raises(DesignError, match=f"{nonsense}"):
            call(place, {**CALLS[place], name: nonsense})


@pytest.mark.parametrize(("place", "name"), options_of(bool))
def test_what_is_neither_true_nor_false_is_refused(place, name):
    for nonsense in ("no", 0.0):
        with pytest.raises(DesignError, match=f"{name}="):
            call(place, {**CALLS[place], name: nonsense})
