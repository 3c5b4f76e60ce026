"""Every public function of the statistics keeps one contract about what it is given.

Narrow and unsigned numbers give the answer of float64, or a refusal; the layout of an array moves
no more than the order of sums; what is missing never becomes a number unnoticed; what is masked,
no number, out of range or no option is refused by the name of the argument. One test per function;
the reader of arguments has its own (`test_reading.py`).
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

import simstudy.documents.stats
from simstudy.documents.stats.bootstrap.resamples import Resamples
from simstudy.documents.stats.classifier.thresholds import Target
from simstudy.documents.stats.leave_one_out.utilities import Pointwise
from simstudy.errors import DesignError
from tests.documents.stats.contract.calls import OWN, RNG, USUAL

PACKAGE = "simstudy.documents.stats."
WITHOUT = {
    "arguments": "checks and refusals themselves",
    "reading": "what reads the arguments",
    "integer_search": "arguments of its callers, in every step of a search",
    "accuracy.checks": "checks and refusals themselves",
    "accuracy.tails": "arguments of their callers, in every step of a search",
    "networks.architecture": "numbers of Network and Training, which check them",
}
"""Modules whose functions read nothing, and whose arguments they get."""
IS_A_CHECK = re.compile(r"\.(check_\w+|checked|checked_parameters|refuse_\w+)$")
READ_BY_CALLERS = {
    "accuracy.t_tests.one_sided": "arguments of p_value and of two_binomials",
    "accuracy.two_binomials.largest_rate": "takes what size has checked",
    "bootstrap.losses.replicate_seeds": "takes what the bootstraps have checked",
    "classifier.bounds.corrected_level": "takes levels of bounds_from_resamples",
    "models.metrics.mean_metric": "takes a name and a function",
    "networks.compiled_training.planned": "takes the layers of a network",
    "networks.orders.shuffled": "takes rows that the ensemble has drawn",
    "models.trial.joined": "takes stages as they were made",
}
"""Functions that read nothing for a reason of their own."""
PROPORTIONS = (-0.5, 1.5, 80.0)
COUNTS = (-3, 2.5)
BELOW_ZERO = (-3,)
OUTSIDE = {
    PROPORTIONS: "accuracy alpha beta check_accuracy confidence lam level miss null p p_check "
    "p_gain p_loss p_reference power probability q sensitivity specificity weight",
    COUNTS: "count count_reference gains kept n n_bins n_boot n_check n_draw n_drawn n_inner n_obs "
    "n_test rank rows seed start successes_check successes_reference",
    BELOW_ZERO: "bandwidth coefficient_sd margin n1 n2 ratio refine residual_sd sd sd_check "
    "sd_reference sigma successes true_error variance_ratio weights z",
}
"""Values that no argument of these names may have."""
MAY_HAVE = frozenset({

    "classifier.trial.normal_power.n_obs", "classifier.trial.upper_tail.count",
    "compatible.false_discovery.later_ranks.n", "compatible.theory.storey_moments.lam",
    "leave_one_out.regression.leverages.sigma", "models.metrics.tweedie_deviance.power",
    "models.metrics.tweedie_loss.power", "models.trial.trial_design.n_test",
    "two_sample.rank_sum.is_exact.n1", "two_sample.rank_sum.is_exact.n2",
})  # fmt: skip
"""Arguments of such a name that may, or are refused under the name of what they become."""
MADE_BY_USERS = (Target, Pointwise, Resamples)
"""Arguments of several numbers that a user puts together; others are what functions answered."""
SUMS = 2.0**-36  # sums in another order: far more than their rounding, far less than an error
Arguments = dict[str, Any]
Path = tuple[str, ...]


def public_functions() -> dict[str, Callable[..., Any]]:
    """By place: module and name below the package."""
    found = {}
    for info in pkgutil.walk_packages(simstudy.documents.stats.__path__, PACKAGE):
        module = info.name.removeprefix(PACKAGE)
        is_private = any(part.startswith("_") for part in module.split("."))
        if is_private or module.startswith("compiled"):
            continue
        for name, value in vars(importlib.import_module(info.name)).items():
            own = getattr(value, "__module__", None) == info.name
            if own and not name.startswith("_") and callable(value) and not inspect.isclass(value):
                found[f"{module}.{name}"] = value
    return found


FUNCTIONS = public_functions()


def excused(place: str) -> bool:
    named = place in READ_BY_CALLERS or place.rpartition(".")[0] in WITHOUT
    return named or bool(IS_A_CHECK.search(place))


def arguments_of(place: str) -> Arguments:
    """Of one valid call."""
    names = inspect.signature(FUNCTIONS[place]).parameters
    return {name: USUAL[name] for name in names if name in USUAL} | OWN.get(place, {})


CALLS = {place: arguments_of(place) for place in FUNCTIONS if not excused(place)}


def test_every_public_function_is_here():
    for place, arguments in CALLS.items():
        try:
            inspect.signature(FUNCTIONS[place]).bind(**arguments)
        except TypeError as error:
            raise AssertionError(f"calls.py has no valid call of {place}: {error}") from None
    assert set(OWN) <= set(CALLS), "these are no public functions, or excused"
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


MAY_BE_MISSING = {
    "rows that are sorted and checked: nothing is missing, or it is the last": """
        bootstrap.quantiles.quantile_of_sorted.ordered
        bootstrap.quantiles.quantiles_of_sorted.ordered bootstrap.quantiles.masses_of_sorted.ordered
        bootstrap.quantiles.quantiles_of_sorted.levels bootstrap.quantiles.masses_of_sorted.at
        bootstrap.quantiles.jackknife_acceleration.ordered
        bootstrap.resamples.shares_below.resamples.values
        bootstrap.resamples.resampled_quantile.resamples.values
        two_sample.rank_sum.rank_sum_statistic.x two_sample.rank_sum.rank_sum_statistic.y""",
    "a decision, which is no where nothing is known; its caller says what is missing": """
        accuracy.design.fails.check accuracy.design.fails.gamma models.trial.verdict.limit
        models.trial.null_columns.bound models.trial.null_columns.risk
        predictive.calibration.covers.y two_sample.samples.is_rejected.p_value
        two_sample.samples.no_answer.x two_sample.samples.no_answer.y""",
    "not a part of the utility that is asked for": """
        leave_one_out.utilities.influence.pointwise.y
        leave_one_out.utilities.influence.pointwise.log_density
        leave_one_out.utilities.log_densities.pointwise.y
        leave_one_out.utilities.log_densities.pointwise.error""",
}
"""Answers that a missing number may leave as they are, by the reason."""
LEFT_AS_THEY_ARE = {place for places in MAY_BE_MISSING.values() for place in places.split()}


PLAIN_TYPES = (np.float32, np.float16, np.int8, np.uint8, np.uint64)


def equivalents(value: np.ndarray) -> Iterator[Any]:
    """The argument in other types and containers, as far as they can hold it."""
    whole = np.rint(value)
    for kind in PLAIN_TYPES:
        is_whole = np.issubdtype(kind, np.integer)
        if not is_whole or np.all((whole >= np.iinfo(kind).min) & (whole <= np.iinfo(kind).max)):
            yield (whole if is_whole else value).astype(kind)[()]
    yield value.tolist()
    yield np.asarray(value.flat[0])


# ---------------------------------------------------------------- one promise each, of one argument
def check_types(place: str, path: Path, value: np.ndarray) -> None:
    """As it is, and as float64 in the order of C: the same answer or, of the first, a refusal."""
    for given in equivalents(value):
        found = outcome(place, replaced(CALLS[place], path, given))
        if found is not DesignError:
            plain = np.array(given, np.float64)
            as_plain = replaced(CALLS[place], path, plain if plain.ndim else float(plain))
            assert_same(found, call(place, as_plain))


def check_layout(place: str, path: Path, value: np.ndarray) -> None:
    if value.ndim:
        wanted = list(parts(call(place, CALLS[place])))
        for same in (np.repeat(value, 2, axis=-1)[..., ::2], np.asfortranarray(value)):
            found = parts(call(place, replaced(CALLS[place], path, same)))
            for left, right in zip(found, wanted, strict=True):
                np.testing.assert_allclose(left, right, rtol=SUMS, atol=SUMS)


def check_no_number(place: str, path: Path, value: np.ndarray) -> None:
    for nonsense in ("many", 1j, {}):
        with pytest.raises(DesignError, match=path[-1]):
            call(place, replaced(CALLS[place], path, nonsense))
    if value.ndim:
        mask = np.zeros(value.shape, bool)
        mask.flat[0] = True
        with pytest.raises(DesignError, match="masked"):
            call(place, replaced(CALLS[place], path, np.ma.masked_array(value, mask)))


def check_empty(place: str, path: Path, value: np.ndarray) -> None:
    """Of nothing there is an answer or a refusal."""
    for axis in range(value.ndim):
        nothing = np.take(value, np.array([], int), axis=axis)
        try:
            outcome(place, replaced(CALLS[place], path, nothing))
        except ValueError as error:  # where arguments broadcast, NumPy says which do not
            assert re.search("broadcast|shape|mismatch", str(error))  # noqa: PT017


def check_missing(place: str, path: Path, value: np.ndarray) -> None:
    """A missing number is missing in the answer, or refused; infinities have either."""
    value = np.array(value, float)
    for odd in (np.nan, np.inf, -np.inf):
        value.flat[0] = odd
        found = outcome(place, replaced(CALLS[place], path, value[()]))
        if np.isnan(odd) and ".".join((place, *path)) not in LEFT_AS_THEY_ARE:
            floats = [part for part in parts(found) if np.asarray(part).dtype.kind == "f"]
            is_missing = found is DesignError or any(np.isnan(part).any() for part in floats)
            assert is_missing, "a number out of none"


def check_range(place: str, path: Path, value: np.ndarray) -> None:
    wrong = [bad for bad, names in OUTSIDE.items() if path[-1] in names.split()]
    if wrong and ".".join((place, *path)) not in MAY_HAVE:
        value = np.array(value, float)
        for outside in wrong[0]:
            value.flat[0] = outside
            with pytest.raises(DesignError, match=path[-1]):
                call(place, replaced(CALLS[place], path, value[()]))


CHECKS = (check_types, check_layout, check_no_number, check_empty, check_missing, check_range)
FREE_TEXT = {("models.trial.null_columns", "suffix")}
NO_OPTION = {str: ("uper", 3, None), bool: ("no", 0.0)}


def check_options(place: str) -> None:
    for name, each in inspect.signature(FUNCTIONS[place]).parameters.items():
        if each.annotation in NO_OPTION and (place, name) not in FREE_TEXT:
            for nonsense in NO_OPTION[each.annotation]:
                about = f"{nonsense}" if each.annotation is str else f"{name}="
                with pytest.raises(DesignError, match=about):
                    call(place, {**CALLS[place], name: nonsense})


NEEDS = {
    "models.least_squares.fit_each": "sklearn",
    "leave_one_out.importance.importance_leave_one_out": "arviz",
    "leave_one_out.importance.smoothed_log_weights": "arviz",
}


@pytest.mark.parametrize("place", CALLS)
def test_the_contract_on_arguments_is_kept(place):
    if place in NEEDS:
        pytest.importorskip(NEEDS[place], reason="needs pip install -e '.[dev]'")
    broken = []
    for path, value in numbers_of(CALLS[place]):
        for check in CHECKS:
            try:
                check(place, path, np.asarray(value))
            except Exception as error:  # of any kind: all breaches of a function are told at once
                broken.append(f"{check.__name__} of {'.'.join(path)}: {error!r:.300}")
    assert not broken, "\n".join(broken)
    check_options(place)


@pytest.mark.parametrize(
    ("check", "function"),
    [
        (check_types, lambda x: x - np.asarray(x).dtype.type(1)),
        (check_layout, lambda x: np.ravel(x, order="K")[1]),
        (check_no_number, lambda x: np.sum(np.asarray(x, complex)) if x != "many" else 0),
        (check_empty, lambda x: np.asarray(x)[0]),
        (check_missing, np.nansum),
    ],
)
def test_that_test_catches_a_function_that_reads_nothing(monkeypatch, check, function):
    value = np.array([[1.5, 250.0], [0.25, 3.0]])
    monkeypatch.setitem(FUNCTIONS, "careless", lambda x: function(x))
    monkeypatch.setitem(CALLS, "careless", {"x": value})
    with pytest.raises((AssertionError, pytest.fail.Exception, IndexError, ValueError)):
        check("careless", ("x",), value)
