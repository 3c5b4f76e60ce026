"""Renders templates to self-contained pages."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from simstudy.claims.verdict import PLURALS
from simstudy.design.reprs import from_to
from simstudy.output.formatting import counted, format_time, number
from simstudy.output.report.claims import CLASSES
from simstudy.tables.summary import as_words

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("tables.js", "page.js")


def page(template: str, **content: Any) -> bytes:
    """A page; whatever its content says is text, and no markup."""
    text = environment().get_template(template).render(content)
    return text.encode(errors="xmlcharrefreplace")  # half a surrogate pair is no letter


@cache
def environment() -> Environment:
    """The templates, with what all of them use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = "".join(map(template_text, SCRIPTS))
    style, index_style = (Markup(template_text(name)) for name in ("style.css", "index.css"))
    made.globals |= {"style": style, "index_style": index_style, "script": Markup(script)}
    made.globals |= {"script_hash": content_hash(script)}
    made.globals |= {"link": link, "from_to": from_to, "classes": CLASSES}
    made.globals["plurals"] = PLURALS
    made.filters |= {"counted": counted, "time": format_time, "words": as_words}
    made.filters |= {"number": number, "value": format_value}
    return made


def template_text(name: str) -> str:
    """A template as it lies in the package."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def content_hash(script: str) -> str:
    """A script as a page's policy names the only one that may run."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def link(*names: str) -> str:
    """A relative link: begun by a dot, it leads to a file, whatever a user calls that."""
    quoted = (quote(name, errors="surrogateescape") for name in names)  # bytes that are no letter
    return "/".join([".", *quoted])


def format_value(value: Any) -> str:
    """A value of a manifest in one line."""
    if isinstance(value, Mapping):
        texts = [f"{key} {format_value(inner)}" for key, inner in value.items()]
        return ", ".join(texts) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(format_value, value)) or "none"
    return number(value) if isinstance(value, float) else str(value)
