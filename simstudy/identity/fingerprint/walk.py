"""A walk over everything that a class or function uses, as it is loaded.

Definitions are followed through the names that their code reads, to the objects bound to these
names now. So it does not matter how a name came to be bound: by an import under another name, by
a condition, a loop, a decorator, a table that another module filled, or a notebook's cell. What a
walk over live objects cannot see (statements that change something elsewhere, names looked up by
text, machine code) counts with the whole source of its module, and what has neither a source nor
a content counts as changed.
"""

import contextvars
import ctypes
import enum
import functools
import hashlib
import os
import re
import secrets
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from simstudy.data.reads import reads_at_import, reads_by
from simstudy.identity.fingerprint import modules
from simstudy.identity.fingerprint.code import Code, Import, read_code
from simstudy.identity.fingerprint.values import UnknownValueError, inherited_content, plain_token
from simstudy.thread_variables import THREAD_VARIABLES

UNFOLLOWED_BUILTINS = frozenset({"globals", "eval", "exec", "__import__", "compile"})
_LOOK_UPS = """
import_module __subclasses__ __globals__ __builtins__ spec_from_file_location exec_module
load_module run_path run_module iter_modules find_loader _getframe currentframe f_globals f_locals
dmatrix dmatrices model_matrix from_formula get_type_hints get_annotations __annotations__
__orig_bases__
"""
UNFOLLOWED_ATTRIBUTES = frozenset(_LOOK_UPS.split())
BY_TEXT = frozenset({"eval", "query"})  # of a frame: its text may name variables, with an @
ENVIRONMENT = frozenset({"environ", "getenv", "expandvars"})
_PYTHONS = """
__module__ __qualname__ __doc__ __dict__ __weakref__ __annotations__ __match_args__ __orig_bases__
__abstractmethods__ _abc_impl __parameters__ __firstlineno__ __replace__ __static_attributes__
__annotate__ __annotate_func__ __annotations_cache__ __classdictcell__ __dataclass_fields__
__dataclass_params__ _is_protocol __non_callable_proto_members__ __protocol_attrs__
__subclasshook__ __slotnames__ _member_map_ _member_names_ _value2member_map_ _hashable_values_
_unhashable_values_ _unhashable_values_map_ _use_args_ _value_repr_ _member_type_ _new_member_
"""
MADE_BY_PYTHON = frozenset(_PYTHONS.split())
SILENT = frozenset(
    {
        "simstudy.lazy", "simstudy.data.reads", "simstudy.shapes", "simstudy.stats.compiled.kernel",
        "simstudy.stats.compiled.machine_code", "simstudy.stats.compiled.renew",
        "simstudy.engine.thread_warnings", "simstudy.data.sources",
    }
)  # fmt: skip
"""Modules of ours on the way of a number that no number depends on."""

_RUNS = """
analysis claims cli engine.ownership engine.progress engine.runner engine.threads figures
identity.fingerprint identity.sources options output store.blocks store.files store.guard
store.manifest store.owner study testing
"""
RUNS = tuple(f"simstudy.{name}" for name in _RUNS.split())
"""What studies are run with: named by code that runs one, and followed by nobody."""

WHOLE = "(all of it)"  # marks the entry of a module's whole source
CHECKERS = frozenset({"jaxtyping", "beartype", "typeguard"})  # wrappers that compute nothing
STATES: dict[str, Callable[[Any], object]] = {
    "decimal": lambda decimal: repr(decimal.getcontext()).partition(", flags=")[0],
    "mpmath": lambda mpmath: (mpmath.mp.prec, mpmath.mp.pretty),
    "numpy": lambda numpy: sorted(numpy.geterr().items()),
    "torch": lambda torch: (str(torch.get_default_dtype()), torch.is_grad_enabled()),
}
"""Settings of libraries that numbers depend on, where a program may change them."""

_drift: dict[tuple[str, str], str] = {}


def learn_drift(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Note what a run itself changed of what it uses: memories, caches, counters.

    They are taken for what they were from then on, as long as nothing else changes them.
    """
    for key, said in after.items():
        if key in before and before[key] != said:
            _drift[key, said] = before[key]


@dataclass
class Walk:
    """What was found, and what is under way.

    Attributes
    ----------
    found
        Definition, constant, module or library -> hash or version.
    unfollowed
        What has neither source nor content, so that nobody can say whether it changed.
    compiled
        numba's dispatchers that were met, by where they are bound.
    remembering
        Functions that were met and keep what they returned.
    """

    with_exact: bool = False
    without_main: bool = False
    found: dict[str, str] = field(default_factory=dict)
    unfollowed: dict[str, str] = field(default_factory=dict)
    compiled: dict[str, Any] = field(default_factory=dict)
    remembering: list[Any] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    _tokens: dict[int, tuple[Any, str]] = field(default_factory=dict)
    _open: dict[int, Any] = field(default_factory=dict)
    _bound: set[tuple[str, str]] = field(default_factory=set)
    _entries: dict[str, set[str]] = field(default_factory=dict)
    _taking_part: set[str] = field(default_factory=set)
    _whole: set[str] = field(default_factory=set)
    _libraries: set[str] = field(default_factory=set)

    # ------------------------------------------------------------ the outside
    def finish(self) -> None:
        """What modules that take part do beside defining, and the entries in order."""
        done: set[str] = set()
        while self._taking_part - done:
            module = min(self._taking_part - done)
            done.add(module)
            self._effects(module)
        self._files(done)
        self._environment()
        self.found["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
        for key, hashes in self._entries.items():
            self.found[key] = _settled(key, _joint(hashes))
        self.found = dict(sorted(self.found.items()))

    def _files(self, taking_part: set[str]) -> None:
        """Files that were read before any block: as modules were imported, by what is followed."""
        read = reads_at_import(sorted(taking_part)) | reads_by(set(self._entries))
        sources = modules.sources_loaded() if read else frozenset()
        for path, reader in read.items():
            if path not in sources:
                content = Path(path).read_bytes() if Path(path).is_file() else b""
                name = f"{Path(path).name} (read by {reader})"
                self._enter(name, hashlib.sha256(content).hexdigest())

    def _environment(self) -> None:
        """Variables that are named anywhere in code that looks at the environment."""
        if self.attributes & ENVIRONMENT:
            words = {word for text in self.strings for word in re.findall(r"[A-Za-z_]\w*", text)}
            for name in (words & set(os.environ)) - set(THREAD_VARIABLES):  # the engine sets those
                self._enter(f"environment variable {name}", _hash(os.environ[name]))

    # ------------------------------------------------------------ values
    def token(self, value: Any, where: str) -> str:
        """Text that is the same where a value is; code in it is followed."""
        if id(value) in self._tokens:
            return self._tokens[id(value)][1]
        if id(value) in self._open:
            return f"<{type(value).__qualname__} again>"
        if type(value) is str:
            self.strings.add(value)
        self._open[id(value)] = value
        try:
            return plain_token(value, lambda inner: self.token(inner, where))
        except UnknownValueError:
            made = self._object(value, where)
        finally:
            self._open.pop(id(value), None)
        self._tokens[id(value)] = (value, made)
        return made

    def _object(self, value: Any, where: str) -> str:
        if type(value).__module__ == "simstudy.lazy":
            self.library(value._name)
            return f"<module {value._name}>"
        if type(value).__module__ == "simstudy.data.parts" and hasattr(value, "identity_text"):
            return f"<{self.token(type(value), where)} {value.identity_text()}>"
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.ModuleType):
            return self._module_as_value(value)
        if isinstance(value, _BUILT_IN):
            return self._built_in(value, where)
        if isinstance(value, types.MethodType):
            return f"<{self.token(value.__func__, where)} of {self.token(value.__self__, where)}>"
        wrapped = self._wrapped(value, where)
        return self._instance(value, where) if wrapped is None else wrapped

    def _built_in(self, value: Any, where: str) -> str:
        """A function without Python code; one of a compiled module of the project, by its file."""
        module = str(getattr(value, "__module__", None) or "")
        owner = getattr(value, "__self__", None)
        bound = "" if owner is None or isinstance(owner, types.ModuleType) else (
            self.token(owner, where))  # fmt: skip
        if modules.is_project(module):
            self.whole(module)
        else:
            self.library(module)
        return f"<{module}.{value.__qualname__} {bound}>"

    def _wrapped(self, value: Any, where: str) -> str | None:
        """Objects that stand for functions."""
        parts: tuple[Any, ...]
        if isinstance(value, functools.partial | functools.partialmethod):
            parts = (value.func, value.args, value.keywords)
        elif isinstance(value, property):
            parts = (value.fget, value.fset, value.fdel)
        elif isinstance(value, staticmethod | classmethod):
            parts = (value.__func__,)
        elif isinstance(value, functools.cached_property):
            parts = (value.func,)
        elif isinstance(value, functools.singledispatchmethod):
            parts = (value.dispatcher, value.func)
        elif isinstance(value, _CACHED):
            self.remembering.append(value)
            parts = (value.__wrapped__, value.cache_parameters())
        elif isinstance(value, contextvars.ContextVar):
            parts = (value.name, value.get(None))
        elif isinstance(value, threading.local):
            parts = (type(value), dict(vars(value)))
        elif isinstance(value, ctypes.CDLL):
            return self._shared_library(value)
        elif _python_of(value) is not None:
            return self._dispatcher(value, _python_of(value))
        else:
            return None
        inner = ",".join(self.token(one, where) for one in parts)
        return f"<{type(value).__qualname__} {inner}>"

    def _shared_library(self, value: Any) -> str:
        path = Path(str(value._name))
        content = path.read_bytes() if path.is_file() else str(path).encode()
        return f"<shared library {hashlib.sha256(content).hexdigest()}>"

    def _dispatcher(self, value: Any, function: Any) -> str:
        """Compiled code: its function, how it is compiled, and the whole of its module."""
        module = str(function.__globals__.get("__name__", ""))
        self.library("numba")
        self.library("llvmlite")
        if modules.source_file(module) is not None:
            self.whole(module)
        self.compiled[f"{module}.{function.__qualname__}"] = value
        options = sorted((k, repr(v)) for k, v in getattr(value, "targetoptions", {}).items())
        return f"<compiled {self._function(function)} {options}>"

    def _instance(self, value: Any, where: str) -> str:
        """An object by its class and what it holds, wherever its class comes from."""
        kind = type(value)
        name = self.token(kind, where)
        if _is_random(kind):
            return self._without_content(value, where, name)
        state = dict(_state(value))
        skipped = {n for n in state if isinstance(_static(kind, n), functools.cached_property)}
        if isinstance(value, enum.Enum):
            skipped |= {"_value_", "_name_", "__objclass__", "_sort_order_", "__order__"}
            name = f"{name}.{value.name}"
        held = inherited_content(value, lambda inner: self.token(inner, where))
        inner = {n: self.token(one, where) for n, one in state.items() if n not in skipped}
        if inner or isinstance(value, enum.Enum) or modules.is_project(kind.__module__):
            return f"<{name} {held} {inner}>"
        return self._reduced(value, where, name)

    def _reduced(self, value: Any, where: str, name: str) -> str:
        """An object written in C, by what it would be made anew from."""
        try:
            parts = value.__reduce_ex__(4)
        except Exception:  # whatever a library's reduction raises
            return self._without_content(value, where, name)
        if isinstance(parts, str):
            return f"<{name} {parts}>"
        rest = [list(one) if hasattr(one, "__next__") else one for one in parts[1:]]
        return f"<{name} {','.join(self.token(one, where) for one in rest)}>"

    def _without_content(self, value: Any, where: str, name: str) -> str:
        """Where a source says how it was made, that source; else it counts as changed."""
        module = where.partition(":")[0]
        if value is getattr(sys.modules.get("numpy.random"), "mtrand", _NOTHING) or (
            value is _global_generator()
        ):
            return f"<{name} of everybody>"
        if modules.source_file(module) is not None:
            self.whole(module)
            return f"<{name}>"
        self.unfollowed[where.replace(":", ".")] = name.strip("<>")
        return f"<{name} {'' if self.without_main else secrets.token_hex(8)}>"

    # ------------------------------------------------------------ code
    def _function(self, function: types.FunctionType) -> str:
        module = str(function.__globals__.get("__name__", ""))
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None and _is_checker(function):
            return self.token(wrapped, module)
        name = f"{module}.{function.__code__.co_qualname}"
        if _is_silent(module) or module.startswith(RUNS):
            return f"<{name}>"
        if not _is_project_function(function, module):
            return self._foreign_function(function, module)
        code = modules.read_function(function.__code__, module)
        self._tokens[id(function)] = (function, f"<{name} {code.digest[:16]}>")
        self._takes_part(module)
        made_with = self._made_with(function, f"{module}:{function.__code__.co_qualname}")
        refers = self.code(code, function.__globals__, module)
        own = _hash(f"{code.digest}{made_with}{refers}")
        self._enter(name, own)
        return f"<{name} {own}>"

    def _made_with(self, function: types.FunctionType, where: str) -> str:
        """Defaults, closed-over values and attributes."""
        cells = [_content(cell) for cell in function.__closure__ or ()]
        parts = (function.__defaults__, function.__kwdefaults__, cells, vars(function))
        return "|".join(self.token(one, where) for one in parts)

    def _foreign_function(self, function: Any, module: str) -> str:
        """A library's function by name; one that a decorator made, with what it holds."""
        self.library(module)
        name = f"{module}.{function.__code__.co_qualname}"
        cells = [_content(cell) for cell in function.__closure__ or ()]
        held = [*cells, *vars(function).values()]
        is_known = module.split(".")[0] in modules.WELL_KNOWN or modules.is_standard(module)
        if is_known:
            held = [one for one in held if _is_code(one) or _has_code(one) or _is_users(one)]
        self._tokens[id(function)] = (function, f"<{name}>")
        return f"<{name} {','.join(self.token(one, name) for one in held)}>"

    def code(self, code: Code, names: Mapping[str, Any], module: str) -> str:
        """Follow what some code reads; gives what its names are bound to."""
        self.attributes |= code.attributes | {chain[0] for chain in code.chains}
        self.strings |= code.strings
        refers = [self.chain(chain, names, module) for chain in code.chains]
        for one in code.imports:
            refers += self.import_inside(one, module)
        if self._is_dynamic(code):
            self._dynamic(code, module)
        return "|".join(refers)

    def chain(self, chain: tuple[str, ...], names: Mapping[str, Any], module: str) -> str:
        """A global name and the attributes read off it: through modules, to what is used."""
        name, *rest = chain
        if name not in names:
            return ""
        value, said = names[name], ".".join(chain)
        while rest and isinstance(value, types.ModuleType) and hasattr(value, rest[0]):
            self._takes_part(value.__name__)
            self.library(value.__name__)
            module, name, value = value.__name__, rest[0], getattr(value, rest[0])
            rest = rest[1:]
        if isinstance(value, types.ModuleType):
            return f"{said} is {self._module_as_value(value)}"
        return f"{said} is {self.binding(module, name, value)}"

    def binding(self, module: str, name: str, value: Any) -> str:
        """What a name is bound to: code by reference, a constant as an entry of its own."""
        if not modules.is_project(module):
            return self._library_name(module, name, value)
        if _is_code(value):
            return self._reference(value, f"{module}:{name}")
        is_memory = _is_ours(module) and name.startswith("_") and isinstance(value, _FILLED)
        if is_memory or _is_silent(module) or module.startswith(RUNS):
            return name
        kind = type(value).__module__
        is_library = not (modules.is_standard(kind) or modules.is_project(kind))
        imported = modules.bound_by_import(module, name, value) if is_library else ""
        if imported:
            self.library(imported)
            return imported
        if (module, name) not in self._bound:
            self._bound.add((module, name))
            self._takes_part(module)
            self._enter(f"{module}.{name}", _hash(self.token(value, f"{module}:{name}")))
        return f"{module}.{name}"

    def _library_name(self, module: str, name: str, value: Any) -> str:
        """A library's own name says what it is, unless a program put something else there."""
        if _is_code(value) and _is_users_code(value):
            return self._reference(value, f"{module}:{name}")
        is_plain = isinstance(value, int | float | complex | str | tuple)
        return f"{name} {value!r}" if is_plain and len(repr(value)) < 200 else name

    def _reference(self, value: Any, where: str) -> str:
        """Which code it is; what it does is in the entry of that code, if its name is its own."""
        value = _unchecked(value)
        token = self.token(value, where)
        if isinstance(value, types.FunctionType) and _is_at_its_name(value):
            return token.rpartition(" ")[0] or token
        return token

    # ------------------------------------------------------------ classes
    def _class(self, kind: type) -> str:
        module = str(kind.__module__)
        name = f"{module}.{kind.__qualname__}"
        self._tokens[id(kind)] = (kind, f"<{name}>")
        if _is_silent(module) or module.startswith(RUNS):
            return f"<{name}>"
        if not modules.is_project(module) or module.startswith(modules.GENERATED[0]):
            self.library(module)
            return f"<{name}>"
        self._takes_part(module)
        if type(kind).__module__.startswith("numba."):  # compiled as a whole
            self.whole(module)
            return f"<{name}>"
        bases = [self.token(one, module) for one in kind.__bases__ if one is not object]
        bases += [] if type(kind) is type else [self.token(type(kind), module)]
        members = [f"{n}={self._member(kind, n, v)}" for n, v in self._members(kind)]
        own = _hash("|".join([*bases, *members, *self._fields(kind)]))
        self._enter(name, own)
        return f"<{name} {own}>" if "<locals>" in name else f"<{name}>"

    def _members(self, kind: type) -> Iterator[tuple[str, Any]]:
        own = {n: v for n, v in vars(kind).items() if n not in MADE_BY_PYTHON and not _is_made(v)}
        if isinstance(kind, enum.EnumMeta):
            members: Mapping[str, Any] = kind.__members__
            own = {n: v for n, v in own.items() if n not in members}
            own |= {n: (one.value, dict(_extra(one))) for n, one in members.items()}
            return iter(own.items())  # their order is theirs
        if "exact" in own and not self.with_exact:
            own.pop("exact")
        parameters = vars(kind).get("__dataclass_params__")
        if parameters is not None and parameters.init:
            own.pop("__init__", None)
        slots = vars(kind).get("__slots__", ())  # descriptors of slots say nothing
        own = {n: v for n, v in own.items() if not isinstance(v, types.MemberDescriptorType)}
        return iter(sorted({**own, "__slots__": tuple(slots)}.items()))

    def _member(self, kind: type, name: str, value: Any) -> str:
        """A method counts as part of its class; anything else by what it is."""
        where = f"{kind.__module__}:{kind.__qualname__}.{name}"
        plain = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if not isinstance(plain, types.FunctionType) or not _belongs(plain, kind):
            return self.token(value, where)
        plain = _unchecked(plain)
        module = str(plain.__globals__.get("__name__", ""))
        code = modules.read_function(plain.__code__, module)
        self._tokens[id(plain)] = (plain, f"<{kind.__qualname__}.{name}>")
        refers = self.code(code, plain.__globals__, module)
        made_with = self._made_with(plain, where)
        return f"{type(value).__name__} {code.digest} {made_with} {refers}"

    def _fields(self, kind: type) -> list[str]:
        if not is_dataclass(kind):
            return []
        where = f"{kind.__module__}:{kind.__qualname__}"
        shown = [repr(vars(kind).get("__dataclass_params__"))]
        made: Any = kind
        for one in fields(made):
            how = (one.init, one.kw_only, one.compare, one.hash)
            parts: tuple[Any, ...] = (one.default, one.default_factory, dict(one.metadata))
            default = [self.token(_unless_missing(part), where) for part in parts]
            shown.append(f"{one.name} {how} {default}")
        return shown

    # ------------------------------------------------------------ modules
    def import_inside(self, one: Import, module: str) -> list[str]:
        """An import statement inside a function."""
        base = modules.absolute(module, one.module, one.level)
        if _is_silent(base) or base.startswith(RUNS):
            return [base]
        if not modules.is_project(base):
            self.library(base)
            return [base]
        if (_is_ours(base) and modules.is_kernel(base)) or not one.names:
            self.whole(base)
            return [base]
        loaded = _loaded(base)
        return [self._imported_name(loaded, base, name) for name in one.names]

    def _imported_name(self, loaded: Any, base: str, name: str) -> str:
        below = f"{base}.{name}"
        if not hasattr(loaded, name) or isinstance(getattr(loaded, name), types.ModuleType):
            if modules.is_project(below):
                self.whole(below)
            else:
                self.library(below)
            return below
        return self.chain((name,), vars(loaded), base)

    def _module_as_value(self, module: types.ModuleType) -> str:
        """A module handed on as a value: nobody can say what of it is used."""
        name = module.__name__
        if modules.is_project(name):
            self.whole(name)
        else:
            self.library(name)
        return f"<module {name}>"

    def library(self, module: str) -> None:
        """Count a module from elsewhere by what it belongs to, and by its settings."""
        top = module.split(".")[0]
        if top in self._libraries or modules.is_project(module):
            return
        self._libraries.add(top)
        known = modules.library(module)
        if known:
            self.found[known[0]] = known[1]
        if top in STATES and top in sys.modules:
            self._enter(f"{top} (its settings)", _hash(repr(STATES[top](sys.modules[top]))))

    def whole(self, module: str) -> None:
        """Count all of a module: what its source says, what is loaded, and what it imports."""
        if module in self._whole or self._is_left_out(module):
            return
        self._whole.add(module)
        self._takes_part(module)
        digest = modules.whole_digest(module)
        if not digest:
            self._without_source(module)
            return
        self._enter(f"{module} {WHOLE}", digest)
        for one in modules.libraries_of(module):
            self.library(one)
        for one in modules.imported_modules(module):
            if one != "simstudy" and (not _is_ours(one) or modules.is_kernel(one)):
                self.whole(one)
        if not (_is_ours(module) and modules.is_kernel(module)):
            self._loaded_names(module)

    def _without_source(self, module: str) -> None:
        if module == "__main__":
            self.unfollowed[module] = "names looked up by text"
            self._enter(module, secrets.token_hex(8))

    def _loaded_names(self, module: str) -> None:
        """What a module's names are bound to now, as far as that is code or plain data."""
        loaded = _loaded(module)
        for name, value in sorted(vars(loaded).items()) if loaded else ():
            if name.startswith("__") or isinstance(value, types.ModuleType):
                continue
            if _is_code(value) and modules.is_project(_home(value)):
                self.token(value, f"{module}:{name}")
            elif _is_plain(value):
                self.binding(module, name, value)

    def _takes_part(self, module: str) -> None:
        if modules.is_project(module) and not self._is_left_out(module):
            self._taking_part.add(module)

    def _is_left_out(self, module: str) -> bool:
        left_out = self.without_main and module == "__main__"
        return left_out or _is_silent(module) or module.startswith(RUNS)

    def _effects(self, module: str) -> None:
        """Statements that a module runs when it is imported, and the modules that it imports."""
        if _is_ours(module):
            return  # its modules only define; a test says so
        loaded = sys.modules.get(module)
        if loaded is None or modules.source_file(module) is None:
            return
        for number, one in enumerate(modules.effects(module)):
            code = read_code(one)
            refers = self.code(code, vars(loaded), module)
            self._enter(f"{module} (statement {number + 1})", _hash(code.digest + refers))
        differs = modules.loaded_otherwise(module)
        if differs:
            self._enter(f"{module} (edited after it was loaded)", differs)
        for name in modules.libraries_of(module, unused_only=True):
            self.library(name)
        for name in modules.imported_modules(module, at_import_only=True):
            if name in sys.modules:
                self._takes_part(name)

    def _is_dynamic(self, code: Code) -> bool:
        heads = {chain[0] for chain in code.chains}
        named = heads | code.attributes
        looks_up = ("sys", "modules") in {chain[:2] for chain in code.chains}
        by_text = code.attributes & BY_TEXT and any("@" in one for one in code.strings)
        return bool(
            looks_up or by_text or heads & UNFOLLOWED_BUILTINS or named & UNFOLLOWED_ATTRIBUTES
        )

    def _dynamic(self, code: Code, module: str) -> None:
        """Names found by text: the module, those it may mean, and those beside it."""
        if self.without_main and module == "__main__":
            return
        self.whole(module)
        for name in code.strings:
            if re.fullmatch(r"[A-Za-z_][\w.]*", name) and name in sys.modules:
                self._named_module(name)
        path = modules.source_file(module)
        if path is not None and not _is_ours(module):
            for other in sorted(path.parent.rglob("*.py")):
                content = hashlib.sha256(other.read_bytes()).hexdigest()
                self._enter(f"{other.relative_to(path.parent)} beside {module}", content)

    def _named_module(self, name: str) -> None:
        if modules.is_project(name):
            self.whole(name)
        else:
            self.library(name)

    def _enter(self, key: str, digest: str) -> None:
        self._entries.setdefault(key, set()).add(digest)


# ---------------------------------------------------------------- small questions
_NOTHING = object()
_FILLED = (dict, list, set)  # of ours with a name of their own: what a process keeps at hand
_CACHED = type(functools.cache(lambda: None))
_BUILT_IN = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.MethodWrapperType, types.ClassMethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType,
)  # fmt: skip


def _is_silent(module: str) -> bool:
    return module in SILENT or module.startswith("simstudy.lazy.")


def _is_ours(module: str) -> bool:
    return module == "simstudy" or module.startswith("simstudy.")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _joint(hashes: Iterable[str]) -> str:
    """One hash for a key; functions of one name (of a factory, say) count together."""
    several = sorted(hashes)
    return "#" + (several[0][:16] if len(several) == 1 else _hash("|".join(several)))


def _settled(key: str, said: str) -> str:
    """What an entry was before runs of this process changed it."""
    seen = set()
    while (key, said) in _drift and said not in seen:
        seen.add(said)
        said = _drift[key, said]
    return said


def _loaded(module: str) -> Any:
    """A project's module, which simulate would import anyway; None where it cannot be."""
    try:
        return import_module(module)
    except Exception:  # whatever its own statements raise: simulate will say so
        return None


def _python_of(value: Any) -> types.FunctionType | None:
    """The function that numba compiled, if that is what a value is."""
    if not type(value).__module__.startswith("numba."):
        return None
    inner = getattr(value, "_dispatcher", value)
    names = ("py_func", "_defn", "_pyfunc")
    found = (getattr(inner, name, None) for name in names)
    return next((one for one in found if isinstance(one, types.FunctionType)), None)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is not bound yet
        return None


_CODE = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, functools.partial,
    _CACHED,
)  # fmt: skip


def _is_code(value: Any) -> bool:
    wraps = _python_of(value) is not None or "__wrapped__" in _dictionary(value)
    return wraps or isinstance(value, _CODE)


def _home(value: Any) -> str:
    """The module in which code was written."""
    names = getattr(value, "__globals__", {})
    return str(names.get("__name__") or getattr(value, "__module__", "") or "")


def _dictionary(value: Any) -> Mapping[str, Any]:
    """What an object stores, without asking the object: it might import what it stands for."""
    try:
        found: Any = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, Mapping) else {}


def _has_code(value: Any) -> bool:
    """Whether a container holds functions or classes."""
    parts = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list | tuple | set | frozenset) and any(map(_is_code, parts))


def _is_plain(value: Any) -> bool:
    """Whether a value is data through and through, whose content is the same in every process."""
    try:
        plain_token(value, lambda inner: str(_is_plain(inner) or _refuse(inner)))
    except (UnknownValueError, RecursionError):
        return False
    return True


def _refuse(value: Any) -> str:
    raise UnknownValueError(repr(type(value)))


def _is_project_function(function: types.FunctionType, module: str) -> bool:
    """By its module; where that says nothing, as for code that was executed, by its file."""
    if modules.is_project(module):
        return True
    if modules.is_known(module):
        return False
    file = function.__code__.co_filename
    return modules.is_project_file(file) if not file.startswith("<") else "<frozen" not in file


def _is_users_code(value: Any) -> bool:
    """Whether code is the project's, by its module or, where it was executed, by its file."""
    home = _home(value)
    if isinstance(value, types.FunctionType):
        return _is_project_function(value, home)
    return modules.is_project(home)


def _is_users(value: Any) -> bool:
    """Whether a value is an object of a class of the project."""
    return modules.is_project(type(value).__module__)


def _is_at_its_name(function: types.FunctionType) -> bool:
    """Whether a function is what its module's name of it means: then the name is enough."""
    name = function.__code__.co_qualname
    found = function.__globals__.get(name)
    return "<" not in name and (_unchecked(found) is function or "." in name)


def _is_random(kind: type) -> bool:
    return kind.__module__.startswith("numpy.random") and not issubclass(kind, type)


def _global_generator() -> Any:
    mtrand = sys.modules.get("numpy.random.mtrand")
    return getattr(mtrand, "_rand", _NOTHING)


def _state(value: Any) -> Iterator[tuple[str, Any]]:
    """Fields of an instance by name, in `__dict__` and in slots."""
    yield from sorted((str(name), one) for name, one in _dictionary(value).items())
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            hidden = name.startswith("__") and not name.endswith("__")
            name = f"_{kind.__name__.lstrip('_')}{name}" if hidden else name
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield name, getattr(value, name)


def _extra(member: Any) -> Iterator[tuple[str, Any]]:
    """What an enum's member has beside its name and value."""
    own = ("_value_", "_name_", "__objclass__", "_sort_order_")
    return ((n, v) for n, v in sorted(_dictionary(member).items()) if n not in own)


def _static(kind: type, name: str) -> Any:
    return next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), None)


def _is_made(value: Any) -> bool:
    """Whether Python wrote a method: those of a dataclass follow from its fields."""
    made = getattr(value, "__wrapped__", value)
    if not isinstance(made, types.FunctionType):
        return False
    is_tuples = str(made.__globals__.get("__name__", "")).startswith(modules.GENERATED[0])
    return is_tuples or made.__code__.co_qualname.startswith("__create_fn__")


def _belongs(function: types.FunctionType, kind: type) -> bool:
    name: str = _unchecked(function).__code__.co_qualname
    return name.startswith(f"{kind.__qualname__}.")


def _is_checker(function: types.FunctionType) -> bool:
    top = str(function.__globals__.get("__name__", "")).split(".")[0]
    return top in CHECKERS or function.__code__.co_filename.startswith("<@beartype")


def _unchecked(function: Any) -> Any:
    while isinstance(function, types.FunctionType) and _is_checker(function):
        if not hasattr(function, "__wrapped__"):
            break
        function = function.__wrapped__
    return function


def _unless_missing(default: Any) -> Any:
    return None if type(default).__name__ == "_MISSING_TYPE" else (default,)
