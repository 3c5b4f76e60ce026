"""Templates into pages, and whose line an error is."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jinja2

from writing.callables import FILTERS, callables
from writing.evidence import EVIDENCE, evidence
from writing.refusals import PageError

ROOT = Path(__file__).resolve().parents[2]
SUFFIX = ".jinja"
REGIONS = "README"  # the folder of templates that fill one region each of that page


class Page(NamedTuple):
    """A file that is written, and what should be in it."""

    path: Path
    text: str

    def is_current(self) -> bool:
        return self.path.exists() and self.path.read_text(encoding="utf-8") == self.text


def pages(root: Path = ROOT) -> Iterator[Page | PageError]:
    """Every page that a template writes, or why it cannot be written.

    `docs/templates/X.md.jinja` writes `docs/X.md`; those in `docs/templates/README/` fill the
    regions of their names in README.md, and the rest of it is written by hand. The numbers that
    `simstudy apply` quotes are a file of the package.
    """
    templates = root / "docs" / "templates"
    whole = [
        path
        for path in sorted(templates.rglob(f"*.md{SUFFIX}"))
        if path.relative_to(templates).parts[0] != REGIONS
    ]
    builds = [*(partial(_whole, root, path) for path in whole), partial(_readme, root)]
    if (root / EVIDENCE).exists():
        builds.append(partial(_evidence, root))
    for build in builds:
        try:
            yield build()
        except PageError as error:
            yield error


def _whole(root: Path, template: Path) -> Page:
    relative = template.relative_to(root / "docs" / "templates")
    path = root / "docs" / relative.with_suffix("")
    return Page(path, _banner(root, template) + render(template, root, page=path))


def _evidence(root: Path) -> Page:
    return Page(root / EVIDENCE, evidence(root))


def _readme(root: Path) -> Page:
    path = root / "README.md"
    text = path.read_text(encoding="utf-8")
    for template in sorted((root / "docs" / "templates" / REGIONS).glob(f"*.md{SUFFIX}")):
        filled = render(template, root, page=path)
        text = _fill(text, template.name.removesuffix(f".md{SUFFIX}"), filled)
    return Page(path, text)


def _banner(root: Path, template: Path) -> str:
    source = template.relative_to(root).as_posix()
    return f"<!-- Written by `python docs/write.py` from {source}: edit that. -->\n\n"


def _fill(text: str, region: str, filled: str) -> str:
    """The page with the region between its two comments filled.

    Raises
    ------
    PageError
        Where the page does not have either comment exactly once.
    """
    begin = f"<!-- {region}: written by `python docs/write.py` -->\n"
    end = f"<!-- end of {region} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise PageError(
            f"README.md has no place for {region!r}: it needs the lines {begin.strip()!r} and "
            f"{end!r} once each."
        )
    before, rest = text.split(begin)
    return f"{before}{begin}{filled}{end}{rest.split(end)[1]}"


def render(template: Path, root: Path, *, page: Path) -> str:
    """What a template gives for a page; links are relative to the page's folder.

    Raises
    ------
    PageError
        Naming the template's line, where an expression asks for what is not there.
    """
    environment = _environment(root, page)
    name = template.relative_to(root / "docs" / "templates").as_posix()
    try:
        return environment.get_template(name).render().rstrip("\n") + "\n"
    except jinja2.TemplateSyntaxError as error:
        raise PageError(f"docs/templates/{error.name}:{error.lineno}: {error.message}") from error
    except Exception as error:  # any mistake in a template is told with its place
        raise PageError(f"{_place(error, root)}: {_said(error)}") from error


def _said(error: Exception) -> str:
    known = isinstance(error, PageError | jinja2.UndefinedError)
    return str(error) if known else f"{type(error).__name__}: {error}"


def _place(error: Exception, root: Path) -> str:
    """The innermost line of a template that was being rendered."""
    templates = str(root / "docs" / "templates")
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(templates)
    ]
    if not frames:
        return "docs/templates"
    path = Path(frames[-1].filename).relative_to(root).as_posix()
    return f"{path}:{frames[-1].lineno}"


def _environment(root: Path, page: Path) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(root / "docs" / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown of ours, from tables of ours
        extensions=["jinja2.ext.do"],
    )
    environment.filters |= FILTERS
    environment.globals |= callables(root, page)
    return environment
