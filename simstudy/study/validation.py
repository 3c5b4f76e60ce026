"""Checks of a study's declarations."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from simstudy.claims import Claim
from simstudy.design import Scenario, check_distinct
from simstudy.engine.workers import check_block_seconds
from simstudy.errors import ConfigError, StudyError, in_one_line, nearest
from simstudy.measures import Measure
from simstudy.store.arrow_schema import CONVERGED, ERROR, RESERVED, WARNING
from simstudy.validation import check_whole, is_whole

if TYPE_CHECKING:
    from simstudy.study.spec import StudySpec

OWN_NAMES = (*RESERVED, ERROR, WARNING, CONVERGED, "block", "address", "measure", "data")
SUMMARY = (
    *("estimate", "mcse", "lower", "upper", "exact", "n_rep", "n_failed", "n_given", "reason"),
    *("variance_reduction", "n_effective", "remark"),
)
MARKS = set("[],/")  # in names of columns and addresses
LONGEST = 60  # letters of a name
ON_FAILURE = ("record", "abort", "impute_worst")


# ---------------------------------------------------------------- names and policies
def check_study_name(name: Any) -> None:
    """Refuse a name that is not a folder name."""
    if not isinstance(name, str):
        raise StudyError(
            f"the study's name is {in_one_line(repr(name))}, and a folder is named by it: give a "
            "text of letters, digits, '-' and '_' first, and scenarios after it."
        )
    if not name or not all(letter.isalnum() or letter in "-_" for letter in name):
        raise StudyError(f"study name {name!r} names a folder: use letters, digits, '-' and '_'.")


def check_mappings(**declared: Any) -> None:
    """Refuse declarations that are not mappings by name."""
    for what, value in declared.items():
        if not isinstance(value, Mapping):
            raise StudyError(
                f"{what}={value!r} has no names: give a dict, with each under the name that tables "
                "are to have for it."
            )


def check_names(**declared: Any) -> None:
    """Refuse a value that is not a collection of names; a single text is not one."""
    for what, value in declared.items():
        are_names = isinstance(value, Collection) and not isinstance(value, str | bytes)
        if not are_names or not all(isinstance(name, str) for name in value):
            near = f"({value!r},)" if isinstance(value, str) else "('x',)"
            raise StudyError(
                f"{what}={value!r} is not a collection of names: give a tuple of texts, such as "
                f"{what}={near}."
            )


def check_functions(**declared: Mapping[Any, Any]) -> None:
    """Refuse figures and tables that are not functions."""
    for what, functions in declared.items():
        for name, function in functions.items():
            if not isinstance(name, str) or not callable(function):
                raise StudyError(
                    f"{what}[{name!r}] is {function!r}: give under a name a function of the "
                    "result, which returns it."
                )


def check_block_size(size: Any) -> None:
    """Check the block size."""
    text = "of replicates in a block"
    check_whole("block_size", size, least=1, counts=text, usual=1000, refusal=StudyError)


def check_group_size(size: Any, block_size: int) -> None:
    """Check the group size, which must divide the block size."""
    text = "of replicates that depend on each other, 1 where none does"
    check_whole("group_size", size, least=1, counts=text, refusal=StudyError)
    if block_size % size:
        near = max(block_size // size, 1) * size
        raise StudyError(
            f"block_size={block_size} with group_size={size}: a group would lie in two blocks, "
            f"which are drawn apart; nearest that works: block_size={near}"
        )


def check_common(common: Sequence[str], factors: Collection[str]) -> None:
    """Refuse common random numbers over an unknown factor."""
    check_names(common=common)
    for name in common:
        if name not in factors:
            raise StudyError(
                f"common names {name!r}, which is not a factor of the scenarios, so nothing would "
                f"share random numbers for it; {nearest(name, factors)}"
            )


def check_value_labels(value_labels: Mapping[str, Any], factors: Collection[str]) -> None:
    """Check `value_labels`: texts for values of factors."""
    for name, words in value_labels.items():
        if name not in factors:
            raise StudyError(
                f"value_labels names {name!r}, which is not a factor of the scenarios, so no table "
                f"would show its words; {nearest(name, factors)}"
            )
        if not isinstance(words, Mapping) or not all(isinstance(w, str) for w in words.values()):
            raise StudyError(
                f"value_labels[{name!r}] is {words!r}: tables show a text in place of a value, so "
                'give what each value means, such as {0: "∞"}.'
            )


def check_labels(labels: Mapping[str, Any]) -> None:
    """Check that labels are texts."""
    for name, label in labels.items():
        if not isinstance(label, str):
            raise StudyError(
                f"labels[{name!r}] is {label!r}: tables and figures show a text in the place of a "
                'name, such as {"null_share": "share of true nulls"}.'
            )


def check_axes(axes: Mapping[str, Sequence[str]], factors: Collection[str]) -> None:
    """Check axes: not a factor's name, and labels that can be written."""
    for axis, names in axes.items():
        if not isinstance(axis, str) or not axis.strip() or axis in (*OWN_NAMES, *SUMMARY):
            raise StudyError(
                f"an axis is named {axis!r}, which is the engine's own in tables, or no name: give "
                "it another."
            )
        if not len(names) or len(set(names)) < len(names):
            raise StudyError(
                f"axis {axis!r} has labels {list(names)}: name each of its positions once, at "
                "least one."
            )
    both = sorted(set(factors) & set(axes))
    if both:
        raise StudyError(
            f"{both[0]!r} is a factor of the scenarios and an axis, and the summary has one "
            "column for it: rename one of the two."
        )
    labels = [label for axis in axes.values() for label in axis]
    if any(set(label) & set("[],") for label in labels):
        raise StudyError(f"axis labels {labels} name columns: leave out brackets and commas.")


def check_factors(factors: Collection[str], measures: Sequence[Measure]) -> None:
    """Refuse a factor whose name a table uses for another column."""
    own = {axis for measure in measures for axis in measure.axes}
    for name in sorted(factors):
        if name in (*RESERVED, ERROR, WARNING, CONVERGED, "block", "address", "measure", *SUMMARY):
            raise StudyError(
                f"a factor is named {name!r}, which is the name of a column that tables of "
                "replicates, failures or measures have anyway: rename the scenarios' field."
            )
        if name in own:
            raise StudyError(
                f"{name!r} is a factor of the scenarios and an axis of a measure, and the summary "
                "has one column for it: rename one of the two."
            )


def check_across_replicates(names: Sequence[str], methods: Mapping[str, Any]) -> None:
    """Check `across_replicates`: a tuple of names of methods."""
    check_names(across_replicates=names)
    for name in names:
        if name not in methods:
            raise StudyError(
                f"across_replicates names no method {name!r}; {nearest(name, methods)}"
            )


def factor_names_of(scenarios: Sequence[Scenario]) -> set[str]:
    """The names of the factors of all scenarios."""
    kinds = {type(scenario) for scenario in scenarios}
    return {field.name for kind in kinds for field in fields(kind)}


def check_policy(on_failure: str, worst: Mapping[str, float]) -> None:
    """Check the policy for failures, and its worst values."""
    if on_failure not in ON_FAILURE:
        raise StudyError(f"on_failure={on_failure!r}: say {' or '.join(ON_FAILURE)}.")
    if bool(worst) != (on_failure == "impute_worst"):
        raise StudyError(
            f"on_failure={on_failure!r} with worst={dict(worst)}: 'impute_worst' needs the worst "
            "value of each column that measures read, and nothing else does."
        )


def check_max_failed(share: Any) -> None:
    """Check the limit of failures, a proportion of the replicates."""
    is_share = isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1
    if share is not None and not is_share:
        raise StudyError(
            f"max_failed={share!r}: say which share of the replicates may fail before the run "
            "stops, from 0 to 1, such as 0.05."
        )


def check_measures(measures: Sequence[Measure], vectors: Collection[str]) -> None:
    """Refuse duplicate measures, and measures of vectors."""
    names = [measure.name for measure in measures]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise StudyError(f"two measures are named {twice[0]!r}: give one of them name=...")
    for measure in measures:
        for name in set(measure.reads) & set(vectors):
            raise StudyError(
                f"measure {measure.name!r} reads {name!r}, a vector with many values in each "
                "replicate: name what it comes to in derived={...}, and read that."
            )


# ---------------------------------------------------------------- methods
def check_claim_names(names: Sequence[str]) -> None:
    """Refuse duplicate claims."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise StudyError(
            f"two claims are named {twice[0]!r}: tables, pages and tests would take one for the "
            "other. Name each as no other is."
        )


def check_methods(methods: Mapping[Any, Any], axis: str, axes: Collection[str]) -> None:
    """Check methods: valid names, callable, and an axis of methods given once."""
    for name, function in methods.items():
        _check_method_name(name)
        if not callable(function):
            raise StudyError(
                f"method {name!r} is {function!r}, which cannot be called: give a function whose "
                "parameters name what it needs, or each_replicate(function)."
            )
    if methods and axis in axes:
        raise StudyError(
            f"axes declares {axis!r}, the axis that methods make themselves, so columns would "
            "have it twice: leave it out of axes, or give the methods' another methods_axis=..."
        )


def _check_method_name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise StudyError(
            f"a method is named {name!r}, and its replicates are found by its name: give it one "
            "of letters, such as 'welch'."
        )
    if name in OWN_NAMES or set(name) & MARKS or name != name.strip():
        raise StudyError(
            f"a method is named {name!r}, which is the engine's own or has a mark of its own in "
            f"it (one of {' '.join(sorted(MARKS))}, or spaces around it): rename it."
        )


def check_drawing(scenarios: Sequence[Scenario], methods: Mapping[str, Any]) -> None:
    """Check that scenarios have `draw` if there are methods, and `simulate` otherwise."""
    needed = "draw" if methods else "simulate"
    for kind in dict.fromkeys(map(type, scenarios)):
        if not callable(getattr(kind, needed, None)):
            raise StudyError(
                f"{kind.__name__} has no {needed}(self, streams, n_rep), and methods= names "
                f"{', '.join(methods) or 'none'}: where a study has methods its scenarios draw the "
                "data that these analyse, and where it has none they simulate columns."
            )


# ---------------------------------------------------------------- vectors, derived columns
def check_vectors(vectors: Mapping[Any, Any], scenarios: Sequence[Scenario]) -> None:
    """Check vectors: unused names, and lengths known for every scenario."""
    for name, size in vectors.items():
        _check_own_name("vector", name)
        for scenario in scenarios:
            length = _length(name, size, scenario)
            if not is_whole(length) or length < 1:
                raise StudyError(
                    f"vector {name!r} has length {length!r} in {scenario!r}: say a whole number "
                    "at least 1, or the name of a field or property of the scenario that is one."
                )


def _length(name: str, value: Any, scenario: Scenario) -> Any:
    if not isinstance(value, str):
        return value
    if not hasattr(scenario, value):
        known = [each for each in dir(scenario) if not each.startswith("_")]
        raise StudyError(
            f"vector {name!r} is to be as long as {value!r} says, and {type(scenario).__name__} "
            f"has no such field or property; {nearest(value, known)}"
        )
    return getattr(scenario, value)


def check_derived(derived: Mapping[Any, Any], names: Collection[str]) -> None:
    """Check derived columns: unused names, and functions."""
    for name, function in derived.items():
        _check_own_name("derived column", name)
        if name in names:
            raise StudyError(
                f"derived column {name!r} has the name of a factor, an axis or a vector, so what "
                "reads it could mean either: rename it."
            )
        if not callable(function):
            raise StudyError(
                f"derived column {name!r} is {function!r}: give a function whose parameters name "
                "the columns and factors that it is made of."
            )


def _check_own_name(what: str, name: Any) -> None:
    if name in OWN_NAMES:
        raise StudyError(f"{what} {name!r} has a name that is the engine's own: give it another.")
    if not isinstance(name, str) or not name.isidentifier() or len(name) > LONGEST:
        raise StudyError(
            f"{what} {str(name)[:LONGEST]!r}: functions ask for it by that name, and files "
            f"have it: give it the name of a variable, of at most {LONGEST} letters."
        )


# ---------------------------------------------------------------- numbers
def check_whole_groups(group_size: int, n_rep: int) -> None:
    """Refuse a number of replicates that is not a multiple of the group size."""
    if n_rep % group_size:
        near = max(1, round(n_rep / group_size)) * group_size
        raise ConfigError(
            f"n_rep={n_rep}: the study's replicates come in groups of {group_size}, which are "
            f"drawn and counted whole; nearest that works: n_rep={near}"
        )


def check_n_rep(n_rep: Any) -> None:
    """Check `n_rep`, a whole number of at least 1."""
    check_whole("n_rep", n_rep, least=1, usual=1000)


def check_pilot(n_rep: Any) -> None:
    """Check `pilot`, a whole number of at least 2."""
    check_whole("pilot", n_rep, least=2, counts="of replicates in each scenario")


def check_seed(seed: Any) -> None:
    """Check `seed`, a whole number of at least 0."""
    check_whole("seed", seed, least=0, counts="that names a sequence of random numbers", usual=1)


# ---------------------------------------------------------------- lists
def check_ordered(name: str, value: Any) -> None:
    """Refuse sets, whose order differs in every process."""
    if isinstance(value, Set):
        raise StudyError(
            f"{name} is a set, which has another order in each run: give a list or a tuple."
        )


def check_lists(**declared: tuple[Any, type, str]) -> None:
    """Refuse a value that is not a list of items of a type.

    Parameters
    ----------
    **declared
        What was given, of which type all of it is to be, and what one writes for one.
    """
    for what, (value, kind, such_as) in declared.items():
        if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping):
            text = in_one_line(repr(value))
            raise StudyError(f"{what} is {text}, and no list: give {what}=[{such_as}], say.")
        check_ordered(what, value)
        for part in value:
            if not isinstance(part, kind) or isinstance(part, type):
                made = f", or call it, {part.__name__}(...)" if hasattr(part, "__name__") else ""
                raise StudyError(
                    f"{what} has {in_one_line(repr(part))} in it, which is not a {kind.__name__}: "
                    f"give a list such as [{such_as}]{made}."
                )


# ---------------------------------------------------------------- all of it
def check_declared(study: "StudySpec") -> None:
    """Check a study's declaration.

    Raises
    ------
    StudyError
        In one line, for the first thing that is wrong.
    """
    check_study_name(study.name)
    _check_kinds(study)
    factors = factor_names_of(study.scenarios)
    check_methods(study.methods, study.methods_axis, study.axes)
    check_across_replicates(study.across_replicates, study.methods)
    check_axes(study.all_axes, factors)
    check_factors(factors, study.measures)
    check_block_size(study.block_size)
    check_n_rep(study.n_rep)
    check_group_size(study.group_size, study.block_size)
    check_whole_groups(study.group_size, study.n_rep)
    check_policy(study.on_failure, study.worst)
    check_block_seconds(study.block_seconds)
    check_max_failed(study.max_failed)
    check_names(may_be_missing=study.may_be_missing, worst=study.worst)
    if not study.scenarios:
        raise StudyError(f"study {study.name!r} has no scenarios: there is nothing to simulate.")
    check_distinct(study.scenarios)
    check_common(study.common, factors)
    check_value_labels(study.value_labels, factors)
    check_labels(study.labels)
    check_drawing(study.scenarios, study.methods)
    check_vectors(study.vectors, study.scenarios)
    check_derived(study.derived, {*study.vectors, *study.all_axes, *factors})
    check_measures(study.measures, study.vectors)
    study.bound_measures(1)
    check_claim_names([claim.name for claim in study.claims])


def _check_kinds(study: "StudySpec") -> None:
    """Check the types of all declarations."""
    check_mappings(
        methods=study.methods, vectors=study.vectors, derived=study.derived, axes=study.axes,
        figures=study.figures, tables=study.tables, value_labels=study.value_labels,
        labels=study.labels, worst=study.worst,
    )  # fmt: skip
    for axis, labels in study.axes.items():
        check_names(**{f"axes[{axis!r}]": labels})
        check_ordered(f"axes[{axis!r}]", labels)
    check_lists(
        scenarios=(study.scenarios, Scenario, "TwoSample(20, 5)"),
        measures=(study.measures, Measure, "mean('x')"),
        claims=(study.claims, Claim, "Claim(...)"),
    )
    check_functions(figures=study.figures, tables=study.tables)
