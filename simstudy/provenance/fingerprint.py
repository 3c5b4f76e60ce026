"""Fingerprints of scenarios and methods: all definitions that their code uses, directly or not.

Functions and classes count by their source, and are reached by name through the project's modules;
values count by content; where something unusual stands, the whole module counts. Names are resolved
to the objects that they are bound to now. So it does not matter how a name was bound: by an import
under another name, a loop, a decorator, a table that another module filled, or a notebook's cell.
`docs/guarantees.md` states the rule.
"""

import functools
import os
import re
import sys
import types
from abc import ABCMeta
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from simstudy.provenance import contents, modules, policy
from simstudy.provenance.contents import hash_of
from simstudy.provenance.modules import hash_of_source, is_project, source_file
from simstudy.provenance.policy import is_ours, is_passed_over

Fingerprint = dict[str, str]
"""Hash or version by definition, constant, module or library."""

LAZY_MODULE = "simstudy.lazy"  # module with proxies of libraries that are imported when used
HEAP_TYPE, IMMUTABLE_TYPE = 1 << 9, 1 << 8  # flags of types
MAX_DEPTH = 100  # levels of nested values that are followed
WHOLE_MODULE = "(all of it)"  # name of the entry of a whole module
EFFECTS = "(what it sets at its top)"  # name of the entry of such statements
WORD = re.compile(r"[A-Za-z_]\w*")
DATACLASS_PARAMETERS = ("init", "repr", "eq", "order", "unsafe_hash", "frozen")
"""Parameters of dataclasses that every version of Python has."""


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
class CodeUse:
    """A fingerprint, with more findings about the code.

    Attributes
    ----------
    fingerprint
        The fingerprint. Definitions in the module of the first part are named without that module,
        so that a script, the module of its file, and a notebook with the same text are equal.
    entries
        Hashes of definitions and constants, for workers. One name may have several.
    names
        Modules and names by which workers find these.
    remembering
        Functions with a cache, and numba functions.
    tokens
        Texts of the traced parts, with their values.
    words
        Attributes, global names and strings in the code.
    """

    fingerprint: Fingerprint
    entries: Mapping[Key, frozenset[str]]
    names: tuple[Key, ...]
    remembering: tuple[Any, ...]
    tokens: tuple[str, ...]
    words: frozenset[str] = field(default=frozenset(), repr=False)


def trace(roots: Iterable[Iterable[object]]) -> list[CodeUse]:
    """Fingerprint several roots separately; each root is a list of parts."""
    return [_before_runs(_trace(list(parts))) for parts in roots]


def trace_names(names: Iterable[Key]) -> CodeUse:
    """Fingerprint what this process has loaded under some names."""
    walk = Walk()
    for module, name in names:
        if name == WHOLE_MODULE:
            walk.whole(module)
        else:
            walk.binding(module, name, getattr(modules.loaded_module(module), name, None))
    return walk.trace((), "")


def _trace(parts: Sequence[object]) -> CodeUse:
    walk = Walk()
    tokens = [walk.token(part, _module_of_part(part)) for part in parts]
    homes = (module for module in map(_module_of_part, parts) if is_project(module))
    return walk.trace(tokens, next(homes, ""))


# ---------------------------------------------------------------- what a run itself changed
_began_as: dict[str, CodeUse] = {}
"""Traces as they were before runs of this process, by the text of what these left behind."""
_token_began_as: dict[str, str] = {}


def note_changes_by_run(roots: Iterable[Iterable[object]], before: Iterable[CodeUse]) -> None:
    """Let values that a run has just changed, such as a table of known results, count as before."""
    for parts, began in zip(roots, before, strict=True):
        left = _trace(list(parts))
        if left.fingerprint != began.fingerprint:
            _began_as.setdefault(repr(left.fingerprint), began)
        for token, was in zip(left.tokens, began.tokens, strict=True):
            if token != was:
                _token_began_as.setdefault(token, was)


def _before_runs(now: CodeUse) -> CodeUse:
    began = _began_as.get(repr(now.fingerprint), now)
    return replace(began, tokens=tuple(_token_began_as.get(token, token) for token in now.tokens))


# ---------------------------------------------------------------- comparison
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
class Walk:
    """One walk from some parts through all definitions that they use."""

    def __init__(self) -> None:
        self.texts: dict[Key, dict[str, None]] = {}
        self.libraries: dict[str, str] = {}
        self.words: set[str] = set()
        self.names: dict[Key, None] = {}
        self.remembering: dict[int, Any] = {}
        self._modules: set[str] = set()  # modules of the project with code that was reached
        self._deferred: list[tuple[Key, str, object]] = []  # members that count if code names them
        self._queue: deque[Callable[[], None]] = deque()
        self._known: dict[int, tuple[object, str]] = {}
        self._open: set[int] = set()

    def follow(self) -> None:
        """Follow the queued definitions; properties and `exact` only if code names them."""
        while self._queue:
            self._queue.popleft()()
        found = [each for each in self._deferred if self._is_named(each[1])]
        self._deferred = [each for each in self._deferred if not self._is_named(each[1])]
        for key, _, value in found:
            self._enter(key, self.token(value, key.module))
        if found:
            self.follow()

    def _is_named(self, member: str) -> bool:
        """Whether code names a member of a class, or may read any by a text."""
        by_text = member != "exact" and not policy.BY_TEXT.isdisjoint(self.words)
        return member in self.words or by_text

    def trace(self, tokens: Iterable[str], home: str) -> CodeUse:
        """Follow all that is queued, and return the result of the walk."""
        self.follow()
        home = _known_as(home)
        texts = {key: "".join(sorted(found)) for key, found in self.texts.items()}
        found = {
            _written(key.mark, home): hash_of(_written(text, home)) for key, text in texts.items()
        }
        found |= self.libraries | self._environment()
        found["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
        return CodeUse(
            dict(sorted(found.items())),
            {key: frozenset(hash_of(_written(text, "")) for text in self.texts[key])
             for key in sorted(self.texts)},
            tuple(self.names),
            tuple(self.remembering.values()),
            tuple(_written(token, home) for token in tokens),
            frozenset(self.words),
        )  # fmt: skip

    def _environment(self) -> Fingerprint:
        """The environment variables that the code may read: those that begin with a text in it."""
        if self.words.isdisjoint(policy.ENVIRONMENT):
            return {}
        named = {part for word in self.words for part in WORD.findall(word)}
        starts = tuple(word for word in named if word.isupper() and len(word) > 1)
        read = {n for n in os.environ if n in named or n.startswith(starts)}
        return {
            f"environment variable {name}": hash_of(os.environ[name])
            for name in sorted(read - set(policy.THREAD_VARIABLES))
        }

    # ------------------------------------------------------------ values
    def token(self, value: Any, where: str) -> str:
        """Make a text that identifies a value by content, and follow the code in it.

        Parameters
        ----------
        where
            Module in which the value stands: it counts as a whole if the value has no content that
            can be compared.
        """
        if id(value) in self._known:
            return self._known[id(value)][1]
        if type(value) in contents.ATOMS:
            self.words |= {value} if type(value) is str else set()
            return contents.plain_token(value, str)
        if id(value) in self._open or len(self._open) > MAX_DEPTH:
            return f"<{type(value).__qualname__} again>"
        self._open.add(id(value))
        try:
            text = contents.plain_token(value, lambda inner: self.token(inner, where))
        except contents.UnknownValueError:
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

    def whole(self, module: str) -> None:
        """Add the complete source of a project module, and of those that it imports."""
        if not is_project(module):
            self.libraries |= modules.library(module)
            return
        key = Key(_known_as(module), WHOLE_MODULE)
        if is_passed_over(module) or key in self.texts:
            return
        file = Path(modules.origin(module) or "")
        is_compiled = not source_file(module) and file.is_file()
        text = modules.text_of(module)
        self._enter(key, hash_of(file.read_bytes()) if is_compiled else hash_of_source(text))
        self.names[Key(module, WHOLE_MODULE)] = None
        for name in modules.imported_modules(module):
            if not is_ours(name):
                self.whole(name)

    def _reach(self, module: str) -> None:
        """Add what a module whose code is used does to libraries when it is imported."""
        if module in self._modules or is_ours(module) or not is_project(module):
            return
        self._modules.add(module)
        text = modules.text_of(module)
        if policy.TEACHES_NUMBA.search(text):
            self.whole(module)
        names = vars(sys.modules[module]) if module in sys.modules else {}
        found = modules.effects_at_import(text)
        effects = [digest for name, digest in found if _is_setting(names.get(name))]
        if effects:  # a notebook may execute a cell several times
            self._enter(Key(_known_as(module), EFFECTS), "|".join(dict.fromkeys(effects)))

    # ------------------------------------------------------------ names that code reads
    def _chain(self, chain: contents.Chain, names: Mapping[str, Any], module: str) -> str:
        """Resolve a global name and its attributes through modules."""
        if chain[0] not in names:
            return ""
        home, name, value = _resolved(chain, names, module)
        self.libraries |= modules.library(home)
        is_module = isinstance(value, ModuleType)
        found = self.token(value, home) if is_module else self.binding(home, name, value)
        return f"{'.'.join(chain)} is {found}"

    def binding(self, module: str, name: str, value: object) -> str:
        """Refer to the value of a module's name; a constant gets an entry."""
        is_theirs = is_project(module)
        if contents.is_code(value) and (
            is_theirs or modules.is_project_code(contents.unchecked(value), contents.home_of(value))
        ):
            self.names[Key(module, name)] = None
            return self.token(value, module)
        if type(value).__module__ == LAZY_MODULE:
            return self.token(value, module)
        if not is_theirs:
            self.libraries |= modules.library(module)
            is_short = isinstance(value, int | float | complex | str | tuple)
            return f"{name} {value!r}" if is_short and len(repr(value)) < 200 else name
        is_private = is_ours(module) and name.startswith("_")  # a private container is a cache
        if is_passed_over(module) or (is_private and isinstance(value, dict | list | set)):
            return name
        key = Key(_known_as(module), name)
        if key not in self.texts:
            self.texts[key] = {}
            self.names[Key(module, name)] = None
            self._enter(key, self.token(value, module))
        return key.mark

    def _import_inside(self, statement: contents.Import, module: str) -> str:
        """Follow an import statement inside a function."""
        base = modules.absolute(module, statement)
        if is_passed_over(base) or not is_project(base) or not statement.names:
            self.whole(base)
            return base
        loaded = modules.loaded_module(base)
        parts = [base]
        for name in statement.names:
            if hasattr(loaded, name) and not isinstance(getattr(loaded, name), ModuleType):
                parts.append(f"{name} is {self.binding(base, name, getattr(loaded, name))}")
            else:
                self.whole(f"{base}.{name}")
                parts.append(name)
        return "|".join(parts)

    def _by_text(self, strings: Iterable[str], module: str) -> None:
        """Add all sources that code may mean if it looks up names by text.

        These are its module, loaded modules that it names, and the modules and packages in its
        module's folder.
        """
        self.whole(module)
        for text in sorted(strings):
            if text in sys.modules:
                self.whole(text)
        if not is_ours(module) and (path := source_file(module)):
            for neighbour in sorted(modules.files_in(path.parent)):
                key = Key("", f"{neighbour.relative_to(path.parent)} beside {_known_as(module)}")
                self._enter(key, hash_of_source(neighbour.read_text("utf-8", "replace")))

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
            self.libraries |= modules.library(name)
            return f"<module {name}>"
        if home == "simstudy.data.parts" and hasattr(value, "identity_text"):
            return f"<{self.token(type(value), where)} {value.identity_text()}>"
        if isinstance(value, ModuleType):  # any part of it may be used
            self.whole(value.__name__)
            return f"<module {_known_as(value.__name__)}>"
        if isinstance(value, FunctionType):
            return self._function(value)
        return self._class(value) if isinstance(value, type) else self._instance(value, where)

    def _function(self, function: Any) -> str:
        """Refer to a function by name; if the name has another value, also by content.

        A library's function counts by name, and by the project's code that it holds.
        """
        plain = contents.unchecked(function)
        if not isinstance(plain, FunctionType):
            return self.token(plain, contents.module_of(function))
        module, name = contents.module_of(plain), plain.__code__.co_qualname
        key = Key(_known_as(module), name)
        if is_passed_over(module):
            return f"<{key.mark}>"
        if not modules.is_project_code(plain, module):
            self.libraries |= modules.library(module)
            held = [*contents.cells_of(plain).values(), *vars(plain).values()]
            return f"<{module}.{name} {self.tokens(filter(_is_followed, held), module)}>"
        self._note_name(function)
        self._queue.append(lambda: self._enter(key, self._content(function, module)))
        if contents.is_at_its_name(plain):
            return f"<{key.mark}>"
        self._known[id(function)] = function, f"<{key.mark} again>"
        return f"<{key.mark} {hash_of(self._made_with(function, module))}>"

    def _content(self, function: FunctionType, module: str) -> str:
        """Describe a function by content, with the definitions that it refers to."""
        plain = contents.unchecked(function)
        code, names = _definition(plain), plain.__globals__
        self._reach(module)
        self.words |= code.words
        refers = [self._chain(chain, names, module) for chain in code.chains]
        refers += [self._import_inside(statement, module) for statement in code.imports]
        if _is_dynamic(code):
            self._by_text(code.words, module)
        return self._made_with(function, module) + "|".join(refers)

    def _made_with(self, function: FunctionType, module: str) -> str:
        """Describe a function's source, defaults, closure and attributes."""
        plain = contents.unchecked(function)
        arguments = plain.__code__.co_varnames[: plain.__code__.co_argcount]
        defaults = plain.__defaults__ or ()
        held = dict(zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
        held |= (plain.__kwdefaults__ or {}) | contents.cells_of(plain)
        parts = (*held.items(), *contents.attributes_of(function).items())
        return _definition(plain).digest + "".join(
            f" {name}={self.token(v, module)}" for name, v in parts
        )

    # ------------------------------------------------------------ classes
    def _class(self, kind: type) -> str:
        """Refer to a class by name, with an entry for its content."""
        module = str(kind.__module__)
        key = Key(_known_as(module), kind.__qualname__)
        if is_passed_over(module):
            return f"<{key.mark}>"
        if not (is_project(module) or _is_made_up(kind)) or module.startswith("namedtuple_"):
            self.libraries |= modules.library(module)
            return f"<{module}.{kind.__qualname__}>"
        if str(type(kind).__module__).startswith("numba."):  # compiled as a whole
            self.whole(module)
            return f"<{key.mark}>"
        self._known[id(kind)] = kind, f"<{key.mark}>"
        if is_project(module) and "<locals>" not in key.name:
            self._note_name(kind)
            self._queue.append(lambda: self._enter(key, "|".join(self._class_content(kind))))
            return f"<{key.mark}>"
        content = "|".join(self._class_content(kind))
        self._enter(key, content)
        return f"<{key.mark} {hash_of(content)}>"

    def _class_content(self, kind: type) -> Iterator[str]:
        module = str(kind.__module__)
        self._reach(module)
        yield from (self.token(base, module) for base in kind.__bases__ if base is not object)
        if type(kind) is not type:
            yield self.token(type(kind), module)
        if isinstance(kind, ABCMeta) and ".register" in modules.text_of(module):
            self.whole(module)
        for member, value in self._members(kind):
            if member == "exact" or isinstance(value, property | functools.cached_property):
                key = Key(_known_as(module), f"{kind.__qualname__}.{member}")
                self._deferred.append((key, member, value))
            else:
                yield f"{member}={self.token(value, module)}"
        if any("__dataclass_fields__" in vars(base) for base in kind.__mro__):
            parameters = vars(kind).get("__dataclass_params__")
            yield repr([(name, getattr(parameters, name, None)) for name in DATACLASS_PARAMETERS])
            yield from (self._field(entry, module) for entry in fields(kind))

    def _members(self, kind: type) -> list[tuple[str, object]]:
        """List the members that a class body defines."""
        own: dict[str, object] = {
            member: value
            for member, value in vars(kind).items()
            if member not in policy.MADE_BY_PYTHON
            and not contents.is_generated(value)
            and not isinstance(value, types.MemberDescriptorType)
        }
        own["__slots__"] = tuple(vars(kind).get("__slots__", ()))  # instead of their descriptors
        return sorted(own.items())

    def _field(self, entry: "Field[object]", where: str) -> str:
        how = (entry.init, entry.kw_only, entry.compare, entry.hash)
        parts = [_unless_missing(entry.default), _unless_missing(entry.default_factory)]
        held = [self.token(part, where) for part in (*parts, dict(entry.metadata))]
        return f"{entry.name} {how} {held}"

    # ------------------------------------------------------------ instances
    def _instance(self, value: Any, where: str) -> str:
        """Make the token of an object that is neither plain nor a Python function or class."""
        kind = type(value)
        if contents.top_of(kind) == "numba" and "__wrapped__" in contents.attributes(value):
            return self._compiled(value, where)
        if isinstance(value, contents.CACHED):
            self.remembering[id(value)] = value
        try:
            parts = contents.content_of(value)
            if parts is None and not contents.moves_no_number(value):
                return self._by_state(value, where)
        except Exception:  # the object's own code may raise anything
            return self._incomparable(value, where)
        name = self.token(kind, where) if is_project(str(kind.__module__)) else kind.__qualname__
        return f"<{name} {self.tokens(parts or (), where)}>"

    def _incomparable(self, value: object, where: str) -> str:
        """Count the whole module instead of a value whose content cannot be compared."""
        self.whole(where)
        return f"<{type(value).__qualname__}>"

    def _compiled(self, value: Any, where: str) -> str:
        """Describe a numba function by its Python function and options."""
        self.remembering[id(value)] = value
        self.libraries |= modules.library("numba")
        self.libraries |= modules.library("llvmlite")
        options = getattr(value, "targetoptions", {})
        shown = sorted((name, repr(option)) for name, option in options.items())
        return f"<compiled {self.token(value.__wrapped__, where)} {shown}>"

    def _by_state(self, value: Any, where: str) -> str:
        """Describe an object by class and state, or else by what pickle would store."""
        kind = type(value)
        is_iterator = hasattr(kind, "__next__") and not is_project(str(kind.__module__))
        if is_iterator or type(value) is np.ufunc or isinstance(value, contents.GENERATORS):
            is_global = value is _GLOBAL_GENERATOR
            return f"<{kind.__qualname__}>" if is_global else self._incomparable(value, where)
        name = self.token(kind, where)
        state = contents.state_of(value)
        if is_passed_over(str(kind.__module__)):  # a study or a result counts by its functions
            return f"<{name} {self.tokens(filter(contents.is_code, state.values()), where)}>"
        held = contents.inherited_content(value, lambda inner: self.token(inner, where))
        inner = {name: self.token(v, where) for name, v in state.items()}
        shown = f"{name} {held} {inner}"
        bases = [base for base in kind.__mro__ if not is_project(str(base.__module__))]
        is_plain = held or state or bases == [object]
        own_pickle = any({"__reduce__", "__reduce_ex__"} & vars(base).keys() for base in bases[:-1])
        if is_plain and not own_pickle:
            return f"<{shown}>"
        return f"<{shown} {self._reduced(value, where)}>"

    def _reduced(self, value: Any, where: str) -> str:
        """Describe an object or function written in C by what pickle would store."""
        self.whole(str(getattr(value, "__module__", None) or ""))
        parts = value.__reduce_ex__(4)
        if isinstance(parts, str):
            return parts
        items = [list(part) if hasattr(part, "__next__") else part for part in parts[3:]]
        return self.tokens((*parts[:3], *items), where)


# ---------------------------------------------------------------- helpers
_GLOBAL_GENERATOR = getattr(np.random.mtrand, "_rand", None)
"""The generator that libraries hold by default."""


def _module_of_part(part: object) -> str:
    while isinstance(part, functools.partial):
        part = part.func
    return contents.home_of(part) or str(type(part).__module__)


def _definition(function: FunctionType) -> contents.Definition:
    module = contents.module_of(function)
    loader = getattr(sys.modules.get(module), "__loader__", None)
    is_hooked = isinstance(loader, SourceFileLoader) and type(loader) is not SourceFileLoader
    code = function.__code__
    return contents.definition_of(
        contents.code_in(modules.text_of(module), code) if is_hooked else code
    )


def _resolved(chain: contents.Chain, names: Mapping[str, Any], module: str) -> tuple[str, str, Any]:
    """Follow a chain through modules: the last module, the name in it, and its value."""
    name, *rest = chain
    value = names[name]
    while rest and isinstance(value, ModuleType) and hasattr(value, rest[0]):
        module, name, value = value.__name__, rest[0], getattr(value, rest[0])
        rest = rest[1:]
    return module, name, value


def _is_followed(held: Any) -> bool:
    """Whether what a library's function holds may come from the project: code, plain values."""
    is_plain = type(held) in contents.ATOMS or contents.is_code(held)
    inside = held.values() if isinstance(held, dict) else held
    is_table = isinstance(held, contents.CONTAINERS) and any(map(contents.is_code, inside))
    return is_plain or is_table or is_project(str(type(held).__module__))


def _is_setting(value: object) -> bool:
    """Whether a call or assignment of this value at a module's top may set a library."""
    home = value.__name__ if isinstance(value, ModuleType) else _module_of_part(value)
    is_library = isinstance(value, ModuleType) or contents.is_code(value)
    return is_library and not is_project(home) and home.split(".")[0] not in policy.SETS_NO_NUMBER


def _is_dynamic(code: contents.Definition) -> bool:
    """Whether code looks up names or modules by text."""
    heads = {chain[0] for chain in code.chains}
    by_text = code.words & policy.QUERY_METHODS and any("@" in text for text in code.words)
    return bool(
        {"sys", "modules"} <= code.words
        or by_text
        or heads & policy.UNFOLLOWED_BUILTINS
        or code.words & policy.UNFOLLOWED_ATTRIBUTES
    )


def _is_made_up(kind: type) -> bool:
    """Whether a class was made by a call, such as `make_dataclass`, so that no name leads to it."""
    home, name = sys.modules.get(str(kind.__module__)), kind.__qualname__.split(".")[0]
    is_pythons = kind.__flags__ & HEAP_TYPE and not kind.__flags__ & IMMUTABLE_TYPE
    return bool(is_pythons) and home is not None and not hasattr(home, name)


def _unless_missing(default: object) -> tuple[object] | None:
    """The default of a field, unless MISSING (compared by name, since workers have a copy)."""
    return None if type(default).__name__ == type(MISSING).__name__ else (default,)
