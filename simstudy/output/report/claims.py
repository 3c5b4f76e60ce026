"""Claims in the report and the index, and the shared parts of these pages."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from simstudy.claims.claim import format_allowed, format_intended, format_values, format_verdict
from simstudy.claims.verdict import (
    DIFFERS,
    IN_PRINT_ONLY,
    NO_DATA,
    REPRODUCED,
    TOO_FEW,
    UNCHECKABLE,
    format_counts,
    is_unexpected,
)
from simstudy.design.reprs import from_to
from simstudy.lazy import pd
from simstudy.output.formatting import counted, format_time, number
from simstudy.tables.summary import as_words

if TYPE_CHECKING:
    from jinja2 import Environment

MEANINGS = {
    REPRODUCED: "the simulation agrees with what is printed",
    IN_PRINT_ONLY: "the printed number is found again, but it is not what it is taken for",
    DIFFERS: "the simulation disagrees by more than chance and rounding explain",
    UNCHECKABLE: "the document leaves out what a check would need",
    TOO_FEW: "more replicates are needed to decide",
}
CLASSES = {
    REPRODUCED: "reproduced",
    IN_PRINT_ONLY: "in-print",
    DIFFERS: "differs",
    UNCHECKABLE: "uncheckable",
    TOO_FEW: "too-few",
    NO_DATA: "too-few",
}
"""CSS class of each verdict, which sets its colour and mark in both pages."""
NOTES = {"detail": "Detail", "missing": "Missing", "note": "Note"}


def claim_rows(claims: pd.DataFrame) -> list[dict[Any, Any]]:
    """The claims of a study for a page, in the order of their table.

    Returns
    -------
    list of dict
        The columns of the table, with `published` and our number, `ours`, as text. `value` is our
        number, for sorting. `allowed` is the tolerance, or the criterion of a statement. `notes`
        are texts by label, such as `Note`.
    """
    return [_as_text(claim) for claim in claims.to_dict("records")]


def _as_text(claim: Mapping[Any, Any]) -> dict[Any, Any]:
    published, ours = format_values(claim)
    notes = {"Intended": format_intended(claim)}
    notes |= {label: claim[name] for name, label in NOTES.items()}
    unexpected = is_unexpected(claim["verdict"], claim["expected"])
    return {
        **claim,
        "published": published,
        "ours": ours,
        "value": float(claim["reproduced"]),
        "allowed": format_allowed(claim),
        "verdict_text": format_verdict(claim) + ", unexpected" * unexpected,
        "css_class": CLASSES.get(claim["verdict"], CLASSES[TOO_FEW]),
        "is_unexpected": unexpected,
        "notes": {label: text for label, text in notes.items() if text},
    }


TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("tables.js", "page.js")


def page(template: str, **content: Any) -> bytes:
    """Render a page; its content is escaped, so that it is never markup."""
    text = environment().get_template(template).render(content)
    return text.encode(errors="xmlcharrefreplace")  # lone surrogates


@cache
def environment() -> Environment:
    """The templates, with their common variables and filters."""
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
    made.globals |= {"script_hash": content_hash(script), "link": link, "from_to": from_to}
    made.globals |= {"classes": CLASSES, "meanings": MEANINGS}
    made.filters |= {"counted": counted, "time": format_time, "words": as_words}
    made.filters |= {"value": format_value, "counts": format_counts}
    return made


def template_text(name: str) -> str:
    """The text of a template."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def content_hash(script: str) -> str:
    """The hash of a script, for the content security policy of a page."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def link(*names: str) -> str:
    """A relative link to a file; it begins with a dot, so that no name is taken for a scheme."""
    quoted = (quote(name, errors="surrogateescape") for name in names)  # undecodable bytes
    return "/".join([".", *quoted])


def format_value(value: Any) -> str:
    """A value of a manifest in one line."""
    if isinstance(value, Mapping):
        texts = [f"{key} {format_value(inner)}" for key, inner in value.items()]
        return ", ".join(texts) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(format_value, value)) or "none"
    return number(value) if isinstance(value, float) else str(value)
