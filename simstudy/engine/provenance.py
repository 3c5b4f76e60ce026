"""The provenance of a plan: settings, scenario values and fingerprints of code."""

import inspect
import itertools
import json
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from simstudy.design import Scenario
from simstudy.design.plan import Plan, WorkUnit, base_scenario, method_of
from simstudy.engine.columns import DERIVED, VECTOR
from simstudy.engine.methods import EachReplicate
from simstudy.errors import StudyError
from simstudy.provenance import fingerprint
from simstudy.provenance.contents import cells_of, definition_of, hash_of
from simstudy.provenance.fingerprint import CodeUse, Fingerprint, Key, trace
from simstudy.provenance.modules import ENTRY_MODULES, forget_modules, library
from simstudy.provenance.policy import BY_TEXT
from simstudy.provenance.scenario_id import parts_of, short_hash, typed
from simstudy.provenance.streams import Streams
from simstudy.store.arrow_schema import SCENARIO
from simstudy.store.provenance import OWN_VALUES, Provenance

LAYOUT = 5  # version of the stored rows: add 1 if the same columns are stored differently
FILTERS = "warnings that are errors"  # entry of a fingerprint
PACKAGE = Path(__file__).parents[1]

# files of the package that handle columns on their way to the store
ENGINE_SOURCES = ("engine/*.py", "store/*.py", "validation.py", "places.py")

# names in code that may read any field of a scenario
ALL_FIELD_READERS = frozenset({"asdict", "astuple", "fields", "vars", "__dict__"})

Kind = tuple[type, ...]  # the classes of a scenario and of its parts, which determine its code


@dataclass(frozen=True)
class LoadedCode:
    """The code that workers import themselves, in the version that this process has loaded.

    Code of a script or notebook is sent to the workers, and needs no comparison.

    Parameters
    ----------
    names
        Modules and names of the definitions and constants that the study uses.
    entries
        Fingerprints of these, by module and name.
    sent
        Hash of the code that is sent, so that workers of an earlier run with other code are not
        reused.
    libraries
        Version of each library that the code imports, by name.
    """

    names: tuple[Key, ...] = ()
    entries: Mapping[str, frozenset[str]] = field(default_factory=dict)
    sent: str = ""
    libraries: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """One hash of all of it."""
        entries = {name: sorted(texts) for name, texts in self.entries.items()}
        return short_hash(json.dumps([entries, self.libraries, self.sent], sort_keys=True), 32)

    def differences(self) -> list[str]:
        """List, in a worker, what this process has loaded in another version, as text."""
        here_loaded = {**_by_name([fingerprint.trace_names(self.names)]), **_own_sources()}
        edited = [
            f"{name} has changed"
            for name, texts in self.entries.items()
            if name in here_loaded and not texts <= here_loaded[name]
        ]
        here = dict(known for name in self.libraries for known in library(name).items())
        return edited + [
            f"{name} was {version} and is {here.get(name)}"
            for name, version in self.libraries.items()
            if here.get(name) != version
        ]


def _by_name(traces: Iterable[CodeUse]) -> dict[str, frozenset[str]]:
    entries: dict[str, frozenset[str]] = {}
    for traced in traces:
        for key, texts in traced.entries.items():
            name = ".".join(filter(None, key))
            entries[name] = entries.get(name, frozenset()) | texts
    return entries


@dataclass(frozen=True)
class RunProvenance:
    """The provenance of a run's blocks, and the code that workers must have.

    Parameters
    ----------
    of_blocks
        Provenance that is stored with the blocks.
    roots
        The objects whose code counts, for each kind of scenario and each method.
    traces
        Traces of their code.
    by_part
        Fingerprint of each scenario class and each method, by its name.
    unread
        Factors with several levels that no code reads.
    alike
        Methods with the same code and the same values, under several names.
    """

    of_blocks: Provenance
    roots: tuple[tuple[Any, ...], ...] = ()
    traces: tuple[CodeUse, ...] = ()
    by_part: Mapping[str, Fingerprint] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()

    @cached_property
    def expected(self) -> LoadedCode:
        """The code that workers must have loaded."""
        names = dict.fromkeys(key for traced in self.traces for key in traced.names)
        imported = tuple(key for key in names if key.module not in ENTRY_MODULES)
        fingerprints = [traced.fingerprint for traced in self.traces]
        sent = short_hash(json.dumps(fingerprints, sort_keys=True))
        texts = itertools.chain.from_iterable(each.items() for each in fingerprints)
        libraries = {name: text for name, text in texts if library(name) == {name: text}}
        entries = {**_own_sources(), **_by_name(self.traces)}
        return LoadedCode(imported, entries, sent, dict(sorted(libraries.items())))

    def note_changes(self) -> None:
        """Let values that a run has changed in this process count as they did before it."""
        fingerprint.note_changes_by_run(self.roots, self.traces)


def compute_provenance(plan: Plan) -> RunProvenance:
    """Compute the provenance of a plan's blocks."""
    forget_modules()
    plan = plan.work_units
    kinds = _by_kind(map(base_scenario, plan.scenarios))
    methods = _methods_of(plan)
    derived = [(d.function,) for d in plan.derived if d.name in plan.stored_derived]
    others = _checked_traces([*methods.values(), *derived])
    of_methods, of_derived = others[: len(methods)], others[len(methods) :]
    each = list(zip(methods, methods.values(), of_methods, strict=True))
    by_method = {name: _with_values(parts, traced) for name, parts, traced in each}
    properties = {
        name: _properties_read(kinds, parts, (traced, *of_derived)) for name, parts, traced in each
    } or {"": _properties_read(kinds, (), of_derived)}
    pairs = list(itertools.product(kinds, dict.fromkeys(properties.values())))
    roots = [(*kinds[kind], Streams, *read) for kind, read in pairs]
    of_kinds = _checked_traces(roots)
    by_kind = dict(zip(pairs, of_kinds, strict=True))
    firsts = {kind: by_kind[kind, read] for kind, read in reversed(pairs)}
    by_part = {kind[0].__name__: firsts[kind].fingerprint for kind in kinds}
    by_part |= {name: traced.fingerprint for name, _, traced in each}
    traces = (*of_kinds, *others)
    words = {word for traced in traces for word in traced.words}
    functions = filter(callable, itertools.chain(*methods.values()))
    derived_code = map(_hash_of_trace, of_derived)
    made = {VECTOR + name: "#stored" for name in plan.stored_vectors}
    made |= {DERIVED + d: code for d, code in zip(plan.stored_derived, derived_code, strict=True)}
    return RunProvenance(
        Provenance(
            _settings(plan),
            _values_of(plan, kinds, firsts),
            _codes(plan, kinds, by_kind, by_method, properties, made),
        ),
        (*roots, *methods.values(), *derived),
        traces,
        by_part,
        tuple(_unread(plan, kinds, words, functions)),
        tuple(_alike(each)),
    )


def _properties_read(
    kinds: Iterable[Kind], parts: Iterable[Any], traces: Iterable[CodeUse]
) -> tuple[str, ...]:
    """Name the properties of scenarios that a method reads; its scenario's code may read others.

    Blocks do not depend on properties that only measures read.
    """
    words = {word for traced in traces for word in traced.words}
    for function in filter(callable, parts):
        words |= inspect.signature(function).parameters.keys()
    classes = {base for kind in kinds for part in kind for base in part.__mro__}
    members = [member for base in classes for member in vars(base).items()]
    names = {name for name, value in members if isinstance(value, property | cached_property)}
    return tuple(sorted(names & words if BY_TEXT.isdisjoint(words) else names))


def _alike(methods: Iterable[tuple[str, tuple[Any, ...], CodeUse]]) -> list[str]:
    """The names of methods that are different functions with the same code and values."""
    names: dict[str, dict[str, tuple[Any, ...]]] = {}
    for name, parts, traced in methods:
        functions = tuple(id(part) for part in parts if callable(part))
        names.setdefault(repr((traced.tokens, traced.fingerprint)), {})[name] = functions
    same = (found for found in names.values() if len({*found.values()}) > 1)
    return [name for found in same for name in found]


def _unread(
    plan: Plan,
    kinds: Mapping[Kind, Sequence[Scenario]],
    words: Collection[str],
    functions: Iterable[Callable[..., Any]],
) -> Iterator[str]:
    """Yield factors with several levels that neither code of the study nor a measure reads."""
    read = {*words} | {name for names in plan.reads.values() for name in names}
    functions = (*functions, *(derived.function for derived in plan.derived))
    parameters = {name for each in functions for name in inspect.signature(each).parameters}
    if not read.isdisjoint(ALL_FIELD_READERS) or SCENARIO in parameters:
        return
    read |= parameters
    for kind, alike in kinds.items():
        members = [member for base in kind[0].__mro__ for member in vars(base).items()]
        for name, member in members:  # measures may read properties
            function = getattr(member, "fget", member if name == "exact" else None)
            if isinstance(function, FunctionType):
                read |= {*definition_of(function.__code__).words}
        for factor in fields(kind[0]):
            levels = {repr(getattr(scenario, factor.name)) for scenario in alike}
            if len(levels) > 1 and factor.name not in read:
                yield factor.name


def _by_kind(scenarios: Iterable[Scenario]) -> dict[Kind, list[Scenario]]:
    """Group scenarios by their classes and those of their parts: one kind has the same code."""
    kinds: dict[Kind, list[Scenario]] = {}
    for scenario in {id(scenario): scenario for scenario in scenarios}.values():
        kinds.setdefault(tuple(map(type, parts_of(scenario))), []).append(scenario)
    return kinds


def _methods_of(plan: Plan) -> dict[str, tuple[Any, ...]]:
    """The objects to fingerprint for each method, by name."""
    methods = (each.method for each in plan.scenarios if isinstance(each, WorkUnit))
    return {method.name: _used_by(method.function) for method in methods}


def _used_by(function: Any) -> tuple[Any, ...]:
    """The objects to fingerprint for a method; for `each_replicate`, the wrapped function."""
    if isinstance(function, EachReplicate):
        return ("each replicate", *_with_options(function.analyse), function.returns)
    return _with_options(function)


def _with_options(function: Any) -> tuple[Any, ...]:
    """A function, and the plain values and settings that it holds as a closure."""
    held = cells_of(function).values() if isinstance(function, FunctionType) else ()
    return (function, *filter(_is_option, held))


def _is_option(held: object) -> bool:
    """Whether a value is plain, or the settings of a study: no table that code may fill."""
    is_settings = is_dataclass(held) and not isinstance(held, type)
    return is_settings or isinstance(held, int | float | str | tuple | np.generic)


def _codes(
    plan: Plan,
    kinds: Mapping[Kind, Sequence[Scenario]],
    by_kind: Mapping[tuple[Kind, tuple[str, ...]], CodeUse],
    by_method: Mapping[str, Fingerprint],
    properties: Mapping[str, tuple[str, ...]],
    made: Fingerprint,
) -> dict[str, Fingerprint]:
    """Make the fingerprints of scenarios and their methods, by key."""
    known = {
        (kind, method): _merged(by_kind[kind, read].fingerprint, by_method.get(method, {})) | made
        for kind, (method, read) in itertools.product(kinds, properties.items())
    }
    filters = _filters_of(plan)
    with_filters = {at: code | filters for at, code in known.items()} if filters else known
    kind_at = {id(scenario): kind for kind, alike in kinds.items() for scenario in alike}
    return {
        key: (with_filters if _is_one_by_one(drawn) else known)[
            kind_at[id(base_scenario(drawn))], method_of(drawn)
        ]
        for key, drawn in plan.keys.items()
    }


def _with_values(parts: Sequence[Any], traced: CodeUse) -> Fingerprint:
    """Add the values that a method holds apart from functions, as a hash of their content."""
    held = [
        token
        for part, token in zip(parts, traced.tokens, strict=True)
        if not isinstance(part, FunctionType)
    ]
    return traced.fingerprint | ({OWN_VALUES: "#" + short_hash("|".join(held))} if held else {})


def _merged(scenarios: Fingerprint, methods: Fingerprint) -> Fingerprint:
    """Merge fingerprints; two entries that differ are hashed together."""
    differ = {
        name: "#" + short_hash(scenarios[name] + text)
        for name, text in methods.items()
        if scenarios.get(name, text) != text
    }
    return {**scenarios, **methods, **differ}


def _values_of(
    plan: Plan, kinds: Mapping[Kind, Sequence[Scenario]], traces: Mapping[Kind, CodeUse]
) -> dict[str, str]:
    """Describe the scenarios by key: values as text, and a hash of all content."""
    values = {
        id(scenario): f"{typed(scenario)} #{short_hash(text, 8)}"
        for kind, scenarios in kinds.items()
        for scenario, text in zip(scenarios, traces[kind].tokens, strict=False)
    }
    return {
        key: (f"method {method_of(drawn)} of " if method_of(drawn) else "")
        + values[id(base_scenario(drawn))]
        for key, drawn in plan.keys.items()
    }


def _settings(plan: Plan) -> dict[str, Any]:
    return {
        "study": plan.name,
        "seed": plan.seed,
        "block_size": plan.block_size,
        "common": list(plan.rules.common_random_numbers),
        "axes": {axis: list(labels) for axis, labels in plan.axes.items()},
        "may_be_missing": sorted(plan.rules.may_be_missing),
        "layout": LAYOUT,
    }


def _filters_of(plan: Plan) -> Fingerprint:
    """The warnings that are failures, as an entry of a fingerprint; empty if there are none."""
    texts = [
        f"{each.action}::{each.category.__module__}.{each.category.__qualname__}::0"
        for each in plan.warning_filters
    ]
    return {FILTERS: "#" + short_hash("|".join(texts))} if texts else {}


def _is_one_by_one(unit: Scenario) -> bool:
    """Whether replicates are drawn or analysed one by one, so that filters of warnings hold."""
    is_method = isinstance(unit, WorkUnit) and isinstance(unit.method.function, EachReplicate)
    return is_method or hasattr(base_scenario(unit), "draw_one")


def code_hashes(functions: Iterable[Any]) -> list[str]:
    """Hash the code of each function or measure, with the values that it uses."""
    return [_hash_of_trace(each) for each in _checked_traces([(part,) for part in functions])]


def _hash_of_trace(traced: CodeUse) -> str:
    return "#" + short_hash(json.dumps([traced.tokens, traced.fingerprint], sort_keys=True))


def _own_sources() -> dict[str, frozenset[str]]:
    """Hash the package's own code that writes columns to the store, by file."""
    return {
        str(path.relative_to(PACKAGE)): frozenset({hash_of(path.read_bytes())})
        for pattern in ENGINE_SOURCES
        for path in sorted(PACKAGE.glob(pattern))
    }


def _checked_traces(roots: Sequence[tuple[Any, ...]]) -> list[CodeUse]:
    """CodeUse code, and make sure that no outdated machine code or cached results are used."""
    traces = trace(roots)
    drop_stale([part for traced in traces for part in traced.remembering])
    return traces


_made_of: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()


def drop_stale(functions: Iterable[Any]) -> None:
    """Clear caches, and compile again, where helpers or constants changed in this process.

    Parameters
    ----------
    functions
        Functions with a cache, and numba functions. Functions of simstudy are skipped: what numba
        compiles there uses its own file alone.

    Raises
    ------
    StudyError
        For a changed function that cannot be compiled again.
    """
    theirs = {id(f): f for f in functions if not str(f.__module__).startswith("simstudy.")}
    known = zip(theirs.values(), trace([(f,) for f in theirs.values()]), strict=True)
    callees_first = sorted(known, key=lambda each: len(each[1].remembering))
    for function, traced in callees_first:
        digest, before = _hash_of_trace(traced), _made_of.get(function)
        _made_of[function] = digest
        if digest != before and hasattr(function, "cache_clear"):
            function.cache_clear()
        elif before not in (None, digest):
            if not hasattr(function, "recompile"):
                raise StudyError(
                    f"{function.__module__}.{function.__name__} is a compiled function whose "
                    "source has changed in this process, so its numbers would be those of the old "
                    "code. Start again in a new process (a notebook: restart the kernel)."
                )
            function.recompile()
