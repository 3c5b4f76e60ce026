"""A walk over everything that a class or function uses, as it is loaded.

Definitions are followed through the names that their code reads, to the objects bound to these
names now. So it does not matter how a name came to be bound: by an import under another name, by
a condition, a loop, a decorator, a table that another module filled, or a notebook's cell. What a
walk over live objects cannot see (statements that change something elsewhere, names looked up by
text, machine code) counts with the whole source of its module, and what has neither a source nor
a content counts as changed.
"""

import enum
import functools
import hashlib
import os
import re
import secrets
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from simstudy.fingerprint import modules
from simstudy.fingerprint.code import Code, Import, read_code
from simstudy.fingerprint.values import UnknownValueError, plain_token
from simstudy.reads import reads_at_import
from simstudy.threads import VARIABLES

UNFOLLOWED_BUILTINS = frozenset({"globals", "eval", "exec", "__import__", "compile"})
_LOOK_UPS = """
import_module __subclasses__ __globals__ __builtins__ spec_from_file_location exec_module
load_module run_path run_module iter_modules find_loader
"""
UNFOLLOWED_ATTRIBUTES = frozenset(_LOOK_UPS.split())
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
        "simstudy.lazy", "simstudy.reads", "simstudy.shapes", "simstudy.stats._compile",
        "simstudy.thread_warnings",
    }
)  # fmt: skip
"""Modules of ours on the way of a number that no number depends on."""

OURS = ("simstudy.stats.", "simstudy.dgps.", "simstudy.attempt", "simstudy.data")
WHOLE = "(all of it)"  # marks the entry of a module's whole source
CHECKERS = frozenset({"jaxtyping", "beartype", "typeguard"})  # wrappers that compute nothing


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
    """

    with_exact: bool = False
    without_main: bool = False
    found: dict[str, str] = field(default_factory=dict)
    unfollowed: dict[str, str] = field(default_factory=dict)
    compiled: dict[str, Any] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    _tokens: dict[int, tuple[Any, str]] = field(default_factory=dict)
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
        for path, reader in reads_at_import(sorted(done)).items():
            content = hashlib.sha256(Path(path).read_bytes() if Path(path).is_file() else b"")
            self._enter(f"{Path(path).name} (read as {reader} is imported)", content.hexdigest())
        self.found["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
        self.found |= {key: _joint(hashes) for key, hashes in self._entries.items()}
        self.found = dict(sorted(self.found.items()))

    # ------------------------------------------------------------ values
    def token(self, value: Any, where: str) -> str:
        """Text that is the same where a value is; code in it is followed."""
        if id(value) in self._tokens:
            return self._tokens[id(value)][1]
        try:
            return plain_token(value, lambda inner: self.token(inner, where))
        except UnknownValueError:
            pass
        self._tokens[id(value)] = (value, f"<{type(value).__qualname__} again>")
        made = self._object(value, where)
        self._tokens[id(value)] = (value, made)
        return made

    def _object(self, value: Any, where: str) -> str:
        if type(value).__module__ == "simstudy.lazy":
            self.library(value._name)
            return f"<module {value._name}>"
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.ModuleType):
            return self._module_as_value(value)
        if isinstance(value, types.BuiltinFunctionType | types.MethodDescriptorType):
            self.library(str(value.__module__ or ""))
            owner = getattr(value, "__self__", None)
            bound = "" if owner is None or isinstance(owner, types.ModuleType) else (
                self.token(owner, where))  # fmt: skip
            return f"<{value.__module__}.{value.__qualname__} {bound}>"
        if isinstance(value, types.MethodType):
            return f"<{self.token(value.__func__, where)} of {self.token(value.__self__, where)}>"
        wrapped = self._wrapped(value, where)
        return self._instance(value, where) if wrapped is None else wrapped

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
        elif _python_of(value) is not None:
            return self._dispatcher(value, _python_of(value))
        elif isinstance(_dictionary(value).get("__wrapped__"), types.FunctionType):
            parts = (value.__wrapped__,)
        else:
            return None
        self.library(type(value).__module__)
        inner = ",".join(self.token(one, where) for one in parts)
        return f"<{type(value).__qualname__} {inner}>"

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
        kind = type(value)
        if isinstance(value, enum.Enum):
            return f"<{self.token(kind, where)}.{value.name}>"
        if not modules.is_project(kind.__module__) or isinstance(value, type):
            return self._foreign(value, where)
        state = dict(_state(value))
        skipped = {n for n in state if isinstance(_static(kind, n), functools.cached_property)}
        memories = _plain_containers(state)
        skipped |= memories & modules.mutated_names(kind.__module__) if memories else memories
        if skipped & set(state):
            self.whole(kind.__module__)
        inner = {name: self.token(one, where) for name, one in state.items() if name not in skipped}
        return f"<{self.token(kind, where)} {inner}>"

    def _foreign(self, value: Any, where: str) -> str:
        """An object of a library, by what it was made of, as pickling tells."""
        kind = type(value)
        self.library(kind.__module__)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if kind.__module__.split(".")[0] == "numpy" and "random" in kind.__module__:
            return self._without_content(where, name)
        digest = _pickled(value)
        return f"<{name} {digest}>" if digest else self._without_content(where, name)

    def _without_content(self, where: str, name: str) -> str:
        """Where a source says how it was made, that source; else it counts as changed."""
        module = where.partition(":")[0]
        if modules.source_file(module) is not None:
            self.whole(module)
            return f"<{name}>"
        self.unfollowed[where.replace(":", ".")] = name
        return f"<{name} {secrets.token_hex(8)}>"

    # ------------------------------------------------------------ code
    def _function(self, function: types.FunctionType) -> str:
        module = str(function.__globals__.get("__name__", ""))
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None and _is_checker(function):
            return self.token(wrapped, module)
        if _is_silent(module):
            return f"<{module}.{function.__code__.co_qualname}>"
        code = modules.read_function(function.__code__, module)
        if not modules.is_project(module) and not _is_in_cell(function):
            return self._foreign_function(function, module, wrapped)
        key = f"{module}.{function.__code__.co_qualname}"
        short = f"{key} {code.digest[:16]}"
        self._tokens[id(function)] = (function, f"<{short}>")
        self._takes_part(module)
        made_with = self._made_with(function, f"{module}:{function.__code__.co_qualname}")
        refers = self.code(code, function.__globals__, module)
        own = _hash(f"{code.digest}{made_with}{refers}")
        self._enter(key, own)
        return f"<{key} {own}>"

    def _made_with(self, function: types.FunctionType, where: str) -> str:
        """Defaults, closed-over values and attributes."""
        cells = [_content(cell) for cell in function.__closure__ or ()]
        extra = {n: v for n, v in vars(function).items() if n != "__wrapped__"}
        parts = (function.__defaults__, function.__kwdefaults__, cells, extra)
        return "|".join(self.token(one, where) for one in parts)

    def _foreign_function(self, function: Any, module: str, wrapped: Any) -> str:
        """A library's function by name; one that a decorator made, with what it holds."""
        self.library(module)
        name = f"{module}.{function.__code__.co_qualname}"
        if wrapped is None and not _holds_functions(function):
            return f"<{name}>"
        cells = [_content(cell) for cell in function.__closure__ or ()]
        held = [one for one in cells if not isinstance(one, types.CodeType)]
        inner = ",".join(self.token(one, name) for one in held if _is_code_or_plain(one))
        return f"<{name} {'' if wrapped is None else self.token(wrapped, name)} {inner}>"

    def code(self, code: Code, names: Mapping[str, Any], module: str) -> str:
        """Follow what some code reads; gives what its names are bound to."""
        self.attributes |= code.attributes
        refers = [self.chain(chain, names, module) for chain in code.chains]
        for one in code.imports:
            refers += self.import_inside(one, module)
        if self._is_dynamic(code):
            self._dynamic(code, module)
        if code.attributes & {"environ", "getenv"} or any("environ" in c for c in code.chains):
            named = (code.strings & set(os.environ)) - set(VARIABLES)  # the engine sets those
            refers += [f"{n}={os.environ[n]!r}" for n in sorted(named)]
        return "|".join(refers)

    def chain(self, chain: tuple[str, ...], names: Mapping[str, Any], module: str) -> str:
        """A global name and the attributes read off it: through modules, to what is used."""
        name, *rest = chain
        if name not in names:
            return ""
        value, said = names[name], [name]
        while rest and isinstance(value, types.ModuleType) and hasattr(value, rest[0]):
            self._takes_part(value.__name__)
            self._library_of(value)
            module, name, value = value.__name__, rest[0], getattr(value, rest[0])
            rest = rest[1:]
        if isinstance(value, types.ModuleType):
            return f"{'.'.join(said)} is {self._module_as_value(value)}"
        return f"{'.'.join(chain)} is {self.binding(module, name, value)}"

    def binding(self, module: str, name: str, value: Any) -> str:
        """What a name is bound to: code by reference, a constant as an entry of its own."""
        if not modules.is_project(module):  # a library's own name says what it is, unless replaced
            is_replaced = _is_code(value) and modules.is_project(_home(value))
            return self._reference(value, f"{module}:{name}") if is_replaced else name
        if _is_code(value):
            return self._reference(value, f"{module}:{name}")
        if (module, name) not in self._bound:
            self._bound.add((module, name))
            self._takes_part(module)
            self._constant(module, name, value)
        return f"{module}.{name}"

    def _constant(self, module: str, name: str, value: Any) -> None:
        is_memory = isinstance(value, dict | list | set) and not _has_code(value)
        if is_memory and name in modules.mutated_names(module):
            self.whole(module)  # what a run itself changes has no content that lasts
        else:
            self._enter(f"{module}.{name}", _hash(self.token(value, f"{module}:{name}")))

    def _reference(self, value: Any, where: str) -> str:
        """Which code it is; what it does is in the entry of that code."""
        value = _unchecked(value)
        token = self.token(value, where)
        if isinstance(value, types.FunctionType) and not value.__closure__:
            return token.rpartition(" ")[0] or token
        return token

    # ------------------------------------------------------------ classes
    def _class(self, kind: type) -> str:
        module = str(kind.__module__)
        name = f"{module}.{kind.__qualname__}"
        self._tokens[id(kind)] = (kind, f"<{name}>")
        if _is_silent(module):
            return f"<{name}>"
        if not modules.is_project(module) or module.startswith(modules.GENERATED[0]):
            self.library(module)
            return f"<{name}>"
        self._takes_part(module)
        bases = [self.token(one, module) for one in kind.__bases__ if one is not object]
        bases += [] if type(kind) is type else [self.token(type(kind), module)]
        members = [f"{n}={self._member(kind, n, v)}" for n, v in self._members(kind)]
        self._enter(name, _hash("|".join([*bases, *members, *self._fields(kind)])))
        return f"<{name}>"

    def _members(self, kind: type) -> Iterator[tuple[str, Any]]:
        own = {n: v for n, v in vars(kind).items() if n not in MADE_BY_PYTHON}
        if isinstance(kind, enum.EnumMeta):
            members: Mapping[str, Any] = kind.__members__
            own = {n: v for n, v in own.items() if n not in members and not _is_made(v)}
            own |= {n: one.value for n, one in members.items()}
            return iter(own.items())  # their order is theirs
        if "exact" in own and not self.with_exact:
            own.pop("exact")
        parameters = vars(kind).get("__dataclass_params__")
        if parameters is not None and parameters.init:
            own.pop("__init__", None)
        changing = _plain_containers(own)
        changing &= modules.mutated_names(kind.__module__) if changing else set()
        if changing:
            self.whole(kind.__module__)
        return iter(sorted((n, v) for n, v in own.items() if n not in changing and not _is_made(v)))

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
            parts: tuple[Any, ...] = (one.default, one.default_factory)
            default = [self.token(_unless_missing(part), where) for part in parts]
            shown.append(f"{one.name} {how} {default}")
        return shown

    # ------------------------------------------------------------ modules
    def import_inside(self, one: Import, module: str) -> list[str]:
        """An import statement inside a function."""
        base = modules.absolute(module, one.module, one.level)
        if _is_silent(base):
            return [base]
        if not modules.is_project(base):
            self.library(base)
            return [base]
        if modules.is_kernel(base) or not one.names:
            self.whole(base)
            return [base]
        loaded = import_module(base)
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

    def _library_of(self, module: types.ModuleType) -> None:
        if not modules.is_project(module.__name__):
            self.library(module.__name__)

    def library(self, module: str) -> None:
        """Count a module from elsewhere by what it belongs to."""
        top = module.split(".")[0]
        if top in self._libraries or modules.is_project(module):
            return
        self._libraries.add(top)
        known = modules.library(module)
        if known:
            self.found[known[0]] = known[1]

    def whole(self, module: str) -> None:
        """Count all that a module's source says, and the modules that it imports."""
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
            if one != "simstudy" and (not one.startswith("simstudy.") or modules.is_kernel(one)):
                self.whole(one)
        self._names_of(module)

    def _without_source(self, module: str) -> None:
        if module == "__main__":
            self.unfollowed[module] = "names looked up by text"
            self._enter(module, secrets.token_hex(8))

    def _names_of(self, module: str) -> None:
        """Follow, in a loaded module, what its source names from simstudy."""
        code, loaded = modules.whole_code(module), sys.modules.get(module)
        if code is not None and loaded is not None and not modules.is_kernel(module):
            ours = {n: v for n, v in list(vars(loaded).items()) if _is_ours(v)}
            self.code(_without_imports(read_code(code)), ours, module)

    def _takes_part(self, module: str) -> None:
        if modules.is_project(module) and not self._is_left_out(module):
            self._taking_part.add(module)

    def _is_left_out(self, module: str) -> bool:
        return _is_silent(module) or (self.without_main and module == "__main__")

    def _effects(self, module: str) -> None:
        """Statements that a module runs when it is imported, and the modules that it imports."""
        if module == "simstudy" or module.startswith("simstudy."):
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
        for name in modules.imported_modules(module):
            if name in sys.modules:
                self._takes_part(name)

    def _is_dynamic(self, code: Code) -> bool:
        heads = {chain[0] for chain in code.chains}
        looks_up = ("sys", "modules") in {chain[:2] for chain in code.chains}
        return looks_up or bool(
            heads & UNFOLLOWED_BUILTINS or code.attributes & UNFOLLOWED_ATTRIBUTES
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
        if path is not None and not module.startswith("simstudy"):
            for other in sorted(path.parent.glob("*.py")):
                content = hashlib.sha256(other.read_bytes()).hexdigest()
                self._enter(f"{other.name} beside {module}", content)

    def _named_module(self, name: str) -> None:
        if modules.is_project(name):
            self.whole(name)
        else:
            self.library(name)

    def _enter(self, key: str, digest: str) -> None:
        self._entries.setdefault(key, set()).add(digest)


# ---------------------------------------------------------------- small questions
def _is_silent(module: str) -> bool:
    return module in SILENT or module.startswith("simstudy.lazy.")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _joint(hashes: Iterable[str]) -> str:
    """One hash for a key; functions of one name (of a factory, say) count together."""
    several = sorted(hashes)
    return "#" + (several[0][:16] if len(several) == 1 else _hash("|".join(several)))


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


def _is_code(value: Any) -> bool:
    wraps = _python_of(value) is not None or "__wrapped__" in _dictionary(value)
    return wraps or isinstance(
        value, types.FunctionType | types.BuiltinFunctionType | types.MethodType | type
    ) or (isinstance(value, functools.partial) and False)  # fmt: skip


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
    """Whether a container holds functions or classes: a table of them is no memory of a run."""
    if isinstance(value, Mapping):
        return any(_is_code(one) or _has_code(one) for one in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return any(_is_code(one) or _has_code(one) for one in value)
    return False


def _plain_containers(state: Mapping[str, Any]) -> set[str]:
    return {n for n, v in state.items() if isinstance(v, dict | list | set) and not _has_code(v)}


def _state(value: Any) -> Iterator[tuple[str, Any]]:
    """Fields of an instance by name, in `__dict__` and in slots."""
    yield from sorted(getattr(value, "__dict__", {}).items())
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name) and name not in ("__dict__", "__weakref__"):
                yield name, getattr(value, name)


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


def _is_in_cell(function: types.FunctionType) -> bool:
    return function.__globals__.get("__name__") == "__main__"


def _holds_functions(function: types.FunctionType) -> bool:
    cells = (_content(cell) for cell in function.__closure__ or ())
    return any(_is_code(one) or _has_code(one) for one in cells)


def _is_code_or_plain(value: Any) -> bool:
    return _is_code(value) or _has_code(value) or isinstance(value, str | int | float | bool)


def _unless_missing(default: Any) -> Any:
    return None if type(default).__name__ == "_MISSING_TYPE" else (default,)


def _is_ours(value: Any) -> bool:
    """Whether it is code of ours that a scenario may use; what studies are run with is not."""
    return _is_code(value) and str(getattr(value, "__module__", "")).startswith(OURS)


def _without_imports(code: Code) -> Code:
    return code._replace(imports=())


def _pickled(value: Any) -> str:
    """Hash of an object as it would be sent to another process; empty where it cannot be."""
    import pickle

    try:
        return hashlib.sha256(pickle.dumps(value, 4)).hexdigest()[:16]
    except Exception:  # whatever a library's reduction raises
        return ""
