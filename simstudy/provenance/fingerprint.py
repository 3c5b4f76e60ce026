"""Fingerprints of scenarios and methods: all definitions that their code uses, directly or not.

Names are resolved to the objects that they are bound to now. So it does not matter how a name was
bound: by an import under another name, a loop, a decorator, a table that another module filled, or
a notebook's cell. `docs/guarantees.md` states the rule.
"""

import ctypes
import functools
import os
import re
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from simstudy.provenance import modules, policy, source, values
from simstudy.provenance.modules import is_project, source_file
from simstudy.provenance.policy import is_ours, is_passed_over
from simstudy.provenance.source import Chain, Definition, Import
from simstudy.provenance.values import hash_of
from simstudy.provenance.wrappers import (
    CACHED,
    WRAPPERS,
    attributes_of,
    cells_of,
    has_code,
    home_of,
    is_at_its_name,
    is_code,
    is_generated,
    module_of,
    python_of,
    unchecked,
)

Fingerprint = dict[str, str]
"""Hash or version by definition, constant, module or library."""

LAZY_MODULE = "simstudy.lazy"  # module with proxies of libraries that are imported when used
MAX_DEPTH = 100  # levels of nested values that are followed
DOTTED_NAME = re.compile(r"[A-Za-z_][\w.]*")
WORD = re.compile(r"[A-Za-z_]\w*")
BUILTIN_TYPES = (
    *map(type, (len, str.join, object.__init__, "".__str__, vars(dict)["fromkeys"])),
    *(types.GetSetDescriptorType, types.MemberDescriptorType),
)
CONSTRUCTORS = frozenset(
    ["__init__", "__post_init__", "__new__", "__init_subclass__", "__set_name__", "__setstate__"]
)
"""Methods that make an object: the attributes that they assign are its content."""

PROPERTIES = (property, functools.cached_property)


class Key(NamedTuple):
    """The key of an entry: module and name of a definition or constant.

    Entries of other kinds, such as neighbouring files, have no module.
    """

    module: str
    name: str

    @property
    def mark(self) -> str:
        """The reference to this key in the texts of other entries; `_written` makes it readable."""
        return f"\0{self.module}\1{self.name}"


@dataclass(frozen=True)
class Trace:
    """A fingerprint, with more findings about the code.

    Attributes
    ----------
    found
        The fingerprint. Definitions in the module of the first part are named without that module,
        so that a script, the module of its file, and a notebook with the same text are equal.
    by_module
        Hashes of definitions by module and name, for workers. One name may have several.
    names
        Modules and names by which workers find these definitions.
    compiled
        Numba dispatchers, each after those that it calls.
    cached
        Functions with a cache of their results.
    tokens
        Texts of the traced parts, with their values.
    generators
        Random generators other than streams in the project's code, such as
        `np.random.default_rng in trial`.
    readers
        Functions of the project that read files, such as `open in trial.Trial.draw`.
    words
        Attributes, global names and strings in the code.
    constants
        Modules and names of the constants that count by their values.
    """

    found: Fingerprint
    by_module: Mapping[str, frozenset[str]]
    names: tuple[Key, ...]
    compiled: tuple[Any, ...]
    cached: tuple[Any, ...]
    tokens: tuple[str, ...]
    generators: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    constants: tuple[Key, ...] = ()


def fingerprint(parts: Iterable[object]) -> Fingerprint:
    """Fingerprint the code of `parts` (classes, functions, dataclass instances)."""
    return trace([parts])[0].found


def trace(roots: Iterable[Iterable[object]]) -> list[Trace]:
    """Fingerprint several roots separately; each root is a list of parts."""
    return [_trace(list(parts)) for parts in roots]


def trace_names(names: Iterable[Key], constants: Iterable[Key]) -> Trace:
    """Fingerprint the definitions that this process has loaded under some names.

    Parameters
    ----------
    constants
        Names of constants, which count by their values.
    """
    return _trace([_loaded(key) for key in names], constants)


def _loaded(key: Key) -> object:
    return getattr(modules.loaded_module(key.module), key.name, None)


def _trace(parts: Sequence[object], constants: Iterable[Key] = ()) -> Trace:
    """Walk twice: only after a first walk is it known which values the code itself changes."""
    walk = Walk(None)
    walk.tokens(parts, "")
    walk.follow()
    walk = Walk(walk)
    tokens = [walk.token(part, _module_of_part(part)) for part in parts]
    for key in constants:
        walk.binding(key.module, key.name, _loaded(key))
    walk.follow()
    homes = (module for module in map(_module_of_part, parts) if is_project(module))
    return walk.trace(tokens, _known_as(next(homes, "")))


def changes(stored: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """List the differences between two fingerprints, as text."""
    names = (name for name in sorted({*stored, *current}) if stored.get(name) != current.get(name))
    return [_change(name, stored.get(name), current.get(name)) for name in names]


def _change(name: str, old: str | None, new: str | None) -> str:
    if old is None:
        return f"{name} is new"
    if new is None:
        return f"{name} is gone"
    return f"{name} has changed" if old.startswith("#") else f"{name} was {old} and is {new}"


def _known_as(module: str) -> str:
    """Return the name of a module; for a script, that of its file."""
    file = getattr(sys.modules.get(module), "__file__", None) if module == "__main__" else None
    return Path(file).stem if file else module


def _written(text: str, home: str) -> str:
    """Make references in a text readable, without the name of the home module."""
    return text.replace(f"\0{home}\1", "").replace("\0", "").replace("\1", ".")


# ---------------------------------------------------------------- the walk
DATACLASS_PARAMETERS = ("init", "repr", "eq", "order", "unsafe_hash", "frozen")
"""Parameters of dataclasses that every version of Python has."""


class Walk:
    """One walk from some parts through all definitions that they use.

    Parameters
    ----------
    before
        First walk from the same parts, which found the values that their code changes.
    """

    def __init__(self, before: "Walk | None") -> None:
        self.texts: dict[Key, dict[str, None]] = {}
        self.libraries: dict[str, str] = {}
        self.words: set[str] = set()
        self.changed: set[Key] = set()
        self.names: dict[Key, None] = {}
        self.constants: dict[Key, None] = {}
        self.compiled: dict[int, Any] = {}
        self.cached: dict[int, Any] = {}
        self.generators: dict[str, str] = {}  # module of the generator, by its place in the code
        self.readers: dict[str, None] = {}
        self._changed_in: dict[type, set[str]] = {}
        self._tops: set[str] = set()  # packages that `_library` has seen
        self._seeded: set[str] = set()  # modules whose global generator the code seeds
        self._before = before
        self._queue: deque[Callable[[], None]] = deque()
        self._known: dict[int, tuple[object, str]] = {}
        self._open: set[int] = set()

    def follow(self) -> None:
        """Follow the queued definitions."""
        while self._queue:
            self._queue.popleft()()

    def trace(self, tokens: Iterable[str], home: str) -> Trace:
        """Return the result of the walk."""
        texts = {key: "".join(sorted(found)) for key, found in self.texts.items()}
        found = {
            _written(key.mark, home): hash_of(_written(text, home)) for key, text in texts.items()
        } | self.libraries
        found["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
        if self.words & policy.ENVIRONMENT:  # all variables that the code names count
            named = {part for word in self.words for part in WORD.findall(word)} & set(os.environ)
            for name in named - set(policy.THREAD_VARIABLES):
                found[f"environment variable {name}"] = hash_of(os.environ[name])
        is_seeded = "seeded_globals" in self.words
        unseeded = (
            name
            for name, home in self.generators.items()
            if not is_seeded and home not in self._seeded
        )
        return Trace(
            dict(sorted(found.items())),
            {
                _written(key.mark, ""): frozenset(map(hash_of, found))
                for key, found in sorted(self.texts.items())
            },
            tuple(self.names),
            tuple(self.compiled.values()),
            tuple(self.cached.values()),
            tuple(_written(token, home) for token in tokens),
            tuple(sorted(unseeded)),
            tuple(sorted(self.readers)),
            frozenset(self.words),
            tuple(self.constants),
        )

    # ------------------------------------------------------------ values
    def token(self, value: Any, where: str) -> str:
        """Make a text that identifies a value by content, and follow the code in it."""
        if id(value) in self._known:
            return self._known[id(value)][1]
        if type(value) in values.ATOMS:
            self.words |= {value} if type(value) is str else set()
            return values.plain_token(value, str)
        if id(value) in self._open or len(self._open) > MAX_DEPTH:
            return f"<{type(value).__qualname__} again>"
        self._open.add(id(value))
        try:
            text = values.plain_token(value, lambda inner: self.token(inner, where))
        except values.UnknownValueError:
            text = self._follow(value, where)
        finally:
            self._open.remove(id(value))
        self._known[id(value)] = value, text
        return text

    def tokens(self, parts: Iterable[object], where: str) -> str:
        """Join the tokens of several values."""
        return "|".join([self.token(part, where) for part in parts])

    # ------------------------------------------------------------ entries
    def _enter(self, key: Key, text: str) -> None:
        """Add a text under a name; several definitions of one name count together."""
        self.texts.setdefault(key, {})[text] = None

    def _library(self, module: str) -> None:
        """Add a library by name, version and settings."""
        top = module.split(".")[0]
        if top in self._tops:
            return
        self._tops.add(top)
        is_read = top in policy.STATES and top in sys.modules and not is_project(module)
        if is_read and (state := policy.STATES[top](sys.modules[top])):
            self.libraries[f"{top} (its settings)"] = hash_of(repr(state))
        if known := modules.library(module):
            self.libraries[known[0]] = known[1]

    def _whole(self, module: str) -> None:
        """Add the complete source of a project module, and of those that it imports."""
        if not is_project(module):
            self._library(module)
            return
        key = Key(_known_as(module), "(all of it)")
        if is_passed_over(module) or key in self.texts:
            return
        file = modules.origin(module)
        if source_file(module):
            self._enter(key, source.digest_of_text(modules.text_of(module)))
        elif file and Path(file).is_file():  # compiled
            self._enter(key, hash_of(Path(file).read_bytes()))
        for name in modules.imported_modules(module):
            if not is_ours(name) or modules.is_kernel(name):
                self._whole(name)

    # ------------------------------------------------------------ names that code reads
    def _references(self, code: Definition, names: Mapping[str, Any], module: str) -> str:
        """Follow the names that code reads and return their tokens."""
        self.words |= code.words
        for chain in code.changed:
            if chain[0] in names:
                self.changed.add(Key(*modules.defined_in(*_resolved(chain, names, module))))
        refers = [self._chain(chain, names, module, code) for chain in code.chains]
        for statement in code.imports:
            refers += self._import_inside(statement, module)
        if _is_dynamic(code):
            self._by_text(code.words, module)
        return "|".join(refers)

    def _chain(self, chain: Chain, names: Mapping[str, Any], module: str, code: Definition) -> str:
        """Resolve a global name and its attributes through modules."""
        if chain[0] not in names:
            return ""
        home, name, value = _resolved(chain, names, module)
        self._library(home)
        if not is_ours(module):
            self._note_generator(home, value, chain, code, module)
        is_module = isinstance(value, ModuleType)
        found = self.token(value, home) if is_module else self.binding(home, name, value)
        return f"{'.'.join(chain)} is {found}"

    def _note_generator(
        self, module: str, value: object, chain: Chain, code: Definition, reader: str
    ) -> None:
        """Record a source of random numbers other than the streams."""
        home = _generators_of(module, value)
        if not home:
            return
        is_seeded = chain in code.seeded
        if getattr(value, "__name__", "") == "seed":
            self._seeded |= {home} if is_seeded else set()
        elif not (is_seeded and _makes_a_generator(value)):
            self.generators[f"{'.'.join(chain)} in {_known_as(reader)}"] = home

    def binding(self, module: str, name: str, value: object) -> str:
        """Refer to the value of a module's name; a constant gets an entry."""
        is_followed = is_code(value) and not isinstance(value, np.ufunc)
        if is_followed and (is_project(module) or _is_of_the_project(value)):
            self.names[Key(module, name)] = None
            return self.token(value, module)
        if type(value).__module__ == LAZY_MODULE:
            return self.token(value, module)
        if is_project(module):
            module, name = modules.defined_in(module, name, value)
        if not is_project(module):
            self._library(module)
            is_short = isinstance(value, int | float | complex | str | tuple)
            return f"{name} {value!r}" if is_short and len(repr(value)) < 200 else name
        is_private = is_ours(module) and name.startswith("_")  # a private container is a cache
        if is_passed_over(module) or (is_private and isinstance(value, dict | list | set)):
            return name
        key = Key(_known_as(module), name)
        if key not in self.texts:
            self.texts[key] = {}
            self.names[Key(module, name)] = None
            self._enter(key, self._content_of(module, name, value))
        return key.mark

    def _content_of(self, module: str, name: str, value: object) -> str:
        """Describe a constant by content, or by its statements if the content may change.

        Content may change if the code assigns to it, or for objects such as generators.
        """
        is_changed = self._before is not None and Key(module, name) in self._before.changed
        is_opaque = isinstance(value, (*values.GENERATORS, np.ufunc))  # has no readable content
        if not is_changed and not is_opaque:
            self.constants[Key(module, name)] = None
            return self.token(value, module)
        statements = source.statements_about(modules.text_of(module), name)
        if not statements:
            return type(value).__qualname__
        code = source.definition_of_statements(statements)
        return code.digest + self._references(code, vars(sys.modules[module]), module)

    def _import_inside(self, statement: Import, module: str) -> Iterator[str]:
        """Follow an import statement inside a function."""
        base = modules.absolute(module, statement.module, statement.level)
        yield base
        if is_passed_over(base):
            return
        if not is_project(base) or not statement.names or modules.is_kernel(base):
            self._whole(base)
            return
        loaded = modules.loaded_module(base)
        for name in statement.names:
            if hasattr(loaded, name) and not isinstance(getattr(loaded, name), ModuleType):
                yield f"{name} is {self.binding(base, name, getattr(loaded, name))}"
            else:
                self._whole(f"{base}.{name}")
                yield name

    def _by_text(self, strings: Iterable[str], module: str) -> None:
        """Add all sources that code may mean if it looks up names by text.

        These are its module, loaded modules that it names, and the modules and packages in its
        module's folder.
        """
        self._whole(module)
        for text in sorted(strings):
            if DOTTED_NAME.fullmatch(text) and text in sys.modules:
                self._whole(text)
        path = None if is_ours(module) else source_file(module)
        folder = path.parent if path else Path()
        for neighbour in sorted(modules.files_in(folder)) if path else ():
            key = Key("", f"{neighbour.relative_to(folder)} beside {_known_as(module)}")
            self._enter(key, source.digest_of_text(neighbour.read_text("utf-8", "replace")))

    def _note_name(self, value: Any) -> None:
        """Add the name by which pickle sends a function or class."""
        key = Key(str(value.__module__), value.__qualname__)
        if getattr(sys.modules.get(key.module), key.name, None) is value:
            self.names[key] = None

    # ------------------------------------------------------------ kinds of values
    def _follow(self, value: Any, where: str) -> str:
        """Make the token of a value that is not plain, by its kind."""
        home = type(value).__module__
        if home == LAZY_MODULE:
            name = object.__getattribute__(value, "_name")
            self._library(name)
            return f"<module {name}>"
        if home == "simstudy.data.parts" and hasattr(value, "identity_text"):
            return f"<{self.token(type(value), where)} {value.identity_text()}>"
        if isinstance(value, ModuleType):  # any part of it may be used
            self._whole(value.__name__)
            return f"<module {_known_as(value.__name__)}>"
        if isinstance(value, FunctionType):
            return self._function(value)
        return self._class(value) if isinstance(value, type) else self._instance(value, where)

    def _function(self, function: Any) -> str:
        """Refer to a function by name; if the name has another value, also by content."""
        plain = unchecked(function)
        if not isinstance(plain, FunctionType):
            return self.token(plain, module_of(function))
        module, name = module_of(plain), plain.__code__.co_qualname
        key = Key(_known_as(module), name)
        if is_passed_over(module):
            return f"<{key.mark}>"
        if not modules.is_project_function(plain, module):
            return self._foreign(plain, module, f"{module}.{name}")
        self._note_name(function)
        self._queue.append(lambda: self._enter(key, self._content(function, module)))
        if is_at_its_name(plain):
            self._known[id(function)] = function, f"<{key.mark}>"
            return f"<{key.mark}>"
        self._known[id(function)] = function, f"<{key.mark} again>"
        return f"<{key.mark} {hash_of(self._made_with(function, module))}>"

    def _content(self, function: FunctionType, module: str) -> str:
        """Describe a function by content, with the definitions that it refers to."""
        plain = unchecked(function)
        code = _definition(plain, module)
        if modules.teaches_numba(module):
            self._whole(module)
        if (reads := _file_reader(code, plain.__globals__)) and not is_ours(module):
            self.readers[f"{reads} in {_known_as(module)}.{plain.__code__.co_qualname}"] = None
        refers = self._references(code, plain.__globals__, module)
        return f"{self._made_with(function, module)}{refers}"

    def _made_with(self, function: FunctionType, module: str) -> str:
        """Describe a function's source, defaults, closure and attributes, without its caches."""
        plain = unchecked(function)
        code, name = _definition(plain, module), plain.__code__.co_qualname
        changed = {chain[0] for chain in code.changed}
        own = {chain[1] for chain in code.changed if len(chain) > 1 and chain[0] == name}
        arguments = plain.__code__.co_varnames[: plain.__code__.co_argcount]
        defaults = plain.__defaults__ or ()
        held = dict(zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
        held |= (plain.__kwdefaults__ or {}) | cells_of(plain)
        parts = [(n, v) for n, v in held.items() if n not in changed]
        parts += [(n, v) for n, v in attributes_of(function).items() if n not in own]
        return code.digest + "".join(f" {n}={self.token(v, module)}" for n, v in parts)

    def _foreign(self, function: FunctionType, module: str, name: str) -> str:
        """Refer to a library's function by name, and by the project's code that it holds."""
        self._library(module)
        held = [*cells_of(function).values(), *vars(function).values()]
        held = [v for v in held if is_code(v) or has_code(v) or is_project(str(type(v).__module__))]
        return f"<{name} {self.tokens(held, module)}>"

    # ------------------------------------------------------------ classes
    def _class(self, kind: type) -> str:
        """Refer to a class by name, with an entry for its content."""
        module = str(kind.__module__)
        key = Key(_known_as(module), kind.__qualname__)
        if is_passed_over(module):
            return f"<{key.mark}>"
        if not is_project(module) or module.startswith("namedtuple_"):
            self._library(module)
            return f"<{module}.{kind.__qualname__}>"
        if str(type(kind).__module__).startswith("numba."):  # compiled as a whole
            self._whole(module)
            return f"<{key.mark}>"
        self._known[id(kind)] = kind, f"<{key.mark}>"
        if "<locals>" not in key.name:
            self._note_name(kind)
            self._queue.append(lambda: self._enter(key, "|".join(self._class_content(kind))))
            return f"<{key.mark}>"
        content = "|".join(self._class_content(kind))
        self._enter(key, content)
        return f"<{key.mark} {hash_of(content)}>"

    def _class_content(self, kind: type) -> Iterator[str]:
        module = str(kind.__module__)
        yield from (self.token(base, module) for base in kind.__bases__ if base is not object)
        if type(kind) is not type:
            yield self.token(type(kind), module)
        changed = self._changed_by_methods(kind)
        for member, value in self._members(kind):
            if isinstance(value, PROPERTIES):
                self._property(kind, member, value)
            elif is_code(value) or member not in changed:
                yield f"{member}={self.token(value, module)}"
        if is_dataclass(kind):
            parameters = vars(kind).get("__dataclass_params__")
            yield repr([(name, getattr(parameters, name, None)) for name in DATACLASS_PARAMETERS])
            yield from (self._field(entry, module) for entry in fields(kind))

    def _property(self, kind: type, member: str, value: object) -> None:
        """Enter a property apart from its class, if other code names it."""
        words = self._before.words if self._before else {member}
        if member in words or not policy.BY_TEXT.isdisjoint(words):
            module = str(kind.__module__)
            key = Key(_known_as(module), f"{kind.__qualname__}.{member}")
            self._enter(key, self.token(value, module))

    def _members(self, kind: type) -> list[tuple[str, object]]:
        """List the members that a class body defines; `exact` only if other code names it."""
        own: dict[str, object] = {
            member: value
            for member, value in vars(kind).items()
            if member not in policy.MADE_BY_PYTHON and not is_generated(value)
        }
        if self._before is None or "exact" not in self._before.words:
            own.pop("exact", None)
        parameters = vars(kind).get("__dataclass_params__")
        if parameters is not None and parameters.init:
            own.pop("__init__", None)
        own["__slots__"] = tuple(vars(kind).get("__slots__", ()))  # instead of their descriptors
        return sorted(
            (member, value)
            for member, value in own.items()
            if not isinstance(value, types.MemberDescriptorType)
        )

    def _changed_by_methods(self, kind: type) -> set[str]:
        """Collect the attributes that methods assign or fill, if the code may call these."""
        if kind not in self._changed_in:
            self._changed_in[kind] = {*self._find_changed(kind)}
        return self._changed_in[kind]

    def _find_changed(self, kind: type) -> Iterator[str]:
        called = self._before.words if self._before else set()
        for base in kind.__mro__ if is_project(str(kind.__module__)) else ():
            for name, method in vars(base).items():
                plain = unchecked(getattr(method, "__func__", method))
                is_special = name.startswith("__") and name not in CONSTRUCTORS
                if isinstance(plain, FunctionType) and (is_special or name in called):
                    first = (*plain.__code__.co_varnames[:1], base.__name__)
                    code = _definition(plain, module_of(plain))
                    pairs = (chain for chain in code.changed if len(chain) > 1)
                    yield from (chain[1] for chain in pairs if chain[0] in first)

    def _field(self, entry: "Field[object]", where: str) -> str:
        how = (entry.init, entry.kw_only, entry.compare, entry.hash)
        parts = [_unless_missing(entry.default), _unless_missing(entry.default_factory)]
        held = [self.token(part, where) for part in (*parts, dict(entry.metadata))]
        return f"{entry.name} {how} {held}"

    # ------------------------------------------------------------ instances
    def _instance(self, value: Any, where: str) -> str:
        """Make the token of an object that is neither plain nor a Python function or class."""
        kind = type(value)
        if isinstance(value, BUILTIN_TYPES):
            return self._built_in(value, where)
        if isinstance(value, ctypes.CDLL):
            path = Path(str(value._name))
            return f"<shared library {hash_of(path.read_bytes()) if path.is_file() else path}>"
        function = python_of(value)
        if function is not None:
            return self._dispatcher(value, function)
        parts = self._wrapped(value)
        if parts is not None:
            return f"<{kind.__qualname__} {self.tokens(parts, where)}>"
        if isinstance(value, values.GENERATORS) or values.moves_no_number(value):
            return f"<{kind.__qualname__}>"
        return self._by_state(value, where)

    def _built_in(self, value: Any, where: str) -> str:
        """Refer to a function without Python code; add the file if it is a project module's."""
        module = str(getattr(value, "__module__", None) or "")
        owner = getattr(value, "__self__", None)
        is_bound = not (owner is None or isinstance(owner, ModuleType))
        self._whole(module)
        bound = self.token(owner, where) if is_bound else ""
        return f"<{module}.{value.__qualname__} {bound}>"

    def _dispatcher(self, value: object, function: FunctionType) -> str:
        """Describe a numba function by its Python function and options."""
        self._library("numba")
        self._library("llvmlite")
        options = getattr(value, "targetoptions", {})
        shown = sorted((name, repr(option)) for name, option in options.items())
        text = f"<compiled {self.token(function, module_of(function))} {shown}>"
        self.compiled.pop(id(value), None)
        self.compiled[id(value)] = value
        return text

    def _wrapped(self, value: Any) -> tuple[object, ...] | None:
        """Return the content of a wrapper of functions or values; None for other objects."""
        if isinstance(value, ContextVar):
            return value.name, values.context_value(value)
        names = next((names for kind, names in WRAPPERS.items() if isinstance(value, kind)), None)
        if isinstance(value, CACHED):
            self.cached[id(value)] = value
        return None if names is None else tuple(getattr(value, name) for name in names)

    def _by_state(self, value: Any, where: str) -> str:
        """Describe an object by class and state, without attributes that its methods change."""
        kind = type(value)
        name = self.token(kind, where)
        state = values.state_of(value)
        if is_passed_over(str(kind.__module__)):  # a study or a result counts by its functions
            return f"<{name} {self.tokens([v for v in state.values() if is_code(v)], where)}>"
        held = values.inherited_content(value, lambda inner: self.token(inner, where))
        own = self._changed_by_methods(kind)
        inner = {name: self.token(v, where) for name, v in state.items() if name not in own}
        if inner or state or is_project(str(kind.__module__)):
            return f"<{name} {held} {inner}>"
        return self._reduced(value, where, name)

    def _reduced(self, value: Any, where: str, name: str) -> str:
        """Describe an object written in C by its `__reduce__`, or else by its class."""
        try:
            parts = value.__reduce_ex__(4)
        except Exception:  # a library may raise anything
            return f"<{name}>"
        if isinstance(parts, str):
            return f"<{name} {parts}>"
        rest = [list(part) if hasattr(part, "__next__") else part for part in parts]
        return f"<{name} {self.tokens(rest, where)}>"


# ---------------------------------------------------------------- helpers
def _module_of_part(part: object) -> str:
    while isinstance(part, functools.partial):
        part = part.func
    return home_of(part) or str(type(part).__module__)


def _definition(function: FunctionType, module: str) -> Definition:
    """Read the definition of a loaded function."""
    loader = getattr(sys.modules.get(module), "__loader__", None)
    is_hooked = loader is not None and type(loader) is not SourceFileLoader
    return source.definition_of(function.__code__, is_hooked=is_hooked and module != "__main__")


def _resolved(chain: Chain, names: Mapping[str, Any], module: str) -> tuple[str, str, Any]:
    """Follow a chain through modules: the last module, the name in it, and its value."""
    name, *rest = chain
    value = names[name]
    while rest and isinstance(value, ModuleType) and hasattr(value, rest[0]):
        module, name, value = value.__name__, rest[0], getattr(value, rest[0])
        rest = rest[1:]
    return module, name, value


def _is_of_the_project(value: object) -> bool:
    """Whether code belongs to the project, by its module or its file."""
    plain, home = unchecked(value), home_of(value)
    is_function = isinstance(plain, FunctionType)
    return modules.is_project_function(plain, home) if is_function else is_project(home)


def _is_dynamic(code: Definition) -> bool:
    """Whether code looks up names or modules by text."""
    heads = {chain[0] for chain in code.chains}
    looks_up = ("sys", "modules") in {chain[:2] for chain in code.chains}
    by_text = code.words & policy.QUERY_METHODS and any("@" in text for text in code.words)
    named = code.words & policy.UNFOLLOWED_ATTRIBUTES
    return bool(looks_up or by_text or heads & policy.UNFOLLOWED_BUILTINS or named)


def _generators_of(module: str, value: object) -> str:
    """Return the module, `numpy.random` or `random`, of a function that draws; otherwise empty."""
    if type(value).__module__ == LAZY_MODULE or not callable(value):
        return ""
    if getattr(value, "__name__", "") in policy.NO_GENERATORS:
        return ""
    homes = (module, str(getattr(value, "__module__", "")))
    if any(home.startswith("numpy.random") for home in homes):
        return "numpy.random"
    return "random" if "random" in homes else ""


def _makes_a_generator(value: object) -> bool:
    return isinstance(value, type) or getattr(value, "__name__", "") == "default_rng"


def _file_reader(code: Definition, names: Mapping[str, Any]) -> str:
    """The first name in code that reads a file; empty if there is none."""
    is_in_memory = not code.words.isdisjoint(("StringIO", "BytesIO"))
    readers = policy.READERS_BY_PATH if is_in_memory else policy.READERS
    found = [name for name in readers if name in code.words]
    is_open = any(chain == ("open",) for chain in code.chains) and "open" not in names
    return found[0] if found else "open" * is_open


def _unless_missing(default: object) -> tuple[object] | None:
    """The default of a field, unless MISSING (compared by name, since workers have a copy)."""
    return None if type(default).__name__ == type(MISSING).__name__ else (default,)
