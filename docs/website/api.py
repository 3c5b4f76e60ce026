"""Pages of the API: a block that names a module is filled with its docstrings.

A package that offers what lies in modules below it is one list of that. A package of modules, such
as those of `simstudy.stats`, has a section for each of them; those whose name begins with an
underscore are left out.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from pygments.lexers.special import TextLexer

import simstudy
from website.fences import fenced

ASKED = re.compile(r"^```\{api\} ([\w.]+)\n```$", re.MULTILINE)
MARKS = re.compile(r"(?<![\\\\*])(?:\*(?=\w)(?![\w .,-]+\*)|\|)")
RETURNED = re.compile(r"^(:returns: )\*(.+?)\* --")  # as napoleon writes it
APART = re.compile(r"(?<=[^\s\w`\\(\[{<'\"/:-])``(?=\w)")  # else no literal begins there
RULE = re.compile(r"^=+  +=[= ]*$")
ENTRY = re.compile(r"^    (\w+)  +(\S.*)$")


def documented(name: str) -> str:
    """A module in reStructuredText, for autodoc to fill."""
    module = importlib.import_module(name)
    names = [each for each in offered(module) if module is simstudy or not _is_ours(module, each)]
    if names:
        return _automodule(name, f"   :members: {', '.join(names)}", "   :imported-members:")
    below = [
        f"{name}.{found.name}"
        for found in pkgutil.iter_modules(getattr(module, "__path__", []))
        if not found.name.startswith("_")
    ]
    if not below:
        return _automodule(name, "   :members:")
    return "\n\n".join([_automodule(name), *map(_section, below)])


def offered(module: ModuleType) -> list[str]:
    """What a package takes from the modules below it for others to import; nothing of a module."""
    below = f"{module.__name__}."
    taken = [
        name
        for name, value in vars(module).items()
        if name[0] != "_" and str(getattr(value, "__module__", "")).startswith(below)
    ]
    return list(getattr(module, "__all__", taken))


def _is_ours(module: ModuleType, name: str) -> bool:
    """Whether the page of `simstudy` itself has it."""
    return getattr(simstudy, name, None) is getattr(module, name)


def _automodule(name: str, *options: str) -> str:
    return "\n".join([f".. automodule:: {name}", *options])


def _section(name: str) -> str:
    title = f"``{name}``"
    return "\n".join([title, "-" * len(title), "", _automodule(name, "   :members:")])


def filled(text: str) -> str:
    """The page with the docstrings of each module that it asks for."""
    return ASKED.sub(lambda asked: fenced("{eval-rst}", documented(asked[1])), text)


def listed(lines: list[str]) -> Iterator[str]:
    """A docstring whose indented `name   what it is` lines are a list of links."""
    last = None
    for line in lines:
        entry = ENTRY.match(line)
        if entry and not last:
            yield ""
        yield f"- {_link(*entry.groups())}" if entry else line
        last = entry


def _link(name: str, what: str) -> str:
    return f":py:obj:`{name}`: {what}"


def tidied(lines: list[str], *, displays: bool) -> Iterator[str]:
    """A docstring in which chance makes no markup.

    A table stays as it was typed, up to a blank line, and so does, with `displays`, a paragraph
    that stands indented: a formula, or lines to type.
    """
    kept, before = "", ""
    for line in lines:
        if not kept or not _goes_on(line, kept):
            kept = _begins(line, before, displays=displays)
            yield from ("::", "") * bool(kept)
        yield f"   {line}" if kept else line if _is_code(line) else in_words(line)
        before = line


def _begins(line: str, before: str, *, displays: bool) -> str:
    if RULE.match(line):
        return "table"
    return "display" if displays and not before and line.startswith("    ") else ""


def _goes_on(line: str, kept: str) -> bool:
    return bool(line) if kept == "table" else not line or line.startswith("    ")


def in_words(line: str) -> str:
    """A line of a docstring, in which only backticks, and emphasis as in *this*, are markup."""
    line = RETURNED.sub(r"\1`\2` --", line)
    pieces = re.split(r"(?<![:`\w])`([^`]+)`(?!`|_)", line)
    pieces[::2] = [MARKS.sub(r"\\\g<0>", text) for text in pieces[::2]]
    pieces[1::2] = [f"``{name}``\\ " for name in pieces[1::2]]
    return APART.sub(r"\\ ``", "".join(pieces))


def _read(_: Any, name: str, source: list[str]) -> None:
    del name
    source[0] = filled(source[0])


def _docstring(_: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """After napoleon: lists of a module are links, and prose is no markup by chance."""
    del name, obj, options
    if what == "module":
        lines[:] = listed(lines)
    lines[:] = tidied(lines, displays=what == "module")


def _is_code(line: str) -> bool:
    return line.lstrip().startswith((">>>", "...", ".. "))


def _skip(_: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Fields of named tuples stand in the signature, and have no text of their own."""
    del what, name, skip, options
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app: Any) -> dict[str, bool]:
    """Sphinx's hook."""
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", _docstring, priority=900)
    app.connect("autodoc-skip-member", _skip)
    app.add_lexer("csv", TextLexer)
    return {"parallel_read_safe": True}
