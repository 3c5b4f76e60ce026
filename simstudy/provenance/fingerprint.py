"""The fingerprint of a scenario: loaded code, the values it uses, and library versions.

Definitions are followed through the names that their code reads, to the objects bound to these
names now. So it does not matter how a name came to be bound: by an import under another name, by
a condition, a loop, a decorator, a table that another module filled, or a notebook's cell. What
cannot be followed (statements that change something elsewhere, names looked up by text, machine
code) counts with the whole source of its module, and what has neither a source nor a content counts
as changed. `docs/guarantees_detail.md` says what counts and what does not.
"""

import contextvars
import ctypes
import functools
import os
import re
import secrets
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from simstudy.provenance import bytecode, modules, policy, values
from simstudy.provenance.bytecode import Code, Import, module_of, read_code, unchecked
from simstudy.provenance.modules import is_kernel, is_project, is_standard, source_file
from simstudy.provenance.policy import is_ours, is_passed_over
from simstudy.provenance.values import hash_of

Fingerprint = dict[str, str]
"""Definition, constant, module or library -> hash or version."""

UNKNOWN = -1  # number of entries that nobody can say the content of
DEEPEST = 40  # values within values that are followed at once; what lies deeper is an entry
A_NAME = re.compile(r"[A-Za-z_][\w.]*")
WORD = re.compile(r"[A-Za-z_]\w*")

CACHED = type(functools.cache(lambda: None))
BUILT_IN = (
    *map(type, (len, str.join, object.__init__, "".__str__, vars(dict)["fromkeys"])),
    *(types.GetSetDescriptorType, types.MemberDescriptorType),
)
CODE = (FunctionType, types.BuiltinFunctionType, types.MethodType, type, functools.partial, CACHED)
WRAPPERS: dict[type, tuple[str, ...]] = {
    functools.partial: ("func", "args", "keywords"),
    functools.partialmethod: ("func", "args", "keywords"),
    functools.cached_property: ("func",),
    functools.singledispatchmethod: ("dispatcher", "func"),
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    CACHED: ("__wrapped__",),
    types.MethodType: ("__func__", "__self__"),
}
"""What stands for functions, with the attributes that hold them."""


class Use(NamedTuple):
    """A reference from one definition to another.

    Parameters
    ----------
    kind
        `entry` for another entry; `exact` for a method of that name, which counts only where code
        that counts names it; `code` for a code object, `text` for a text; `compiled` and `cached`
        for objects that are to be told when something changes; `generator` for a source of random
        numbers other than `streams`.
    name, number
        Of the entry, the code's digest, or the text; the object's `id` where names are not unique.
    """

    kind: str
    name: str
    number: int = 0


@dataclass
class Entry:
    """An entry of a fingerprint (definition, constant, module or library) and its references."""

    text: str = ""
    uses: set[Use] = field(default_factory=set)


@dataclass(frozen=True)
class Trace:
    """A fingerprint with what was found on the way.

    Attributes
    ----------
    found
        The fingerprint.
    unfollowed
        What counts as changed since it has neither source nor content, with what it is.
    compiled
        numba's dispatchers that are used, each after those that it calls.
    cached
        Functions that are used and keep what they returned.
    tokens
        The text of each part that was asked for, with its values.
    generators
        Names through which the project's code reaches NumPy's or Python's generators, with the
        module, such as `np.random.default_rng in trial`.
    """

    found: Fingerprint
    unfollowed: Mapping[str, str]
    compiled: tuple[Any, ...]
    cached: tuple[Any, ...]
    tokens: tuple[str, ...]
    generators: tuple[str, ...] = ()


def fingerprint(parts: Iterable[object]) -> Fingerprint:
    """Fingerprint the code of `parts` (classes, functions, dataclass instances)."""
    return trace([parts])[0].found


def trace(roots: Iterable[Iterable[object]], *, without_main: bool = False) -> list[Trace]:
    """Fingerprint several roots; shared definitions are followed once.

    Parameters
    ----------
    without_main
        Leave out what only the process that was started has: the source of its `__main__`.
    """
    graph = Graph()
    return [graph.trace(list(parts), without_main) for parts in roots]


def changes(stored: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """The differences between two fingerprints, as text."""
    names = (name for name in sorted({*stored, *current}) if stored.get(name) != current.get(name))
    return [_change(name, stored.get(name), current.get(name)) for name in names]


def _change(name: str, old: str | None, new: str | None) -> str:
    if old is None:
        return f"{name} is new"
    if new is None:
        return f"{name} is gone"
    return f"{name} has changed" if old.startswith("#") else f"{name} was {old} and is {new}"


# ---------------------------------------------------------------- what runs change themselves
_changed_by_runs: dict[tuple[str, str], list[tuple[str, Mapping[str, str]]]] = {}
"""By an entry and its text now: its text before a run, and the fingerprint then."""


def learn_changes(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Record what a run itself changed among its dependencies: caches, counters.

    It is taken for what it was, as long as nothing else changes it, and nothing else has changed: a
    table that was filled with one constant says nothing of what it would hold with another.
    """
    for name, text in after.items():
        if name in before and before[name] != text:
            known = _changed_by_runs.setdefault((name, text), [])
            if (before[name], before) not in known:
                known.append((before[name], before))


def without_changes_by_runs(fingerprint: Fingerprint) -> Fingerprint:
    """A fingerprint as it was before the runs of this process."""
    moved = {name for name, text in fingerprint.items() if (name, text) in _changed_by_runs}
    still = {name: text for name, text in fingerprint.items() if name not in moved}
    return fingerprint | {name: _before(name, fingerprint[name], still) for name in moved}


def _before(name: str, text: str, still: Fingerprint) -> str:
    """The original text of an entry, if the rest of it is unchanged."""
    seen: set[str] = set()
    while text not in seen:
        seen.add(text)
        for before, beside in _changed_by_runs.get((name, text), ()):
            if all(beside.get(other, said) == said for other, said in still.items()):
                text = before
                break
    return text


# ---------------------------------------------------------------- small questions
def is_code(value: object) -> bool:
    """Whether a value is a function or a class."""
    wraps = python_of(value) is not None or "__wrapped__" in values.attributes(value)
    return wraps or isinstance(value, CODE)


def has_code(value: Any) -> bool:
    """Whether a container holds functions or classes."""
    held = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list | tuple | set | frozenset) and any(map(is_code, held))


def python_of(value: object) -> FunctionType | None:
    """The Python function behind a numba function."""
    if not type(value).__module__.startswith("numba."):
        return None
    dispatcher = getattr(value, "_dispatcher", value)
    found = (getattr(dispatcher, name, None) for name in ("py_func", "_defn", "_pyfunc"))
    return next((held for held in found if isinstance(held, FunctionType)), None)


def _home_of(value: object) -> str:
    """The module that defines a function; for a type checker, that of the function it calls."""
    plain = unchecked(value)
    names = getattr(plain, "__globals__", {})
    return str(names.get("__name__") or getattr(plain, "__module__", "") or "")


def _is_at_its_name(function: FunctionType) -> bool:
    """Whether a function is the value of its name in its module: then the name suffices."""
    name = function.__code__.co_qualname
    found = function.__globals__.get(name)
    return "<" not in name and (unchecked(found) is function or "." in name)


def _is_made(method: object) -> bool:
    """Whether Python generated a method, as for dataclasses."""
    made = getattr(method, "__wrapped__", method)
    if not isinstance(made, FunctionType):
        return False
    is_tuples = module_of(made).startswith(policy.GENERATED_TUPLES)
    return is_tuples or made.__code__.co_qualname.startswith("__create_fn__")


def _read_function(code: CodeType, module: str) -> Code:
    """The normalised code of a loaded function.

    Where an import hook made other code of the source, what the source says: test runners rewrite
    assertions and checkers of types decorate functions; no number depends on that, and workers
    import without it.
    """
    found = read_code(code)
    loader = getattr(sys.modules.get(module), "__loader__", None)
    is_hooked = loader is not None and type(loader) is not SourceFileLoader
    path = source_file(module) if found.annotates or is_hooked else None
    if path is None:
        return found
    return bytecode.bare_function(path.read_bytes(), code, is_loaded=not is_hooked) or found


# ---------------------------------------------------------------- the walk
class Graph:
    """The graph of definitions and references; each definition is visited once."""

    def __init__(self) -> None:
        self.entries: dict[Use, Entry] = {}
        self.unfollowed: dict[str, str] = {}
        self.objects: dict[Use, Any] = {}  # of uses that are objects; compiled callees come first
        self._codes: dict[str, Code] = {}
        self._queue: deque[tuple[Use, Callable[[], str]]] = deque()
        self._uses: set[Use] = set()  # of what is looked at now
        self._known: dict[int, tuple[object, str, set[Use]]] = {}
        self._open: dict[int, object] = {}

    def trace(self, parts: Sequence[object], without_main: bool) -> Trace:
        """The fingerprint of some parts."""
        self._uses = set()
        tokens = tuple(self.token(part, f"{_module_of_part(part)}:") for part in parts)
        uses = self._reached(self._uses, without_main)
        names = {use.name for use in uses}
        objects = {kind: _those(self.objects, kind, uses) for kind in ("compiled", "cached")}
        unfollowed = {name: what for name, what in self.unfollowed.items() if name in names}
        found = without_changes_by_runs(self._found(uses))
        generators = tuple(sorted(use.name for use in uses if use.kind == "generator"))
        return Trace(
            dict(sorted(found.items())), unfollowed, **objects, tokens=tokens, generators=generators
        )

    def _reached(self, uses: set[Use], without_main: bool) -> set[Use]:
        """All entries that are reachable."""
        found: set[Use] = set()
        ahead = set(uses)
        while ahead:
            while ahead:
                self._follow_queue()
                use = ahead.pop()
                if not (without_main and self._is_mains(use)):
                    found.add(use)
                    ahead |= (self.entries[use].uses if use.kind == "entry" else set()) - found
            methods = [use for use in found if use.kind == "exact"]
            if methods and "exact" in self._words(found):
                self._uses = set()
                self.tokens((self.objects[method] for method in methods), methods[0].name)
                ahead = self._uses - found
        return found

    def _is_mains(self, use: Use) -> bool:
        """Whether an entry exists only in the main process."""
        return use.name.startswith("__main__ (") or use.number == UNKNOWN

    def _found(self, uses: Iterable[Use]) -> Fingerprint:
        texts: dict[str, set[str]] = {}
        for use in uses:
            if use.kind == "entry" and self.entries[use].text:
                texts.setdefault(use.name, set()).add(self.entries[use].text)
        found = {name: _joint(several) for name, several in texts.items()}
        found["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
        words = self._words(uses)
        if words & policy.ENVIRONMENT:  # variables that are named anywhere in such code
            named = {part for word in words for part in WORD.findall(word)} & set(os.environ)
            for name in named - set(policy.THREAD_VARIABLES):
                found[f"environment variable {name}"] = hash_of(os.environ[name])
        return found

    def _words(self, uses: Iterable[Use]) -> set[str]:
        """The attributes, global names and strings in code."""
        words = {use.name for use in uses if use.kind == "text"}
        for code in (self._codes[use.name] for use in uses if use.kind == "code"):
            words |= code.attributes | code.strings | {chain[0] for chain in code.chains}
        return words

    # ------------------------------------------------------------ values
    def token(self, value: object, where: str) -> str:
        """A text that identifies a value by content; code in it is followed."""
        if id(value) in self._known:
            _, text, uses = self._known[id(value)]
            self._uses |= uses
            return text
        if type(value) in values.ATOMS:
            if type(value) is str:
                self._uses.add(Use("text", value))
            return values.plain_token(value, str)
        if id(value) in self._open:
            return f"<{type(value).__qualname__} again>"
        if len(self._open) >= DEEPEST:
            return self._put_off(value, where)
        self._open[id(value)] = value
        outer, self._uses = self._uses, set()
        try:
            text = values.plain_token(value, lambda inner: self.token(inner, where))
        except values.UnknownValueError:
            text = self._follow(value, where)
        finally:
            del self._open[id(value)]
            uses, self._uses = self._uses, outer
            outer |= uses
        self._known[id(value)] = value, text, uses
        return text

    def tokens(self, parts: Iterable[object], where: str, between: str = ",") -> str:
        """The tokens of several values."""
        return between.join([self.token(part, where) for part in parts])

    def _put_off(self, value: object, where: str) -> str:
        """Make a deeply nested value an entry of its own, which limits the recursion depth."""
        make = lambda: hash_of(self.token(value, where))  # noqa: E731
        self._enter_later(f"{where.strip(':')} (deep inside)", make, id(value))
        return "<deep inside>"

    # ------------------------------------------------------------ entries
    def _enter(self, name: str, make: Callable[[], str], number: int = 0) -> str:
        """Make an entry now; returns its token."""
        use = Use("entry", name, number)
        if use not in self.entries:
            entry = self.entries[use] = Entry()
            outer, self._uses = self._uses, entry.uses
            entry.text = make()
            self._uses = outer
        self._uses.add(use)
        return self.entries[use].text

    def _enter_later(self, name: str, make: Callable[[], str], number: int = 0) -> None:
        """Make an entry after the current one, which limits the recursion depth."""
        use = Use("entry", name, number)
        if use not in self.entries:
            self._queue.append((use, make))
        self._uses.add(use)

    def _follow_queue(self) -> None:
        while self._queue:
            use, make = self._queue.popleft()
            self._enter(use.name, make, use.number)

    def _takes_part(self, module: str) -> None:
        """Count the effects of importing a module, since something of it is used."""
        if is_project(module) and not is_passed_over(module) and not is_ours(module):
            self._enter_later(f"{module} (its imports)", lambda: self._import_effects(module))

    def _library(self, module: str) -> None:
        """Count a library by name, version and settings."""
        known = None if is_project(module) else modules.library(module)
        if known:
            self._enter_later(known[0], lambda: known[1])
        top = module.split(".")[0]
        if top in policy.STATES and top in sys.modules:
            state = policy.STATES[top](sys.modules[top])
            if state is not None:
                self._enter_later(f"{top} (its settings)", lambda: hash_of(repr(state)))

    def _whole_or_library(self, module: str) -> None:
        """Count a project module completely, another one by its library."""
        if is_project(module):
            self._whole(module)
        else:
            self._library(module)

    def _whole(self, module: str) -> None:
        """Count a project module completely."""
        if not is_passed_over(module):
            self._takes_part(module)
            self._enter_later(f"{module} (all of it)", lambda: self._whole_module(module))

    def _unknown(self, name: str, what: str) -> None:
        """Record an object whose content cannot be compared."""
        self.unfollowed[name] = what
        self._enter_later(name, lambda: "#" + secrets.token_hex(8), UNKNOWN)

    # ------------------------------------------------------------ modules
    def _import_effects(self, module: str) -> str:
        """The statements of a module that do more than bind names, and its imports."""
        loaded = sys.modules.get(module)
        if loaded is None or source_file(module) is None:
            return ""
        for number, statement in enumerate(modules.source(module).effects, start=1):
            make = functools.partial(self._statement, read_code(statement), loaded)
            self._enter_later(f"{module} (statement {number})", make)
        for name in modules.libraries_of(module, unused_only=True):
            self._library(name)
        for name in modules.imported_modules(module, at_import_only=True):
            if name in sys.modules:
                self._takes_part(name)
        return ""

    def _statement(self, code: Code, loaded: ModuleType) -> str:
        return hash_of(code.digest + self._references(code, vars(loaded), loaded.__name__))

    def _whole_module(self, module: str) -> str:
        """A module's complete source, its imports, and the values of its names."""
        digest = modules.whole_digest(module)
        if not digest:
            if module == "__main__":  # a notebook, which has no source
                self._unknown(module, "names looked up by text")
            return ""
        for name in modules.libraries_of(module):
            self._library(name)
        for name in modules.imported_modules(module):
            if name != "simstudy" and (not is_ours(name) or is_kernel(name)):
                self._whole(name)
        if not (is_ours(module) and is_kernel(module)):
            self._loaded_names(module)
        return "#" + digest[:16]

    def _loaded_names(self, module: str) -> None:
        """The values of a module's names that are code or plain data."""
        loaded = modules.loaded_module(module)
        for name, value in sorted(vars(loaded).items()) if loaded else ():
            if name.startswith("__") or isinstance(value, ModuleType):
                continue
            if is_code(value) and is_project(_home_of(value)):
                self.token(value, f"{module}:{name}")
            elif values.is_plain(value):
                self._binding(module, name, value)

    # ------------------------------------------------------------ what code reads
    def _references(self, code: Code, names: Mapping[str, Any], module: str) -> str:
        """Follow the names that code reads; returns their tokens."""
        self._codes[code.digest] = code
        self._uses.add(Use("code", code.digest))
        refers = [self._chain(chain, names, module) for chain in code.chains]
        for statement in code.imports:
            refers += self._import_inside(statement, module)
        if _is_dynamic(code):
            self._whole(module)
            make = functools.partial(self._by_text, code.strings, module)
            self._enter_later(f"{module} (names by text)", make, hash(code.digest))
        return "|".join(refers)

    def _chain(self, chain: tuple[str, ...], names: Mapping[str, Any], module: str) -> str:
        """Resolve a global name and its attributes through modules."""
        name, *rest = chain
        if name not in names:
            return ""
        value, shown, reader = names[name], ".".join(chain), module
        while rest and isinstance(value, ModuleType) and hasattr(value, rest[0]):
            self._takes_part(value.__name__)
            self._library(value.__name__)
            module, name, value = value.__name__, rest[0], getattr(value, rest[0])
            rest = rest[1:]
        if _makes_generators(module, value) and not is_ours(reader):
            self._uses.add(Use("generator", f"{shown} in {reader}"))
        if isinstance(value, ModuleType):
            return f"{shown} is {self.token(value, module)}"
        return f"{shown} is {self._binding(module, name, value)}"

    def _binding(self, module: str, name: str, value: object) -> str:
        """The value of a module's name: code by reference, a constant as an entry."""
        if not is_project(module):
            if is_code(value) and _is_of_the_project(value):
                return self.token(value, f"{module}:{name}")
            is_short = isinstance(value, int | float | complex | str | tuple)
            return f"{name} {value!r}" if is_short and len(repr(value)) < 200 else name
        if is_code(value):
            return self.token(value, f"{module}:{name}")
        is_memory = is_ours(module) and name.startswith("_")  # what a process keeps at hand
        if is_passed_over(module) or (is_memory and isinstance(value, dict | list | set)):
            return name
        kind = type(value).__module__
        imported = "" if is_standard(kind) or is_project(kind) else modules.name_in_library(
            module, name, value)  # fmt: skip
        if imported:
            self._library(imported)
            return imported
        self._takes_part(module)
        enter = self._enter if has_code(value) else self._enter_later
        enter(f"{module}.{name}", lambda: hash_of(self.token(value, f"{module}:{name}")))
        return f"{module}.{name}"

    def _import_inside(self, statement: Import, module: str) -> Iterator[str]:
        """Follow an import statement inside a function."""
        base = modules.absolute(module, statement.module, statement.level)
        yield base
        if is_passed_over(base):
            return
        if not is_project(base) or not statement.names or (is_ours(base) and is_kernel(base)):
            self._whole_or_library(base)
            return
        loaded = modules.loaded_module(base)
        for name in statement.names:
            if hasattr(loaded, name) and not isinstance(getattr(loaded, name), ModuleType):
                yield self._chain((name,), vars(loaded), base)
            else:
                self._whole_or_library(f"{base}.{name}")
                yield name

    def _by_text(self, strings: Iterable[str], module: str) -> str:
        """Modules that strings may name, and all sources in the folder."""
        for text in sorted(strings):
            if A_NAME.fullmatch(text) and text in sys.modules:
                self._whole_or_library(text)
        path = None if is_ours(module) else source_file(module)
        for neighbour in sorted(path.parent.rglob("*.py")) if path else ():
            try:
                content = hash_of(neighbour.read_bytes())
            except OSError:  # what cannot be read cannot be imported: an editor's lock, a folder
                continue
            name = neighbour.relative_to(path.parent) if path else neighbour
            self._enter(f"{name} beside {module}", functools.partial(str, content))
        return ""

    # ------------------------------------------------------------ kinds of values
    def _follow(self, value: Any, where: str) -> str:
        """The token of a value that is not plain, by its kind."""
        home = type(value).__module__
        if home == "simstudy.lazy":  # a library that is imported late
            name = object.__getattribute__(value, "_name")
            self._library(name)
            return f"<module {name}>"
        if home == "simstudy.data.parts" and hasattr(value, "identity_text"):
            return f"<{self.token(type(value), where)} {value.identity_text()}>"
        if isinstance(value, ModuleType):  # nobody can say what of it is used
            self._whole_or_library(value.__name__)
            return f"<module {value.__name__}>"
        if isinstance(value, FunctionType):
            return self._function(value)
        return self._class(value) if isinstance(value, type) else self._instance(value, where)

    def _function(self, function: Any) -> str:
        """A function as an entry, by name and content."""
        plain = unchecked(function)
        module = module_of(plain if isinstance(plain, FunctionType) else function)
        if not isinstance(plain, FunctionType):
            return self.token(plain, module)
        name = f"{module}.{plain.__code__.co_qualname}"
        if is_passed_over(module):
            return f"<{name}>"
        if not modules.is_project_function(plain, module):
            return self._foreign(plain, module, name)
        code = _read_function(plain.__code__, module)
        make = lambda: hash_of(self._content(function, code, module))  # noqa: E731
        known = {id(function): function, id(plain): plain}.values()
        is_named = _is_at_its_name(plain)
        return self._definition(known, name, make, is_named, f" {code.digest[:16]}")

    def _definition(
        self,
        visited: Iterable[object],
        name: str,
        make: Callable[[], str],
        is_named: bool,
        meanwhile: str = "",
    ) -> str:
        """A function or class, by name if the name leads to it, otherwise also by content.

        Parameters
        ----------
        visited
            The object, last, and the checkers before it.
        meanwhile
            What stands for its content where it comes up within itself.
        """
        use = Use("entry", name, id([*visited][-1]))
        self._uses.add(use)
        text = f"<{name}>" if is_named else f"<{name}{meanwhile}>"
        for value in visited:
            self._known[id(value)] = value, text, {use}
        if is_named:
            self._enter_later(name, make, use.number)
            return text
        text = f"<{name} {self._enter(name, make, use.number)}>"
        for value in visited:
            self._known[id(value)] = value, text, {use}
        return text

    def _content(self, function: FunctionType, code: Code, module: str) -> str:
        """A function's code, defaults, closure, attributes and references."""
        self._takes_part(module)
        plain = unchecked(function)
        held = (
            plain.__defaults__,
            plain.__kwdefaults__,
            bytecode.cells_of(plain),
            bytecode.attributes_of(function),
        )
        made_with = self.tokens(held, f"{module}:{plain.__code__.co_qualname}", between="|")
        return f"{code.digest}{made_with}{self._references(code, plain.__globals__, module)}"

    def _foreign(self, function: FunctionType, module: str, name: str) -> str:
        """A library's function by name; one made by a decorator also by what it holds."""
        self._library(module)
        held = [*bytecode.cells_of(function), *vars(function).values()]
        if module.split(".")[0] in policy.WELL_KNOWN or is_standard(module):
            held = [v for v in held if is_code(v) or has_code(v) or is_project(type(v).__module__)]
        self._known[id(function)] = function, f"<{name}>", set(self._uses)
        return f"<{name} {self.tokens(held, name)}>"

    # ------------------------------------------------------------ classes
    def _class(self, kind: type) -> str:
        """A class by name, with an entry for its content."""
        module = str(kind.__module__)
        name = f"{module}.{kind.__qualname__}"
        if is_passed_over(module):
            return f"<{name}>"
        if not is_project(module) or module.startswith(policy.GENERATED_TUPLES):
            self._library(module)
            return f"<{name}>"
        if type(kind).__module__.startswith("numba."):  # compiled as a whole
            self._whole(module)
            return f"<{name}>"
        make = lambda: hash_of("|".join(self._class_content(kind)))  # noqa: E731
        return self._definition([kind], name, make, "<locals>" not in name)

    def _class_content(self, kind: type) -> Iterator[str]:
        where = f"{kind.__module__}:{kind.__qualname__}"
        self._takes_part(str(kind.__module__))
        yield from (self.token(base, where) for base in kind.__bases__ if base is not object)
        if type(kind) is not type:
            yield self.token(type(kind), where)
        for member, value in self._members(kind, where):
            yield f"{member}={self.token(value, f'{where}.{member}')}"
        if is_dataclass(kind):
            yield repr(vars(kind).get("__dataclass_params__"))
            yield from (self._field(entry, where) for entry in fields(kind))

    def _members(self, kind: type, where: str) -> list[tuple[str, object]]:
        own: dict[str, object] = {
            member: value
            for member, value in vars(kind).items()
            if member not in policy.MADE_BY_PYTHON and not _is_made(value)
        }
        if "exact" in own:
            use = Use("exact", f"{where}.exact", id(kind))
            self.objects[use] = own.pop("exact")
            self._uses.add(use)
        parameters = vars(kind).get("__dataclass_params__")
        if parameters is not None and parameters.init:
            own.pop("__init__", None)
        own["__slots__"] = tuple(vars(kind).get("__slots__", ()))  # whose descriptors say nothing
        return sorted(
            (member, value)
            for member, value in own.items()
            if not isinstance(value, types.MemberDescriptorType)
        )

    def _field(self, entry: "Field[object]", where: str) -> str:
        how = (entry.init, entry.kw_only, entry.compare, entry.hash)
        parts = [_unless_missing(entry.default), _unless_missing(entry.default_factory)]
        held = [self.token(part, where) for part in (*parts, dict(entry.metadata))]
        return f"{entry.name} {how} {held}"

    # ------------------------------------------------------------ instances
    def _instance(self, value: Any, where: str) -> str:
        """An object that is not plain and no Python function, class or module."""
        if isinstance(value, BUILT_IN):
            return self._built_in(value, where)
        if isinstance(value, ctypes.CDLL):
            path = Path(str(value._name))
            content = path.read_bytes() if path.is_file() else str(path)
            return f"<shared library {hash_of(content)}>"
        function = python_of(value)
        if function is not None:
            return self._dispatcher(value, function)
        parts = self._wrapped(value)
        if parts is not None:
            return f"<{type(value).__qualname__} {self.tokens(parts, where)}>"
        return self._by_state(value, where)

    def _built_in(self, value: Any, where: str) -> str:
        """A function without Python code; in a compiled project module, by the file."""
        module = str(getattr(value, "__module__", None) or "")
        owner = getattr(value, "__self__", None)
        is_bound = not (owner is None or isinstance(owner, ModuleType))
        self._whole_or_library(module)
        bound = self.token(owner, where) if is_bound else ""
        return f"<{module}.{value.__qualname__} {bound}>"

    def _dispatcher(self, value: object, function: FunctionType) -> str:
        """A numba function: its Python function, options, and its whole module."""
        module = module_of(function)
        self._library("numba")
        self._library("llvmlite")
        if source_file(module) is not None:
            self._whole(module)
        options = getattr(value, "targetoptions", {})
        shown = sorted((name, repr(option)) for name, option in options.items())
        text = f"<compiled {self.token(function, module)} {shown}>"
        self._notes("compiled", value)
        return text

    def _notes(self, kind: str, value: Any) -> None:
        use = Use(kind, value.__qualname__ if hasattr(value, "__qualname__") else "", id(value))
        self.objects[use] = value
        self._uses.add(use)

    def _wrapped(self, value: Any) -> tuple[object, ...] | None:
        """The content of a wrapper of functions or values; None otherwise."""
        if isinstance(value, contextvars.ContextVar):
            return value.name, value.get(None)
        if isinstance(value, threading.local):
            return type(value), dict(vars(value))
        names = next((names for kind, names in WRAPPERS.items() if isinstance(value, kind)), None)
        if isinstance(value, CACHED):
            self._notes("cached", value)
        return None if names is None else tuple(getattr(value, name) for name in names)

    def _by_state(self, value: Any, where: str) -> str:
        """An object by its class and state."""
        kind = type(value)
        name = self.token(kind, where)
        if kind.__module__.startswith("numpy.random"):  # its state is no content
            return self._without_content(value, where, name)
        held = values.inherited_content(value, lambda inner: self.token(inner, where))
        state = values.state_of(value)
        inner = {name: self.token(part, where) for name, part in state.items()}
        if inner or is_project(kind.__module__):
            return f"<{name} {held} {inner}>"
        return self._reduced(value, where, name)

    def _reduced(self, value: Any, where: str, name: str) -> str:
        """An object written in C, by its `__reduce__`."""
        try:
            parts = value.__reduce_ex__(4)
        except Exception:  # whatever a library's reduction raises
            return self._without_content(value, where, name)
        if isinstance(parts, str):
            return f"<{name} {parts}>"
        rest = [list(part) if hasattr(part, "__next__") else part for part in parts[1:]]
        return f"<{name} {self.tokens(rest, where)}>"

    def _without_content(self, value: object, where: str, name: str) -> str:
        """An object without comparable content: by the source that made it, else as changed."""
        module = where.partition(":")[0]
        if not values.is_shared_generator(value) and source_file(module) is not None:
            self._whole(module)
        elif not values.is_shared_generator(value):
            self._unknown(where.replace(":", "."), name.strip("<>"))
        return f"<{name}>"


def _module_of_part(part: object) -> str:
    return getattr(part, "__module__", None) or type(part).__module__


def _those(objects: Mapping[Use, Any], kind: str, uses: set[Use]) -> tuple[Any, ...]:
    return tuple(value for use, value in objects.items() if use.kind == kind and use in uses)


def _joint(texts: set[str]) -> str:
    """One text for all definitions of a name."""
    return texts.pop() if len(texts) == 1 else hash_of("|".join(sorted(texts)))


def _is_of_the_project(value: object) -> bool:
    """Whether code belongs to the project, by its module or its file."""
    plain = unchecked(value)
    home = _home_of(value)
    is_function = isinstance(plain, FunctionType)
    return modules.is_project_function(plain, home) if is_function else is_project(home)


def _is_dynamic(code: Code) -> bool:
    """Whether code looks up names or modules by text."""
    heads = {chain[0] for chain in code.chains}
    looks_up = ("sys", "modules") in {chain[:2] for chain in code.chains}
    by_text = code.attributes & policy.BY_TEXT and any("@" in text for text in code.strings)
    named = (heads | code.attributes) & policy.UNFOLLOWED_ATTRIBUTES
    return bool(looks_up or by_text or heads & policy.UNFOLLOWED_BUILTINS or named)


def _makes_generators(module: str, value: object) -> bool:
    """Whether a function or class of a module draws random numbers."""
    homes = (module, str(getattr(value, "__module__", "")))
    is_random = any(home == "random" or home.startswith("numpy.random") for home in homes)
    if not (is_random and callable(value)):  # a library that is not imported yet stays so
        return False
    return getattr(value, "__name__", "") not in policy.NO_GENERATORS


def _unless_missing(default: object) -> tuple[object] | None:
    """The default of a field, unless MISSING (compared by name, since workers have a copy)."""
    return None if type(default).__name__ == type(MISSING).__name__ else (default,)
