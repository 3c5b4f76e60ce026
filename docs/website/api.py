"""API pages: replaces `{api} module` blocks by autodoc directives and cleans docstrings.

A package that re-exports names of its modules becomes one list of these names. A package of
modules, such as those of `simstudy.documents.stats`, has one section per public module.
"""

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from pygments.lexers.special import TextLexer

import simstudy
from website.fences import fenced

API_BLOCK = re.compile(r"^```\{api\} ([\w.]+)\n```$", re.MULTILINE)
MARKS = re.compile(r"(?<![\\\\*])(?:\*(?=\w)(?![\w .,-]+\*)|\|)")
QUOTING = re.compile(r"""^(:rtype: )(.*["'].*)$""")
QUALIFIED = re.compile(r"(?<![\w.~'\"])(?=[a-z_]\w*\.\w)")
APART = re.compile(r"(?<=[^\s\w`\\(\[{<'\"/:-])``(?=\w)")  # docutils needs a separator here
INHERITED = "   :inherited-members: Exception, Generic, Mapping, Protocol, Sequence, list, tuple"
RULE = re.compile(r"^=+  +=[= ]*$")
TYPE = ":type: "
TYPES = (":type ", ":vartype ")
SHARED = re.compile(r"^:(?:ivar|vartype) \w+(?:, \w+)+:")  # read as a type and a name
ENTRY = re.compile(r"^    (\w+)  +(\S.*)$")


def autodoc_directives(name: str) -> str:
    """Return the autodoc directives of a module or package, as reStructuredText."""
    module = importlib.import_module(name)
    names = [
        each
        for each in reexported_names(module)
        if module is simstudy or not _is_ours(module, each)
    ]
    if names:
        members = f"   :members: {', '.join(names)}"
        return _automodule(name, members, "   :imported-members:", INHERITED)
    below = [
        f"{name}.{found.name}"
        for found in pkgutil.iter_modules(getattr(module, "__path__", []))
        if not found.name.startswith("_")
    ]
    if not below:
        return _automodule(name, "   :members:")
    return "\n\n".join([_automodule(name), *map(_section, below)])


def reexported_names(module: ModuleType) -> list[str]:
    """Return the public names that a package re-exports from its own modules."""
    below = f"{module.__name__}."
    taken = [
        name
        for name, value in vars(module).items()
        if name[0] != "_" and str(getattr(value, "__module__", "")).startswith(below)
    ]
    return list(getattr(module, "__all__", taken))


def _is_ours(module: ModuleType, name: str) -> bool:
    """Whether the name is documented on the page of `simstudy` itself."""
    return getattr(simstudy, name, None) is getattr(module, name)


def _automodule(name: str, *options: str) -> str:
    return "\n".join([f".. automodule:: {name}", *options])


def _section(name: str) -> str:
    title = f"``{name}``"
    return "\n".join([title, "-" * len(title), "", _automodule(name, "   :members:")])


def fill_api_blocks(text: str) -> str:
    """Replace every `{api}` block of a page by the docstrings of its module."""
    return API_BLOCK.sub(lambda block: fenced("{eval-rst}", autodoc_directives(block[1])), text)


def link_names(lines: list[str]) -> Iterator[str]:
    """Turn indented `name   description` lines of a docstring into a list of links."""
    last = None
    for line in lines:
        entry = ENTRY.match(line)
        if entry and not last:
            yield ""
        yield f"- {_link(*entry.groups())}" if entry else line
        last = entry


def _link(name: str, what: str) -> str:
    return f":py:obj:`{name}`: {what}"


def escape_markup(lines: Iterable[str], *, displays: bool) -> Iterator[str]:
    """Escape characters of a docstring that Sphinx would read as markup.

    Tables stay as typed, up to a blank line. With `displays`, so do indented paragraphs: formulas
    and commands.
    """
    kept, before = "", ""
    for line in lines:
        if not kept or not _goes_on(line, kept):
            kept = _begins(line, before, displays=displays)
            yield from ("::", "") * bool(kept)
        yield f"   {line}" if kept else line if _is_code(line) else escape_line(line)
        before = line


def _begins(line: str, before: str, *, displays: bool) -> str:
    if RULE.match(line):
        return "table"
    return "display" if displays and not before and line.startswith("    ") else ""


def _goes_on(line: str, kept: str) -> bool:
    return bool(line) if kept == "table" else not line or line.startswith("    ")


def escape_line(line: str) -> str:
    """Escape a line of prose in which only backticks and *emphasis* are markup."""
    line = QUOTING.sub(r"\1`\2`", line)
    pieces = re.split(r"(?<![:`\w])`([^`]+)`(?!`|_)", line)
    pieces[::2] = [MARKS.sub(r"\\\g<0>", text) for text in pieces[::2]]
    pieces[1::2] = [f"``{name}``\\ " for name in pieces[1::2]]
    return APART.sub(r"\\ ``", "".join(pieces))


def _read(_: Any, name: str, source: list[str]) -> None:
    del name
    source[0] = fill_api_blocks(source[0])


def _docstring(_: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Clean a docstring after napoleon: make lists of names links, escape the rest."""
    del name, obj, options
    if what == "module":
        lines[:] = link_names(lines)
    if what == "property":
        lines[:] = without_type(lines)
    lines[:] = escape_markup(map(short_names, lines), displays=what == "module")


def short_names(line: str) -> str:
    """Show types that napoleon took from annotations by their last names, which `~` asks for.

    Names of attributes that share a description are joined: `lower,upper`.
    """
    line = SHARED.sub(lambda names: names[0].replace(", ", ","), line)
    return QUALIFIED.sub("~", line) if line.startswith(TYPES) else line


def _signature(
    _: Any, what: str, name: str, obj: Any, options: Any, args: str, returned: str
) -> tuple[str, str]:
    """Show what a dataclass makes for each object, such as `dict()`; hide private fields."""
    del name, options
    fields = dataclasses.fields(obj) if what == "class" and dataclasses.is_dataclass(obj) else ()
    for field in fields:
        made = f"{getattr(field.default_factory, '__name__', '')}()".replace("<lambda>()", "...")
        shown = f", {field.name}={made}" if field.name[0] != "_" else ""
        args = args.replace(f", {field.name}=<factory>", shown)
    return args, returned


def without_type(lines: list[str]) -> list[str]:
    """Put back the words before a colon of a property's first line, which napoleon made a type."""
    types = [line for line in lines if line.startswith(TYPE)]
    if not types:
        return lines
    rest = [line for line in lines if not line.startswith(TYPE)]
    return [f"{types[0].removeprefix(TYPE)}: {rest[0]}", *rest[1:]]


def _is_code(line: str) -> bool:
    return line.lstrip().startswith((">>>", "...", ".. "))


def _skip(_: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Skip fields of named tuples, which the signature shows, and names that no page lists.

    With `inherited-members` autodoc offers every name of a module.
    """
    del skip
    listed = options.get("members")
    is_elsewhere = what == "module" and isinstance(listed, list) and name not in listed
    return True if is_elsewhere or type(obj).__name__ == "_tuplegetter" else None


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", _docstring, priority=900)
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-skip-member", _skip)
    app.add_lexer("csv", TextLexer)
    return {"parallel_read_safe": True}
